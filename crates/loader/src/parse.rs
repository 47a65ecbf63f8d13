//! Reading the inputs: several at once, each cut into blocks, all blocks parsed by the same threads.
//!
//! Reader threads take the inputs in order. A reader cuts lines, Turtle and TriG into blocks and sends them to
//! the worker threads, which parse and encode; documents of RDF/XML and JSON-LD cannot be cut, so their reader
//! parses them itself, while other inputs go on. The blocks of quads are put back in the order of the text. Every
//! input is a scope of blank nodes of its own.
//!
//! Errors: the first one in the order of the inputs and of their text ends the load, whichever thread saw
//! another one earlier ([`FirstFailure`]); a lenient load counts bad lines and quotes some.
//!
//! Threads: workers as the options say, and as many readers at most; a compressed input has one more. Memory: a block
//! of text for each of them, and those on their way: about four blocks per thread.

mod first_failure;
mod lines;
mod turtle;
mod whole;

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use basalt_rdf::GraphFormat;
use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::reader::lines::LineScratch;
use basalt_rdf::reader::turtle_blocks::TurtleFormat;
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::encoder::{Encoder, Terms};
use crate::error::LoadError;
use crate::options::{Input, InputSource};
use crate::progress::Progress;
use crate::quad_blocks::QuadBlocks;
use crate::skipped_lines::SkippedLines;
use first_failure::{FirstFailure, Place};
use lines::{LineJob, cut_lines};
use turtle::{TurtleJob, cut_turtle};
use whole::read_whole;

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

/// Parses the inputs and returns the bytes of their text. `scope` tells the blank nodes of the first one apart and
/// is its place among the inputs; the others follow.
pub(crate) fn parse_inputs(
    context: &ParseContext<'_>,
    inputs: Vec<Input>,
    scope: u32,
) -> Result<u64, LoadError> {
    let readers = reader_count(&inputs, context.threads);
    let queue = Mutex::new(inputs.into_iter().zip(scope..));
    let (jobs, job_queue) = bounded(context.threads);
    let (emptied, empty) = bounded(context.threads * 2);
    let pool = Pool {
        context,
        failure: FirstFailure::default(),
        bytes: AtomicU64::new(0),
        emptied,
        empty,
    };
    let pool_ref = &pool;
    let queue = &queue;
    std::thread::scope(|threads| {
        for _ in 0..context.threads {
            let job_queue = job_queue.clone();
            threads.spawn(move || pool_ref.work(job_queue));
        }
        drop(job_queue);
        for _ in 1..readers {
            let jobs = jobs.clone();
            threads.spawn(move || pool_ref.read(queue, jobs));
        }
        // The workers end when the last reader drops its sender.
        pool_ref.read(queue, jobs);
    });
    match pool.failure.into_error() {
        Some(error) => Err(error),
        None => Ok(pool.bytes.into_inner()),
    }
}

/// How many inputs to read at once.
fn reader_count(inputs: &[Input], threads: usize) -> usize {
    let is_standard_input = |input: &&Input| match &input.source {
        InputSource::Path(path) => path == Path::new("-"),
        InputSource::Reader { .. } => false,
    };
    // Two readers of standard input would take the lines from each other.
    match inputs.iter().filter(is_standard_input).count() {
        0 | 1 => threads.min(inputs.len()).max(1),
        _ => 1,
    }
}

/// Inputs with their scopes.
type InputQueue = Mutex<std::iter::Zip<std::vec::IntoIter<Input>, std::ops::RangeFrom<u32>>>;

/// An input as its jobs know it.
struct InputName {
    /// Its scope of blank nodes and its place among the inputs.
    scope: u32,
    /// As the user named it.
    name: String,
}

/// A block to parse.
enum Job {
    /// Lines.
    Lines(LineJob),
    /// Statements of Turtle or TriG.
    Turtle(TurtleJob),
}

impl Job {
    fn place(&self) -> Place {
        match self {
            Self::Lines(job) => job.place(),
            Self::Turtle(job) => job.place(),
        }
    }
}

/// What readers and workers share.
struct Pool<'a> {
    context: &'a ParseContext<'a>,
    /// What ends the load.
    failure: FirstFailure,
    /// Bytes of text read.
    bytes: AtomicU64,
    /// Memory that is free again.
    emptied: Sender<Vec<u8>>,
    /// The same, to be taken.
    empty: Receiver<Vec<u8>>,
}

impl Pool<'_> {
    /// The work of a reader: one input after the other.
    fn read(&self, queue: &InputQueue, jobs: Sender<Job>) {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((input, scope)) = next() {
            if self.failure.precedes((scope, 0)) {
                return;
            }
            match self.read_input(input, scope, &jobs) {
                Ok(bytes) => drop(self.bytes.fetch_add(bytes, Ordering::Relaxed)),
                Err((number, error)) => self.failure.report((scope, number), error),
            }
        }
    }

    /// Reads one input and returns the bytes of its text, or what went wrong and in front of which block.
    fn read_input(
        &self,
        input: Input,
        scope: u32,
        jobs: &Sender<Job>,
    ) -> Result<u64, (usize, LoadError)> {
        let open = match input.source {
            InputSource::Path(path) => {
                OpenInput::open_counted(&path, self.context.progress.file_bytes())
            }
            InputSource::Reader { name, reader } => OpenInput::from_reader(&name, None, reader),
        };
        let open = open.map_err(|error| (0, error.into()))?;
        let name = open.name().to_owned();
        let Some(format) = input.format.or_else(|| open.format()) else {
            return Err((0, LoadError::UnknownFormat { name }));
        };
        let name = Arc::new(InputName { scope, name });
        match format {
            GraphFormat::Turtle => cut_turtle(self, &name, TurtleFormat::Turtle, open, jobs),
            GraphFormat::TriG => cut_turtle(self, &name, TurtleFormat::TriG, open, jobs),
            GraphFormat::RdfXml | GraphFormat::JsonLd => read_whole(self, &name, format, open),
            GraphFormat::NTriples | GraphFormat::NQuads => match format.line_format() {
                Some(format) => cut_lines(self, &name, format, open, jobs),
                None => read_whole(self, &name, format, open),
            },
        }
    }

    /// The work of a worker: blocks in, quads out.
    fn work(&self, jobs: Receiver<Job>) {
        let encoder = Encoder::new(self.context.terms, 0, self.context.graph);
        // Without an encoder all jobs are dropped, since no place is in front of this one.
        let encoder = encoder.map_err(|error| self.failure.report((0, 0), error));
        let Ok(mut encoder) = encoder else {
            return jobs.into_iter().for_each(drop);
        };
        let mut scratch = LineScratch::new();
        for job in jobs {
            if self.failure.precedes(job.place()) {
                continue;
            }
            match job {
                Job::Lines(job) => job.run(self, &mut encoder, &mut scratch),
                Job::Turtle(job) => job.run(self, &mut encoder),
            }
        }
    }

    /// Memory for a block, used before if there is any.
    fn memory(&self) -> Vec<u8> {
        self.empty.try_recv().unwrap_or_default()
    }

    /// Gives memory back; when nobody needs any it is simply freed.
    fn recycle(&self, memory: Vec<u8>) {
        let _ = self.emptied.try_send(memory);
    }
}

/// Counts the bytes that a reader gives.
struct CountedReader<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> CountedReader<R> {
    fn new(inner: R) -> (Self, Arc<AtomicU64>) {
        let bytes = Arc::<AtomicU64>::default();
        let reader = Self {
            inner,
            bytes: Arc::clone(&bytes),
        };
        (reader, bytes)
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(target)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
