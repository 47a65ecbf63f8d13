//! `StarJoin`: a star found for each input row.
//!
//! With entry *subject* the input binds the subject: rows of tables are found by position and gathered
//! table by table, changed ones and new subjects by themselves; dirty rows and other subjects outside tables go the general
//! way (an index join into the quad table). With entry *object* the input binds the object of one pattern: the column's inverse
//! leads to rows (adjacency join), POSG to subjects of irregular quads.
//!
//! Where the entry's column is all that the star reads of the input and its values repeat within a batch, the solutions of each
//! value are found once and given to all rows that have it.
//!
//! Output keeps the input's order. Memory: the solutions of one input batch; of its distinct values where they repeat. A batch with
//! many is joined in parts (`part_size.rs`). A star that only tests its subjects for constants is a bit for each row where that is known (`tested.rs`). Where one solution of a row is enough, the subjects of an object are looked at
//! in waves (`waves.rs`). The rows of two objects that the input binds are found together (`second_object.rs`).

mod candidates;
mod counted;
mod part_size;
mod second_object;
mod tested;
mod waves;

use super::cells::CellPass;
use super::changed::Home;
use super::compiled::{CompiledGraphs, CompiledStar, Object};
use super::general::GeneralPass;
use super::known_rows::PatternRows;
use super::large::{one_after_the_other, take_out_large};
use super::matches::Matches;
use super::parts::SOLUTIONS_MAX;
use super::repeated_keys::RepeatedKeys;
use super::shared_solutions::SharedSolutions;
use super::touched::{Touched, TouchedRows};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::operators::output::Output;
use crate::operators::{BoxOperator, Operator};
use crate::profile::current_node;
use basalt_plan::physical::{JoinKind, Slot, StarEntry};
use basalt_rdf::TermId;
use candidates::{Asked, Candidates};
use counted::{Counted, CountedStar};
use part_size::PartSize;
use second_object::SecondObject;
use std::cell::OnceCell;
pub use waves::Waves;
use waves::{Awaited, Partners, Wave};

/// Solutions of a batch from which on it is cut in two: so many take some dozen megabytes.
const BATCH_SOLUTIONS_MAX: usize = 1 << 20;

/// How the input leads to subjects.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The subject is in this input column.
    Subject(usize),
    /// The object of pattern `pattern_idx` (compiled order) is in this input column.
    Object { pattern_idx: usize, column: usize },
    /// The graph is in this input column.
    Graph(usize),
}

impl Entry {
    /// The input column that leads to subjects.
    fn column(self) -> usize {
        match self {
            Self::Subject(column) | Self::Object { column, .. } | Self::Graph(column) => column,
        }
    }
}

/// What a batch leads to.
enum Found {
    /// Its solutions.
    Matches(Matches),
    /// More than are made at once; the batch is to be cut into parts of so many rows.
    TooMany { part_rows: usize },
}

/// A part of a batch.
struct BatchPart {
    batch: Batch,
    /// Whether the keys of the batch repeated; where they did not, those of a part do not either, and trying would only keep the join from trying batches
    /// to come.
    may_share: bool,
    /// The last of the waves of partners that its rows have had, if any.
    after: Option<Wave>,
}

impl Found {
    /// More than are made at once, of some rows.
    fn in_halves(batch: &Batch) -> Self {
        Self::TooMany {
            part_rows: batch.rows().div_ceil(2),
        }
    }
}

/// The operator; see the [module documentation](self).
pub struct StarJoin {
    input: BoxOperator,
    star: CompiledStar,
    entry: Entry,
    /// What else of the star the input binds.
    second: Option<SecondObject>,
    /// Whether many subjects outside of cells have the second object.
    is_second_dear: bool,
    kind: JoinKind,
    schema: Vec<Slot>,
    /// Whether it adds nothing to a row, which passes or does not.
    is_test: bool,
    /// By table whether its clean rows can match; empty until it is known.
    clean_matters: Vec<bool>,
    /// Whether and how solutions are counted, once somebody has asked.
    counted_star: OnceCell<Option<CountedStar>>,
    pattern_rows: PatternRows,
    touched_rows: TouchedRows,
    repeated_keys: RepeatedKeys,
    part_size: PartSize,
    /// Whose first rows are enough, where only those are wanted.
    awaited: Option<Awaited>,
    /// What is left to hand out of a batch whose keys repeat.
    shared: Option<SharedSolutions>,
    /// Parts of a batch that had too many solutions, the last first.
    waiting: Vec<BatchPart>,
    /// The memory of many solutions.
    held: HeldMemory,
    output: Output,
}

