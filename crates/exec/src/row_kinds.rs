//! Rows of one kind each: numbers of one datatype, dates of one zone, and what else the ids of a column have in common.
//!
//! ```text
//! ids      1.5e0 7 2.5e0 "x" 8      kinds  0 1 0 2 1      rows  [0 2] [1 4] [3]
//! ```
//!
//! What is computed a column at a time wants numbers of one type; a column of results of measurements, say, has several, in any order.
//! Cost: some 2 ns for each row and column, and nothing but a look at the ids where all are of one kind.

use basalt_rdf::TermId;
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DECIMAL, DOUBLE, FLOAT};
use basalt_rdf::term_id::PAYLOAD_MASK;

/// Kinds of rows, at most; and kinds of the ids of one column.
const KINDS_MAX: usize = 16;
/// Rows of a kind, on average, below which apart they take longer than row by row. Tests have fewer rows.
const ROWS_PER_KIND_MIN: usize = if cfg!(test) { 1 } else { 16 };
/// What is known of no tag yet.
const UNKNOWN: u8 = u8::MAX;

/// The kind of each of some rows.
pub struct Kinds {
    /// The kind of each row.
    of_rows: Vec<u8>,
    /// Number of kinds.
    count: usize,
}

impl Kinds {
    /// The kinds of ids; `None` if there is one only, or too many.
    pub fn of_ids(ids: &[u64]) -> Option<Self> {
        let first = *ids.first()?;
        let differing = ids.iter().fold(0, |bits, id| bits | (id ^ first));
        let first = TermId(first);
        let shared = match first.is_temporal() {
            true => first.date_kind_mask(),
            false => !PAYLOAD_MASK,
        };
        if differing & shared == 0 {
            return None;
        }
        let mut known = KnownIds::default();
        let of_rows = ids.iter().map(|&id| known.kind(id));
        let of_rows = of_rows.collect::<Option<Vec<_>>>()?;
        (known.count > 1).then_some(Self {
            of_rows,
            count: known.count,
        })
    }

    /// Kinds that were told before, which are numbers below [`KINDS_MAX`].
    pub fn of_rows(of_rows: Vec<u8>) -> Self {
        let count = of_rows
            .iter()
            .max()
            .map_or(0, |&kind| usize::from(kind) + 1);
        Self { of_rows, count }
    }

    /// The kinds of rows by these and others; `None` if there are too many.
    pub fn and(self, others: &Self) -> Option<Self> {
        let mut places = [UNKNOWN; KINDS_MAX * KINDS_MAX];
        let mut count = 0;
        let mut of_rows = self.of_rows;
        for (kind, &other) in of_rows.iter_mut().zip(&others.of_rows) {
            let place = &mut places[usize::from(*kind) * KINDS_MAX + usize::from(other)];
            if *place == UNKNOWN {
                *place = count;
                count += 1;
            }
            *kind = *place;
        }
        let count = usize::from(count);
        (count <= KINDS_MAX).then_some(Self { of_rows, count })
    }

    /// The rows of each kind, ascending; `None` if these are too few to be of use.
    pub fn rows(&self) -> Option<Vec<Vec<u32>>> {
        let count = self.of_rows.len();
        if count < self.count * ROWS_PER_KIND_MIN {
            return None;
        }
        let mut all = vec![vec![0; count]; self.count];
        let mut counts = [0; KINDS_MAX];
        for (row, &kind) in (0_u32..).zip(&self.of_rows) {
            let kind = usize::from(kind);
            all[kind][counts[kind]] = row;
            counts[kind] += 1;
        }
        for (rows, count) in all.iter_mut().zip(counts) {
            rows.truncate(count);
        }
        all.retain(|rows| !rows.is_empty());
        Some(all)
    }
}

/// The kinds of ids that were met.
struct KnownIds {
    /// By tag; [`UNKNOWN`] of dates too.
    of_tags: [u8; 256],
    /// Those of dates, by tag and zone.
    of_dates: Vec<(u64, u8)>,
    count: usize,
}

impl Default for KnownIds {
    fn default() -> Self {
        Self {
            of_tags: [UNKNOWN; 256],
            of_dates: Vec::new(),
            count: 0,
        }
    }
}

impl KnownIds {
    #[inline]
    fn kind(&mut self, id: u64) -> Option<u8> {
        match self.of_tags[usize::from(TermId(id).tag())] {
            UNKNOWN => self.meet(TermId(id)),
            kind => Some(kind),
        }
    }

    /// The kind of a date, or of a tag that was not met before; `None` if there are too many.
    fn meet(&mut self, id: TermId) -> Option<u8> {
        let date = id.0 & id.date_kind_mask();
        if id.is_temporal()
            && let Some(&(_, kind)) = self.of_dates.iter().find(|(known, _)| *known == date)
        {
            return Some(kind);
        }
        let kind = u8::try_from(self.count).ok()?;
        if self.count == KINDS_MAX {
            return None;
        }
        self.count += 1;
        if id.is_temporal() {
            self.of_dates.push((date, kind));
            return Some(kind);
        }
        // All integers are computed with together, and so are all doubles.
        for other in 0..=u8::MAX {
            let is_alike = TermId::new(other, 0).datatype_tag() == id.datatype_tag();
            if is_alike || is_integer(id.tag()) && is_integer(other) {
                self.of_tags[usize::from(other)] = kind;
            }
        }
        Some(kind)
    }
}

/// Whether ids of a tag are integers.
fn is_integer(of_tag: u8) -> bool {
    let id = TermId::new(of_tag, 0);
    let code = id.numeric_datatype();
    id.is_numeric() && code < CUSTOM_NUMERIC_FIRST && !matches!(code, DECIMAL | DOUBLE | FLOAT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use basalt_rdf::term_id::tag;
    use proptest::prelude::*;

    fn id(kind: u8, value: i64) -> u64 {
        let id = match kind {
            0 => TermId::numeric(0, value, 0),
            1 => TermId::numeric(DOUBLE, value, 2),
            2 => TermId::numeric(FLOAT, value, 1),
            3 => basalt_rdf::inline::dates::encode_date_time(value, 1),
            4 => basalt_rdf::inline::dates::encode_date_time(value, 0),
            5 => Some(TermId::new(tag::DATE_TIME_MILLIS, (value as u64) << 7 | 1)),
            6 => Some(TermId::new(tag::DATE_TIME_MILLIS, (value as u64) << 7 | 8)),
            7 => Some(TermId::resource(value as u64)),
            _ => Some(TermId::UNBOUND),
        };
        id.expect("the value is small").0
    }

    proptest! {
        #[test]
        fn rows_are_parted_by_what_their_ids_are(
            rows in prop::collection::vec((0..9_u8, 0..9_u8, 0..1000_i64), 1..900),
            kinds in 1..10_u8,
        ) {
            let kind = |kind: u8| kind % kinds;
            let a: Vec<u64> = rows.iter().map(|row| id(kind(row.0), row.2)).collect();
            let b: Vec<u64> = rows.iter().map(|row| id(row.1 % 2, row.2)).collect();
            let (Some(a), Some(b)) = (Kinds::of_ids(&a), Kinds::of_ids(&b)) else {
                return Ok(());
            };
            let Some(parts) = a.and(&b).and_then(|both| both.rows()) else {
                return Ok(());
            };
            let mut all: Vec<u32> = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rows.len() as u32).collect::<Vec<_>>());
            for part in &parts {
                let of = |&row: &u32| (kind(rows[row as usize].0), rows[row as usize].1 % 2);
                prop_assert!(part.is_sorted() && part.iter().all(|row| of(row) == of(&part[0])));
            }
        }
    }
}
