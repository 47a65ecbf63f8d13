//! Writing a log: records at its end, syncs, and cutting it back.
//!
//! A record is written at once and synced later, through a [`LogSync`], which several commits can share and which other
//! threads can use while the next record is written.
//!
//! Invariants: what was synced is never changed or cut off; a record that could not be written whole is
//! cut off before anything else is written. If even that fails the log is not *sound*, and takes no more records.

use crate::dictionary::TermCounts;
use crate::disk::DiskFile;
use crate::error::StoreError;
use crate::lock::StoreLock;
use crate::log::file::{LogFile, path_of_log};
use crate::log::header::{HEADER_BYTES, Header};
use crate::log::payload::CommitRecord;
use crate::log::scan::frame;
use crate::manifest::sync_folder_on;
use crate::snapshot::Snapshot;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of a record, and the terms there are after it.
#[derive(Clone, Copy, Debug)]
struct Mark {
    end: u64,
    terms: TermCounts,
    number: u64,
}

/// A log that is open for writing, by the holder of the store's lock.
#[derive(Debug)]
pub struct LogWriter {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    salt: u64,
    /// The ends of the last record that was synced when the list was last looked at, and of those since.
    marks: VecDeque<Mark>,
    /// Bytes that are synced.
    synced: Arc<AtomicU64>,
    /// Whether the file ends where the last mark says.
    is_sound: bool,
}

/// Syncs a log up to a commit.
#[derive(Clone, Debug)]
pub struct LogSync {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    end: u64,
    synced: Arc<AtomicU64>,
}

impl LogSync {
    /// Makes everything up to the commit durable. One thread at a time.
    pub fn sync(&self) -> Result<(), StoreError> {
        if self.end <= self.synced.load(Ordering::Acquire) {
            return Ok(());
        }
        self.file
            .sync()
            .map_err(StoreError::io("sync", &self.path))?;
        self.synced.fetch_max(self.end, Ordering::AcqRel);
        Ok(())
    }
}

impl LogWriter {
    /// Makes the log of a version, whose state is this one without any change. Header and name are durable
    /// when this returns.
    pub fn create(lock: &StoreLock, base: &Snapshot) -> Result<Self, StoreError> {
        let manifest = base.manifest();
        let dir = lock.path();
        let path = path_of_log(dir, manifest.version);
        let header = Header::new(manifest.version, manifest.identity(), manifest.commits);
        let disk = lock.disk();
        let made = disk.create(&path).map_err(StoreError::io("create", &path));
        let written = made.and_then(|file| {
            let written = file.write_at(0, &header.to_bytes());
            written.map_err(StoreError::io("write", &path))?;
            file.sync().map_err(StoreError::io("sync", &path))?;
            sync_folder_on(&**disk, dir)?;
            Ok(file)
        });
        let file = written.inspect_err(|_| {
            // A log without a whole header is none, so it does no harm if it stays.
            let _ = disk.remove(&path);
        })?;
        let start = Mark {
            end: HEADER_BYTES as u64,
            terms: base.version_term_counts(),
            number: manifest.commits,
        };
        Ok(Self::at(file.into(), path, header.salt, start))
    }

    /// Opens the log that was read: cuts off what is after its whole records, and syncs it, as its last
    /// writer may not have come to that. `None` if its header is not whole: it is made anew by the first commit.
    pub(super) fn open(
        lock: &StoreLock,
        base: &Snapshot,
        log: &LogFile,
    ) -> Result<Option<Self>, StoreError> {
        let manifest = base.manifest();
        let Some(header) = log.header else {
            return Ok(None);
        };
        let path = path_of_log(lock.path(), manifest.version);
        let opened = lock.disk().open(&path);
        let file = opened.map_err(StoreError::io("open", &path))?;
        if log.whole_bytes < log.file_bytes {
            let cut = file.truncate(log.whole_bytes);
            cut.map_err(StoreError::io("shorten", &path))?;
        }
        file.sync().map_err(StoreError::io("sync", &path))?;
        let mark = Mark {
            end: log.whole_bytes,
            terms: log
                .records
                .last()
                .map_or_else(|| base.version_term_counts(), CommitRecord::terms_after),
            number: log
                .records
                .last()
                .map_or(header.commits_before, |r| r.number),
        };
        Ok(Some(Self::at(file.into(), path, header.salt, mark)))
    }

    fn at(file: Arc<dyn DiskFile>, path: PathBuf, salt: u64, mark: Mark) -> Self {
        Self {
            file,
            path,
            salt,
            marks: VecDeque::from([mark]),
            synced: Arc::new(AtomicU64::new(mark.end)),
            is_sound: true,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the log.
    pub fn bytes(&self) -> u64 {
        self.last().end
    }

    /// Whether it can take more records.
    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    fn last(&self) -> Mark {
        *self
            .marks
            .back()
            .expect("there is always the mark of the start")
    }

    /// Writes the record of the next commit. After an error the log is what it was before, or not sound.
    pub fn append(&mut self, record: &CommitRecord) -> Result<(), StoreError> {
        let last = self.last();
        if !self.is_sound || record.number != last.number + 1 || record.terms_from != last.terms {
            let what = format!("commit {} does not follow in the log", record.number);
            return Err(StoreError::InvalidInput { what });
        }
        let synced = self.synced.load(Ordering::Acquire);
        let bytes = frame(record.number, synced, &record.to_payload(), self.salt);
        if let Err(source) = self.file.write_at(last.end, &bytes) {
            let error = StoreError::io("write", &self.path)(source);
            self.is_sound = self.file.truncate(last.end).is_ok();
            return Err(error);
        }
        self.marks.push_back(Mark {
            end: last.end + bytes.len() as u64,
            terms: record.terms_after(),
            number: record.number,
        });
        while self.marks.get(1).is_some_and(|next| next.end <= synced) {
            self.marks.pop_front();
        }
        Ok(())
    }

    /// What syncs the log up to the last commit.
    pub fn sync_handle(&self) -> LogSync {
        LogSync {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
            end: self.last().end,
            synced: Arc::clone(&self.synced),
        }
    }

    /// After a sync that failed: cuts off all that is not synced, and makes that durable; returns the counts of terms
    /// after what is left. After an error the log is not sound.
    pub fn cut_to_synced(&mut self) -> Result<TermCounts, StoreError> {
        let synced = self.synced.load(Ordering::Acquire);
        self.is_sound = false;
        let cut = self.file.truncate(synced);
        cut.map_err(StoreError::io("shorten", &self.path))?;
        self.file
            .sync()
            .map_err(StoreError::io("sync", &self.path))?;
        while self.last().end > synced && self.marks.len() > 1 {
            self.marks.pop_back();
        }
        self.is_sound = self.last().end == synced;
        Ok(self.last().terms)
    }
}
