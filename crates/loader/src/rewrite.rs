//! Rewriting a store while it goes on changing.
//!
//! The state that is given is written as a whole version, as a load with [`Addition::Rewrite`] and without inputs does,
//! but it is not made current: the caller has changes that were made meanwhile, which it must say in ids of the new version
//! first. What it needs for that comes along: terms are found by their texts, [`BlankNodes`] tells of those that
//! have none.
//!
//! [`Addition::Rewrite`]: crate::Addition::Rewrite

use basalt_store::{FinishedVersion, QuadIds, Snapshot, VersionWriter};

use crate::append::RewriteReason;
use crate::blank_nodes::BlankNodes;
use crate::error::LoadError;
use crate::load::{Loading, write};
use crate::old_version::read_old_version;
use crate::options::LoadOptions;
use crate::progress::{Phase, Progress, WorkCounter};
use crate::report::LoadReport;

/// Changes of a state while it is written; all ids are those of the state.
pub trait QuadEdits {
    /// Whether a quad of the state is left out; each is asked for once, in the order in which the state shows them.
    fn leaves_out(&mut self, quad: &QuadIds) -> Result<bool, LoadError>;
    /// Visits the quads that come in addition; those that the state has and keeps are taken once.
    fn visit_added(
        &mut self,
        visit: &mut dyn FnMut(QuadIds) -> Result<(), LoadError>,
    ) -> Result<(), LoadError>;
}

/// No changes.
#[derive(Clone, Copy, Debug)]
pub struct NoEdits;

impl QuadEdits for NoEdits {
    fn leaves_out(&mut self, _quad: &QuadIds) -> Result<bool, LoadError> {
        Ok(false)
    }

    fn visit_added(
        &mut self,
        _visit: &mut dyn FnMut(QuadIds) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        Ok(())
    }
}

/// A version that has all of a state, and is not current yet.
#[derive(Debug)]
pub struct Rewritten {
    /// The version.
    pub version: FinishedVersion,
    /// Where the state's blank nodes are in it.
    pub blank_nodes: BlankNodes,
    /// What was done.
    pub report: LoadReport,
}

/// Writes a state of a store as a version of its own, with nothing of inputs.
///
/// Errors: those of a load; [`LoadError::Cancelled`] soon after it was asked for. No files are left then.
pub fn rewrite(
    writer: VersionWriter,
    state: &Snapshot,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<Rewritten, LoadError> {
    rewrite_with(writer, state, &mut NoEdits, options, progress)
}

/// As [`rewrite`], with changes on the way.
///
/// Of the report, `quads_before` counts the quads of the state that were not left out, `quads_stored` all that the version
/// has.
pub fn rewrite_with(
    mut writer: VersionWriter,
    state: &Snapshot,
    edits: &mut dyn QuadEdits,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<Rewritten, LoadError> {
    writer.takes_over(state);
    let options = LoadOptions {
        inputs: Vec::new(),
        ..options
    };
    let Loading {
        terms,
        quads,
        plan,
        mut watch,
        mut report,
    } = Loading::begin(&writer, Some(state), options, progress)?;
    report.rewritten = Some(RewriteReason::Asked);
    watch.begin(Phase::ReadOldVersion)?;
    state.verify()?;
    let mut blank_nodes = BlankNodes::default();
    let work = WorkCounter::new(progress, &plan.memory, state.quad_count());
    let nodes = Some(&mut blank_nodes);
    let (kept, added) = read_old_version(state, edits, &terms, &quads, &work, nodes)?;
    (report.quads_before, report.quads_read) = (kept, added);
    plan.memory.keep(blank_nodes.bytes());
    let numbers = write(&mut writer, terms, quads, &plan, &mut watch, &mut report)?;
    blank_nodes.finish(&numbers.resources);
    drop(numbers);
    watch.begin(Phase::Commit)?;
    let version = writer.finish()?;
    report.spilled_bytes = plan.memory.folder.written_bytes();
    report.phases = watch.finish();
    Ok(Rewritten {
        version,
        blank_nodes,
        report,
    })
}

#[cfg(test)]
mod tests;
