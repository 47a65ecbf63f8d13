//! `SortedMap`: an ordered map that keeps its old states, for changes in memory.
//!
//! A B+-tree whose nodes are shared between the states: a change copies the nodes on the way to one leaf and
//! nothing else, so a state that somebody holds never changes and a new one costs microseconds,
//! however large the map is. Where nobody holds the old state, nodes are changed in place.
//!
//! ```text
//! inner:  (lower bound, child) ...     keys of child i are >= bound i (but for i = 0) and < bound i+1
//! leaf:   (key, value) ...             ascending
//! ```
//!
//! Invariants: all leaves have the same depth; no node but the root is empty. Nodes that became small
//! are not merged, only empty ones are dropped: deltas are folded into a new version before that matters.
//! Cost: O(log n) for a look-up; a change copies one node of up to [`NODE_ENTRIES_MAX`] entries per level.

use std::slice;
use std::sync::Arc;

/// Entries of a node: a leaf of quads takes 1.5 KB, and 200,000 quads take three levels.
const NODE_ENTRIES_MAX: usize = 64;

/// An ordered map; see the [module documentation](self). Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SortedMap<K, V> {
    root: Option<Arc<Node<K, V>>>,
    len: usize,
}

/// An ordered set.
pub(crate) type SortedSet<K> = SortedMap<K, ()>;

type Children<K, V> = Vec<(K, Arc<Node<K, V>>)>;

#[derive(Clone, Debug)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    Inner(Children<K, V>),
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

/// The child that a key belongs to.
fn child_of<K: Ord, V>(children: &[(K, Arc<Node<K, V>>)], key: &K) -> usize {
    children
        .partition_point(|(bound, _)| bound <= key)
        .saturating_sub(1)
}

/// The upper half of a node that has become too large.
fn split<T>(entries: &mut Vec<T>) -> Option<Vec<T>> {
    (entries.len() > NODE_ENTRIES_MAX).then(|| entries.split_off(entries.len() / 2))
}

impl<K: Copy + Ord, V: Clone> Node<K, V> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Leaf(entries) => entries.is_empty(),
            Self::Inner(children) => children.is_empty(),
        }
    }

    /// Sets a value; returns the one before and the new right neighbour of a node that was split.
    fn insert(this: &mut Arc<Self>, key: K, value: V) -> (Option<V>, Option<(K, Arc<Self>)>) {
        match Arc::make_mut(this) {
            Self::Leaf(entries) => match entries.binary_search_by(|entry| entry.0.cmp(&key)) {
                Ok(i) => (Some(std::mem::replace(&mut entries[i].1, value)), None),
                Err(i) => {
                    entries.insert(i, (key, value));
                    let right = split(entries);
                    (None, right.map(|r| (r[0].0, Arc::new(Self::Leaf(r)))))
                }
            },
            Self::Inner(children) => {
                let i = child_of(children, &key);
                let (before, right) = Self::insert(&mut children[i].1, key, value);
                if let Some(right) = right {
                    children.insert(i + 1, right);
                }
                let right = split(children);
                (before, right.map(|r| (r[0].0, Arc::new(Self::Inner(r)))))
            }
        }
    }

    /// Removes a key and gives back its value.
    fn remove(this: &mut Arc<Self>, key: &K) -> Option<V> {
        match Arc::make_mut(this) {
            Self::Leaf(entries) => {
                let i = entries.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
                Some(entries.remove(i).1)
            }
            Self::Inner(children) => {
                let i = child_of(children, key);
                let value = Self::remove(&mut children.get_mut(i)?.1, key)?;
                if children[i].1.is_empty() {
                    children.remove(i);
                }
                Some(value)
            }
        }
    }

    fn get_mut<'a>(this: &'a mut Arc<Self>, key: &K) -> Option<&'a mut V> {
        match Arc::make_mut(this) {
            Self::Leaf(entries) => {
                let i = entries.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
                Some(&mut entries[i].1)
            }
            Self::Inner(children) => {
                let i = child_of(children, key);
                Self::get_mut(&mut children.get_mut(i)?.1, key)
            }
        }
    }
}

impl<K: Copy + Ord, V: Clone> SortedMap<K, V> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(entries) => {
                    let i = entries.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
                    return Some(&entries[i].1);
                }
                Node::Inner(children) => node = &children.get(child_of(children, key))?.1,
            }
        }
    }

    /// Whether there is such a key.
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The value of a key, to be changed; its path is copied where it is shared.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        // A search in vain must not copy.
        self.get(key)?;
        Node::get_mut(self.root.as_mut()?, key)
    }

    /// Sets the value of a key and gives back the one before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::Leaf(vec![(key, value)])));
            self.len = 1;
            return None;
        };
        let (before, right) = Node::insert(root, key, value);
        if let Some(right) = right {
            let left = (first_key(root), Arc::clone(root));
            self.root = Some(Arc::new(Node::Inner(vec![left, right])));
        }
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes a key and gives back its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        // A search in vain must not copy.
        self.get(key)?;
        let value = Node::remove(self.root.as_mut()?, key)?;
        self.len -= 1;
        // Termination: each turn takes a level away.
        while let Some(root) = &self.root {
            let only = match &**root {
                Node::Inner(children) if children.len() == 1 => Arc::clone(&children[0].1),
                node if node.is_empty() => {
                    self.root = None;
                    break;
                }
                _ => break,
            };
            self.root = Some(only);
        }
        Some(value)
    }

    /// Every entry, ascending.
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter::empty();
        if let Some(root) = &self.root {
            iter.descend(root, |_| 0, |_| 0);
        }
        iter
    }

    /// The smallest and the largest key.
    pub(crate) fn range(&self) -> Option<(K, K)> {
        let first = self.iter().next()?.0;
        Some((*first, last_key(self.root.as_ref()?)?))
    }

    /// The entries from a key on, ascending.
    pub(crate) fn from(&self, key: &K) -> Iter<'_, K, V> {
        let mut iter = Iter::empty();
        if let Some(root) = &self.root {
            iter.descend(
                root,
                |children| child_of(children, key),
                |entries| entries.partition_point(|entry| entry.0 < *key),
            );
        }
        iter
    }
}

