//! Where the IRI of a line ends, and whether it is one.
//!
//! Both questions have one answer, found in one pass over the bytes: all that an IRI may hold unescaped is
//! skipped, sixteen bytes at once, and what stops the search is the closing bracket or one of few bytes that
//! need a look: `#`, `%`, letters of other scripts. And IRIs in one place of a line, such as all predicates,
//! mostly begin with one of few texts up to a slash or `#`: these [`KnownPrefixes`] are compared, which is
//! much faster than to check them again, and the search begins behind them.
//!
//! Invariant: what is taken here, [`oxrdf::NamedNodeRef::new`] takes too, and so does rio_turtle. What
//! is not (user names, addresses in square brackets, rare letters) may still be an IRI.

use memchr::{memchr, memchr3, memrchr2};

use super::stops::{first_stop, window_at};

/// Scheme and slashes, as a number.
const HTTP: u64 = u64::from_le_bytes(*b"http://\0");
/// The bytes that count in [`HTTP`].
const HTTP_MASK: u64 = u64::MAX >> 8;
/// Scheme and slashes, as a number.
const HTTPS: u64 = u64::from_le_bytes(*b"https://");

/// Prefixes that are remembered for one place of a line; vocabularies in use at once are hardly more.
const PREFIX_SLOTS: usize = 8;

/// How the last IRIs in one place of a line began.
#[derive(Default)]
pub(super) struct KnownPrefixes<'t> {
    /// The last prefix of each [slot](slot_of).
    slots: [KnownPrefix<'t>; PREFIX_SLOTS],
}

/// How an IRI began that was checked before.
#[derive(Clone, Copy, Default)]
struct KnownPrefix<'t> {
    /// All from its first byte to a slash or `#` behind the host, but not the whole IRI; empty if there
    /// was none.
    bytes: &'t [u8],
    /// Whether that includes the `#` that an IRI may hold once.
    has_fragment: bool,
}

/// The slot for IRIs that begin so: a hash of the host and what is around it.
#[inline]
fn slot_of(head: &[u8; 24]) -> usize {
    let (words, _) = head.as_chunks::<8>();
    let mixed = u64::from_le_bytes(words[1]) ^ u64::from_le_bytes(words[2]).rotate_left(29);
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as usize % PREFIX_SLOTS
}

impl<'t> KnownPrefix<'t> {
    /// The longest prefix of a plain IRI that others may share.
    fn of(iri: &'t [u8]) -> Self {
        let Some(slashes) = memchr(b':', iri).filter(|at| iri[at + 1..].starts_with(b"//")) else {
            return Self::default();
        };
        let host = slashes + 3;
        let end = memrchr2(b'/', b'#', &iri[host..iri.len().max(host + 1) - 1]);
        let host_end = memchr3(b'/', b'?', b'#', &iri[host..]);
        match (host_end, end) {
            (Some(host_end), Some(end)) if host_end <= end => {
                let bytes = &iri[..=host + end];
                Self {
                    bytes,
                    has_fragment: memchr(b'#', bytes).is_some(),
                }
            }
            _ => Self::default(),
        }
    }
}

/// Whether bytes begin with others, which are then eight at least.
///
/// Neighbours in a file differ at the end first, and a word can be compared without a call.
#[inline]
pub(super) fn begins_with(bytes: &[u8], start: &[u8]) -> bool {
    match (start.last_chunk::<8>(), bytes.get(..start.len())) {
        (Some(end), Some(bytes)) => bytes.last_chunk::<8>() == Some(end) && bytes == start,
        _ => false,
    }
}

/// The offset of the bracket that ends the absolute IRI which begins at `start`; `None` if that is no plain IRI.
#[inline]
pub(super) fn plain_iri_end<'t>(
    text: &'t str,
    start: usize,
    known: &mut KnownPrefixes<'t>,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let Some(head) = window_at(bytes, start) else {
        return end_of_unknown(text, start);
    };
    let known = &mut known.slots[slot_of(head)];
    if begins_with(&bytes[start..], known.bytes) {
        let stop = first_stop(bytes, start + known.bytes.len(), is_tail_stop);
        return end_from_stop(text, stop, known.has_fragment);
    }
    let end = end_of_unknown(text, start)?;
    *known = KnownPrefix::of(&bytes[start..end]);
    Some(end)
}

