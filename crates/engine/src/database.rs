//! `Database`: a store that is open, and the state that new queries see.

use crate::answer::Answer;
use crate::error::Error;
use crate::plan_cache::{PlanCache, PlanCacheStatus};
use crate::query::{Prepared, QueryOptions};
use crate::transactions::{Core, Durability, Transaction, WriteOptions, WriteStatus};
use crate::update::UpdateOptions;
use basalt_exec::path::KnownPathIndexes;
use basalt_loader::{Input, LoadOptions, LoadReport, NoProgress, Progress};
use basalt_rdf::GraphFormat;
use basalt_store::{
    Abandoned, BackupProgress, BackupReport, CheckDepth, CheckReport, Holder, Snapshot, StoreError,
    abandon, back_up, holder_of, is_free,
};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// A store, open for queries, changes and loads.
///
/// Queries run on the snapshot that was current when they began. A commit publishes a snapshot with its changes, a
/// load a new version. One writer at a time; see [`transactions`](crate::transactions).
///
/// Dropping it gives up a merge that is running, and releases the store.
#[derive(Debug)]
pub struct Database {
    core: Arc<Core>,
    /// Plans of queries that came again.
    plans: Box<PlanCache>,
    /// The indexes of paths that queries made.
    path_indexes: Arc<KnownPathIndexes>,
    /// The thread that syncs by interval.
    syncing: Option<JoinHandle<()>>,
}

impl Database {
    /// Opens the store in a folder.
    pub fn open(location: &Path) -> Result<Self, Error> {
        Self::open_with(location, WriteOptions::default())
    }

    /// As [`Self::open`], with options for writing.
    pub fn open_with(location: &Path, options: WriteOptions) -> Result<Self, Error> {
        let snapshot = Snapshot::open(location)?;
        Self::with(Some(location.to_owned()), snapshot, options)
    }

    /// Opens the store in a folder, empty if there is none yet.
    pub fn open_or_empty(location: &Path) -> Result<Self, Error> {
        Self::open_or_empty_with(location, WriteOptions::default())
    }

    /// As [`Self::open_or_empty`], with options for writing.
    pub fn open_or_empty_with(location: &Path, options: WriteOptions) -> Result<Self, Error> {
        let snapshot = match Snapshot::open(location) {
            Err(StoreError::NotAStore { .. }) if is_free(location) => Snapshot::empty(),
            opened => opened?,
        };
        Self::with(Some(location.to_owned()), snapshot, options)
    }

    /// As [`Self::open_or_empty`], for who loads at once: that the store is whole is verified while the load
    /// goes on, and a damaged one refuses it at its end. Until then queries could meet the damage.
    pub fn open_to_load(location: &Path) -> Result<Self, Error> {
        let snapshot = match Snapshot::open_unverified(location) {
            Err(StoreError::NotAStore { .. }) if is_free(location) => Snapshot::empty(),
            opened => opened?,
        };
        Self::with(Some(location.to_owned()), snapshot, WriteOptions::default())
    }

    /// An empty database that lives in memory.
    pub fn in_memory() -> Self {
        Self::of_snapshot(Snapshot::empty())
    }

    /// A database in memory that begins with the state of a snapshot, wherever that is stored. Changes stay in
    /// memory.
    pub fn of_snapshot(snapshot: Snapshot) -> Self {
        Self::in_memory_with(snapshot, WriteOptions::default())
    }

    /// As [`Self::of_snapshot`], with options for writing; there is no log, so durability has no meaning.
    pub fn in_memory_with(snapshot: Snapshot, options: WriteOptions) -> Self {
        Self {
            core: Arc::new(Core::new(None, snapshot, options)),
            plans: Box::new(PlanCache::new()),
            path_indexes: Arc::default(),
            syncing: None,
        }
    }

    fn with(
        location: Option<PathBuf>,
        snapshot: Snapshot,
        options: WriteOptions,
    ) -> Result<Self, Error> {
        let core = Arc::new(Core::new(location, snapshot, options));
        let syncing = core.start()?;
        Ok(Self {
            core,
            plans: Box::new(PlanCache::new()),
            path_indexes: Arc::default(),
            syncing,
        })
    }

