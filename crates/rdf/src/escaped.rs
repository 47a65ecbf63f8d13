//! Text whose special bytes are replaced, copied in stretches: for writers of statements and of results.

/// Bytes that are looked at together: without a branch inside, vectors do it.
const STRETCH: usize = 32;

/// Appends text. Where `is_special` says so, `replace` gets what is left from that byte on, appends what stands for it, and
/// tells how many bytes that were, at least one.
#[inline]
pub fn push_escaped(
    out: &mut Vec<u8>,
    text: &[u8],
    is_special: impl Fn(u8) -> bool,
    replace: impl Fn(&mut Vec<u8>, &[u8]) -> usize,
) {
    let mut rest = text;
    // Termination: `rest` shrinks with each turn.
    while let Some(at) = first_special(rest, &is_special) {
        out.extend_from_slice(&rest[..at]);
        let replaced = replace(out, &rest[at..]);
        rest = &rest[at + replaced..];
    }
    out.extend_from_slice(rest);
}

/// Where the first special byte is.
#[inline]
pub fn first_special(text: &[u8], is_special: &impl Fn(u8) -> bool) -> Option<usize> {
    let mut start = 0;
    for stretch in text.chunks(STRETCH) {
        if stretch
            .iter()
            .fold(false, |any, &byte| any | is_special(byte))
        {
            let within = stretch.iter().position(|&byte| is_special(byte));
            return within.map(|at| start + at);
        }
        start += stretch.len();
    }
    None
}

/// Appends a JSON string.
pub fn push_json_string(out: &mut Vec<u8>, text: &str) {
    let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    out.push(b'"');
    push_escaped(out, text.as_bytes(), is_special, |out, rest| {
        match rest[0] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        1
    });
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte; two special ones in a row are replaced together.
    fn replaced_plainly(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'!' => {
                    out.extend_from_slice(b"exclaimed");
                    at += usize::from(text.get(at + 1) == Some(&b'!'));
                }
                byte => out.push(byte),
            }
            at += 1;
        }
        out
    }

    #[test]
    fn special_bytes_are_replaced_wherever_they_stand() {
        for len in 0..70 {
            for first in 0..=len {
                for second in first..=len {
                    let mut text = vec![b'a'; len];
                    for at in [first, second] {
                        text.get_mut(at).into_iter().for_each(|byte| *byte = b'!');
                    }
                    let mut out = Vec::new();
                    let is_special = |byte: u8| byte == b'!';
                    push_escaped(&mut out, &text, is_special, |out, rest| {
                        out.extend_from_slice(b"exclaimed");
                        1 + usize::from(rest.get(1) == Some(&b'!'))
                    });
                    assert_eq!(out, replaced_plainly(&text), "{len}: {first}, {second}");
                    let expected = (first < len).then_some(first);
                    assert_eq!(first_special(&text, &is_special), expected);
                }
            }
        }
    }
}
