//! `StarScan`: a star read from its tables, morsel by morsel.
//!
//! Solutions of small morsels are put together to a batch: joins that come after do by batch what they can do once for many rows, and data with
//! many small tables has as many morsels. Where few rows lead to many in joins above, a batch has those of a share alone.
//!
//! Memory: one morsel's solutions, or a part of them ([`parts`](super::parts)) with what waits, and a batch. Order: tables in order, then new subjects, then what goes the general way.

use super::cells::CellPass;
use super::changed::{Home, rows_of_range};
use super::compiled::CompiledStar;
use super::entry_rows::{EntryRows, rows_in_graph};
use super::general::GeneralPass;
use super::large::{one_after_the_other, take_out_large};
use super::matches::Matches;
use super::morsels::{Morsel, Morsels};
use super::parts::Part;
use super::reducer::Reducers;
use super::row_run::RowRun;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::Operator;
use crate::operators::output::Output;
use crate::operators::reserve::Reserve;
use crate::profile::current_node;
use basalt_plan::physical::Slot;
use basalt_rdf::TermId;
use basalt_store::Table;
use std::sync::Arc;

/// What threads that scan the same star share.
pub struct SharedScan {
    /// The star.
    pub star: CompiledStar,
    /// The work.
    pub morsels: Morsels,
    /// Threads that are called to do their share of it.
    pub reserve: Reserve,
    /// The key filters.
    pub reducers: Reducers,
}

/// Rows that are read at most, in batches, before solutions that were found are handed on: some ten microseconds.
const BATCHES_READ_MAX: usize = 4;

/// What is left of a morsel with too many solutions to be made at once.
struct Waiting {
    place: Place,
    parts: Vec<Part>,
    is_changed: bool,
}

/// Candidate rows, and the run that they are, if they are one.
type Candidates = (Vec<u32>, Option<RowRun>);

/// Whose rows candidates are, as [`Home`] says it.
#[derive(Clone, Copy)]
enum Place {
    Table(usize),
    New(TermId),
}

impl Place {
    fn home(self, cx: &Context) -> Home<'_> {
        match self {
            Self::Table(table_idx) => Home::Table(&cx.snapshot().tables()[table_idx]),
            Self::New(graph) => Home::New {
                first: cx.snapshot().first_new_resource(),
                graph,
            },
        }
    }
}

/// The operator; see the [module documentation](self).
pub struct StarScan {
    shared: Arc<SharedScan>,
    schema: Vec<Slot>,
    waiting: Option<Waiting>,
    /// Solutions that are fewer than a batch.
    few: Matches,
    /// Rows read for them, whole morsels.
    read: usize,
    output: Output,
}

impl StarScan {
    /// A scan (or one thread's share of it) that produces the slots of `schema`.
    pub fn new(shared: Arc<SharedScan>, schema: Vec<Slot>) -> Self {
        Self {
            shared,
            schema,
            waiting: None,
            few: Matches::default(),
            read: 0,
            output: Output::default(),
        }
    }

    /// The solutions of a morsel, or those of its first candidates if there are very many.
    fn run(&mut self, morsel: &Morsel, cx: &Context) -> Result<Matches, ExecError> {
        let shared = Arc::clone(&self.shared);
        let (star, reducers) = (&shared.star, &shared.reducers);
        match morsel {
            Morsel::Range { table_idx, rows } => {
                let table = &cx.snapshot().tables()[*table_idx];
                let place = Place::Table(*table_idx);
                let none = Matches::new(star.new_slots.len());
                if !reducers.may_have_rows(star, table, rows, cx) {
                    return Ok(none);
                }
                let (run, is_changed) = rows_of_range(star, *table_idx, rows.clone(), cx)?;
                if is_changed {
                    let candidates = match rows_in_graph(star, table, &run) {
                        Some(rows) => (rows, None),
                        None => (run.to_rows(), Some(run)),
                    };
                    return self.changed(place, candidates, cx);
                }
                match reducers.may_have_cells(star, table, rows, cx) {
                    true => self.unchanged_run(place, table, run, cx),
                    false => Ok(none),
                }
            }
            Morsel::Rows {
                table_idx,
                rows,
                satisfied,
            } => self.unchanged(
                Place::Table(*table_idx),
                (rows.clone(), None),
                *satisfied,
                cx,
            ),
            Morsel::Changed { table_idx, rows } => {
                self.changed(Place::Table(*table_idx), (rows.clone(), None), cx)
            }
            Morsel::New { rows, graph } => {
                self.changed(Place::New(*graph), (rows.clone(), None), cx)
            }
            Morsel::General(subjects) => {
                let mut subjects: Vec<_> = subjects.iter().map(|&subject| (0, subject)).collect();
                reducers.retain_subjects(star, &mut subjects, cx);
                cx.profile().read_one_by_one(current_node(), subjects.len());
                let mut pass = GeneralPass::new(star, None, cx);
                pass.subjects(&subjects, cx)?;
                let mut matches = pass.finish(cx)?;
                reducers.retain_matches(star, &mut matches, cx);
                Ok(matches)
            }
        }
    }

