//! `Recording`: statistics of a snapshot that note what the planner asks of the data.
//!
//! Counts that the file has for the whole store are passed on and not noted. A question that has the same answer each time is
//! noted once; see [`recorded`] for the others.

use super::document::{Id, Query};
use super::recorded::{self, Answer};
use crate::statistics::SnapshotStatistics;
use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{
    ColumnStatistics, IrregularStatistics, RowTest, SampleOf, Sampled, StarEstimate, Statistics,
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

    fn irregular_are_resources(&self, predicate: TermId) -> bool {
        self.of.irregular_are_resources(predicate)
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
        self.of.star(required, counted, optional)
    }

    fn sample(&self, wanted: &SampleOf<'_>) -> Option<Sampled> {
        self.note_next(recorded::sample(wanted), self.of.sample(wanted))
    }

    fn partners(&self, from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> Option<f64> {
        self.note(recorded::partners(from, into), self.of.partners(from, into))
    }

    fn quads_around(&self, resource: TermId) -> Option<(f64, f64)> {
        self.note(recorded::around(resource), self.of.quads_around(resource))
    }

    fn draw_values(&self, wanted: &SampleOf<'_>, of: Option<TermId>) -> Option<Vec<(TermId, f64)>> {
        self.note_next(recorded::draw(wanted, of), self.of.draw_values(wanted, of))
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

    fn solutions_of(
        &self,
        tables: &[TableIdx],
        tests: &[RowTest<'_>],
        counted: &[TermId],
        subjects: &[TermId],
    ) -> Vec<Option<f64>> {
        let answer = self.of.solutions_of(tables, tests, counted, subjects);
        self.note_next(
            recorded::solutions(tables, tests, counted, subjects),
            answer,
        )
    }

    fn subject_count(&self) -> u64 {
        self.of.subject_count()
    }
}
