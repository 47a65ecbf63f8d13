//! Splits Rust source into code and comments, so that rules about code do not
//! trip over words in strings, and rules about comments do not over code.
//!
//! Not a parser: it knows comments (nested), string, byte, raw string and
//! character literals, and tells a lifetime from a character.
//!
//! Invariant: both texts have the length and the line ends of the source; what
//! belongs to the other side, and every literal, is spaces. Non-ASCII
//! bytes become `_`, so both are ASCII and an offset is a column.
//!
//! Cost: one pass.

/// What a stretch of source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything that is not one of the others.
    Code,
    /// A literal in quotes, with its quotes.
    Literal,
    /// A comment, with its marks.
    Comment,
}

/// A source file, code and comments apart.
pub struct SourceText {
    /// The code, all else blank.
    pub code: String,
    /// The comments, all else blank.
    pub comments: String,
}

impl SourceText {
    /// Splits a source text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let blank = |byte: &u8| if *byte == b'\n' { b'\n' } else { b' ' };
        let mut code: Vec<u8> = bytes.iter().map(blank).collect();
        let mut comments = code.clone();
        let mut at = 0;
        // Termination: every span has at least one byte.
        while at < bytes.len() {
            let (kind, end) = span(bytes, at);
            debug_assert!(at < end && end <= bytes.len());
            let into = match kind {
                Kind::Code => Some(&mut code),
                Kind::Comment => Some(&mut comments),
                Kind::Literal => None,
            };
            if let Some(into) = into {
                for (to, from) in into[at..end].iter_mut().zip(&bytes[at..end]) {
                    *to = if from.is_ascii() { *from } else { b'_' };
                }
            }
            at = end;
        }
        Self {
            code: String::from_utf8_lossy(&code).into_owned(),
            comments: String::from_utf8_lossy(&comments).into_owned(),
        }
    }

    /// The words of the code (identifiers, keywords, numbers) with their offsets.
    pub fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        words(&self.code)
    }

    /// The line, from 1, that an offset lies on.
    pub fn line_at(&self, offset: usize) -> usize {
        1 + self.code[..offset].matches('\n').count()
    }
}

/// The words of an ASCII text with their offsets.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        at = word_end(bytes, at);
        (start < at).then(|| (start, &text[start..at]))
    })
}

/// Whether a byte can be part of an identifier.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The end of the word that starts at `at`; `at` itself if none does.
fn word_end(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| is_word(**byte))
        .count();
    at + length
}

/// The stretch of one kind that starts at `at`, and its end.
fn span(bytes: &[u8], at: usize) -> (Kind, usize) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|byte| *byte == b'\n');
        return (Kind::Comment, length.map_or(bytes.len(), |n| at + n));
    }
    if rest.starts_with(b"/*") {
        return (Kind::Comment, block_comment_end(bytes, at));
    }
    if let Some(end) = raw_string_end(bytes, at) {
        return (Kind::Literal, end);
    }
    match bytes[at] {
        b'"' => (Kind::Literal, quoted_end(bytes, at + 1, b'"')),
        b'\'' => character_end(bytes, at).map_or((Kind::Code, at + 1), |end| (Kind::Literal, end)),
        byte if is_word(byte) => (Kind::Code, word_end(bytes, at)),
        _ => (Kind::Code, at + 1),
    }
}

/// The end of a block comment; block comments nest.
fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The end of the raw string (`r"`, `r#"`, `br"`, `cr#"`) that starts at `at`, if
/// one does.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let prefix = [&b"r"[..], b"br", b"cr"]
        .into_iter()
        .find(|prefix| bytes[at..].starts_with(prefix))?;
    let marks_start = at + prefix.len();
    let marks = bytes[marks_start..]
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    let open = marks_start + marks;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'#'; marks + 1];
    close[0] = b'"';
    let body = &bytes[open + 1..];
    let length = body.windows(close.len()).position(|here| here == close);
    Some(length.map_or(bytes.len(), |n| open + 1 + n + close.len()))
}

/// The end of a literal whose opening quote lies before `at`.
fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of the character literal that starts at `at`; `None` for a lifetime.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    let first = *bytes.get(at + 1)?;
    if first == b'\\' {
        return Some(quoted_end(bytes, at + 1, b'\''));
    }
    let continuation = bytes[at + 2..].iter();
    let length = 1 + continuation
        .take_while(|byte| **byte & 0xC0 == 0x80)
        .count();
    let close = at + 1 + length;
    (bytes.get(close) == Some(&b'\'')).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_words(text: &str) -> Vec<String> {
        let source = SourceText::new(text);
        source.words().map(|(_, word)| word.to_owned()).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let text = "a // b\n/* c /* d */ e */ f \"g \\\" h\" i b\"j\" k";
        assert_eq!(code_words(text), ["a", "f", "i", "b", "k"]);
        assert_eq!(code_words("r#\"x\" y\"# z br\"q\" r#fn"), ["z", "r", "fn"]);
        assert_eq!(code_words("for\"x\" r\"\\\" y"), ["for", "y"]);
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        assert_eq!(code_words("<'a, 'b> 'c' '\\'' '{' 'é' d"), ["a", "b", "d"]);
        assert_eq!(code_words("b'x' '\\u{7f}' y"), ["b", "y"]);
    }

    #[test]
    fn both_texts_keep_length_and_lines() {
        let text = "let é = \"ä\n\"; // ö\nend";
        let source = SourceText::new(text);
        assert_eq!(source.code.len(), text.len());
        assert_eq!(source.comments.len(), text.len());
        assert_eq!(source.code.lines().count(), 3);
        assert!(source.comments.contains("// __"));
        let end = source.code.find("end");
        assert_eq!(end.map(|offset| source.line_at(offset)), Some(3));
    }

    #[test]
    fn unfinished_text_ends_at_its_end() {
        for text in ["\"abc", "/* /* */", "r#\"abc\"", "'", "'\\", "\"\\"] {
            assert_eq!(SourceText::new(text).code.len(), text.len());
        }
    }
}
