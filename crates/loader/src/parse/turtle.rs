//! Turtle and TriG: blocks of whole statements, parsed ahead and taken in order.
//!
//! The quads of a block count only once all blocks before it were good (see
//! [`turtle_blocks`](basalt_rdf::reader::turtle_blocks)), so a block and its quads wait in a window until then. At the
//! first bad block the reader stops cutting, waits for the workers, and reads what is in the window and what
//! follows it in one run: mostly to report the error that is there.
//!
//! Memory: the window, of some blocks per thread. A block that is dropped unparsed counts as bad, so the reader never
//! waits in vain.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::reader::turtle_blocks::{BlockVerdict, TurtleBlock, TurtleBlocks, TurtleFormat};
use basalt_rdf::{QuadView, ReadError};
use crossbeam_channel::Sender;

use super::first_failure::Place;
use super::whole::QuadPutter;
use super::{CountedReader, InputName, Job, Pool};
use crate::encoder::{Encoder, RawQuad};
use crate::error::LoadError;

/// Blocks of one document that are on their way, per thread.
const WINDOW_BLOCKS_PER_THREAD: usize = 3;

/// What became of a block that is on its way.
enum Slot {
    /// Nobody knows yet.
    Running,
    /// It is good, if those before it are.
    Parsed(TurtleBlock, Vec<RawQuad>),
    /// It is bad, or was not looked at.
    Bad(TurtleBlock),
    /// Its quads could not be taken.
    Failed(TurtleBlock, LoadError),
}

/// The blocks that are on their way.
#[derive(Default)]
struct Window {
    /// The number of the first of them.
    first: usize,
    /// What became of them.
    slots: VecDeque<Slot>,
    /// Bytes of text in front of them.
    bytes: u64,
    /// Whether one of them is bad.
    has_bad: bool,
}

/// A document that is parsed by several threads.
struct Document {
    input: Arc<InputName>,
    window: Mutex<Window>,
    /// Tells of every change of the window.
    changed: Condvar,
}

impl Document {
    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the window is as it should be.
    fn wait_until(&self, is_fine: impl Fn(&Window) -> bool) -> MutexGuard<'_, Window> {
        let waited = self.changed.wait_while(self.lock(), |w| !is_fine(w));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next block into a window of up to `slots_max`; `None` if it need not be parsed any more.
    fn begin(self: &Arc<Self>, block: TurtleBlock, slots_max: usize) -> Option<TurtleJob> {
        let mut window = self.wait_until(|w| w.has_bad || w.slots.len() < slots_max);
        if window.has_bad {
            window.slots.push_back(Slot::Bad(block));
            return None;
        }
        window.slots.push_back(Slot::Running);
        Some(TurtleJob {
            document: Arc::clone(self),
            number: block.number(),
            block: Some(block),
        })
    }

    /// Notes what became of a block, and gives out the blocks that count now.
    fn finish(&self, number: usize, slot: Slot) -> Vec<(usize, TurtleBlock, Vec<RawQuad>)> {
        let mut window = self.lock();
        let at = number - window.first;
        window.has_bad |= !matches!(slot, Slot::Parsed(..));
        window.slots[at] = slot;
        let mut counting = Vec::new();
        while let Some(Slot::Parsed(..)) = window.slots.front() {
            if let Some(Slot::Parsed(block, quads)) = window.slots.pop_front() {
                window.first += 1;
                window.bytes += block.text_bytes() as u64;
                counting.push((block.number(), block, quads));
            }
        }
        self.changed.notify_all();
        counting
    }
}

/// A block to parse.
pub(super) struct TurtleJob {
    document: Arc<Document>,
    number: usize,
    /// The block, until it is finished.
    block: Option<TurtleBlock>,
}

impl TurtleJob {
    /// The place of the block.
    pub(super) fn place(&self) -> Place {
        (self.document.input.scope, self.number)
    }

    /// Parses and encodes the block, and puts the quads of all blocks that count now.
    pub(super) fn run(mut self, pool: &Pool<'_>, encoder: &mut Encoder<'_>) {
        let Some(block) = &self.block else { return };
        encoder.begin(self.document.input.scope);
        let verdict = block.parse(&mut |quad: QuadView<'_>| encoder.encode(quad));
        let quads = verdict.and_then(|verdict| match verdict {
            BlockVerdict::Good(_) => Ok(Some(encoder.finish()?.to_vec())),
            BlockVerdict::Doubtful => Ok(None),
        });
        let Some(block) = self.block.take() else {
            return;
        };
        let slot = match quads {
            Ok(Some(quads)) => Slot::Parsed(block, quads),
            Ok(None) => Slot::Bad(block),
            Err(error) => Slot::Failed(block, error),
        };
        let scope = self.document.input.scope;
        for (number, block, quads) in self.document.finish(self.number, slot) {
            let (count, bytes) = (quads.len() as u64, block.text_bytes() as u64);
            pool.context.progress.advance(count, bytes);
            if let Err(error) = pool.context.quads.put(scope, number, &quads) {
                pool.failure.report((scope, number), error);
            }
            pool.recycle(block.into_memory());
        }
    }
}

impl Drop for TurtleJob {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let counting = self.document.finish(self.number, Slot::Bad(block));
            debug_assert!(counting.is_empty(), "nothing counts behind a bad block");
        }
    }
}

/// Cuts an input into blocks and hands them out; returns the bytes read.
pub(super) fn cut_turtle(
    pool: &Pool<'_>,
    input: &Arc<InputName>,
    format: TurtleFormat,
    open: OpenInput,
    jobs: &Sender<Job>,
) -> Result<u64, (usize, LoadError)> {
    let (reader, bytes) = CountedReader::new(open.into_reader());
    let blocks = TurtleBlocks::new(reader, format, pool.context.base);
    let mut blocks = blocks.map_err(|error| {
        let error = ReadError::<LoadError>::from(error);
        (0, LoadError::from_read(error, &input.name))
    })?;
    let document = Arc::new(Document {
        input: Arc::clone(input),
        window: Mutex::default(),
        changed: Condvar::new(),
    });
    let slots_max = pool.context.threads * WINDOW_BLOCKS_PER_THREAD;
    while let Some(block) = blocks.next_block(pool.memory()) {
        let place = (input.scope, block.number());
        let Some(job) = document.begin(block, slots_max) else {
            break;
        };
        if pool.failure.precedes(place) || jobs.send(Job::Turtle(job)).is_err() {
            break;
        }
    }
    let mut window =
        document.wait_until(|w| !w.slots.iter().any(|slot| matches!(slot, Slot::Running)));
    let (first, good_bytes) = (window.first, window.bytes);
    let slots = std::mem::take(&mut window.slots);
    drop(window);
    if pool.failure.precedes((input.scope, first)) {
        return Ok(good_bytes);
    }
    let mut taken_back = Vec::new();
    for (number, slot) in (first..).zip(slots) {
        match slot {
            Slot::Failed(_, error) if number == first => return Err((first, error)),
            Slot::Parsed(block, _) | Slot::Bad(block) | Slot::Failed(block, _) => {
                taken_back.push(block);
            }
            Slot::Running => unreachable!("the reader waited for all of them"),
        }
    }
    if taken_back.is_empty() && !blocks.has_rest() {
        return Ok(bytes.load(Ordering::Relaxed));
    }
    let putter = QuadPutter::new(pool, input.scope, first, &bytes, good_bytes);
    let mut putter = putter.map_err(|error| (first, error))?;
    let result = blocks.read_rest(taken_back, &mut putter);
    putter.finish(result, &input.name)
}
