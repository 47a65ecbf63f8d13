//! `PlannerStatistics`: what the planner knows of a store, in a file, so that a plan can be looked into without the data.
//!
//! ```text
//! store --export--> counts of tables, columns, predicates, characteristic sets
//!                   and for some queries what the planner asked of the data, with the answers (Recording)
//! file --import---> plans of those queries again (Imported), of others by the counts alone
//! ```
//!
//! Invariant: nothing here makes a plan that can be run: [`PlannerStatistics::explain`] gives a report. So answers never depend
//! on statistics of another store. What the file has is told in `docs/planner-statistics.md`.

mod document;
mod imported;
mod kept;
mod recorded;
mod recording;

use crate::error::Error;
use crate::plan_report::PlanReport;
use crate::query::{Prepared, QueryOptions, make_plan, parse};
use crate::statistics::SnapshotStatistics;
use basalt_plan::explain;
use basalt_rdf::TermId;
use basalt_store::Snapshot;
use document::Document;
use imported::Imported;
use recording::Recording;
use std::time::Instant;

/// Statistics of a store for the planner; see the [module documentation](self).
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerStatistics(Document);

impl PlannerStatistics {
    /// The statistics of a snapshot, with what planning these queries asks of its data.
    pub fn of(
        snapshot: &Snapshot,
        queries: &[String],
        options: &QueryOptions,
    ) -> Result<Self, Error> {
        let mut document = Document::of(snapshot)?;
        for text in queries {
            let statistics = SnapshotStatistics::new(snapshot);
            let recording = Recording::new(&statistics);
            let prepared = Prepared::with_statistics(snapshot.clone(), text, options, &recording)?;
            // The plan shows texts of ids.
            let names = |id: TermId| recording.note_text(id, prepared.term_text(id));
            explain(prepared.plan(), &recording, &names, None);
            document.queries.push(recording.into_query(text));
        }
        Ok(Self(document))
    }

    /// The text of the file.
    pub fn to_json(&self) -> Result<String, Error> {
        self.0.to_json()
    }

    /// Reads the text of a file, and checks it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Document::parse(text).map(Self)
    }

    /// The plan of a query by these statistics. Of a query that the file has, it is the plan that the store gave.
    pub fn explain(&self, text: &str, options: &QueryOptions) -> Result<PlanReport, Error> {
        let start = Instant::now();
        let query = parse(&options.parser()?, text)?;
        let parse_time = start.elapsed();
        let statistics = Imported::new(&self.0, text);
        let (plan, plan_time) = make_plan(&query, options, &statistics)?;
        Ok(PlanReport {
            root: explain(&plan, &statistics, &|id| statistics.text(id), None),
            parse_time,
            plan_time,
            is_cached: false,
            is_of_template: false,
            run: None,
        })
    }

    /// Quads of the store that they are of.
    pub fn quads(&self) -> u64 {
        self.0.store.quads
    }

    /// Queries whose plans are those of the store.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.0.queries.iter().map(|query| query.text.as_str())
    }
}
