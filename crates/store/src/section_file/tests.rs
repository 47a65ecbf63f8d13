//! Section files by themselves.

use super::{FileKind, SECTION_ALIGNMENT};
use crate::error::StoreError;
use crate::folder::Folder;

fn sample(folder: &Folder) {
    let mut file = folder.create("sample", FileKind::Table).expect("room");
    file.begin("first").expect("room");
    file.write(b"hello ").expect("room");
    file.write(b"world").expect("room");
    assert_eq!(file.section_position(), 11);
    file.section("empty", b"").expect("room");
    file.section("last", &[7; 100]).expect("room");
    file.finish().expect("room");
}

#[test]
fn sections_are_found_again_in_both_places() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for folder in [Folder::memory(), Folder::directory(dir.path())] {
        sample(&folder);
        let file = folder.open("sample", FileKind::Table).expect("it opens");
        assert_eq!(file.section("first").expect("it exists"), b"hello world");
        assert_eq!(file.verified_section("empty").expect("it exists"), b"");
        assert_eq!(file.section("last").expect("it exists"), [7; 100]);
        assert_eq!(file.section_offset("last") % SECTION_ALIGNMENT, 0);
        assert!(!file.has_section("absent"));
        assert!(matches!(
            file.section("absent"),
            Err(StoreError::Corrupt { .. })
        ));
        file.verify().expect("it is whole");
        let slice = file.slice("first").expect("it exists");
        assert_eq!(slice.part(6..11).expect("inside").bytes(), b"world");
        assert!(slice.part(6..12).is_none());
        assert_eq!(folder.finished()["sample"].bytes, file.file_bytes());
    }
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let folder = Folder::memory();
    sample(&folder);
    let error = folder.open("sample", FileKind::Quads).expect_err("a table");
    assert!(error.to_string().contains("kind"), "{error}");
}

#[test]
fn every_flipped_bit_outside_padding_is_noticed() {
    let folder = Folder::memory();
    sample(&folder);
    let (_, bytes) = folder.memory_files().remove(0);
    let noticed = |damaged: &[u8]| {
        let folder = Folder::memory();
        folder.store_memory("sample", damaged);
        let opened = folder.open("sample", FileKind::Table);
        opened.and_then(|file| file.verify()).is_err()
    };
    assert!(!noticed(&bytes));
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x10;
        // Padding stands between the end of `first` and the start of the next sections.
        let is_padding = (64 + 11..128).contains(&i);
        assert_eq!(noticed(&damaged), !is_padding, "byte {i}");
        assert!(noticed(&bytes[..i]), "cut at {i}");
    }
}

#[test]
fn writing_outside_a_section_is_refused() {
    let folder = Folder::memory();
    let mut file = folder.create("sample", FileKind::Table).expect("room");
    assert!(matches!(
        file.write(b"x"),
        Err(StoreError::InvalidInput { .. })
    ));
}
