//! A set of slots as a fixed bitmap, so that the join orderer can combine sets without allocating.
//!
//! Invariant: holds slots below [`SLOTS_MAX`] only; the translator refuses queries with more.

use crate::physical::Slot;

const WORDS: usize = 16;

/// Slots a plan may have.
pub(crate) const SLOTS_MAX: usize = WORDS * 64;

/// A set of slots.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct SlotSet([u64; WORDS]);

impl SlotSet {
    pub(crate) fn of(slots: &[Slot]) -> Self {
        slots.iter().copied().collect()
    }

    pub(crate) fn insert(&mut self, slot: Slot) {
        self.0[slot.0 as usize / 64] |= 1 << (slot.0 % 64);
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        self.0[slot.0 as usize / 64] &= !(1 << (slot.0 % 64));
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        self.0[slot.0 as usize / 64] & (1 << (slot.0 % 64)) != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn union(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    pub(crate) fn intersect(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    pub(crate) fn minus(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= !b;
        }
        self
    }

    /// The set with all slots that sets connect with it, each with those that it shares a slot with.
    pub(crate) fn connected(self, sets: impl Iterator<Item = Self> + Clone) -> Self {
        let mut connected = self;
        // Termination: the set grows with each turn, up to all slots.
        loop {
            let meeting = sets.clone().filter(|set| !set.is_disjoint(&connected));
            let grown = meeting.fold(connected, Self::union);
            if grown == connected {
                return connected;
            }
            connected = grown;
        }
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.minus(*other).is_empty()
    }

    pub(crate) fn is_disjoint(&self, other: &Self) -> bool {
        self.intersect(*other).is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().enumerate().flat_map(|(word_idx, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    Slot((word_idx * 64 + bit) as u16)
                })
            })
        })
    }

    pub(crate) fn to_vec(self) -> Vec<Slot> {
        self.iter().collect()
    }
}

impl FromIterator<Slot> for SlotSet {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let mut set = Self::default();
        for slot in slots {
            set.insert(slot);
        }
        set
    }
}
