//! The inputs of a load as they come in a request: read in the order of the body, handed to the loader piece by piece.
//!
//! ```text
//! socket ──► RequestBody ──► feed ──► a bounded channel for each input ──► PieceReader ──► loader
//! ```
//! A body is one document, or several inputs one after the other:
//!
//! ```text
//! {"inputs":[{"name":"a.nt.gz"},{"name":"b","format":"ttl"}]}\n
//! 65536\n<65536 bytes>17\n<17 bytes>0\n        the first input, ended by a length of 0
//! 0\n                                          the second one, empty
//! ```
//! An empty line may stand wherever a length may, and says that the client is still there.
//!
//! Invariant: an input that did not come to its end is an error of its reader, never a short input.
//! Memory: [`PIECES_WAITING_MAX`] pieces; a loader that is slower than the client makes the client wait.

use crate::problem::Problem;
use axum::body::{Body, BodyDataStream, Bytes};
use basalt_engine::GraphFormat;
use serde_json::Value;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;

/// The media type of a body with several inputs.
pub const INPUTS: &str = "application/vnd.basalt.inputs";
/// Pieces that wait for the loader.
const PIECES_WAITING_MAX: usize = 16;
/// How often it is looked whether the load was cancelled.
const LOOK: Duration = Duration::from_millis(250);
/// How long the rest of a body that nobody wants is taken in, so that the client reads its answer and not a reset.
const DRAIN: Duration = Duration::from_secs(10);
/// Bytes of the line that lists the inputs.
const LIST_BYTES_MAX: usize = 16 << 20;
/// Bytes of a line with a length.
const LENGTH_BYTES_MAX: usize = 20;

/// An input as the client describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name, for messages and to tell the format.
    pub name: String,
    /// The format, if the client gives it.
    pub format: Option<GraphFormat>,
}

/// A piece of an input.
pub enum Piece {
    /// Some bytes of it.
    Bytes(Bytes),
    /// There is no more.
    End,
    /// It cannot be read any further.
    Failed(String),
}

/// The body of a request, while it comes in.
pub struct RequestBody {
    chunks: BodyDataStream,
    held: Bytes,
}

impl RequestBody {
    /// A body of which nothing was read.
    pub fn new(body: Body) -> Self {
        Self {
            chunks: body.into_data_stream(),
            held: Bytes::new(),
        }
    }

    /// The inputs that the first line lists.
    pub async fn described(&mut self) -> Result<Vec<Described>, Problem> {
        let never = AtomicBool::new(false);
        let line = self.line(LIST_BYTES_MAX, &never).await;
        let line = line.map_err(Problem::bad_request)?;
        described(&line).map_err(Problem::bad_request)
    }

    /// Takes in what comes next, if nothing is held; false at the end of the body.
    async fn fill(&mut self, cancel: &AtomicBool) -> Result<bool, String> {
        while self.held.is_empty() {
            if cancel.load(Ordering::Relaxed) {
                return Err("the load was cancelled".to_owned());
            }
            match timeout(LOOK, self.chunks.next()).await {
                Ok(Some(Ok(chunk))) => self.held = chunk,
                Ok(Some(Err(error))) => {
                    return Err(format!("the body cannot be read to its end: {error}"));
                }
                Ok(None) => return Ok(false),
                Err(_) => {}
            }
        }
        Ok(true)
    }

    /// The next line, without its end.
    async fn line(&mut self, bytes_max: usize, cancel: &AtomicBool) -> Result<Vec<u8>, String> {
        let mut line = Vec::new();
        // Termination: the line grows in every round, or the body ends.
        loop {
            if !self.fill(cancel).await? {
                return Err("the body ends before the end of its inputs".to_owned());
            }
            let end = self.held.iter().position(|byte| *byte == b'\n');
            let taken = self.held.split_to(end.unwrap_or(self.held.len()));
            line.extend_from_slice(&taken);
            if bytes_max < line.len() {
                return Err("a line of the body is too long".to_owned());
            }
            if end.is_some() {
                // The line end itself.
                drop(self.held.split_to(1));
                return Ok(line);
            }
        }
    }

    /// The length of the next piece.
    async fn length(&mut self, cancel: &AtomicBool) -> Result<usize, String> {
        // Termination: every round takes a line from the body.
        loop {
            let line = self.line(LENGTH_BYTES_MAX, cancel).await?;
            if line.is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(&line);
            let length = text.parse();
            return length.map_err(|_| format!("'{text}' is not the length of a piece"));
        }
    }

