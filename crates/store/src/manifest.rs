//! The manifest: the small text file that says which version is current.
//!
//! ```text
//! basalt-manifest 7
//! {"version":3,"dictionaries":[1,3],"tables":[[1,0],[3,0]],"base":null,"commits":12,"files":[...]}
//! xxh3 89abcdef01234567
//! ```
//!
//! It lists every file of the version with length and checksum of its directory, so a file of
//! another version or another store is never mistaken for its own. The files of a version may lie in
//! the folders of several loads. Invariant: it is replaced by one atomic rename, after everything
//! that it names is durable; only what no current manifest names is ever removed.

use crate::disk::{Disk, RealDisk};
use crate::error::StoreError;
use crate::folder::{FinishedFile, version_label};
use crate::log;
use crate::table;
use basalt_rdf::InlineForms;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const NAME: &str = "MANIFEST";
const TEMPORARY_NAME: &str = "MANIFEST.tmp";
const FORMAT: u32 = 7;
/// The format of stores of which no duration is inline; they keep it, as those of fewer forms do.
const FORMAT_TIMES: u32 = 6;
/// The format of stores of which no time of a day is inline; they keep it, as those of fewer forms do.
const FORMAT_DOUBLES: u32 = 5;
/// The format of stores of which no double by its bits is inline; they keep it, as those of whole seconds do.
const FORMAT_FRACTIONS: u32 = 4;
/// The format of stores of which no time with a fraction of a second is inline; they keep it, so that the programs that wrote them
/// read them.
const FORMAT_WHOLE_SECONDS: u32 = 3;
/// The format of stores that knew no log, and so no commits.
const FORMAT_WITHOUT_COMMITS: u32 = 2;
/// The format of stores whose versions have one folder each.
const FORMAT_ONE_FOLDER: u32 = 1;
const FIRST_WORD: &str = "basalt-manifest";

/// The current version of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Number of the version; quad table and statistics are in the folder `v<number>`.
    pub(crate) version: u64,
    /// The layers of the dictionary, oldest first: the folders that they are in.
    pub(crate) dictionaries: Vec<u64>,
    /// The tables by index: the folders that they are in and their numbers there.
    pub(crate) tables: Vec<(u64, usize)>,
    /// What the version written as a whole held that this one was added to, load by load; `None` if
    /// this one was written as a whole.
    pub(crate) base: Option<BaseCounts>,
    /// The number of the last commit that is in the version; those after it are in the log.
    #[serde(default)]
    pub(crate) commits: u64,
    /// Which literals are inline in its dictionary. The format says it.
    #[serde(skip)]
    pub(crate) forms: InlineForms,
    /// Its files.
    pub(crate) files: Vec<ManifestFile>,
}

/// What a version held when it was written as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseCounts {
    /// All quads.
    pub quads: u64,
    /// Of these, irregular quads.
    pub irregular: u64,
    /// Tables.
    pub tables: usize,
}

/// A file of the version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestFile {
    /// Name within the store folder.
    pub(crate) name: String,
    /// Length.
    pub(crate) bytes: u64,
    /// Checksum of its directory.
    pub(crate) checksum: u64,
}

/// The manifest of format 1: all files are in the folder of the version.
#[derive(Deserialize)]
struct ManifestOneFolder {
    version: u64,
    /// Number of tables.
    tables: usize,
    /// Files by name within the folder.
    files: Vec<ManifestFile>,
}

impl From<ManifestOneFolder> for Manifest {
    fn from(old: ManifestOneFolder) -> Self {
        let label = version_label(old.version);
        let files = old.files.into_iter().map(|file| ManifestFile {
            name: format!("{label}{}", file.name),
            ..file
        });
        Self {
            version: old.version,
            dictionaries: vec![old.version],
            tables: (0..old.tables).map(|i| (old.version, i)).collect(),
            base: None,
            commits: 0,
            forms: InlineForms::WholeSeconds,
            files: files.collect(),
        }
    }
}

