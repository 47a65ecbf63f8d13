//! What a query or an update may use, as options of the commands that run one.

use crate::error::CliError;
use crate::values::{bytes, check_temp, duration};
use basalt_engine::{QueryOptions, ServicePolicy};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Time, memory, threads, and who may be asked.
#[derive(Debug, Args)]
pub struct Limits {
    /// Longest time that it may take [default: no limit]
    #[arg(long, env = "BASALT_TIMEOUT", value_parser = duration, hide_env_values = true)]
    timeout: Option<Duration>,
    /// Memory that it may use; of an update its changes count too
    #[arg(long, env = "BASALT_QUERY_MEMORY", value_name = "SIZE", default_value = "2G", value_parser = bytes,
        hide_env_values = true)]
    query_memory: usize,
    /// Folder for what does not fit in that memory [default: the system's for temporary files]
    #[arg(long, env = "BASALT_TEMP", value_name = "DIR", hide_env_values = true)]
    temp: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, env = "BASALT_THREADS", value_name = "N", hide_env_values = true)]
    threads: Option<usize>,
    /// Endpoint that SERVICE, or document that LOAD may ask, or the start of such IRIs with `*`; repeatable
    /// [default: all]
    #[arg(
        long,
        env = "BASALT_ALLOW_SERVICE",
        value_name = "IRI",
        hide_env_values = true
    )]
    allow_service: Vec<String>,
    /// Let SERVICE and LOAD ask nobody
    #[arg(
        long,
        env = "BASALT_NO_SERVICE",
        conflicts_with = "allow_service",
        hide_env_values = true
    )]
    no_service: bool,
    /// Longest time of one request to an endpoint
    #[arg(long, env = "BASALT_SERVICE_TIMEOUT", default_value = "30s", value_parser = duration,
        hide_env_values = true)]
    service_timeout: Duration,
}

impl Limits {
    /// The options of a query within these limits.
    pub fn options(self) -> Result<QueryOptions, CliError> {
        let services = match (self.no_service, self.allow_service.as_slice()) {
            (true, _) => ServicePolicy::None,
            (false, []) => ServicePolicy::All,
            (false, entries) => ServicePolicy::from_entries(entries).map_err(CliError::Other)?,
        };
        check_temp(self.temp.as_deref())?;
        let mut options = QueryOptions {
            services,
            service_timeout: Some(self.service_timeout),
            ..QueryOptions::default()
        };
        options.exec.timeout = self.timeout;
        options.exec.memory_bytes_max = self.query_memory;
        options.exec.temp = self.temp;
        if let Some(threads) = self.threads.filter(|threads| *threads > 0) {
            options.exec.threads = threads;
        }
        Ok(options)
    }
}
