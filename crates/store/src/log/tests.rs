//! Logs that are cut, damaged, reordered by a crash, written to disks that fail, and read while they grow.
//!
//! The verdict is always one of three: the whole records up to some place, an error that names the file, or, for
//! damage at the very end, the records before it. Never other records.

use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::StoreError;
use crate::folder::Storage;
use crate::lock::StoreLock;
use crate::log::file::{LogFile, parse, path_of_log};
use crate::log::header::{HEADER_BYTES, Header};
use crate::log::payload::CommitRecord;
use crate::log::recovery::recover;
use crate::log::scan::{FRAME_BYTES, frame};
use crate::log::writer::LogWriter;
use crate::manifest::Manifest;
use crate::{NewLiteral, NewResource, NewTerms, QuadIds, Snapshot, TermCounts, VersionWriter};
use basalt_rdf::{TermId, TermView};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

mod heads;

/// The commit before the first of the logs that are made up.
const BEFORE: u64 = 40;

fn manifest() -> Manifest {
    Manifest {
        commits: BEFORE,
        ..Manifest::whole(7, 0, BTreeMap::new())
    }
}

fn quads() -> impl Strategy<Value = Vec<QuadIds>> {
    let near = 0..40_u64;
    let quad = (near.clone(), near.clone(), any::<u64>(), near).prop_map(|(s, p, o, g)| QuadIds {
        subject: TermId::resource(s),
        predicate: TermId::resource(p),
        object: TermId(o),
        graph: if g == 0 {
            TermId::DEFAULT_GRAPH
        } else {
            TermId::resource(g)
        },
    });
    proptest::collection::btree_set(quad, 0..6).prop_map(|set| set.into_iter().collect())
}

fn terms() -> impl Strategy<Value = NewTerms> {
    let names = || proptest::collection::vec(".{0,5}", 0..3);
    let resource = prop_oneof![
        Just(NewResource::Blank),
        ".{0,9}".prop_map(NewResource::Iri)
    ];
    let literal = (any::<u8>(), any::<u16>(), ".{0,9}");
    let literal = literal.prop_map(|(id_tag, qualifier, lexical)| NewLiteral {
        id_tag,
        qualifier,
        lexical,
    });
    let resources = proptest::collection::vec(resource, 0..4);
    let literals = proptest::collection::vec(literal, 0..4);
    (resources, literals, names(), names(), names()).prop_map(|parts| NewTerms {
        resources: parts.0,
        literals: parts.1,
        datatypes: parts.2,
        languages: parts.3,
        numerics: parts.4,
    })
}

/// Commits, and for each whether the log was synced before it was appended.
fn commits() -> impl Strategy<Value = Vec<(CommitRecord, bool)>> {
    let counts = proptest::array::uniform5(0..300_u64);
    let commit = (counts, terms(), quads(), quads(), any::<bool>());
    proptest::collection::vec(commit, 1..6).prop_map(|commits| {
        let numbered = (BEFORE + 1..).zip(commits);
        let record = |(number, (counts, terms, removed, added, synced)): (
            u64,
            ([u64; 5], _, _, _, bool),
        )| {
            let [resources, literals, datatypes, languages, numerics] = counts;
            let terms_from = TermCounts {
                resources,
                literals,
                datatypes,
                languages,
                numerics,
            };
            let record = CommitRecord {
                number,
                terms_from,
                terms,
                removed,
                added,
            };
            (record, synced)
        };
        numbered.map(record).collect()
    })
}

/// The bytes of a log, and where each record ends.
fn written(commits: &[(CommitRecord, bool)]) -> (Vec<u8>, Vec<usize>, Vec<u64>) {
    let manifest = manifest();
    let header = Header::new(manifest.version, manifest.identity(), BEFORE);
    let mut bytes = header.to_bytes().to_vec();
    let (mut ends, mut synced_before) = (Vec::new(), Vec::new());
    let mut synced = bytes.len() as u64;
    for (record, is_synced) in commits {
        if *is_synced {
            synced = bytes.len() as u64;
        }
        synced_before.push(synced);
        bytes.extend(frame(
            record.number,
            synced,
            &record.to_payload(),
            header.salt,
        ));
        ends.push(bytes.len());
    }
    (bytes, ends, synced_before)
}

