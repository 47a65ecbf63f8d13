//! The SPARQL Protocol over HTTP, on top of the engine; the only crate that knows HTTP.
//!
//! [`serve`] blocks until the process is told to stop, [`spawn`] runs in the background. A request
//! goes through `routes` (which path), `protocol` (which query or update, with which parameters), `negotiate`
//! (which format) and `query` (running it in place or on a blocking thread, streaming the answer), or `access` (who may write)
//! and `update`, `store` (whole graphs) or `load` (bulk loads, which `load_client` asks for); `problem` turns whatever goes wrong into a status and a problem document. No data logic lives here.
//!
//! Invariant: a result that ends early ends the connection with an error; it never looks complete.

mod access;
mod connection;
mod cors;
mod form;
mod head_refusal;
mod in_place;
mod lanes;
mod last_answers;
mod load;
mod load_client;
mod load_inputs;
mod marks;
mod messages;
mod metrics;
mod multipart;
mod negotiate;
mod options;
mod pace;
mod pages;
mod precondition;
mod problem;
mod protocol;
mod query;
mod registry;
mod routes;
mod run;
mod signals;
mod silence;
mod sink;
mod spool;
mod state;
mod store;
mod update;
mod vigil;

#[cfg(test)]
mod tests;

pub use load_client::{RemoteInput, RemoteLoad, RemoteLoadError, RemoteLoaded};
pub use options::{ServerError, ServerOptions, parse_duration};
pub use run::{RunningServer, serve, spawn};
pub use signals::{StopSignal, on_stop_signal};
