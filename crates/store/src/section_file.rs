//! Section files: the container of every binary file of a store.
//!
//! ```text
//! header (64 bytes) | section | padding | section | padding | ... | directory | trailer (48 bytes)
//! ```
//!
//! Sections are named byte strings that start at multiples of [`SECTION_ALIGNMENT`]. The
//! directory lists name, offset, length and xxh3 checksum of each. Opening verifies header,
//! trailer and directory and costs a page or two of I/O; the checksum of a section's contents is
//! verified by [`SectionFile::verified_section`] (small metadata, always) or
//! [`SectionFile::verify`] (everything, in a deep check). The byte layout stands in
//! `docs/storage-format.md`.
//!
//! Invariants: a written file is left to be synced when [`SectionWriter::finish`] returns, and its folder tells when that is
//! done; after a failed write the writer is gone. Writing is sequential and buffered.

mod reader;
mod writer;

pub use reader::{SectionFile, SectionSlice};
pub use writer::SectionWriter;

/// First bytes of every file.
const MAGIC: [u8; 8] = *b"BASALT\r\n";
/// Last bytes of every file.
const END_MAGIC: [u8; 8] = *b"\nTLASAB\n";
/// Version of the container and of all that is in it.
pub const FORMAT_VERSION: u32 = 1;
/// Bytes of the header: magic, kind, format version, reserved zeros, checksum.
const HEADER_BYTES: usize = 64;
/// Bytes of the header that its checksum covers.
const HEADER_CHECKED_BYTES: usize = 56;
/// Bytes of the trailer: directory offset, length, checksum; section count; checksum; magic.
const TRAILER_BYTES: usize = 48;
/// Bytes of the trailer that its checksum covers.
const TRAILER_CHECKED_BYTES: usize = 32;
/// Sections start at multiples of this many bytes (a cache line).
pub const SECTION_ALIGNMENT: u64 = 64;

/// What a file is, as told by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// IRIs and blank nodes.
    Resources,
    /// Literals.
    Literals,
    /// One table.
    Table,
    /// The irregular quads.
    Quads,
    /// Statistics and dirty rows.
    Statistics,
    /// When and why versions were written.
    History,
}

impl FileKind {
    /// The eight bytes in the header.
    const fn code(self) -> [u8; 8] {
        match self {
            Self::Resources => *b"resource",
            Self::Literals => *b"literals",
            Self::Table => *b"table   ",
            Self::Quads => *b"quads   ",
            Self::Statistics => *b"statisti",
            Self::History => *b"history ",
        }
    }
}

#[cfg(test)]
mod tests;
