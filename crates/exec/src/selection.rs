//! Selecting values by a test, without a branch for each: where it is open which pass, a branch that is guessed wrong
//! takes longer than the test.
//!
//! Cost: a test and a write for each value, whether it passes or not.

/// The positions of the values that pass.
pub fn positions<T: Copy>(values: &[T], mut passes: impl FnMut(T) -> bool) -> Vec<u32> {
    let mut found = vec![0; values.len()];
    let mut count = 0;
    for (position, &value) in (0_u32..).zip(values) {
        found[count] = position;
        count += usize::from(passes(value));
    }
    found.truncate(count);
    found
}

/// Keeps the values that pass, in their order.
#[inline]
pub fn retain<T: Copy>(values: &mut Vec<T>, passes: impl Fn(T) -> bool) {
    let mut kept = 0;
    let all = values.as_mut_slice();
    for at in 0..all.len() {
        let value = all[at];
        all[kept] = value;
        kept += usize::from(passes(value));
    }
    values.truncate(kept);
}

/// The values at these positions.
#[inline]
pub fn taken<'v, T: Copy>(values: &'v [T], positions: &'v [u32]) -> impl Iterator<Item = T> + 'v {
    positions.iter().map(|&position| values[position as usize])
}

/// Keeps the values at these ascending positions, in place.
pub fn keep<T: Copy>(values: &mut Vec<T>, positions: &[u32]) {
    for (to, &from) in positions.iter().enumerate() {
        values[to] = values[from as usize];
    }
    values.truncate(positions.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_kept_in_order() {
        let ids = [5, 2, 9, 2, 7, 0];
        assert_eq!(positions(&ids, |id| id > 2), [0, 2, 4]);
        assert_eq!(positions(&ids, |_| true), [0, 1, 2, 3, 4, 5]);
        assert!(positions(&[0_u64; 0], |_| true).is_empty());
        let mut values = ids.to_vec();
        retain(&mut values, |id| id > 2);
        assert_eq!(values, [5, 9, 7]);
        retain(&mut values, |_| true);
        assert_eq!(values, [5, 9, 7]);
        retain(&mut values, |_| false);
        assert!(values.is_empty());
    }
}
