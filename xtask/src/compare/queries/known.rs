//! Answers of other stores that are known to be wrong or cut, each with the reason. A difference
//! that is not on the list makes the comparison fail.
//!
//! Cost: nothing.

use super::options::UseCase;

/// A known difference.
pub struct Known {
    /// The store that differs, by its name in tables.
    store: &'static str,
    /// The use case.
    use_case: UseCase,
    /// The number of the query.
    number: u64,
    /// Why.
    pub reason: &'static str,
}

/// All of them.
const LIST: [Known; 1] = [Known {
    store: "Virtuoso",
    use_case: UseCase::Bi,
    number: 5,
    reason: "as published it groups by a variable that is never bound there, to which Virtuoso answers no rows at all; the portable wording leaves the variable out",
}];

/// The reason why a store is known to answer a query otherwise.
pub fn reason(store: &str, use_case: UseCase, number: u64, wording: &str) -> Option<&'static str> {
    let is_published_only = |known: &Known| known.use_case == UseCase::Bi && known.number == 5;
    LIST.iter()
        .find(|known| known.store == store && known.use_case == use_case && known.number == number)
        .filter(|known| wording == "published" || !is_published_only(known))
        .map(|known| known.reason)
}