impl Manifest {
    /// The manifest of a version written as a whole: one layer of the dictionary, tables by number,
    /// these files.
    pub(crate) fn whole(
        version: u64,
        tables: usize,
        files: BTreeMap<String, FinishedFile>,
    ) -> Self {
        Self {
            version,
            dictionaries: vec![version],
            tables: (0..tables).map(|i| (version, i)).collect(),
            base: None,
            commits: 0,
            forms: InlineForms::default(),
            files: listed(version, files),
        }
    }

    /// The manifest of a version that keeps these layers of the dictionary and all tables of another
    /// and adds its own.
    pub(crate) fn added_to(
        old: &Self,
        version: u64,
        dictionaries: Vec<u64>,
        tables: usize,
        files: BTreeMap<String, FinishedFile>,
        base: BaseCounts,
    ) -> Self {
        let mut all = old.tables.clone();
        all.extend((0..tables).map(|i| (version, i)));
        let kept: BTreeSet<String> = dictionaries
            .iter()
            .flat_map(|&d| crate::dictionary::FILES.map(|f| format!("{}{f}", version_label(d))))
            .chain(
                old.tables
                    .iter()
                    .map(|&(folder, i)| version_label(folder) + &table::file_name(i)),
            )
            .collect();
        let old_files = old.files.iter().filter(|f| kept.contains(&f.name)).cloned();
        Self {
            version,
            dictionaries,
            tables: all,
            base: Some(base),
            commits: old.commits,
            forms: old.forms,
            files: old_files.chain(listed(version, files)).collect(),
        }
    }

    /// The folders that files of the version are in, ascending.
    pub(crate) fn folders(&self) -> Vec<u64> {
        let folders: BTreeSet<u64> = self
            .dictionaries
            .iter()
            .copied()
            .chain(self.tables.iter().map(|t| t.0))
            .chain([self.version])
            .collect();
        folders.into_iter().collect()
    }

    /// Whether it lists a file.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    /// A checksum of what it lists, by which its log knows it.
    pub(crate) fn identity(&self) -> u64 {
        let mut bytes = self.version.to_le_bytes().to_vec();
        for file in &self.files {
            bytes.extend_from_slice(file.name.as_bytes());
            bytes.extend_from_slice(&file.bytes.to_le_bytes());
            bytes.extend_from_slice(&file.checksum.to_le_bytes());
        }
        xxh3_64(&bytes)
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
    pub(crate) fn publish(&self, disk: &dyn Disk, dir: &Path) -> Result<(), StoreError> {
        let temporary = dir.join(TEMPORARY_NAME);
        let path = dir.join(NAME);
        let published = self.write(disk, &temporary).and_then(|()| {
            let renamed = disk.rename(&temporary, &path);
            renamed.map_err(StoreError::io("replace", &path))
        });
        if published.is_err() {
            // What cannot be removed now is removed by the next writer.
            let _ = disk.remove(&temporary);
        }
        published
    }

    fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
        let file = disk.create(path).map_err(StoreError::io("create", path))?;
        file.write_at(0, &self.to_bytes())
            .map_err(StoreError::io("write", path))?;
        file.sync().map_err(StoreError::io("sync", path))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("a manifest is plain data");
        let format = match self.forms {
            InlineForms::WholeSeconds => FORMAT_WHOLE_SECONDS,
            InlineForms::Fractions => FORMAT_FRACTIONS,
            InlineForms::Doubles => FORMAT_DOUBLES,
            InlineForms::Times => FORMAT_TIMES,
            InlineForms::Durations => FORMAT,
        };
        let text = format!("{FIRST_WORD} {format}\n{json}\n");
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
        let is_one_folder = format == FORMAT_ONE_FOLDER.to_string();
        let known = [
            (FORMAT, InlineForms::Durations),
            (FORMAT_TIMES, InlineForms::Times),
            (FORMAT_DOUBLES, InlineForms::Doubles),
            (FORMAT_FRACTIONS, InlineForms::Fractions),
            (FORMAT_WHOLE_SECONDS, InlineForms::WholeSeconds),
            (FORMAT_WITHOUT_COMMITS, InlineForms::WholeSeconds),
            (FORMAT_ONE_FOLDER, InlineForms::WholeSeconds),
        ];
        let mut named = known
            .iter()
            .filter(|(known, _)| format == known.to_string());
        let Some(&(_, forms)) = named.next() else {
            // A later program may have changed everything but the first line.
            let found = format
                .parse()
                .map_err(|_| corrupt("its format is not a number"))?;
            return Err(StoreError::UnknownFormat {
                file: NAME.to_owned(),
                found,
                supported: FORMAT,
            });
        };
        let checked = text
            .strip_suffix('\n')
            .and_then(|t| t.rsplit_once("\nxxh3 "))
            .ok_or_else(|| corrupt("its checksum is missing"))?;
        let checked_bytes = &bytes[..checked.0.len() + 1];
        if checked.1 != format!("{:016x}", xxh3_64(checked_bytes)) {
            return Err(corrupt("its checksum is wrong"));
        }
        let json = checked.0.split_once('\n').map_or("", |(_, json)| json);
        let read = if is_one_folder {
            serde_json::from_str::<ManifestOneFolder>(json).map(Self::from)
        } else {
            serde_json::from_str(json)
        };
        let read = read.map(|manifest| Self { forms, ..manifest });
        read.map_err(|e| corrupt(&format!("it cannot be read: {e}")))
    }
}

