//! Collection of characteristic sets: one pass over the subjects, each with all its quads.
//!
//! The home graph of a subject is the graph that holds most of its quads. Its characteristic set
//! is the set of predicates it has there. While collecting, sets are kept apart by the `rdf:type`
//! values of their subjects (of the most frequent types only, see [`TypeCounter`]); `finish`
//! chooses one class per set of types and folds what then is equal, so that two kinds of things
//! with the same predicates stay two sets, and a thousand leaf types of one class do not become a
//! thousand sets.
//!
//! Cost: per subject one hash lookup, per quad a comparison and an addition.

use crate::fast_map::FastMap;
use basalt_rdf::TermId;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::categories;
use crate::classes;
use crate::naming::Names;
use crate::settings::Settings;
use crate::type_class::TypeClass;

/// Index of a characteristic set.
pub type CharsetIdx = u32;

/// How many types tell sets apart; rarer ones are ignored while collecting.
const TYPES_MAX: usize = 1_024;
/// How many sets may be told apart by types; beyond, new subjects count as untyped.
const TYPED_SETS_MAX: usize = 200_000;

/// How often a predicate has values of one type class in one characteristic set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateCounts {
    /// The predicate.
    pub predicate: u32,
    /// The class of the values counted here.
    pub class: TypeClass,
    /// Values.
    pub values: u64,
    /// Subjects with at least one value of this class.
    pub rows: u64,
}

/// One characteristic set.
#[derive(Clone, Debug, PartialEq)]
pub struct Charset {
    /// Subjects that have exactly this set.
    pub subjects: u64,
    /// Counts, sorted by predicate and type class.
    pub counts: Vec<PredicateCounts>,
    /// The class of the subjects, if they have types that tell kinds of things apart.
    pub class: Option<u64>,
}

impl Charset {
    /// The predicates, ascending, each once.
    pub fn predicates(&self) -> impl Iterator<Item = u32> + '_ {
        let mut last = None;
        self.counts.iter().filter_map(move |c| {
            let new = last != Some(c.predicate);
            last = Some(c.predicate);
            new.then_some(c.predicate)
        })
    }

    /// Quads of all its subjects in their home graphs.
    pub fn quads(&self) -> u64 {
        self.counts.iter().map(|c| c.values).sum()
    }
}

/// All characteristic sets and the set of every subject.
#[derive(Clone, Debug, Default)]
pub struct CharacteristicSets {
    /// The sets, in order of first appearance.
    pub sets: Vec<Charset>,
    /// For each subject, in the order they were added, its set.
    pub of_subject: Vec<CharsetIdx>,
    /// For each subject, its home graph.
    pub home_graphs: Vec<u32>,
    /// All quads seen, in home graphs or not.
    pub quads: u64,
    /// The predicate that gives types, if the data has it.
    pub type_predicate: Option<u32>,
}

/// Counts the objects of `rdf:type`, to know the types worth telling apart.
#[derive(Default)]
pub struct TypeCounter {
    counts: FastMap<u64, u64>,
}

impl TypeCounter {
    /// Counts one use of a type.
    pub fn add(&mut self, class: TermId) {
        *self.counts.entry(class.0).or_insert(0) += 1;
    }

    /// Counts so many uses of a type.
    pub fn add_times(&mut self, class: TermId, times: u64) {
        *self.counts.entry(class.0).or_insert(0) += times;
    }

    /// The most frequent types, ties broken by name.
    fn most_frequent(self, names: &dyn Names) -> Vec<u64> {
        let mut all: Vec<(u64, u64)> = self.counts.into_iter().collect();
        if all.len() > TYPES_MAX {
            all.sort_by_cached_key(|&(id, n)| (std::cmp::Reverse(n), names.term(TermId(id))));
            all.truncate(TYPES_MAX);
        }
        all.into_iter().map(|(id, _)| id).collect()
    }
}

/// A set of predicates together with a set of types.
struct Atom {
    /// Sorted predicates.
    predicates: Box<[u32]>,
    /// Index into the type sets.
    type_set: u32,
    /// Subjects counted.
    subjects: u64,
    /// Sorted counts.
    counts: Vec<PredicateCounts>,
}