fn read(bytes: &[u8]) -> Result<LogFile, StoreError> {
    parse(bytes, &manifest())
}

fn is_corrupt(result: &Result<LogFile, StoreError>) -> bool {
    matches!(result, Err(StoreError::Corrupt { file, .. }) if file == "log-7")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cut_at_every_byte_the_whole_records_are_read(commits in commits()) {
        let (bytes, ends, _) = written(&commits);
        for length in 0..=bytes.len() {
            let log = read(&bytes[..length]).expect("a torn tail is no damage");
            let whole = ends.iter().filter(|&&end| end <= length).count();
            let expected: Vec<_> = commits[..whole].iter().map(|c| c.0.clone()).collect();
            prop_assert_eq!(&log.records, &expected, "cut at {}", length);
            let at = if length < HEADER_BYTES { 0 } else { ends[..whole].last().copied().unwrap_or(HEADER_BYTES) };
            prop_assert_eq!(log.whole_bytes, at as u64);
        }
    }

    #[test]
    fn one_flipped_bit_never_gives_other_records(commits in commits()) {
        let (bytes, ends, synced_before) = written(&commits);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let result = read(&damaged);
            if bit / 8 < HEADER_BYTES {
                prop_assert!(is_corrupt(&result), "bit {} of the header", bit);
                continue;
            }
            let hit = ends.iter().filter(|&&end| end <= bit / 8).count();
            let start = if hit == 0 { HEADER_BYTES } else { ends[hit - 1] };
            // A later record that was appended when the damaged one was synced is a witness.
            let is_witnessed = synced_before[hit + 1..].iter().any(|&s| s > start as u64);
            if is_witnessed {
                prop_assert!(is_corrupt(&result), "bit {} of commit {}", bit, hit);
            } else {
                let log = result.expect("it may be a torn tail");
                let expected: Vec<_> = commits[..hit].iter().map(|c| c.0.clone()).collect();
                prop_assert_eq!(log.records, expected);
            }
        }
    }

    #[test]
    fn bytes_of_chance_are_never_a_panic(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        // Whatever it is, it is read without a panic, and what is read is written again.
        if let Ok(record) = CommitRecord::from_payload(1, &payload) {
            let again = CommitRecord::from_payload(1, &record.to_payload());
            prop_assert_eq!(again, Ok(record));
        }
    }
}

#[test]
fn a_commit_whose_text_looks_like_a_record_is_no_witness() {
    let other_salt = frame(BEFORE + 2, 4096, b"", 1);
    // Bytes that are no UTF-8 cannot come from a text, but the reader does not know that.
    let header = Header::new(7, manifest().identity(), BEFORE);
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend_from_slice(&other_salt);
    assert!(read(&bytes).expect("a torn tail").records.is_empty());
}

#[test]
fn a_log_of_another_version_or_store_is_refused() {
    let own = manifest();
    for header in [
        Header::new(8, own.identity(), BEFORE),
        Header::new(7, own.identity() + 1, BEFORE),
        Header::new(7, own.identity(), BEFORE + 1),
    ] {
        assert!(is_corrupt(&read(&header.to_bytes())), "{header:?}");
    }
}

#[test]
fn numbers_leave_no_gap() {
    let header = Header::new(7, manifest().identity(), BEFORE);
    let record = CommitRecord {
        number: BEFORE + 2,
        terms_from: TermCounts::default(),
        terms: NewTerms::default(),
        removed: Vec::new(),
        added: Vec::new(),
    };
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend(frame(record.number, 0, &record.to_payload(), header.salt));
    assert!(is_corrupt(&read(&bytes)));
}

/// A store with an empty version in a folder, and its lock.
fn store(dir: &Path, disk: Arc<dyn Disk>) -> (Arc<StoreLock>, Snapshot) {
    let writer = VersionWriter::create(Storage::Directory(dir.to_path_buf()));
    let base = writer.and_then(VersionWriter::commit).expect("a new store");
    let lock = StoreLock::acquire_on(dir, disk).expect("nobody else has it");
    (Arc::new(lock), base)
}