    /// The first solutions of a run of which cells tell all.
    fn unchanged_run(
        &mut self,
        place: Place,
        table: &Table,
        run: RowRun,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let Some(entry) = EntryRows::of(&self.shared.star, table, &run) else {
            return self.unchanged(place, (run.to_rows(), Some(run)), None, cx);
        };
        cx.profile().compared(current_node(), entry.compared_rows);
        let run = (entry.rows.len() == run.row_count()).then_some(run);
        self.unchanged(place, (entry.rows, run), entry.satisfied, cx)
    }

    /// The first solutions of rows of which cells tell all, a pattern of which may be known to hold.
    fn unchanged(
        &mut self,
        place: Place,
        (mut rows, run): Candidates,
        satisfied: Option<usize>,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let shared = Arc::clone(&self.shared);
        let home = place.home(cx);
        shared
            .reducers
            .retain_rows(&shared.star, home, &mut rows, cx);
        let pass = pass(&shared, home, (rows, run), cx).with_satisfied(satisfied);
        self.first(pass, place, false, cx)
    }

    /// The first solutions of rows of which some may have changed, or of new subjects.
    fn changed(
        &mut self,
        place: Place,
        (mut rows, run): Candidates,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let shared = Arc::clone(&self.shared);
        let (star, reducers) = (&shared.star, &shared.reducers);
        let home = place.home(cx);
        reducers.retain_rows(star, home, &mut rows, cx);
        let mut origin = vec![0; rows.len()];
        let large = take_out_large(star, home, &mut rows, &mut origin, cx)?;
        let pass = pass(&shared, home, (rows, run), cx).with_changes();
        let mut matches = self.first(pass, place, true, cx)?;
        if !large.is_empty() {
            let mut of_large = one_after_the_other(star, None, &large, cx)?;
            reducers.retain_matches(star, &mut of_large, cx);
            matches.append(of_large);
        }
        Ok(matches)
    }

    /// The first solutions of a pass. What it has left waits.
    fn first(
        &mut self,
        mut pass: CellPass<'_>,
        place: Place,
        is_changed: bool,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let matches = pass.next(cx)?.unwrap_or_default();
        let parts = pass.into_waiting();
        self.waiting = (!parts.is_empty()).then_some(Waiting {
            place,
            parts,
            is_changed,
        });
        Ok(matches)
    }

    /// Whether what was found is to be handed on.
    fn is_enough(&self, batch_rows: usize) -> bool {
        let is_long_ago = match self.shared.morsels.share_rows {
            Some(rows) => self.read >= rows,
            None => self.read > batch_rows * BATCHES_READ_MAX,
        };
        self.few.len() >= batch_rows || is_long_ago && !self.few.is_empty()
    }

    /// Hands on the solutions found so far; those of `then` take their place.
    fn hand_on(&mut self, then: Matches) {
        let found = std::mem::replace(&mut self.few, then);
        let batch = found.into_batch(&self.schema, &self.shared.star.new_slots, None);
        self.output.put(batch);
    }

    /// The next solutions of what waits.
    fn next_waiting(&mut self, waiting: Waiting, cx: &Context) -> Result<Matches, ExecError> {
        let shared = Arc::clone(&self.shared);
        let Waiting {
            place,
            parts,
            is_changed,
        } = waiting;
        let pass = pass(&shared, place.home(cx), (Vec::new(), None), cx).with_waiting(parts);
        let pass = match is_changed {
            true => pass.with_changes(),
            false => pass,
        };
        self.first(pass, place, is_changed, cx)
    }
}

/// A pass over rows that key filters of the subject let through.
fn pass<'a>(
    shared: &'a SharedScan,
    home: Home<'a>,
    (rows, run): Candidates,
    cx: &Context,
) -> CellPass<'a> {
    cx.profile().read(current_node(), rows.len());
    // They may have been dropped from the rows alone.
    let run = run.filter(|run| run.row_count() == rows.len());
    let origin = vec![0; rows.len()];
    let pass = CellPass::new(&shared.star, home, None, rows, origin)
        .with_reducers(shared.reducers.objects(&shared.star));
    match run {
        Some(run) => pass.with_run(run),
        None => pass,
    }
}

impl Operator for StarScan {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            let batch_rows = cx.options().batch_rows.max(1);
            if self.is_enough(batch_rows) {
                self.hand_on(Matches::default());
                continue;
            }
            cx.check()?;
            let shared = Arc::clone(&self.shared);
            shared.reserve.call_if_due();
            let matches = if let Some(waiting) = self.waiting.take() {
                self.next_waiting(waiting, cx)?
            } else if let Some(morsel) = shared.morsels.take() {
                let before = if self.few.is_empty() { 0 } else { self.read };
                self.read = before + morsel.rows();
                self.run(morsel, cx)?
            } else if self.few.is_empty() {
                return Ok(None);
            } else {
                self.hand_on(Matches::default());
                continue;
            };
            if !self.few.is_empty() && self.few.len() + matches.len() > batch_rows {
                self.hand_on(matches);
            } else {
                self.few.append(matches);
            }
        }
    }
}
