//! `Database`: a store that is open, and the version that new queries see.

use crate::answer::Answer;
use crate::error::Error;
use crate::query::{Prepared, QueryOptions};
use basalt_loader::{Input, LoadOptions, LoadReport, NoProgress, Progress, load_into, optimize};
use basalt_rdf::GraphFormat;
use basalt_store::{
    Abandoned, CheckDepth, CheckReport, Snapshot, Storage, StoreError, abandon, is_free,
};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};

/// A store, open for queries and loads.
///
/// Queries run on the snapshot that was current when they began; a load makes a new version and
/// publishes it at the end. One load at a time.
pub struct Database {
    location: Option<PathBuf>,
    current: RwLock<Snapshot>,
    /// Held by the load that is running.
    writer: Mutex<()>,
}

impl Database {
    /// Opens the store in a folder.
    pub fn open(location: &Path) -> Result<Self, Error> {
        let snapshot = Snapshot::open(location)?;
        Ok(Self::with(Some(location.to_owned()), snapshot))
    }

    /// Opens the store in a folder, empty if there is none yet.
    pub fn open_or_empty(location: &Path) -> Result<Self, Error> {
        match Snapshot::open(location) {
            Ok(snapshot) => Ok(Self::with(Some(location.to_owned()), snapshot)),
            Err(StoreError::NotAStore { .. }) if is_free(location) => {
                Ok(Self::with(Some(location.to_owned()), Snapshot::empty()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An empty database that lives in memory.
    pub fn in_memory() -> Self {
        Self::with(None, Snapshot::empty())
    }

    /// A database in memory that begins with this view, whatever made it. What is loaded into it stays in
    /// memory.
    pub fn of_snapshot(snapshot: Snapshot) -> Self {
        Self::with(None, snapshot)
    }

    fn with(location: Option<PathBuf>, snapshot: Snapshot) -> Self {
        Self {
            location,
            current: RwLock::new(snapshot),
            writer: Mutex::new(()),
        }
    }

    /// The version that a query that begins now sees.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().expect("no holder panics").clone()
    }

    /// Loads inputs into the store, all or nothing.
    pub fn load(&self, options: LoadOptions, progress: &dyn Progress) -> Result<LoadReport, Error> {
        let _writer = self.writer.lock().expect("no holder panics");
        let open = self.snapshot();
        let (snapshot, report) = load_into(options, self.storage(), Some(&open), progress)?;
        *self.current.write().expect("no holder panics") = snapshot;
        Ok(report)
    }

    /// Rewrites the store as if all its data had been loaded at once; readers go on meanwhile.
    pub fn optimize(&self, progress: &dyn Progress) -> Result<LoadReport, Error> {
        let _writer = self.writer.lock().expect("no holder panics");
        let open = self.snapshot();
        let (snapshot, report) = optimize(self.storage(), Some(&open), progress)?;
        *self.current.write().expect("no holder panics") = snapshot;
        Ok(report)
    }

    fn storage(&self) -> Storage {
        match &self.location {
            Some(folder) => Storage::Directory(folder.clone()),
            None => Storage::Memory,
        }
    }

    /// Gives up the load that this process runs into the store in a folder, and removes its files: for a
    /// process that is told to end. Until it ends it cannot write there again.
    pub fn abandon_load(location: &Path) -> Result<Abandoned, Error> {
        Ok(abandon(location)?)
    }

    /// Loads a text; for examples and tests.
    pub fn load_text(&self, text: &str, format: GraphFormat) -> Result<LoadReport, Error> {
        let reader = Cursor::new(text.as_bytes().to_vec());
        let inputs = vec![Input::reader("text", reader, format)];
        self.load(
            LoadOptions {
                inputs,
                ..LoadOptions::default()
            },
            &NoProgress,
        )
    }

    /// Parses and plans a query on the current version.
    pub fn prepare(&self, text: &str, options: &QueryOptions) -> Result<Prepared, Error> {
        Prepared::new(self.snapshot(), text, options)
    }

    /// Runs a query on the current version.
    pub fn query(&self, text: &str, options: &QueryOptions) -> Result<Answer, Error> {
        self.prepare(text, options)?.run(options)
    }

    /// Verifies the store.
    pub fn check(&self, depth: CheckDepth) -> Result<CheckReport, Error> {
        Ok(self.snapshot().check(depth)?)
    }
}
