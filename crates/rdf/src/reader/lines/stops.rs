//! The first byte of a class in a text, sixteen bytes at once.
//!
//! The innermost loops of the line reader. They are written for the compiler, which makes vector
//! instructions of a loop over an array of bytes whose body is comparisons without a branch. A class is a
//! function of a byte that gives 1 or 0, and must be of that form.
//!
//! Cost, for the classes of the reader and x86-64 without extensions: two to three instructions a byte for
//! [`first_stop`], less than one for what [`skip_windows`] skips.

/// Bytes of a vector register on every machine.
const LANES: usize = 16;

/// The offset of the first byte of the class, from `at` on; the length of the text if there is none.
///
/// The class must hold the line feed, which stands for whatever is behind the end of the text.
#[inline]
pub(super) fn first_stop(bytes: &[u8], mut at: usize, class: impl Fn(u8) -> u8) -> usize {
    debug_assert!(class(b'\n') == 1 && at <= bytes.len());
    // Termination: each turn moves on.
    while let Some(lanes) = window_at::<LANES>(bytes, at) {
        if let Some(first) = first_yes(lanes, &class) {
            return at + first;
        }
        at += LANES;
    }
    first_stop_at_end(bytes, at, class)
}

/// The same for a text that ends within a register.
#[cold]
#[inline(never)]
fn first_stop_at_end(bytes: &[u8], at: usize, class: impl Fn(u8) -> u8) -> usize {
    let found = bytes[at..].iter().position(|byte| class(*byte) == 1);
    found.map_or(bytes.len(), |length| at + length)
}

/// Moves from `at` over windows of `N` bytes of which none is in the class.
#[inline]
pub(super) fn skip_windows<const N: usize>(
    bytes: &[u8],
    mut at: usize,
    class: impl Fn(u8) -> u8,
) -> usize {
    // Termination: each turn moves on.
    while let Some(window) = window_at::<N>(bytes, at) {
        if window.iter().fold(0, |any, &byte| any | class(byte)) != 0 {
            break;
        }
        at += N;
    }
    at
}

/// The `N` bytes from `at` on, if there are so many.
#[inline]
pub(super) fn window_at<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// The first of the bytes that is in the class.
#[inline]
fn first_yes(lanes: &[u8; LANES], class: impl Fn(u8) -> u8) -> Option<usize> {
    // Bytes of all ones: the compiler has these in a register already.
    let mut answers = [0; LANES];
    for (answer, byte) in answers.iter_mut().zip(lanes) {
        *answer = class(*byte).wrapping_neg();
    }
    // All answers as one number: the first is lowest.
    let answers = u128::from_le_bytes(answers);
    if answers == 0 {
        None
    } else {
        Some(answers.trailing_zeros() as usize / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stop_is_found_anywhere_in_texts_of_any_length() {
        let class = |byte| u8::from(byte == b'>') | u8::from(byte == b'\n');
        for length in 0..150 {
            let mut text = vec![b'x'; length];
            assert_eq!(first_stop(&text, 0, class), length);
            for stop in 0..length {
                text[stop] = b'>';
                for start in 0..=stop {
                    assert_eq!(first_stop(&text, start, class), stop);
                    let skipped = skip_windows::<64>(&text, start, class);
                    assert_eq!(first_stop(&text, skipped, class), stop);
                    assert!((skipped - start).is_multiple_of(64) && skipped <= stop);
                    assert!(stop - skipped < 64 || length - skipped < 64);
                }
                assert_eq!(first_stop(&text, stop + 1, class), length);
                text[stop] = b'x';
            }
        }
    }
}
