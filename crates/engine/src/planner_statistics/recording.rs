//! `Recording`: statistics of a snapshot that note what the planner asks of the data.
//!
//! Counts that the file has for the whole store are passed on and not noted. A question that has the same answer each time is
//! noted once; see [`recorded`] for the others.

use super::document::{Id, Query};
use super::recorded::{self, Answer};
use crate::statistics::SnapshotStatistics;
use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{
    ColumnStatistics, IrregularStatistics, LinkOfWalk, Reached, SampleOf, Sampled, StarEstimate,
    Statistics,
};
use basalt_rdf::TermId;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The statistics; see the [module documentation](self).
pub(super) struct Recording<'a> {
    of: &'a SnapshotStatistics<'a>,
    asked: RefCell<BTreeMap<String, Vec<Value>>>,
    texts: RefCell<BTreeMap<TermId, String>>,
}

impl<'a> Recording<'a> {
    pub(super) fn new(of: &'a SnapshotStatistics<'a>) -> Self {
        Self {
            of,
            asked: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// Notes the text of an id, and gives it back.
    pub(super) fn note_text(&self, id: TermId, text: String) -> String {
        self.texts.borrow_mut().insert(id, text.clone());
        text
    }

    /// What planning a query with these statistics has asked.
    pub(super) fn into_query(self, text: &str) -> Query {
        let texts = self.texts.into_inner().into_iter();
        Query {
            text: text.to_owned(),
            asked: self.asked.into_inner(),
            texts: texts.map(|(id, text)| (Id(id), text)).collect(),
        }
    }

    /// Notes one more answer to a question.
    fn note_next<T: Answer>(&self, question: String, answer: T) -> T {
        let mut asked = self.asked.borrow_mut();
        asked.entry(question).or_default().push(answer.to_json());
        answer
    }

    /// Notes the only answer to a question.
    fn note<T: Answer>(&self, question: String, answer: T) -> T {
        let mut asked = self.asked.borrow_mut();
        asked
            .entry(question)
            .or_insert_with(|| vec![answer.to_json()]);
        answer
    }
}

impl Statistics for Recording<'_> {
    fn quad_count(&self) -> u64 {
        self.of.quad_count()
    }

    fn term_id(&self, term: &oxrdf::Term) -> Option<TermId> {
        self.note(recorded::term(term), self.of.term_id(term))
    }

    fn term_ids(&self, term: &oxrdf::Term) -> Vec<TermId> {
        self.note(recorded::terms(term), self.of.term_ids(term))
    }

    fn table_count(&self) -> usize {
        self.of.table_count()
    }

    fn table_name(&self, table: TableIdx) -> String {
        self.of.table_name(table)
    }

    fn table_rows(&self, table: TableIdx) -> u64 {
        self.of.table_rows(table)
    }

    fn table_graph(&self, table: TableIdx) -> Option<TermId> {
        self.of.table_graph(table)
    }

    fn graph_share(&self, table: TableIdx, graph: TermId) -> f64 {
        let share = self.of.graph_share(table, graph);
        self.note(recorded::graph_share(table, graph), share)
    }

    fn graph_quads(&self, graph: TermId) -> Option<u64> {
        self.note(recorded::graph_quads(graph), self.of.graph_quads(graph))
    }

    fn only_graph(&self, among: Option<&[TermId]>) -> Option<TermId> {
        let only = self.of.only_graph(among);
        let id = only.map(|graph| graph.0);
        self.note(recorded::only_graph(among), id).map(TermId)
    }

    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics> {
        self.of.column(table, predicate)
    }

    fn object_count(&self, table: TableIdx, predicate: TermId, object: TermId) -> Option<u64> {
        let count = self.of.object_count(table, predicate, object);
        self.note(recorded::objects(table, predicate, object), count)
    }

    fn irregular(&self, predicate: TermId) -> IrregularStatistics {
        self.of.irregular(predicate)
    }

    fn irregular_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        self.of.irregular_range(predicate)
    }

    fn has_written_floats(&self) -> bool {
        self.of.has_written_floats()
    }

    fn irregular_object_count(&self, predicate: TermId, object: TermId) -> u64 {
        let count = self.of.irregular_object_count(predicate, object);
        self.note(recorded::irregular_objects(predicate, object), count)
    }