impl StarJoin {
    /// Joins `input` with a star; `predicate` is that of the entry pattern for an object entry.
    pub fn new(
        input: BoxOperator,
        star: CompiledStar,
        entry: StarEntry,
        entry_pattern: Option<(TermId, Slot)>,
        kind: JoinKind,
        schema: Vec<Slot>,
    ) -> Result<Self, ExecError> {
        let entry = match (entry, entry_pattern) {
            (StarEntry::Subject, _) => match star.subject {
                Object::Input(column) => Entry::Subject(column),
                _ => {
                    return Err(ExecError::Internal(
                        "the input does not bind the star's subject".into(),
                    ));
                }
            },
            (StarEntry::Object { .. }, Some((predicate, slot))) => {
                object_entry(&star, predicate, slot)?
            }
            (StarEntry::Graph, _) => match star.graphs {
                CompiledGraphs::Input(column, _) => Entry::Graph(column),
                _ => {
                    return Err(ExecError::Internal(
                        "the input does not bind the star's graph".into(),
                    ));
                }
            },
            _ => {
                return Err(ExecError::Internal(
                    "an object entry needs its pattern".into(),
                ));
            }
        };
        Ok(Self {
            input,
            is_test: tested::is_test(&star, entry, kind),
            second: SecondObject::of(&star, entry),
            is_second_dear: false,
            star,
            entry,
            kind,
            schema,
            clean_matters: Vec::new(),
            counted_star: OnceCell::new(),
            pattern_rows: PatternRows::default(),
            touched_rows: TouchedRows::default(),
            repeated_keys: RepeatedKeys::default(),
            part_size: PartSize::default(),
            awaited: None,
            shared: None,
            waiting: Vec::new(),
            held: HeldMemory::default(),
            output: Output::default(),
        })
    }

