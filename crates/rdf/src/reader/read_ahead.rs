//! `ReadAhead`: runs a slow reader, such as a decompressor, on a thread of its own.
//!
//! The thread fills buffers and sends them through a channel; who has read one sends it back to be filled
//! again. So decompressing, cutting into blocks and parsing go on at the same time. What fits into the first
//! buffer is read in place: a small file costs no thread.
//!
//! Invariant: the bytes, and a failure behind them, come in the order in which the inner reader gives them;
//! a thread that dies is a failure and never looks like the end.
//!
//! Memory: [`BUFFERS`] buffers of [`BUFFER_BYTES`]. Cost: each byte is copied once more.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a buffer: large enough that handing over costs nothing, small enough for the outer caches.
const BUFFER_BYTES: usize = 1 << 20;
/// Buffers on their way.
const BUFFERS: usize = 4;

/// Bytes and, behind them, why there are no more.
struct Piece {
    /// A buffer; its memory stays initialised from use to use.
    buffer: Vec<u8>,
    /// Bytes of it that were read; none only if this is the last piece.
    length: usize,
    /// The end, or a failure; `None` if more may come.
    end: Option<io::Result<()>>,
}

impl Piece {
    /// Fills a buffer from a reader.
    fn read(reader: &mut impl Read, mut buffer: Vec<u8>) -> Self {
        buffer.resize(BUFFER_BYTES, 0);
        let (mut length, mut end) = (0, None);
        // Termination: each turn reads at least one byte, ends the loop or was interrupted.
        while length < BUFFER_BYTES && end.is_none() {
            match reader.read(&mut buffer[length..]) {
                Ok(0) => end = Some(Ok(())),
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => end = Some(Err(error)),
            }
        }
        Self {
            buffer,
            length,
            end,
        }
    }
}

/// The two ends of the channels to the thread.
struct Thread {
    /// Pieces, in order.
    full: Receiver<Piece>,
    /// Buffers to fill again.
    empty: SyncSender<Vec<u8>>,
}

/// Where pieces come from.
enum Source<R> {
    /// Nothing was read yet.
    Inner(R),
    /// The thread that reads.
    Thread(Thread),
    /// There are no more.
    None,
}

/// A reader whose inner reader runs ahead; see the [module documentation](self).
pub(super) struct ReadAhead<R> {
    /// Where the next piece comes from.
    source: Source<R>,
    /// The piece at hand.
    piece: Piece,
    /// Bytes of it that were handed out.
    taken: usize,
}

impl<R: Read + Send + 'static> ReadAhead<R> {
    /// Runs ahead of `inner` as soon as more than one buffer is read.
    pub(super) fn new(inner: R) -> Self {
        Self {
            source: Source::Inner(inner),
            piece: Piece {
                buffer: Vec::new(),
                length: 0,
                end: None,
            },
            taken: 0,
        }
    }

    /// Gets the next piece.
    fn advance(&mut self) -> io::Result<()> {
        let memory = std::mem::take(&mut self.piece.buffer);
        self.piece.length = 0;
        self.taken = 0;
        match std::mem::replace(&mut self.source, Source::None) {
            Source::Inner(mut inner) => {
                self.piece = Piece::read(&mut inner, memory);
                if self.piece.end.is_none() {
                    self.source = Source::Thread(run(inner)?);
                }
            }
            Source::Thread(thread) => {
                // When the thread has ended it needs no memory.
                let _ = thread.empty.try_send(memory);
                let Ok(piece) = thread.full.recv() else {
                    return Err(io::Error::other("the reading thread has died"));
                };
                self.piece = piece;
                self.source = Source::Thread(thread);
            }
            Source::None => self.piece.end = Some(Ok(())),
        }
        Ok(())
    }
}

/// Starts the thread.
fn run<R: Read + Send + 'static>(mut inner: R) -> io::Result<Thread> {
    let (to_reader, full) = sync_channel(BUFFERS - 1);
    let (empty, from_reader) = sync_channel::<Vec<u8>>(BUFFERS);
    let work = move || {
        // Termination: each turn reads at least one byte or is the last.
        loop {
            let memory = from_reader.try_recv().unwrap_or_default();
            let piece = Piece::read(&mut inner, memory);
            let is_last = piece.end.is_some();
            // When nobody listens any more, nobody needs the rest.
            if to_reader.send(piece).is_err() || is_last {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("read-ahead".to_owned());
    thread.spawn(work)?;
    Ok(Thread { full, empty })
}

impl<R: Read + Send + 'static> Read for ReadAhead<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        // Termination: a piece without bytes has an end.
        while self.taken == self.piece.length {
            match self.piece.end.take() {
                None => self.advance()?,
                Some(Ok(())) => {
                    self.source = Source::None;
                    self.piece.end = Some(Ok(()));
                    return Ok(0);
                }
                Some(Err(error)) => {
                    self.source = Source::None;
                    return Err(error);
                }
            }
        }
        let rest = &self.piece.buffer[self.taken..self.piece.length];
        let count = rest.len().min(target.len());
        target[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up and then fails, ends or panics.
    struct Counting {
        left: usize,
        end: fn() -> io::Result<usize>,
    }

    impl Read for Counting {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 {
                return (self.end)();
            }
            let count = target.len().min(self.left).min(77_777);
            for byte in &mut target[..count] {
                *byte = (self.left % 251) as u8;
                self.left -= 1;
            }
            Ok(count)
        }
    }

    fn read(left: usize, end: fn() -> io::Result<usize>) -> (Vec<u8>, Option<String>) {
        let mut reader = ReadAhead::new(Counting { left, end });
        let mut bytes = Vec::new();
        let result = reader.read_to_end(&mut bytes);
        (bytes, result.err().map(|error| error.to_string()))
    }

    #[test]
    fn bytes_and_failures_come_in_order() {
        for left in [0, 1, BUFFER_BYTES - 1, BUFFER_BYTES, 7 * BUFFER_BYTES + 3] {
            let expected: Vec<u8> = (1..=left).rev().map(|i| (i % 251) as u8).collect();
            let (bytes, error) = read(left, || Ok(0));
            assert!(bytes == expected && error.is_none(), "{left}");
            let (bytes, error) = read(left, || Err(io::Error::other("broken")));
            assert!(bytes == expected, "{left}");
            assert_eq!(error.as_deref(), Some("broken"), "{left}");
        }
    }

    #[test]
    fn a_dead_thread_is_no_end() {
        let (_, error) = read(3 * BUFFER_BYTES, || {
            std::panic::resume_unwind(Box::new("dead"))
        });
        assert_eq!(error.as_deref(), Some("the reading thread has died"));
    }

    #[test]
    fn the_end_stays_the_end_and_nobody_need_listen() {
        let mut reader = ReadAhead::new(Counting {
            left: 9 * BUFFER_BYTES,
            end: || Ok(0),
        });
        assert!(reader.read(&mut [0; 9]).is_ok_and(|count| count == 9));
        let mut rest = Vec::new();
        assert!(reader.read_to_end(&mut rest).is_ok());
        assert!(reader.read(&mut [0; 9]).is_ok_and(|count| count == 0));
        let mut dropped = ReadAhead::new(Counting {
            left: usize::MAX,
            end: || Ok(0),
        });
        assert!(dropped.read(&mut [0; 9]).is_ok());
    }
}
