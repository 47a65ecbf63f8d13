//! What a crash can leave of the files that a program was writing.
//!
//! A [`CrashDisk`] is told every operation on the files of one folder, in order. For any moment it makes up the
//! files that could be there after the power was cut then: what was synced is there, of the rest any part. Names
//! and contents are synced apart, as on Unix: a new file's contents can be durable and its name not, and a rename is
//! there or not, never half. Contents are lost in pieces that are smaller than any sector, so that tearing is common.
//!
//! Cost: an image replays all operations.

use crate::split_mix::SplitMix;
use std::collections::BTreeMap;

/// Bytes that are lost or kept together.
const PIECE_BYTES: usize = 16;

/// An operation on a file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The file is made, or emptied.
    Create(String),
    /// Bytes are written at a place.
    Write(String, u64, Vec<u8>),
    /// The file is cut to a length.
    Truncate(String, u64),
    /// Contents and length of the file are made durable.
    Sync(String),
    /// The file gets another name, whose file is replaced.
    Rename(String, String),
    /// The file is removed.
    Remove(String),
    /// The names in the folder are made durable.
    SyncFolder,
}

/// What of the things that were not synced is there after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// All.
    Everything,
    /// Each with this chance in a hundred.
    Percent(usize),
}

impl Survival {
    fn happens(self, random: &mut SplitMix) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Percent(percent) => random.chance(percent),
        }
    }
}

/// A change of contents that is not synced.
#[derive(Clone, Debug)]
enum Pending {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// A file, whatever its name.
#[derive(Clone, Debug, Default)]
struct Inode {
    durable: Vec<u8>,
    pending: Vec<Pending>,
}

impl Pending {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write(offset, bytes) => {
                let end = offset + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*offset..end].copy_from_slice(bytes);
            }
            Self::Truncate(length) => contents.resize(*length, 0),
        }
    }
}

impl Inode {
    fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Notes a write in pieces that can be lost one by one.
    fn write(&mut self, mut offset: usize, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.pending.push(Pending::Write(offset, piece.to_vec()));
            offset += piece.len();
        }
    }

    fn after_crash(&self, survival: Survival, random: &mut SplitMix) -> Vec<u8> {
        let mut contents = self.durable.clone();
        for change in &self.pending {
            if survival.happens(random) {
                change.apply(&mut contents);
            }
        }
        contents
    }
}

/// Names and the files that they are of.
type Names = BTreeMap<String, usize>;

/// A folder at a moment.
#[derive(Debug, Default)]
struct Folder {
    inodes: Vec<Inode>,
    live: Names,
    durable: Names,
    /// Changes of names that are not synced: a name and its file, or none; a rename has two.
    pending: Vec<Vec<(String, Option<usize>)>>,
}

impl Folder {
    fn change_names(&mut self, changes: Vec<(String, Option<usize>)>) {
        apply_names(&mut self.live, &changes);
        self.pending.push(changes);
    }

    fn inode(&mut self, name: &str) -> Option<&mut Inode> {
        let number = *self.live.get(name)?;
        self.inodes.get_mut(number)
    }

    fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Create(name) => {
                if let Some(inode) = self.inode(name) {
                    inode.pending.push(Pending::Truncate(0));
                } else {
                    self.inodes.push(Inode::default());
                    let number = self.inodes.len() - 1;
                    self.change_names(vec![(name.clone(), Some(number))]);
                }
            }
            Operation::Write(name, offset, bytes) => {
                if let Some(inode) = self.inode(name) {
                    inode.write(*offset as usize, bytes);
                }
            }
            Operation::Truncate(name, length) => {
                if let Some(inode) = self.inode(name) {
                    inode.pending.push(Pending::Truncate(*length as usize));
                }
            }
            Operation::Sync(name) => {
                if let Some(inode) = self.inode(name) {
                    inode.sync();
                }
            }
            Operation::Rename(from, to) => {
                if let Some(&number) = self.live.get(from) {
                    self.change_names(vec![(from.clone(), None), (to.clone(), Some(number))]);
                }
            }
            Operation::Remove(name) => self.change_names(vec![(name.clone(), None)]),
            Operation::SyncFolder => {
                self.durable = self.live.clone();
                self.pending.clear();
            }
        }
    }
}

