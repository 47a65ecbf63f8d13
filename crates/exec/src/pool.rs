//! The worker pool: a fixed set of threads for the whole process.
//!
//! Jobs go through crossbeam deques: one injector that all workers steal from. Whoever spawns a job
//! works on the same pipeline itself, so a job that no worker has begun when the spawner is done is
//! simply withdrawn. Hence the pool can never deadlock, and a busy pool costs a query no waiting.
//! What a job that is withdrawn would have worked on is dropped at once: its place in the deques may wait for long.

use crate::context::core_count;
use crate::error::ExecError;
use crossbeam_channel::{Receiver, bounded};
use crossbeam_deque::{Injector, Steal};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// The stack of a thread that runs plans, of which only what is used takes memory: plans may be nested deep.
pub const STACK_BYTES: usize = 16 << 20;

type Task = Box<dyn FnOnce() + Send>;

struct Pool {
    tasks: Injector<Task>,
    /// Tasks pushed and not yet taken, under the lock that sleeping workers wait on.
    pending: Mutex<usize>,
    wake: Condvar,
}

/// What a job does.
type Work<T> = Box<dyn FnOnce() -> Result<T, ExecError> + Send>;

/// What a job does, until a worker begins or the job is withdrawn, whichever takes it out first.
struct Waiting<T>(Mutex<Option<Work<T>>>);

impl<T> Waiting<T> {
    fn take(&self) -> Option<Work<T>> {
        let mut work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work.take()
    }
}

/// A job given to the pool.
pub struct Job<T> {
    waiting: Arc<Waiting<T>>,
    result: Receiver<Result<T, ExecError>>,
}

impl<T> Job<T> {
    /// Waits for the result; `None` if no worker had begun the job.
    pub fn finish(self) -> Option<Result<T, ExecError>> {
        if self.waiting.take().is_some() {
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
    let waiting = Arc::new(Waiting(Mutex::new(Some(Box::new(work) as Work<T>))));
    let (sender, result) = bounded(1);
    let given = Arc::clone(&waiting);
    let task = Box::new(move || {
        if let Some(work) = given.take() {
            // A spawner that is gone wants no result.
            let _ = sender.send(work());
        }
    });
    let pool = pool();
    pool.tasks.push(task);
    *pool.pending.lock().expect("no holder panics") += 1;
    pool.wake.notify_one();
    Job { waiting, result }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withdrawn_is_dropped() {
        // All workers wait until the end.
        let (hold, held) = bounded::<()>(0);
        let waiting: Vec<Job<()>> = (0..core_count())
            .map(|_| {
                let held = held.clone();
                spawn(move || {
                    let _ = held.recv();
                    Ok(())
                })
            })
            .collect();
        let data = Arc::new(());
        let theirs = Arc::clone(&data);
        let job = spawn(move || Ok(Arc::strong_count(&theirs)));
        match job.finish() {
            None => assert_eq!(Arc::strong_count(&data), 1),
            // A worker was not asked for by any of those that wait.
            Some(count) => assert_eq!(count.expect("nothing fails"), 2),
        }
        drop(hold);
        waiting.into_iter().for_each(|job| {
            job.finish();
        });
    }

    #[test]
    fn jobs_give_what_they_are_asked_for_or_are_withdrawn() {
        for number in 0..200 {
            let job = spawn(move || Ok(number * 2));
            let given = job.finish().map(|given| given.expect("nothing fails"));
            assert!(given.is_none_or(|given| given == number * 2));
        }
    }
}
