//! `RowQuads`: the quads of many subjects at once, for `PatternJoin` with a bound subject and a free predicate.
//!
//! Rows of tables are read column by column: one gather per column for all rows of the batch that are in the table. Irregular quads
//! of these rows are looked up row by row. Subjects in no table, those that changes touch, and rows with irregular quads where graphs are
//! merged (a triple may be in several) are left to [`CompiledPattern::visit`], the slow twin. Matches of a row are not side by side.
//! Memory: the values of one call.

use super::pattern_scan::{CompiledPattern, GraphPlace, Place};
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use crate::star::Matches;
use basalt_rdf::TermId;
use basalt_store::{QuadPattern, RowState, Table};
use std::ops::ControlFlow;

/// Which positions of the pattern come from where; see the [module documentation](self).
#[derive(Clone, Copy, Debug)]
pub struct RowQuads {
    /// Column of the input that holds the subject.
    subject: usize,
    /// New column of the predicate.
    predicate: usize,
    /// New column of the object, or what it must be.
    object: Place,
    /// New column of the graph.
    graph: Option<usize>,
    /// Column of the input that holds the graph.
    input_graph: Option<usize>,
}

/// The candidates in one table.
#[derive(Default)]
struct Candidates {
    rows: Vec<u32>,
    origins: Vec<u32>,
}

/// What each input row asks for.
struct Asked {
    objects: Option<Vec<u64>>,
    graphs: Option<Vec<u64>>,
}

/// The values of one predicate for the candidates.
struct Gathered {
    predicate: u64,
    counts: Vec<u32>,
    values: Vec<u64>,
    /// Values handed on so far.
    taken: usize,
}

impl RowQuads {
    /// The plan for a pattern, if it is of the right kind: no slot twice among the new ones.
    pub fn of(pattern: &CompiledPattern) -> Option<Self> {
        let [Place::Input(subject), Place::New(predicate), object] = pattern.places else {
            return None;
        };
        let (graph, input_graph) = pattern.graph_columns()?;
        let new_object = match object {
            Place::New(column) => Some(column),
            Place::Id(_) | Place::Input(_) => None,
        };
        let repeats = new_object == Some(predicate)
            || graph == Some(predicate)
            || (graph.is_some() && graph == new_object);
        (!repeats).then_some(Self {
            subject,
            predicate,
            object,
            graph,
            input_graph,
        })
    }

    /// Appends the matches of those of the first `rows` input rows whose subjects are read by column; returns the
    /// others. `columns` are the ids of the input by column.
    pub fn join(
        &self,
        pattern: &CompiledPattern,
        column: &dyn Fn(usize) -> Vec<u64>,
        rows: usize,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let snapshot = cx.snapshot();
        let mut by_table: Vec<(usize, Candidates)> = Vec::new();
        // Where each table is among those met; subjects of a batch may be rows of hundreds.
        let mut places = vec![usize::MAX; snapshot.tables().len()];
        let (mut others, mut irregular) = (Vec::new(), Vec::new());
        let is_merge = matches!(pattern.graphs, GraphPlace::Merge(_));
        let subjects = column(self.subject);
        let mut near = 0;
        for (origin, &subject) in subjects.iter().enumerate().take(rows) {
            let Some((table_idx, row)) = snapshot.row_of_near(TermId(subject), &mut near) else {
                others.push(origin as u32);
                continue;
            };
            match snapshot.row_state(table_idx, row) {
                RowState::Clean => {}
                RowState::Irregular if !is_merge => {
                    irregular.push((origin as u32, (table_idx, row)));
                }
                RowState::Irregular | RowState::Changed => {
                    others.push(origin as u32);
                    continue;
                }
            }
            let place = &mut places[table_idx];
            if *place == usize::MAX {
                *place = by_table.len();
                by_table.push((table_idx, Candidates::default()));
            }
            let (_, candidates) = &mut by_table[*place];
            candidates.rows.push(row);
            candidates.origins.push(origin as u32);
        }
        let wanted = match self.object {
            Place::Input(idx) => Some(column(idx)),
            Place::Id(id) => Some(vec![id; rows]),
            Place::New(_) => None,
        };
        let asked = Asked {
            objects: wanted,
            graphs: self.input_graph.map(column),
        };
        for (table_idx, candidates) in by_table {
            cx.check()?;
            let table = &snapshot.tables()[table_idx];
            self.table(pattern, table, candidates, &asked, matches, cx);
        }
        for (origin, row) in irregular {
            cx.check()?;
            self.irregular(pattern, (origin, row), &asked, matches, cx)?;
        }
        Ok(others)
    }

