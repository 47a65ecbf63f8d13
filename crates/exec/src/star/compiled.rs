//! `CompiledStar`: a star made ready for one snapshot and one input schema.
//!
//! Holds, per table, which rows are dirty for the star's predicates or changed, and for every pattern whether
//! its object is a constant, a slot that the input binds, or a new slot. Made once per operator; the
//! cost is one bitmap union per table that has irregular quads of the star's predicates.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use basalt_plan::physical::{Expr, Graphs, Position, Slot, Star, StarPattern};
use basalt_plan::{for_each_operand, is_volatile, reads_texts};
use basalt_rdf::TermId;
use basalt_store::{ChangedRows, Snapshot};
use roaring::RoaringBitmap;
use std::sync::Arc;

/// Where the object of a pattern comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A constant that must be among the values.
    Constant(u64),
    /// A column of the input whose value must be among the values.
    Input(usize),
    /// A column of the output made by an earlier pattern; its value must be among the values.
    Made(usize),
    /// A new column of the output.
    New(usize),
    /// Any value will do, and nobody reads it: no column is made.
    Any,
}

/// One pattern of the star.
#[derive(Clone, Debug)]
pub struct CompiledPattern {
    /// The predicate.
    pub predicate: TermId,
    /// The object.
    pub object: Object,
    /// Whether rows without a value stay.
    pub optional: bool,
    /// Whether a row with several values gives no more than one.
    pub any_value: bool,
}

/// The graph position of the star.
#[derive(Clone, Debug)]
pub enum CompiledGraphs {
    /// One graph.
    One(u64),
    /// Any of the named graphs, put into a new output column.
    New(usize, Option<Vec<TermId>>),
    /// Any of the named graphs, equal to an output column that is already made.
    Made(usize, Option<Vec<TermId>>),
    /// The named graph that the input binds in this column.
    Input(usize, Option<Vec<TermId>>),
    /// The set union of graphs.
    Merge(Option<Vec<TermId>>),
}

/// A filter and the slots that it reads.
pub struct CompiledFilter {
    /// The condition over [`CompiledFilter::slots`].
    pub expr: CompiledExpr,
    /// The columns it reads, in this order.
    pub slots: Vec<Slot>,
}

impl CompiledFilter {
    /// The positions of the values that pass, of a filter that reads one column.
    pub fn passing(&self, values: &[u64], cx: &Context) -> Result<Vec<u32>, ExecError> {
        if let Some(selected) = self.expr.select_ids(|_| values) {
            return Ok(selected);
        }
        let rows = values.len();
        let batch = Batch::from_vectors(vec![values.to_vec()], rows);
        self.expr.select(&batch, cx)
    }
}

/// A star made ready; see the [module documentation](self).
pub struct CompiledStar {
    /// Patterns in the order in which they are evaluated: tests first, then new slots, of which those that filters read
    /// come before the others, so that these are gathered of few rows. Of the others come those with one value at most first, and
    /// those with most values last, so that few rows are repeated; with the same number of values, and where the graph is a variable, optional ones are last.
    pub patterns: Vec<CompiledPattern>,
    /// The subject: a constant, an input column, or new.
    pub subject: Object,
    /// The graph position.
    pub graphs: CompiledGraphs,
    /// The slots of the new columns, in column order.
    pub new_slots: Vec<Slot>,
    /// Filters with a single new slot, applied as soon as it is there; by new column.
    pub column_filters: Vec<(usize, CompiledFilter)>,
    /// The other filters, applied as soon as all that they read is there, by the number of patterns (of the compiled order) after
    /// which it is; they may read input slots.
    pub row_filters: Vec<(usize, CompiledFilter)>,
    /// Tables whose clean rows may match.
    pub tables: Vec<usize>,
    /// How the rows of each table of the snapshot are read, and new subjects.
    pub rows: Arc<ChangedRows>,
    /// Slots of the input, in column order.
    pub input_schema: Vec<Slot>,
    /// The columns of the input that solutions depend on, ascending; `None` if rows that are the same there may have different
    /// solutions all the same.
    pub input_columns: Option<Vec<usize>>,
}

