//! The folder that a comparison works in: `tools/` for what was fetched, `data/` for the
//! files to load, `stores/` for the stores of the moment, `kept/` for stores that are used again,
//! `answers/` for what the driver wrote.
//!
//! Invariants: what is in `tools/` and `data/` under its final name is complete, since
//! it was made under another name and renamed; so is what is in `kept/` under a folder with a
//! note of what it was made from. `stores/` may be emptied at any time.
//!
//! Cost: nothing of its own.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::XtaskError;

/// Name of the folder in which something is being made.
const UNFINISHED: &str = "unfinished";
/// Name of the file that says what a kept folder was made from.
const NOTE: &str = "made-from";

/// The folder.
pub struct WorkFolder {
    /// Its absolute path.
    root: PathBuf,
}

impl WorkFolder {
    /// Opens a folder, which is made if there is none.
    pub fn open(root: &Path) -> Result<Self, XtaskError> {
        for name in ["tools", "data", "stores", "kept", "answers"] {
            let folder = root.join(name);
            fs::create_dir_all(&folder).map_err(|source| cannot("make", &folder, source))?;
        }
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a tool: as it is if there, else as `make` fills it.
    pub fn tool(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), XtaskError>,
    ) -> Result<PathBuf, XtaskError> {
        let place = self.root.join("tools").join(name);
        if !place.exists() {
            let unfinished = self.root.join("tools").join(UNFINISHED);
            empty(&unfinished)?;
            make(&unfinished)?;
            rename(&unfinished, &place)?;
        }
        Ok(place)
    }

    /// A data file: as it is if there, else as `make` writes it, in an empty folder
    /// under the same name.
    pub fn data(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), XtaskError>,
    ) -> Result<PathBuf, XtaskError> {
        let place = self.root.join("data").join(name);
        if !place.exists() {
            eprintln!("compare: making {name}");
            let unfinished = self.root.join("data").join(UNFINISHED);
            empty(&unfinished)?;
            make(&unfinished.join(name))?;
            rename(&unfinished.join(name), &place)?;
        }
        Ok(place)
    }

    /// A folder that is kept: as it is if it was made from what the note says, else as `make`
    /// fills it.
    pub fn kept<T>(
        &self,
        name: &str,
        note: &str,
        make: impl FnOnce(&Path) -> Result<T, XtaskError>,
    ) -> Result<(PathBuf, Option<T>), XtaskError> {
        let folder = self.root.join("kept").join(name);
        let note_file = folder.join(NOTE);
        if fs::read_to_string(&note_file).is_ok_and(|found| found == note) {
            return Ok((folder, None));
        }
        empty(&folder)?;
        let made = make(&folder)?;
        let unfinished = folder.join(UNFINISHED);
        fs::write(&unfinished, note).map_err(|source| cannot("write", &unfinished, source))?;
        rename(&unfinished, &note_file)?;
        Ok((folder, Some(made)))
    }

    /// The place of a file that the driver writes; an older one is removed.
    pub fn answer(&self, name: &str) -> Result<PathBuf, XtaskError> {
        let path = self.root.join("answers").join(name);
        remove(&path)?;
        Ok(path)
    }

    /// A copy of a folder that is kept, to be changed.
    pub fn copy(&self, kept: &Path, name: &str) -> Result<PathBuf, XtaskError> {
        let folder = self.store(name)?;
        copy_into(kept, &folder)?;
        Ok(folder)
    }

    /// An empty folder for a store and its logs.
    pub fn store(&self, name: &str) -> Result<PathBuf, XtaskError> {
        let folder = self.root.join("stores").join(name);
        empty(&folder)?;
        Ok(folder)
    }
}

/// Removes a file or a folder with everything in it; that it is not there is fine.
pub fn remove(path: &Path) -> Result<(), XtaskError> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(cannot("remove", path, source))
        }
        _ => Ok(()),
    }
}

/// The bytes that a folder takes on disk: allocated blocks, so that holes in files
/// that are extended in advance do not count.
pub fn disk_bytes(folder: &Path) -> Result<u64, XtaskError> {
    let cannot_read = |source| cannot("read", folder, source);
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(cannot_read)? {
        let entry = entry.map_err(cannot_read)?;
        let metadata = entry.metadata().map_err(cannot_read)?;
        bytes += if metadata.is_dir() {
            disk_bytes(&entry.path())?
        } else {
            allocated(&metadata)
        };
    }
    Ok(bytes)
}

/// Reads a file from its begin to its end, so that it is in the page cache.
pub fn read_through(path: &Path) -> Result<u64, XtaskError> {
    let mut file = fs::File::open(path).map_err(|source| cannot("open", path, source))?;
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    // Termination: each turn consumes at least one byte or ends.
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes += read as u64,
            Err(source) => return Err(cannot("read", path, source)),
        }
    }
}

