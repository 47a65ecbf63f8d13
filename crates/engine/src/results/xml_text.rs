//! `XmlText`: the tags and texts of an XML document, one after the other.
//!
//! As much of XML 1.0 as documents without a document type need: elements, attributes, references,
//! comments, processing instructions, CDATA. Names lose their prefix. Text keeps every space, since a
//! literal may begin or end with one. Only UTF-8.
//!
//! Invariants: tags are nested and all closed before the end is reported; a document that was cut is an
//! error. Memory: one tag or text, and the names of the open elements.

use std::io::{BufReader, Bytes, Read};
use std::iter::Peekable;

/// Open elements within each other; results need six.
const DEPTH_MAX: usize = 64;

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// An element begins; its attributes.
    Start(String, Vec<(String, String)>),
    /// The element that began last ends.
    End,
    /// Text, references replaced.
    Text(String),
}

/// The reader; see the [module documentation](self).
pub(super) struct XmlText<R: Read> {
    bytes: Peekable<Bytes<BufReader<R>>>,
    /// The names of the open elements, with prefixes.
    open: Vec<Vec<u8>>,
    /// Whether the element that began last has ended in its own tag.
    closes: bool,
    has_root: bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

impl<R: Read> XmlText<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            bytes: BufReader::new(reader).bytes().peekable(),
            open: Vec::new(),
            closes: false,
            has_root: false,
        }
    }

    /// The next piece; `None` at the end of a whole document.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, String> {
        if std::mem::take(&mut self.closes) {
            self.open.pop();
            return Ok(Some(Piece::End));
        }
        loop {
            match self.peek()? {
                None if self.has_root && self.open.is_empty() => return Ok(None),
                None => return Err("the document ends before its root element does".to_owned()),
                Some(b'<') => {
                    self.byte()?;
                    if let Some(piece) = self.markup()? {
                        return Ok(Some(piece));
                    }
                }
                Some(_) => {
                    let text = self.text()?;
                    if !self.open.is_empty() {
                        return Ok(Some(Piece::Text(text)));
                    }
                    if !text.trim_start_matches('\u{FEFF}').trim().is_empty() {
                        return Err("there is text outside the root element".to_owned());
                    }
                }
            }
        }
    }

    fn byte(&mut self) -> Result<u8, String> {
        match self.bytes.next() {
            Some(Ok(byte)) => Ok(byte),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("the document ends inside a tag".to_owned()),
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, String> {
        match self.bytes.peek() {
            Some(Ok(byte)) => Ok(Some(*byte)),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(None),
        }
    }

    /// What follows a `<`; nothing for what is not shown.
    fn markup(&mut self) -> Result<Option<Piece>, String> {
        match self.peek()? {
            Some(b'?') => {
                let text = self.until(b"?>")?;
                self.check_encoding(&text)?;
                Ok(None)
            }
            Some(b'!') => self.declaration(),
            Some(b'/') => {
                self.byte()?;
                let mut name = self.until(b">")?;
                name.truncate(name.trim_ascii_end().len());
                match self.open.pop() {
                    Some(open) if open == name => Ok(Some(Piece::End)),
                    _ => Err(format!(
                        "</{}> closes nothing",
                        String::from_utf8_lossy(&name)
                    )),
                }
            }
            _ => self.start().map(Some),
        }
    }

    fn check_encoding(&self, instruction: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(instruction).to_ascii_lowercase();
        let Some((_, rest)) = text
            .split_once("encoding")
            .filter(|_| text.starts_with("?xml "))
        else {
            return Ok(());
        };
        let name: Vec<&str> = rest.splitn(3, ['"', '\'']).collect();
        match name.get(1) {
            None | Some(&("utf-8" | "us-ascii")) => Ok(()),
            Some(other) => Err(format!("the encoding '{other}' is not UTF-8")),
        }
    }

    /// A comment or CDATA.
    fn declaration(&mut self) -> Result<Option<Piece>, String> {
        let mut start = Vec::new();
        while start.len() < 8 && start != b"!--" {
            start.push(self.byte()?);
        }
        if start == b"!--" {
            self.until(b"-->")?;
            return Ok(None);
        }
        if start == b"![CDATA[" && !self.open.is_empty() {
            return Ok(Some(Piece::Text(utf8(self.until(b"]]>")?)?)));
        }
        Err("a document type is not taken".to_owned())
    }

    /// The bytes before an end mark, which is read too.
    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end) {
            bytes.push(self.byte()?);
        }
        bytes.truncate(bytes.len() - end.len());
        Ok(bytes)
    }

    fn skip_space(&mut self) -> Result<(), String> {
        while self.peek()?.is_some_and(is_space) {
            self.byte()?;
        }
        Ok(())
    }

    fn name(&mut self) -> Result<Vec<u8>, String> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek()? {
            if is_space(byte) || b"=/><\"'&".contains(&byte) {
                break;
            }
            name.push(self.byte()?);
        }
        if name.is_empty() {
            return Err("a name is missing in a tag".to_owned());
        }
        Ok(name)
    }

    /// A start tag after its `<`.
    fn start(&mut self) -> Result<Piece, String> {
        if self.has_root && self.open.is_empty() {
            return Err("there is a second root element".to_owned());
        }
        let name = self.name()?;
        let mut attributes = Vec::new();
        loop {
            self.skip_space()?;
            match self.peek()? {
                Some(b'>') => {
                    self.byte()?;
                    break;
                }
                Some(b'/') => {
                    self.byte()?;
                    if self.byte()? != b'>' {
                        return Err("a '/' inside a tag".to_owned());
                    }
                    self.closes = true;
                    break;
                }
                _ => attributes.push(self.attribute()?),
            }
        }
        if self.open.len() >= DEPTH_MAX {
            return Err("elements are nested too deeply".to_owned());
        }
        self.has_root = true;
        let local = local(name.clone())?;
        self.open.push(name);
        Ok(Piece::Start(local, attributes))
    }

    fn attribute(&mut self) -> Result<(String, String), String> {
        let name = self.name()?;
        self.skip_space()?;
        if self.byte()? != b'=' {
            return Err("an attribute without a value".to_owned());
        }
        self.skip_space()?;
        let quote = self.byte()?;
        if !matches!(quote, b'"' | b'\'') {
            return Err("a value of an attribute without quotes".to_owned());
        }
        let mut value = Vec::new();
        loop {
            match self.byte()? {
                byte if byte == quote => break,
                b'<' => return Err("a '<' in the value of an attribute".to_owned()),
                b'&' => self.reference(&mut value)?,
                byte if is_space(byte) => value.push(b' '),
                byte => value.push(byte),
            }
        }
        Ok((local(name)?, utf8(value)?))
    }

    /// Text up to the next tag. Line ends become line feeds, as XML wants.
    fn text(&mut self) -> Result<String, String> {
        let mut text = Vec::new();
        while let Some(byte) = self.peek()? {
            if byte == b'<' {
                break;
            }
            match self.byte()? {
                b'&' => self.reference(&mut text)?,
                b'\r' if self.peek()? == Some(b'\n') => {}
                b'\r' => text.push(b'\n'),
                byte => text.push(byte),
            }
        }
        utf8(text)
    }

    /// What a reference after its `&` stands for.
    fn reference(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let mut name = Vec::new();
        loop {
            match self.byte()? {
                b';' => break,
                byte if name.len() < 16 => name.push(byte),
                _ => return Err("a reference does not end".to_owned()),
            }
        }
        let name = utf8(name)?;
        let number = match name.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            },
            None => match name.as_str() {
                "lt" => Some(u32::from(b'<')),
                "gt" => Some(u32::from(b'>')),
                "amp" => Some(u32::from(b'&')),
                "quot" => Some(u32::from(b'"')),
                "apos" => Some(u32::from(b'\'')),
                _ => None,
            },
        };
        let character = number.and_then(char::from_u32);
        let character = character.ok_or_else(|| format!("'&{name};' is not known"))?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

