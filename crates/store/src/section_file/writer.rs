//! Writing a section file from start to end.
//!
//! The sink is a buffered file or a vector; both get the same bytes. Checksums are streamed, so
//! memory is one buffer and the directory.

use super::{
    END_MAGIC, FORMAT_VERSION, FileKind, HEADER_BYTES, HEADER_CHECKED_BYTES, MAGIC,
    SECTION_ALIGNMENT, TRAILER_BYTES,
};
use crate::error::StoreError;
use crate::folder::{FinishedFile, Folder};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes buffered before a write reaches the operating system: large sequential writes.
const BUFFER_BYTES: usize = 1 << 20;

enum Sink {
    File {
        file: BufWriter<File>,
        path: PathBuf,
    },
    Memory(Vec<u8>),
}

struct OpenSection {
    name: String,
    offset: u64,
    hash: Xxh3,
}

/// Writes one section file; nothing is valid before [`Self::finish`].
pub struct SectionWriter {
    folder: Folder,
    name: String,
    sink: Sink,
    position: u64,
    open: Option<OpenSection>,
    directory: Vec<u8>,
    sections: u64,
}

impl SectionWriter {
    pub(crate) fn create(folder: Folder, name: &str, kind: FileKind) -> Result<Self, StoreError> {
        let sink = match folder.path_of(name) {
            Some(path) => {
                let file = File::create(&path).map_err(StoreError::io("create", &path))?;
                Sink::File {
                    file: BufWriter::with_capacity(BUFFER_BYTES, file),
                    path,
                }
            }
            None => Sink::Memory(Vec::new()),
        };
        let mut writer = Self {
            folder,
            name: name.to_owned(),
            sink,
            position: 0,
            open: None,
            directory: Vec::new(),
            sections: 0,
        };
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&kind.code());
        header[16..20].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        let checksum = xxh3_64(&header[..HEADER_CHECKED_BYTES]);
        header[HEADER_CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        writer.put(&header)?;
        Ok(writer)
    }

    /// Starts a section, ending the one before. Names must not repeat within a file.
    pub fn begin(&mut self, name: &str) -> Result<(), StoreError> {
        self.end_section();
        let offset = self.position.next_multiple_of(SECTION_ALIGNMENT);
        let padding = [0; SECTION_ALIGNMENT as usize];
        self.put(&padding[..(offset - self.position) as usize])?;
        self.open = Some(OpenSection {
            name: name.to_owned(),
            offset,
            hash: Xxh3::new(),
        });
        Ok(())
    }

    /// Appends bytes to the section begun last.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let open = self
            .open
            .as_mut()
            .ok_or_else(|| StoreError::invalid("bytes written outside a section"))?;
        open.hash.update(bytes);
        self.put(bytes)
    }

    /// Bytes in the section begun last.
    pub fn section_position(&self) -> u64 {
        self.open
            .as_ref()
            .map_or(0, |open| self.position - open.offset)
    }

    /// Writes a whole section.
    pub fn section(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.begin(name)?;
        self.write(bytes)
    }

    /// Writes directory and trailer. The file is made durable while others are written; its folder waits for that before a version is published.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.end_section();
        let directory = std::mem::take(&mut self.directory);
        let directory_offset = self.position;
        let directory_checksum = xxh3_64(&directory);
        self.put(&directory)?;
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&directory_offset.to_le_bytes());
        trailer.extend_from_slice(&(directory.len() as u64).to_le_bytes());
        trailer.extend_from_slice(&directory_checksum.to_le_bytes());
        trailer.extend_from_slice(&self.sections.to_le_bytes());
        let checksum = xxh3_64(&trailer);
        trailer.extend_from_slice(&checksum.to_le_bytes());
        trailer.extend_from_slice(&END_MAGIC);
        self.put(&trailer)?;
        match self.sink {
            Sink::File { file, path } => {
                let file = file
                    .into_inner()
                    .map_err(|error| StoreError::io("write", &path)(error.into_error()))?;
                self.folder.make_durable(file, path)?;
            }
            Sink::Memory(bytes) => self.folder.store_memory(&self.name, &bytes),
        }
        self.folder.note_finished(
            &self.name,
            FinishedFile {
                bytes: self.position,
                directory_checksum,
            },
        );
        Ok(())
    }

    fn end_section(&mut self) {
        if let Some(open) = self.open.take() {
            let length = self.position - open.offset;
            let name_bytes = u16::try_from(open.name.len()).expect("section names are short");
            self.directory.extend_from_slice(&name_bytes.to_le_bytes());
            self.directory.extend_from_slice(open.name.as_bytes());
            self.directory.extend_from_slice(&open.offset.to_le_bytes());
            self.directory.extend_from_slice(&length.to_le_bytes());
            let checksum = open.hash.digest();
            self.directory.extend_from_slice(&checksum.to_le_bytes());
            self.sections += 1;
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match &mut self.sink {
            Sink::File { file, path } => file
                .write_all(bytes)
                .map_err(StoreError::io("write", path))?,
            Sink::Memory(memory) => memory.extend_from_slice(bytes),
        }
        self.position += bytes.len() as u64;
        Ok(())
    }
}

impl std::fmt::Debug for SectionWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SectionWriter")
            .field("name", &self.name)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
