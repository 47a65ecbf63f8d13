//! `TermFile`: terms that a query computed and cannot hold, in a temporary file.
//!
//! [Records](crate::terms::record) follow each other; who appends one keeps where it begins and how long it is. Those at the end are in a buffer until
//! that is full. Like all temporary files this one has no name once it is open. Cost: one read for each term looked at.

use super::PURPOSE;
use crate::context::SpillCount;
use crate::error::ExecError;
use crate::terms::record::{self, Record};
use basalt_rdf::TermView;
use basalt_store::TemporaryFile;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Bytes of the buffer; more would save nothing.
const BUFFER_BYTES: usize = 64 << 10;

/// Where a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermPlace {
    offset: u64,
    bytes: u64,
}

/// The file; see the [module documentation](self).
pub struct TermFile {
    to: TemporaryFile,
    /// Bytes in the file, without the buffer.
    written: u64,
    buffer: Vec<u8>,
    spilled: SpillCount,
}

impl TermFile {
    /// An empty file in a folder, or where the system keeps such files.
    pub fn create(folder: Option<&Path>, spilled: SpillCount) -> Result<Self, ExecError> {
        Ok(Self {
            to: TemporaryFile::create(folder, PURPOSE)?,
            written: 0,
            buffer: Vec::new(),
            spilled,
        })
    }

    /// Appends a term that is no blank node. After an error it is not there, and nothing else is lost.
    pub fn push(&mut self, term: TermView<'_>) -> Result<TermPlace, ExecError> {
        let before = self.buffer.len();
        let offset = self.written + before as u64;
        Record::of(term).write(&mut self.buffer);
        let bytes = (self.buffer.len() - before) as u64;
        if self.buffer.len() >= BUFFER_BYTES
            && let Err(error) = self.flush()
        {
            self.buffer.truncate(before);
            return Err(error);
        }
        Ok(TermPlace { offset, bytes })
    }

    fn flush(&mut self) -> Result<(), ExecError> {
        self.to.append(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.spilled.add(self.buffer.len() as u64);
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES);
        Ok(())
    }

    /// Looks at a term.
    pub fn read<R>(
        &self,
        place: TermPlace,
        look: impl FnOnce(TermView<'_>) -> R,
    ) -> Result<R, ExecError> {
        let length = place.bytes as usize;
        if let Some(start) = place.offset.checked_sub(self.written) {
            let start = start as usize;
            return self.parse(&self.buffer[start..start + length], look);
        }
        let mut bytes = vec![0; length];
        self.to.read_at(place.offset, &mut bytes)?;
        self.parse(&bytes, look)
    }

    fn parse<R>(&self, bytes: &[u8], look: impl FnOnce(TermView<'_>) -> R) -> Result<R, ExecError> {
        let Some(term) = record::read(bytes) else {
            let source = io::Error::new(ErrorKind::InvalidData, "what was written is not there");
            return Err(self.to.error("read", source).into());
        };
        Ok(look(term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, ExecOptions};
    use basalt_store::Snapshot;

    /// One kind of term after the other.
    fn view(text: &str, n: usize) -> TermView<'_> {
        match n % 4 {
            0 => TermView::Iri(text),
            1 => TermView::simple(text),
            2 => TermView::language(text, "en-GB"),
            _ => TermView::typed(text, "http://e/t"),
        }
    }

    #[test]
    fn terms_come_back_from_buffer_and_file() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let mut file = TermFile::create(None, cx.spill_count()).expect("a temporary file");
        let long = "ä".repeat(BUFFER_BYTES);
        let texts: Vec<String> = (0..3000)
            .map(|n| format!("{n} {}", &long[..n / 2 * 2]))
            .collect();
        let mut places = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            places.push(file.push(view(text, n)).expect("room"));
        }
        places.push(file.push(TermView::simple(&long)).expect("room"));
        let spilled = cx.spilled_bytes();
        assert!(spilled > 4_000_000, "{spilled}");
        for (n, text) in texts.iter().enumerate() {
            let same = file.read(places[n], |term| term == view(text, n));
            assert!(same.expect("it is there"), "{n}");
        }
        let same = file.read(places[texts.len()], |term| term == TermView::simple(&long));
        assert!(same.expect("it is there"));
    }
}
