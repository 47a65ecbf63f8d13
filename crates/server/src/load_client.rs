//! Asking a server for a load: its inputs go out as they are read, its progress comes back meanwhile.
//!
//! The server is the one that holds the lock of a store, most often on this machine; it speaks HTTP/1.1 and so does this, as
//! far as it must: one request in chunks, one answer in lines. A thread sends, the caller's thread reads the answer, and a third one
//! sends an empty line now and then while an input makes the others wait.
//!
//! Invariant: whether the load is done is what the last line of the answer says. An answer without it is an error that says
//! that the outcome is not known, once everything was sent; before that the server has loaded nothing.

use crate::load::LINES;
use crate::load_inputs::INPUTS;
use basalt_engine::{GraphFormat, Holder, Phase, Progress};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of a piece of an input.
const PIECE_BYTES: usize = 256 << 10;
/// After so long without a piece the server is told that the client is still there.
const ALIVE: Duration = Duration::from_secs(10);
/// Bytes of a line of the head of an answer.
const HEAD_LINE_BYTES_MAX: u64 = 64 << 10;

/// A load to ask for.
pub struct RemoteLoad {
    /// The server.
    pub holder: Holder,
    /// The token, if the server wants one.
    pub token: Option<String>,
    /// The graph for triples that name none.
    pub graph: Option<String>,
    /// The IRI that resolves relative IRIs.
    pub base: Option<String>,
    /// Whether to skip bad lines, and how many.
    pub lenient: Option<u64>,
    /// Bytes of memory to use at most.
    pub memory: Option<u64>,
    /// Threads to use at most; 0 for what the server gives.
    pub threads: usize,
    /// The inputs, in order.
    pub inputs: Vec<RemoteInput>,
}

/// An input of a load to ask for.
pub struct RemoteInput {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// The format; `None` to tell it by the name.
    pub format: Option<GraphFormat>,
}

/// What a server has loaded.
#[derive(Debug)]
pub struct RemoteLoaded {
    /// The summary, as described in `docs/howto/load-data.md`.
    pub summary: Value,
    /// The first bad lines.
    pub skipped: Vec<String>,
}

/// Why a server has not loaded, or may not have.
#[derive(Debug, thiserror::Error)]
pub enum RemoteLoadError {
    /// The server says so; nothing was loaded.
    #[error("{detail}")]
    Refused {
        /// The status.
        status: u16,
        /// Why.
        detail: String,
    },
    /// An input cannot be read; nothing was loaded.
    #[error("cannot read '{}': {source}", path.display())]
    Input {
        /// The input.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The bad lines cannot be written; whether the data was loaded is not known.
    #[error("cannot write the bad lines: {0}")]
    BadLines(io::Error),
    /// The server cannot be reached.
    #[error("cannot reach {url}, which has the store open for writing: {source}")]
    Unreachable {
        /// The server.
        url: String,
        /// The reason.
        source: io::Error,
    },
    /// The answer is not one.
    #[error("{url} ended the load without saying how: {what}; look whether the data is there")]
    Unknown {
        /// The server.
        url: String,
        /// What came instead.
        what: String,
    },
}

impl RemoteLoad {
    /// Asks for the load and waits for its end. All bad lines go to `bad_lines`, if that is there.
    pub fn run(
        &self,
        progress: &dyn Progress,
        bad_lines: Option<&mut dyn Write>,
    ) -> Result<RemoteLoaded, RemoteLoadError> {
        let unreachable = |source| RemoteLoadError::Unreachable {
            url: self.holder.url.clone(),
            source,
        };
        for input in &self.inputs {
            input.look()?;
        }
        let stream = TcpStream::connect(self.host()).map_err(unreachable)?;
        let reading = stream.try_clone().map_err(unreachable)?;
        let mut answer = BufReader::new(reading);
        let head = self.head(bad_lines.is_some());
        let mut sending = &stream;
        sending.write_all(head.as_bytes()).map_err(unreachable)?;
        // The server says 100 when it wants the body, or refuses.
        let status = read_head(&mut answer).map_err(unreachable)?;
        if status.code != 100 {
            return Err(refusal(status, &mut answer));
        }
        let upload = Upload {
            stream: &stream,
            is_over: AtomicBool::new(false),
            sending: Mutex::new(()),
            file_bytes: progress.file_bytes(),
        };
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| upload.send(&self.inputs));
            let outcome = self.outcome(&mut answer, progress, bad_lines);
            upload.end();
            let sent = sender.join();
            match (outcome, sent) {
                (Err(RemoteLoadError::Unknown { .. }), Ok(Err(failure))) => Err(failure),
                (outcome, _) => outcome,
            }
        })
    }

    /// Host and port.
    fn host(&self) -> &str {
        let url = self.holder.url.trim_end_matches('/');
        url.strip_prefix("http://").unwrap_or(url)
    }

    /// The head of the request.
    fn head(&self, wants_bad_lines: bool) -> String {
        let mut target = format!("/load?lock={}", escaped(&self.holder.key));
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                target.push_str(&format!("&{name}={}", escaped(&value)));
            }
        };
        add("graph", self.graph.clone());
        add("base", self.base.clone());
        add("lenient", self.lenient.map(|_| "true".to_owned()));
        add("max-errors", self.lenient.map(|most| most.to_string()));
        add("errors", wants_bad_lines.then(|| "true".to_owned()));
        add("memory", self.memory.map(|bytes| bytes.to_string()));
        add(
            "threads",
            (self.threads > 0).then(|| self.threads.to_string()),
        );
        let token = self.token.as_ref();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        format!(
            "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Type: {INPUTS}\r\nAccept: {LINES}\r\n\
             Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n{}\r\n",
            self.host(),
            token.unwrap_or_default()
        )
    }

    /// Reads the answer to its last line.
    fn outcome(
        &self,
        answer: &mut BufReader<TcpStream>,
        progress: &dyn Progress,
        mut bad_lines: Option<&mut dyn Write>,
    ) -> Result<RemoteLoaded, RemoteLoadError> {
        let unknown = |what: String| RemoteLoadError::Unknown {
            url: self.holder.url.clone(),
            what,
        };
        let of_io = |error: io::Error| unknown(error.to_string());
        let status = read_head(answer).map_err(of_io)?;
        if status.code != 200 {
            return Err(refusal(status, answer));
        }
        let mut told = Told::default();
        let lines = BufReader::new(Chunks::new(answer)).lines();
        for line in lines {
            let value: Value = serde_json::from_str(&line.map_err(of_io)?)
                .map_err(|error| unknown(error.to_string()))?;
            if let Some(known) = value.get("progress") {
                told.tell(known, progress);
            } else if let (Some(text), Some(target)) = (value["bad_lines"].as_str(), &mut bad_lines)
            {
                // One character for each byte.
                let bytes: Vec<u8> = text.chars().map(|c| u32::from(c) as u8).collect();
                target
                    .write_all(&bytes)
                    .map_err(RemoteLoadError::BadLines)?;
            } else if let Some(summary) = value.get("loaded") {
                let skipped = value["skipped"].as_array().into_iter().flatten();
                return Ok(RemoteLoaded {
                    summary: summary.clone(),
                    skipped: skipped
                        .filter_map(|line| line.as_str().map(str::to_owned))
                        .collect(),
                });
            } else if let Some(failed) = value.get("failed") {
                return Err(refused(failed, 500));
            }
        }
        Err(unknown("the answer has no end".to_owned()))
    }
}