impl CompiledStar {
    /// Prepares a star for rows with the schema `input_schema` (empty for a scan) that gives the slots in `schema`; those in
    /// `tested` are read by more than its filters.
    pub fn new(
        star: &Star,
        (input_schema, schema): (&[Slot], &[Slot]),
        tested: &[Slot],
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let mut tested = tested.to_vec();
        let mut has_exists = false;
        for filter in &star.filters {
            has_exists |= collect_slots(filter, &mut tested);
        }
        let slots = slots_of(star);
        let is_read = |slot: &Slot| {
            let is_repeated = slots.iter().filter(|other| *other == slot).count() > 1;
            let mut readers = [input_schema, schema, &tested].into_iter();
            is_repeated || has_exists || readers.any(|reader| reader.contains(slot))
        };
        let mut names = Names {
            input: input_schema,
            unread: slots
                .iter()
                .copied()
                .filter(|slot| !is_read(slot))
                .collect(),
            made: Vec::new(),
        };
        let subject = names.object(star.subject);
        let graphs = names.graphs(&star.graphs);
        let of_texts = slots_of_texts(star);
        let tested = (tested.as_slice(), of_texts.as_slice());
        let patterns: Vec<_> = evaluation_order(star, input_schema, tested, cx.snapshot())
            .into_iter()
            .map(|pattern| CompiledPattern {
                predicate: pattern.predicate,
                object: names.object(pattern.object),
                optional: pattern.optional,
                any_value: pattern.any_value,
            })
            .collect();
        let new_slots = names.made;
        let (column_filters, row_filters) =
            compile_filters(&star.filters, &new_slots, &patterns, input_schema, cx)?;
        let tables = star.tables.iter().map(|table| table.0 as usize).collect();
        let input_columns = input_columns(star, &patterns, subject, &graphs, input_schema);
        let predicates: Vec<TermId> = patterns.iter().map(|p| p.predicate).collect();
        let mut rows = cx.snapshot().changed_rows(&predicates);
        if cx.options().changed_columns_min == usize::MAX {
            rows = Arc::new(rows.one_by_one());
        }
        Ok(Self {
            patterns,
            subject,
            graphs,
            new_slots,
            column_filters,
            row_filters,
            tables,
            rows,
            input_schema: input_schema.to_vec(),
            input_columns,
        })
    }

    /// The filters that read this new column alone.
    pub fn filters_of(&self, column: usize) -> impl Iterator<Item = &CompiledFilter> + Clone {
        let filters = self.column_filters.iter();
        let filters = filters.filter(move |(filtered, _)| *filtered == column);
        filters.map(|(_, filter)| filter)
    }

    /// Whether a value of this new column with an id from `low` to `high` can pass the filters that read it alone; `false` is a proof
    /// that none can.
    pub fn may_pass(&self, column: usize, low: u64, high: u64) -> bool {
        self.filters_of(column)
            .all(|filter| filter.expr.zone_may_match(filter.slots[0], low, high))
    }

    /// Whether the clean rows of a table can match: it must have a column for each required predicate.
    pub fn table_can_match(&self, table: &basalt_store::Table) -> bool {
        self.patterns
            .iter()
            .all(|pattern| pattern.optional || table.cells(pattern.predicate).is_some())
    }

    /// Whether a table has rows that cells do not tell all of.
    pub fn has_touched(&self, table_idx: usize) -> bool {
        !self.rows.dirty[table_idx].is_empty() || !self.rows.changed[table_idx].is_empty()
    }

    /// How many such rows there are at most.
    pub fn touched_count(&self, table_idx: usize) -> u64 {
        self.rows.dirty[table_idx].len() + self.rows.changed[table_idx].len()
    }

    /// Those rows.
    pub fn touched_rows(&self, table_idx: usize) -> RoaringBitmap {
        &self.rows.dirty[table_idx] | &self.rows.changed[table_idx]
    }

    /// Whether cells do not tell all of a row.
    #[inline]
    pub fn is_touched(&self, table_idx: usize, row: u32) -> bool {
        let sets = [&self.rows.dirty[table_idx], &self.rows.changed[table_idx]];
        sets.iter()
            .any(|rows| !rows.is_empty() && rows.contains(row))
    }

    /// The number of a new subject as a row of [`Home::New`](super::changed::Home), if it is one and these are read as columns.
    pub fn new_number(&self, subject: TermId, snapshot: &Snapshot) -> Option<u32> {
        self.rows.new_graph?;
        let number = subject.resource_ordinal()?;
        let number = number.checked_sub(snapshot.first_new_resource())?;
        u32::try_from(number).ok()
    }

    /// Whether a home graph is among the graphs that the star reads (an input graph is checked later).
    pub fn graph_may_match(&self, graph: TermId) -> bool {
        let among =
            |list: &Option<Vec<TermId>>| list.as_ref().is_none_or(|list| list.contains(&graph));
        match &self.graphs {
            CompiledGraphs::One(id) => graph.0 == *id,
            CompiledGraphs::New(_, list)
            | CompiledGraphs::Made(_, list)
            | CompiledGraphs::Input(_, list) => graph != TermId::DEFAULT_GRAPH && among(list),
            CompiledGraphs::Merge(list) => among(list),
        }
    }

