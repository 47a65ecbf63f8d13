//! Adding to a store at the cost of the new data: a layer of new files beside the old ones.
//!
//! ```text
//! new terms -> known ids | new quads -> those of new subjects -> parts of known shapes, new tables
//!                                    -> those of known subjects, if not there -> irregular quads
//! ```
//!
//! Old files stay as they are; only the irregular quads and the statistics are written anew. The
//! whole rewrite ([`read_old_version`](crate::old_version::read_old_version)) is the slow path beside
//! this one: [`decide`](decide::decide) says when it is better, and the tests hold both to the same quads.
//!
//! Invariants: a quad that the old version has is dropped; a resource that the old version knows keeps
//! its ordinal, so it never becomes a row of a new table.
//!
//! Cost: each distinct new term is sought once in each layer of the dictionary, each new quad of a
//! known subject once in its row or among the irregular quads; the irregular quads are copied once.

mod decide;
mod known_terms;
mod parts;
mod split;

pub use decide::RewriteReason;
pub(crate) use decide::{Decision, Facts, decide};

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_rdf::{Qualifiers, TermId};
use basalt_shapes::{CharacteristicSets, Schema};
use basalt_store::{QuadIds, Snapshot, StoreStatistics, VersionWriter};

use self::known_terms::KnownTerms;
use self::split::{KnownSubjectQuad, Split, split};
use crate::collect::{ProvisionalNames, collect};
use crate::encoder::Terms;
use crate::error::LoadError;
use crate::fill::Filling;
use crate::irregular::sorter;
use crate::load::{WritePlan, group, number_bytes};
use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::placement::Placement;
use crate::progress::{Phase, WorkCounter};
use crate::quad_blocks::QuadBlocks;
use crate::report::{LoadReport, Stopwatch, TableReport};
use crate::rows::RowSource;
use crate::spill::{LoadMemory, QuadSorter};
use crate::statistics::statistics;
use crate::term_table::FrozenTerms;
use crate::text_order::Ordering;
use crate::write_terms::write_terms;

/// From parsed quads to a committed version that has the old one's data too.
pub(crate) fn append(
    mut writer: VersionWriter,
    old: &Snapshot,
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
    watch: &mut Stopwatch<'_>,
    report: &mut LoadReport,
) -> Result<Snapshot, LoadError> {
    let qualifiers = Arc::clone(&terms.qualifiers);
    watch.begin(Phase::Group)?;
    let (gathered, resources, literals, resident) = group(terms, quads, plan)?;
    watch.begin(Phase::ReadOldVersion)?;
    let known = KnownTerms::look_up(&resources, &literals, old.dictionary(), plan.threads)?;
    let split = split(gathered, &known, old, plan.threads, &plan.memory)?;

    watch.begin(Phase::Discover)?;
    let names = ProvisionalNames::read(&split.new, &resources)?;
    let memory = &*plan.memory;
    let (charsets, links) = collect(&split.new, &names, &plan.settings, plan.threads, memory)?;
    let context = parts::Context {
        old,
        known: &known,
        gathered: &split.new,
        names: &names,
        plan,
    };
    let placement = context.place(&charsets, &links, split.quad_count());
    drop(links);

    writer.build_on(old)?;
    let layer = Layer {
        old,
        split: &split,
        terms: (resources, literals),
        qualifiers: &qualifiers,
        plan,
        resident,
    };
    let irregular = layer.write(&mut writer, known, &charsets, &placement, watch)?;
    watch.begin(Phase::Commit)?;
    let snapshot = writer.commit()?;
    describe(&snapshot, old, &placement.schema, irregular, report);
    Ok(snapshot)
}

/// What the steps of writing share.
struct Layer<'a> {
    old: &'a Snapshot,
    split: &'a Split,
    /// Resources, literals.
    terms: (FrozenTerms, FrozenTerms),
    qualifiers: &'a Qualifiers,
    plan: &'a WritePlan,
    /// Bytes that numbers take.
    resident: u64,
}

