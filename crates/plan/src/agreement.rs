//! `Agreement`: whether what planning came to for some constants is to be taken for others.
//!
//! It is when planning for [`ALIKE_MIN`] others in a row came to the same. Constants that look alike may still be planned best in different ways, where
//! columns depend on each other: so every [`AGAIN`]th time it is worked out all the same, and after another result twice as many must be
//! the same before it is taken again.

use std::sync::atomic::{AtomicU64, Ordering};

/// Results for other constants that must be the one that was found before, until it is taken.
pub(crate) const ALIKE_MIN: u32 = 4;
/// The most of them that are asked for after results that were not.
const ALIKE_MAX: u32 = 1 << 10;
/// Of so many times a result could be taken, it is worked out once.
pub(crate) const AGAIN: u32 = 16;

/// How often results of others were taken, on this state of the data and those before.
#[derive(Debug, Default)]
pub(crate) struct Taken(AtomicU64);

impl Taken {
    /// Counts one more.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// As many, to go on from.
    pub(crate) fn for_next_state(&self) -> Self {
        Self(AtomicU64::new(self.count()))
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Agreement {
    /// A hash of the constants of the last result.
    constants: u64,
    /// Results in a row, for other constants each, that were the same.
    alike: u32,
    /// How many there must be.
    wanted: u32,
    /// How many there must be where none was another one.
    wanted_min: u32,
    /// How often it was asked for.
    asked: u32,
}

impl Agreement {
    /// After a first result, for constants with this hash; without constants none need be the same.
    pub(crate) fn new(constants: Option<u64>) -> Self {
        let wanted = if constants.is_some() { ALIKE_MIN } else { 0 };
        Self {
            constants: constants.unwrap_or_default(),
            alike: 0,
            wanted,
            wanted_min: wanted,
            asked: 0,
        }
    }

    /// Whether the result is to be taken this time.
    pub(crate) fn is_reached(&mut self) -> bool {
        self.asked = self.asked.wrapping_add(1);
        self.holds() && !self.asked.is_multiple_of(AGAIN)
    }

    /// Whether enough results were the same.
    pub(crate) fn holds(&self) -> bool {
        self.alike >= self.wanted
    }

    /// Takes in that the result was the same again; gives whether it was for other constants.
    pub(crate) fn goes_on(&mut self, constants: u64) -> bool {
        let are_others = self.constants != constants;
        self.alike = self.alike.saturating_add(u32::from(are_others));
        self.constants = constants;
        are_others
    }

    /// Takes in that there are different results, so that none is to be taken any more.
    pub(crate) fn refute(&mut self) {
        self.wanted = u32::MAX;
        self.alike = 0;
    }

    /// Takes in that the result was another one.
    pub(crate) fn ends(&mut self, constants: u64) {
        self.alike = 0;
        self.wanted = (self.wanted * 2).clamp(self.wanted_min, ALIKE_MAX);
        self.constants = constants;
    }
}

/// Rows or a cost in powers of two: what is as large counts as alike.
pub(crate) fn magnitude(value: f64) -> i32 {
    value.max(f64::MIN_POSITIVE).log2().round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many results for other constants each it takes until the result is taken.
    fn until_reached(agreement: &mut Agreement, constants: &mut u64) -> u32 {
        let mut results = 0;
        while !agreement.is_reached() {
            *constants += 1;
            agreement.goes_on(*constants);
            results += 1;
        }
        results
    }

    #[test]
    fn other_results_ask_for_more_agreement() {
        let mut constants = 0;
        let mut agreement = Agreement::new(Some(constants));
        assert_eq!(until_reached(&mut agreement, &mut constants), ALIKE_MIN);
        agreement.ends(constants);
        assert_eq!(until_reached(&mut agreement, &mut constants), 2 * ALIKE_MIN);
        let mut without = Agreement::new(None);
        assert!(without.is_reached());
    }

    #[test]
    fn results_for_the_same_constants_are_one() {
        let mut agreement = Agreement::new(Some(1));
        for _ in 0..100 {
            assert!(!agreement.goes_on(1));
        }
        assert!(!agreement.is_reached());
    }

    #[test]
    fn what_is_refuted_is_not_reached() {
        let mut agreement = Agreement::new(Some(0));
        agreement.refute();
        for constants in 1..1000 {
            agreement.goes_on(constants);
        }
        assert!(!agreement.is_reached());
    }

    #[test]
    fn some_are_worked_out_again() {
        let mut agreement = Agreement::new(None);
        let taken = (0..160).filter(|_| agreement.is_reached()).count();
        assert_eq!(taken, 150);
    }
}
