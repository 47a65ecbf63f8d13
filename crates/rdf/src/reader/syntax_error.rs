//! `SyntaxError`: where a text breaks the rules of its format, and which text.
//!
//! Lines and columns count from 1; columns count characters. The quoted text is shortened around the
//! column, so that an error on a line of megabytes stays one line on a terminal.

use std::fmt;

/// Characters quoted before and after the fault.
const CONTEXT_CHARS: usize = 40;

/// A text that breaks the rules of its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// The file as the user named it; empty if the reader was not told.
    pub file: String,
    /// Line, from 1; 0 if not known.
    pub line: u64,
    /// Column in characters, from 1; 0 if not known.
    pub column: u64,
    /// What is wrong: lower case, no period.
    pub message: String,
    /// The text around the fault, shortened.
    pub text: String,
    /// Of the line formats, the whole line as it was read, without its line end; it need not be UTF-8.
    /// Empty for the other formats.
    pub raw_line: Box<[u8]>,
}

impl SyntaxError {
    /// An error at a byte offset of a line.
    pub(crate) fn at(line: u64, content: &str, offset: usize, message: String) -> Self {
        let offset = floor_char_boundary(content, offset);
        Self {
            file: String::new(),
            line,
            column: content[..offset].chars().count() as u64 + 1,
            message,
            text: shorten(content, offset),
            raw_line: Box::default(),
        }
    }

    /// The same error with the line that it is about, whose line end is dropped.
    pub(crate) fn with_raw_line(mut self, line: &[u8]) -> Self {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.raw_line = line.into();
        self
    }

    /// An error without a place.
    pub(crate) fn unplaced(message: &str) -> Self {
        let (file, text) = (String::new(), String::new());
        Self {
            file,
            line: 0,
            column: 0,
            message: message.to_owned(),
            text,
            raw_line: Box::default(),
        }
    }

    /// The same error with the name of its file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        file.clone_into(&mut self.file);
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
        }
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        if self.column > 0 {
            write!(f, "{}:", self.column)?;
        }
        if !self.file.is_empty() || self.line > 0 || self.column > 0 {
            f.write_str(" ")?;
        }
        f.write_str(&self.message)?;
        if !self.text.is_empty() {
            write!(f, ": «{}»", self.text)?;
        }
        Ok(())
    }
}

/// The last character boundary at or before `offset`.
fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The part of a line around a byte offset, on one line and without control characters.
fn shorten(content: &str, offset: usize) -> String {
    let content = content.trim_end_matches(['\n', '\r']);
    let offset = floor_char_boundary(content, offset);
    let before = content[..offset]
        .char_indices()
        .rev()
        .nth(CONTEXT_CHARS - 1);
    let after = content[offset..].char_indices().nth(CONTEXT_CHARS);
    let start = before.map_or(0, |(at, _)| at);
    let end = after.map_or(content.len(), |(at, _)| offset + at);
    let mut text = String::new();
    if start > 0 {
        text.push('…');
    }
    text.extend(
        content[start..end]
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c }),
    );
    if end < content.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_the_place_and_quotes() {
        let error = SyntaxError::at(3, "<a> é x .\n", 7, "unexpected character 'x'".into());
        assert_eq!(
            error.to_string(),
            "3:7: unexpected character 'x': «<a> é x .»"
        );
        let error = error.in_file("data.nt");
        assert_eq!(
            error.to_string(),
            "data.nt:3:7: unexpected character 'x': «<a> é x .»"
        );
    }

    #[test]
    fn long_lines_are_shortened_around_the_fault() {
        let line = format!("{}X{}", "a".repeat(100), "é".repeat(100));
        let error = SyntaxError::at(1, &line, 100, "bad".into());
        assert_eq!(
            error.text,
            format!("…{}X{}…", "a".repeat(40), "é".repeat(39))
        );
        assert_eq!(error.column, 101);
        let inside = SyntaxError::at(1, &line, 102, "bad".into());
        assert_eq!(
            inside.column, 102,
            "an offset inside a character is that character"
        );
        assert_eq!(SyntaxError::at(1, "ab", 99, "bad".into()).column, 3);
    }

    #[test]
    fn the_raw_line_has_no_line_end() {
        let error = SyntaxError::unplaced("bad");
        assert!(error.raw_line.is_empty());
        for end in ["", "\n", "\r\n", "\r"] {
            let line = [&b"a \xFF\r b"[..], end.as_bytes()].concat();
            let raw = error.clone().with_raw_line(&line).raw_line;
            assert_eq!(&*raw, b"a \xFF\r b");
        }
    }
}
