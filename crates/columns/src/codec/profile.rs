//! What one pass over the values tells about every codec: the ground of the size estimates.
//!
//! Cost: about two nanoseconds per value; the dictionary's distinct count is a second pass that
//! gives up as soon as there are too many.

/// Distinct values beyond which a dictionary is not tried: its table of values would leave the
/// first-level cache (32 KiB).
const DISTINCT_MAX: usize = 4096;
/// Slots of the hash set of distinct values; a power of two, at most half full.
const SLOTS: usize = 2 * DISTINCT_MAX;

/// Extremes, runs and steps of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Number of values.
    pub len: usize,
    /// The least value; 0 if there are none.
    pub min: u64,
    /// The greatest value; 0 if there are none.
    pub max: u64,
    /// Number of runs of equal values.
    pub runs: usize,
    /// Length of the first value's run.
    pub first_run: usize,
    /// Whether no value is less than the one before.
    pub ascending: bool,
}

impl Profile {
    /// Looks at every value once.
    pub fn of(values: &[u64]) -> Self {
        let Some(&first) = values.first() else {
            return Self {
                len: 0,
                min: 0,
                max: 0,
                runs: 0,
                first_run: 0,
                ascending: true,
            };
        };
        let (mut min, mut max, mut runs, mut descents) = (first, first, 1usize, 0usize);
        for pair in values.windows(2) {
            let value = pair[1];
            min = min.min(value);
            max = max.max(value);
            runs += usize::from(pair[0] != value);
            descents += usize::from(value < pair[0]);
        }
        let first_run = values
            .iter()
            .position(|&value| value != first)
            .unwrap_or(values.len());
        Self {
            len: values.len(),
            min,
            max,
            runs,
            first_run,
            ascending: descents == 0,
        }
    }

    /// The sorted distinct values if a dictionary of them could pay.
    pub(super) fn distinct_if_few(&self, values: &[u64]) -> Option<Vec<u64>> {
        // Fewer than four values of a code byte each cannot pay for the table of values; ascending
        // values with many runs are better as deltas.
        let limit = DISTINCT_MAX.min(self.len / 2).min(self.runs);
        if self.ascending && self.runs > limit {
            return None;
        }
        let mut slots = vec![0u64; SLOTS];
        let mut zero_seen = false;
        let mut distinct = Vec::new();
        let mut last = values.first().map(|first| !first);
        for &value in values {
            if last == Some(value) {
                continue;
            }
            last = Some(value);
            let new = if value == 0 {
                !std::mem::replace(&mut zero_seen, true)
            } else {
                insert(&mut slots, value)
            };
            if new {
                if distinct.len() == limit {
                    return None;
                }
                distinct.push(value);
            }
        }
        distinct.sort_unstable();
        Some(distinct)
    }
}

/// Puts a value that is not 0 into an open-addressing set; false if it was there.
fn insert(slots: &mut [u64], value: u64) -> bool {
    let mut slot = (value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % SLOTS;
    // Termination: the caller stops at half as many values as there are slots.
    loop {
        if slots[slot] == value {
            return false;
        }
        if slots[slot] == 0 {
            slots[slot] = value;
            return true;
        }
        slot = (slot + 1) % SLOTS;
    }
}
