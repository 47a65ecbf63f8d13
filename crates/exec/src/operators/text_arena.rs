//! `TextArena`: texts side by side in slabs of some size.
//!
//! One buffer that grows would be copied to one twice as large, and for that time both would be there: three times what
//! is counted. A slab that is full stays where it is; only the first one grows.

/// Bytes of a slab; a text may make its slab larger.
const SLAB_BYTES: usize = 1 << 20;
/// A slab with less room than this is full.
const ROOM_BYTES_MIN: usize = SLAB_BYTES / 16;

/// Where a text lies.
#[derive(Clone, Copy, Debug)]
pub struct TextAt {
    slab: u32,
    start: u32,
    length: u32,
}

impl TextAt {
    /// Where the text lies once so many slabs stand before its own.
    pub fn after(self, slabs: u32) -> Self {
        let slab = self.slab + slabs;
        Self { slab, ..self }
    }
}

/// The texts; see the [module documentation](self).
#[derive(Default)]
pub struct TextArena {
    slabs: Vec<Vec<u8>>,
    /// Bytes of all slabs but the last.
    full_bytes: usize,
}

impl TextArena {
    /// Adds the text that `write` appends.
    pub fn add<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<TextAt, E> {
        let is_full = |slab: &Vec<u8>| slab.len() + ROOM_BYTES_MIN > SLAB_BYTES;
        if self.slabs.last().is_none_or(is_full) {
            let size = self.slabs.last().map_or(0, |_| SLAB_BYTES);
            self.full_bytes = self.bytes();
            self.slabs.push(Vec::with_capacity(size));
        }
        let slab_idx = self.slabs.len() - 1;
        let slab = &mut self.slabs[slab_idx];
        let start = slab.len();
        write(slab)?;
        Ok(TextAt {
            slab: slab_idx as u32,
            start: start as u32,
            length: (slab.len() - start) as u32,
        })
    }

    /// Adds all texts of another; gives the number of its first slab here (see [`TextAt::after`]).
    pub fn append(&mut self, mut other: Self) -> u32 {
        let before = self.slabs.len() as u32;
        if other.slabs.is_empty() {
            return before;
        }
        self.full_bytes = self.bytes() + other.full_bytes;
        self.slabs.append(&mut other.slabs);
        before
    }

    /// The text that was added there.
    pub fn text(&self, at: TextAt) -> &[u8] {
        let start = at.start as usize;
        &self.slabs[at.slab as usize][start..start + at.length as usize]
    }

    /// Bytes that the slabs take.
    pub fn bytes(&self) -> usize {
        self.full_bytes + self.slabs.last().map_or(0, Vec::capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_found_and_counted() {
        let mut arena = TextArena::default();
        assert_eq!(arena.bytes(), 0);
        let lengths = [0, 1, 3 * SLAB_BYTES, 5, SLAB_BYTES, 0, SLAB_BYTES / 2];
        let texts: Vec<(TextAt, Vec<u8>)> = (0..40)
            .map(|n| {
                let text = vec![n as u8; lengths[n % lengths.len()]];
                let at = arena.add(|slab| {
                    slab.extend_from_slice(&text);
                    Ok::<_, ()>(())
                });
                (at.expect("nothing fails"), text)
            })
            .collect();
        for (at, text) in &texts {
            assert_eq!(arena.text(*at), text);
        }
        let held: usize = arena.slabs.iter().map(Vec::capacity).sum();
        assert_eq!(arena.bytes(), held);
    }

    #[test]
    fn what_fails_is_no_text() {
        let mut arena = TextArena::default();
        assert_eq!(arena.add(|_| Err("no")).err(), Some("no"));
        let at = arena.add(|slab| {
            slab.push(7);
            Ok::<_, ()>(())
        });
        assert_eq!(arena.text(at.expect("nothing fails")), [7]);
    }
}
