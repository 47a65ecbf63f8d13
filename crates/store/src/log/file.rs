//! The file of a log: its name, and reading it while it may grow.

use crate::error::StoreError;
use crate::log::header::{HEADER_BYTES, Header};
use crate::log::payload::CommitRecord;
use crate::log::scan::scan;
use crate::manifest::Manifest;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// What the names of logs begin with.
const NAME: &str = "log-";
/// How often a log that seems damaged is read again if its bytes have changed meanwhile: its writer may have
/// been cutting off a torn tail.
const READS_MAX: usize = 10;

/// The name of the log of a version.
pub(super) fn name_of_log(version: u64) -> String {
    format!("{NAME}{version}")
}

/// The path of the log of a version.
pub(crate) fn path_of_log(dir: &Path, version: u64) -> PathBuf {
    dir.join(name_of_log(version))
}

/// The version whose log has this name.
pub(crate) fn number_of_log(name: &str) -> Option<u64> {
    let number = name.strip_prefix(NAME)?.parse().ok()?;
    (name == name_of_log(number)).then_some(number)
}

/// Whether this is the name of a log.
pub(crate) fn is_log_name(name: &str) -> bool {
    number_of_log(name).is_some()
}

/// What the log of a version holds.
#[derive(Debug)]
pub(crate) struct LogFile {
    /// Its header; `None` if the file was being made.
    pub(super) header: Option<Header>,
    /// The commits, in order.
    pub(crate) records: Vec<CommitRecord>,
    /// Where each of them ends.
    pub(super) ends: Vec<u64>,
    /// Bytes of header and whole records.
    pub(crate) whole_bytes: u64,
    /// A digest of these bytes, which tells the contents of one log of a version from others.
    pub(crate) digest: u64,
    /// Bytes of the file.
    pub(crate) file_bytes: u64,
}

/// Reads the log of a version, if there is one.
pub(crate) fn read_log(dir: &Path, manifest: &Manifest) -> Result<Option<LogFile>, StoreError> {
    let log = read_log_and_bytes(dir, manifest)?;
    Ok(log.map(|(log, _)| log))
}

/// As [`read_log`], with the bytes of the file that were read.
pub(crate) fn read_log_and_bytes(
    dir: &Path,
    manifest: &Manifest,
) -> Result<Option<(LogFile, Vec<u8>)>, StoreError> {
    let path = path_of_log(dir, manifest.version);
    let mut before = None;
    for _ in 1..READS_MAX {
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("read", &path)(error)),
        };
        match parse(&bytes, manifest) {
            Err(error) if before.as_ref() == Some(&bytes) => return Err(error),
            Err(_) => before = Some(bytes),
            Ok(log) => return Ok(Some((log, bytes))),
        }
    }
    let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
    let log = parse(&bytes, manifest)?;
    Ok(Some((log, bytes)))
}

/// Reads the bytes of the log of a version.
pub(super) fn parse(bytes: &[u8], manifest: &Manifest) -> Result<LogFile, StoreError> {
    let name = name_of_log(manifest.version);
    let mut log = LogFile {
        header: Header::read(bytes, &name)?,
        records: Vec::new(),
        ends: Vec::new(),
        whole_bytes: 0,
        digest: 0,
        file_bytes: bytes.len() as u64,
    };
    let Some(header) = log.header else {
        return Ok(log);
    };
    let is_own = header.version == manifest.version
        && header.identity == manifest.identity()
        && header.commits_before == manifest.commits;
    if !is_own {
        let what = "it belongs to another version than the manifest's";
        return Err(StoreError::corrupt(&name, 0, what));
    }
    log.whole_bytes = HEADER_BYTES as u64;
    for raw in scan(bytes, header.salt, header.commits_before, &name)? {
        let record = CommitRecord::from_payload(raw.number, raw.payload);
        let record = record.map_err(|what| StoreError::corrupt(&name, raw.start, what))?;
        log.records.push(record);
        log.ends.push(raw.end);
        log.whole_bytes = raw.end;
    }
    log.digest = xxh3_64(&bytes[..log.whole_bytes as usize]);
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_names_are_names_of_logs() {
        assert_eq!(number_of_log(&name_of_log(12)), Some(12));
        for name in [
            "log-",
            "log-x",
            "log-01",
            "log-1.txt",
            "log",
            "xlog-1",
            "log--1",
        ] {
            assert!(!is_log_name(name), "{name}");
        }
    }
}
