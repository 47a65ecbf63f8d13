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
use crate::report::QUOTED_ERRORS_MAX;

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
    /// Whether to skip bad lines.
    pub lenient: bool,
    /// Bad lines to bear.
    pub errors_max: u64,
    /// Worker threads.
    pub threads: usize,
    /// Hears how far it got.
    pub progress: &'a dyn Progress,
}

/// What came out of the inputs.
#[derive(Default)]
pub(crate) struct Parsed {
    /// Quads in the order of the text.
    pub blocks: Vec<Vec<RawQuad>>,
    /// Text read.
    pub bytes: u64,
    /// Bad lines skipped.
    pub skipped_lines: u64,
    /// The first of them.
    pub skipped: Vec<SyntaxError>,
}

/// Parses one input and appends its quads. `scope` tells its blank nodes apart.
pub(crate) fn parse_input(
    context: &ParseContext<'_>,
    input: Input,
    scope: u32,
    parsed: &mut Parsed,
) -> Result<(), LoadError> {
    let open = match input.source {
        InputSource::Path(path) => OpenInput::open(&path)?,
        InputSource::Reader { name, reader } => OpenInput::from_reader(&name, None, reader)?,
    };
    let name = open.name().to_owned();
    let Some(format) = input.format.or_else(|| open.format()) else {
        return Err(LoadError::UnknownFormat { name });
    };
    match format.line_format() {
        Some(format) => LineParser::new(context, scope, format, &name, parsed).run(open, parsed),
        None => parse_document(context, scope, format, &name, open, parsed),
    }
}

fn parse_document(
    context: &ParseContext<'_>,
    scope: u32,
    format: GraphFormat,
    name: &str,
    open: OpenInput,
    parsed: &mut Parsed,
) -> Result<(), LoadError> {
    let mut encoder = Encoder::new(context.terms, scope, context.graph)?;
    let mut block: Vec<RawQuad> = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        block.push(encoder.encode(quad)?);
        if block.len() == DOCUMENT_BLOCK_QUADS {
            context.progress.advance(block.len() as u64, 0);
            parsed.blocks.push(std::mem::take(&mut block));
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
    context
        .progress
        .advance(block.len() as u64, bytes.load(Ordering::Relaxed));
    parsed.bytes += bytes.load(Ordering::Relaxed);
    parsed.blocks.push(block);
    Ok(())
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
    /// Bad lines in all inputs.
    bad_lines: AtomicU64,
    /// Finished blocks with their place in the text.
    done: Mutex<Vec<(usize, Vec<RawQuad>)>>,
    /// Bad lines with the place of their block.
    skipped: Mutex<Vec<(usize, SyntaxError)>>,
    /// What ended the load, with the place of the block.
    failure: Mutex<Option<(usize, LoadError)>>,
}

impl<'a> LineParser<'a> {
    fn new(
        context: &'a ParseContext<'a>,
        scope: u32,
        format: LineFormat,
        name: &'a str,
        parsed: &Parsed,
    ) -> Self {
        Self {
            context,
            scope,
            format,
            name,
            failed_place: AtomicUsize::new(usize::MAX),
            bad_lines: AtomicU64::new(parsed.skipped_lines),
            done: Mutex::default(),
            skipped: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    fn run(self, open: OpenInput, parsed: &mut Parsed) -> Result<(), LoadError> {
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
        let unlock =
            |failure: Mutex<_>| failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = unlock(self.failure) {
            return Err(error);
        }
        parsed.bytes += read?;
        let mut done = self
            .done
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(place, _)| *place);
        parsed
            .blocks
            .extend(done.into_iter().map(|(_, quads)| quads));
        let mut skipped = self
            .skipped
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        skipped.sort_by_key(|(place, error)| (*place, error.line));
        parsed
            .skipped
            .extend(skipped.into_iter().map(|(_, error)| error));
        parsed.skipped.truncate(QUOTED_ERRORS_MAX);
        parsed.skipped_lines = self.bad_lines.into_inner();
        Ok(())
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
            match self.parse(place, &block, &mut scratch, &mut encoder) {
                Ok(quads) => {
                    self.context
                        .progress
                        .advance(quads.len() as u64, block.bytes.len() as u64);
                    let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((place, quads));
                }
                Err(error) => self.fail(place, error),
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
            if !self.context.lenient {
                return ControlFlow::Break(error);
            }
            let count = self.bad_lines.fetch_add(1, Ordering::Relaxed) + 1;
            if count > self.context.errors_max {
                too_many = Some(count);
                return ControlFlow::Break(error);
            }
            let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
            if skipped.len() < QUOTED_ERRORS_MAX {
                skipped.push((place, error.in_file(self.name)));
            }
            ControlFlow::Continue(())
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
