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
