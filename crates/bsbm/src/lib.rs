//! The Berlin SPARQL Benchmark: data generator, queries, parameters and driver.
//!
//! The crate stands beside the store and knows nothing of it: the generator writes RDF text, and
//! the driver talks to any SPARQL endpoint. Everything that is random is a pure function of a
//! seed and of the number of the thing described, so any part of a data set can be made on any
//! thread, and query parameters can be drawn without reading the data.
//!
//! Reading order: random streams and distributions, the `world` of counts and owners,
//! `resources` (the triples of one resource), `plan` and `pipeline` (work units on threads),
//! `generate` (the entry point), then `parameters`, `queries`, `driver` with its `report`, and
//! `qualify`.

mod calendar;
mod distribution;
mod error;
mod random;
mod vocabulary;
mod words;

mod groups;
mod tree;
mod world;

mod emit;
mod resources;

mod compress;
mod generate;
mod manifest;
mod outputs;
mod pipeline;
mod plan;
mod update;

mod draw;
mod parameters;
mod queries;

mod answer;
mod compare;
mod driver;
mod http;
mod qualify;
mod report;

pub use answer::ResultsFormat;
pub use compare::compare_reports;
pub use draw::{Draw, Parameters, Value};
pub use driver::{
    MixOrder, Patience, Phase, Question, RampUp, RunOptions, RunProgress, UpdatesAt, run,
};
pub use error::{BsbmError, GenerateError};
pub use generate::{
    DEFAULT_SEED, GenerateOptions, Output, Progress, generate, generate_to, generate_update_to,
};
pub use manifest::{Manifest, OutputFile, PartCounts, UpdateSummary};
pub use outputs::numbered_path;
pub use parameters::ParameterPool;
pub use qualify::{
    Content, Difference, Qualification, Questions, RecordedAnswer, RecordedTerm, Recording, Tally,
    qualify, record_answers,
};
pub use queries::{QueryForm, UseCase, Wording, mix, query_text, worded_text};
pub use report::{
    Bucket, LevelReport, QueryReport, RampUpReport, Report, SliceTimes, Timeline, UpdateReport,
    WorstSlices, html_page,
};
pub use update::UpdateBlocks;
pub use vocabulary::{Compression, Format};

#[cfg(test)]
mod tests;