/// A name without its prefix.
fn local(name: Vec<u8>) -> Result<String, String> {
    let mut name = utf8(name)?;
    if let Some(colon) = name.rfind(':') {
        name.drain(..=colon);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{Piece, XmlText};

    fn pieces(text: &str) -> Result<Vec<Piece>, String> {
        let mut reader = XmlText::new(text.as_bytes());
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next()? {
            pieces.push(piece);
        }
        Ok(pieces)
    }

    #[test]
    fn documents_come_apart() {
        let text = "\u{FEFF}<?xml version='1.0' encoding=\"UTF-8\"?>\n<!-- a > b --><s:a x='1&lt;\n' y:z=\"\">\
            \r\n <b/>&#x20;&#65;<![CDATA[<&]]></s:a >\n<?end?>";
        let start = |name: &str, attributes: &[(&str, &str)]| {
            let attributes = attributes.iter();
            let owned = attributes.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            Piece::Start(name.to_owned(), owned.collect())
        };
        let expected = vec![
            start("a", &[("x", "1< "), ("z", "")]),
            Piece::Text("\n ".to_owned()),
            start("b", &[]),
            Piece::End,
            Piece::Text(" A".to_owned()),
            Piece::Text("<&".to_owned()),
            Piece::End,
        ];
        assert_eq!(pieces(text), Ok(expected));
    }

    #[test]
    fn what_is_no_document_is_an_error() {
        for text in [
            "",
            " ",
            "a",
            "<a>",
            "<a",
            "<a/><b/>",
            "<a></b>",
            "</a>",
            "<a x/>",
            "<a x=1/>",
            "<a x='1/>",
            "<a>&odd;</a>",
            "<a>&#xD800;</a>",
            "<a>&",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
            "<a/>text",
            "<a><![CDATA[</a>",
            "<a><!-- </a>",
            "< a/>",
            "<?xml encoding='latin-1'?><a/>",
        ] {
            assert!(pieces(text).is_err(), "{text}");
        }
        assert!(pieces(&"<a>".repeat(1000)).is_err());
        assert!(XmlText::new(b"<a>\xff</a>".as_slice()).next().is_ok());
    }
}
