//! Codepoint escapes, `\uXXXX` and `\UXXXXXXXX`, as the parser decodes them: in the whole text, before it is parsed.
//!
//! So an escape may stand for any character, also for one that begins or ends a token. What cuts a text by its tokens
//! cuts the [`decoded`] text, and hands the parser its parts [`escaped`], since that decodes what it is given.
//!
//! ```text
//! CLEAR ALL \u003B CLEAR ALL -> CLEAR ALL ; CLEAR ALL
//! "\\u0041"                  -> "\A", which is no string
//! "C:\\Users"                -> the same: these are no digits
//! ```
//!
//! Cost: one pass over the text; texts without escapes are not copied.

use std::borrow::Cow;

/// Whether there is something that looks like an escape.
pub fn has_escape(text: &str) -> bool {
    let is_escape = |pair: &[u8]| pair[0] == b'\\' && matches!(pair[1], b'u' | b'U');
    text.as_bytes().windows(2).any(is_escape)
}

/// The text as the parser sees it.
///
/// What looks like an escape and is none stays, with all that the parser has read of it: a backslash in there
/// begins no escape, and the parser reads on by as much as that one would have.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !has_escape(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // What comes from here on is not in `out` yet.
    let mut start = 0;
    let mut at = 0;
    // How far the parser has read.
    let mut read = 0;
    while let Some(length) = text[at..].find('\\') {
        let backslash = at + length;
        at = backslash + 1;
        let next = read.max(at);
        let digits_len = match text[next..].chars().next() {
            Some('u') => 4,
            Some('U') => 8,
            Some(c) => {
                read = next + c.len_utf8();
                continue;
            }
            None => continue,
        };
        let after = &text[next + 1..];
        let digits = match after.char_indices().nth(digits_len) {
            Some((end, _)) => &after[..end],
            None => after,
        };
        read = next + 1 + digits.len();
        if next > at || digits.len() != digits_len {
            continue;
        }
        let code = u32::from_str_radix(digits, 16).ok();
        if let Some(c) = code.and_then(char::from_u32) {
            out.push_str(&text[start..backslash]);
            out.push(c);
            start = read;
            at = read;
        }
    }
    out.push_str(&text[start..]);
    Cow::Owned(out)
}

/// A text that the parser sees as this one.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !has_escape(text) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\\u", "\\u005Cu");
    Cow::Owned(text.replace("\\U", "\\u005CU"))
}

#[cfg(test)]
mod tests {
    use super::{decoded, escaped};
    use basalt_testkit::split_mix::SplitMix;
    use spargebra::{SparqlParser, Update};

    #[test]
    fn escapes_are_decoded_once_and_others_stay() {
        let cases = [
            ("", ""),
            ("\\", "\\"),
            ("\\u", "\\u"),
            ("\\u004", "\\u004"),
            ("\\u0041", "A"),
            ("x\\U00000041\\u00e9y", "xAéy"),
            ("\\u+041", "A"),
            ("\\uD800 \\UFFFFFFFF", "\\uD800 \\UFFFFFFFF"),
            ("\\\\u0041", "\\A"),
            ("\\u005Cu0041", "\\u0041"),
            ("'C:\\\\Users\\\\me'", "'C:\\\\Users\\\\me'"),
            ("'\\\\Users' ; \\u0041", "'\\\\Users' ; A"),
            // The second is read as a part of the first.
            ("\\Uab\\u0041 \\u0041", "\\Uab\\u0041 A"),
            ("\\u12\\éu0041 \\u0041", "\\u12\\éu0041 A"),
            ("\\uéééé\\u0041", "\\uééééA"),
        ];
        for (text, expected) in cases {
            assert_eq!(decoded(text), expected, "{text}");
            assert_eq!(decoded(&escaped(text)), text);
        }
    }

    /// What a text means, or where it is wrong.
    fn parsed(text: &str) -> Result<Update, String> {
        let parsed = SparqlParser::new().parse_update(text);
        parsed.map_err(|error| {
            let message = error.to_string();
            message.split(": ").next().unwrap_or_default().to_owned()
        })
    }

    /// ASCII only: the parser panics at some texts with a backslash before another character.
    const PIECES: &[&str] = &[
        "\\", "\\\\", "\\u", "\\U", "\\n", "u", "U", "0041", "005C", "0022", "005Cu", "0000",
        "+041", "D800", "sers", "C:", "x", "\"", " ", "a b",
    ];

    #[test]
    fn the_parser_sees_what_is_decoded() {
        let mut random = SplitMix::new(5);
        let mut right = 0;
        for _ in 0..20_000 {
            let count = random.below(8);
            let inner: String = (0..count)
                .map(|_| PIECES[random.below(PIECES.len())])
                .collect();
            let text = format!("INSERT DATA {{ <e:s> <e:p> \"{inner}\" , 1 }} ; CLEAR ALL");
            let seen = decoded(&text);
            assert_eq!(decoded(&escaped(&seen)), seen, "{text}");
            let expected = parsed(&text);
            right += usize::from(expected.is_ok());
            assert_eq!(parsed(&escaped(&seen)), expected, "{text}");
        }
        assert!(right > 1000, "{right}");
    }
}
