//! Front coding: blocks of texts, each stored as what it shares with the one before and the rest.
//!
//! ```text
//! entry: shared bytes varint | length of the rest varint | rest
//! ```
//!
//! An entry that shares nothing and has no rest is the empty text (or no text: a blank node); the
//! entry after it shares with the last text that was not empty. The first entry of a block shares
//! nothing, so a block is read on its own. Varints have seven bits per byte, lowest first.
//! Cost: reading text `i` of a block walks `i + 1` entries.

/// Appends texts as entries.
#[derive(Debug, Default)]
pub(super) struct FrontCoder {
    /// The last text of the block that was not empty.
    previous: Vec<u8>,
}

impl FrontCoder {
    /// The next entry is the first of a block.
    pub(super) fn start_block(&mut self) {
        self.previous.clear();
    }

    /// Appends the entry of `text`.
    pub(super) fn push(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let shared = shared_prefix(&self.previous, text);
        write_varint(shared, out);
        write_varint(text.len() - shared, out);
        out.extend_from_slice(&text[shared..]);
        if !text.is_empty() {
            self.previous.truncate(shared);
            self.previous.extend_from_slice(&text[shared..]);
        }
    }
}

/// Appends text `index` of a block to `out`; `None`, with anything appended, if the block is
/// damaged.
pub(super) fn read_text(block: &[u8], index: usize, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    let mut at = 0;
    for i in 0..=index {
        let shared = read_varint(block, &mut at)?;
        let length = read_varint(block, &mut at)?;
        if shared == 0 && length == 0 {
            if i == index {
                out.truncate(start);
            }
            continue;
        }
        let end = at.checked_add(length)?;
        let rest = block.get(at..end)?;
        at = end;
        if shared > out.len() - start {
            return None;
        }
        out.truncate(start + shared);
        out.extend_from_slice(rest);
    }
    Some(())
}

/// Length of the common prefix of two texts.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8));
    let same = words.take_while(|(a, b)| a == b).count() * 8;
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

fn write_varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn read_varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_of_a_block_reads_back(
            texts in proptest::collection::vec("(http://a/b/)?[a-c]{0,12}", 1..20),
        ) {
            let mut coder = FrontCoder::default();
            let mut block = Vec::new();
            coder.start_block();
            for text in &texts {
                coder.push(text.as_bytes(), &mut block);
            }
            for (i, text) in texts.iter().enumerate() {
                let mut out = b"kept ".to_vec();
                prop_assert_eq!(read_text(&block, i, &mut out), Some(()));
                let expected = format!("kept {text}").into_bytes();
                prop_assert_eq!(out, expected);
            }
            prop_assert_eq!(read_text(&block, texts.len(), &mut Vec::new()), None);
        }

        #[test]
        fn damaged_blocks_do_not_panic(block in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut out = Vec::new();
            if read_text(&block, 15, &mut out).is_some() {
                prop_assert!(out.len() <= block.len());
            }
        }
    }

    #[test]
    fn long_lengths_take_several_bytes() {
        for value in [0, 127, 128, 300, 1 << 20, usize::MAX] {
            let mut bytes = Vec::new();
            write_varint(value, &mut bytes);
            let mut at = 0;
            assert_eq!(read_varint(&bytes, &mut at), Some(value));
            assert_eq!(at, bytes.len());
        }
    }
}
