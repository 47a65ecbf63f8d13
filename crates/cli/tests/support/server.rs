//! A server that is a process of its own, and requests to it over plain sockets.

use super::{Place, command};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running `basalt serve`, killed when dropped.
pub struct Served {
    child: Child,
    /// Its address.
    pub address: String,
    /// The line that told it.
    pub line: String,
}

impl Served {
    /// Serves a store of a place, with more options, split at spaces.
    pub fn start(place: &Place, store: &str, options: &str) -> Self {
        let mut child = command(&place.path(""))
            .args(["serve", "--bind", "127.0.0.1:0", "--location", store])
            .args(options.split(' ').filter(|option| !option.is_empty()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = child.stderr.take().expect("standard error is a pipe");
        let mut lines = BufReader::new(stderr);
        let mut line = String::new();
        lines.read_line(&mut line).expect("the server says a line");
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address.expect("the line has an address").to_owned();
        // What it says later must not fill the pipe.
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = lines.read_to_end(&mut rest);
        });
        Self {
            child,
            address,
            line,
        }
    }

    /// Sends a request and gives the whole answer.
    pub fn exchange(&self, line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        let request = format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .expect("it can be sent");
        let mut answer = String::new();
        // A connection that is reset ends the answer like one that is closed.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// Runs an update, which must be done.
    pub fn update(&self, text: &str) {
        let headers = "Content-Type: application/sparql-update\r\n";
        let answer = self.exchange("POST /update", headers, text);
        assert!(answer.starts_with("HTTP/1.1 200"), "{text}: {answer}");
    }

    /// The number of quads.
    pub fn quads(&self) -> u64 {
        let query = "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }";
        let headers = "Content-Type: application/sparql-query\r\nAccept: text/csv\r\n";
        let answer = self.exchange("POST /query", headers, query);
        let number = answer.trim_end().lines().last().unwrap_or_default();
        number.parse().expect("the answer ends with a number")
    }

    /// Sends a signal, `TERM` or `INT`.
    pub fn signal(&self, name: &str) {
        let sent = std::process::Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.child.id())])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for the end: how long that took, and whether it was a good one.
    pub fn wait(mut self) -> (Duration, bool) {
        let start = Instant::now();
        let status = self.child.wait().expect("it ends");
        (start.elapsed(), status.success())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