/// The state with one more quad of new terms, and its record.
fn next(tip: &Snapshot, i: u64) -> (Snapshot, CommitRecord) {
    let terms_from = tip.term_counts();
    let iri = |name: &str| {
        let iri = format!("http://example.org/{name}{i}");
        tip.intern(TermView::Iri(&iri)).expect("there is room")
    };
    let quad = QuadIds {
        subject: iri("s"),
        predicate: tip
            .intern(TermView::Iri("http://example.org/p"))
            .expect("there is room"),
        object: iri("o"),
        graph: TermId::DEFAULT_GRAPH,
    };
    let (after, changes) = tip.with_changes(&[], &[quad]).expect("it can be stored");
    let record = CommitRecord {
        number: tip.commit_number() + 1,
        terms_from,
        terms: tip.terms_since(terms_from),
        removed: changes.removed,
        added: changes.added,
    };
    (after.with_commit_number(record.number), record)
}

/// Appends and syncs so many commits.
fn grow(log: &mut LogWriter, mut tip: Snapshot, commits: u64) -> Snapshot {
    for _ in 0..commits {
        let (after, record) = next(&tip, tip.commit_number());
        log.append(&record).expect("there is room");
        log.sync_handle().sync().expect("it can be synced");
        tip = after;
    }
    tip
}

#[test]
fn what_was_appended_is_there_when_the_store_is_opened_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let tip = grow(&mut log, base.clone(), 5);
    let opened = Snapshot::open(folder.path()).expect("it opens");
    assert_eq!((opened.commit_number(), opened.quad_count()), (5, 5));
    assert_eq!(opened.term_counts(), tip.term_counts());
    // An old snapshot stays what it was, and can be brought up to date.
    assert_eq!((base.commit_number(), base.quad_count()), (0, 0));
    let newest = base.newest_of(folder.path()).expect("it opens");
    assert_eq!((newest.commit_number(), newest.quad_count()), (5, 5));
    // The next writer goes on.
    drop(log);
    let recovered = recover(&lock, &base).expect("it is whole");
    let mut log = recovered.log.expect("there is one");
    grow(&mut log, recovered.snapshot, 2);
    let opened = Snapshot::open(folder.path()).expect("it opens");
    assert_eq!((opened.commit_number(), opened.quad_count()), (7, 7));
}

#[test]
fn a_log_is_replayed_once_unless_its_contents_are_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let tip = grow(&mut log, base.clone(), 3);
    let opened = Snapshot::open(folder.path()).expect("it opens");
    let again = recover(&lock, &opened).expect("it is whole").snapshot;
    assert!(again.shares_version_with(&opened) && again.mark().is_of(&opened));
    assert_eq!((again.commit_number(), again.quad_count()), (3, 3));
    // Terms that were added since are not in the log.
    let later = TermView::Iri("http://example.org/later");
    opened.intern(later).expect("there is room");
    let fresh = recover(&lock, &opened).expect("it is whole").snapshot;
    assert!(!fresh.shares_version_with(&opened));
    assert_eq!(fresh.term_counts(), tip.term_counts());
    // A log of as many commits, of which the last is another one.
    let path = path_of_log(folder.path(), base.version());
    let number = tip.commit_number() + 5;
    let opened = Snapshot::open(folder.path()).expect("it opens");
    drop(log);
    fs::remove_file(&path).expect("it is there");
    let base = Snapshot::open(folder.path()).expect("it opens");
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let two = grow(&mut log, base.clone(), 2);
    let (_, mut last) = next(&two, number);
    last.number = two.commit_number() + 1;
    log.append(&last).expect("there is room");
    log.sync_handle().sync().expect("it can be synced");
    let other = recover(&lock, &opened).expect("it is whole").snapshot;
    assert_eq!(other.commit_number(), opened.commit_number());
    assert!(!other.shares_version_with(&opened));
}

