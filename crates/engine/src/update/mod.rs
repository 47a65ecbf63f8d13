//! SPARQL 1.1 Update: a request is parsed, its operations run one after the other in one transaction, and the
//! transaction is committed.
//!
//! `request` turns text into operations; `run` holds what the operations of a request share (the transaction,
//! the time and the memory they may take); one file runs each kind of operation: `data` INSERT DATA and DELETE
//! DATA, `long_data` INSERT DATA with a long text, `modify` DELETE/INSERT with WHERE, `load` LOAD, `graphs` the management of graphs. [`graph_store`] writes whole
//! graphs without a request.
//!
//! Invariants: all or nothing, each operation sees those before it, and nobody else sees any of them before the
//! commit. What an operation removes is removed before anything is added. A graph is there as long as it has quads.
//!
//! Cost: the quads that one operation removes and adds are held in memory, 32 bytes each, or in temporary files where there are more
//! than a share of the request's memory. The last operation, if it changes much, is not put into the delta: the commit is
//! a new version then (`Transaction::replace`).

mod data;
pub mod graph_store;
mod graphs;
mod load;
mod long_data;
mod modify;
mod quad_set;
mod report;
mod request;
mod run;
mod sorted_quads;
mod tags;
mod template;
mod terms;

pub use graph_store::{GraphDocument, GraphReport, GraphWrite};
pub use report::{OperationReport, UpdateReport};

use crate::database::Database;
use crate::error::Error;
use crate::query::QueryOptions;
use run::Run;
use std::path::PathBuf;
use std::time::Instant;

/// How to run an update.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// How WHERE clauses run. Time and memory count for the request as a whole, from the moment at which its turn
    /// has come; the quads that it changes count as memory as far as they do not go to temporary files. The default and named graphs stand for USING and
    /// USING NAMED of every operation with a WHERE clause, which then must not have clauses of its own. The
    /// endpoints that SERVICE may ask are also the places that LOAD may read.
    pub query: QueryOptions,
    /// The folders from which LOAD may read files (`file:` IRIs), with all folders in them; none by default.
    pub load_folders: Vec<PathBuf>,
}

impl Database {
    /// Runs an update request, all or nothing; when it returns, the changes are committed.
    pub fn update(&self, text: &str, options: &UpdateOptions) -> Result<UpdateReport, Error> {
        let start = Instant::now();
        let steps = request::parse(text, options)?;
        let parse_time = start.elapsed();
        let start = Instant::now();
        let mut transaction = self.begin_for(options)?;
        let wait_time = start.elapsed();
        let mut run = Run::new(&mut transaction, options);
        let mut operations = Vec::with_capacity(steps.len());
        let count = steps.len();
        for (idx, step) in steps.into_iter().enumerate() {
            let start = Instant::now();
            let name = step.operation.name();
            if idx + 1 == count {
                run.no_more_operations();
            }
            let counts = run.operation(step.operation).map_err(|error| {
                if count == 1 {
                    return error;
                }
                Error::InOperation {
                    number: idx + 1,
                    text: step.text,
                    error: Box::new(error),
                }
            })?;
            operations.push(OperationReport {
                name,
                removed: counts.removed,
                added: counts.added,
                time: start.elapsed(),
            });
        }
        let start = Instant::now();
        let commit = transaction.commit()?;
        Ok(UpdateReport {
            operations,
            removed: commit.removed,
            added: commit.added,
            commit: commit.number,
            parse_time,
            wait_time,
            commit_time: start.elapsed(),
        })
    }
}