/// The error of an operation on a file.
pub fn cannot(operation: &'static str, path: &Path, source: io::Error) -> XtaskError {
    XtaskError::Io {
        operation,
        path: path.to_path_buf(),
        source,
    }
}

/// Copies all that is in a folder.
fn copy_into(from: &Path, to: &Path) -> Result<(), XtaskError> {
    let cannot_copy = |source| cannot("copy", from, source);
    for entry in fs::read_dir(from).map_err(cannot_copy)? {
        let entry = entry.map_err(cannot_copy)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(cannot_copy)?.is_dir() {
            fs::create_dir(&target).map_err(|error| cannot("make", &target, error))?;
            copy_into(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| cannot("copy", &source, error))?;
        }
    }
    Ok(())
}

/// Makes a folder that is empty.
fn empty(folder: &Path) -> Result<(), XtaskError> {
    remove(folder)?;
    fs::create_dir_all(folder).map_err(|source| cannot("make", folder, source))
}

fn rename(from: &Path, to: &Path) -> Result<(), XtaskError> {
    fs::rename(from, to).map_err(|source| cannot("make", to, source))
}

/// The bytes of a file on disk.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // A block is 512 bytes here, whatever the file system's own block size is.
    metadata.blocks() * 512
}

/// The length of a file, where its blocks are not known.
#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_failed_half_way_is_made_again() {
        let root = folder("work");
        let work = WorkFolder::open(&root).expect("the folder can be made");
        let failed = work.data("x.nt", |path| {
            fs::write(path, "half").map_err(|source| cannot("write", path, source))?;
            Err(XtaskError::Reported)
        });
        assert!(failed.is_err());
        let make =
            |path: &Path| fs::write(path, "whole").map_err(|source| cannot("write", path, source));
        let place = work.data("x.nt", make).expect("the file can be made");
        let again = work.data("x.nt", |_| Err(XtaskError::Reported));
        assert_eq!(again.expect("it is there already"), place);
        assert_eq!(fs::read(&place).expect("it can be read"), b"whole");
        assert_eq!(read_through(&place).expect("it can be read"), 5);
        remove(&root).expect("it is ours");
    }

    #[test]
    fn what_is_kept_is_made_again_when_its_origin_changes() {
        let root = folder("kept");
        let work = WorkFolder::open(&root).expect("the folder can be made");
        let make = |text: &'static str| {
            move |path: &Path| {
                let file = path.join("store");
                fs::write(&file, text).map_err(|source| cannot("write", &file, source))
            }
        };
        let (place, made) = work.kept("x", "a", make("1")).expect("it can be made");
        assert_eq!(made, Some(()));
        let (_, made) = work.kept("x", "a", make("2")).expect("it is there");
        assert_eq!(made, None);
        assert_eq!(fs::read(place.join("store")).expect("it is there"), b"1");
        let failed = work.kept("x", "b", |_| Err::<(), _>(XtaskError::Reported));
        assert!(failed.is_err());
        let (_, made) = work.kept("x", "a", make("3")).expect("it can be made");
        assert_eq!(
            made,
            Some(()),
            "what failed leaves nothing that counts as made"
        );
        remove(&root).expect("it is ours");
    }

    #[test]
    fn a_copy_is_whole_and_leaves_nothing_of_an_older_one() {
        let root = folder("copies");
        let work = WorkFolder::open(&root).expect("the folder can be made");
        let kept = root.join("kept/x");
        fs::create_dir_all(kept.join("store/inner")).expect("the folder can be made");
        fs::write(kept.join("store/inner/a"), "1").expect("it can be written");
        let first = work.copy(&kept, "y").expect("it can be copied");
        fs::write(first.join("store/b"), "2").expect("it can be written");
        fs::write(first.join("store/inner/a"), "3").expect("it can be written");
        let again = work.copy(&kept, "y").expect("it can be copied again");
        let read = fs::read_to_string(again.join("store/inner/a"));
        let is_left = again.join("store/b").exists();
        remove(&root).expect("it is ours");
        assert_eq!(
            (read.expect("it is there"), is_left),
            ("1".to_owned(), false)
        );
    }

    #[cfg(unix)]
    #[test]
    fn holes_take_no_space() {
        let root = folder("holes");
        fs::create_dir_all(root.join("inner")).expect("the folder can be made");
        let file = fs::File::create(root.join("inner/sparse")).expect("the file can be made");
        file.set_len(1 << 30).expect("it can be extended");
        fs::write(root.join("dense"), vec![1; 100_000]).expect("it can be written");
        let bytes = disk_bytes(&root).expect("the folder can be read");
        remove(&root).expect("it is ours");
        assert!(bytes < 1 << 20, "{bytes}");
    }
}