impl Layer<'_> {
    /// Writes tables, irregular quads, statistics and terms. Returns the number of new irregular quads.
    fn write(
        self,
        writer: &mut VersionWriter,
        known: KnownTerms,
        charsets: &CharacteristicSets,
        placement: &Placement,
        watch: &mut Stopwatch<'_>,
    ) -> Result<u64, LoadError> {
        let new = &self.split.new;
        watch.begin(Phase::Number)?;
        let mut numbers = known.into_numbers(self.old.dictionary());
        numbers.resources.number_subjects(new, placement);
        let predicates = numbers.resources.predicates(new);
        let graphs = numbers.resources.graphs(new);

        watch.begin(Phase::WriteTables)?;
        let memory = &*self.plan.memory;
        // What is in memory need not be dealt out.
        let rows = RowSource::new(new, &[], &|_| 0, memory, self.resident)?;
        let filling = Filling {
            rows: &rows,
            charsets,
            placement,
            predicates: &predicates,
            graphs: &graphs,
            threads: self.plan.threads,
            work: WorkCounter::new(watch.progress(), memory, placement.row_count()),
        };
        let mut irregular = sorter(memory, self.resident);
        filling.write_tables(writer, &mut numbers, &mut irregular)?;

        watch.begin(Phase::WriteIrregular)?;
        filling.loose_quads(new, &numbers.resources, &mut irregular)?;
        self.quads_of_known_subjects(&numbers, &predicates, &graphs, &mut irregular)?;
        writer.statistics(self.statistics(charsets, placement, &predicates)?);
        let mut irregular = match irregular.is_in_memory() {
            true => irregular.into_held(),
            // Merging with those of the old version wants them all.
            false => irregular.finish()?.merge()?.collect::<Result<_, _>>()?,
        };
        numbers.finalise_irregular(&mut irregular);
        let count = irregular.len() as u64;
        writer.irregular_quads(irregular)?;

        watch.begin(Phase::WriteTerms)?;
        self.write_dictionary(writer, &numbers, placement, watch)?;
        Ok(count)
    }

    /// The new quads of subjects that the old version knows; objects still have provisional ids.
    fn quads_of_known_subjects(
        &self,
        numbers: &TermNumbers,
        predicates: &[TermId],
        graphs: &[TermId],
        irregular: &mut QuadSorter,
    ) -> Result<(), LoadError> {
        for KnownSubjectQuad { subject, quad } in &self.split.of_known {
            irregular.push(QuadIds {
                subject: numbers.resources.id(*subject),
                predicate: predicates[quad.predicate as usize],
                object: quad.object,
                graph: graphs[quad.graph as usize],
            })?;
        }
        Ok(())
    }

    /// Characteristic sets of the new subjects, and of those that were no subjects before.
    fn statistics(
        &self,
        charsets: &CharacteristicSets,
        placement: &Placement,
        predicates: &[TermId],
    ) -> Result<StoreStatistics, LoadError> {
        let old_tables = self.old.tables().len();
        let schema = Schema {
            charset_to_table: placement
                .schema
                .charset_to_table
                .iter()
                .map(|table| table.map(|table| old_tables + table))
                .collect(),
            ..Schema::default()
        };
        let mut all = statistics(charsets, &schema, predicates);
        let late = &self.split.late;
        let names = ProvisionalNames::read(late, &self.terms.0)?;
        let (settings, threads) = (&self.plan.settings, self.plan.threads);
        let (charsets, _) = collect(late, &names, settings, threads, &self.plan.memory)?;
        let schema = Schema {
            charset_to_table: vec![None; charsets.sets.len()],
            ..Schema::default()
        };
        let late = statistics(&charsets, &schema, predicates);
        all.subject_count += late.subject_count;
        all.characteristic_sets.extend(late.characteristic_sets);
        Ok(all)
    }

    /// Writes the layer of the dictionary, if there is anything new.
    fn write_dictionary(
        self,
        writer: &mut VersionWriter,
        numbers: &TermNumbers,
        placement: &Placement,
        watch: &Stopwatch<'_>,
    ) -> Result<(), LoadError> {
        let dictionary = self.old.dictionary();
        let new_terms = numbers.resources.order.len() + numbers.literals.order.len();
        let new_codes = dictionary.qualifier_lists() != self.qualifiers.to_lists();
        if new_terms == 0 && !new_codes && placement.tables.is_empty() {
            return Ok(());
        }
        let layers = dictionary.layer_terms();
        let taken_in = decide::layers_to_take_in(&layers, new_terms as u64);
        let layer = writer.dictionary_layer(taken_in)?;
        let work = WorkCounter::new(watch.progress(), &self.plan.memory, new_terms as u64);
        let ordering = Ordering::new(&self.plan.memory, self.resident, &work);
        write_terms(layer, self.terms, numbers, self.qualifiers, &ordering)
    }
}

/// Whether a load whose inputs were read can be added as a layer, which is made in memory.
pub(crate) fn fits(terms: &Terms, quads: &QuadBlocks, memory: &LoadMemory) -> bool {
    let bounds = terms.bounds();
    // A quad may be a candidate and an irregular quad besides.
    memory.fits(4 * quads.quad_count(), 2 * number_bytes(bounds, bounds))
}

impl KnownTerms {
    /// Numbers that begin with those of the old version.
    fn into_numbers(self, old: &basalt_store::Dictionary) -> TermNumbers {
        // Looking the terms up has made sure that all ordinals fit.
        TermNumbers {
            resources: ResourceNumbers::with_known(self.resources, old.resource_count() as u32),
            literals: LiteralNumbers::with_known(self.literals, old.literal_count() as u32),
        }
    }
}

/// Fills in the report from what was written.
fn describe(
    snapshot: &Snapshot,
    old: &Snapshot,
    schema: &Schema,
    new_irregular: u64,
    report: &mut LoadReport,
) {
    report.quads_stored = snapshot.quad_count();
    report.duplicates = report.quads_read + old.quad_count() - report.quads_stored;
    report.irregular_quads = snapshot.quad_table().quad_count();
    debug_assert_eq!(
        report.irregular_quads,
        old.quad_table().quad_count() + new_irregular
    );
    report.quads_in_cells = report.quads_stored - report.irregular_quads;
    report.threshold = schema.threshold;
    report.trials.clone_from(&schema.trials);
    let mut columns: Vec<BTreeSet<(TermId, basalt_store::TypeClass)>> = Vec::new();
    for table in snapshot.tables() {
        let known = report.tables.iter().position(|t| t.name == table.name());
        let at = known.unwrap_or(report.tables.len());
        if at == report.tables.len() {
            columns.push(BTreeSet::new());
            report.tables.push(TableReport {
                name: table.name().to_owned(),
                rows: 0,
                columns: 0,
            });
        }
        let of_part = table.definition().columns.iter();
        columns[at].extend(of_part.map(|c| (c.predicate, c.type_class)));
        report.tables[at].rows += u64::from(table.rows());
        report.tables[at].columns = columns[at].len();
    }
}

#[cfg(test)]
mod tests;
