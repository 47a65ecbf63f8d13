//! `Alternative`: the way that came second where the planner had a choice.
//!
//! EXPLAIN shows it beside what was chosen, so that one sees how near the decision was. Ways are told
//! apart by operator and access, not by the order of joins below: the same join with its sides swapped is
//! the same way. Cost of keeping it: two words for each set of units of the search.

use basalt_rdf::TermId;

/// How a scan or a join can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A star read row by row.
    ScanRows,
    /// A star read from the constant object of this predicate.
    ScanObject(TermId),
    /// A star entered by its subject.
    StarSubject,
    /// A star entered by the object of this predicate.
    StarObject(TermId),
    /// A star found for the graph of each row.
    StarGraph,
    /// A general pattern looked up for each row.
    Pattern,
    /// Quads counted for each row.
    Count,
    /// A property path followed from each row.
    Path,
    /// Both sides alone, hashed.
    Hash,
    /// Hashed, with the right side restricted to what the left side can join with.
    SeededHash,
    /// Both sides in order, merged.
    Merge,
    /// The inside of an EXISTS evaluated for each row.
    PerRow,
}

/// The cheapest way that was not taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternative {
    /// The way.
    pub way: Way,
    /// Its estimated cost with everything below, in nanoseconds of one core.
    pub cost: f64,
}

/// Keeps the cheaper of an alternative known and another one.
pub(crate) fn keep_cheaper(known: &mut Option<Alternative>, way: Way, cost: f64) {
    if known.is_none_or(|known| cost < known.cost) {
        *known = Some(Alternative { way, cost });
    }
}
