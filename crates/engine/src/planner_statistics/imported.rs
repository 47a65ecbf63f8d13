//! `Imported`: statistics of a file, for plans that are only looked at.
//!
//! What the file has for a query is answered as it was. Of any other question the answer is that it cannot be told cheaply, so
//! that the planner estimates from counts; a term that the file does not know is taken to be one that the data has, with an
//! id of its own, since a plan for what is not there would be empty.

use super::document::{Column, Document, Predicate, Query};
use super::recorded::{self, Answer};
use crate::statistics::star_of_sets;
use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{
    ColumnStatistics, IrregularStatistics, LinkOfWalk, Reached, SampleOf, Sampled, StarEstimate,
    Statistics,
};
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::{KeptSet, RareSets, Snapshot, TableSums};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// Ordinals of terms that the file does not know; no store is as large.
const FIRST_UNKNOWN: u64 = 1 << 40;

/// The statistics; see the [module documentation](self).
pub(super) struct Imported<'a> {
    of: &'a Document,
    /// What was asked for the query, if the file has it.
    query: Option<&'a Query>,
    /// How many answers to a question were given.
    given: RefCell<HashMap<String, usize>>,
    /// Terms that the file does not know, by their ordinals less the first.
    unknown: RefCell<Vec<(oxrdf::Term, TermId)>>,
    /// Predicates and ids of characteristic sets, split as they are asked for.
    sets: Vec<(Vec<TermId>, Vec<u64>)>,
    /// What follows of other sets.
    rare_sets: OnceCell<RareSets>,
    /// Knows the terms whose ids hold them.
    empty: Snapshot,
}

impl<'a> Imported<'a> {
    /// Statistics for a query.
    pub(super) fn new(of: &'a Document, text: &str) -> Self {
        let is_it = |query: &&Query| query.text.trim() == text.trim();
        let split = of.characteristic_sets.iter().map(|set| {
            let pairs = set.predicates.iter().map(|(id, values)| (id.0, *values));
            pairs.unzip::<TermId, u64, Vec<_>, Vec<_>>()
        });
        Self {
            of,
            query: of.queries.iter().find(is_it),
            given: RefCell::default(),
            unknown: RefCell::default(),
            sets: split.collect(),
            rare_sets: OnceCell::new(),
            empty: Snapshot::empty(),
        }
    }

    /// The characteristic sets of the file.
    fn kept_sets(&self) -> impl Iterator<Item = KeptSet<'_>> + Clone {
        let sets = self.of.characteristic_sets.iter().zip(&self.sets);
        sets.map(|(set, (predicates, values))| KeptSet {
            table: set.table.map(|table| table as usize),
            subjects: set.subjects,
            predicates,
            values,
        })
    }

    /// What is known of the sets that the file does not have.
    fn make_rare_sets(&self) -> RareSets {
        let tables = self.of.tables.iter().map(|table| TableSums {
            rows: table.rows,
            columns: table.columns.iter().map(Column::sums).collect(),
        });
        let tables: Vec<_> = tables.collect();
        let irregular = self.of.predicates.iter();
        let irregular: Vec<_> = irregular
            .map(|known| (known.id.0, known.irregular()))
            .map(|(id, known)| (id, known.subjects, known.quads))
            .collect();
        RareSets::of(
            self.of.store.subjects,
            &tables,
            &irregular,
            self.kept_sets(),
        )
    }

    /// The text of an id for EXPLAIN.
    pub(super) fn text(&self, id: TermId) -> String {
        let mut texts = self.query.iter().flat_map(|query| &query.texts);
        if let Some((_, text)) = texts.find(|(known, _)| known.0 == id) {
            return text.clone();
        }
        if let Some(predicate) = self.predicate(id) {
            return predicate.iri.clone();
        }
        if let Some((term, _)) = self.unknown.borrow().iter().find(|(_, known)| *known == id) {
            return term.to_string();
        }
        if id == TermId::DEFAULT_GRAPH {
            return "default".to_owned();
        }
        let is_inline = !matches!(
            id.tag(),
            tag::RESOURCE | tag::STRING | tag::LANGUAGE | tag::TYPED | tag::LOCAL
        );
        let mut term = TermBuf::new();
        match is_inline && self.empty.dictionary().decode(id, &mut term).is_ok() {
            true => term.view().to_string(),
            false => format!("{id:?}"),
        }
    }

    /// The only answer to a question, if the file has it.
    fn answer<T: Answer>(&self, question: &str) -> Option<T> {
        let answers = self.query?.asked.get(question)?;
        answers.first().and_then(T::of_json)
    }

    /// The next answer to a question, if the file has one more.
    fn next_answer<T: Answer>(&self, question: String) -> Option<T> {
        let answers = self.query?.asked.get(&question)?;
        let mut given = self.given.borrow_mut();
        let next = given.entry(question).or_default();
        *next += 1;
        answers.get(*next - 1).and_then(T::of_json)
    }

    fn predicate(&self, id: TermId) -> Option<&Predicate> {
        let predicates = &self.of.predicates;
        predicates.iter().find(|predicate| predicate.id.0 == id)
    }

    fn column_of(&self, table: TableIdx, predicate: TermId) -> Option<&Column> {
        let columns = &self.of.tables.get(table.0 as usize)?.columns;
        columns
            .iter()
            .find(|column| column.predicate.0 == predicate)
    }

    /// The id of a term that the query's record does not have.
    fn id_of_unknown(&self, term: &oxrdf::Term) -> TermId {
        let text = term.to_string();
        if let Some(predicate) = self.of.predicates.iter().find(|known| known.iri == text) {
            return predicate.id.0;
        }
        if let Some(id) = self.empty.dictionary().find(TermView::from(term.as_ref())) {
            return id;
        }
        let mut unknown = self.unknown.borrow_mut();
        if let Some((_, id)) = unknown.iter().find(|(known, _)| known == term) {
            return *id;
        }
        let tag = match term {
            oxrdf::Term::Literal(_) => tag::LOCAL,
            _ => tag::RESOURCE,
        };
        let id = TermId::new(tag, FIRST_UNKNOWN + unknown.len() as u64);
        unknown.push((term.clone(), id));
        id
    }
}

