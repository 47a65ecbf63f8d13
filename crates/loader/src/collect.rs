//! Feeding discovery: characteristic sets in one pass over the subjects, links in another.

use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use basalt_shapes::{
    CharacteristicSets, Collector, FastMap, LinkCounter, Links, Names, Settings, TypeCounter,
};

use crate::error::LoadError;
use crate::gather::NO_RANK;
use crate::grouped::{Batch, Gathered};
use crate::parallel::parallel_map;
use crate::spill::LoadMemory;
use crate::term_table::{FrozenTerms, IRI};

/// The predicate whose objects are the classes of its subject.
pub(crate) const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Subjects whose links one thread counts at a time.
const LINK_RUN_SUBJECTS: usize = 1 << 16;

/// The names of predicates and classes.
pub(crate) struct ProvisionalNames<'a> {
    /// Predicates by index, as provisional ordinals.
    predicates: &'a [u32],
    /// Kind and text of predicates and types, by provisional ordinal.
    texts: FastMap<u32, (u32, String)>,
}

impl<'a> ProvisionalNames<'a> {
    /// The names that discovery asks for.
    pub(crate) fn read(gathered: &'a Gathered, resources: &FrozenTerms) -> Result<Self, LoadError> {
        let types = gathered.types.iter().map(|(id, _)| id.payload() as u32);
        let mut wanted: Vec<u32> = types.chain(gathered.predicates.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        Ok(Self {
            predicates: &gathered.predicates,
            texts: resources.names(wanted)?,
        })
    }
}

impl Names for ProvisionalNames<'_> {
    fn predicate(&self, predicate: u32) -> String {
        self.term(TermId::resource(u64::from(
            self.predicates[predicate as usize],
        )))
    }

    fn term(&self, id: TermId) -> String {
        let known = match id.tag() {
            tag::RESOURCE => self.texts.get(&(id.payload() as u32)),
            _ => None,
        };
        match known {
            Some((IRI, text)) => text.clone(),
            Some((_, label)) => format!("_:{label}"),
            None => "literal".to_owned(),
        }
    }
}

/// Collects the characteristic sets and the links between them.
pub(crate) fn collect(
    gathered: &Gathered,
    names: &ProvisionalNames<'_>,
    settings: &Settings,
    threads: usize,
    memory: &LoadMemory,
) -> Result<(CharacteristicSets, Links), LoadError> {
    let mut types = TypeCounter::default();
    for &(class, count) in &gathered.types {
        types.add_times(class, count);
    }
    let mut collector = Collector::new(gathered.type_predicate, types, names);
    gathered.for_each_batch(memory, &mut |batch| {
        for rank in batch.ranks.clone() {
            let quads = batch.quads_of(rank).iter();
            collector.add_subject(quads.map(|q| (q.predicate, q.object, q.graph)));
        }
        Ok(())
    })?;
    let charsets = collector.finish(names, settings);
    let mut links = LinkCounter::default();
    gathered.for_each_batch(memory, &mut |batch| {
        count_links(gathered, &charsets, batch, threads, &mut links);
        Ok(())
    })?;
    Ok((charsets, links.finish()))
}

fn count_links(
    gathered: &Gathered,
    charsets: &CharacteristicSets,
    batch: &Batch<'_>,
    threads: usize,
    all: &mut LinkCounter,
) {
    let end = batch.ranks.end;
    let runs: Vec<_> = (batch.ranks.clone())
        .step_by(LINK_RUN_SUBJECTS)
        .map(|start| start..(start + LINK_RUN_SUBJECTS).min(end))
        .collect();
    let counters = parallel_map(threads, &runs, |run| {
        let mut counter = LinkCounter::default();
        for rank in run.clone() {
            let (source, home) = (charsets.of_subject[rank], charsets.home_graphs[rank]);
            for quad in batch.quads_of(rank).iter().filter(|q| q.graph == home) {
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
    for counter in counters {
        all.merge(counter);
    }
}
