//! `cargo xtask bench mixed`: how quick questions fare beside a heavy one.
//!
//! Starts a server on a store, measures the explore mix with several clients, and measures it again while a query that does
//! not end runs beside. Prints the 99th percentile of each question in both, and how they compare.
//!
//! Client and server share the machine, so what is compared is the same crowd with and without one more. The store is only
//! read. Cost: two runs of the driver.

use crate::error::XtaskError;
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to open its store.
const START_MAX: Duration = Duration::from_secs(120);
/// Counts more combinations than any machine can, and holds little memory meanwhile.
const ENDLESS: &str =
    "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(?b != ?d && ?d != ?f) }";
/// The options, each with a value.
const USAGE: &str = "bench mixed takes --binary FILE --location STORE --data-dir DIR [--clients 4] [--warmup 50] \
    [--runs 400] [--port 7429]";

/// Measures and prints.
pub fn run(options: &[String]) -> Result<(), XtaskError> {
    let options = Options::parse(options)?;
    let mut server = Server::start(&options)?;
    let outcome = measure(&options);
    server.stop();
    let (quiet, beside) = outcome?;
    println!("| question | p99 ms | beside a heavy query | times |\n| --- | --- | --- | --- |");
    for (name, before) in &quiet {
        let Some((_, after)) = beside.iter().find(|(other, _)| other == name) else {
            continue;
        };
        let times = after / before;
        println!("| {name} | {before:.3} | {after:.3} | {times:.1} |");
    }
    Ok(())
}

/// The 99th percentiles in milliseconds by question, quiet and beside the heavy query.
type Percentiles = Vec<(String, f64)>;

fn measure(options: &Options) -> Result<(Percentiles, Percentiles), XtaskError> {
    let quiet = drive(options)?;
    let connection = ask_endless(options).map_err(|source| options.failed("ask", source))?;
    let beside = drive(options)?;
    // Whoever hangs up cancels its query.
    drop(connection);
    Ok((quiet, beside))
}

/// What to measure.
struct Options {
    binary: PathBuf,
    location: String,
    data_dir: String,
    clients: String,
    warmup: String,
    runs: String,
    port: String,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, XtaskError> {
        let wrong = || XtaskError::Usage {
            message: USAGE.to_owned(),
        };
        let mut values = std::collections::BTreeMap::new();
        for pair in arguments.chunks(2) {
            match pair {
                [name, value] if name.starts_with("--") => values.insert(&name[2..], value),
                _ => return Err(wrong()),
            };
        }
        let mut take = |name: &str, default: Option<&str>| {
            let given = values.remove(name).map(String::as_str).or(default);
            given.map(str::to_owned).ok_or_else(wrong)
        };
        let options = Self {
            binary: take("binary", None)?.into(),
            location: take("location", None)?,
            data_dir: take("data-dir", None)?,
            clients: take("clients", Some("4"))?,
            warmup: take("warmup", Some("50"))?,
            runs: take("runs", Some("400"))?,
            port: take("port", Some("7429"))?,
        };
        match values.is_empty() {
            true => Ok(options),
            false => Err(wrong()),
        }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn failed(&self, operation: &'static str, source: std::io::Error) -> XtaskError {
        let path = self.binary.clone();
        XtaskError::Io {
            operation,
            path,
            source,
        }
    }
}

/// A server that is stopped when this goes.
struct Server(Child);

impl Server {
    fn start(options: &Options) -> Result<Self, XtaskError> {
        let child = Command::new(&options.binary)
            .args(["serve", "--read-only", "--timeout", "1h"])
            .args(["--location", &options.location])
            .args(["--bind", &options.address()])
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| options.failed("start", source))?;
        let mut server = Self(child);
        let start = Instant::now();
        loop {
            match TcpStream::connect(options.address()) {
                Ok(_) => return Ok(server),
                Err(source) if start.elapsed() > START_MAX || server.has_ended() => {
                    return Err(options.failed("reach", source));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }

    fn stop(&mut self) {
        // One that has ended by itself is stopped already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn ask_endless(options: &Options) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(options.address())?;
    let length = ENDLESS.len();
    write!(
        stream,
        "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n\
         Content-Length: {length}\r\n\r\n{ENDLESS}"
    )?;
    Ok(stream)
}

/// Runs the driver and reads its report.
fn drive(options: &Options) -> Result<Percentiles, XtaskError> {
    let name = format!("basalt-mixed-{}.json", std::process::id());
    let report = std::env::temp_dir().join(name);
    let mut command = Command::new(&options.binary);
    command
        .args(["bsbm", "run", "--use-case", "explore"])
        .args(["--endpoint", &format!("http://{}/query", options.address())])
        .args(["--data-dir", &options.data_dir])
        .args(["--clients", &options.clients])
        .args(["--warmup", &options.warmup, "--runs", &options.runs])
        .arg("--report")
        .arg(&report);
    let status = command
        .status()
        .map_err(|source| options.failed("start", source))?;
    let shown = || format!("{command:?}");
    if !status.success() {
        return Err(XtaskError::Command { command: shown() });
    }
    let percentiles = read_report(&report);
    // A file that is left behind in the folder for temporary files does no harm.
    let _ = std::fs::remove_file(&report);
    percentiles.ok_or_else(|| XtaskError::Answer {
        command: shown(),
        what: "its report has no percentiles".to_owned(),
    })
}

fn read_report(path: &Path) -> Option<Percentiles> {
    let report: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    percentiles(&report)
}

/// The 99th percentiles in a report; nothing if it has another form.
fn percentiles(report: &Value) -> Option<Percentiles> {
    let queries = report["queries"].as_array()?.iter();
    let percentiles = queries.map(|query| {
        let number = query["number"].as_u64()?;
        Some((number.to_string(), query["p99_s"].as_f64()? * 1e3))
    });
    percentiles.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_come_in_pairs_and_reports_have_percentiles() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            Options::parse(&words)
        };
        let options = parse("--binary b --location s --data-dir d --runs 7").ok();
        assert!(options.is_some_and(|o| o.runs == "7" && o.clients == "4"));
        assert!(parse("--binary b --location s").is_err());
        assert!(parse("--binary b --location s --data-dir d --odd 1").is_err());
        assert!(parse("--binary b --location s --data-dir").is_err());
        let report = json!({"queries": [{"number": 3, "p99_s": 0.0015}]});
        assert_eq!(percentiles(&report), Some(vec![("3".to_owned(), 1.5)]));
        assert_eq!(percentiles(&json!({"queries": [{"number": 3}]})), None);
    }
}