    /// Whether rows of a table are in graphs that the star reads, whichever row; told the home graph of all of them, if they have the same.
    pub fn takes_all_rows(&self, home: Option<TermId>) -> bool {
        match &self.graphs {
            CompiledGraphs::Merge(None) => true,
            CompiledGraphs::One(_) | CompiledGraphs::Merge(Some(_)) => {
                home.is_some_and(|graph| self.graph_may_match(graph))
            }
            // The graph is a value that must be made or compared.
            CompiledGraphs::New(..) | CompiledGraphs::Made(..) | CompiledGraphs::Input(..) => false,
        }
    }
}

/// Gives each slot its place: an input column or a new column.
struct Names<'a> {
    input: &'a [Slot],
    /// Slots that nothing reads.
    unread: Vec<Slot>,
    made: Vec<Slot>,
}

impl Names<'_> {
    fn object(&mut self, position: Position) -> Object {
        match position {
            Position::Id(id) => Object::Constant(id.0),
            Position::Slot(slot) if self.unread.contains(&slot) => Object::Any,
            Position::Slot(slot) => {
                if let Some(column) = self.input.iter().position(|&s| s == slot) {
                    Object::Input(column)
                } else if let Some(column) = self.made.iter().position(|&s| s == slot) {
                    Object::Made(column)
                } else {
                    Object::New(self.new_column(slot))
                }
            }
        }
    }

    fn new_column(&mut self, slot: Slot) -> usize {
        self.made.push(slot);
        self.made.len() - 1
    }

    fn graphs(&mut self, graphs: &Graphs) -> CompiledGraphs {
        match graphs {
            Graphs::One(id) => CompiledGraphs::One(id.0),
            Graphs::Merge { among } => CompiledGraphs::Merge(among.clone()),
            Graphs::Variable { slot, among } => match self.object(Position::Slot(*slot)) {
                Object::Input(column) => CompiledGraphs::Input(column, among.clone()),
                Object::Made(column) => CompiledGraphs::Made(column, among.clone()),
                Object::New(column) => CompiledGraphs::New(column, among.clone()),
                // Patterns must agree on it, so it has a column in any case.
                Object::Constant(_) | Object::Any => {
                    CompiledGraphs::New(self.new_column(*slot), among.clone())
                }
            },
        }
    }
}

/// The slots of subjects and objects, each as often as it is there, and that of the graphs twice: patterns must agree on it.
/// See [`CompiledStar::patterns`]. Optional ones whose object is in another place of the star too come after all others: they are tests. So do all
/// optional ones where the graph is a variable: one that came first would settle the graph, which required ones may have none of.
/// Of those that filters read, those whose texts they read come last: others leave fewer rows, and cost less.
fn evaluation_order<'a>(
    star: &'a Star,
    input_schema: &[Slot],
    (tested, of_texts): (&[Slot], &[Slot]),
    snapshot: &Snapshot,
) -> Vec<&'a StarPattern> {
    let slots = slots_of(star);
    let is_repeated = |slot: &Slot| slots.iter().filter(|other| *other == slot).count() > 1;
    let are_several = star.patterns.len() > 1;
    let may_settle = star.graphs.slot().is_some();
    let place = |pattern: &StarPattern| match (pattern.optional, pattern.object) {
        (true, Position::Slot(slot)) if is_repeated(&slot) => (7, 0.0),
        (true, Position::Id(_)) => (7, 0.0),
        (true, _) if may_settle => (6, values_of_row(star, pattern, snapshot)),
        (false, Position::Id(_)) => (0, 0.0),
        (false, Position::Slot(slot)) if input_schema.contains(&slot) => (1, 0.0),
        (false, Position::Slot(slot)) if tested.contains(&slot) => {
            (2, f64::from(u8::from(of_texts.contains(&slot))))
        }
        (optional, Position::Slot(_)) if !are_several => (3 + u8::from(optional), 0.0),
        (optional, Position::Slot(_)) => match values_of_row(star, pattern, snapshot) {
            values if values <= 1.0 => (3 + u8::from(optional), values),
            values => (5, values),
        },
    };
    let mut placed: Vec<_> = star.patterns.iter().map(|p| (place(p), p)).collect();
    placed.sort_by(|((a, fewer), _), ((b, more), _)| a.cmp(b).then(fewer.total_cmp(more)));
    placed.into_iter().map(|(_, pattern)| pattern).collect()
}

/// The slots of which a filter of one slot reads texts.
fn slots_of_texts(star: &Star) -> Vec<Slot> {
    let mut found = Vec::new();
    for filter in &star.filters {
        let mut slots = Vec::new();
        if !collect_slots(filter, &mut slots) && slots.len() == 1 && reads_texts(filter) {
            found.extend(slots);
        }
    }
    found
}

