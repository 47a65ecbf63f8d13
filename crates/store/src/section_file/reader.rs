//! Reading a section file: a map (or bytes in memory) and its directory.
//!
//! Cheap to clone; sections are slices of the map, nothing is copied.

use super::{
    END_MAGIC, FORMAT_VERSION, FileKind, HEADER_BYTES, HEADER_CHECKED_BYTES, MAGIC, TRAILER_BYTES,
    TRAILER_CHECKED_BYTES,
};
use crate::error::StoreError;
use crate::folder::MemoryBytes;
use crate::mapped_file::MappedFile;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes verified at a time: they stay in the second-level cache.
const VERIFY_BUFFER_BYTES: usize = 1 << 18;

mod sizes;

#[derive(Debug)]
enum Bytes {
    Mapped(MappedFile),
    Memory(MemoryBytes),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(file) => file.bytes(),
            Self::Memory(bytes) => bytes.bytes(),
        }
    }
}

#[derive(Debug)]
struct Section {
    name: String,
    range: Range<usize>,
    checksum: u64,
}

#[derive(Debug)]
struct Opened {
    bytes: Bytes,
    name: String,
    sections: Vec<Section>,
    directory_checksum: u64,
}

/// An open section file.
#[derive(Clone, Debug)]
pub struct SectionFile {
    opened: Arc<Opened>,
}

impl SectionFile {
    /// Maps a file and verifies header, trailer and directory.
    pub(crate) fn map(path: &Path, name: &str, kind: FileKind) -> Result<Self, StoreError> {
        Self::open(Bytes::Mapped(MappedFile::open(path)?), name, kind)
    }

    /// The same over bytes in memory.
    pub(crate) fn from_memory(
        bytes: MemoryBytes,
        name: &str,
        kind: FileKind,
    ) -> Result<Self, StoreError> {
        Self::open(Bytes::Memory(bytes), name, kind)
    }

    fn open(bytes: Bytes, name: &str, kind: FileKind) -> Result<Self, StoreError> {
        let all = bytes.get();
        check_header(all, name, kind)?;
        let directory = find_directory(all, name)?;
        let directory_checksum = xxh3_64(&all[directory.range.clone()]);
        if directory_checksum != directory.checksum {
            return Err(StoreError::corrupt(
                name,
                directory.range.start as u64,
                "the checksum of the directory is wrong",
            ));
        }
        let sections = read_directory(all, &directory, name)?;
        Ok(Self {
            opened: Arc::new(Opened {
                name: name.to_owned(),
                sections,
                directory_checksum,
                bytes,
            }),
        })
    }

    /// The file's name, for errors.
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// Length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.opened.bytes.get().len() as u64
    }

    /// All bytes of the file.
    pub(crate) fn all_bytes(&self) -> &[u8] {
        self.opened.bytes.get()
    }

    /// Checksum of the directory.
    pub(crate) fn directory_checksum(&self) -> u64 {
        self.opened.directory_checksum
    }

    /// The bytes of a section, aligned to eight bytes at least; contents not verified.
    pub fn section(&self, name: &str) -> Result<&[u8], StoreError> {
        Ok(&self.opened.bytes.get()[self.find(name)?.range.clone()])
    }

    /// The bytes of a section after verifying their checksum, which reads all of them.
    pub fn verified_section(&self, name: &str) -> Result<&[u8], StoreError> {
        let section = self.find(name)?;
        self.verify_section(section)?;
        Ok(&self.opened.bytes.get()[section.range.clone()])
    }

    /// A section to keep: it holds on to the file.
    pub fn slice(&self, name: &str) -> Result<SectionSlice, StoreError> {
        Ok(SectionSlice {
            range: self.find(name)?.range.clone(),
            file: self.clone(),
        })
    }

    /// Whether there is a section of this name.
    pub fn has_section(&self, name: &str) -> bool {
        self.opened.sections.iter().any(|s| s.name == name)
    }

    /// Where a section starts in the file, for errors.
    pub fn section_offset(&self, name: &str) -> u64 {
        self.find(name).map_or(0, |s| s.range.start as u64)
    }

    /// Verifies the checksum of every section.
    ///
    /// A file is read through a buffer, not through its map, whose pages would all stay in the memory
    /// of this process: a store may be larger than the memory that a load was given.
    pub fn verify(&self) -> Result<(), StoreError> {
        let sections = &self.opened.sections;
        if let Bytes::Mapped(mapped) = &self.opened.bytes
            && let Ok(file) = File::open(mapped.path())
        {
            return self.verify_by_reading(file, mapped.path());
        }
        sections.iter().try_for_each(|s| self.verify_section(s))
    }

    fn verify_by_reading(&self, mut file: File, path: &Path) -> Result<(), StoreError> {
        let mut buffer = vec![0; VERIFY_BUFFER_BYTES];
        for section in &self.opened.sections {
            let start = SeekFrom::Start(section.range.start as u64);
            file.seek(start).map_err(StoreError::io("read", path))?;
            let mut hash = Xxh3::new();
            let mut left = section.range.len();
            while left > 0 {
                let part = &mut buffer[..left.min(VERIFY_BUFFER_BYTES)];
                file.read_exact(part)
                    .map_err(StoreError::io("read", path))?;
                hash.update(part);
                left -= part.len();
            }
            if hash.digest() != section.checksum {
                return Err(self.wrong_checksum(section));
            }
        }
        Ok(())
    }

    fn wrong_checksum(&self, section: &Section) -> StoreError {
        self.corrupt(
            section.range.start as u64,
            format!("the checksum of section `{}` is wrong", section.name),
        )
    }

    /// A corruption error of this file.
    pub fn corrupt(&self, offset: u64, what: impl Into<String>) -> StoreError {
        StoreError::corrupt(self.name(), offset, what)
    }

    fn find(&self, name: &str) -> Result<&Section, StoreError> {
        let found = self.opened.sections.iter().find(|s| s.name == name);
        found.ok_or_else(|| self.corrupt(0, format!("section `{name}` is missing")))
    }

    fn verify_section(&self, section: &Section) -> Result<(), StoreError> {
        if xxh3_64(&self.opened.bytes.get()[section.range.clone()]) == section.checksum {
            Ok(())
        } else {
            Err(self.wrong_checksum(section))
        }
    }
}