/// The entries of files finished in the folder of a version.
fn listed(version: u64, files: BTreeMap<String, FinishedFile>) -> Vec<ManifestFile> {
    let label = version_label(version);
    let entry = |(name, file): (String, FinishedFile)| ManifestFile {
        name: format!("{label}{name}"),
        bytes: file.bytes,
        checksum: file.directory_checksum,
    };
    files.into_iter().map(entry).collect()
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(dir: &Path) -> Result<(), StoreError> {
    sync_folder_on(&RealDisk, dir)
}

/// Makes the entries of a folder on a disk durable.
pub(crate) fn sync_folder_on(disk: &dyn Disk, dir: &Path) -> Result<(), StoreError> {
    disk.sync_folder(dir).map_err(StoreError::io("sync", dir))
}

/// Whether this is a name that a writer gives to something unpublished.
pub(crate) fn is_leftover_name(name: &str) -> bool {
    let version = name.strip_prefix('v').map(str::parse::<u64>);
    matches!(version, Some(Ok(_))) || name == TEMPORARY_NAME || log::is_log_name(name)
}

/// Removes what the current manifest does not name: folders, files and logs of versions that were replaced
/// or never published, and a manifest that was not published. The log of the current version stays. Only the holder of the lock may call this.
pub(crate) fn remove_unnamed(
    disk: &dyn Disk,
    dir: &Path,
    current: Option<&Manifest>,
) -> Result<(), StoreError> {
    for (name, path) in entries(dir)? {
        let is_old_log = log::number_of_log(&name)
            .is_some_and(|number| current.is_none_or(|m| m.version != number));
        let folder = name.strip_prefix('v').and_then(|n| n.parse::<u64>().ok());
        let folder = folder.filter(|number| name == format!("v{number}"));
        if let Some(folder) = folder {
            remove_unnamed_files(&path, folder, current)?;
        } else if name == TEMPORARY_NAME || is_old_log {
            disk.remove(&path)
                .map_err(StoreError::io("remove", &path))?;
        }
    }
    Ok(())
}

fn remove_unnamed_files(
    path: &Path,
    folder: u64,
    current: Option<&Manifest>,
) -> Result<(), StoreError> {
    let label = version_label(folder);
    let files = current.map_or(&[][..], |manifest| &manifest.files);
    let named: BTreeSet<&str> = files
        .iter()
        .filter_map(|f| f.name.strip_prefix(&label))
        .collect();
    if named.is_empty() {
        return fs::remove_dir_all(path).map_err(StoreError::io("remove", path));
    }
    for (name, file) in entries(path)? {
        if !named.contains(name.as_str()) {
            fs::remove_file(&file).map_err(StoreError::io("remove", &file))?;
        }
    }
    Ok(())
}

/// Names and paths of what is in a folder.
fn entries(dir: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let list = fs::read_dir(dir).map_err(StoreError::io("list", dir))?;
    list.map(|entry| {
        let entry = entry.map_err(StoreError::io("list", dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.path()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> ManifestFile {
        ManifestFile {
            name: name.to_owned(),
            bytes: 123,
            checksum: u64::MAX,
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            version: 7,
            dictionaries: vec![3, 7],
            tables: vec![(3, 0), (5, 0), (5, 1)],
            base: Some(BaseCounts {
                quads: 10,
                irregular: 2,
                tables: 1,
            }),
            commits: 12,
            forms: InlineForms::Fractions,
            files: vec![file("v3/table-00000"), file("v7/quads")],
        }
    }

    fn sealed(text: &str) -> Vec<u8> {
        format!("{text}xxh3 {:016x}\n", xxh3_64(text.as_bytes())).into_bytes()
    }

    #[test]
    fn reads_what_it_writes() {
        for forms in [
            InlineForms::Durations,
            InlineForms::Times,
            InlineForms::Doubles,
            InlineForms::Fractions,
            InlineForms::WholeSeconds,
        ] {
            let manifest = Manifest {
                forms,
                ..manifest()
            };
            let parsed = Manifest::parse(&manifest.to_bytes()).expect("it parses");
            assert_eq!(parsed, manifest);
        }
        let parsed = manifest();
        assert_eq!(parsed.folders(), [3, 5, 7]);
    }

    #[test]
    fn format_1_is_read() {
        let bytes = sealed(
            "basalt-manifest 1\n{\"version\":7,\"tables\":2,\"files\":[{\"name\":\"quads\",\
             \"bytes\":123,\"checksum\":18446744073709551615}]}\n",
        );
        let parsed = Manifest::parse(&bytes).expect("it parses");
        let expected = Manifest {
            version: 7,
            dictionaries: vec![7],
            tables: vec![(7, 0), (7, 1)],
            base: None,
            commits: 0,
            forms: InlineForms::WholeSeconds,
            files: vec![file("v7/quads")],
        };
        assert_eq!(parsed, expected);
    }

    #[test]
    fn format_2_is_read() {
        let bytes = sealed(
            "basalt-manifest 2\n{\"version\":7,\"dictionaries\":[7],\"tables\":[],\"base\":null,\
             \"files\":[{\"name\":\"v7/quads\",\"bytes\":123,\"checksum\":18446744073709551615}]}\n",
        );
        let parsed = Manifest::parse(&bytes).expect("it parses");
        assert_eq!((parsed.commits, parsed.files), (0, vec![file("v7/quads")]));
    }

    #[test]
    fn two_manifests_have_two_identities() {
        let mut other = manifest();
        assert_eq!(other.identity(), manifest().identity());
        other.files[1].checksum -= 1;
        assert_ne!(other.identity(), manifest().identity());
    }

    #[test]
    fn a_later_format_is_refused_with_its_number() {
        let error = Manifest::parse(&sealed("basalt-manifest 8\n{}\n")).expect_err("unknown");
        assert!(
            matches!(error, StoreError::UnknownFormat { found: 8, .. }),
            "{error}"
        );
    }

    #[test]
    fn only_what_is_not_named_is_removed() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for name in [
            "v3/table-00000",
            "v3/quads",
            "v7/quads",
            "v8/quads",
            "v07/kept",
            "other/kept",
            "log-3",
            "log-7",
            "log-8",
            "log-07",
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("room");
            fs::write(path, b"x").expect("room");
        }
        fs::write(dir.path().join(TEMPORARY_NAME), b"x").expect("room");
        let manifest = manifest();
        let remove = |current| remove_unnamed(&RealDisk, dir.path(), current);
        remove(Some(&manifest)).expect("it can be removed");
        let exists = |name: &str| dir.path().join(name).exists();
        let kept = ["v3/table-00000", "v7/quads", "v07/kept", "other/kept"];
        for name in kept.iter().chain(&["log-7", "log-07"]) {
            assert!(exists(name), "{name} stays");
        }
        for name in ["v3/quads", "v8", TEMPORARY_NAME, "log-3", "log-8"] {
            assert!(!exists(name), "{name} goes");
        }
        remove(None).expect("it can be removed");
        assert!(!exists("v3") && !exists("log-7") && exists("v07"));
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
