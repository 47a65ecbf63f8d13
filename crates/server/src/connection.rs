//! A connection of a lane: it tells the lane when its requests come, and it ends in one of four ways.
//!
//! * All was read and written: it is closed.
//! * A request was answered before its body was read: writing ends, and what still comes is passed over until the client closes too, for
//!   a while ([`PASS_OVER`], [`PASSED_OVER_BYTES_MAX`]). A system that closes a connection with bytes unread resets it, and the
//!   client might miss the answer (RFC 9112, section 9.6).
//! * An answer broke off, so hyper drops the connection and does not shut it down: it is reset. Over HTTP/1.0 the end of the connection is the only end mark
//!   of a streamed body, and one by FIN would make the answer look complete.
//! * No request comes for [a while](crate::silence), or not the whole of one: it is closed.
//!
//! Cost: one more read, which mostly finds nothing, for each connection that ends.

use crate::head_refusal::with_words;
use crate::lanes::Counted;
use crate::marks::Marks;
use crate::silence::Silence;
use crate::vigil::Vigil;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// Bytes that are passed over: what a client has mostly sent before it sees the answer.
const PASSED_OVER_BYTES_MAX: usize = 1 << 20;
/// Time in which they are waited for.
const PASS_OVER: Duration = Duration::from_secs(1);
/// Bytes passed over at once.
const STEP_BYTES: usize = 8 << 10;

/// A connection of a lane.
pub struct Connection {
    stream: TcpStream,
    vigil: Arc<Vigil>,
    /// What the handlers of its requests tell.
    marks: Marks,
    /// How long its client has asked nothing.
    silence: Silence,
    /// Whether anything was sent.
    has_answered: bool,
    /// Whether something was read and nothing written since, so that an answer begins with the next write.
    has_just_read: bool,
    /// What is sent for a refusal without words, and how much of it was sent.
    refusal: Option<(Vec<u8>, usize)>,
    /// Whether writing has ended in order.
    is_shut: bool,
    /// Bytes passed over.
    passed_over: usize,
    /// The end of passing over, once that has begun.
    patience: Option<Pin<Box<Sleep>>>,
    _counted: Counted,
}

impl Connection {
    /// A connection that has just come, and ends when nothing is asked on it for so long.
    pub fn new(stream: TcpStream, vigil: Arc<Vigil>, idle: Duration, counted: Counted) -> Self {
        Self {
            stream,
            vigil,
            marks: Marks::default(),
            silence: Silence::new(idle),
            has_answered: false,
            has_just_read: false,
            refusal: None,
            is_shut: false,
            passed_over: 0,
            patience: None,
            _counted: counted,
        }
    }

    /// What the handlers of its requests tell.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    fn note_write(&mut self) {
        self.silence.note_write();
        self.has_answered = true;
        self.has_just_read = false;
    }

    /// Whether the bytes to be written are a refusal, for which another is sent.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        if self.has_just_read {
            self.refusal = with_words(bytes).map(|told| (told, 0));
        }
        self.note_write();
        self.refusal.is_some()
    }

    /// Sends the refusal with words for one of so many bytes.
    fn poll_refuse(&mut self, context: &mut Context<'_>, bytes: usize) -> Poll<io::Result<usize>> {
        // Termination: every round sends some of it.
        while let Some((told, sent)) = &mut self.refusal {
            let rest = told.get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                self.refusal = None;
                break;
            }
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => *sent += count,
            }
        }
        Poll::Ready(Ok(bytes))
    }

    /// Passes over what comes after the last answer, until the client closes, or for a while.
    fn poll_pass_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; STEP_BYTES];
        // Termination: every round passes bytes over, of which there is a limit.
        while self.passed_over < PASSED_OVER_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.marks.set_unread();
                    self.passed_over += buffer.filled().len();
                }
                // The client has closed.
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if !self.marks.is_unread() => return Poll::Ready(()),
                Poll::Pending => {
                    let sleep = || Box::pin(tokio::time::sleep(PASS_OVER));
                    let patience = self.patience.get_or_insert_with(sleep);
                    return patience.as_mut().poll(context);
                }
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.has_answered && !self.is_shut {
            // Where the system refuses, the end of a chunked answer is missing all the same.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        match polled {
            Poll::Pending => {
                let now = this.vigil.note_wait();
                // To the HTTP library it is as if the client had closed.
                match this.silence.is_over(&this.marks, now, context) {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                }
            }
            Poll::Ready(_) => {
                this.vigil.note_arrival();
                this.has_just_read = true;
                polled
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.is_refusal(bytes) {
            true => self.poll_refuse(context, bytes.len()),
            false => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            [bytes] => self.poll_write(context, bytes),
            slices => {
                self.note_write();
                Pin::new(&mut self.stream).poll_write_vectored(context, slices)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.is_shut = true;
        }
        self.poll_pass_over(context).map(Ok)
    }
}
