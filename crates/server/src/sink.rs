//! From a blocking thread that writes to the body of a response, chunk by chunk.
//!
//! ```text
//! query thread ── ChunkSink ──► head (once) ──► status and headers
//!                     └───────► bounded channel ──► AnswerBody ──► hyper ──► socket
//! ```
//! Nothing is sent before the first chunk is full or the answer is complete, so an error before
//! that still decides the status, and a small answer goes out whole, with its length.
//!
//! Where the client takes a content coding, each chunk is packed as it becomes full, and flushed, so that its rows
//! can be unpacked when they arrive. A whole answer of less than [`PACKED_BYTES_MIN`] stays as it is.
//!
//! Invariant: a body ends well only after [`ChunkSink::finish`]; a sink that is dropped before, by
//! an error or a panic, makes the body fail, which closes the connection without its end mark.
//! Memory: [`CHUNKS_WAITING_MAX`] chunks and the one being filled.

use crate::negotiate::Coding;
use crate::problem::Problem;
use basalt_engine::Compressor;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;

/// Bytes of a chunk: large enough that the channel costs nothing.
pub const CHUNK_BYTES: usize = 64 << 10;
/// What an answer is that says nothing else.
const PLAIN_TEXT: &str = "text/plain; charset=utf-8";
/// Bytes of a whole answer from which packing it pays.
const PACKED_BYTES_MIN: usize = 1024;
/// Chunks that wait for the client before the query pauses.
const CHUNKS_WAITING_MAX: usize = 4;
/// How long a client may take no byte at all before it counts as gone.
const STALL: Duration = Duration::from_secs(60);

/// The beginning of an answer.
#[derive(Debug)]
pub enum Head {
    /// The whole answer.
    Whole {
        /// Its media type.
        media_type: &'static str,
        /// How the bytes are packed.
        coding: Option<Coding>,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// An answer that comes in pieces.
    Stream {
        /// Its media type.
        media_type: &'static str,
        /// How the bytes are packed.
        coding: Option<Coding>,
        /// The pieces.
        body: AnswerBody,
    },
}

/// A piece of a body.
enum Piece {
    Chunk(Vec<u8>),
    End,
}

/// Sets a flag when dropped; whoever waits for an answer holds one.
#[derive(Debug)]
pub struct CancelOnDrop(Option<Arc<AtomicBool>>);

impl CancelOnDrop {
    /// A guard of this flag.
    pub fn new(flag: &Arc<AtomicBool>) -> Self {
        Self(Some(Arc::clone(flag)))
    }

    /// Lets go without setting the flag.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// The body of a streamed answer. Dropping it tells the query to stop.
#[derive(Debug)]
pub struct AnswerBody {
    pieces: mpsc::Receiver<Piece>,
    is_over: bool,
    _cancel: CancelOnDrop,
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Chunk(bytes) => write!(f, "Chunk({} bytes)", bytes.len()),
            Self::End => f.write_str("End"),
        }
    }
}

impl Stream for AnswerBody {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.pieces.poll_recv(context).map(|piece| match piece {
            Some(Piece::Chunk(bytes)) => Some(Ok(bytes)),
            Some(Piece::End) => {
                self.is_over = true;
                None
            }
            None => {
                self.is_over = true;
                Some(Err(io::Error::other(
                    "the query failed after its answer had begun",
                )))
            }
        })
    }
}

/// Where an answer is written.
pub trait AnswerSink: Write {
    /// Says what the bytes are; before the first of them.
    fn set_media_type(&mut self, media_type: &'static str);
}

/// Keeps an answer that must be whole and short: once it is longer than its limit, it is full and takes no more.
pub struct WholeSink {
    media_type: &'static str,
    coding: Option<Coding>,
    bytes: Vec<u8>,
    bytes_max: usize,
    is_full: bool,
}

impl WholeSink {
    /// A sink for so many bytes, packed by `coding`.
    pub fn new(coding: Option<Coding>, bytes_max: usize) -> Self {
        Self {
            media_type: PLAIN_TEXT,
            coding,
            bytes: Vec::new(),
            bytes_max,
            is_full: false,
        }
    }

