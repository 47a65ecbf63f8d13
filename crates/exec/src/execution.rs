//! `Execution`: a running query.

use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::BoxOperator;
use crate::operators::build::Build;
use crate::terms::TermSpace;
use basalt_plan::NodeProfile;
use basalt_plan::physical::{Form, Plan, Slot};
use basalt_store::Snapshot;
use std::sync::Arc;

/// Starts a plan on a snapshot; nothing is read before the first batch is asked for, but for the
/// inputs of MINUS and merge joins.
pub fn execute(
    plan: Arc<Plan>,
    snapshot: Snapshot,
    options: ExecOptions,
) -> Result<Execution, ExecError> {
    let cx = Context::new(snapshot, options, plan.node_count);
    let build = Build::new(Arc::clone(&cx));
    let root = match plan.form {
        // The first row is the answer.
        Form::Ask => build.operator(&plan.root)?,
        _ => build.root(&plan.root)?,
    };
    Ok(Execution { plan, cx, root })
}

/// A running query: batches of the root node's schema, until there are no more.
pub struct Execution {
    plan: Arc<Plan>,
    cx: Arc<Context>,
    root: BoxOperator,
}

impl Execution {
    /// The next rows, never an empty batch; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let batch = self.root.next(&self.cx)?;
        self.cx.check_terms()?;
        Ok(batch)
    }

    /// The slots of the batches, in column order.
    pub fn schema(&self) -> &[Slot] {
        &self.plan.root.schema
    }

    /// The plan that is running.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the operators share.
    pub fn context(&self) -> &Arc<Context> {
        &self.cx
    }

    /// Terms of the ids in the batches.
    pub fn terms(&self) -> &TermSpace {
        self.cx.terms()
    }

    /// Bytes written to temporary files so far, because the query may not hold more.
    pub fn spilled_bytes(&self) -> u64 {
        self.cx.spilled_bytes()
    }

    /// The most bytes that operators held together, if a profile was asked for; 0 otherwise.
    pub fn memory_bytes_max(&self) -> u64 {
        self.cx.profile().memory_bytes_max()
    }

    /// What each node took by its id, if a profile was asked for; empty otherwise.
    pub fn profile(&self) -> Vec<NodeProfile> {
        self.cx.profile().snapshot()
    }
}
