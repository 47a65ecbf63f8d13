//! From the log to a state: replaying commits over their version, for readers and for the next writer.
//!
//! A reader takes the whole records and leaves the file alone. A writer, who holds the store's lock, also cuts
//! off a torn tail and syncs the file: what it reads it builds on, so it must not get lost any more. It also removes
//! the files of versions that were never published.
//!
//! Cost: one pass over the log, whose contents tell whether a state that is open was read from it; if not, each commit is applied as when it was made, without looking for its terms.

use crate::dictionary::TermCounts;
use crate::error::StoreError;
use crate::folder::Folders;
use crate::lock::StoreLock;
use crate::log::file::{LogFile, name_of_log, read_log};
use crate::log::payload::CommitRecord;
use crate::log::writer::LogWriter;
use crate::manifest::{Manifest, remove_unnamed, sync_folder_on};
use crate::snapshot::{Snapshot, Version};
use std::io::ErrorKind;
use std::path::Path;

/// A store as its last writer left it.
#[derive(Debug)]
pub struct Recovered {
    /// The newest state.
    pub snapshot: Snapshot,
    /// Its log, cut to whole records and synced; `None` if the version has none yet.
    pub log: Option<LogWriter>,
}

/// What was read from a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogContents {
    /// The digest of its header and its whole records.
    pub(crate) digest: u64,
    /// All terms there were after them.
    pub(crate) terms: TermCounts,
}

impl Snapshot {
    /// Opens the current version of the store in this folder, with the commits of its log, and verifies it.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let snapshot = Self::open_unverified(dir)?;
        snapshot.verify()?;
        Ok(snapshot)
    }

    /// Opens the current version of the store in this folder, with the commits of its log, without verifying the
    /// contents of its files: for a writer, who has it verified while other things go on. A version that is built on
    /// it verifies it before it is committed.
    pub fn open_unverified(dir: &Path) -> Result<Self, StoreError> {
        Ok(open_newest(dir, None)?.0)
    }

    /// The newest state of the store in this folder, which this one is a state of, or an earlier version: what
    /// other processes have committed since is there. It is verified if this one is of the same version and was.
    pub fn newest_of(&self, dir: &Path) -> Result<Self, StoreError> {
        Ok(open_newest(dir, Some(self))?.0)
    }
}

/// Opens the newest state of a store for its next writer, who holds the lock. `open` is a snapshot that
/// the caller has: if it is of the current version, the checksums of its files are not verified again.
pub fn recover(lock: &StoreLock, open: &Snapshot) -> Result<Recovered, StoreError> {
    // The writer before may have died between making a version current and making that durable.
    sync_folder_on(&**lock.disk(), lock.path())?;
    let (snapshot, log) = open_newest(lock.path(), Some(open))?;
    snapshot.verify()?;
    // What a writer left that died in the middle of a version. What cannot be removed now is no harm.
    let _ = remove_unnamed(&**lock.disk(), lock.path(), Some(snapshot.manifest()));
    let log = match &log {
        Some(log) => LogWriter::open(lock, &snapshot, log)?,
        None => None,
    };
    Ok(Recovered { snapshot, log })
}

/// What was opened.
enum Opened {
    /// A version, without the commits of its log.
    Version(Snapshot),
    /// The state that the log says, which was open already.
    State(Snapshot),
}

/// Opens the newest state of a store, and gives the log that it was read from, if there is one. Its files are not
/// verified.
pub(crate) fn open_newest(
    dir: &Path,
    open: Option<&Snapshot>,
) -> Result<(Snapshot, Option<LogFile>), StoreError> {
    let (opened, log) = of_current(dir, |manifest| {
        let log = read_log(dir, &manifest)?;
        let known = open.filter(|open| open.is_in(dir) && *open.manifest() == manifest);
        let has_commits = log.as_ref().is_some_and(|log| !log.records.is_empty());
        let version = match known {
            Some(open) if !has_commits && open.is_untouched() => open.clone(),
            Some(open)
                if log
                    .as_ref()
                    .is_some_and(|log| open.is_read_from(log.digest)) =>
            {
                return Ok((Opened::State(open.clone()), log));
            }
            known => open_version(dir, manifest, known.is_some_and(Snapshot::is_verified))?,
        };
        Ok((Opened::Version(version), log))
    })?;
    let state = match (opened, &log) {
        (Opened::State(state), _) => state,
        (Opened::Version(version), Some(log)) => replay_log(&version, log)?,
        (Opened::Version(version), None) => version,
    };
    Ok((state, log))
}

/// Reads what the current manifest of a store names, and that again if another version has become the current one
/// meanwhile: with a version its files go, and its log, since what was in that is in the version that replaces it.
pub(crate) fn of_current<T>(
    dir: &Path,
    read: impl Fn(Manifest) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    // Termination: each round again means that a writer has made a version meanwhile.
    loop {
        let manifest = Manifest::read(dir)?;
        let number = manifest.version;
        let outcome = read(manifest);
        let is_replaced = Manifest::read(dir)?.version != number;
        match outcome {
            Err(StoreError::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && is_replaced => {}
            Err(error) => return Err(error),
            Ok(_) if is_replaced => {}
            Ok(found) => return Ok(found),
        }
    }
}

/// Opens and verifies a store in a folder that has everything but its manifest, which is this one.
pub(crate) fn open_unpublished(dir: &Path, manifest: Manifest) -> Result<Snapshot, StoreError> {
    let log = read_log(dir, &manifest)?;
    let version = open_version(dir, manifest, false)?;
    version.verify()?;
    match &log {
        Some(log) => replay_log(&version, log),
        None => Ok(version),
    }
}

/// Opens a version without any commit after it, whose files may be known to be right. Commits are replayed over a
/// version that nobody else has: those of another view of it may have been cut off before they were synced, with
/// others in their place.
fn open_version(dir: &Path, manifest: Manifest, is_verified: bool) -> Result<Snapshot, StoreError> {
    let version = Version::open(Folders::on_disk(dir), manifest)?;
    if !is_verified {
        return Ok(Snapshot::of_unverified(version));
    }
    Ok(Snapshot::of(version))
}

/// The state of a version after the commits of its log.
fn replay_log(version: &Snapshot, log: &LogFile) -> Result<Snapshot, StoreError> {
    let mut state = version.clone();
    for record in &log.records {
        state = replay(&state, record).map_err(|error| in_log(error, version, record))?;
    }
    let terms = state.term_counts();
    Ok(state.read_from(LogContents {
        digest: log.digest,
        terms,
    }))
}

/// The state after one more commit.
fn replay(state: &Snapshot, record: &CommitRecord) -> Result<Snapshot, StoreError> {
    state.restore_terms(record.terms_from, &record.terms)?;
    let (after, changes) = state.with_changes(&record.removed, &record.added)?;
    if changes.removed.len() != record.removed.len() || changes.added.len() != record.added.len() {
        return Err(StoreError::invalid(
            "it removes quads that are not there, or adds quads that are",
        ));
    }
    Ok(after.with_commit_number(record.number))
}

/// A record that says what cannot be is damage.
fn in_log(error: StoreError, state: &Snapshot, record: &CommitRecord) -> StoreError {
    let StoreError::InvalidInput { what } = error else {
        return error;
    };
    let what = format!("commit {} cannot be: {what}", record.number);
    StoreError::corrupt(&name_of_log(state.version()), 0, what)
}
