//! The worker pool: a fixed set of threads for the whole process.
//!
//! Jobs go through crossbeam deques: one injector that all workers steal from. Whoever spawns a job
//! works on the same pipeline itself, so a job that no worker has begun when the spawner is done is
//! simply withdrawn. Hence the pool can never deadlock, and a busy pool costs a query no waiting.

use crate::context::core_count;
use crate::error::ExecError;
use crossbeam_channel::{Receiver, bounded};
use crossbeam_deque::{Injector, Steal};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

/// The stack of a thread that runs plans, of which only what is used takes memory: plans may be nested deep.
pub const STACK_BYTES: usize = 16 << 20;

/// A job is waiting, running, or withdrawn.
const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const WITHDRAWN: u8 = 2;

type Task = Box<dyn FnOnce() + Send>;

struct Pool {
    tasks: Injector<Task>,
    /// Tasks pushed and not yet taken, under the lock that sleeping workers wait on.
    pending: Mutex<usize>,
    wake: Condvar,
}

/// A job given to the pool.
pub struct Job<T> {
    state: Arc<AtomicU8>,
    result: Receiver<Result<T, ExecError>>,
}

impl<T> Job<T> {
    /// Waits for the result; `None` if no worker had begun the job.
    pub fn finish(self) -> Option<Result<T, ExecError>> {
        let withdrawn =
            self.state
                .compare_exchange(WAITING, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
        if withdrawn.is_ok() {
            return None;
        }
        Some(self.result.recv().unwrap_or_else(|_| {
            Err(ExecError::Internal(
                "a worker thread stopped in the middle of a job".into(),
            ))
        }))
    }
}

/// Gives a job to the pool.
pub fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExecError> + Send + 'static,
) -> Job<T> {
    let state = Arc::new(AtomicU8::new(WAITING));
    let (sender, result) = bounded(1);
    let task_state = Arc::clone(&state);
    let task = Box::new(move || {
        let begun =
            task_state.compare_exchange(WAITING, RUNNING, Ordering::AcqRel, Ordering::Acquire);
        if begun.is_ok() {
            // A spawner that is gone wants no result.
            let _ = sender.send(work());
        }
    });
    let pool = pool();
    pool.tasks.push(task);
    *pool.pending.lock().expect("no holder panics") += 1;
    pool.wake.notify_one();
    Job { state, result }
}

fn pool() -> &'static Pool {
    static POOL: OnceLock<&'static Pool> = OnceLock::new();
    POOL.get_or_init(|| {
        let pool: &'static Pool = Box::leak(Box::new(Pool {
            tasks: Injector::new(),
            pending: Mutex::new(0),
            wake: Condvar::new(),
        }));
        let threads = core_count();
        for number in 0..threads {
            let name = format!("basalt-worker-{number}");
            std::thread::Builder::new()
                .name(name)
                .stack_size(STACK_BYTES)
                .spawn(move || pool.work())
                .expect("the system can start a thread");
        }
        pool
    })
}

impl Pool {
    fn work(&self) {
        loop {
            let mut pending = self.pending.lock().expect("no holder panics");
            while *pending == 0 {
                pending = self.wake.wait(pending).expect("no holder panics");
            }
            *pending -= 1;
            drop(pending);
            loop {
                match self.tasks.steal() {
                    Steal::Success(task) => {
                        // A job that panics must not take the worker with it; its spawner sees the closed channel.
                        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
                        break;
                    }
                    Steal::Empty => break,
                    Steal::Retry => {}
                }
            }
        }
    }
}