impl Statistics for Imported<'_> {
    fn quad_count(&self) -> u64 {
        self.of.store.quads
    }

    fn term_id(&self, term: &oxrdf::Term) -> Option<TermId> {
        if matches!(term, oxrdf::Term::BlankNode(_)) {
            return None;
        }
        let known = self.answer(&recorded::term(term));
        known.unwrap_or_else(|| Some(self.id_of_unknown(term)))
    }

    fn term_ids(&self, term: &oxrdf::Term) -> Vec<TermId> {
        let known = self.answer(&recorded::terms(term));
        known.unwrap_or_else(|| self.term_id(term).into_iter().collect())
    }

    fn table_count(&self) -> usize {
        self.of.tables.len()
    }

    fn table_name(&self, table: TableIdx) -> String {
        let table = self.of.tables.get(table.0 as usize);
        table.map_or_else(String::new, |table| table.name.clone())
    }

    fn table_rows(&self, table: TableIdx) -> u64 {
        self.of
            .tables
            .get(table.0 as usize)
            .map_or(0, |table| table.rows)
    }

    fn table_graph(&self, table: TableIdx) -> Option<TermId> {
        Some(self.of.tables.get(table.0 as usize)?.graph?.0)
    }

    fn graph_share(&self, table: TableIdx, graph: TermId) -> f64 {
        let known = self.answer(&recorded::graph_share(table, graph));
        known.unwrap_or(1.0)
    }

    fn graph_quads(&self, graph: TermId) -> Option<u64> {
        self.answer(&recorded::graph_quads(graph))?
    }

    fn only_graph(&self, among: Option<&[TermId]>) -> Option<TermId> {
        let known: Option<Option<u64>> = self.answer(&recorded::only_graph(among));
        known.flatten().map(TermId)
    }

    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics> {
        self.column_of(table, predicate).map(Column::statistics)
    }

    fn object_count(&self, table: TableIdx, predicate: TermId, object: TermId) -> Option<u64> {
        self.answer(&recorded::objects(table, predicate, object))?
    }

    fn irregular(&self, predicate: TermId) -> IrregularStatistics {
        self.predicate(predicate)
            .map(Predicate::irregular)
            .unwrap_or_default()
    }

    fn irregular_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        self.predicate(predicate)?.irregular_range()
    }

    fn has_written_floats(&self) -> bool {
        self.of.store.has_written_floats
    }

    fn irregular_object_count(&self, predicate: TermId, object: TermId) -> u64 {
        let known = self.answer(&recorded::irregular_objects(predicate, object));
        known.unwrap_or_else(|| {
            let irregular = self.irregular(predicate);
            irregular.quads.div_ceil(irregular.objects.max(1))
        })
    }

    fn table_of(&self, resource: TermId) -> Option<TableIdx> {
        self.answer(&recorded::table_of(resource))?
    }

    fn predicate_quads(&self, predicate: TermId) -> u64 {
        self.predicate(predicate)
            .map_or(0, |predicate| predicate.quads)
    }

    fn named_graph_count(&self) -> u64 {
        self.of.store.named_graphs
    }

    fn star(
        &self,
        required: &[TermId],
        counted: &[TermId],
        optional: &[TermId],
    ) -> Option<Vec<StarEstimate>> {
        if let Some(known) = self.answer(&recorded::star(required, counted, optional)) {
            return known;
        }
        if self.sets.is_empty() {
            return None;
        }
        let has_all = |set: &KeptSet<'_>| {
            let has = |p: &TermId| set.predicates.binary_search(p).is_ok();
            required.iter().all(has)
        };
        let rare = self.rare_sets.get_or_init(|| self.make_rare_sets());
        let rare = rare.star(required, counted, optional);
        let sets = self.kept_sets().filter(has_all);
        Some(star_of_sets(sets, rare, counted, optional))
    }

    fn sample(&self, wanted: &SampleOf<'_>) -> Option<Sampled> {
        let known: Option<Sampled> = self.next_answer(recorded::sample(wanted))?;
        known.filter(|sampled| sampled.passed.len() == wanted.tests.len())
    }

    fn partners(&self, from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> Option<f64> {
        self.answer(&recorded::partners(from, into))?
    }

    fn quads_of_row(&self, table: TableIdx) -> Option<f64> {
        let table = self.of.tables.get(table.0 as usize)?;
        let values = table.columns.iter().map(|column| column.sums().2);
        Some(values.sum::<u64>() as f64 / table.rows.max(1) as f64)
    }

    fn links_to_row(&self, table: TableIdx) -> Option<f64> {
        let rows = self.of.tables.get(table.0 as usize)?.rows;
        let columns = self.of.tables.iter().flat_map(|of| &of.columns);
        let links: u64 = columns.map(|column| column.links_to(table.0)).sum();
        Some(links as f64 / rows.max(1) as f64)
    }

    fn irregular_quad_count(&self) -> u64 {
        let known = self.answer(&recorded::irregular_quads());
        known.unwrap_or_else(|| {
            let predicates = self.of.predicates.iter();
            predicates.map(|known| known.irregular().quads).sum()
        })
    }

    fn irregular_in_files(&self, predicate: TermId) -> u64 {
        let known = self.answer(&recorded::in_files(predicate));
        known.unwrap_or_else(|| self.irregular(predicate).quads)
    }

    fn added_links(&self, predicate: TermId) -> Vec<(TableIdx, u64)> {
        self.answer(&recorded::added_links(predicate))
            .unwrap_or_default()
    }

    fn looked_up_quads(&self, predicate: TermId) -> u64 {
        let known = self.answer(&recorded::looked_up(predicate));
        known.unwrap_or_else(|| self.irregular(predicate).quads)
    }

    fn spread_rows(
        &self,
        table: TableIdx,
        having: Option<(TermId, TermId)>,
        rows_max: usize,
    ) -> Option<(Vec<TermId>, f64)> {
        self.answer(&recorded::spread_rows(table, having, rows_max))?
    }

    fn spread_irregular(
        &self,
        predicate: TermId,
        object: Option<TermId>,
        subjects_max: usize,
    ) -> Vec<(TermId, f64)> {
        self.answer(&recorded::spread_irregular(predicate, object, subjects_max))
            .unwrap_or_default()
    }

    fn objects_of(
        &self,
        predicate: TermId,
        subjects: &[TermId],
        visit: &mut dyn FnMut(&[TermId]),
    ) -> bool {
        let question = recorded::objects_of(predicate, subjects);
        let known: Option<Option<Vec<Vec<TermId>>>> = self.next_answer(question);
        let known = known
            .flatten()
            .filter(|lists| lists.len() == subjects.len());
        known.iter().flatten().for_each(|objects| visit(objects));
        known.is_some()
    }

    fn subjects_with(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        wanted: &[(TermId, u64)],
    ) -> Option<Vec<TermId>> {
        let question = recorded::subjects_with(tables, predicate, wanted);
        let known: Option<Vec<TermId>> = self.next_answer(question)?;
        known.filter(|subjects| subjects.len() == wanted.len())
    }

    fn quads_with_objects(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        objects: &[TermId],
    ) -> Option<Vec<f64>> {
        let question = recorded::with_objects(tables, predicate, objects);
        let known: Option<Vec<f64>> = self.next_answer(question)?;
        known.filter(|counts| counts.len() == objects.len())
    }

    fn reached(&self, links: &[LinkOfWalk], start: TermId) -> Option<Reached> {
        self.answer(&recorded::reached(links, start))?
    }

    fn predicate_count(&self) -> u64 {
        self.of.predicates.len() as u64
    }

    fn subject_count(&self) -> u64 {
        self.of.store.subjects
    }
}
