//! N-Triples and N-Quads: blocks of whole lines.

use std::ops::ControlFlow;
use std::sync::Arc;

use basalt_rdf::reader::blocks::{Block, BlockReader};
use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::reader::lines::{LineScratch, parse_block};
use basalt_rdf::{LineFormat, QuadView, SyntaxError};
use crossbeam_channel::Sender;

use super::first_failure::Place;
use super::{InputName, Job, Pool};
use crate::encoder::{Encoder, RawQuad};
use crate::error::LoadError;

/// A block of lines to parse.
pub(super) struct LineJob {
    /// Where it comes from.
    input: Arc<InputName>,
    /// The format of the lines.
    format: LineFormat,
    /// Its number in the input.
    number: usize,
    /// The lines.
    block: Block,
}

/// Cuts an input into blocks and hands them out; returns the bytes read.
pub(super) fn cut_lines(
    pool: &Pool<'_>,
    input: &Arc<InputName>,
    format: LineFormat,
    open: OpenInput,
    jobs: &Sender<Job>,
) -> Result<u64, (usize, LoadError)> {
    let mut reader = BlockReader::new(open.into_reader());
    let mut bytes = 0;
    for number in 0.. {
        let next = reader.next_block(pool.memory()).map_err(|source| {
            let file = input.name.clone();
            (number, LoadError::Read { file, source })
        })?;
        let Some(block) = next else { break };
        bytes += block.bytes.len() as u64;
        let job = LineJob {
            input: Arc::clone(input),
            format,
            number,
            block,
        };
        if pool.failure.precedes(job.place()) || jobs.send(Job::Lines(job)).is_err() {
            break;
        }
    }
    Ok(bytes)
}

impl LineJob {
    /// The place of the block.
    pub(super) fn place(&self) -> Place {
        (self.input.scope, self.number)
    }

    /// Parses and encodes the block.
    pub(super) fn run(self, pool: &Pool<'_>, encoder: &mut Encoder<'_>, scratch: &mut LineScratch) {
        encoder.begin(self.input.scope);
        let put = self.parse(pool, encoder, scratch).and_then(|quads| {
            let (count, bytes) = (quads.len() as u64, self.block.bytes.len() as u64);
            pool.context.progress.advance(count, bytes);
            pool.context.quads.put(self.input.scope, self.number, quads)
        });
        if let Err(error) = put {
            pool.failure.report(self.place(), error);
        }
        pool.recycle(self.block.bytes);
    }

    fn parse<'e>(
        &self,
        pool: &Pool<'_>,
        encoder: &'e mut Encoder<'_>,
        scratch: &mut LineScratch,
    ) -> Result<&'e [RawQuad], LoadError> {
        let Self { input, block, .. } = self;
        let mut sink = |quad: QuadView<'_>| encoder.encode(quad);
        let mut too_many = None;
        let mut on_error = |error: SyntaxError| {
            let Some(skipped) = pool.context.skipped else {
                return ControlFlow::Break(error);
            };
            match skipped.skip(input.scope, self.number, error, &input.name) {
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
        match result.map_err(|error| LoadError::from_read(error, &input.name)) {
            Ok(_) => encoder.finish(),
            Err(LoadError::Syntax(last)) => match too_many {
                Some(count) => Err(LoadError::TooManyErrors { count, last }),
                None => Err(LoadError::Syntax(last)),
            },
            Err(error) => Err(error),
        }
    }
}