    /// The irregular matches of one row.
    fn irregular(
        &self,
        pattern: &CompiledPattern,
        (origin, row): (u32, (usize, u32)),
        wanted: &Asked,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let of_origin = |ids: &Vec<u64>| TermId(ids[origin as usize]);
        let wanted = QuadPattern {
            object: wanted.objects.as_ref().map(of_origin),
            graph: wanted.graphs.as_ref().map(of_origin),
            ..QuadPattern::default()
        };
        let mut read = 0;
        cx.snapshot().irregular_of_row(row, &wanted, &mut |quad| {
            read += 1;
            if pattern.graph_fits(quad.graph) {
                matches.columns[self.predicate].push(quad.predicate.0);
                if let Place::New(column) = self.object {
                    matches.columns[column].push(quad.object.0);
                }
                if let Some(column) = self.graph {
                    matches.columns[column].push(quad.graph.0);
                }
                matches.origin.push(origin);
            }
            ControlFlow::Continue(())
        })?;
        cx.profile().read(current_node(), read);
        Ok(())
    }

    /// The matches in one table.
    fn table(
        &self,
        pattern: &CompiledPattern,
        table: &Table,
        mut candidates: Candidates,
        wanted: &Asked,
        matches: &mut Matches,
        cx: &Context,
    ) {
        let mut graphs = Vec::new();
        table.gather_graphs(&candidates.rows, &mut graphs);
        let kept: Vec<u32> = (0..graphs.len() as u32)
            .filter(|&i| pattern.graph_fits(TermId(graphs[i as usize])))
            .filter(|&i| {
                let origin = candidates.origins[i as usize] as usize;
                let asked = wanted.graphs.as_ref();
                asked.is_none_or(|asked| asked[origin] == graphs[i as usize])
            })
            .collect();
        crate::selection::keep(&mut candidates.rows, &kept);
        crate::selection::keep(&mut candidates.origins, &kept);
        crate::selection::keep(&mut graphs, &kept);
        if candidates.rows.is_empty() {
            return;
        }
        let may_match = |cells: &basalt_store::Cells<'_>| match self.object {
            Place::Id(id) => cells.may_hold(TermId(id)),
            Place::Input(_) | Place::New(_) => cells.statistics().values > 0,
        };
        let gather = |cells: basalt_store::Cells<'_>| {
            let mut gathered = Gathered {
                predicate: cells.predicate().0,
                counts: Vec::with_capacity(candidates.rows.len()),
                values: Vec::with_capacity(candidates.rows.len()),
                taken: 0,
            };
            cells.gather_lists(&candidates.rows, &mut gathered.counts, &mut gathered.values);
            gathered
        };
        let mut columns: Vec<Gathered> = table.all_cells().filter(may_match).map(gather).collect();
        let read = columns.iter().map(|of_predicate| of_predicate.values.len());
        cx.profile().read(current_node(), read.sum());
        for (i, &origin) in candidates.origins.iter().enumerate() {
            for of_predicate in &mut columns {
                let start = of_predicate.taken;
                of_predicate.taken += of_predicate.counts[i] as usize;
                let values = &of_predicate.values[start..of_predicate.taken];
                let asked = wanted.objects.as_ref().map(|ids| ids[origin as usize]);
                let rows = match asked {
                    None => values.len(),
                    Some(id) => usize::from(values.contains(&id)),
                };
                let made = std::iter::repeat_n(of_predicate.predicate, rows);
                matches.columns[self.predicate].extend(made);
                if let Place::New(column) = self.object {
                    matches.columns[column].extend_from_slice(values);
                }
                if let Some(column) = self.graph {
                    matches.columns[column].extend(std::iter::repeat_n(graphs[i], rows));
                }
                matches.origin.extend(std::iter::repeat_n(origin, rows));
            }
        }
    }
}
