//! Feeding discovery: characteristic sets in one pass over the subjects, links in another.

use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use basalt_shapes::{
    CharacteristicSets, Collector, LinkCounter, Links, Names, Settings, TypeCounter,
};

use crate::gather::{Gathered, NO_RANK};
use crate::parallel::parallel_map;
use crate::term_table::{FrozenTerms, IRI};

/// The predicate whose objects are the classes of its subject.
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Subjects whose links one thread counts at a time.
const LINK_RUN_SUBJECTS: usize = 1 << 16;

/// The names of provisional terms.
pub(crate) struct ProvisionalNames<'a> {
    /// Predicates by index, as provisional ordinals.
    pub predicates: &'a [u32],
    /// The texts.
    pub resources: &'a FrozenTerms,
}

impl<'a> ProvisionalNames<'a> {
    /// The names of grouped quads.
    pub(crate) fn new(gathered: &'a Gathered, resources: &'a FrozenTerms) -> Self {
        Self {
            predicates: &gathered.predicates,
            resources,
        }
    }
}

impl Names for ProvisionalNames<'_> {
    fn predicate(&self, predicate: u32) -> String {
        self.term(TermId::resource(u64::from(
            self.predicates[predicate as usize],
        )))
    }

    fn term(&self, id: TermId) -> String {
        match id.tag() {
            tag::RESOURCE => {
                let (kind, text) = self.resources.get(id.payload());
                if kind == IRI {
                    text.to_owned()
                } else {
                    format!("_:{text}")
                }
            }
            _ => "literal".to_owned(),
        }
    }
}

/// Collects the characteristic sets and the links between them.
pub(crate) fn collect(
    gathered: &Gathered,
    names: &ProvisionalNames<'_>,
    settings: &Settings,
    threads: usize,
) -> (CharacteristicSets, Links) {
    let is_type = |p: &u32| names.resources.get(u64::from(*p)) == (IRI, RDF_TYPE);
    let type_predicate = gathered
        .predicates
        .iter()
        .position(is_type)
        .map(|p| p as u32);
    let mut types = TypeCounter::default();
    if let Some(predicate) = type_predicate {
        let of_type = gathered.quads.iter().filter(|q| q.predicate == predicate);
        for quad in of_type.filter(|q| q.object.is_resource()) {
            types.add(quad.object);
        }
    }
    let mut collector = Collector::new(type_predicate, types, names);
    for rank in 0..gathered.subjects.len() {
        let quads = gathered.quads_of(rank).iter();
        collector.add_subject(quads.map(|q| (q.predicate, q.object, q.graph)));
    }
    let charsets = collector.finish(names, settings.class_fill_min);
    let links = count_links(gathered, &charsets, threads);
    (charsets, links)
}

fn count_links(gathered: &Gathered, charsets: &CharacteristicSets, threads: usize) -> Links {
    let subjects = gathered.subjects.len();
    let runs: Vec<_> = (0..subjects)
        .step_by(LINK_RUN_SUBJECTS)
        .map(|start| start..(start + LINK_RUN_SUBJECTS).min(subjects))
        .collect();
    let counters = parallel_map(threads, &runs, |run| {
        let mut counter = LinkCounter::default();
        for rank in run.clone() {
            let (source, home) = (charsets.of_subject[rank], charsets.home_graphs[rank]);
            for quad in gathered.quads_of(rank).iter().filter(|q| q.graph == home) {
                let Some(ordinal) = quad.object.resource_ordinal() else {
                    continue;
                };
                let target = gathered.ranks[ordinal as usize];
                if target != NO_RANK {
                    let target = charsets.of_subject[target as usize];
                    counter.add(source, quad.predicate, target);
                }
            }
        }
        counter
    });
    let mut all = LinkCounter::default();
    for counter in counters {
        all.merge(counter);
    }
    all.finish()
}