#[test]
fn a_torn_tail_is_left_by_readers_and_cut_off_by_the_next_writer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    grow(&mut log, base.clone(), 3);
    let path = path_of_log(folder.path(), base.version());
    let whole = fs::read(&path).expect("the log");
    let torn = &whole[..whole.len() - 1];
    fs::write(&path, torn).expect("there is room");
    let opened = Snapshot::open(folder.path()).expect("a reader takes what is whole");
    assert_eq!(opened.commit_number(), 2);
    assert_eq!(
        fs::read(&path).expect("the log"),
        torn,
        "readers do not write"
    );
    let recovered = recover(&lock, &opened).expect("a writer too");
    let mut log = recovered.log.expect("there is one");
    assert_eq!(log.bytes(), fs::metadata(&path).expect("the log").len());
    assert!(log.bytes() < torn.len() as u64 && log.bytes() > FRAME_BYTES as u64);
    grow(&mut log, recovered.snapshot, 1);
    let opened = Snapshot::open(folder.path()).expect("it opens");
    assert_eq!((opened.commit_number(), opened.quad_count()), (3, 3));
}

#[test]
fn a_log_that_was_being_made_is_made_anew() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let path = path_of_log(folder.path(), base.version());
    for bytes in [&b""[..], b"BASALT", &[0; HEADER_BYTES]] {
        fs::write(&path, bytes).expect("there is room");
        let opened = Snapshot::open(folder.path()).expect("no commit is lost");
        assert_eq!(opened.commit_number(), 0);
        let recovered = recover(&lock, &opened).expect("no commit is lost");
        assert!(recovered.log.is_none());
    }
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    grow(&mut log, base, 1);
    let opened = Snapshot::open(folder.path()).expect("it opens");
    assert_eq!(opened.quad_count(), 1);
}

#[test]
fn a_whole_record_that_cannot_be_is_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let (_, mut record) = next(&base, 0);
    // A quad that is not there cannot be removed.
    record.removed = std::mem::take(&mut record.added);
    log.append(&record).expect("the log does not look into it");
    let opened = Snapshot::open(folder.path());
    let Err(StoreError::Corrupt { file, what, .. }) = opened else {
        unreachable!("it opens: {opened:?}")
    };
    assert_eq!(file, "log-1");
    assert!(what.contains("commit 1 cannot be"), "{what}");
}

#[test]
fn a_record_that_does_not_follow_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let (_, record) = next(&base, 0);
    let bytes = log.bytes();
    for wrong in [
        CommitRecord {
            number: 2,
            ..record.clone()
        },
        CommitRecord {
            terms_from: record.terms_after(),
            ..record.clone()
        },
    ] {
        assert!(log.append(&wrong).is_err());
    }
    assert!(log.is_sound() && log.bytes() == bytes);
    log.append(&record).expect("this one follows");
}

/// The file system, whose operation of this number fails.
#[derive(Debug)]
struct FailingDisk {
    calls: Arc<AtomicUsize>,
    fails: usize,
}

#[derive(Debug)]
struct FailingFile {
    file: Box<dyn DiskFile>,
    calls: Arc<AtomicUsize>,
    fails: usize,
}

/// Counts a call; fails if it is the one.
fn call(calls: &AtomicUsize, fails: usize) -> io::Result<()> {
    match calls.fetch_add(1, Ordering::Relaxed) == fails {
        true => Err(io::Error::from(io::ErrorKind::StorageFull)),
        false => Ok(()),
    }
}

