//! `basalt serve`: the HTTP endpoint.

use crate::commands::load::load_in_memory;
use crate::error::CliError;
use crate::give_back::give_back;
use crate::output::message;
use crate::values::{bytes, check_temp, durability, duration, read_token};
use basalt_engine::{Database, Durability, Error, ServicePolicy, WriteOptions};
use basalt_server::{ServerOptions, serve};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Answer SPARQL queries and updates over HTTP, until interrupted
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt serve --location store --cors\n  \
    curl 'http://127.0.0.1:7420/query' --data-urlencode 'query=SELECT * { ?s ?p ?o } LIMIT 3'\n  \
    curl 'http://127.0.0.1:7420/update' --data-urlencode 'update=INSERT DATA { <http://e/a> <http://e/p> 1 }'")]
pub struct Serve {
    /// Folder of the store; a new folder is an empty store, no location is an empty store in memory
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: Option<PathBuf>,
    /// Files to load into memory and serve
    #[arg(long, env = "BASALT_DATA", value_name = "FILES", num_args = 1.., value_delimiter = ' ',
        conflicts_with = "location", hide_env_values = true)]
    data: Vec<PathBuf>,
    /// When a commit is acknowledged: `always` when it is on the disk, `interval` at once, and it is on the disk
    /// within a second (`interval=200ms`: within that), `none` at once. A power cut takes what was not on the disk
    #[arg(long, env = "BASALT_DURABILITY", default_value = "always", value_parser = durability,
        hide_env_values = true)]
    durability: Durability,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Options of the endpoint.
#[derive(Debug, Args)]
pub struct Endpoint {
    /// Address and port to listen on
    #[arg(
        long,
        env = "BASALT_BIND",
        default_value = "127.0.0.1:7420",
        hide_env_values = true
    )]
    bind: String,
    /// Let pages of other origins use the endpoint
    #[arg(long, env = "BASALT_CORS", hide_env_values = true)]
    cors: bool,
    /// Longest time of a query
    #[arg(long, env = "BASALT_TIMEOUT", default_value = "60s", value_parser = duration, hide_env_values = true)]
    timeout: Duration,
    /// Longest time for which a connection stays open on which nothing is asked; 0 for any
    #[arg(long, env = "BASALT_IDLE_TIMEOUT", default_value = "75s", value_parser = duration,
        hide_env_values = true)]
    idle_timeout: Duration,
    /// Memory that one query or update may use; the text of an update may have a quarter of it, or 64 MiB
    #[arg(long, env = "BASALT_QUERY_MEMORY", value_name = "SIZE", default_value = "2G", value_parser = bytes,
        hide_env_values = true)]
    query_memory: usize,
    /// Memory that a load may use (`basalt load` into this store, or `/load`)
    /// [default: half of what is available when it begins]
    #[arg(long, env = "BASALT_LOAD_MEMORY", value_name = "SIZE", value_parser = bytes,
        hide_env_values = true)]
    load_memory: Option<usize>,
    /// Folder for what does not fit in the memory of a query or update; loads use the store's
    /// [default: the system's for temporary files]
    #[arg(long, env = "BASALT_TEMP", value_name = "DIR", hide_env_values = true)]
    temp: Option<PathBuf>,
    /// Let queries without FROM see the union of all graphs
    #[arg(long, env = "BASALT_UNION_DEFAULT_GRAPH", hide_env_values = true)]
    union_default_graph: bool,
    /// Threads of one query or load [default: one per core]
    #[arg(long, env = "BASALT_THREADS", value_name = "N", hide_env_values = true)]
    threads: Option<usize>,
    /// Refuse every write
    #[arg(long, env = "BASALT_READ_ONLY", hide_env_values = true)]
    read_only: bool,
    /// File with a token that writes must show as `Authorization: Bearer TOKEN` [default: everybody may write]
    #[arg(
        long,
        env = "BASALT_TOKEN_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    token_file: Option<PathBuf>,
    /// Folder from which LOAD may read files (`file:` IRIs); repeatable [default: none]
    #[arg(
        long,
        env = "BASALT_LOAD_FOLDER",
        value_name = "DIR",
        hide_env_values = true
    )]
    load_folder: Vec<PathBuf>,
    /// Endpoint or document that SERVICE and LOAD may ask, the start of such IRIs with `*`, or `all`; repeatable
    /// [default: none]
    #[arg(
        long,
        env = "BASALT_ALLOW_SERVICE",
        value_name = "IRI",
        hide_env_values = true
    )]
    allow_service: Vec<String>,
    /// Longest time of one request to an endpoint
    #[arg(long, env = "BASALT_SERVICE_TIMEOUT", default_value = "30s", value_parser = duration,
        hide_env_values = true)]
    service_timeout: Duration,
}

impl Serve {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let database = match &self.location {
            Some(location) => {
                let options = WriteOptions {
                    durability: self.durability,
                    ..WriteOptions::default()
                };
                Database::open_or_empty_with(location, options)?
            }
            None if self.data.is_empty() => Database::in_memory(),
            None => load_in_memory(&self.data, None, None)?,
        };
        self.endpoint.serve(database)
    }
}

impl Endpoint {
    /// Serves a database until interrupted.
    pub fn serve(self, database: Database) -> Result<(), CliError> {
        check_temp(self.temp.as_deref())?;
        let services = ServicePolicy::from_entries(&self.allow_service);
        let options = ServerOptions {
            bind: self.bind,
            cors: self.cors,
            timeout: Some(self.timeout),
            idle_timeout: self.idle_timeout,
            query_memory_bytes: self.query_memory,
            give_back: Some(give_back),
            temp: self.temp,
            load_memory_bytes: self.load_memory.map(|bytes| bytes as u64),
            threads: self.threads.unwrap_or(0),
            union_default_graph: self.union_default_graph,
            services: services.map_err(CliError::Other)?,
            service_timeout: self.service_timeout,
            load_folders: self.load_folder,
            read_only: self.read_only,
            token: self.token_file.as_deref().map(read_token).transpose()?,
        };
        let database = Arc::new(database);
        let writes = match (options.read_only, database.write_status().durability) {
            (true, _) => "read-only".to_owned(),
            (false, None) => "in memory".to_owned(),
            (false, Some(durability)) => format!("durability {durability}"),
        };
        let mut ready = |address: SocketAddr, refused: Option<&Error>| {
            message(&format!(
                "listening on http://{address}/ (SPARQL at /query and /update), {writes}"
            ));
            if let Some(refused) = refused {
                message(&format!(
                    "writes are refused as long as this is so: {refused}"
                ));
            }
        };
        let served = serve(Arc::clone(&database), options, &mut ready);
        // A merge or a load that is running would keep the process for as long as it takes.
        let ended = database.end_writing();
        served?;
        Ok(ended?)
    }
}