fn apply_names(names: &mut Names, changes: &[(String, Option<usize>)]) {
    for (name, inode) in changes {
        match inode {
            Some(inode) => names.insert(name.clone(), *inode),
            None => names.remove(name),
        };
    }
}

/// The operations on a folder.
#[derive(Clone, Debug, Default)]
pub struct CrashDisk {
    before: BTreeMap<String, Vec<u8>>,
    operations: Vec<Operation>,
}

impl CrashDisk {
    /// A folder that has these files, all synced.
    pub fn new(before: BTreeMap<String, Vec<u8>>) -> Self {
        Self {
            before,
            operations: Vec::new(),
        }
    }

    /// Notes an operation that was done.
    pub fn record(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// The operations until now.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The files after a crash that came when so many operations were done.
    pub fn after_crash(
        &self,
        operations: usize,
        survival: Survival,
        random: &mut SplitMix,
    ) -> BTreeMap<String, Vec<u8>> {
        let mut folder = Folder::default();
        for (number, (name, bytes)) in self.before.iter().enumerate() {
            folder.inodes.push(Inode {
                durable: bytes.clone(),
                pending: Vec::new(),
            });
            folder.live.insert(name.clone(), number);
        }
        folder.perform(&Operation::SyncFolder);
        for operation in self.operations.iter().take(operations) {
            folder.perform(operation);
        }
        let mut names = folder.durable.clone();
        for changes in &folder.pending {
            if survival.happens(random) {
                apply_names(&mut names, changes);
            }
        }
        let file = |(name, number): (String, usize)| {
            let contents = folder.inodes[number].after_crash(survival, random);
            (name, contents)
        };
        names.into_iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(disk: &CrashDisk, operations: usize, survival: Survival) -> Vec<(String, String)> {
        let files = disk.after_crash(operations, survival, &mut SplitMix::new(1));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        files.into_iter().map(|(name, b)| (name, text(b))).collect()
    }

    fn file(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn only_what_was_synced_is_sure() {
        let mut disk = CrashDisk::new(BTreeMap::from([("m".to_owned(), b"old".to_vec())]));
        let name = || "t".to_owned();
        disk.record(Operation::Create(name()));
        disk.record(Operation::Write(name(), 0, b"new".to_vec()));
        disk.record(Operation::Sync(name()));
        disk.record(Operation::Rename(name(), "m".to_owned()));
        disk.record(Operation::SyncFolder);
        disk.record(Operation::Write("m".to_owned(), 3, b"er".to_vec()));
        let old = vec![file("m", "old")];
        for operations in 0..5 {
            assert_eq!(files(&disk, operations, Survival::Nothing), old);
        }
        assert_eq!(files(&disk, 5, Survival::Nothing), [file("m", "new")]);
        assert_eq!(files(&disk, 6, Survival::Nothing), [file("m", "new")]);
        assert_eq!(files(&disk, 6, Survival::Everything), [file("m", "newer")]);
        let both = vec![file("m", "old"), file("t", "new")];
        assert_eq!(files(&disk, 3, Survival::Everything), both);
        assert_eq!(files(&disk, 4, Survival::Everything), [file("m", "new")]);
    }

    #[test]
    fn pieces_are_lost_one_by_one() {
        let mut disk = CrashDisk::default();
        disk.record(Operation::Create("f".to_owned()));
        disk.record(Operation::SyncFolder);
        disk.record(Operation::Write(
            "f".to_owned(),
            0,
            vec![7; 10 * PIECE_BYTES],
        ));
        let mut random = SplitMix::new(5);
        let mut torn = 0;
        for _ in 0..100 {
            let files = disk.after_crash(3, Survival::Percent(50), &mut random);
            let kept = files["f"].iter().filter(|&&byte| byte == 7).count();
            torn += usize::from(kept > 0 && kept < 10 * PIECE_BYTES);
        }
        assert!(torn > 90, "{torn}");
    }
}