impl RemoteInput {
    fn is_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Looks whether it is there, before anything is sent.
    fn look(&self) -> Result<(), RemoteLoadError> {
        match self.is_standard_input() {
            true => Ok(()),
            false => self.open().map(drop),
        }
    }

    fn open(&self) -> Result<Box<dyn Read>, RemoteLoadError> {
        if self.is_standard_input() {
            return Ok(Box::new(io::stdin()));
        }
        let opened = File::open(&self.path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        opened
            .map(|file| Box::new(file) as Box<dyn Read>)
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> RemoteLoadError {
        RemoteLoadError::Input {
            path: self.path.clone(),
            source,
        }
    }
}

/// The request's body, while it goes out.
struct Upload<'s> {
    stream: &'s TcpStream,
    /// Whether the answer is complete, so that nothing more need be sent.
    is_over: AtomicBool,
    /// Held while a chunk is written.
    sending: Mutex<()>,
    /// Bytes read from the inputs.
    file_bytes: Arc<AtomicU64>,
}

impl Upload<'_> {
    /// Sends all inputs. A connection that fails is no failure of this: the answer tells.
    fn send(&self, inputs: &[RemoteInput]) -> Result<(), RemoteLoadError> {
        let (done, is_done) = channel();
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| self.keep_alive(is_done));
            let sent = self.send_inputs(inputs);
            drop(done);
            sent
        });
        if sent.is_err() {
            // A body without its end mark loads nothing.
            self.close();
        }
        sent
    }

    fn send_inputs(&self, inputs: &[RemoteInput]) -> Result<(), RemoteLoadError> {
        let list: Vec<Value> = inputs
            .iter()
            .map(|input| {
                let format = input.format.map(GraphFormat::media_type);
                json!({"name": input.path.display().to_string(), "format": format})
            })
            .collect();
        let first = format!("{}\n", json!({ "inputs": list }));
        let mut is_wanted = self.chunk(first.as_bytes());
        let mut piece = vec![0; PIECE_BYTES];
        for input in inputs {
            let mut reader = input.open()?;
            while is_wanted {
                let count = match reader.read(&mut piece) {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(input.failed(error)),
                };
                if !input.is_standard_input() {
                    self.file_bytes.fetch_add(count as u64, Ordering::Relaxed);
                }
                let mut framed = format!("{count}\n").into_bytes();
                framed.extend_from_slice(&piece[..count]);
                is_wanted = self.chunk(&framed);
                if count == 0 {
                    break;
                }
            }
        }
        if is_wanted {
            let _held = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
            let mut stream = self.stream;
            // If it does not arrive the answer says so.
            let _ = stream.write_all(b"0\r\n\r\n");
        }
        Ok(())
    }

    /// Sends a chunk; false if nobody wants more.
    fn chunk(&self, bytes: &[u8]) -> bool {
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        let _held = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stream = self.stream;
        !self.is_over.load(Ordering::Relaxed) && stream.write_all(&framed).is_ok()
    }

    /// Sends an empty line now and then, until all is sent.
    fn keep_alive(&self, is_done: Receiver<()>) {
        while is_done.recv_timeout(ALIVE) == Err(RecvTimeoutError::Timeout) {
            if !self.chunk(b"\n") {
                return;
            }
        }
    }

    /// Says that nothing more need be sent.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.close();
    }

    fn close(&self) {
        // A connection that is closed already is as good.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// What was told of the progress so far.
#[derive(Default)]
struct Told {
    phase: Option<Phase>,
    quads: u64,
    bytes: u64,
}

impl Told {
    /// Tells what is new.
    fn tell(&mut self, known: &Value, progress: &dyn Progress) {
        let name = known["phase"].as_str();
        let phase = Phase::ALL
            .into_iter()
            .find(|phase| Some(phase.name()) == name);
        if let Some(phase) = phase.filter(|phase| self.phase != Some(*phase)) {
            self.phase = Some(phase);
            progress.begin(phase);
        }
        let number = |key: &str| known[key].as_u64().unwrap_or(0);
        let (quads, bytes) = (number("quads"), number("bytes"));
        progress.advance(
            quads.saturating_sub(self.quads),
            bytes.saturating_sub(self.bytes),
        );
        (self.quads, self.bytes) = (quads, bytes);
        progress.work(number("done"), number("total"));
    }
}

/// The first line of an answer and what matters of its headers.
struct Status {
    code: u16,
    is_chunked: bool,
    length: Option<u64>,
}

/// Reads the head of an answer.
fn read_head(answer: &mut BufReader<TcpStream>) -> io::Result<Status> {
    let first = read_line(answer)?;
    let code = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.filter(|_| first.starts_with("HTTP/1."));
    let mut status = Status {
        code: code.ok_or_else(|| invalid(format!("'{first}' is no answer of HTTP/1.1")))?,
        is_chunked: false,
        length: None,
    };
    // Termination: every round reads a line; the head ends with an empty one, or the connection does.
    loop {
        let line = read_line(answer)?;
        if line.is_empty() {
            return Ok(status);
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" => status.is_chunked = value.trim().eq_ignore_ascii_case("chunked"),
            "content-length" => status.length = value.trim().parse().ok(),
            _ => {}
        }
    }
}

fn read_line(answer: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    answer.take(HEAD_LINE_BYTES_MAX).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// What an answer says that is no load.
fn refusal(status: Status, answer: &mut BufReader<TcpStream>) -> RemoteLoadError {
    let mut body = Vec::new();
    // What has come is told, also if the rest does not.
    let _ = match (status.is_chunked, status.length) {
        (true, _) => Chunks::new(answer).read_to_end(&mut body),
        (false, length) => answer
            .take(length.unwrap_or(u64::MAX))
            .read_to_end(&mut body),
    };
    let known = serde_json::from_slice(&body).unwrap_or(Value::Null);
    refused(&known, status.code)
}

/// A problem of the server, in the words of its answer.
fn refused(known: &Value, code: u16) -> RemoteLoadError {
    let status = known["status"]
        .as_u64()
        .and_then(|status| status.try_into().ok());
    let detail = known["detail"].as_str().map(str::to_owned);
    RemoteLoadError::Refused {
        status: status.unwrap_or(code),
        detail: detail.unwrap_or_else(|| format!("the server answers with status {code}")),
    }
}

/// Everything but letters and digits, escaped for a query string.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// A body in chunks, joined. One that ends without its end mark is an error.
struct Chunks<R> {
    inner: R,
    /// Bytes left of the chunk.
    left: u64,
    is_over: bool,
}

impl<R: BufRead> Chunks<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            left: 0,
            is_over: false,
        }
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_over {
            let line = read_line(&mut self.inner)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            self.left = u64::from_str_radix(size, 16)
                .map_err(|_| invalid(format!("'{line}' is not the size of a chunk")))?;
            self.is_over = self.left == 0;
        }
        if self.is_over || target.is_empty() {
            return Ok(0);
        }
        let count = (&mut self.inner).take(self.left).read(target)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        if self.left == 0 {
            // The line end after a chunk.
            read_line(&mut self.inner)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_a_missing_end_is_noticed() {
        let text = "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n";
        let read = |text: &str| {
            let mut out = String::new();
            Chunks::new(text.as_bytes())
                .read_to_string(&mut out)
                .map(|_| out)
        };
        assert_eq!(read(text).ok().as_deref(), Some("abc0123456789"));
        for end in 0..text.find("0\r\n\r\n").unwrap_or_default() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
        assert!(read("x\r\n").is_err());
    }

    #[test]
    fn parameters_are_escaped() {
        assert_eq!(escaped("http://e/ä&b"), "http%3A%2F%2Fe%2F%C3%A4%26b");
    }
}
