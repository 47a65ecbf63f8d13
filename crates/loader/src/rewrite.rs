//! Rewriting a store while it goes on changing.
//!
//! The state that is given is written as a whole version, as a load with [`Addition::Rewrite`] and without inputs does,
//! but it is not made current: the caller has changes that were made meanwhile, which it must say in ids of the new version
//! first. What it needs for that comes along: terms are found by their texts, [`BlankNodes`] tells of those that
//! have none.
//!
//! [`Addition::Rewrite`]: crate::Addition::Rewrite

use basalt_store::{FinishedVersion, Snapshot, VersionWriter};

use crate::append::RewriteReason;
use crate::blank_nodes::BlankNodes;
use crate::error::LoadError;
use crate::load::{Loading, write};
use crate::old_version::read_old_version;
use crate::options::LoadOptions;
use crate::progress::{Phase, Progress, WorkCounter};
use crate::report::LoadReport;

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
    mut writer: VersionWriter,
    state: &Snapshot,
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
    report.quads_before = state.quad_count();
    report.rewritten = Some(RewriteReason::Asked);
    watch.begin(Phase::ReadOldVersion)?;
    state.verify()?;
    let mut blank_nodes = BlankNodes::default();
    let work = WorkCounter::new(progress, &plan.memory, state.quad_count());
    read_old_version(state, &terms, &quads, &work, Some(&mut blank_nodes))?;
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
