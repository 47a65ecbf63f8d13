//! The groups of some subjects, made by one thread.

use basalt_rdf::TermId;
use basalt_shapes::FastMap;

use super::{Ranked, count_types, distinct_in_run};
use crate::grouped::{Gathered, GroupedQuads, Quad};
use crate::held_quads::QuadChunk;

/// The groups of some subjects of consecutive ranks.
pub(super) struct Made {
    pub chunk: QuadChunk,
    /// How often each resource is a type.
    pub types: FastMap<u64, u64>,
}

impl Made {
    /// Drops what is repeated. `starts` tells where the quads of each subject begin, and the end.
    pub(super) fn of(
        mut starts: Vec<u64>,
        mut quads: Vec<Quad>,
        type_predicate: Option<u32>,
    ) -> Self {
        let counts = distinct_in_run(&starts, &mut quads);
        for (at, count) in counts.into_iter().enumerate() {
            starts[at + 1] = starts[at] + u64::from(count);
        }
        quads.truncate(starts.last().map_or(0, |end| *end as usize));
        let mut types = FastMap::default();
        count_types(&quads, type_predicate, &mut types);
        let chunk = QuadChunk { starts, quads };
        Self { chunk, types }
    }
}

/// Where the quads of each subject begin, and the end.
pub(super) fn starts_of(counts: &[u32]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    starts.push(0);
    starts.extend(counts.iter().scan(0, |sum, count| {
        *sum += u64::from(*count);
        Some(*sum)
    }));
    starts
}

/// Adds up how often each resource is a type.
pub(super) fn add_types(types: &mut FastMap<u64, u64>, more: FastMap<u64, u64>) {
    for (class, count) in more {
        *types.entry(class).or_insert(0) += count;
    }
}

impl Ranked {
    /// With the groups of all subjects.
    pub(super) fn gathered(
        self,
        quads: GroupedQuads,
        type_predicate: Option<u32>,
        types: FastMap<u64, u64>,
    ) -> Gathered {
        let types = types.into_iter().map(|(id, n)| (TermId(id), n));
        Gathered {
            subjects: self.subjects,
            ranks: self.ranks,
            predicates: self.predicates.keys,
            graphs: self.graphs.keys,
            type_predicate,
            types: types.collect(),
            quads,
        }
    }
}
