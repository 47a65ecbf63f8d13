//! Pipelines: reading an input whole, on several threads where that pays.
//!
//! A breaker reads its input through [`drain`]. If the chain of streaming operators below ends in a
//! star scan with several morsels, in a scan on a thread of its own, or in rows of another breaker that are several batches
//! ([`shared_rows`](super::shared_rows)), each thread builds the chain for itself over the shared morsels and
//! fills a sink of its own; hash tables in the chain are built before, once. If it begins with few rows that are expected to
//! lead to many, or with rows that cost little beside the build side that they are joined with, the calling thread makes those, and all
//! share them. Otherwise the calling
//! thread reads the input alone. Unless much work is expected the calling thread begins, and the others join in when it has worked
//! for a while (`reserve.rs`). A lookup therefore never hands over to another thread.

use super::build::{
    Build, cheap_beside_build, few_that_lead_to_many, is_above, is_shared_by_batch, rows_led_to,
    shared_leaf, shares_of,
};
use super::reserve::Reserve;
use super::shared_rows::{Shares, is_made_whole};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::pool::{self, Job};
use crate::profile;
use basalt_plan::physical::{Node, Op};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many times as long as a thread works alone a pipeline must be expected to take for others to be called at once.
const MUCH: f64 = 4.0;

/// What must be done for each row of a scan on a thread of its own, in nanoseconds, for all threads to take some: twice what the scan takes.
const ROW_WORK: f64 = 10.0;

/// Takes the rows of a pipeline.
pub trait Sink: Send + 'static {
    /// Takes one batch.
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError>;
}

/// Rows collected column by column.
pub struct Collected {
    /// The columns.
    pub columns: Vec<Vec<u64>>,
    /// Number of rows.
    pub rows: usize,
}

impl Collected {
    /// No rows of `width` columns.
    pub fn new(width: usize) -> Self {
        Self {
            columns: vec![Vec::new(); width],
            rows: 0,
        }
    }

    /// Appends all rows of `other`.
    pub fn append(&mut self, mut other: Self) {
        for (column, more) in self.columns.iter_mut().zip(&mut other.columns) {
            column.append(more);
        }
        self.rows += other.rows;
    }

    /// The rows as one batch.
    pub fn into_batch(self) -> Batch {
        Batch::from_vectors(self.columns, self.rows)
    }
}

impl Sink for Collected {
    fn push(&mut self, batch: &Batch, _: &Context) -> Result<(), ExecError> {
        for (idx, column) in self.columns.iter_mut().enumerate() {
            column.extend_from_slice(batch.ids(idx));
        }
        self.rows += batch.rows();
        Ok(())
    }
}

/// Reads all rows of `node`; returns one filled sink per thread that took part.
pub fn drain<S: Sink>(
    node: &Node,
    build: &Build,
    cx: &Context,
    make_sink: impl Fn() -> Result<S, ExecError>,
) -> Result<Vec<S>, ExecError> {
    let options = cx.options();
    let leaf = shared_leaf(node, options);
    if let Some(leaf) = leaf.filter(|leaf| is_for_all(node, leaf, cx)) {
        if is_shared_by_batch(leaf, options) {
            build.prepare_tables(node)?;
            let shares = shares_of(node, leaf, options);
            return drain_shared(node, leaf, build, &shares, &make_sink);
        }
        let few = Shares::of_few(options);
        if let Some(cheap) = cheap_beside_build(node) {
            return drain_shared(node, cheap, build, &few, &make_sink);
        }
        let scan = build.shared_scan(leaf, rows_led_to(node, leaf))?;
        let morsels = scan.morsels.len();
        if morsels > 1 {
            build.prepare_tables(node)?;
            let threads = options.threads.min(morsels);
            return drain_parallel(node, build, threads, &scan.reserve, make_sink);
        }
        if morsels == 1
            && let Some(first) = few_that_lead_to_many(node, options)
        {
            build.prepare_tables(node)?;
            return drain_shared(node, first, build, &few, &make_sink);
        }
    }
    drain_alone(node, build, make_sink)
}

/// Whether all threads are to take rows of a leaf. A scan on a thread of its own keeps one more at work, unless each row is much; a DISTINCT is made whole by one, too.
fn is_for_all(node: &Node, leaf: &Node, cx: &Context) -> bool {
    let options = cx.options();
    match &leaf.op {
        Op::Distinct { .. } => true,
        Op::PatternScan { .. } => {
            let above = node.estimated_cost - leaf.estimated_cost;
            let is_much = above > ROW_WORK * leaf.estimated_rows;
            options.threads > 1 && (is_much || options.dealt_rows_min == 0)
        }
        _ => options.threads > 1,
    }
}

fn drain_alone<S: Sink>(
    node: &Node,
    build: &Build,
    make_sink: impl Fn() -> Result<S, ExecError>,
) -> Result<Vec<S>, ExecError> {
    let mut sink = make_sink()?;
    fill(node, build, &mut sink)?;
    Ok(vec![sink])
}