/// Collects characteristic sets, subject by subject.
pub struct Collector {
    type_predicate: Option<u32>,
    types: FastMap<u64, ()>,
    atoms: Vec<Atom>,
    atom_index: HashTable<(u64, u32)>,
    type_sets: Vec<Vec<u64>>,
    type_set_index: FastMap<Vec<u64>, u32>,
    of_subject: Vec<u32>,
    home_graphs: Vec<u32>,
    quads: u64,
    scratch: Scratch,
}

/// Buffers used for one subject at a time.
#[derive(Default)]
struct Scratch {
    counts: Vec<PredicateCounts>,
    predicates: Vec<u32>,
    types: Vec<u64>,
    graphs: Vec<(u32, u64)>,
}

impl Collector {
    /// A collector that knows which types are frequent.
    pub fn new(type_predicate: Option<u32>, types: TypeCounter, names: &dyn Names) -> Self {
        Self {
            type_predicate,
            types: types
                .most_frequent(names)
                .into_iter()
                .map(|t| (t, ()))
                .collect(),
            atoms: Vec::new(),
            atom_index: HashTable::new(),
            type_sets: vec![Vec::new()],
            type_set_index: FastMap::from_iter([(Vec::new(), 0)]),
            of_subject: Vec::new(),
            home_graphs: Vec::new(),
            quads: 0,
            scratch: Scratch::default(),
        }
    }

    /// Adds the next subject with all its quads as (predicate, object, graph), distinct and in
    /// any order (sorted by predicate and type class is fastest). Returns the home graph.
    pub fn add_subject<I>(&mut self, quads: I) -> u32
    where
        I: Iterator<Item = (u32, TermId, u32)> + Clone,
    {
        let home = home_graph(quads.clone().map(|q| q.2), &mut self.scratch.graphs);
        self.count(quads, home);
        let type_set = self.type_set();
        let atom = self.atom(type_set);
        let entry = &mut self.atoms[atom as usize];
        entry.subjects += 1;
        add_counts(&mut entry.counts, &self.scratch.counts);
        self.of_subject.push(atom);
        self.home_graphs.push(home);
        home
    }

    /// Counts the quads of one subject into the scratch buffers.
    fn count<I>(&mut self, quads: I, home: u32)
    where
        I: Iterator<Item = (u32, TermId, u32)>,
    {
        let Scratch {
            counts,
            predicates,
            types,
            ..
        } = &mut self.scratch;
        counts.clear();
        predicates.clear();
        types.clear();
        let mut sorted = true;
        for (predicate, object, graph) in quads {
            self.quads += 1;
            if graph != home {
                continue;
            }
            let class = TypeClass::of(object);
            match counts.last_mut() {
                Some(last) if last.predicate == predicate && last.class == class => {
                    last.values += 1
                }
                last => {
                    sorted &= last.is_none_or(|l| (l.predicate, l.class) < (predicate, class));
                    counts.push(PredicateCounts {
                        predicate,
                        class,
                        values: 1,
                        rows: 1,
                    });
                }
            }
            if Some(predicate) == self.type_predicate && self.types.contains_key(&object.0) {
                types.push(object.0);
            }
        }
        if !sorted {
            counts.sort_unstable_by_key(|c| (c.predicate, c.class));
            counts.dedup_by(|next, kept| {
                let same = (next.predicate, next.class) == (kept.predicate, kept.class);
                if same {
                    kept.values += next.values;
                }
                same
            });
        }
        predicates.extend(counts.iter().map(|c| c.predicate));
        predicates.dedup();
    }

    /// The set of the types in the scratch buffer.
    fn type_set(&mut self) -> u32 {
        let types = &mut self.scratch.types;
        types.sort_unstable();
        types.dedup();
        if types.is_empty() || self.atoms.len() > TYPED_SETS_MAX {
            return 0;
        }
        if let Some(&known) = self.type_set_index.get(types.as_slice()) {
            return known;
        }
        let new = self.type_sets.len() as u32;
        self.type_sets.push(types.clone());
        self.type_set_index.insert(types.clone(), new);
        new
    }