    fn table_of(&self, resource: TermId) -> Option<TableIdx> {
        self.note(recorded::table_of(resource), self.of.table_of(resource))
    }

    fn predicate_quads(&self, predicate: TermId) -> u64 {
        self.of.predicate_quads(predicate)
    }

    fn named_graph_count(&self) -> u64 {
        self.of.named_graph_count()
    }

    fn star(
        &self,
        required: &[TermId],
        counted: &[TermId],
        optional: &[TermId],
    ) -> Option<Vec<StarEstimate>> {
        let stars = self.of.star(required, counted, optional);
        self.note(recorded::star(required, counted, optional), stars)
    }

    fn sample(&self, wanted: &SampleOf<'_>) -> Option<Sampled> {
        self.note_next(recorded::sample(wanted), self.of.sample(wanted))
    }

    fn partners(&self, from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> Option<f64> {
        self.note(recorded::partners(from, into), self.of.partners(from, into))
    }

    fn quads_of_row(&self, table: TableIdx) -> Option<f64> {
        self.of.quads_of_row(table)
    }

    fn links_to_row(&self, table: TableIdx) -> Option<f64> {
        self.of.links_to_row(table)
    }

    fn irregular_quad_count(&self) -> u64 {
        let quads = self.of.irregular_quad_count();
        self.note(recorded::irregular_quads(), quads)
    }

    fn irregular_in_files(&self, predicate: TermId) -> u64 {
        let quads = self.of.irregular_in_files(predicate);
        self.note(recorded::in_files(predicate), quads)
    }

    fn added_links(&self, predicate: TermId) -> Vec<(TableIdx, u64)> {
        let links = self.of.added_links(predicate);
        self.note(recorded::added_links(predicate), links)
    }

    fn looked_up_quads(&self, predicate: TermId) -> u64 {
        let quads = self.of.looked_up_quads(predicate);
        self.note(recorded::looked_up(predicate), quads)
    }

    fn spread_rows(
        &self,
        table: TableIdx,
        having: Option<(TermId, TermId)>,
        rows_max: usize,
    ) -> Option<(Vec<TermId>, f64)> {
        let rows = self.of.spread_rows(table, having, rows_max);
        self.note(recorded::spread_rows(table, having, rows_max), rows)
    }

    fn spread_irregular(
        &self,
        predicate: TermId,
        object: Option<TermId>,
        subjects_max: usize,
    ) -> Vec<(TermId, f64)> {
        let subjects = self.of.spread_irregular(predicate, object, subjects_max);
        let question = recorded::spread_irregular(predicate, object, subjects_max);
        self.note(question, subjects)
    }

    fn objects_of(
        &self,
        predicate: TermId,
        subjects: &[TermId],
        visit: &mut dyn FnMut(&[TermId]),
    ) -> bool {
        let mut lists: Vec<Vec<TermId>> = Vec::with_capacity(subjects.len());
        let are_known = self.of.objects_of(predicate, subjects, &mut |objects| {
            lists.push(objects.to_vec());
            visit(objects);
        });
        let question = recorded::objects_of(predicate, subjects);
        self.note_next(question, are_known.then_some(lists))
            .is_some()
    }

    fn subjects_with(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        wanted: &[(TermId, u64)],
    ) -> Option<Vec<TermId>> {
        let subjects = self.of.subjects_with(tables, predicate, wanted);
        self.note_next(recorded::subjects_with(tables, predicate, wanted), subjects)
    }

    fn quads_with_objects(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        objects: &[TermId],
    ) -> Option<Vec<f64>> {
        let answer = self.of.quads_with_objects(tables, predicate, objects);
        self.note_next(recorded::with_objects(tables, predicate, objects), answer)
    }

    fn reached(&self, links: &[LinkOfWalk], start: TermId) -> Option<Reached> {
        let reached = self.of.reached(links, start);
        self.note(recorded::reached(links, start), reached)
    }

    fn predicate_count(&self) -> u64 {
        self.of.predicate_count()
    }

    fn subject_count(&self) -> u64 {
        self.of.subject_count()
    }
}
