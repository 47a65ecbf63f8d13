//! The storage report: every byte of every file is told once.

use super::patterns::quads;
use super::splitter::load;
use crate::Storage;
use crate::table::TypeClass;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

/// Lengths of all files in the folders of a store.
fn bytes_on_disk(dir: &Path) -> u64 {
    let list = |dir: &Path| std::fs::read_dir(dir).expect("the folder is there");
    let entries = list(dir).map(|entry| entry.expect("an entry").path());
    let folders = entries.filter(|path| path.is_dir());
    folders
        .flat_map(|folder| list(&folder))
        .map(|entry| entry.and_then(|e| e.metadata()).expect("a file").len())
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_byte_is_told_once(quads in quads(400)) {
        let dir = tempfile::tempdir().expect("a folder");
        let snapshot = load(&quads, Storage::Directory(dir.path().to_owned()));
        let report = snapshot.storage_report();
        prop_assert_eq!(report.bytes(), bytes_on_disk(dir.path()));
        prop_assert_eq!(report.bytes(), snapshot.file_bytes());
        let in_cells: u64 = report.tables.iter().map(|t| t.quads_in_cells()).sum();
        let irregular: u64 = report.quads.iter().map(|p| p.quads).sum();
        prop_assert_eq!(in_cells + irregular, snapshot.quad_count());
        for table in &report.tables {
            let cells: u64 = table.columns.iter().map(|c| c.cell_bytes).sum();
            let inverses: u64 = table.columns.iter().map(|c| c.bytes() - c.cell_bytes).sum();
            prop_assert_eq!(cells, table.file.section_bytes("cells"));
            let sections = table.file.sections.iter();
            let of_inverses = sections.filter(|(name, _)| name.starts_with("inverse-"));
            prop_assert_eq!(inverses, of_inverses.map(|(_, bytes)| bytes).sum::<u64>());
            let other = ["definition", "segments", "statistics", "graphs"];
            let other: u64 = other.iter().map(|name| table.file.section_bytes(name)).sum();
            prop_assert_eq!(table.other_bytes(), other + table.file.frame_bytes());
        }
        let psog: u64 = report.quads.iter().map(|p| p.psog_bytes).sum();
        let posg: u64 = report.quads.iter().map(|p| p.posg_bytes).sum();
        prop_assert_eq!(psog, report.quad_file.section_bytes("psog"));
        prop_assert_eq!(posg, report.quad_file.section_bytes("posg"));
    }
}

#[test]
fn columns_are_told_as_they_are() {
    let snapshot = load(&BTreeSet::new(), Storage::Memory);
    let report = snapshot.storage_report();
    for (table, storage) in snapshot.tables().iter().zip(&report.tables) {
        let has_graphs = usize::from(table.constant_graph().is_none());
        let columns = table.definition().columns.len();
        assert_eq!(storage.columns.len(), columns + has_graphs);
        for column in &storage.columns {
            let segments: u64 = column.segments.values().sum();
            assert_eq!(segments, table.segment_count() as u64);
        }
    }
    assert_eq!(TypeClass::ANY.describe(), "any");
    let text = TypeClass::STRING | TypeClass::LANGUAGE;
    assert_eq!(text.describe(), "string|langString");
}
