//! Reading a version with the delta over it.
//!
//! Every function first does what it does for the version, without the removed quads, then visits the
//! added ones, so it finds each quad once. What the version makes faster (inverses, dirty rows, lists of
//! predicates) is used as it is: the delta is no part of it. Cost: without a delta one
//! branch; with one a search among removed quads for each quad found, where its predicate has removed ones.

use super::predicate_delta::TwoOrders;
use super::{Delta, PredicateDelta};
use crate::counting::GraphSet;
use crate::error::StoreError;
use crate::matching::{self, QuadIds, QuadPattern, VisitQuad};
use crate::neighbours::{self, Direction, VisitNeighbour};
use crate::snapshot::Version;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// Whether a quad is there.
pub(crate) fn contains(
    version: &Version,
    delta: Option<&Delta>,
    quad: &QuadIds,
) -> Result<bool, StoreError> {
    if let Some(changes) = delta.and_then(|delta| delta.of(quad.predicate)) {
        let (subject, object, graph) = (quad.subject, quad.object, quad.graph);
        if changes.added().contains(subject, object, graph) {
            return Ok(true);
        }
        if changes.removed().contains(subject, object, graph) {
            return Ok(false);
        }
    }
    Ok(super::changes::Home::of(version, quad)? != super::changes::Home::None)
}

/// Tells which quads of a version are removed; quads of one predicate mostly come together.
pub(crate) struct Removed<'a> {
    delta: &'a Delta,
    /// The predicate asked for last, with its changes if some quad of it is removed.
    last: (TermId, Option<&'a PredicateDelta>),
}

impl<'a> Removed<'a> {
    pub(crate) fn new(delta: &'a Delta) -> Self {
        Self {
            delta,
            last: (TermId::UNBOUND, None),
        }
    }

    pub(crate) fn has(&mut self, quad: &QuadIds) -> bool {
        if self.last.0 != quad.predicate {
            let changes = self.delta.of(quad.predicate);
            let changes = changes.filter(|changes| !changes.removed().is_empty());
            self.last = (quad.predicate, changes);
        }
        let changes = self.last.1;
        changes.is_some_and(|c| c.removed().contains(quad.subject, quad.object, quad.graph))
    }
}

/// Visits every quad that matches; those of other graphs than `graphs` need not be.
pub(crate) fn matching(
    version: &Version,
    delta: Option<&Delta>,
    pattern: &QuadPattern,
    graphs: Option<&GraphSet>,
    visit: VisitQuad<'_>,
) -> Result<(), StoreError> {
    let Some(delta) = delta else {
        return matching::matching(version, pattern, graphs, visit);
    };
    let mut removed = Removed::new(delta);
    let mut step = ControlFlow::Continue(());
    matching::matching(version, pattern, graphs, &mut |quad| {
        if !removed.has(&quad) {
            step = visit(quad);
        }
        step
    })?;
    if step.is_continue() {
        let is_scan = pattern.subject.is_none() && pattern.object.is_none();
        let few = is_scan.then(|| matching::few_named_graphs(pattern, graphs));
        // Whether the visitor has enough is of no interest any more.
        let _ = match few.flatten() {
            Some(few) => visit_added_to(delta, &few, pattern, visit),
            None => visit_added(delta, pattern, visit),
        };
    }
    Ok(())
}

