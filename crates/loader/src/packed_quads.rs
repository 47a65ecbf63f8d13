//! A block of parsed quads as it is kept until grouping: what repeats is there once.
//!
//! ```text
//! | subjects u32 | pairs u32 | quads u32 |
//! | subject u32, quads u32: for each run of quads with one subject |
//! | predicate u32, graph u32: for each different pair, in the order of appearance |      up to here: the head
//! | index of the pair, for each quad: 1, 2 or 4 bytes, as many as the number of pairs needs |
//! | object u64, for each quad |
//! ```
//!
//! Subjects are first ranked and predicates and graphs numbered, then all is put to its subject: the first takes the heads
//! alone. Input that is grouped by subject takes 9 bytes for each quad and 8 for each subject; any other order takes 17
//! for each quad. Any part of a block can be read, since the widths are fixed.
//!
//! Cost: a look at the last pair for each quad, seldom one into a small table.

use std::ops::Range;

use basalt_rdf::TermId;
use basalt_shapes::FastMap;

use crate::encoder::RawQuad;

/// Bytes before the runs.
const COUNTS_BYTES: usize = 12;
/// Bytes of a run, and of a pair.
const ENTRY_BYTES: usize = 8;
/// Bytes of an object.
const OBJECT_BYTES: usize = 8;

/// Quads, packed.
pub(crate) struct PackedQuads {
    /// All of them.
    pub bytes: Vec<u8>,
    /// Of these, bytes of the head.
    pub head: usize,
}