/// The same without a known prefix.
#[inline(never)]
fn end_of_unknown(text: &str, start: usize) -> Option<usize> {
    let head = u64::from_le_bytes(*window_at(text.as_bytes(), start)?);
    if head & HTTP_MASK == HTTP {
        return end_of_host(text, start + 7);
    }
    if head == HTTPS {
        return end_of_host(text, start + 8);
    }
    let bytes = text.as_bytes().get(start..)?;
    let is_scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = bytes.iter().position(|byte| !is_scheme_byte(byte))?;
    if bytes[length] != b':' || !bytes[0].is_ascii_alphabetic() {
        return None;
    }
    match bytes[length + 1..] {
        [b'/', b'/', ..] => end_of_host(text, start + length + 3),
        _ => end_of_tail(text, start + length + 1),
    }
}

/// The same behind `//`.
fn end_of_host(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = first_stop(bytes, start, is_host_stop);
    if bytes.get(at) == Some(&b':') {
        at += 1;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
    }
    match bytes.get(at)? {
        b'/' | b'?' | b'#' | b'>' => end_of_tail(text, at),
        _ => None,
    }
}

/// The same within path and query.
fn end_of_tail(text: &str, start: usize) -> Option<usize> {
    let stop = first_stop(text.as_bytes(), start, is_tail_stop);
    end_from_stop(text, stop, false)
}

/// The same when the first stop of path, query or fragment has been found.
#[inline]
fn end_from_stop(text: &str, at: usize, has_fragment: bool) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'>' => Some(at),
        _ => end_from_rare_stop(text, at, has_fragment),
    }
}

/// The same when the first stop is not the end.
#[inline(never)]
fn end_from_rare_stop(text: &str, mut at: usize, mut has_fragment: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    // Termination: each turn moves past a byte at least.
    loop {
        match *bytes.get(at)? {
            b'>' => return Some(at),
            b'#' if !has_fragment => {
                has_fragment = true;
                at += 1;
            }
            b'%' => {
                let digits = bytes.get(at + 1..at + 3)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at += 3;
            }
            0x80.. => at += letters_length(&text[at..])?,
            _ => return None,
        }
        at = first_stop(bytes, at, is_tail_stop);
    }
}

/// The bytes of the letters of other scripts that a text begins with; `None` if rare characters are among them.
fn letters_length(text: &str) -> Option<usize> {
    let is_letter = |c: char| matches!(c, '\u{A0}'..='\u{D7FF}');
    let (length, next) = text.char_indices().find(|(_, c)| !is_letter(*c))?;
    next.is_ascii().then_some(length)
}

/// 1 for all but letters, digits and `-._~!$&'()*+,;=:@/?`.
#[inline]
fn is_tail_stop(byte: u8) -> u8 {
    // `[\]` and `{|}` are the same but for the bit of capital letters.
    let folded = byte | 0x20;
    u8::from(byte.wrapping_sub(0x21) > 0x7E - 0x21)
        | u8::from(folded.wrapping_sub(b'{') <= b'}' - b'{')
        | u8::from(byte == b'"')
        | u8::from(byte == b'#')
        | u8::from(byte == b'%')
        | u8::from(byte == b'<')
        | u8::from(byte == b'>')
        | u8::from(byte == b'^')
        | u8::from(byte == b'`')
}

/// 1 for all of these, what ends a host, and what is no part of its name.
#[inline]
fn is_host_stop(byte: u8) -> u8 {
    is_tail_stop(byte)
        | u8::from(byte == b'/')
        | u8::from(byte == b'?')
        | u8::from(byte == b':')
        | u8::from(byte == b'@')
}

#[cfg(test)]
mod tests;