    /// The solutions of an inner join of some rows of a batch with these partners, in any order, unless they are too many to be made at
    /// once.
    fn matches(
        &mut self,
        batch: &Batch,
        (asked, partners): (Asked<'_>, &mut Partners),
        cx: &Context,
    ) -> Result<Found, ExecError> {
        self.held.release();
        let mut held = HeldMemory::default();
        if let Entry::Object { pattern_idx, .. } = self.entry {
            match self.counted(pattern_idx, (asked, batch.rows()), cx)? {
                Counted::Matches(matches) => {
                    held.grow_to(matches.bytes(), "StarJoin", cx)?;
                    self.held = held;
                    return Ok(Found::Matches(matches));
                }
                Counted::TooMany => return Ok(Found::in_halves(batch)),
                Counted::No => {}
            }
        }
        let mut tables: Vec<Candidates> = Vec::new();
        tables.resize_with(cx.snapshot().tables().len(), Candidates::default);
        let mut touched = Touched::new(cx.snapshot().tables().len());
        let satisfied = match self.entry {
            Entry::Subject(_) => {
                self.by_subject(asked, &mut tables, &mut touched, cx)?;
                None
            }
            Entry::Object { pattern_idx, .. } => {
                self.by_object(
                    pattern_idx,
                    (asked, batch, partners),
                    (&mut tables, &mut touched),
                    cx,
                )?;
                Some(pattern_idx)
            }
            Entry::Graph(_) => {
                self.by_graph(asked, &mut tables, &mut touched, cx)?;
                None
            }
        };
        let expected = self.expected_solutions(&tables, satisfied, cx);
        // Keys that rows share would be looked up by each part.
        if asked.rows.is_none()
            && let Some(part_rows) = self.part_size.note(batch.rows(), expected)
        {
            return Ok(Found::TooMany { part_rows });
        }
        let room = (expected as usize).min(BATCH_SOLUTIONS_MAX);
        let room = if room > SOLUTIONS_MAX { room } else { 0 };
        let mut matches = Matches::with_room(self.star.new_slots.len(), room);
        for table in tables.into_iter().enumerate() {
            if !self.add_clean(table, satisfied, batch, &mut matches, &mut held, cx)? {
                return Ok(Found::in_halves(batch));
            }
        }
        if !self.add_touched(touched, batch, &mut matches, &mut held, cx)? {
            return Ok(Found::in_halves(batch));
        }
        self.held = held;
        Ok(Found::Matches(matches))
    }

    /// The solutions of candidates of a table of which cells tell all; false if they are too many, as [`append_all`] says.
    fn add_clean(
        &mut self,
        (table_idx, mut candidates): (usize, Candidates),
        satisfied: Option<usize>,
        batch: &Batch,
        matches: &mut Matches,
        held: &mut HeldMemory,
        cx: &Context,
    ) -> Result<bool, ExecError> {
        if candidates.rows.is_empty() {
            return Ok(true);
        }
        let count = candidates.rows.len();
        let known = self
            .pattern_rows
            .test(&self.star, table_idx, count, satisfied, cx)?;
        candidates.keep_known(known);
        let kept = candidates.rows.len();
        cx.profile().compared(current_node(), count - kept);
        cx.profile().read(current_node(), kept);
        let home = Home::Table(&cx.snapshot().tables()[table_idx]);
        let pass = CellPass::new(
            &self.star,
            home,
            Some(batch),
            candidates.rows,
            candidates.origin,
        )
        .with_satisfied(satisfied)
        .with_known(known);
        let pass = match self.entry {
            Entry::Subject(_) => pass.by_subject(),
            Entry::Object { .. } | Entry::Graph(_) => pass,
        };
        let has_room = append_all(pass, matches, batch, held, cx)?;
        cx.check()?;
        Ok(has_room)
    }

    /// The solutions of subjects that cells do not tell all of; false if they are too many, as [`append_all`] says.
    fn add_touched(
        &self,
        touched: Touched,
        batch: &Batch,
        matches: &mut Matches,
        held: &mut HeldMemory,
        cx: &Context,
    ) -> Result<bool, ExecError> {
        let columns_min = cx.options().changed_columns_min;
        let (columns, general) = touched.into_parts(&self.star, cx.snapshot(), columns_min);
        for (home, mut rows, mut origin) in columns {
            cx.check()?;
            let large = take_out_large(&self.star, home, &mut rows, &mut origin, cx)?;
            if !large.is_empty() {
                matches.append(one_after_the_other(&self.star, Some(batch), &large, cx)?);
            }
            cx.profile().read(current_node(), rows.len());
            let pass = CellPass::new(&self.star, home, Some(batch), rows, origin).with_changes();
            let pass = match self.entry {
                Entry::Subject(_) => pass.by_subject(),
                Entry::Object { .. } | Entry::Graph(_) => pass,
            };
            if !append_all(pass, matches, batch, held, cx)? {
                return Ok(false);
            }
        }
        if !general.is_empty() {
            cx.profile().read_one_by_one(current_node(), general.len());
            let mut pass = GeneralPass::new(&self.star, Some(batch), cx);
            pass.subjects(&general, cx)?;
            matches.append(pass.finish(cx)?);
        }
        Ok(true)
    }

    /// As [`Self::matches`]; a batch with too many is cut into parts, which come next.
    fn matches_or_cut(
        &mut self,
        batch: &Batch,
        (asked, partners): (Asked<'_>, &mut Partners),
        cx: &Context,
    ) -> Result<Option<Matches>, ExecError> {
        let rows = batch.rows();
        let after = partners.after();
        let found = match self.matches(batch, (asked, partners), cx) {
            Err(ExecError::MemoryLimit { .. }) if rows > 1 => Found::in_halves(batch),
            found => found?,
        };
        match found {
            Found::Matches(matches) => Ok(Some(matches)),
            Found::TooMany { part_rows } => {
                self.cut(batch, part_rows, (asked.rows.is_some(), after));
                Ok(None)
            }
        }
    }

    /// Lets parts of a batch come next.
    fn cut(&mut self, batch: &Batch, part_rows: usize, (may_share, after): (bool, Option<Wave>)) {
        let rows = batch.rows();
        for start in (0..rows).step_by(part_rows).rev() {
            self.waiting.push(BatchPart {
                batch: batch.slice(start, part_rows.min(rows - start)),
                may_share,
                after,
            });
        }
    }

    /// Joins a batch: what comes out is then in `shared` or in `output`, if the batch was not cut.
    fn join(&mut self, part: BatchPart, cx: &Context) -> Result<(), ExecError> {
        if self.awaited.is_some() {
            return self.join_wave(part, cx);
        }
        let BatchPart {
            batch,
            may_share,
            after,
        } = part;
        if let Some(rows) = self.tested_rows(&batch, cx)? {
            let joined = self.columns_of(&batch);
            self.output.put(match rows.len() == joined.rows() {
                true => joined,
                false => joined.take(&rows),
            });
            return Ok(());
        }
        let values = batch.ids(self.entry.column());
        let is_key_all = |columns: &Vec<usize>| *columns == [self.entry.column()];
        let may_share = may_share && self.star.input_columns.as_ref().is_some_and(is_key_all);
        let by_subject = matches!(self.entry, Entry::Subject(_));
        let keys_max = cx
            .options()
            .shared_keys
            .values_max(values.len(), !by_subject);
        if !may_share || !self.repeated_keys.find(values, keys_max) {
            if let Some(part_rows) = self.part_size.of_batch(batch.rows()) {
                self.cut(&batch, part_rows, (false, after));
                return Ok(());
            }
            let asked = Asked { values, rows: None };
            if let Some(matches) = self.wanted_matches(&batch, asked, cx)? {
                self.output.put(self.emit(&batch, matches));
            }
            return Ok(());
        }
        let keys = std::mem::take(&mut self.repeated_keys);
        let asked = Asked {
            values: keys.values(),
            rows: Some(keys.first_rows()),
        };
        let found = self.wanted_matches(&batch, asked, cx);
        let shared = found.map(|found| {
            found.map(|mut matches| {
                matches.sort_by_origin();
                SharedSolutions::new(batch, &keys, matches, self.kind)
            })
        });
        self.repeated_keys = keys;
        let Some(shared) = shared? else {
            return Ok(());
        };
        if self.star.new_slots.is_empty() && shared.is_every_row_once() {
            self.output.put(self.columns_of(shared.batch()));
        } else {
            self.shared = Some(shared);
        }
        Ok(())
    }

    /// The next rows of a batch whose keys repeat.
    fn next_shared(&mut self, cx: &Context) -> Option<Batch> {
        let slots = (&self.star.new_slots[..], &self.star.input_schema[..]);
        let rows_max = cx.options().batch_rows.max(1);
        let next = self.shared.as_mut()?.next(&self.schema, slots, rows_max);
        if next.is_none() {
            self.shared = None;
        }
        next
    }

    fn emit(&self, batch: &Batch, mut matches: Matches) -> Batch {
        // The other kinds put rows in order themselves, and rows without columns have none.
        if self.kind == JoinKind::Inner && !self.schema.is_empty() {
            matches.sort_by_origin();
        }
        matches.complete(self.kind, batch.rows());
        if self.star.new_slots.is_empty() && matches.is_every_row_once(batch.rows()) {
            return self.columns_of(batch);
        }
        let input = Some((batch, self.star.input_schema.as_slice()));
        matches.into_batch(&self.schema, &self.star.new_slots, input)
    }

    /// The input's rows with the columns of the schema, none copied.
    fn columns_of(&self, batch: &Batch) -> Batch {
        let input = &self.star.input_schema;
        let columns = self.schema.iter();
        let columns = columns.map(|slot| input.iter().position(|s| s == slot));
        let columns: Vec<Option<usize>> = columns.collect();
        // A joined row is a new solution.
        batch.select_columns(&columns).as_new_solutions()
    }
}

impl Operator for StarJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            if let Some(batch) = self.next_shared(cx) {
                return Ok(Some(batch));
            }
            let whole = |batch| BatchPart {
                batch,
                may_share: true,
                after: None,
            };
            let part = match self.waiting.pop() {
                None => self.input.next(cx)?.map(whole),
                cut => cut,
            };
            let Some(part) = part else {
                return Ok(None);
            };
            self.join(part, cx)?;
        }
    }
}