/// Tables of a star that are looked at for the order of its patterns.
const ORDER_TABLES_MAX: usize = 32;

/// How many values rows of a star's first tables have of a pattern's predicate in cells, on average: at most one, if none has several.
fn values_of_row(star: &Star, pattern: &StarPattern, snapshot: &Snapshot) -> f64 {
    let (mut values, mut rows, mut several) = (0, 0, false);
    for table in star.tables.iter().take(ORDER_TABLES_MAX) {
        let table = &snapshot.tables()[table.0 as usize];
        rows += u64::from(table.rows());
        if let Some(cells) = table.cells(pattern.predicate) {
            values += cells.statistics().values;
            several |= cells.multi_valued();
        }
    }
    let mean = values as f64 / rows.max(1) as f64;
    match several {
        // Also where few rows have any: those that have repeat what is there.
        true => 1.0 + mean,
        false => mean,
    }
}

fn slots_of(star: &Star) -> Vec<Slot> {
    let mut slots = star.slots();
    slots.extend(star.graphs.slot());
    slots
}

/// See [`CompiledStar::input_columns`].
fn input_columns(
    star: &Star,
    patterns: &[CompiledPattern],
    subject: Object,
    graphs: &CompiledGraphs,
    input_schema: &[Slot],
) -> Option<Vec<usize>> {
    let objects = patterns.iter().map(|pattern| pattern.object);
    let mut columns: Vec<usize> = objects
        .chain([subject])
        .filter_map(|object| match object {
            Object::Input(column) => Some(column),
            _ => None,
        })
        .collect();
    if let CompiledGraphs::Input(column, _) = graphs {
        columns.push(*column);
    }
    let mut slots = Vec::new();
    for filter in &star.filters {
        // An EXISTS may read any column.
        if collect_slots(filter, &mut slots) || is_volatile(filter) {
            return None;
        }
    }
    let column_of = |slot: &Slot| input_schema.iter().position(|s| s == slot);
    columns.extend(slots.iter().filter_map(column_of));
    columns.sort_unstable();
    columns.dedup();
    Some(columns)
}

type Filters = (Vec<(usize, CompiledFilter)>, Vec<(usize, CompiledFilter)>);

fn compile_filters(
    filters: &[Expr],
    new_slots: &[Slot],
    patterns: &[CompiledPattern],
    input_schema: &[Slot],
    cx: &Context,
) -> Result<Filters, ExecError> {
    let mut column_filters = Vec::new();
    let mut row_filters = Vec::new();
    for filter in filters {
        let mut slots = Vec::new();
        let has_exists = collect_slots(filter, &mut slots);
        let single = match slots.as_slice() {
            [slot] if !has_exists => new_slots.iter().position(|s| s == slot),
            _ => None,
        };
        if let Some(column) = single {
            let expr = CompiledExpr::compile(filter, &slots, cx)?;
            column_filters.push((column, CompiledFilter { expr, slots }));
            continue;
        }
        let mut ready = patterns.len();
        if has_exists {
            slots = input_schema.iter().chain(new_slots).copied().collect();
        } else if !is_volatile(filter) {
            ready = made_after(&slots, new_slots, patterns);
        }
        let expr = CompiledExpr::compile(filter, &slots, cx)?;
        row_filters.push((ready, CompiledFilter { expr, slots }));
    }
    let weight = |(_, filter): &(usize, CompiledFilter)| filter.expr.weight();
    column_filters.sort_by_key(weight);
    row_filters.sort_by_key(weight);
    Ok((column_filters, row_filters))
}

/// The number of patterns after which all of these slots are there that ever will be.
fn made_after(slots: &[Slot], new_slots: &[Slot], patterns: &[CompiledPattern]) -> usize {
    let makes = |pattern: &CompiledPattern| match pattern.object {
        Object::New(column) => slots.contains(&new_slots[column]),
        _ => false,
    };
    patterns.iter().rposition(makes).map_or(0, |idx| idx + 1)
}

/// Collects the slots that an expression reads, each once; true if it has an EXISTS, which may read more.
pub fn collect_slots(expr: &Expr, out: &mut Vec<Slot>) -> bool {
    match expr {
        Expr::Slot(slot) | Expr::Bound(slot) => {
            if !out.contains(slot) {
                out.push(*slot);
            }
            false
        }
        Expr::Exists(_) => true,
        _ => {
            let mut found = false;
            for_each_operand(expr, &mut |operand| found |= collect_slots(operand, out));
            found
        }
    }
}
