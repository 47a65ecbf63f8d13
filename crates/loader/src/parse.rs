//! Reading the inputs: blocks of lines to worker threads, documents on this thread.
//!
//! N-Triples and N-Quads are cut into blocks of whole lines; workers parse and encode them, and
//! the blocks of quads are put back in the order of the text. The other syntaxes cannot be cut, so
//! this thread parses them while nothing else runs. Every input is a scope of blank nodes of its
//! own.
//!
//! Errors: the first bad line in the order of the text ends a strict load, whichever thread saw
//! another one earlier; a lenient load counts bad lines and quotes some.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use basalt_rdf::reader::blocks::{Block, BlockReader};
use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::reader::lines::{LineScratch, parse_block};
use basalt_rdf::{GraphFormat, LineFormat, QuadView, SyntaxError};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::encoder::{Encoder, RawQuad, Terms};
use crate::error::LoadError;
use crate::options::{Input, InputSource};
use crate::progress::Progress;
use crate::quad_blocks::QuadBlocks;
use crate::skipped_lines::SkippedLines;

/// Quads per block of a document.
const DOCUMENT_BLOCK_QUADS: usize = 1 << 16;

/// What all inputs are parsed with.
pub(crate) struct ParseContext<'a> {
    /// Where terms get their numbers.
    pub terms: &'a Terms,
    /// The graph for quads that name none.
    pub graph: Option<&'a str>,
    /// Resolves relative IRIs.
    pub base: Option<&'a str>,
    /// Bad lines, if they are to be skipped.
    pub skipped: Option<&'a SkippedLines>,
    /// Where quads go.
    pub quads: &'a QuadBlocks,
    /// Worker threads.
    pub threads: usize,
    /// Hears how far it got.
    pub progress: &'a dyn Progress,
}

/// Parses one input and returns the bytes of its text. `scope` tells its blank nodes apart and is its
/// place among the inputs.
pub(crate) fn parse_input(
    context: &ParseContext<'_>,
    input: Input,
    scope: u32,
) -> Result<u64, LoadError> {
    let open = match input.source {
        InputSource::Path(path) => OpenInput::open_counted(&path, context.progress.file_bytes())?,
        InputSource::Reader { name, reader } => OpenInput::from_reader(&name, None, reader)?,
    };
    let name = open.name().to_owned();
    let Some(format) = input.format.or_else(|| open.format()) else {
        return Err(LoadError::UnknownFormat { name });
    };
    match format.line_format() {
        Some(format) => LineParser::new(context, scope, format, &name).run(open),
        None => parse_document(context, scope, format, &name, open),
    }
}

fn parse_document(
    context: &ParseContext<'_>,
    scope: u32,
    format: GraphFormat,
    name: &str,
    open: OpenInput,
) -> Result<u64, LoadError> {
    let mut encoder = Encoder::new(context.terms, scope, context.graph)?;
    let mut block: Vec<RawQuad> = Vec::new();
    let mut place = 0;
    let mut sink = |quad: QuadView<'_>| {
        block.push(encoder.encode(quad)?);
        if block.len() == DOCUMENT_BLOCK_QUADS {
            context.progress.advance(block.len() as u64, 0);
            context
                .quads
                .put(scope, place, std::mem::take(&mut block))?;
            place += 1;
        }
        Ok(())
    };
    let bytes = Arc::new(AtomicU64::new(0));
    let reader = CountedReader {
        inner: open.into_reader(),
        bytes: Arc::clone(&bytes),
    };
    read_document(
        reader,
        format,
        context.base,
        &mut sink,
        &mut ControlFlow::Break,
    )
    .map_err(|error| LoadError::from_read(error, name))?;
    let bytes = bytes.load(Ordering::Relaxed);
    context.progress.advance(block.len() as u64, bytes);
    context.quads.put(scope, place, block)?;
    Ok(bytes)
}

/// Counts the bytes that a reader gives.
struct CountedReader<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(target)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Parses one input of a line format on worker threads.
struct LineParser<'a> {
    context: &'a ParseContext<'a>,
    scope: u32,
    format: LineFormat,
    name: &'a str,
    /// The place of the first block that failed; later ones need not be parsed.
    failed_place: AtomicUsize,
    /// What ended the load, with the place of the block.
    failure: Mutex<Option<(usize, LoadError)>>,
}