/// The largest key under a node.
fn last_key<K: Copy, V>(node: &Node<K, V>) -> Option<K> {
    match node {
        Node::Leaf(entries) => entries.last().map(|entry| entry.0),
        Node::Inner(children) => last_key(&children.last()?.1),
    }
}

/// The smallest key under a node that is not empty.
fn first_key<K: Copy, V>(node: &Node<K, V>) -> K {
    match node {
        Node::Leaf(entries) => entries[0].0,
        Node::Inner(children) => children[0].0,
    }
}

/// The children of an inner node, and which of them comes next.
type Place<'a, K, V> = (&'a [(K, Arc<Node<K, V>>)], usize);

/// Walks over entries in ascending order.
pub(crate) struct Iter<'a, K, V> {
    /// Inner nodes on the way, each with the next child to visit.
    path: Vec<Place<'a, K, V>>,
    leaf: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    fn empty() -> Self {
        Self {
            path: Vec::new(),
            leaf: [].iter(),
        }
    }

    /// Goes down to a leaf by the child that `child` chooses, to the entry that `entry` chooses.
    fn descend(
        &mut self,
        mut node: &'a Node<K, V>,
        child: impl Fn(&[(K, Arc<Node<K, V>>)]) -> usize,
        entry: impl Fn(&[(K, V)]) -> usize,
    ) {
        loop {
            match node {
                Node::Leaf(entries) => {
                    self.leaf = entries[entry(entries)..].iter();
                    return;
                }
                Node::Inner(children) => {
                    let i = child(children);
                    self.path.push((children, i + 1));
                    match children.get(i) {
                        Some((_, below)) => node = below,
                        None => return,
                    }
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            let (children, next) = self.path.last_mut()?;
            match children.get(*next) {
                Some((_, below)) => {
                    *next += 1;
                    self.descend(below, |_| 0, |_| 0);
                }
                None => {
                    self.path.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Inserts (with a value) or removes a key.
    type Change = (u16, Option<u8>);

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let key = prop_oneof![0..40_u16, 0..2000_u16];
        prop::collection::vec((key, prop::option::weighted(0.6, any::<u8>())), 0..1500)
    }

    fn content(map: &SortedMap<u16, u8>) -> Vec<(u16, u8)> {
        map.iter().map(|(key, value)| (*key, *value)).collect()
    }

    proptest! {
        #[test]
        fn it_is_a_map_that_keeps_its_old_states(changes in changes(), probe in 0..2000_u16) {
            let mut map = SortedMap::default();
            let mut expected = BTreeMap::new();
            let mut kept = Vec::new();
            for (count, (key, value)) in changes.into_iter().enumerate() {
                let same = match value {
                    Some(value) => map.insert(key, value) == expected.insert(key, value),
                    None => map.remove(&key) == expected.remove(&key),
                };
                prop_assert!(same);
                prop_assert_eq!(map.len(), expected.len());
                if count % 300 == 0 {
                    kept.push((map.clone(), expected.clone()));
                }
            }
            kept.push((map, expected));
            for (map, expected) in kept {
                prop_assert!(content(&map).into_iter().eq(expected.clone()));
                prop_assert_eq!(map.get(&probe), expected.get(&probe));
                let (first, last) = (expected.keys().next(), expected.keys().next_back());
                prop_assert_eq!(map.range(), first.copied().zip(last.copied()));
                let rest = map.from(&probe).map(|(key, _)| *key);
                prop_assert!(rest.eq(expected.range(probe..).map(|(key, _)| *key)));
            }
        }
    }

    #[test]
    fn many_keys_in_either_order_are_found_and_removed() {
        let mut up = SortedSet::default();
        let mut down = SortedSet::default();
        for key in 0..20_000_u32 {
            up.insert(key, ());
            down.insert(20_000 - key, ());
        }
        assert!(up.iter().map(|(key, ())| *key).eq(0..20_000));
        assert!(down.from(&19_990).map(|(key, ())| *key).eq(19_990..=20_000));
        for key in 0..20_000 {
            assert!(up.contains(&key) && up.remove(&key).is_some());
        }
        assert!(up.is_empty() && up.iter().next().is_none() && up.remove(&1).is_none());
    }

    #[test]
    fn values_are_changed_in_a_copy() {
        let mut map = SortedMap::default();
        (0..500_u16).for_each(|key| {
            map.insert(key, 0_u8);
        });
        let old = map.clone();
        *map.get_mut(&321).expect("it was inserted") = 7;
        assert_eq!((map.get(&321), old.get(&321)), (Some(&7), Some(&0)));
        assert!(map.get_mut(&500).is_none());
    }
}
