//! The queries and writes that are running: to be listed, and to be told to stop.
//!
//! An [`Entry`] is in the list as long as it lives.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Characters of a query text shown in the list.
const SHOWN_CHARS: usize = 2000;

/// What of a text is shown in the list.
pub fn shown(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARS);
    end.map_or(text, |(end, _)| &text[..end])
}

/// What a request that runs may do to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It reads.
    Read,
    /// It may change it: to cancel this takes what writing takes.
    Write,
}

/// All running queries.
#[derive(Debug, Default)]
pub struct Registry {
    next_id: AtomicU64,
    /// How many run on another thread than that of their connection; read without the lock, since lanes that wait ask each microsecond.
    elsewhere: AtomicUsize,
    running: Mutex<BTreeMap<u64, Running>>,
}

#[derive(Debug)]
struct Running {
    text: String,
    work: Work,
    start: Instant,
    cancel: Arc<AtomicBool>,
}

/// The place of one query in the list.
#[derive(Debug)]
pub struct Entry {
    registry: Arc<Registry>,
    id: u64,
    is_elsewhere: bool,
}

impl Entry {
    /// Says that it runs on another thread than that of its connection.
    #[must_use]
    pub fn elsewhere(mut self) -> Self {
        if !self.is_elsewhere {
            self.registry.elsewhere.fetch_add(1, Ordering::Relaxed);
            self.is_elsewhere = true;
        }
        self
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.id);
        if self.is_elsewhere {
            self.registry.elsewhere.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Registry {
    /// Adds a query with the flag that stops it.
    pub fn enter(self: &Arc<Self>, text: &str, work: Work, cancel: Arc<AtomicBool>) -> Entry {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let text = shown(text).to_owned();
        self.lock().insert(
            id,
            Running {
                text,
                work,
                start: Instant::now(),
                cancel,
            },
        );
        Entry {
            registry: Arc::clone(self),
            id,
            is_elsewhere: false,
        }
    }

    /// Whether something runs on another thread than that of its connection.
    pub fn runs_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Relaxed) > 0
    }

    /// The number of running queries.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// What the query of this number may do, if there is one.
    pub fn work(&self, id: u64) -> Option<Work> {
        self.lock().get(&id).map(|query| query.work)
    }

    /// Tells a query to stop; false if there is none of that number.
    pub fn cancel(&self, id: u64) -> bool {
        let running = self.lock();
        let found = running.get(&id);
        found
            .inspect(|query| query.cancel.store(true, Ordering::Relaxed))
            .is_some()
    }

    /// Tells all queries to stop.
    pub fn cancel_all(&self) {
        self.lock()
            .values()
            .for_each(|query| query.cancel.store(true, Ordering::Relaxed));
    }

    /// The list, oldest first.
    pub fn to_json(&self) -> Value {
        let running = self.lock();
        let entries = running.iter().map(|(id, query)| {
            let elapsed_ms = query.start.elapsed().as_millis() as u64;
            json!({"id": id, "query": query.text, "elapsed_ms": elapsed_ms})
        });
        Value::Array(entries.collect())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Running>> {
        // Every change is one call of the map, so a panic elsewhere leaves nothing half done.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
