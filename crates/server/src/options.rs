//! What a server can be told, and why it may not start.

use basalt_engine::ServicePolicy;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address and port to listen on; port 0 takes a free one.
    pub bind: String,
    /// Whether pages of other origins may use the endpoint.
    pub cors: bool,
    /// The longest time that a query may take; a request can ask for less.
    pub timeout: Option<Duration>,
    /// The longest time for which a connection stays open on which no request comes, and in which one must come whole but
    /// for its body; zero for any.
    pub idle_timeout: Duration,
    /// Bytes that the operators of one query may hold.
    pub query_memory_bytes: usize,
    /// Gives free memory that the allocator keeps back to the system, for a query that comes to hold half of its own.
    pub give_back: Option<fn()>,
    /// Where queries put what does not fit in that memory; `None` is the system's folder for temporary files.
    pub temp: Option<PathBuf>,
    /// Bytes of memory that a load may take; `None` for half of what the system has available when it begins.
    pub load_memory_bytes: Option<u64>,
    /// Threads that may work on one query; 0 for as many as the machine has cores.
    pub threads: usize,
    /// Whether the default graph is the union of all graphs.
    pub union_default_graph: bool,
    /// The endpoints that SERVICE may ask, and the places whose documents LOAD may read.
    pub services: ServicePolicy,
    /// The longest time of one request to an endpoint.
    pub service_timeout: Duration,
    /// The folders from which LOAD may read files.
    pub load_folders: Vec<PathBuf>,
    /// Whether every write is refused.
    pub read_only: bool,
    /// What a client that writes must show as `Authorization: Bearer TOKEN`; `None` lets everybody write.
    pub token: Option<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:7420".to_owned(),
            cors: false,
            timeout: Some(Duration::from_secs(60)),
            idle_timeout: Duration::from_secs(75),
            query_memory_bytes: 2 << 30,
            give_back: None,
            temp: None,
            load_memory_bytes: None,
            threads: 0,
            union_default_graph: false,
            services: ServicePolicy::None,
            service_timeout: Duration::from_secs(30),
            load_folders: Vec::new(),
            read_only: false,
            token: None,
        }
    }
}

/// Why a server did not start or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on '{bind}': {source}")]
    Bind {
        /// The address as given.
        bind: String,
        /// The reason.
        source: io::Error,
    },
    /// The machinery under the server failed.
    #[error("the server failed: {0}")]
    Io(#[from] io::Error),
    /// The thread of the server ended without saying why.
    #[error("the server thread was lost")]
    Lost,
}

/// Reads a duration: `500ms`, `10s`, `2m`, `1h`, and a plain number in the given unit.
pub fn parse_duration(text: &str, plain_unit: Duration) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let unit = match unit.trim() {
        "" => plain_unit,
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" | "min" => Duration::from_secs(60),
        "h" => Duration::from_secs(3600),
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * unit.as_secs_f64()).ok()
}
