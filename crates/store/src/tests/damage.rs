//! Flipped and truncated bytes: an error, or the right answer, never a panic.

use super::patterns::{found, quads};
use super::splitter::{load, number, resource};
use crate::folder::{Folder, Folders};
use crate::snapshot::{Snapshot, Version};
use crate::{CheckDepth, QuadIds, QuadPattern, Storage, StoreError};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Opens a copy of the version in which one file is changed.
fn open_with(
    version: &Version,
    file_idx: usize,
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<Snapshot, StoreError> {
    let number = version.manifest.version;
    let folder = Folder::of_version_in_memory(number);
    let mut change = Some(change);
    for (i, (name, mut bytes)) in files_of(version).into_iter().enumerate() {
        if i == file_idx
            && let Some(change) = change.take()
        {
            change(&mut bytes);
        }
        folder.store_memory(&name, &bytes);
    }
    let folders = Folders::in_memory([(number, folder)]);
    Version::open(folders, version.manifest.clone()).map(Snapshot::of)
}

/// The files of a version with one folder.
fn files_of(version: &Version) -> Vec<(String, Vec<u8>)> {
    let folder = version.folders.get(version.manifest.version);
    folder.memory_files()
}

/// Runs patterns of every kind; whatever they answer, they must answer.
fn search(snapshot: &Snapshot) {
    for mask in 0..16 {
        let bound = |bit: u8, id| (mask & bit != 0).then_some(id);
        for (subject, object) in [(12, number(2)), (41, resource(45)), (70, resource(12))] {
            let pattern = QuadPattern {
                subject: bound(1, resource(subject)),
                predicate: bound(2, resource(subject % 3)),
                object: bound(4, object),
                graph: bound(8, resource(6)),
            };
            let _ = snapshot.matching(&pattern, &mut |_| ControlFlow::Continue(()));
        }
    }
}

fn expect_error_or_right_answer(
    opened: Result<Snapshot, StoreError>,
    quads: &BTreeSet<QuadIds>,
) -> Result<(), TestCaseError> {
    let Ok(snapshot) = opened else {
        return Ok(());
    };
    search(&snapshot);
    if snapshot.check(CheckDepth::Deep).is_ok() {
        let all: Vec<QuadIds> = quads.iter().copied().collect();
        prop_assert_eq!(found(&snapshot, &QuadPattern::default()), all);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn flipped_bits_are_noticed(
        quads in quads(300),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u8..8), 40),
    ) {
        let snapshot = load(&quads, Storage::Memory);
        let version = snapshot.parts();
        let files = files_of(version).len();
        for (file, place, bit) in flips {
            let opened = open_with(version, file.index(files), |bytes| {
                let i = place.index(bytes.len());
                bytes[i] ^= 1 << bit;
            });
            expect_error_or_right_answer(opened, &quads)?;
        }
    }

    #[test]
    fn truncated_files_are_noticed(
        quads in quads(300),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 40),
    ) {
        let snapshot = load(&quads, Storage::Memory);
        let version = snapshot.parts();
        let files = files_of(version).len();
        for (file, place) in cuts {
            let opened = open_with(version, file.index(files), |bytes| {
                bytes.truncate(place.index(bytes.len()));
            });
            let refused = matches!(opened, Err(StoreError::Corrupt { .. }));
            prop_assert!(refused);
        }
    }
}

#[test]
fn a_file_of_another_version_is_refused() {
    let quad = |predicate| QuadIds {
        subject: resource(70),
        predicate: resource(predicate),
        object: resource(71),
        graph: basalt_rdf::TermId::DEFAULT_GRAPH,
    };
    let one = load(&BTreeSet::from([quad(0)]), Storage::Memory);
    let other = load(&BTreeSet::from([quad(1)]), Storage::Memory);
    let files = files_of(other.parts());
    for (i, (name, theirs)) in files.into_iter().enumerate() {
        let mut same = false;
        let opened = open_with(one.parts(), i, |bytes| {
            same = *bytes == theirs;
            *bytes = theirs;
        });
        assert_eq!(opened.is_ok(), same, "{name}");
    }
}
