//! Runs work units on threads and hands their text over in order.
//!
//! The calling thread plans units, gives them out, and passes finished ones to the sink in plan
//! order. At most a few units per thread are in flight, finished but early ones included, so
//! memory is bounded however slow the sink is. Buffers go round: a written unit's buffers serve a
//! later unit. The workers hold no state, hence the output does not depend on their number.

use crate::BsbmError;
use crate::compress::compress;
use crate::emit::{Counts, Emitter};
use crate::plan::{Content, FileCutter, Unit, units};
use crate::vocabulary::{Compression, Format};
use crate::world::World;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Units in flight per thread: one in work, one waiting, one finished early.
const UNITS_PER_THREAD: usize = 3;

/// How to write a world.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) content: Content,
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    pub(crate) threads: usize,
    pub(crate) files: usize,
}

/// A finished unit.
pub(crate) struct Done {
    /// The place of the unit in the plan.
    idx: usize,
    /// The file that it belongs to.
    pub(crate) file: usize,
    /// What it holds.
    pub(crate) counts: Counts,
    /// Its text.
    plain: Vec<u8>,
    /// Its text, compressed; unused without compression.
    packed: Vec<u8>,
    compression: Compression,
}

impl Done {
    /// The bytes to write.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.compression {
            Compression::None => &self.plain,
            Compression::Gzip | Compression::Zstd => &self.packed,
        }
    }

    /// The bytes of the text before compression.
    pub(crate) fn plain_bytes(&self) -> u64 {
        self.plain.len() as u64
    }
}

struct Task {
    idx: usize,
    file: usize,
    unit: Unit,
    /// Empty buffers for text and compressed text.
    buffers: (Vec<u8>, Vec<u8>),
}

/// Tells the calling thread when a worker panics, so that it does not wait for ever.
struct Alarm(Sender<Result<Done, BsbmError>>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody listens any more if this fails, which is as good.
            let _ = self.0.send(Err(BsbmError::WorkerLost));
        }
    }
}

/// Writes a world to `sink`, unit by unit in plan order.
pub(crate) fn run(
    world: &World,
    job: Job,
    sink: &mut dyn FnMut(&Done) -> Result<(), BsbmError>,
) -> Result<(), BsbmError> {
    let (task_sender, task_receiver) = bounded(job.threads * UNITS_PER_THREAD);
    let (done_sender, done_receiver) = unbounded();
    std::thread::scope(|scope| {
        for _ in 0..job.threads {
            let tasks = task_receiver.clone();
            let alarm = Alarm(done_sender.clone());
            scope.spawn(move || work(world, job, &tasks, &alarm));
        }
        drop((task_receiver, done_sender));
        // The sender of tasks is moved in and dropped on return, which ends the workers.
        feed(world, job, task_sender, &done_receiver, sink)
    })
}

fn work(world: &World, job: Job, tasks: &Receiver<Task>, results: &Alarm) {
    for task in tasks {
        let (plain, mut packed) = task.buffers;
        let mut emitter = Emitter::new(job.format, plain);
        task.unit.write(world, job.content, &mut emitter);
        let mut outcome = Ok(());
        if job.compression != Compression::None && !emitter.out.is_empty() {
            outcome = compress(job.compression, &emitter.out, &mut packed);
        }
        let result = match outcome {
            Ok(()) => Ok(Done {
                idx: task.idx,
                file: task.file,
                counts: emitter.counts,
                plain: emitter.out,
                packed,
                compression: job.compression,
            }),
            Err(source) => Err(BsbmError::Io {
                operation: "compressing",
                path: PathBuf::from("-"),
                source,
            }),
        };
        if results.0.send(result).is_err() {
            return;
        }
    }
}

fn feed(
    world: &World,
    job: Job,
    tasks: Sender<Task>,
    results: &Receiver<Result<Done, BsbmError>>,
    sink: &mut dyn FnMut(&Done) -> Result<(), BsbmError>,
) -> Result<(), BsbmError> {
    let mut cutter = FileCutter::new(world, job.files);
    let mut plan = units(world).enumerate();
    let mut early = BTreeMap::new();
    let mut spare_buffers: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut given = 0;
    let mut written = 0;
    // Invariant: `given - written` units are in the queues, in work, or in `early`.
    loop {
        while given - written < job.threads * UNITS_PER_THREAD {
            let Some((idx, unit)) = plan.next() else {
                break;
            };
            let file = cutter.file_of(world, &unit);
            let buffers = spare_buffers.pop().unwrap_or_default();
            let task = Task {
                idx,
                file,
                unit,
                buffers,
            };
            tasks.send(task).map_err(|_| BsbmError::WorkerLost)?;
            given += 1;
        }
        if given == written {
            return Ok(());
        }
        let done = results.recv().map_err(|_| BsbmError::WorkerLost)??;
        early.insert(done.idx, done);
        while let Some(mut done) = early.remove(&written) {
            sink(&done)?;
            written += 1;
            done.plain.clear();
            done.packed.clear();
            spare_buffers.push((done.plain, done.packed));
        }
    }
}
