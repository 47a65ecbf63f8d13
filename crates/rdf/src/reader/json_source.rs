//! `JsonSource`: what stands between the bytes and oxrdfio's parser of JSON-LD.
//!
//! The bytes pass unchanged. Documents nested deeper than [`DEPTH_MAX`] are refused, because the parser
//! calls itself for each level, and so is anything behind the end of the document, which the parser does not
//! look at.
//!
//! Cost: one small step of a state machine per byte.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use super::SyntaxError;
use super::utf8_chunks::{TextLog, Utf8Chunks};

/// Objects and arrays that may be open at once.
const DEPTH_MAX: u32 = 200;

/// What was noted about the text that was handed out.
#[derive(Debug, Default)]
pub(super) struct JsonLog {
    /// The text, for errors.
    pub(super) text: TextLog,
    /// A document that may not be read on.
    pub(super) refused: Option<SyntaxError>,
    /// Whether there was anything but white space.
    pub(super) has_content: bool,
}

/// A reader that checks; see the [module documentation](self).
pub(super) struct JsonSource<R> {
    /// The text.
    chunks: Utf8Chunks<R>,
    /// First byte of the chunk not yet handed out.
    start: usize,
    /// Objects and arrays that are open.
    depth: u32,
    /// Whether the outermost object or array has ended.
    is_over: bool,
    /// Whether the text stands in a string.
    is_in_string: bool,
    /// Whether the last byte was a backslash in a string.
    is_escaped: bool,
    /// The number of the line, from 0.
    line: u64,
    /// The notes, shared with whoever reads the parser's quads.
    log: Rc<RefCell<JsonLog>>,
}

impl<R: Read> JsonSource<R> {
    pub(super) fn new(reader: R, log: Rc<RefCell<JsonLog>>) -> Self {
        Self {
            chunks: Utf8Chunks::new(reader),
            start: 0,
            depth: 0,
            is_over: false,
            is_in_string: false,
            is_escaped: false,
            line: 0,
            log,
        }
    }

    /// Follows strings and nesting through the chunk.
    fn scan(&mut self, log: &mut JsonLog) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        log.has_content |= !self.chunks.chunk().iter().all(is_space);
        for &byte in self.chunks.chunk() {
            if self.is_over && !is_space(&byte) {
                let message = "there is more behind the end of the document".to_owned();
                log.refused = Some(log.text.syntax_error(self.line + 1, 1, message));
                return;
            }
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_over = self.depth == 0;
                }
                b'\n' => self.line += 1,
                _ => {}
            }
            if self.depth > DEPTH_MAX {
                let message = format!("nested deeper than {DEPTH_MAX} objects and arrays");
                log.refused = Some(log.text.syntax_error(self.line + 1, 1, message));
                return;
            }
        }
    }
}

impl<R: Read> Read for JsonSource<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let log = Rc::clone(&self.log);
        let mut log = log.borrow_mut();
        if self.start == self.chunks.chunk().len() {
            self.start = 0;
            self.chunks.next_chunk(&mut log.text)?;
            self.scan(&mut log);
        }
        if log.refused.is_some() {
            return Err(io::Error::other("the document was refused"));
        }
        let rest = &self.chunks.chunk()[self.start..];
        let count = rest.len().min(target.len());
        target[..count].copy_from_slice(&rest[..count]);
        self.start += count;
        Ok(count)
    }
}
