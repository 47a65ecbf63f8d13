//! A store whose power is cut at random moments of a sequence of requests, and which goes on with what is left.
//!
//! Log and manifest are written through a disk that records; at a crash any part of what was not synced is lost
//! (`testkit::crash_disk`). What is found then must be the state after the last request that was acknowledged at that moment, or,
//! for the one that was under way, the state after it.

use crate::disks::{Recorder, WatchedDisk, link_files};
use crate::support::{Configuration, Loaded};
use crate::updates::{compare_data, data_of};
use basalt_engine::{
    Database, GraphFormat, Input, LoadOptions, MergePolicy, NoProgress, WriteOptions,
};
use basalt_testkit::Dataset;
use basalt_testkit::crash_disk::Survival;
use basalt_testkit::split_mix::SplitMix;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// See the [module documentation](self).
pub struct CrashingStore {
    pub loaded: Loaded,
    folder: TempDir,
    /// Crashes until now.
    crashes: usize,
    recorder: Arc<Recorder>,
    /// What there was after each request since the last crash.
    states: Vec<State>,
}

/// What there is after a request.
struct State {
    data: Dataset,
    /// The number of the last commit.
    commit: u64,
    /// Operations when the request was acknowledged.
    at: usize,
}

/// Never merges, or merges and writes versions for few quads.
fn policy(number: u64) -> MergePolicy {
    match number % 3 {
        0 => MergePolicy::NEVER,
        few => MergePolicy {
            quads_min: few * 4,
            times_delta_max: f64::INFINITY,
            share_min: 0.0,
            ..MergePolicy::default()
        },
    }
}

impl CrashingStore {
    /// A store with this data.
    pub fn new(data: &Dataset, configuration: &Configuration, number: u64) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("store-0");
        let database = Database::open_or_empty(&path).expect("an empty folder");
        let reader = Cursor::new(data.to_nquads().into_bytes());
        let options = LoadOptions {
            inputs: vec![Input::reader("data.nq", reader, GraphFormat::NQuads)],
            layout: configuration.layout,
            ..LoadOptions::default()
        };
        database.load(options, &NoProgress).expect("the data loads");
        drop(database);
        Self::opened(folder, 0, number)
    }

    fn opened(folder: TempDir, crashes: usize, number: u64) -> Self {
        let path = folder.path().join(format!("store-{crashes}"));
        let versions = folder.path().join(format!("versions-{crashes}"));
        fs::create_dir_all(&versions).expect("there is room");
        let recorder = Recorder::new(&path, &versions);
        let options = WriteOptions {
            disk: WatchedDisk::watched_by(recorder.clone()),
            merge: policy(number),
            ..WriteOptions::default()
        };
        let database = Database::open_with(&path, options).expect("it opens");
        let states = vec![State {
            data: data_of(&database),
            commit: database.snapshot().commit_number(),
            at: 0,
        }];
        Self {
            loaded: Loaded::of(database),
            folder,
            crashes,
            recorder,
            states,
        }
    }

    /// A request was acknowledged.
    pub fn acknowledged(&mut self) {
        let database = &self.loaded.database;
        self.states.push(State {
            data: data_of(database),
            commit: database.snapshot().commit_number(),
            at: self.recorder.operations(),
        });
    }

    /// Cuts the power at a random moment since the last crash, and opens what is left; how many requests were lost that were not
    /// acknowledged at that moment, or what is wrong.
    pub fn crash(&mut self, number: u64, random: &mut SplitMix) -> Result<usize, String> {
        let disk = self.recorder.disk();
        let moment = random.below(disk.operations().len() + 1);
        let survival = match random.below(4) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            _ => Survival::Percent(random.below(101)),
        };
        let files = disk.after_crash(moment, survival, random);
        // A merge that runs ends before its folder is looked at.
        self.loaded = Loaded::of(Database::in_memory());
        let next = self.put_together(files);
        let folder = std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"));
        let before = std::mem::take(&mut self.states);
        *self = Self::opened(folder, next, number);
        let acknowledged = before.iter().rposition(|state| state.at <= moment);
        let acknowledged = acknowledged.ok_or("the first state was there before")?;
        let database = &self.loaded.database;
        let commit = database.snapshot().commit_number();
        let lost = |what: String| {
            format!(
                "after a crash before operation {moment}, {survival:?}, request {acknowledged} acknowledged, commit {commit} found: {what}"
            )
        };
        // Requests that change nothing have no commit of their own.
        let found = before.iter().rposition(|state| state.commit == commit);
        match found {
            None => Err(lost("there is no such commit".to_owned())),
            Some(found) if found < acknowledged => Err(lost("a request is lost".to_owned())),
            Some(found) if commit > before[acknowledged].commit + 1 => {
                Err(lost(format!("request {found} had not begun")))
            }
            Some(found) => {
                compare_data(&before[found].data, database).map_err(lost)?;
                Ok(before.len() - 1 - found)
            }
        }
    }

    /// Makes the folder that a crash has left; its number.
    fn put_together(&self, files: std::collections::BTreeMap<String, Vec<u8>>) -> usize {
        let path = |kind: &str, number: usize| -> PathBuf {
            self.folder.path().join(format!("{kind}-{number}"))
        };
        let next = self.crashes + 1;
        let crashed = path("store", next);
        fs::create_dir(&crashed).expect("there is room");
        let versions = fs::read_dir(path("versions", self.crashes)).expect("a folder of the test");
        for entry in versions {
            let entry = entry.expect("an entry");
            link_files(&entry.path(), &crashed.join(entry.file_name()));
        }
        for (name, bytes) in files {
            fs::write(crashed.join(name), bytes).expect("there is room");
        }
        for old in ["store", "versions"] {
            // What is linked stays.
            fs::remove_dir_all(path(old, self.crashes)).expect("a folder of the test");
        }
        next
    }
}