    /// Takes in the rest for a while and forgets it.
    async fn drain(mut self) {
        let all = async { while let Some(Ok(_)) = self.chunks.next().await {} };
        // Whoever goes on after that is cut off.
        let _ = timeout(DRAIN, all).await;
    }
}

/// Reads the list of inputs.
fn described(line: &[u8]) -> Result<Vec<Described>, String> {
    let list: Value = serde_json::from_slice(line)
        .map_err(|error| format!("the first line of the body is not JSON: {error}"))?;
    let inputs = list["inputs"].as_array();
    let inputs = inputs.ok_or("the first line of the body does not list 'inputs'")?;
    let described = inputs.iter().map(|input| {
        let name = input["name"].as_str().ok_or("an input has no 'name'")?;
        let format = match &input["format"] {
            Value::Null => None,
            format => Some(format_named(format.as_str().unwrap_or_default())?),
        };
        Ok(Described {
            name: name.to_owned(),
            format,
        })
    });
    described.collect()
}

/// A format by its short name or media type.
fn format_named(name: &str) -> Result<GraphFormat, String> {
    let known = GraphFormat::from_name(name);
    known
        .ok_or_else(|| format!("'{name}' is none of the formats nt, nq, ttl, trig, rdfxml, jsonld"))
}

/// How the inputs stand in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The body is the one input.
    Whole,
    /// Lengths and pieces, after the first line.
    Pieces,
}

/// Channels for so many inputs.
pub fn channels(count: usize) -> (Vec<mpsc::Sender<Piece>>, Vec<mpsc::Receiver<Piece>>) {
    (0..count)
        .map(|_| mpsc::channel(PIECES_WAITING_MAX))
        .unzip()
}

/// Hands the rest of a body to the readers of its inputs, in their order. Ends with the body, or when nobody wants
/// the rest.
pub async fn feed(
    mut body: RequestBody,
    framing: Framing,
    inputs: Vec<mpsc::Sender<Piece>>,
    cancel: Arc<AtomicBool>,
) {
    if !feed_all(&mut body, framing, inputs, &cancel).await {
        body.drain().await;
    }
}

/// Whether all inputs were fed. None of their senders is left then: a reader that waits for a later input ends at
/// once, and not when the rest of the body is drained.
async fn feed_all(
    body: &mut RequestBody,
    framing: Framing,
    inputs: Vec<mpsc::Sender<Piece>>,
    cancel: &AtomicBool,
) -> bool {
    for input in inputs {
        let fed = match framing {
            Framing::Whole => feed_whole(body, &input, cancel).await,
            Framing::Pieces => feed_pieces(body, &input, cancel).await,
        };
        let last = match fed {
            Ok(()) => Piece::End,
            Err(Some(what)) => Piece::Failed(what),
            // The load has failed already.
            Err(None) => return false,
        };
        let is_failed = matches!(last, Piece::Failed(_));
        if input.send(last).await.is_err() || is_failed {
            return false;
        }
    }
    true
}

/// Nothing as an error says that the reader is gone.
async fn feed_whole(
    body: &mut RequestBody,
    input: &mpsc::Sender<Piece>,
    cancel: &AtomicBool,
) -> Result<(), Option<String>> {
    while body.fill(cancel).await.map_err(Some)? {
        let piece = std::mem::take(&mut body.held);
        input.send(Piece::Bytes(piece)).await.map_err(|_| None)?;
    }
    Ok(())
}

async fn feed_pieces(
    body: &mut RequestBody,
    input: &mpsc::Sender<Piece>,
    cancel: &AtomicBool,
) -> Result<(), Option<String>> {
    loop {
        let mut left = body.length(cancel).await.map_err(Some)?;
        if left == 0 {
            return Ok(());
        }
        while left > 0 {
            if !body.fill(cancel).await.map_err(Some)? {
                return Err(Some("the body ends within an input".to_owned()));
            }
            let piece = body.held.split_to(left.min(body.held.len()));
            left -= piece.len();
            input.send(Piece::Bytes(piece)).await.map_err(|_| None)?;
        }
    }
}

/// One input for the loader, whose threads wait for its pieces.
pub struct PieceReader {
    pieces: mpsc::Receiver<Piece>,
    held: Bytes,
    is_over: bool,
    cancel: Arc<AtomicBool>,
}

impl PieceReader {
    /// A reader of these pieces, which ends with an error once the load is cancelled.
    pub fn new(pieces: mpsc::Receiver<Piece>, cancel: Arc<AtomicBool>) -> Self {
        Self {
            pieces,
            held: Bytes::new(),
            is_over: false,
            cancel,
        }
    }
}