    /// The atom of the predicates in the scratch buffer and a type set.
    fn atom(&mut self, type_set: u32) -> u32 {
        let predicates = self.scratch.predicates.as_slice();
        let mut hash = u64::from(type_set).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for &predicate in predicates {
            hash = (hash.rotate_left(5) ^ u64::from(predicate)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let hash = xxh3_64(&hash.to_le_bytes());
        let found = self.atom_index.find(hash, |&(h, at)| {
            let atom = &self.atoms[at as usize];
            h == hash && atom.type_set == type_set && *atom.predicates == *predicates
        });
        if let Some(&(_, at)) = found {
            return at;
        }
        let new = self.atoms.len() as u32;
        self.atoms.push(Atom {
            predicates: predicates.into(),
            type_set,
            subjects: 0,
            counts: Vec::with_capacity(self.scratch.counts.len()),
        });
        self.atom_index
            .insert_unique(hash, (hash, new), |&(h, _)| h);
        new
    }

    /// Chooses the classes, those that are categories (`categories.rs`) being none, and folds the sets that are equal.
    pub fn finish(self, names: &dyn Names, settings: &Settings) -> CharacteristicSets {
        let profile: Vec<classes::TypedSet<'_>> = self
            .atoms
            .iter()
            .map(|a| classes::TypedSet {
                types: &self.type_sets[a.type_set as usize],
                predicates: &a.predicates,
                subjects: a.subjects,
            })
            .collect();
        let class_fill_min = settings.class_fill_min;
        let mut class_of_type_set =
            classes::choose(&self.type_sets, &profile, names, class_fill_min);
        let classed = self.atoms.iter().filter_map(|atom| {
            Some(categories::ClassedSet {
                class: class_of_type_set[atom.type_set as usize]?,
                predicates: &atom.predicates,
                subjects: atom.subjects,
            })
        });
        let categories = categories::find(classed, settings);
        for class in &mut class_of_type_set {
            *class = class.filter(|class| categories.binary_search(class).is_err());
        }
        let mut sets: Vec<Charset> = Vec::new();
        let mut index: FastMap<(Option<u64>, Box<[u32]>), u32> = FastMap::default();
        let mut charset_of_atom = Vec::with_capacity(self.atoms.len());
        for atom in self.atoms {
            let class = class_of_type_set[atom.type_set as usize];
            let at = *index.entry((class, atom.predicates)).or_insert_with(|| {
                sets.push(Charset {
                    subjects: 0,
                    counts: Vec::new(),
                    class,
                });
                (sets.len() - 1) as u32
            });
            let set = &mut sets[at as usize];
            set.subjects += atom.subjects;
            add_counts(&mut set.counts, &atom.counts);
            charset_of_atom.push(at);
        }
        let mut of_subject = self.of_subject;
        for charset in &mut of_subject {
            *charset = charset_of_atom[*charset as usize];
        }
        CharacteristicSets {
            sets,
            of_subject,
            home_graphs: self.home_graphs,
            quads: self.quads,
            type_predicate: self.type_predicate,
        }
    }
}

/// The graph that occurs most often; the first to appear among equals.
fn home_graph(graphs: impl Iterator<Item = u32>, scratch: &mut Vec<(u32, u64)>) -> u32 {
    scratch.clear();
    let mut last = 0;
    for graph in graphs {
        match scratch.get_mut(last) {
            Some((known, count)) if *known == graph => *count += 1,
            _ => match scratch.iter().position(|&(known, _)| known == graph) {
                Some(at) => {
                    scratch[at].1 += 1;
                    last = at;
                }
                None => {
                    last = scratch.len();
                    scratch.push((graph, 1));
                }
            },
        }
    }
    let mut best = (0, 0);
    for &(graph, count) in scratch.iter() {
        if count > best.1 {
            best = (graph, count);
        }
    }
    best.0
}

/// Adds sorted counts to sorted counts.
fn add_counts(to: &mut Vec<PredicateCounts>, from: &[PredicateCounts]) {
    let mut at = 0;
    for count in from {
        let key = (count.predicate, count.class);
        // Invariant: every entry of `to` before `at` is smaller than `key`.
        while to.get(at).is_some_and(|c| (c.predicate, c.class) < key) {
            at += 1;
        }
        match to.get_mut(at) {
            Some(c) if (c.predicate, c.class) == key => {
                c.values += count.values;
                c.rows += count.rows;
            }
            _ => to.insert(at, *count),
        }
    }
}
