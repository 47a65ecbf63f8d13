//! Disks for tests: the file system with slow syncs, with one failure, or with a record of what was done.

use basalt_store::{Disk, DiskFile, RealDisk};
use basalt_testkit::crash_disk::{CrashDisk, Operation};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is done before an operation; the operation is not done if it fails.
pub trait Watcher: Send + Sync {
    /// Before an operation on these files.
    fn before(&self, operation: &Operation) -> io::Result<()>;
    /// After it was done.
    fn after(&self, _operation: Operation) {}
}

/// The file system with a watcher.
pub struct WatchedDisk(Arc<dyn Watcher>);

struct WatchedFile {
    file: Box<dyn DiskFile>,
    name: String,
    watcher: Arc<dyn Watcher>,
}

impl fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedDisk")
    }
}

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchedFile({})", self.name)
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("files have names");
    name.to_string_lossy().into_owned()
}

impl WatchedDisk {
    /// The file system, watched by this.
    pub fn watched_by(watcher: Arc<dyn Watcher>) -> Arc<dyn Disk> {
        Arc::new(Self(watcher))
    }

    fn run<T>(
        watcher: &dyn Watcher,
        operation: Operation,
        run: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        watcher.before(&operation)?;
        let done = run()?;
        watcher.after(operation);
        Ok(done)
    }

    fn file(&self, path: &Path, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(WatchedFile {
            file,
            name: name(path),
            watcher: Arc::clone(&self.0),
        })
    }
}

impl Disk for WatchedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let operation = Operation::Create(name(path));
        let file = Self::run(&*self.0, operation, || RealDisk.create(path))?;
        Ok(self.file(path, file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(path, RealDisk.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let operation = Operation::Rename(name(from), name(to));
        Self::run(&*self.0, operation, || RealDisk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let operation = Operation::Remove(name(path));
        Self::run(&*self.0, operation, || RealDisk.remove(path))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        Self::run(&*self.0, Operation::SyncFolder, || {
            RealDisk.sync_folder(path)
        })
    }
}

impl DiskFile for WatchedFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let operation = Operation::Write(self.name.clone(), offset, bytes.to_vec());
        WatchedDisk::run(&*self.watcher, operation, || {
            self.file.write_at(offset, bytes)
        })
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        let operation = Operation::Truncate(self.name.clone(), bytes);
        WatchedDisk::run(&*self.watcher, operation, || self.file.truncate(bytes))
    }

    fn sync(&self) -> io::Result<()> {
        let operation = Operation::Sync(self.name.clone());
        WatchedDisk::run(&*self.watcher, operation, || self.file.sync())
    }
}

/// Whether an operation makes something durable.
pub fn is_sync(operation: &Operation) -> bool {
    matches!(operation, Operation::Sync(_) | Operation::SyncFolder)
}

/// Makes syncs of files slow, and counts them.
#[derive(Debug, Default)]
pub struct SlowSyncs(AtomicUsize);

/// How long a sync takes at least.
const SYNC_TIME: Duration = Duration::from_millis(2);

impl SlowSyncs {
    /// Syncs of files until now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Watcher for SlowSyncs {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        if matches!(operation, Operation::Sync(_)) {
            self.0.fetch_add(1, Ordering::Relaxed);
            // The stand-in for a disk that takes its time.
            std::thread::sleep(SYNC_TIME);
        }
        Ok(())
    }
}

/// Fails operations by their number, from 0.
#[derive(Debug)]
pub struct Failing {
    done: AtomicUsize,
    fails: Vec<usize>,
}

impl Failing {
    /// Fails these.
    pub fn at(fails: Vec<usize>) -> Arc<Self> {
        Arc::new(Self {
            done: AtomicUsize::new(0),
            fails,
        })
    }

    /// Operations until now.
    pub fn operations(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

impl Watcher for Failing {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::Relaxed);
        match self.fails.contains(&number) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    }
}

/// Records what is done in a store folder, and keeps the files of all its versions.
pub struct Recorder {
    store: PathBuf,
    versions: PathBuf,
    disk: Mutex<CrashDisk>,
}

impl Recorder {
    /// Records what is done from now on. Files of versions are kept in the other folder.
    pub fn new(store: &Path, versions: &Path) -> Arc<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(store).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                files.insert(name(&path), fs::read(&path).expect("it can be read"));
            }
        }
        let recorder = Arc::new(Self {
            store: store.to_owned(),
            versions: versions.to_owned(),
            disk: Mutex::new(CrashDisk::new(files)),
        });
        recorder.keep_versions();
        recorder
    }

    /// What was done.
    pub fn disk(&self) -> CrashDisk {
        self.disk.lock().expect("no holder panics").clone()
    }

    /// Operations until now.
    pub fn operations(&self) -> usize {
        self.disk().operations().len()
    }

    /// Links the files of versions, which never change, to the other folder.
    fn keep_versions(&self) {
        for entry in fs::read_dir(&self.store).into_iter().flatten() {
            let folder = entry.expect("an entry").path();
            if folder.is_dir() {
                link_files(&folder, &self.versions.join(name(&folder)));
            }
        }
    }
}

impl Watcher for Recorder {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        if matches!(operation, Operation::Rename(..)) {
            self.keep_versions();
        }
        Ok(())
    }

    fn after(&self, operation: Operation) {
        self.disk
            .lock()
            .expect("no holder panics")
            .record(operation);
    }
}

/// Gives the files of a folder names in another one too, in the place of what has these names there.
pub fn link_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder of the test");
    for entry in fs::read_dir(from).expect("a folder of the test") {
        let path = entry.expect("an entry").path();
        let target = to.join(name(&path));
        // A version that was given up, or never published, may have had the number before.
        let _ = fs::remove_file(&target);
        fs::hard_link(&path, &target).expect("it can be linked");
    }
}