impl Read for PieceReader {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while self.held.is_empty() && !self.is_over {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(io::Error::other("the load was cancelled"));
            }
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.held = bytes,
                Some(Piece::End) => self.is_over = true,
                Some(Piece::Failed(what)) => return Err(io::Error::other(what)),
                None => {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(kind, "the client has gone away"));
                }
            }
        }
        let count = self.held.len().min(target.len());
        let taken = self.held.split_to(count);
        target[..count].copy_from_slice(&taken);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tokio::runtime::{Builder, Runtime};

    #[test]
    fn inputs_are_listed_with_name_and_format() {
        let line = br#"{"inputs":[{"name":"a.nt.gz"},{"name":"b","format":"ttl"}],"more":1}"#;
        let expected = [("a.nt.gz", None), ("b", Some(GraphFormat::Turtle))];
        let expected = expected.map(|(name, format)| Described {
            name: name.to_owned(),
            format,
        });
        assert_eq!(described(line), Ok(expected.to_vec()));
        for wrong in ["", "[]", "{}", r#"{"inputs":[{}]}"#] {
            assert!(described(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let unknown = described(br#"{"inputs":[{"name":"a","format":"doc"}]}"#);
        assert!(unknown.is_err_and(|what| what.contains("'doc'")));
    }

    fn runtime() -> Runtime {
        let runtime = Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime")
    }

    /// What the readers of two inputs get of a body that comes in pieces of this size.
    fn read_all(body: &str, step: usize) -> Vec<Result<String, String>> {
        let chunks: Vec<_> = body.as_bytes().chunks(step).map(<[u8]>::to_vec).collect();
        let chunks = tokio_stream::iter(chunks).map(Ok::<_, io::Error>);
        let runtime = runtime();
        let cancel = Arc::<AtomicBool>::default();
        let (senders, receivers) = channels(2);
        let body = RequestBody::new(Body::from_stream(chunks));
        let feeding = feed(body, Framing::Pieces, senders, Arc::clone(&cancel));
        let feeding = runtime.spawn(feeding);
        let read = receivers.into_iter().map(|pieces| {
            let mut text = String::new();
            let mut reader = PieceReader::new(pieces, Arc::clone(&cancel));
            let read = reader.read_to_string(&mut text);
            read.map(|_| text).map_err(|error| error.to_string())
        });
        let read = read.collect();
        runtime.block_on(feeding).expect("it ends");
        read
    }

    #[test]
    fn every_input_gets_its_pieces_however_the_body_is_cut() {
        let body = "3\nabc\n\n2\nd\n0\n\n10\n0123456789\n0\n";
        for step in 1..body.len() {
            let expected = ["abcd\n".to_owned(), "0123456789".to_owned()].map(Ok);
            assert_eq!(read_all(body, step), expected, "{step}");
        }
    }

    #[test]
    fn a_body_that_is_cut_is_no_short_input() {
        let body = "3\nabc0\n10\n0123456789\n0\n";
        for length in 0..body.len() {
            for step in [1, body.len()] {
                let read = read_all(&body[..length], step);
                assert!(read[1].is_err(), "{length}: {read:?}");
                assert_eq!(read[0].is_ok(), 7 <= length, "{length}: {read:?}");
            }
        }
        for wrong in ["x\n", "-1\n", "99999999999999999999999\n", "3 \nabc0\n"] {
            assert!(read_all(wrong, 1)[0].is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cancelled_load_lets_all_its_readers_go() {
        let runtime = runtime();
        // The client neither goes on nor goes away.
        let sent = tokio_stream::once(Ok::<_, io::Error>(b"10\nabc".to_vec()));
        let body = Body::from_stream(sent.chain(tokio_stream::pending()));
        let (senders, mut receivers) = channels(2);
        let cancel = Arc::<AtomicBool>::default();
        let feeding = feed(
            RequestBody::new(body),
            Framing::Pieces,
            senders,
            Arc::clone(&cancel),
        );
        runtime.spawn(feeding);
        let first = receivers[0].blocking_recv();
        assert!(matches!(first, Some(Piece::Bytes(_))));
        cancel.store(true, Ordering::Relaxed);
        let start = Instant::now();
        let first = receivers[0].blocking_recv();
        assert!(matches!(first, Some(Piece::Failed(what)) if what.contains("cancelled")));
        assert!(receivers[1].blocking_recv().is_none());
        assert!(start.elapsed() < DRAIN / 2, "{:?}", start.elapsed());
    }
}