impl FailingDisk {
    fn wrap(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FailingFile {
            file,
            calls: Arc::clone(&self.calls),
            fails: self.fails,
        })
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        call(&self.calls, self.fails)?;
        Ok(self.wrap(RealDisk.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        call(&self.calls, self.fails)?;
        Ok(self.wrap(RealDisk.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        call(&self.calls, self.fails)?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        call(&self.calls, self.fails)?;
        RealDisk.sync_folder(path)
    }
}

impl DiskFile for FailingFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = call(&self.calls, self.fails) {
            // A full disk takes a part.
            self.file.write_at(offset, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.file.write_at(offset, bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file.truncate(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        call(&self.calls, self.fails)?;
        self.file.sync()
    }
}

/// Makes a log and three commits on a disk whose operation of this number fails; returns the commits that succeeded and
/// whether any failed.
fn with_failure(dir: &Path, fails: usize) -> (u64, bool) {
    let calls = Arc::new(AtomicUsize::new(0));
    let disk = FailingDisk { calls, fails };
    let (lock, base) = store(dir, Arc::new(disk));
    let mut failed = false;
    let mut log = match LogWriter::create(&lock, &base) {
        Ok(log) => log,
        Err(_) => {
            failed = true;
            LogWriter::create(&lock, &base).expect("only one operation fails")
        }
    };
    let mut tip = base;
    for _ in 0..3 {
        let before = log.bytes();
        let (after, record) = next(&tip, tip.commit_number());
        if log.append(&record).is_err() {
            failed = true;
            assert!(log.is_sound() && log.bytes() == before);
            let length = fs::metadata(log.path()).expect("the log").len();
            assert_eq!(length, before, "half a record is cut off");
            // The terms are there by now, so the next record has them.
        } else if log.sync_handle().sync().is_err() {
            failed = true;
            let terms = log.cut_to_synced().expect("only one operation fails");
            assert_eq!(terms, record.terms_from);
            assert!(log.is_sound() && log.bytes() == before);
        } else {
            tip = after;
            continue;
        }
        let record = CommitRecord {
            terms: tip.terms_since(record.terms_from),
            ..record
        };
        log.append(&record).expect("only one operation fails");
        log.sync_handle().sync().expect("only one operation fails");
        tip = after;
    }
    (tip.commit_number(), failed)
}

#[test]
fn after_an_operation_that_failed_the_log_is_what_it_was() {
    let mut fails = 0;
    loop {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (commits, failed) = with_failure(folder.path(), fails);
        let opened = Snapshot::open(folder.path()).expect("it opens");
        assert_eq!(opened.commit_number(), commits, "operation {fails}");
        assert_eq!(opened.quad_count(), commits);
        if !failed {
            break;
        }
        fails += 1;
    }
    assert_eq!(
        fails,
        4 + 3 * 2,
        "create, write, sync, sync of the folder; write and sync of each"
    );
}

#[test]
fn a_version_and_its_log_become_current_together_or_leave_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    let tip = grow(&mut log, base.clone(), 3);
    for is_published in [false, true] {
        let mut writer = VersionWriter::create_locked(Arc::clone(&lock)).expect("a writer");
        writer.takes_over(&tip);
        let mut finished = writer.finish().expect("there is room");
        let mut next_log = LogWriter::create(&lock, finished.snapshot()).expect("a log");
        let after = grow(&mut next_log, finished.snapshot().clone(), 2);
        assert_eq!(names(), ["LOCK", "MANIFEST", "log-1", "log-2", "v1", "v2"]);
        let opened = Snapshot::open(folder.path()).expect("it opens");
        assert_eq!((opened.version(), opened.commit_number()), (1, 3));
        if !is_published {
            drop(finished);
            assert_eq!(names(), ["LOCK", "MANIFEST", "log-1", "v1"]);
            continue;
        }
        finished.publish().expect("there is room");
        let opened = Snapshot::open(folder.path()).expect("it opens");
        assert_eq!((opened.version(), opened.commit_number()), (2, 5));
        assert_eq!(opened.quad_count(), after.quad_count());
        drop(finished);
        assert_eq!(names(), ["LOCK", "MANIFEST", "log-2", "v2"]);
        // The log goes on.
        grow(&mut next_log, after, 1);
        let recovered = recover(&lock, &opened).expect("it is whole");
        assert_eq!(recovered.snapshot.commit_number(), 6);
    }
}

#[test]
fn the_next_writer_removes_what_a_dead_one_has_left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lock, base) = store(folder.path(), Arc::new(RealDisk));
    let mut log = LogWriter::create(&lock, &base).expect("a log");
    grow(&mut log, base.clone(), 1);
    fs::create_dir(folder.path().join("v2")).expect("there is room");
    fs::write(folder.path().join("v2/quads"), "half").expect("there is room");
    fs::write(path_of_log(folder.path(), 2), "half").expect("there is room");
    let opened = Snapshot::open(folder.path()).expect("readers leave it alone");
    assert!(folder.path().join("v2/quads").exists());
    let recovered = recover(&lock, &opened).expect("it is whole");
    assert_eq!(recovered.snapshot.commit_number(), 1);
    assert!(!folder.path().join("v2").exists());
    assert!(!path_of_log(folder.path(), 2).exists());
}
