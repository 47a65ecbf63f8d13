//! What was finished when, in slices of equal length.

use super::{Execution, MixTime};
use serde::{Deserialize, Serialize};

/// Enough for a curve, few enough for a page.
const SLICES: usize = 60;

/// Executions and mixes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The length of a slice.
    pub slice_s: f64,
    /// Executions that ended in each slice.
    pub executions: Vec<u64>,
    /// Mixes that ended in each slice.
    pub mixes: Vec<u64>,
}

impl Timeline {
    pub(crate) fn new(elapsed_s: f64, executions: &[Execution], mixes: &[MixTime]) -> Timeline {
        if elapsed_s <= 0.0 {
            return Timeline::default();
        }
        let slice_s = elapsed_s / SLICES as f64;
        let count = |ends: &mut dyn Iterator<Item = f64>| {
            let mut counts = vec![0; SLICES];
            for end in ends {
                let slice = (end / slice_s) as usize;
                counts[slice.min(SLICES - 1)] += 1;
            }
            counts
        };
        Timeline {
            slice_s,
            executions: count(&mut executions.iter().map(|e| e.ended_s)),
            mixes: count(&mut mixes.iter().map(|mix| mix.ended_s)),
        }
    }
}
