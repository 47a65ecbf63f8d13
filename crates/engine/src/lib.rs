//! The façade that people embed: open a [`Database`], load, query, look at the shapes.
//!
//! ```
//! use basalt_engine::{Answer, Database, QueryOptions};
//!
//! let database = Database::in_memory();
//! database.load_text("<http://e/a> <http://e/p> 1 .", basalt_engine::GraphFormat::Turtle)?;
//! let answer = database.query("SELECT ?s { ?s ?p 1 }", &QueryOptions::default())?;
//! let Answer::Solutions(solutions) = answer else { unreachable!() };
//! assert_eq!(solutions.into_rows()?.len(), 1);
//! # Ok::<(), basalt_engine::Error>(())
//! ```

pub mod answer;
pub mod convert;
pub mod database;
pub mod dump;
pub mod error;
pub mod federation;
pub mod history;
pub mod html;
pub mod load_summary;
mod plan_cache;
pub mod plan_report;
pub mod planner_statistics;
pub mod query;
mod query_templates;
mod query_text;
pub mod results;
pub mod schema;
pub mod statistics;
pub mod storage;
pub mod transactions;
mod two_generations;
pub mod update;

pub use answer::{Answer, GraphAnswer, Solutions};
pub use basalt_exec::attempt::thread_time;
pub use basalt_exec::context::core_count;
pub use basalt_exec::path::PathAccess;
pub use basalt_exec::pool::STACK_BYTES;
pub use basalt_exec::star::{SharedKeys, Waves};
pub use basalt_exec::{ServiceClient, ServiceError, ServiceRequest, ServiceRows};
pub use basalt_loader::{
    Addition, Input, InputSource, Layout, LoadCounters, LoadError, LoadOptions, LoadReport,
    LoadState, NoProgress, Phase, Progress, RewriteReason, available_bytes,
};
pub use basalt_plan::{ExplainedNode, ForceJoin, NodeProfile, OrderDraw, PlanShape, RULES};
pub use basalt_rdf::reader::input::{Compression, Input as TextInput};
pub use basalt_rdf::writer::QuadWriter;
pub use basalt_rdf::writer::compress::Compressor;
pub use basalt_rdf::{GraphFormat, InlineForms, SyntaxError};
pub use basalt_store::storage_report::{ColumnStorage, FileStorage, TableStorage};
pub use basalt_store::{
    Abandoned, BackupReport, CheckDepth, CheckReport, Holder, Snapshot, StoreError, TemporaryFile,
    TemporaryFileError,
};
pub use database::Database;
pub use error::Error;
pub use federation::ServicePolicy;
pub use history::HistoryReport;
pub use load_summary::load_summary;
pub use plan_cache::PlanCacheStatus;
pub use plan_report::{PlanReport, RunReport};
pub use planner_statistics::PlannerStatistics;
pub use query::{Prepared, QueryOptions};
pub use query_text::is_quick_to_parse;
pub use results::ResultsFormat;
pub use schema::SchemaReport;
pub use storage::StorageReport;
pub use transactions::{
    ChangeCounts, Commit, Durability, MergePolicy, Transaction, WriteOptions, WriteStatus,
};
#[doc(hidden)]
pub use transactions::{MergeStage, MergeWatcher};
pub use update::{
    GraphDocument, GraphReport, GraphWrite, OperationReport, UpdateOptions, UpdateReport,
};
