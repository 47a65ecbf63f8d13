//! Galloping search: the end of a prefix that is mostly short.
//!
//! Steps double until one is beyond the end, which is then halved for (Bentley and Yao, "An almost optimal algorithm for unbounded searching",
//! Information Processing Letters 5, 1976). Cost: as the logarithm of what is found, whatever comes after it.

/// How many of `0..count` are in the prefix; those that are come first.
#[inline]
pub fn gallop(count: usize, is_in: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    // Termination: the step doubles.
    while step < count && is_in(step) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, count.min(step));
    // Termination: the distance halves.
    while low < high {
        let middle = low + (high - low) / 2;
        match is_in(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_is_found() {
        for count in 0..40 {
            for length in 0..=count {
                assert_eq!(gallop(count, |place| place < length), length, "of {count}");
            }
        }
    }
}
