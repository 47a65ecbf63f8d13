//! The manifest: the small text file that says which version is current.
//!
//! ```text
//! basalt-manifest 1
//! {"version":3,"tables":8,"files":[...]}
//! xxh3 89abcdef01234567
//! ```
//!
//! It lists every file of the version with length and checksum of its directory, so a file of
//! another version or another store is never mistaken for its own. Invariant: it is replaced by
//! one atomic rename, after everything that it names is durable.

use crate::error::StoreError;
use crate::folder::FinishedFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const NAME: &str = "MANIFEST";
const TEMPORARY_NAME: &str = "MANIFEST.tmp";
const FORMAT: u32 = 1;
const FIRST_WORD: &str = "basalt-manifest";

/// The current version of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Number of the version; its files are in the folder `v<number>`.
    pub(crate) version: u64,
    /// Number of tables.
    pub(crate) tables: usize,
    /// Its files.
    pub(crate) files: Vec<ManifestFile>,
}

/// A file of the version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestFile {
    /// Name within the folder.
    pub(crate) name: String,
    /// Length.
    pub(crate) bytes: u64,
    /// Checksum of its directory.
    pub(crate) checksum: u64,
}

impl Manifest {
    /// A manifest that lists these files.
    pub(crate) fn new(version: u64, tables: usize, files: BTreeMap<String, FinishedFile>) -> Self {
        let files = files
            .into_iter()
            .map(|(name, file)| ManifestFile {
                name,
                bytes: file.bytes,
                checksum: file.directory_checksum,
            })
            .collect();
        Self {
            version,
            tables,
            files,
        }
    }

    /// Reads the manifest of a store folder.
    pub(crate) fn read(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(NAME);
        let bytes = fs::read(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => StoreError::NotAStore {
                path: dir.to_path_buf(),
            },
            _ => StoreError::io("read", &path)(source),
        })?;
        Self::parse(&bytes)
    }

    /// Writes the manifest of a store folder and makes it current. If this fails the manifest is
    /// the one before; if it succeeds it is this one, and durable once the folder is synced.
    pub(crate) fn publish(&self, dir: &Path) -> Result<(), StoreError> {
        let temporary = dir.join(TEMPORARY_NAME);
        let path = dir.join(NAME);
        let published = self
            .write(&temporary)
            .and_then(|()| fs::rename(&temporary, &path).map_err(StoreError::io("replace", &path)));
        if published.is_err() {
            // What cannot be removed now is removed by the next writer.
            let _ = fs::remove_file(&temporary);
        }
        published
    }

    fn write(&self, path: &Path) -> Result<(), StoreError> {
        let mut file = File::create(path).map_err(StoreError::io("create", path))?;
        file.write_all(&self.to_bytes())
            .map_err(StoreError::io("write", path))?;
        file.sync_all().map_err(StoreError::io("sync", path))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("a manifest is plain data");
        let text = format!("{FIRST_WORD} {FORMAT}\n{json}\n");
        let checksum = xxh3_64(text.as_bytes());
        format!("{text}xxh3 {checksum:016x}\n").into_bytes()
    }

    fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |what: &str| StoreError::corrupt(NAME, 0, what);
        let text = std::str::from_utf8(bytes).map_err(|_| corrupt("it is not text"))?;
        let format = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix(FIRST_WORD))
            .ok_or_else(|| corrupt("it does not begin as a manifest"))?
            .trim();
        if format != FORMAT.to_string() {
            // A later program may have changed everything but the first line.
            let found = format
                .parse()
                .map_err(|_| corrupt("its format is not a number"))?;
            return Err(StoreError::UnknownFormat {
                file: NAME.to_owned(),
                found,
                supported: FORMAT,
            });
        }
        let checked = text
            .strip_suffix('\n')
            .and_then(|t| t.rsplit_once("\nxxh3 "))
            .ok_or_else(|| corrupt("its checksum is missing"))?;
        let checked_bytes = &bytes[..checked.0.len() + 1];
        if checked.1 != format!("{:016x}", xxh3_64(checked_bytes)) {
            return Err(corrupt("its checksum is wrong"));
        }
        let json = checked.0.split_once('\n').map_or("", |(_, json)| json);
        serde_json::from_str(json).map_err(|e| corrupt(&format!("it cannot be read: {e}")))
    }
}

/// The folder of a version's files.
pub(crate) fn version_path(dir: &Path, version: u64) -> PathBuf {
    dir.join(format!("v{version}"))
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(dir: &Path) -> Result<(), StoreError> {
    let folder = File::open(dir).map_err(StoreError::io("open", dir))?;
    folder.sync_all().map_err(StoreError::io("sync", dir))
}

/// Whether this is a name that a writer gives to something unpublished.
pub(crate) fn is_leftover_name(name: &str) -> bool {
    let version = name.strip_prefix('v').map(str::parse::<u64>);
    matches!(version, Some(Ok(_))) || name == TEMPORARY_NAME
}

/// Removes what dead writers have left: every version but the current, and a manifest that was
/// not published. Only the holder of the lock may call this.
pub(crate) fn remove_leftovers(dir: &Path, current: Option<u64>) -> Result<(), StoreError> {
    let entries = fs::read_dir(dir).map_err(StoreError::io("list", dir))?;
    for entry in entries {
        let entry = entry.map_err(StoreError::io("list", dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        let version = name.strip_prefix('v').and_then(|n| n.parse::<u64>().ok());
        if version.is_some() && version != current {
            fs::remove_dir_all(&path).map_err(StoreError::io("remove", &path))?;
        } else if name == TEMPORARY_NAME {
            fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            version: 7,
            tables: 2,
            files: vec![ManifestFile {
                name: "quads".to_owned(),
                bytes: 123,
                checksum: u64::MAX,
            }],
        }
    }

    #[test]
    fn reads_what_it_writes() {
        let parsed = Manifest::parse(&manifest().to_bytes()).expect("it parses");
        assert_eq!(parsed, manifest());
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let bytes = manifest().to_bytes();
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[i] ^= 1 << bit;
                assert!(Manifest::parse(&damaged).is_err(), "byte {i} bit {bit}");
            }
            assert!(Manifest::parse(&bytes[..i]).is_err(), "cut at {i}");
        }
    }
}
