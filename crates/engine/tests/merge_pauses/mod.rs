//! A merge that stops at each of its stages, so that a test can do something there.

#![allow(dead_code, reason = "each test program uses its own part")]

use basalt_engine::{MergeStage, MergeWatcher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A merge that nobody lets go on goes on by itself, so that a test that fails ends.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Stops merges.
#[derive(Debug)]
pub struct Pauses {
    is_on: AtomicBool,
    reached: Sender<Option<MergeStage>>,
    go_on: Mutex<Receiver<()>>,
}

impl MergeWatcher for Pauses {
    fn at(&self, stage: MergeStage) {
        if self.is_on.load(Ordering::Acquire) {
            // A test that is over does not listen any more.
            let _ = self.reached.send(Some(stage));
            let go_on = self.go_on.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = go_on.recv_timeout(PAUSE_MAX);
        }
    }
}

/// The test's end of it.
pub struct Stages {
    pauses: Arc<Pauses>,
    reached: Receiver<Option<MergeStage>>,
    go_on: Sender<()>,
}

impl Stages {
    /// Stops no merge before it is asked to.
    pub fn new() -> Self {
        let (told, reached) = channel();
        let (go_on, listens) = channel();
        let pauses = Arc::new(Pauses {
            is_on: AtomicBool::new(false),
            reached: told,
            go_on: Mutex::new(listens),
        });
        Self {
            pauses,
            reached,
            go_on,
        }
    }

    /// What a database is told to stop its merges.
    pub fn watcher(&self) -> Arc<dyn MergeWatcher> {
        Arc::clone(&self.pauses) as _
    }

    /// Stops merges from now on, or lets all go on.
    pub fn switch(&self, is_on: bool) {
        self.pauses.is_on.store(is_on, Ordering::Release);
    }

    /// Waits until a merge stops at this stage; it goes on at those before.
    pub fn wait_for(&self, stage: MergeStage) {
        // Termination: a merge passes all stages; a test whose merge does not come fails.
        loop {
            let reached = self.reached.recv_timeout(PAUSE_MAX);
            if reached.expect("a merge comes to this stage") == Some(stage) {
                return;
            }
            self.let_go_on();
        }
    }

    /// Lets the merge go on.
    pub fn let_go_on(&self) {
        // If the database is gone there is no merge.
        let _ = self.go_on.send(());
    }

    /// Merges on another thread, and does something at each stage.
    pub fn during<T: Send>(
        &self,
        merge: impl FnOnce() -> T + Send,
        mut at: impl FnMut(MergeStage),
    ) -> T {
        self.switch(true);
        let pauses = &self.pauses;
        let merged = std::thread::scope(|scope| {
            let merging = scope.spawn(move || {
                let merged = merge();
                // As above.
                let _ = pauses.reached.send(None);
                merged
            });
            while let Ok(Some(stage)) = self.reached.recv() {
                at(stage);
                self.let_go_on();
            }
            merging.join()
        });
        self.switch(false);
        merged.expect("a merge does not panic")
    }
}