/// Visits the added quads that match and are in one of some named graphs, which come once each.
fn visit_added_to(
    delta: &Delta,
    graphs: &[TermId],
    pattern: &QuadPattern,
    visit: VisitQuad<'_>,
) -> ControlFlow<()> {
    if pattern.predicate.is_some_and(|p| delta.of(p).is_none()) {
        return ControlFlow::Continue(());
    }
    for &graph in graphs {
        for subject in delta.subjects_added_to(graph) {
            let pattern = QuadPattern {
                subject: Some(subject),
                graph: Some(graph),
                ..*pattern
            };
            visit_added(delta, &pattern, visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Visits the added quads that match.
pub(crate) fn visit_added(
    delta: &Delta,
    pattern: &QuadPattern,
    visit: VisitQuad<'_>,
) -> ControlFlow<()> {
    for predicate in delta.touched(pattern.predicate, pattern.subject, pattern.object) {
        let Some(changes) = delta.of(predicate) else {
            continue;
        };
        let added = changes.added();
        let mut on_quad = |subject, object, graph| {
            let quad = QuadIds {
                subject,
                predicate,
                object,
                graph,
            };
            match pattern.matches(&quad) {
                true => visit(quad),
                false => ControlFlow::Continue(()),
            }
        };
        match (pattern.subject, pattern.object) {
            (Some(subject), _) => {
                let mut found = added.of_subject(subject);
                found.try_for_each(|(object, graph)| on_quad(subject, object, graph))?;
            }
            (None, Some(object)) => {
                let mut found = added.of_object(object);
                found.try_for_each(|(subject, graph)| on_quad(subject, object, graph))?;
            }
            (None, None) => added.iter().try_for_each(|(s, o, g)| on_quad(s, o, g))?,
        }
    }
    ControlFlow::Continue(())
}

/// Visits the subjects of all quads in some named graphs that do not stand in cells, each with the position of its graph, any number of times;
/// those of quads that are removed may be among them.
pub(crate) fn irregular_subjects_in(
    version: &Version,
    delta: Option<&Delta>,
    graphs: &[u64],
    visit: &mut dyn FnMut(usize, TermId),
) -> Result<(), StoreError> {
    for (position, &graph) in graphs.iter().enumerate() {
        let graph = TermId(graph);
        let mut last = TermId::UNBOUND;
        let mut on_quad = |quad: QuadIds| {
            if last != quad.subject {
                last = quad.subject;
                visit(position, last);
            }
            ControlFlow::Continue(())
        };
        // The visitor never ends it.
        let _ = version
            .quad_table
            .by_graph(None, (graph, graphs.len()), &mut on_quad)?;
        for subject in delta
            .iter()
            .flat_map(|delta| delta.subjects_added_to(graph))
        {
            visit(position, subject);
        }
    }
    Ok(())
}

/// Visits the quads of a predicate whose subject (object, backwards) is one of these ids, which ascend
/// without repeats.
pub(crate) fn neighbours(
    version: &Version,
    delta: Option<&Delta>,
    predicate: TermId,
    direction: Direction,
    nodes: &[u64],
    visit: VisitNeighbour<'_>,
) -> Result<(), StoreError> {
    let Some(changes) = delta.and_then(|delta| delta.of(predicate)) else {
        return neighbours::neighbours(version, predicate, direction, nodes, visit);
    };
    let of_nodes = |quads: &TwoOrders, visit: VisitNeighbour<'_>| match direction {
        Direction::Forward => quads.of_subjects(nodes, visit),
        Direction::Backward => quads.of_objects(nodes, visit),
    };
    let mut removed = Vec::new();
    of_nodes(changes.removed(), &mut |position, other, graph| {
        removed.push((position, other, graph));
    });
    if removed.is_empty() {
        neighbours::neighbours(version, predicate, direction, nodes, visit)?;
    } else {
        let mut on_quad = |position, other, graph| {
            if removed.binary_search(&(position, other, graph)).is_err() {
                visit(position, other, graph);
            }
        };
        neighbours::neighbours(version, predicate, direction, nodes, &mut on_quad)?;
    }
    of_nodes(changes.added(), visit);
    Ok(())
}

/// Appends object and graph of every quad of a predicate and subject. `read_cells` appends the values that a row of a table has of the
/// predicate.
pub(crate) fn objects_of(
    version: &Version,
    delta: Option<&Delta>,
    (predicate, subject): (TermId, TermId),
    read_cells: &mut dyn FnMut(usize, u32, &mut Vec<u64>),
    out: &mut Vec<(TermId, TermId)>,
) -> Result<(), StoreError> {
    let start = out.len();
    let mut may_be_irregular = true;
    if let Some((table_idx, row)) = version.extents.row_of(subject) {
        let table = &version.tables[table_idx];
        let mut objects = Vec::new();
        read_cells(table_idx, row, &mut objects);
        if !objects.is_empty() {
            let home = table.graph(row);
            out.extend(objects.iter().map(|&object| (TermId(object), home)));
        }
        let dirty = table.dirty_rows(predicate);
        may_be_irregular = dirty.is_some_and(|rows| rows.contains(row));
    }
    if may_be_irregular {
        version.quad_table.by_subject(predicate, subject, out)?;
    }
    if let Some(changes) = delta.and_then(|delta| delta.of(predicate)) {
        let removed = changes.removed();
        if !removed.is_empty() {
            let mut found = out.split_off(start);
            found.retain(|&(object, graph)| !removed.contains(subject, object, graph));
            out.append(&mut found);
        }
        out.extend(changes.added().of_subject(subject));
    }
    Ok(())
}
