//! Stores that answer queries over HTTP: what a comparison of queries needs of a system besides
//! loading.
//!
//! Invariants: a server answers on the loopback address only, on a port that was free, and has
//! ended when its [`Served`] is gone. It is killed, not shut down: nothing is written to it.
//!
//! Cost: starting the server, which is up when it answers a question.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::super::measure;
use super::super::work_folder::cannot;
use super::System;
use crate::error::XtaskError;

/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(120);
/// How long one look at a server may take.
const LOOK_MAX: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A store that can be asked.
pub trait Endpoint: System {
    /// Its name in tables of queries; there a store is one, however it was loaded.
    fn name(&self) -> &'static str;

    /// How it is run, in words.
    fn settings(&self) -> &'static str;

    /// What tells the program from another one of the same version.
    fn fingerprint(&self) -> String {
        String::new()
    }

    /// Starts a server on the store of a folder; where the server has a limit of its own for the
    /// time of a query, it is this one.
    fn serve(&self, folder: &Path, query_time_max: Duration) -> Result<Served, XtaskError>;
}

/// A server that runs; it is killed when it goes out of scope.
pub struct Served {
    /// Its process.
    child: Child,
    /// Where queries are posted to.
    pub url: String,
    /// The graph to ask, if there has to be one.
    pub default_graph: Option<&'static str>,
}

impl Served {
    /// Takes a process that was started, and waits until it answers.
    pub fn when_up(
        child: Child,
        url: String,
        default_graph: Option<&'static str>,
        log: &Path,
    ) -> Result<Self, XtaskError> {
        let mut served = Self {
            child,
            url,
            default_graph,
        };
        let started = Instant::now();
        // Termination: the time that has passed grows.
        while started.elapsed() < START_MAX {
            if answers(&served.url) {
                return Ok(served);
            }
            if let Ok(Some(status)) = served.child.try_wait() {
                return Err(not_up(&served.url, log, &format!("it ended: {status}")));
            }
            thread::sleep(LOOK_INTERVAL);
        }
        Err(not_up(&served.url, log, "it does not answer"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Nothing can be done about a process that is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The error of a server that did not start.
fn not_up(url: &str, log: &Path, what: &str) -> XtaskError {
    measure::show_log(log);
    XtaskError::Program {
        command: format!("the server at {url}"),
        what: what.to_owned(),
    }
}

/// Whether a question is answered with success.
fn answers(url: &str) -> bool {
    let Some((authority, path)) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(LOOK_MAX))?;
        let request = format!(
            "GET /{path}?query=ASK%20%7B%7D HTTP/1.0\r\nHost: {authority}\r\n\
             Accept: application/sparql-results+json\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(1 << 16).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| is_success(&answer))
}

/// Whether an answer begins as one of success does.
fn is_success(answer: &str) -> bool {
    let mut words = answer.split(' ');
    words.next().is_some_and(|word| word.starts_with("HTTP/1.")) && words.next() == Some("200")
}

/// A port that is free at the moment.
pub fn free_port() -> Result<u16, XtaskError> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    match address {
        Ok(address) => Ok(address.port()),
        Err(source) => Err(cannot("bind", Path::new("127.0.0.1:0"), source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_success_is_being_up() {
        assert!(is_success("HTTP/1.1 200 OK\r\n\r\n{}"));
        assert!(!is_success("HTTP/1.1 503 Service Unavailable\r\n"));
        assert!(!is_success(""));
        assert!(!answers("ftp://x/y") && !answers("http://127.0.0.1"));
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error() {
        let log = std::env::temp_dir().join(format!("xtask-served-{}", std::process::id()));
        let child = measure::start(Command::new("sh").args(["-c", "exit 3"]), &log);
        let child = child.expect("a shell can be started");
        let url = format!("http://127.0.0.1:{}/x", free_port().expect("there is one"));
        let served = Served::when_up(child, url, None, &log);
        super::super::super::work_folder::remove(&log).expect("it is ours");
        let error = served.err().expect("it has ended").to_string();
        assert!(error.contains("it ended"), "{error}");
    }
}
