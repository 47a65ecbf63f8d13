//! Writing the irregular quads, sorted in memory or through files.
//!
//! The objects get their numbers in the order of predicates and subjects. What fits in memory is then left to
//! the store's writer. Else the quads, sorted by use in runs, are merged, numbered, and sorted
//! again into the two orders of the quad table, which are merged into its file.

use basalt_store::VersionWriter;

use crate::error::LoadError;
use crate::numbering::TermNumbers;
use crate::spill::{LoadMemory, QuadSorter, SortOrder};

/// Bytes of a quad while it is sorted, with the scratch of a stable sort.
const SORTED_QUAD_BYTES: usize = 48;

/// Quads between two looks at whether the load was cancelled.
const CHECKED_QUADS: usize = 1 << 16;

/// A sorter for the irregular quads of a load in which numbers take `resident` bytes.
pub(crate) fn sorter(memory: &LoadMemory, resident: u64) -> QuadSorter {
    QuadSorter::new(&memory.folder, SortOrder::Use, quads_max(memory, resident))
}

fn quads_max(memory: &LoadMemory, resident: u64) -> usize {
    let usual = memory.left(resident) / 4 / SORTED_QUAD_BYTES;
    memory.settings.sort_quads.unwrap_or(usual)
}

/// Numbers the objects of the quads and gives the quads to the store.
pub(crate) fn write_irregular(
    quads: QuadSorter,
    numbers: &mut TermNumbers,
    writer: &mut VersionWriter,
    memory: &LoadMemory,
    resident: u64,
) -> Result<(), LoadError> {
    if quads.is_in_memory() {
        let mut quads = quads.into_held();
        numbers.finalise_irregular(&mut quads);
        return Ok(writer.irregular_quads(quads)?);
    }
    let spilled = quads.finish()?;
    let quads_max = quads_max(memory, resident) / 2;
    let mut psog = QuadSorter::new(&memory.folder, SortOrder::Psog, quads_max);
    let mut posg = QuadSorter::new(&memory.folder, SortOrder::Posg, quads_max);
    numbers.literals.end_run();
    for (count, quad) in spilled.merge()?.enumerate() {
        if count % CHECKED_QUADS == 0 {
            memory.go_on()?;
        }
        let mut quad = quad?;
        numbers.finalise_object(&mut quad);
        psog.push(quad)?;
        posg.push(quad)?;
    }
    drop(spilled);
    let (psog, posg) = (psog.finish()?, posg.finish()?);
    writer.sorted_irregular_quads(posg.merge()?, psog.merge()?)
}
