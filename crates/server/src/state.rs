//! What all requests share.

use crate::lanes;
use crate::metrics::Metrics;
use crate::options::ServerOptions;
use crate::pace::Pace;
use crate::registry::Registry;
use basalt_engine::Database;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Shared by all requests; cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// The database.
    pub database: Arc<Database>,
    /// The options.
    pub options: Arc<ServerOptions>,
    /// Running queries.
    pub registry: Arc<Registry>,
    /// How long queries take, by shape.
    pub pace: Arc<Pace>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Room for writes on blocking threads: those that wait for their turn leave threads for queries.
    pub writes: Arc<Semaphore>,
    /// Of a server that takes loads from others who find the store locked: what they know it by.
    pub key: Option<String>,
}

impl AppState {
    /// The state of a new server.
    pub fn new(database: Arc<Database>, options: ServerOptions, key: Option<String>) -> Self {
        Self {
            database,
            options: Arc::new(options),
            registry: Arc::default(),
            pace: Arc::default(),
            metrics: Arc::default(),
            writes: Arc::new(Semaphore::new(lanes::blocking_threads() / 2)),
            key,
        }
    }
}