/// Bytes of a section file together with the file that holds them.
#[derive(Clone, Debug)]
pub struct SectionSlice {
    file: SectionFile,
    range: Range<usize>,
}

impl SectionSlice {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.file.opened.bytes.get()[self.range.clone()]
    }

    /// A part of it; `None` if the range lies outside.
    pub fn part(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.range.len() {
            return None;
        }
        Some(Self {
            file: self.file.clone(),
            range: self.range.start + range.start..self.range.start + range.end,
        })
    }

    /// The name of the file, for errors.
    pub fn file_name(&self) -> &str {
        self.file.name()
    }

    /// Where the bytes start in the file, for errors.
    pub fn file_offset(&self) -> u64 {
        self.range.start as u64
    }

    /// A corruption error at an offset within these bytes.
    pub fn corrupt(&self, offset: u64, what: impl Into<String>) -> StoreError {
        self.file.corrupt(self.file_offset() + offset, what)
    }
}

fn check_header(all: &[u8], name: &str, kind: FileKind) -> Result<(), StoreError> {
    if all.len() < HEADER_BYTES + TRAILER_BYTES {
        return Err(StoreError::corrupt(
            name,
            all.len() as u64,
            "the file is shorter than its header and trailer",
        ));
    }
    if all[..8] != MAGIC {
        return Err(StoreError::corrupt(name, 0, "this is not a Basalt file"));
    }
    if long_at(all, HEADER_CHECKED_BYTES) != xxh3_64(&all[..HEADER_CHECKED_BYTES]) {
        return Err(StoreError::corrupt(
            name,
            HEADER_CHECKED_BYTES as u64,
            "the checksum of the header is wrong",
        ));
    }
    let format = long_at(all, 16) as u32;
    if format != FORMAT_VERSION {
        return Err(StoreError::UnknownFormat {
            file: name.to_owned(),
            found: format,
            supported: FORMAT_VERSION,
        });
    }
    if all[8..16] != kind.code() {
        return Err(StoreError::corrupt(
            name,
            8,
            format!("the file is not of kind {kind:?}"),
        ));
    }
    Ok(())
}

struct Directory {
    range: Range<usize>,
    checksum: u64,
    sections: u64,
}

fn find_directory(all: &[u8], name: &str) -> Result<Directory, StoreError> {
    let start = all.len() - TRAILER_BYTES;
    let trailer = &all[start..];
    let corrupt = |what: &str| StoreError::corrupt(name, start as u64, what);
    if trailer[TRAILER_BYTES - 8..] != END_MAGIC {
        return Err(corrupt("the end of the file is missing"));
    }
    if long_at(trailer, TRAILER_CHECKED_BYTES) != xxh3_64(&trailer[..TRAILER_CHECKED_BYTES]) {
        return Err(corrupt("the checksum of the trailer is wrong"));
    }
    let offset = long_at(trailer, 0);
    let length = long_at(trailer, 8);
    if offset < HEADER_BYTES as u64 || offset.checked_add(length) != Some(start as u64) {
        return Err(corrupt("the directory is not where the trailer says"));
    }
    Ok(Directory {
        range: offset as usize..start,
        checksum: long_at(trailer, 16),
        sections: long_at(trailer, 24),
    })
}

fn read_directory(
    all: &[u8],
    directory: &Directory,
    name: &str,
) -> Result<Vec<Section>, StoreError> {
    let bytes = &all[directory.range.clone()];
    let mut sections = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let corrupt =
            |what: &str| StoreError::corrupt(name, (directory.range.start + at) as u64, what);
        let name_bytes = bytes
            .get(at..at + 2)
            .map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])))
            .ok_or_else(|| corrupt("the directory ends too early"))?;
        let entry = bytes
            .get(at + 2..at + 2 + name_bytes + 24)
            .ok_or_else(|| corrupt("the directory ends too early"))?;
        let section_name = std::str::from_utf8(&entry[..name_bytes])
            .map_err(|_| corrupt("a section name is not UTF-8"))?;
        let offset = long_at(entry, name_bytes);
        let length = long_at(entry, name_bytes + 8);
        let end = offset.checked_add(length);
        if offset < HEADER_BYTES as u64 || end.is_none_or(|e| e > directory.range.start as u64) {
            return Err(corrupt("a section lies outside the file"));
        }
        sections.push(Section {
            name: section_name.to_owned(),
            range: offset as usize..(offset + length) as usize,
            checksum: long_at(entry, name_bytes + 16),
        });
        at += 2 + name_bytes + 24;
    }
    if sections.len() as u64 != directory.sections {
        return Err(StoreError::corrupt(
            name,
            directory.range.start as u64,
            "the directory has the wrong number of sections",
        ));
    }
    Ok(sections)
}

/// The 64 bits at a place that the caller has checked to exist.
fn long_at(bytes: &[u8], at: usize) -> u64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(long)
}
