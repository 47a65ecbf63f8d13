//! What a row of a hash join tells of several partners that it stands for.

use super::{JoinKind, Slot};

/// A column of a hash join whose rows stand for *sets* of pairs: the sets of one row of the left side have no pair in common, and all
/// pairs are in one of them.
///
/// How many sets a row has is the executor's choice, a pair alone being one, too. So whatever adds these up over all sets, or takes the least or the
/// greatest of them, has that of all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerAggregate {
    /// The slot that takes it.
    pub slot: Slot,
    /// What of the set.
    pub function: PartnerFunction,
}

/// What is told of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartnerFunction {
    /// The number of partners; of a row without any, which an outer join keeps, none.
    Count,
    /// The number of joined rows: that without a partner is one.
    Rows,
    /// The least value of a slot: the one that the condition bounds, or another that is certain in the partners.
    Least(Slot),
    /// The greatest.
    Greatest(Slot),
    /// The sum of a slot's values; unbound if one is no number, and without a partner.
    Sum(Slot),
}

impl PartnerFunction {
    /// The slot of the right side that it reads.
    pub fn argument(self) -> Option<Slot> {
        match self {
            Self::Count | Self::Rows => None,
            Self::Least(slot) | Self::Greatest(slot) | Self::Sum(slot) => Some(slot),
        }
    }

    /// The same, to be changed.
    pub(crate) fn argument_mut(&mut self) -> Option<&mut Slot> {
        match self {
            Self::Count | Self::Rows => None,
            Self::Least(slot) | Self::Greatest(slot) | Self::Sum(slot) => Some(slot),
        }
    }

    /// Whether it has a value in every row of a join of that kind. What fulfils a comparison is bound.
    pub fn is_certain(self, kind: JoinKind) -> bool {
        match self {
            Self::Count | Self::Rows => true,
            Self::Least(_) | Self::Greatest(_) => kind == JoinKind::Inner,
            Self::Sum(_) => false,
        }
    }
}

/// Partners that are enough where a join above drops the others: of those in the join's only range, which is of this slot alone, the ones at an end of it.
/// Where comparisons are not told by words the join may give others, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The slot of the build side that is in range.
    pub slot: Slot,
    /// The end.
    pub end: RangeEnd,
}

/// An end of a range of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeEnd {
    /// That of the least.
    Least,
    /// That of the greatest.
    Greatest,
}

impl RangeEnd {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::Greatest => "greatest",
        }
    }
}
