//! `XmlEnd`: tells whether an XML text was read up to the end of its root element.
//!
//! The XML reader takes the end of the bytes for the end of the results, wherever it is. A text that was
//! cut must not pass for a shorter one, so the bytes are watched for the closing tag on their way.
//!
//! Cost: one look at each byte.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Longer tags are not the one looked for.
const TAG_BYTES_MAX: usize = 64;

/// A reader whose handles share what they saw.
pub(super) struct XmlEnd<R>(Rc<RefCell<State<R>>>);

struct State<R> {
    reader: R,
    /// The bytes of the tag being read, from after its `<`.
    tag: Option<Vec<u8>>,
    is_complete: bool,
}

impl<R: Read> XmlEnd<R> {
    pub(super) fn new(reader: R) -> Self {
        Self(Rc::new(RefCell::new(State {
            reader,
            tag: None,
            is_complete: false,
        })))
    }

    /// Another handle, which reads on where this one stops.
    pub(super) fn share(&self) -> Self {
        Self(Rc::clone(&self.0))
    }

    /// Reads what is left, and says whether the closing tag of the root was there.
    pub(super) fn is_complete(&mut self) -> io::Result<bool> {
        io::copy(self, &mut io::sink())?;
        Ok(self.0.borrow().is_complete)
    }
}

impl<R: Read> Read for XmlEnd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.borrow_mut();
        let count = state.reader.read(buffer)?;
        for &byte in &buffer[..count] {
            state.see(byte);
        }
        Ok(count)
    }
}

impl<R> State<R> {
    fn see(&mut self, byte: u8) {
        match (byte, &mut self.tag) {
            (b'<', tag) => *tag = Some(Vec::new()),
            (b'>', tag) => {
                self.is_complete |= tag.take().is_some_and(|tag| closes_root(&tag));
            }
            (_, Some(tag)) if tag.len() < TAG_BYTES_MAX => tag.push(byte),
            (_, tag) => *tag = None,
        }
    }
}

/// Whether a tag is `/sparql`, perhaps with a prefix.
fn closes_root(tag: &[u8]) -> bool {
    let Some(name) = tag.trim_ascii_end().strip_prefix(b"/") else {
        return false;
    };
    let local = name.rsplit(|byte| *byte == b':').next();
    local == Some(b"sparql")
}

#[cfg(test)]
mod tests {
    use super::XmlEnd;
    use std::io::Read;

    #[test]
    fn the_closing_tag_is_seen_wherever_reading_stopped() {
        for (text, is_complete) in [
            ("<sparql><results/></sparql>", true),
            (
                "<s:sparql><s:results/></s:sparql \n> <!-- a comment -->",
                true,
            ),
            ("<sparql><results/></sparql", false),
            ("<sparql><literal>/sparql></literal>", false),
            ("<sparql/>", false),
            ("", false),
        ] {
            for taken in [0, 3, text.len()] {
                let mut reader = XmlEnd::new(text.as_bytes());
                let mut start = vec![0; taken.min(text.len())];
                reader
                    .share()
                    .read_exact(&mut start)
                    .expect("a slice is read");
                let seen = reader.is_complete().expect("a slice is read");
                assert_eq!(seen, is_complete, "{text} after {taken}");
            }
        }
    }
}