    /// Whether the answer was longer than the limit.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Ends an answer that is complete.
    pub fn finish(self) -> io::Result<Head> {
        whole(self.media_type, self.coding, self.bytes)
    }
}

impl AnswerSink for WholeSink {
    fn set_media_type(&mut self, media_type: &'static str) {
        self.media_type = media_type;
    }
}

impl Write for WholeSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.bytes_max {
            self.is_full = true;
            return Err(io::Error::other("the answer is too long to be kept"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A whole answer, packed if that pays.
fn whole(media_type: &'static str, coding: Option<Coding>, bytes: Vec<u8>) -> io::Result<Head> {
    let coding = coding.filter(|_| bytes.len() >= PACKED_BYTES_MIN);
    let bytes = match coding {
        None => bytes,
        Some(coding) => {
            let mut packer = Compressor::new(Vec::new(), Some(coding.compression()))?;
            packer.write_all(&bytes)?;
            packer.finish()?
        }
    };
    Ok(Head::Whole {
        media_type,
        coding,
        bytes,
    })
}

/// Where the query thread writes its answer.
pub struct ChunkSink {
    media_type: &'static str,
    coding: Option<Coding>,
    /// Packs the chunks; made for the first one.
    packer: Option<Compressor<Vec<u8>>>,
    buffer: Vec<u8>,
    head: Option<oneshot::Sender<Result<Head, Problem>>>,
    pieces: Option<mpsc::Sender<Piece>>,
    cancel: Arc<AtomicBool>,
    runtime: Handle,
}

impl ChunkSink {
    /// A sink whose head goes to `head`, packed by `coding`; `cancel` stops the query.
    pub fn new(
        head: oneshot::Sender<Result<Head, Problem>>,
        coding: Option<Coding>,
        cancel: Arc<AtomicBool>,
        runtime: Handle,
    ) -> Self {
        Self {
            media_type: PLAIN_TEXT,
            coding,
            packer: None,
            buffer: Vec::new(),
            head: Some(head),
            pieces: None,
            cancel,
            runtime,
        }
    }

    /// Whether some of the answer was sent.
    pub fn is_streaming(&self) -> bool {
        self.pieces.is_some()
    }

    /// Ends an answer that is complete.
    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.buffer);
        if let Some(head) = self.head.take() {
            let whole = whole(self.media_type, self.coding, rest)?;
            return head.send(Ok(whole)).map_err(|_| gone());
        }
        let last = match self.packer()? {
            None => rest,
            Some(mut packer) => {
                packer.write_all(&rest)?;
                packer.finish()?
            }
        };
        if !last.is_empty() {
            self.send(Piece::Chunk(last))?;
        }
        self.send(Piece::End)
    }

    /// Ends an answer that failed; true if that could still be said by the status.
    pub fn fail(mut self, problem: Problem) -> bool {
        match self.head.take() {
            Some(head) => {
                // A client that is gone needs no answer.
                let _ = head.send(Err(problem));
                true
            }
            None => false,
        }
    }

    fn send_chunk(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            let (sender, pieces) = mpsc::channel(CHUNKS_WAITING_MAX);
            let cancel = CancelOnDrop::new(&self.cancel);
            let body = AnswerBody {
                pieces,
                is_over: false,
                _cancel: cancel,
            };
            let stream = Head::Stream {
                media_type: self.media_type,
                coding: self.coding,
                body,
            };
            head.send(Ok(stream)).map_err(|_| gone())?;
            self.pieces = Some(sender);
        }
        let mut bytes = std::mem::take(&mut self.buffer);
        if let Some(mut packer) = self.packer()? {
            packer.write_all(&bytes)?;
            packer.flush()?;
            bytes = std::mem::take(packer.target_mut());
            self.packer = Some(packer);
        }
        match bytes.is_empty() {
            true => Ok(()),
            false => self.send(Piece::Chunk(bytes)),
        }
    }

    /// The packer, a new one at first; nothing without a coding.
    fn packer(&mut self) -> io::Result<Option<Compressor<Vec<u8>>>> {
        match (self.packer.take(), self.coding) {
            (Some(packer), _) => Ok(Some(packer)),
            (None, Some(coding)) => {
                Compressor::new(Vec::new(), Some(coding.compression())).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    fn send(&self, piece: Piece) -> io::Result<()> {
        let pieces = self.pieces.as_ref().ok_or_else(gone)?;
        self.runtime
            .block_on(pieces.send_timeout(piece, STALL))
            .map_err(|_| gone())
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")
}

impl AnswerSink for ChunkSink {
    fn set_media_type(&mut self, media_type: &'static str) {
        debug_assert!(self.head.is_some(), "the head is still here");
        self.media_type = media_type;
    }
}

impl Write for ChunkSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.send_chunk()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
