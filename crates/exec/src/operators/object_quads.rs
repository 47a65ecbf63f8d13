//! `ObjectQuads`: the quads that lead to many objects at once, for `PatternJoin` with a bound object and a free predicate.
//!
//! Objects of a batch are asked for together and in order ([`Snapshot::links_to`](basalt_store::Snapshot::links_to)), each once however many
//! rows have it. Where graphs are merged (a triple may be in several), and where the matches of a batch are too many to be held together, rows are
//! left to [`CompiledPattern::visit`], the slow twin. Matches of a row are not side by side. Memory: the matches of one call, which are bounded.

use super::pattern_scan::{CompiledPattern, GraphPlace, Place};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use crate::star::Matches;
use std::ops::ControlFlow;

/// Quads read between two looks at the clock.
const CHECKED_QUADS: usize = 1 << 12;

/// Which positions of the pattern come from where; see the [module documentation](self).
#[derive(Clone, Copy, Debug)]
pub struct ObjectQuads {
    /// Column of the input that holds the object.
    object: usize,
    /// New column of the subject.
    subject: usize,
    /// New column of the predicate.
    predicate: usize,
    /// New column of the graph.
    graph: Option<usize>,
    /// Column of the input that holds the graph.
    input_graph: Option<usize>,
}

impl ObjectQuads {
    /// The plan for a pattern, if it is of the right kind: no slot twice among the new ones.
    pub fn of(pattern: &CompiledPattern) -> Option<Self> {
        let [
            Place::New(subject),
            Place::New(predicate),
            Place::Input(object),
        ] = pattern.places
        else {
            return None;
        };
        let (graph, input_graph) = pattern.graph_columns()?;
        let is_merge = matches!(pattern.graphs, GraphPlace::Merge(_));
        let repeats = subject == predicate || graph == Some(subject) || graph == Some(predicate);
        (!repeats && !is_merge).then_some(Self {
            object,
            subject,
            predicate,
            graph,
            input_graph,
        })
    }

    /// The matches of all rows of a batch, ordered by row; nothing if they are more than `matches_max`.
    pub fn join(
        &self,
        pattern: &CompiledPattern,
        batch: &Batch,
        matches_max: usize,
        cx: &Context,
    ) -> Result<Option<Matches>, ExecError> {
        cx.check()?;
        let ids = batch.ids(self.object);
        let graphs = self.input_graph.map(|column| batch.ids(column));
        let mut origins: Vec<u32> = (0..batch.rows() as u32).collect();
        origins.sort_unstable_by_key(|&origin| ids[origin as usize]);
        let runs: Vec<&[u32]> = origins
            .chunk_by(|&a, &b| ids[a as usize] == ids[b as usize])
            .collect();
        let objects: Vec<u64> = runs.iter().map(|run| ids[run[0] as usize]).collect();
        let mut matches = Matches::new(pattern.new_slots.len());
        let (mut read, mut stopped, mut is_whole) = (0, Ok(()), true);
        cx.snapshot().links_to(&objects, &mut |at, quad| {
            read += 1;
            if read % CHECKED_QUADS == 0 {
                stopped = cx.check();
            }
            is_whole = matches.len() <= matches_max;
            if stopped.is_err() || !is_whole {
                return ControlFlow::Break(());
            }
            if !pattern.graph_fits(quad.graph) {
                return ControlFlow::Continue(());
            }
            for &origin in runs[at] {
                if graphs.is_some_and(|graphs| graphs[origin as usize] != quad.graph.0) {
                    continue;
                }
                matches.origin.push(origin);
                matches.columns[self.subject].push(quad.subject.0);
                matches.columns[self.predicate].push(quad.predicate.0);
                if let Some(column) = self.graph {
                    matches.columns[column].push(quad.graph.0);
                }
            }
            ControlFlow::Continue(())
        })?;
        stopped?;
        if !is_whole {
            return Ok(None);
        }
        cx.profile().read(current_node(), read);
        matches.sort_by_origin();
        Ok(Some(matches))
    }
}
