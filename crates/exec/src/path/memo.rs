//! `Memo`: the ends that walks of a query have found before.
//!
//! The same start comes again in other batches and on other threads, and another start of the same component has the same ends. All are
//! forgotten together when the bytes allowed are full.

use super::evaluator::Ends;
use super::reservation::OPERATOR;
use crate::context::Context;
use basalt_store::Direction;
use hashbrown::HashTable;
use std::sync::{Mutex, MutexGuard};

/// Bytes of remembered ends.
const BYTES_MAX: usize = 64 << 20;
/// Bytes that an entry takes beside its ends.
const ENTRY_BYTES: usize = 96;
/// An odd constant with well-spread bits (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where walks begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a node; itself is among the ends if the path matches zero links.
    Node(u64),
    /// At any vertex of a component of the index.
    Component(u32),
}

/// Walks with the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoKey {
    /// The key of the graph.
    pub graph: u64,
    /// Where they begin.
    pub start: Start,
    /// Which way they go.
    pub direction: Direction,
}

impl MemoKey {
    /// Ids and numbers are the program's own, so nobody chooses them to collide.
    fn hash(&self) -> u64 {
        let (number, kind) = match self.start {
            Start::Node(id) => (id, 0),
            Start::Component(component) => (u64::from(component), 2),
        };
        let kind = kind + u64::from(self.direction == Direction::Forward);
        let graph = (self.graph ^ kind).wrapping_mul(SPREAD).rotate_left(23);
        let hash = (number ^ graph).wrapping_mul(SPREAD);
        hash ^ (hash >> 32)
    }
}

/// Ends by where walks begin; see the [module documentation](self).
#[derive(Default)]
pub struct Memo(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    ends: HashTable<(MemoKey, Ends)>,
    bytes: usize,
}

impl Kept {
    fn get(&self, key: &MemoKey) -> Option<Ends> {
        let found = self.ends.find(key.hash(), |(known, _)| known == key);
        found.map(|(_, ends)| Ends::clone(ends))
    }
}

impl Memo {
    /// The ends, if they are known.
    pub fn get(&self, key: &MemoKey) -> Option<Ends> {
        self.kept().get(key)
    }

    /// The same for many.
    pub fn get_all(&self, keys: impl Iterator<Item = MemoKey>) -> Vec<Option<Ends>> {
        let kept = self.kept();
        keys.map(|key| kept.get(&key)).collect()
    }

    /// Keeps ends, unless they take most of what is allowed.
    pub fn remember(&self, key: MemoKey, ends: &Ends, cx: &Context) {
        let bytes = ends.len() * 8 + ENTRY_BYTES;
        let bytes_max = BYTES_MAX.min(cx.options().memory_bytes_max / 8);
        if bytes > bytes_max / 2 {
            return;
        }
        let mut kept = self.kept();
        if kept.get(&key).is_some() {
            return;
        }
        if kept.bytes + bytes > bytes_max {
            cx.release(kept.bytes);
            *kept = Kept::default();
        }
        if cx.reserve(bytes, OPERATOR).is_ok() {
            kept.bytes += bytes;
            let hash = key.hash();
            kept.ends
                .insert_unique(hash, (key, Ends::clone(ends)), |(key, _)| key.hash());
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().expect("no holder panics")
    }
}
