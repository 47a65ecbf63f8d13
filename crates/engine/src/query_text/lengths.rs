//! How far a token goes that begins in a certain way: the parts of tokens that all who look through texts read alike.
//!
//! Lengths are in bytes and end between characters. Cost: one pass over the token.

/// The characters up to the first that is not among those wanted.
pub(super) fn prefix_length(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_in(c)).unwrap_or(text.len())
}

/// The part of a prefixed name after the colon.
pub(super) fn local_length(text: &str, is_name_char: impl Fn(char) -> bool) -> usize {
    let mut end = 0;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            // An escape: the character after it belongs to the name.
            '\\' => {
                end = match characters.next() {
                    Some((at, c)) => at + c.len_utf8(),
                    None => text.len(),
                };
            }
            // Not at the end, so only as far as another character follows.
            '.' => {}
            ':' | '%' => end = at + 1,
            c if is_name_char(c) => end = at + c.len_utf8(),
            _ => break,
        }
    }
    end
}

/// Digits, a fraction, an exponent; nothing where there is no digit.
pub(super) fn number_length(text: &str) -> usize {
    let from = |at: usize| text.get(at..).unwrap_or_default();
    let digits = |at: usize| prefix_length(from(at), |c| c.is_ascii_digit());
    let exponent = |at: usize| {
        if !from(at).starts_with(['e', 'E']) {
            return 0;
        }
        let sign = usize::from(from(at + 1).starts_with(['+', '-']));
        match digits(at + 1 + sign) {
            0 => 0,
            length => 1 + sign + length,
        }
    };
    let mut end = digits(0);
    if from(end).starts_with('.') {
        let fraction = digits(end + 1);
        // A dot alone ends a triple; `1.e3` is a number.
        if fraction > 0 || end > 0 && exponent(end + 1) > 0 {
            end += 1 + fraction;
        }
    }
    if end == 0 { 0 } else { end + exponent(end) }
}

/// A string with its quotes; as an error the place of the line break, or the end of the text, before which it does not end.
pub(super) fn string_end(text: &str, quote: char) -> Result<usize, usize> {
    let (bytes, quote) = (text.as_bytes(), quote as u8);
    let long = [quote; 3];
    let is_long = bytes.starts_with(&long);
    let mut at = if is_long { 3 } else { 1 };
    // Bytes of longer characters are none of these.
    let ends = |byte: &u8| match byte {
        b'\\' => true,
        b'\n' | b'\r' => !is_long,
        byte => *byte == quote,
    };
    // Termination: every round goes on by a byte.
    while let Some(length) = bytes.get(at..).and_then(|rest| rest.iter().position(ends)) {
        at += length;
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' | b'\r' => return Err(at),
            _ if !is_long => return Ok(at + 1),
            _ if bytes[at..].starts_with(&long) => return Ok(at + 3),
            _ => at += 1,
        }
    }
    Err(text.len())
}

/// Bytes that are in no IRI.
const OUTSIDE_IRIS: [bool; 256] = {
    let mut outside = [false; 256];
    let mut byte = 0;
    while byte <= b' ' as usize {
        outside[byte] = true;
        byte += 1;
    }
    let others = b"<>\"{}|^`";
    let mut place = 0;
    while place < others.len() {
        outside[others[place] as usize] = true;
        place += 1;
    }
    outside
};

/// An IRI with its brackets, if that is what the bracket begins.
pub(super) fn iri_length(text: &str) -> Option<usize> {
    let inner = iri_inner_length(text);
    (text.as_bytes().get(1 + inner) == Some(&b'>')).then_some(inner + 2)
}

/// The bytes after a `<` that may stand in an IRI.
pub(super) fn iri_inner_length(text: &str) -> usize {
    let inner = text.as_bytes().get(1..).unwrap_or_default();
    let outside = inner.iter().position(|&byte| OUTSIDE_IRIS[byte as usize]);
    outside.unwrap_or(inner.len())
}
