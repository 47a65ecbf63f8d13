//! The first byte of a class in a text, sixteen bytes at once.
//!
//! The innermost loops of the line reader. They are written for the compiler, which makes vector
//! instructions of a loop over an array of bytes whose body is comparisons without a branch, and takes the
//! sixteen answers as one number. A class is a function of a byte, and must be of that form.
//!
//! Cost, for the classes of the reader and x86-64 without extensions: two to three instructions a byte for
//! [`first_stop`], less than one for what [`skip_windows`] skips.

/// Bytes of a vector register on every machine.
const LANES: usize = 16;

/// The offset of the first byte of the class, from `at` on; the length of the text if there is none.
///
/// The class must hold the line feed, which stands for whatever is behind the end of the text.
#[inline]
pub(super) fn first_stop(bytes: &[u8], mut at: usize, class: impl Fn(u8) -> bool) -> usize {
    debug_assert!(class(b'\n') && at <= bytes.len());
    // Termination: each turn moves on.
    while let Some(lanes) = window_at::<LANES>(bytes, at) {
        let stops = answers(lanes, &class);
        if stops != 0 {
            return at + first_yes(stops);
        }
        at += LANES;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let mut lanes = [b'\n'; LANES];
    lanes[..rest.len()].copy_from_slice(rest);
    at + first_yes(answers(&lanes, &class)).min(rest.len())
}

/// Moves from `at` over windows of `N` bytes of which none is in the class.
#[inline]
pub(super) fn skip_windows<const N: usize>(
    bytes: &[u8],
    mut at: usize,
    class: impl Fn(u8) -> bool,
) -> usize {
    // Termination: each turn moves on.
    while let Some(window) = window_at::<N>(bytes, at) {
        if window.iter().fold(false, |any, &byte| any | class(byte)) {
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

/// For each byte, the lowest first, a byte of ones if it is in the class.
#[inline]
fn answers(lanes: &[u8; LANES], class: impl Fn(u8) -> bool) -> u128 {
    let mut answers = [0; LANES];
    for (answer, byte) in answers.iter_mut().zip(lanes) {
        *answer = u8::from(class(*byte)).wrapping_neg();
    }
    u128::from_le_bytes(answers)
}

/// The number of the first byte of ones; [`LANES`] if there is none.
#[inline]
fn first_yes(answers: u128) -> usize {
    answers.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stop_is_found_anywhere_in_texts_of_any_length() {
        let class = |byte| byte == b'>' || byte == b'\n';
        for length in 0..150 {
            let mut text = vec![b'x'; length];
            assert_eq!(first_stop(&text, 0, class), length);
            for stop in 0..length {
                text[stop] = b'>';
                for start in 0..=stop {
                    assert_eq!(first_stop(&text, start, class), stop);
                    let skipped = skip_windows::<64>(&text, start, class);
                    assert_eq!(first_stop(&text, skipped, class), stop);
                    assert!(
                        stop - skipped < 64 && (skipped - start) % 64 == 0 || length - skipped < 64
                    );
                }
                assert_eq!(first_stop(&text, stop + 1, class), length);
                text[stop] = b'x';
            }
        }
    }
}
