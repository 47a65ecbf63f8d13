//! EXISTS inside expressions: the inner plan run for one row.
//!
//! The general way, for what the planner could not turn into a semi-join. Operators are made anew for
//! each row and stop at the first inner row.

use super::build::Build;
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Node, Slot};

/// Whether the plan `node` has a row when its `Outer` leaves take the given row.
pub fn exists(node: &Node, schema: &[Slot], row: &[u64], cx: &Context) -> Result<bool, ExecError> {
    let build = Build::for_outer_row(cx.shared(), schema.to_vec(), row.to_vec());
    Ok(build.operator(node)?.next(cx)?.is_some())
}