/// Appends the solutions of a pass; false if they are too many to be made at once, and the batch can be cut.
fn append_all(
    mut pass: CellPass<'_>,
    matches: &mut Matches,
    batch: &Batch,
    held: &mut HeldMemory,
    cx: &Context,
) -> Result<bool, ExecError> {
    while let Some(more) = pass.next(cx)? {
        matches.append(more);
        if matches.len() > SOLUTIONS_MAX {
            if batch.rows() > 1 && matches.len() > BATCH_SOLUTIONS_MAX {
                return Ok(false);
            }
            held.grow_to(matches.bytes(), "StarJoin", cx)?;
        }
    }
    Ok(true)
}

fn object_entry(star: &CompiledStar, predicate: TermId, slot: Slot) -> Result<Entry, ExecError> {
    let column = star.input_schema.iter().position(|&s| s == slot);
    let pattern_idx = column.and_then(|column| {
        star.patterns.iter().position(|p| {
            p.predicate == predicate && p.object == Object::Input(column) && !p.optional
        })
    });
    match (column, pattern_idx) {
        (Some(column), Some(pattern_idx)) => Ok(Entry::Object {
            pattern_idx,
            column,
        }),
        _ => Err(ExecError::Internal(
            "the input does not bind the entry's object".into(),
        )),
    }
}
