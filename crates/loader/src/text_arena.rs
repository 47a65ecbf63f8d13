//! Text by appending: strings of one shard of the term table, back to back in chunks.
//!
//! Chunks grow from 16 KiB to 1 MiB and never move, so adding text copies nothing that is there
//! already; a text larger than a chunk has a chunk of its own.

const FIRST_CHUNK_BYTES: usize = 16 << 10;
const LAST_CHUNK_BYTES: usize = 1 << 20;

/// Where a text stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    chunk: u32,
    offset: u32,
    len: u32,
}

/// Append-only text.
#[derive(Default)]
pub(crate) struct TextArena {
    chunks: Vec<Vec<u8>>,
}

impl TextArena {
    /// Appends a text. Texts of 4 GiB or more have no place.
    pub(crate) fn push(&mut self, text: &[u8]) -> Option<Place> {
        let len = u32::try_from(text.len()).ok()?;
        let fits = |c: &Vec<u8>| c.capacity() - c.len() >= text.len();
        if !self.chunks.last().is_some_and(fits) {
            let grown = FIRST_CHUNK_BYTES << self.chunks.len().min(6);
            let bytes = grown.min(LAST_CHUNK_BYTES).max(text.len());
            self.chunks.push(Vec::with_capacity(bytes));
        }
        let chunk = u32::try_from(self.chunks.len() - 1).ok()?;
        let bytes = self.chunks.last_mut()?;
        let offset = u32::try_from(bytes.len()).ok()?;
        bytes.extend_from_slice(text);
        Some(Place { chunk, offset, len })
    }

    /// The text at a place.
    #[inline]
    pub(crate) fn get(&self, place: Place) -> &[u8] {
        let start = place.offset as usize;
        &self.chunks[place.chunk as usize][start..start + place.len as usize]
    }
}