impl<'a> LineParser<'a> {
    fn new(context: &'a ParseContext<'a>, scope: u32, format: LineFormat, name: &'a str) -> Self {
        Self {
            context,
            scope,
            format,
            name,
            failed_place: AtomicUsize::new(usize::MAX),
            failure: Mutex::default(),
        }
    }

    fn run(self, open: OpenInput) -> Result<u64, LoadError> {
        let (full, blocks) = bounded(self.context.threads);
        let (emptied, empty) = bounded(self.context.threads * 2);
        let this = &self;
        let read = std::thread::scope(|scope| {
            for _ in 0..this.context.threads {
                let (blocks, emptied) = (blocks.clone(), emptied.clone());
                scope.spawn(move || this.work(blocks, emptied));
            }
            drop(blocks);
            this.cut(open, full, empty)
        });
        let failure = self.failure.into_inner();
        match failure.unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => read,
        }
    }

    /// Reads the text and hands out blocks; returns the bytes read.
    fn cut(
        &self,
        open: OpenInput,
        full: Sender<(usize, Block)>,
        empty: Receiver<Vec<u8>>,
    ) -> Result<u64, LoadError> {
        let mut reader = BlockReader::new(open.into_reader());
        let mut bytes = 0;
        for place in 0.. {
            let memory = empty.try_recv().unwrap_or_default();
            let next = reader.next_block(memory);
            let next = next.map_err(|source| LoadError::Read {
                file: self.name.to_owned(),
                source,
            })?;
            let Some(block) = next else { break };
            bytes += block.bytes.len() as u64;
            if self.failed_place.load(Ordering::Relaxed) < place
                || full.send((place, block)).is_err()
            {
                break;
            }
        }
        Ok(bytes)
    }

    /// The work of one thread: blocks in, quads out.
    fn work(&self, blocks: Receiver<(usize, Block)>, emptied: Sender<Vec<u8>>) {
        let mut encoder = match Encoder::new(self.context.terms, self.scope, self.context.graph) {
            Ok(encoder) => encoder,
            Err(error) => return self.fail(0, error),
        };
        let mut scratch = LineScratch::new();
        for (place, block) in blocks {
            if self.failed_place.load(Ordering::Relaxed) < place {
                continue;
            }
            let parsed = self.parse(place, &block, &mut scratch, &mut encoder);
            let put = parsed.and_then(|quads| {
                self.context
                    .progress
                    .advance(quads.len() as u64, block.bytes.len() as u64);
                self.context.quads.put(self.scope, place, quads)
            });
            if let Err(error) = put {
                self.fail(place, error);
            }
            // When nobody waits for empty memory it is simply freed.
            let _ = emptied.try_send(block.bytes);
        }
    }

    fn parse(
        &self,
        place: usize,
        block: &Block,
        scratch: &mut LineScratch,
        encoder: &mut Encoder<'_>,
    ) -> Result<Vec<RawQuad>, LoadError> {
        // A line of BSBM has some 260 bytes, the shortest sensible ones a quarter of that.
        let mut quads = Vec::with_capacity(block.bytes.len() / 128);
        let mut sink = |quad: QuadView<'_>| -> Result<(), LoadError> {
            quads.push(encoder.encode(quad)?);
            Ok(())
        };
        let mut too_many = None;
        let mut on_error = |error: SyntaxError| {
            let Some(skipped) = self.context.skipped else {
                return ControlFlow::Break(error);
            };
            match skipped.skip(self.scope, place, error, self.name) {
                Ok(()) => ControlFlow::Continue(()),
                Err(last) => {
                    too_many = Some(last.count);
                    ControlFlow::Break(last.error)
                }
            }
        };
        let result = parse_block(
            &block.bytes,
            self.format,
            block.first_line,
            scratch,
            &mut sink,
            &mut on_error,
        );
        match result.map_err(|error| LoadError::from_read(error, self.name)) {
            Ok(_) => {
                quads.shrink_to_fit();
                Ok(quads)
            }
            Err(LoadError::Syntax(last)) => match too_many {
                Some(count) => Err(LoadError::TooManyErrors { count, last }),
                None => Err(LoadError::Syntax(last)),
            },
            Err(error) => Err(error),
        }
    }

    /// Remembers the failure that comes first in the text.
    fn fail(&self, place: usize, error: LoadError) {
        self.failed_place.fetch_min(place, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| place < *first) {
            *failure = Some((place, error));
        }
    }
}
