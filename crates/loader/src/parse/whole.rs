//! Documents, and rests of documents, that one thread parses: the reader of the input.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::{GraphFormat, QuadSink, QuadView, ReadError};

use super::{CountedReader, InputName, Pool};
use crate::encoder::Encoder;
use crate::error::LoadError;

/// Quads of a block.
const BLOCK_QUADS: usize = 1 << 16;

/// Why a document is not read on.
pub(super) enum Stop {
    /// Its quads cannot be taken.
    Failed(LoadError),
    /// Something in front of it has failed, so it does not matter any more.
    Overtaken,
}

/// Takes the quads of a document and puts them in blocks.
pub(super) struct QuadPutter<'p> {
    pool: &'p Pool<'p>,
    encoder: Encoder<'p>,
    scope: u32,
    /// The number of the next block.
    number: usize,
    /// Bytes of text read so far.
    bytes: &'p AtomicU64,
    /// How many of them were reported.
    reported: u64,
}

impl<'p> QuadPutter<'p> {
    /// Puts blocks from `number` on. `reported` bytes of the text were reported before.
    pub(super) fn new(
        pool: &'p Pool<'p>,
        scope: u32,
        number: usize,
        bytes: &'p AtomicU64,
        reported: u64,
    ) -> Result<Self, LoadError> {
        Ok(Self {
            pool,
            encoder: Encoder::new(pool.context.terms, scope, pool.context.graph)?,
            scope,
            number,
            bytes,
            reported,
        })
    }

    fn put(&mut self) -> Result<(), LoadError> {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let context = self.pool.context;
        let quads = self.encoder.finish()?;
        (context.progress).advance(quads.len() as u64, bytes - self.reported);
        self.reported = bytes;
        context.quads.put(self.scope, self.number, quads)?;
        self.encoder.begin(self.scope);
        self.number += 1;
        Ok(())
    }

    /// Puts what is left, and says what the end of reading means: the bytes of the text, or a failure and the
    /// block that it stands in front of.
    pub(super) fn finish(
        mut self,
        result: Result<u64, ReadError<Stop>>,
        name: &str,
    ) -> Result<u64, (usize, LoadError)> {
        let error = match result.map_err(|error| error.in_file(name)) {
            Ok(_) => match self.put() {
                Ok(()) => return Ok(self.reported),
                Err(error) => error,
            },
            Err(ReadError::Syntax(error)) => LoadError::Syntax(Box::new(error)),
            Err(ReadError::Io { file, source }) => LoadError::Read { file, source },
            Err(ReadError::Sink(Stop::Failed(error))) => error,
            Err(ReadError::Sink(Stop::Overtaken)) => return Ok(self.reported),
        };
        Err((self.number, error))
    }
}

impl QuadSink for QuadPutter<'_> {
    type Error = Stop;

    fn quad(&mut self, quad: QuadView<'_>) -> Result<(), Stop> {
        self.encoder.encode(quad).map_err(Stop::Failed)?;
        if self.encoder.quad_count() == BLOCK_QUADS {
            self.put().map_err(Stop::Failed)?;
            if self.pool.failure.precedes((self.scope, self.number)) {
                return Err(Stop::Overtaken);
            }
        }
        Ok(())
    }
}

/// Reads a document on this thread and returns the bytes of its text.
pub(super) fn read_whole(
    pool: &Pool<'_>,
    input: &InputName,
    format: GraphFormat,
    open: OpenInput,
) -> Result<u64, (usize, LoadError)> {
    let (reader, bytes) = CountedReader::new(open.into_reader());
    let putter = QuadPutter::new(pool, input.scope, 0, &bytes, 0);
    let mut putter = putter.map_err(|error| (0, error))?;
    let base = pool.context.base;
    let result = read_document(reader, format, base, &mut putter, &mut ControlFlow::Break);
    putter.finish(result, &input.name)
}