    /// The state that a query that begins now sees.
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }

    /// Begins the writer's turn; waits for the writer before. The first time it takes the lock of the store, which
    /// is kept until the database is dropped, reads what other processes have changed since it was opened,
    /// and makes the store if there was none.
    pub fn begin(&self) -> Result<Transaction<'_>, Error> {
        Transaction::begin(&self.core, &|| Ok(()))
    }

    /// The same for a request, which can be cancelled while it waits.
    pub(crate) fn begin_for(&self, options: &UpdateOptions) -> Result<Transaction<'_>, Error> {
        let cancel = &options.query.exec.cancel;
        let go_on = || match cancel.load(Ordering::Relaxed) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        };
        Transaction::begin(&self.core, &go_on)
    }

    /// Loads inputs into the store, all or nothing. Writers wait; a merge that runs by itself is given up, as
    /// the load takes the changes in, or waited for if the last one was given up for a load that failed.
    pub fn load(&self, options: LoadOptions, progress: &dyn Progress) -> Result<LoadReport, Error> {
        self.merge_after_failure(self.core.load(options, progress))
    }

    /// Rewrites the store as if all its data had been loaded at once, changes since then included; readers
    /// and writers go on meanwhile. Takes all of the machine, unlike a merge that comes by itself, which is given up
    /// for this.
    pub fn optimize(&self, progress: &dyn Progress) -> Result<LoadReport, Error> {
        self.merge_after_failure(self.core.optimize(progress))
    }

    /// A merge may have given up for a request that came to nothing.
    fn merge_after_failure(&self, written: Result<LoadReport, Error>) -> Result<LoadReport, Error> {
        if written.is_err() {
            Core::merge_if_due(&self.core);
        }
        written
    }

    /// Merges the changes into a new version now: [`Self::optimize`] without anybody who watches.
    pub fn merge_now(&self) -> Result<LoadReport, Error> {
        self.optimize(&NoProgress)
    }

    /// Whether so much was changed that a merge is due, which the last commit has begun in the background or the next one will. For a process that ends
    /// after a few commits: with that it gives up the merge, unless it calls [`Self::merge_now`] before.
    pub fn is_merge_due(&self) -> bool {
        self.core.is_merge_due()
    }

    /// Makes a merge that runs by itself give up, if there is one, and does not wait for it; a later commit may start
    /// another. For tests; a process that is about to end calls [`Self::end_writing`].
    #[doc(hidden)]
    pub fn give_up_merge(&self) {
        self.core.merges.cancel();
    }

    /// Whether the last merge that ran by itself was told to give up; for tests.
    #[doc(hidden)]
    pub fn is_merge_given_up(&self) -> bool {
        self.core.merges.is_cancelled()
    }

    /// Takes the lock of the store and keeps it, and tells those who find it locked where they can ask this process
    /// to write. After an error nothing has changed, and the next writer's turn tries again. Once for each
    /// database; in memory there is nobody to tell.
    pub fn announce(&self, holder: Holder) -> Result<(), Error> {
        let _ = self.core.holder.set(holder);
        let mut turn = self.core.take_turn()?;
        self.core.tell_holder(&mut turn);
        drop(turn);
        // One may have been given up when the process before ended.
        Core::merge_if_due(&self.core);
        Ok(())
    }

    /// Who has the store in a folder open for writing and can be asked to write, if there is one who says so.
    pub fn holder_of(location: &Path) -> Option<Holder> {
        holder_of(location)
    }

    /// For a process that is about to end: what was committed is synced as the durability asks, and a merge or a load that is
    /// running is given up, with its files removed, so that dropping the database waits for nothing. Until the process ends no new
    /// version can be written to the store.
    pub fn end_writing(&self) -> Result<(), Error> {
        self.core.merges.cancel();
        // Before the thread that syncs by interval is told to end, which would do the same meanwhile.
        if matches!(self.core.options.durability, Durability::Interval(_)) {
            self.core.sync_queue();
        }
        self.core.close_commits();
        match &self.core.location {
            Some(location) => Self::abandon_load(location).map(drop),
            None => Ok(()),
        }
    }

    /// What is known of the writing, for metrics.
    pub fn write_status(&self) -> WriteStatus {
        self.core.write_status()
    }

    /// Copies the store in a folder, as it is now, to a new folder, whoever has it open; see
    /// [`back_up`].
    pub fn back_up(
        location: &Path,
        destination: &Path,
        progress: &mut BackupProgress<'_>,
    ) -> Result<BackupReport, Error> {
        Ok(back_up(location, destination, progress)?)
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

    /// Parses and plans a query on the current state; the plan may be that of an earlier query with the same text.
    pub fn prepare(&self, text: &str, options: &QueryOptions) -> Result<Prepared, Error> {
        let prepared = Prepared::with_cache(&self.plans, self.snapshot(), text, options)?;
        Ok(Prepared {
            path_indexes: Some(Arc::clone(&self.path_indexes)),
            ..prepared
        })
    }

    /// How the cache of plans does, for metrics.
    pub fn plan_cache_status(&self) -> PlanCacheStatus {
        self.plans.status()
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

impl Drop for Database {
    fn drop(&mut self) {
        self.core.merges.cancel();
        // `end_writing` has closed them: the process ends, and nothing is waited for.
        if self.core.close_commits() {
            return;
        }
        if let Some(thread) = self.syncing.take() {
            // A sync that fails is noted in the turn, and nobody is left to read it.
            let _ = thread.join();
        }
        self.core.merges.join();
    }
}
