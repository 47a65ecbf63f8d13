//! What the handler of a request tells the connection that it came by.
//!
//! Cost: two atomic stores for each request, and a box for an answer whose length is not known.

use crate::lanes::Arrivals;
use axum::body::{Body, HttpBody};
use axum::extract::connect_info::Connected;
use axum::response::Response;
use axum::serve::IncomingStream;
use http_body_util::BodyExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Marks of a connection.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    /// A request of the connection was answered before its body was read.
    unread: AtomicBool,
    /// A request of it is being worked on.
    at_work: AtomicBool,
}

impl Marks {
    /// Notes that some of a body was not read.
    pub fn set_unread(&self) {
        self.0.unread.store(true, Ordering::Relaxed);
    }

    /// Whether the client may still be sending what nobody reads.
    pub fn is_unread(&self) -> bool {
        self.0.unread.load(Ordering::Relaxed)
    }

    /// Whether the connection waits for the server, and not for its client.
    pub fn is_at_work(&self) -> bool {
        self.0.at_work.load(Ordering::Relaxed)
    }

    /// Notes that a request is worked on, until what is returned is dropped.
    pub fn begin_work(&self) -> AtWork {
        self.0.at_work.store(true, Ordering::Relaxed);
        AtWork(self.clone())
    }
}

impl Connected<IncomingStream<'_, Arrivals>> for Marks {
    fn connect_info(stream: IncomingStream<'_, Arrivals>) -> Self {
        stream.io().marks().clone()
    }
}

/// A request is worked on.
pub struct AtWork(Marks);

impl AtWork {
    /// An answer that comes in pieces is worked on until the last of them is sent; any other is done.
    pub fn go_on_with(self, answer: Response) -> Response {
        match answer.body().size_hint().exact() {
            Some(_) => answer,
            None => answer.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    // It is kept as long as the body is.
                    let _at_work = &self;
                    frame
                }))
            }),
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.0.at_work.store(false, Ordering::Relaxed);
    }
}
