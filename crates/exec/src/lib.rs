//! Runs physical plans: vectorised operators over snapshots.
//!
//! [`execute`] turns a [`Plan`](basalt_plan::physical::Plan) into an [`Execution`] that hands out
//! [`Batch`]es of ids; [`TermSpace`] turns ids into terms at the very end.

pub mod aggregate;
pub mod attempt;
pub mod batch;
mod by_ordinal;
mod computed_numbers;
pub mod context;
pub mod error;
pub mod execution;
pub mod expr;
pub mod held_memory;
pub(crate) mod number_table;
pub mod operators;
mod partitioning;
pub mod path;
pub mod pool;
pub mod profile;
pub mod results;
pub(crate) mod row_kinds;
mod row_numbers;
pub(crate) mod selection;
pub mod service;
pub(crate) mod spill;
pub mod star;
pub mod terms;
pub(crate) mod turns;
pub mod value;

pub use batch::Batch;
pub use context::{Context, ExecOptions};
pub use error::ExecError;
pub use execution::{Execution, execute};
pub use service::{ServiceClient, ServiceError, ServiceRequest, ServiceRows};
pub use terms::TermSpace;
