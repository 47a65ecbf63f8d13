//! How a segment is written down: its form and the codec of its values, for reports.

use super::{Cells, Segment};
use crate::codec::CodecKind;

/// How a segment arranges its cells; the discriminant is the kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SegmentForm {
    /// A value for every row, 0 where there is none.
    Dense = 0,
    /// Which rows have a value, and these values.
    Sparse = 1,
    /// Any number of values for each row.
    List = 2,
}

impl SegmentForm {
    /// The name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
            Self::List => "list",
        }
    }
}

/// How a segment is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentEncoding {
    /// How it arranges its cells.
    pub form: SegmentForm,
    /// The codec of its values.
    pub codec: CodecKind,
}

impl Segment<'_> {
    /// How the segment is written down.
    pub fn encoding(&self) -> SegmentEncoding {
        let (form, codec) = match &self.cells {
            Cells::Dense(values) => (SegmentForm::Dense, values.kind()),
            Cells::Sparse(_, values) => (SegmentForm::Sparse, values.kind()),
            Cells::List(lists) => (SegmentForm::List, lists.value_codec()),
        };
        SegmentEncoding { form, codec }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{encode_lists, encode_single};

    #[test]
    fn forms_and_codecs_are_told() {
        let told = |encode: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            encode(&mut bytes);
            let encoding = Segment::open(&bytes)
                .expect("it was just written")
                .encoding();
            (encoding.form.name(), encoding.codec.name())
        };
        let same = told(&|out| {
            encode_single(&[7; 500], out);
        });
        assert_eq!(same, ("dense", "constant"));
        let mut few = vec![0; 5000];
        few[17] = 99;
        few[4000] = 1 << 40;
        let sparse = told(&|out| {
            encode_single(&few, out);
        });
        assert_eq!(
            sparse.0, "dense",
            "two runs of nothing are shorter than presence words"
        );
        let every_other: Vec<u64> = (0..5000u64)
            .map(|i| (i % 2) * ((1 << 30) | (i * i)))
            .collect();
        let sparse = told(&|out| {
            encode_single(&every_other, out);
        });
        assert_eq!(sparse.0, "sparse");
        let lists = told(&|out| {
            encode_lists(&[0, 2, 3], &[5, 6, 5], out);
        });
        assert_eq!(lists.0, "list");
    }
}