/// Packs the quads of a block.
pub(crate) fn pack(quads: &[RawQuad]) -> PackedQuads {
    let mut runs: Vec<[u32; 2]> = Vec::new();
    for run in quads.chunk_by(|a, b| a.subject == b.subject) {
        runs.push([run[0].subject, run.len() as u32]);
    }
    let (pairs, indexes) = pairs(quads);
    let width = index_bytes(pairs.len());
    let head = COUNTS_BYTES + (runs.len() + pairs.len()) * ENTRY_BYTES;
    let size = head + quads.len() * (width + OBJECT_BYTES);
    let mut bytes = Vec::with_capacity(size);
    // Blocks are a few MiB of text, so all counts fit.
    for count in [runs.len(), pairs.len(), quads.len()] {
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for word in runs.iter().chain(&pairs).flatten() {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    match width {
        1 => bytes.extend(indexes.iter().map(|i| *i as u8)),
        2 => bytes.extend(indexes.iter().flat_map(|i| (*i as u16).to_le_bytes())),
        _ => bytes.extend(indexes.iter().flat_map(|i| i.to_le_bytes())),
    }
    for quad in quads {
        bytes.extend_from_slice(&quad.object.0.to_le_bytes());
    }
    debug_assert_eq!(bytes.len(), size);
    PackedQuads { bytes, head }
}

/// The different pairs of predicate and graph, and the index of each quad's.
fn pairs(quads: &[RawQuad]) -> (Vec<[u32; 2]>, Vec<u32>) {
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    let mut known: FastMap<u64, u32> = FastMap::default();
    let mut last = None;
    let indexes = quads.iter().map(|quad| {
        let pair = [quad.predicate, quad.graph];
        if let Some((before, index)) = last
            && before == pair
        {
            return index;
        }
        let key = u64::from(quad.graph) << 32 | u64::from(quad.predicate);
        let index = *known.entry(key).or_insert_with(|| {
            pairs.push(pair);
            (pairs.len() - 1) as u32
        });
        last = Some((pair, index));
        index
    });
    let indexes = indexes.collect();
    (pairs, indexes)
}

/// Bytes of the index of a pair.
fn index_bytes(pairs: usize) -> usize {
    match pairs {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// The subjects in a head, each with its number of quads in a row.
pub(crate) fn subjects(head: &[u8]) -> impl Iterator<Item = (u32, u32)> + '_ {
    entries(&head[COUNTS_BYTES..], word(head, 0))
}

/// The pairs of predicate and graph in a head, in the order of appearance.
pub(crate) fn pairs_of(head: &[u8]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let start = COUNTS_BYTES + word(head, 0) as usize * ENTRY_BYTES;
    entries(&head[start..], word(head, 4))
}

fn entries(bytes: &[u8], count: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let entries = bytes[..count as usize * ENTRY_BYTES].chunks_exact(ENTRY_BYTES);
    entries.map(|entry| (word(entry, 0), word(entry, 4)))
}

/// The quads of some places of a block: of each the index of its pair, and its object.
pub(crate) fn part_of(
    packed: &[u8],
    part: Range<usize>,
) -> impl Iterator<Item = (usize, TermId)> + '_ {
    let count = |at: usize| word(packed, at) as usize;
    let width = index_bytes(count(4));
    let rest = &packed[COUNTS_BYTES + (count(0) + count(4)) * ENTRY_BYTES..];
    let (indexes, objects) = rest.split_at(count(8) * width);
    let indexes = indexes[part.start * width..part.end * width].chunks_exact(width);
    let objects =
        objects[part.start * OBJECT_BYTES..part.end * OBJECT_BYTES].chunks_exact(OBJECT_BYTES);
    indexes.zip(objects).map(|(index, object)| {
        let index = match *index {
            [a] => usize::from(a),
            [a, b] => usize::from(u16::from_le_bytes([a, b])),
            _ => word(index, 0) as usize,
        };
        let object = TermId(u64::from(word(object, 4)) << 32 | u64::from(word(object, 0)));
        (index, object)
    })
}

/// Replaces `quads` by those that were packed.
pub(crate) fn unpack(packed: &[u8], quads: &mut Vec<RawQuad>) {
    let pairs: Vec<(u32, u32)> = pairs_of(packed).collect();
    quads.clear();
    quads.extend(
        part_of(packed, 0..word(packed, 8) as usize).map(|(pair, object)| {
            let (predicate, graph) = pairs[pair];
            RawQuad {
                subject: 0,
                predicate,
                graph,
                object,
            }
        }),
    );
    let mut rest = quads.as_mut_slice();
    for (subject, quads) in subjects(packed) {
        let (run, after) = rest.split_at_mut(quads as usize);
        run.iter_mut().for_each(|quad| quad.subject = subject);
        rest = after;
    }
}

/// The 32 bits at a place.
#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(quads: &[RawQuad]) -> usize {
        let packed = pack(quads);
        let mut unpacked = vec![
            RawQuad {
                subject: 1,
                predicate: 2,
                graph: 3,
                object: TermId(4),
            };
            3
        ];
        unpack(&packed.bytes, &mut unpacked);
        assert!(unpacked == quads);
        let expected = quads.iter().map(|q| q.subject);
        let head = &packed.bytes[..packed.head];
        let found = subjects(head).flat_map(|(s, n)| std::iter::repeat_n(s, n as usize));
        assert!(found.eq(expected));
        let pairs: Vec<_> = pairs_of(head).collect();
        let half = quads.len() / 2..quads.len();
        let part: Vec<_> = part_of(&packed.bytes, half.clone()).collect();
        let expected = quads[half].iter();
        let expected = expected.map(|q| ((q.predicate, q.graph), q.object));
        assert!(
            part.iter()
                .map(|(pair, object)| (pairs[*pair], *object))
                .eq(expected)
        );
        packed.bytes.len()
    }

    #[test]
    fn indexes_of_each_width() {
        let widths = [
            (0_usize, 1),
            (1, 1),
            (256, 1),
            (257, 2),
            (65_536, 2),
            (65_537, 4),
        ];
        for (pairs, width) in widths {
            let quads: Vec<RawQuad> = (0..pairs as u32)
                .map(|i| RawQuad {
                    subject: i / 10,
                    predicate: i / 3,
                    graph: i % 3,
                    object: TermId(u64::from(i) << 33),
                })
                .collect();
            let runs = pairs.div_ceil(10);
            assert_eq!(check(&quads), 12 + 8 * (runs + pairs) + (width + 8) * pairs);
        }
    }

    proptest! {
        #[test]
        fn quads_come_back(
            quads in proptest::collection::vec((0..4_u32, 0..5_u32, 0..3_u32, any::<u64>()), 0..200),
        ) {
            let quads: Vec<RawQuad> = quads
                .into_iter()
                .map(|(subject, predicate, graph, object)| RawQuad {
                    subject: u32::MAX - subject,
                    predicate,
                    graph,
                    object: TermId(object),
                })
                .collect();
            check(&quads);
        }
    }
}
