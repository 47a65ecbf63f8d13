//! Deep checks of the quad table and of the seam to the tables.

use super::IdRange;
use crate::dirty_rows::DirtyRowsBuilder;
use crate::error::StoreError;
use crate::quad_table::PredicateQuads;
use crate::snapshot::Version;
use basalt_rdf::TermId;
use std::ops::ControlFlow;
use xxhash_rust::xxh3::xxh3_64;

/// Verifies both orders, dirty rows, and that no irregular quad is a cell value too.
pub(super) fn check(version: &Version, ids: IdRange) -> Result<(), StoreError> {
    let mut dirty = DirtyRowsBuilder::new(&version.extents, version.tables.len());
    for (predicate, counts) in version.quad_table.predicates() {
        if !ids.holds(predicate) {
            return Err(corrupt(version, predicate, "the predicate is unknown"));
        }
        let psog = check_order(version, predicate, ids, Lead::Subject)?;
        let posg = check_order(version, predicate, ids, Lead::Object)?;
        let counted = PredicateQuads {
            quads: psog.quads,
            subjects: psog.distinct,
            objects: posg.distinct,
        };
        if counted != counts {
            return Err(corrupt(version, predicate, "its counts are wrong"));
        }
        if (psog.quads, psog.hash) != (posg.quads, posg.hash) {
            return Err(corrupt(version, predicate, "the two orders differ"));
        }
        check_seam(version, predicate, &mut dirty)?;
    }
    for (table, expected) in version.tables.iter().zip(dirty.finish()) {
        let known = table.dirty_predicates();
        if !known.eq(expected.iter().map(|(p, rows)| (*p, rows))) {
            let what = format!("the dirty rows of table `{}` are wrong", table.name());
            return Err(version.statistics_file.corrupt(0, what));
        }
    }
    Ok(())
}

fn corrupt(version: &Version, predicate: TermId, what: &str) -> StoreError {
    let what = format!("irregular quads of predicate {predicate:?}: {what}");
    version.quad_table.file().corrupt(0, what)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Subject,
    Object,
}

/// What one order was found to hold.
#[derive(Default)]
struct Found {
    quads: u64,
    /// Distinct leading keys.
    distinct: u64,
    /// A hash of the set of quads, whatever their order.
    hash: u64,
}

fn check_order(
    version: &Version,
    predicate: TermId,
    ids: IdRange,
    lead: Lead,
) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let mut last = [0_u64; 3];
    let mut problem = None;
    let mut visit = |subjects: &[u64], objects: &[u64], graphs: &[u64]| {
        for ((&s, &o), &g) in subjects.iter().zip(objects).zip(graphs) {
            let key = match lead {
                Lead::Subject => [s, o, g],
                Lead::Object => [o, s, g],
            };
            let graph = TermId(g);
            if key <= last {
                problem = Some("they do not ascend");
            } else if !TermId(s).is_resource()
                || !(graph.is_resource() || graph == TermId::DEFAULT_GRAPH)
                || !ids.holds(TermId(s))
                || !ids.holds(TermId(o))
                || graph.is_resource() && !ids.holds(graph)
            {
                problem = Some("a term is unknown");
            }
            if problem.is_some() {
                return ControlFlow::Break(());
            }
            found.distinct += u64::from(key[0] != last[0]);
            last = key;
            let mut bytes = [0; 24];
            for (part, value) in bytes.chunks_exact_mut(8).zip([s, o, g]) {
                part.copy_from_slice(&value.to_le_bytes());
            }
            found.hash = found.hash.wrapping_add(xxh3_64(&bytes));
            found.quads += 1;
        }
        ControlFlow::Continue(())
    };
    match lead {
        Lead::Subject => version.quad_table.scan(predicate, &mut visit)?,
        Lead::Object => version.quad_table.scan_by_object(predicate, &mut visit)?,
    }
    match problem {
        Some(what) => Err(corrupt(version, predicate, what)),
        None => Ok(found),
    }
}

/// Collects dirty rows, and verifies that no quad stands in a cell as well.
fn check_seam(
    version: &Version,
    predicate: TermId,
    dirty: &mut DirtyRowsBuilder<'_>,
) -> Result<(), StoreError> {
    let mut twice = None;
    version
        .quad_table
        .scan(predicate, &mut |subjects, objects, graphs| {
            for ((&s, &o), &g) in subjects.iter().zip(objects).zip(graphs) {
                let subject = TermId(s);
                dirty.add(predicate, subject);
                let Some((table_idx, row)) = version.extents.row_of(subject) else {
                    continue;
                };
                let table = &version.tables[table_idx];
                let cells = table.cells(predicate);
                if table.graph(row).0 == g && cells.is_some_and(|c| c.has(row, TermId(o))) {
                    twice = Some((subject, TermId(o)));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
    match twice {
        Some((s, o)) => {
            let what = format!("{s:?} {o:?} is also in a cell");
            Err(corrupt(version, predicate, &what))
        }
        None => Ok(()),
    }
}