/// With the rows of an operator of the chain shared among the threads, cut into shares. Tables that are made before may
/// say which of the rows are wanted; others are made if there are rows. If there are too few to share, those that they lead to are.
fn drain_shared<S: Sink>(
    node: &Node,
    shared: &Node,
    build: &Build,
    shares: &Shares,
    make_sink: &dyn Fn() -> Result<S, ExecError>,
) -> Result<Vec<S>, ExecError> {
    let options = build.context().options();
    let drained = build.share_rows(shared, shares).and_then(|rows| {
        if rows.is_empty() {
            return Ok(vec![make_sink()?]);
        }
        build.prepare_tables(node)?;
        if rows.has_several_batches() {
            return drain_parallel(node, build, options.threads, &rows.reserve, make_sink);
        }
        match few_that_lead_to_many(node, options).filter(|few| is_above(few, shared)) {
            Some(few) if options.threads > 1 => {
                drain_shared(node, few, build, &Shares::of_few(options), make_sink)
            }
            _ => drain_alone(node, build, make_sink),
        }
    });
    build.unshare_rows(shared);
    drained
}

fn fill<S: Sink>(node: &Node, build: &Build, sink: &mut S) -> Result<(), ExecError> {
    fill_and(node, build, sink, || {})
}

/// `between` is done after each batch.
fn fill_and<S: Sink>(
    node: &Node,
    build: &Build,
    sink: &mut S,
    between: impl Fn(),
) -> Result<(), ExecError> {
    let cx = build.context();
    let mut operator = build.operator(node)?;
    while let Some(batch) = operator.next(cx)? {
        sink.push(&batch, cx)?;
        between();
    }
    Ok(())
}

/// On this thread, and on others when these are called: whoever takes a share of what is shared looks whether it is time.
fn drain_parallel<S: Sink>(
    node: &Node,
    build: &Build,
    threads: usize,
    reserve: &Reserve,
    make_sink: impl Fn() -> Result<S, ExecError>,
) -> Result<Vec<S>, ExecError> {
    let shared_node = Arc::new(node.clone());
    let others = (1..threads)
        .map(|_| {
            let mut sink = make_sink()?;
            let (node, build) = (Arc::clone(&shared_node), build.clone());
            Ok(move || {
                fill(&node, &build, &mut sink)?;
                Ok(sink)
            })
        })
        .collect::<Result<Vec<_>, ExecError>>()?;
    let cx = build.context();
    let jobs = Arc::new(Mutex::new(Vec::new()));
    let called = (Arc::clone(&jobs), spawning(cx));
    reserve.wait(alone_for(node, cx), move || {
        let (jobs, spawn) = called;
        let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.extend(others.into_iter().map(spawn));
    });
    let waiting = DismissOnDrop(reserve);
    let mut sink = make_sink()?;
    let own = fill_and(node, build, &mut sink, || reserve.call_if_due()).map(|()| sink);
    drop(waiting);
    let jobs = std::mem::take(&mut *jobs.lock().unwrap_or_else(PoisonError::into_inner));
    put_together(own, jobs)
}

/// How long a thread works on a pipeline alone; not at all where much work is expected, since that may come in few shares.
fn alone_for(node: &Node, cx: &Context) -> Duration {
    let alone_for = cx.options().alone_for;
    let options = cx.options();
    let made_whole = shared_leaf(node, options).filter(|leaf| is_made_whole(leaf, options));
    let before = made_whole.map_or(0.0, |leaf| leaf.estimated_cost);
    let expected = node.estimated_cost - before;
    match expected > MUCH * alone_for.as_nanos() as f64 {
        true => Duration::ZERO,
        false => alone_for,
    }
}

/// Whoever fails or panics calls nobody later, and keeps nothing alive.
struct DismissOnDrop<'a>(&'a Reserve);

impl Drop for DismissOnDrop<'_> {
    fn drop(&mut self) {
        self.0.dismiss();
    }
}

/// Does shares of one piece of work: one on this thread, the others on threads of the pool as far as these begin before it is done. Returns what
/// those that began gave, this thread's first; or the first error of them, once all have ended.
pub fn on_threads<T: Send + 'static>(
    own: impl FnOnce() -> Result<T, ExecError>,
    others: Vec<impl FnOnce() -> Result<T, ExecError> + Send + 'static>,
    cx: &Context,
) -> Result<Vec<T>, ExecError> {
    let jobs = others.into_iter().map(spawning(cx)).collect();
    put_together(own(), jobs)
}

/// Gives work to the pool, for the node that is at work now.
fn spawning<T, W>(cx: &Context) -> impl Fn(W) -> Job<T> + Send + 'static
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, ExecError> + Send + 'static,
{
    let (cx, node) = (cx.shared(), profile::current_node());
    move |work| {
        let cx = Arc::clone(&cx);
        pool::spawn(move || cx.profile().resume(node, work))
    }
}

fn put_together<T>(own: Result<T, ExecError>, jobs: Vec<Job<T>>) -> Result<Vec<T>, ExecError> {
    let mut done = vec![own];
    done.extend(
        jobs.into_iter()
            .filter_map(|job| profile::waiting(|| job.finish())),
    );
    done.into_iter().collect()
}
