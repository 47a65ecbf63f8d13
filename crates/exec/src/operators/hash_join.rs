//! `HashJoin`: the general join.
//!
//! The build side is read whole into a [`JoinTable`]; the other side streams through. Keys are slots
//! certain on both sides; other shared slots are checked for compatibility (equal, or unbound on
//! a side) and merged. With no keys the table is by the first of those slots, the *half key*: a row that has a value there is compared with
//! the build rows that have the same or none, another with all. With neither all pairs are compared. Pairs are made in pieces of bounded size;
//! a semi or anti join does not look for many more partners of a row than the first. The condition is part of the join, as OPTIONAL asks for.
//!
//! Output keeps the order of the streaming side. Memory: the build side, and one piece of pairs. A build side beyond its
//! share of memory goes to files, if there are keys (see [`build_side`](super::build_side) and
//! [`spilled_join`](super::spilled_join)).

use super::build_side::BuildSide;
use super::join_table::JoinTable;
use super::output::Output;
use super::spilled_join::SpilledJoin;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use basalt_columns::PREFETCH_ROWS;
use basalt_plan::physical::{JoinKind, Slot};
use std::ops::Range;
use std::sync::Arc;

/// Pairs after which a piece ends.
const PAIRS_MAX: usize = 1 << 16;

/// Partners that a semi or anti join tries first with each row.
const FIRST_RUN_ROWS: usize = 16;
/// How much longer each following run is.
const RUN_GROWTH: usize = 4;

/// Where an output column comes from; indices of the probe side and of the build side.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A column of the probe side.
    Probe(usize),
    /// A column of the build side.
    Build(usize),
    /// On both sides: the bound one.
    Either(usize, usize),
    /// On neither side.
    Nowhere,
}

/// What a hash join is made of, besides its inputs.
pub struct JoinShape {
    /// Key columns of the probe side, in the table's key order.
    pub probe_keys: Vec<usize>,
    /// Shared slots outside the keys: (probe column, build column).
    pub compatible: Vec<(usize, usize)>,
    /// What happens to matches; the probe side is the one kept.
    pub kind: JoinKind,
    /// Condition over the joined row and the sources of its columns.
    pub filter: Option<(CompiledExpr, Vec<Source>)>,
    /// The output columns.
    pub sources: Vec<Source>,
}

impl JoinShape {
    /// Where each slot of `schema` comes from.
    pub fn sources(schema: &[Slot], probe: &[Slot], build: &[Slot], keys: &[Slot]) -> Vec<Source> {
        let find = |schema: &[Slot], slot: Slot| schema.iter().position(|&s| s == slot);
        schema
            .iter()
            .map(|&slot| match (find(probe, slot), find(build, slot)) {
                (Some(p), Some(b)) if !keys.contains(&slot) => Source::Either(p, b),
                (Some(p), _) => Source::Probe(p),
                (None, Some(b)) => Source::Build(b),
                (None, None) => Source::Nowhere,
            })
            .collect()
    }
}

/// Brings the finished build side.
pub type MakeSide = Box<dyn FnOnce() -> Result<BuildSide, ExecError> + Send>;

/// The operator; see the [module documentation](self).
pub struct HashJoin {
    probe: BoxOperator,
    /// Makes the build side at the first call of `next`.
    make_side: Option<MakeSide>,
    pairing: Pairing,
    /// What comes out, where the build side is in files.
    spilled: Option<SpilledJoin>,
    output: Output,
    /// A probe batch that is being joined piece by piece, and the next row of it.
    current: Option<(Batch, usize)>,
}

/// Finds the pairs of batches with a table.
pub struct Pairing {
    /// The build side, or a part of it.
    pub table: Arc<JoinTable>,
    /// Besides the inputs.
    pub shape: Arc<JoinShape>,
    /// The output columns.
    pub sources: Vec<Source>,
}

/// Joined pairs: rows of the probe batch and of the build side.
#[derive(Default)]
struct Pairs {
    probe: Vec<u32>,
    build: Vec<u32>,
}

impl HashJoin {
    /// Joins the rows of `probe` with the build side that `make_side` brings.
    pub fn new(probe: BoxOperator, make_side: MakeSide, shape: JoinShape) -> Self {
        let pairing = Pairing {
            table: Arc::new(JoinTable::empty()),
            sources: shape.sources.clone(),
            shape: Arc::new(shape),
        };
        Self {
            probe,
            make_side: Some(make_side),
            pairing,
            spilled: None,
            output: Output::default(),
            current: None,
        }
    }
}

impl Pairing {
    /// The probe columns by whose values build rows are found: keys, or that of the half key if the table is by one.
    fn sought_columns(&self) -> Vec<usize> {
        let JoinShape {
            probe_keys,
            compatible,
            ..
        } = &*self.shape;
        if !probe_keys.is_empty() {
            return probe_keys.clone();
        }
        let by = self.table.key_columns();
        let half_key = compatible.iter().find(|(_, build)| by == [*build]);
        half_key.iter().map(|(probe, _)| *probe).collect()
    }

    /// Appends the build rows that may fit a row with these values in the columns sought by.
    fn partners(&self, key: &[u64], out: &mut Vec<u32>) {
        let is_half = self.shape.probe_keys.is_empty();
        if key.is_empty() || is_half && key == [0] {
            out.extend(0..self.table.rows() as u32);
            return;
        }
        self.table.probe(key, out);
        if is_half {
            self.table.probe(&[0], out);
        }
    }

    /// Pairs of the next piece of the batch; returns the row after the piece.
    fn candidates(&self, batch: &Batch, start: usize) -> (Pairs, usize) {
        let mut pairs = Pairs::default();
        let pairs_expected = PAIRS_MAX.min(batch.rows() - start);
        pairs.build.reserve(pairs_expected);
        pairs.probe.reserve(pairs_expected);
        let columns = self.sought_columns();
        let mut key = Vec::with_capacity(columns.len());
        let mut row = start;
        let key_into = |key: &mut Vec<u64>, row: usize| {
            key.clear();
            key.extend(columns.iter().map(|&column| batch.ids(column)[row]));
        };
        while row < batch.rows() && pairs.build.len() < PAIRS_MAX {
            if row + PREFETCH_ROWS < batch.rows() && !columns.is_empty() {
                key_into(&mut key, row + PREFETCH_ROWS);
                self.table.expect(&key);
            }
            key_into(&mut key, row);
            self.partners(&key, &mut pairs.build);
            pairs.probe.resize(pairs.build.len(), row as u32);
            row += 1;
        }
        (pairs, row)
    }

    /// One pair for each row of the batch that has a partner, for semi and anti joins.
    ///
    /// Build rows are tried in growing runs, each only with the rows that have no partner yet: most
    /// rows find theirs early, and comparing them with all others would be quadratic for nothing.
    fn partnered(&self, batch: &Batch, cx: &Context) -> Result<Pairs, ExecError> {
        let mut found = Pairs::default();
        let mut pending: Vec<u32> = (0..batch.rows() as u32).collect();
        let mut run = 0..FIRST_RUN_ROWS;
        while !pending.is_empty() {
            let mut matched = vec![false; batch.rows()];
            let longer = self.try_run(batch, &pending, &run, &mut matched, cx)?;
            let is_matched = |row: &u32| matched[*row as usize];
            found
                .probe
                .extend(pending.iter().copied().filter(is_matched));
            pending = longer.into_iter().filter(|row| !is_matched(row)).collect();
            run = run.end..run.end + PAIRS_MAX.min(run.len() * RUN_GROWTH);
        }
        Ok(found)
    }

    /// Compares each row with a run of the build rows with its key, and returns those that have more.
    fn try_run(
        &self,
        batch: &Batch,
        rows: &[u32],
        run: &Range<usize>,
        matched: &mut [bool],
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let mut longer = Vec::new();
        let mut pairs = Pairs::default();
        // Neighbouring rows often have the same key, without keys all do.
        let mut last_key: Option<Vec<u64>> = None;
        let mut partners = Vec::new();
        let columns = self.sought_columns();
        for (position, &row) in rows.iter().enumerate() {
            let ids = columns.iter().map(|&column| batch.ids(column));
            let key: Vec<u64> = ids.map(|ids| ids[row as usize]).collect();
            if last_key.as_ref() != Some(&key) {
                partners.clear();
                self.partners(&key, &mut partners);
                last_key = Some(key);
            }
            let end = run.end.min(partners.len());
            pairs
                .build
                .extend_from_slice(&partners[run.start.min(end)..end]);
            pairs.probe.resize(pairs.build.len(), row);
            if partners.len() > run.end {
                longer.push(row);
            }
            if pairs.build.len() >= PAIRS_MAX || position + 1 == rows.len() {
                cx.check()?;
                self.keep_compatible(batch, &mut pairs);
                self.keep_true(batch, &mut pairs, cx)?;
                let of = pairs.probe.iter();
                of.for_each(|&row| matched[row as usize] = true);
                pairs = Pairs::default();
            }
        }
        Ok(longer)
    }

    fn keep_compatible(&self, batch: &Batch, pairs: &mut Pairs) {
        for &(probe_column, build_column) in &self.shape.compatible {
            let (left, right) = (batch.ids(probe_column), self.table.column(build_column));
            let fits = |p: u32, b: u32| {
                let (a, b) = (left[p as usize], right[b as usize]);
                a == b || a == 0 || b == 0
            };
            let wanted: Vec<bool> = pairs
                .probe
                .iter()
                .zip(&pairs.build)
                .map(|(&p, &b)| fits(p, b))
                .collect();
            pairs.keep(&wanted);
        }
    }

    fn keep_true(&self, batch: &Batch, pairs: &mut Pairs, cx: &Context) -> Result<(), ExecError> {
        if let Some((condition, sources)) = &self.shape.filter
            && !pairs.probe.is_empty()
        {
            let joined = self.joined(batch, pairs, sources);
            let mut wanted = vec![false; pairs.probe.len()];
            for position in condition.select(&joined, cx)? {
                wanted[position as usize] = true;
            }
            pairs.keep(&wanted);
        }
        Ok(())
    }

    /// The joined rows; a build row of `u32::MAX` is the missing partner of an outer join.
    fn joined(&self, batch: &Batch, pairs: &Pairs, sources: &[Source]) -> Batch {
        let built = |column: usize, row: u32| {
            if row == u32::MAX {
                0
            } else {
                self.table.column(column)[row as usize]
            }
        };
        let columns = sources
            .iter()
            .map(|source| match *source {
                Source::Probe(column) => {
                    let ids = batch.ids(column);
                    pairs.probe.iter().map(|&row| ids[row as usize]).collect()
                }
                Source::Build(column) => {
                    pairs.build.iter().map(|&row| built(column, row)).collect()
                }
                Source::Either(p, b) => {
                    let ids = batch.ids(p);
                    let either = |(&p_row, &b_row): (&u32, &u32)| match ids[p_row as usize] {
                        0 => built(b, b_row),
                        id => id,
                    };
                    pairs.probe.iter().zip(&pairs.build).map(either).collect()
                }
                Source::Nowhere => vec![0; pairs.probe.len()],
            })
            .collect();
        Batch::from_vectors(columns, pairs.probe.len())
    }

    /// Joins the next piece of a batch and says where the following piece starts.
    pub fn piece(
        &self,
        batch: &Batch,
        start: usize,
        cx: &Context,
    ) -> Result<(Batch, usize), ExecError> {
        let is_reducing = matches!(self.shape.kind, JoinKind::Semi | JoinKind::Anti);
        let (mut pairs, mut end) = if is_reducing {
            debug_assert_eq!(start, 0, "such a batch is joined in one piece");
            (self.partnered(batch, cx)?, batch.rows())
        } else {
            let (mut pairs, end) = self.candidates(batch, start);
            self.keep_compatible(batch, &mut pairs);
            self.keep_true(batch, &mut pairs, cx)?;
            (pairs, end)
        };
        if self.table.rows() == 0 {
            end = batch.rows();
        }
        match self.shape.kind {
            JoinKind::Inner => {}
            JoinKind::LeftOuter => pairs.add_unmatched(start, end),
            JoinKind::Semi => pairs.reduce_to(start, end, true),
            JoinKind::Anti => pairs.reduce_to(start, end, false),
        }
        Ok((self.joined(batch, &pairs, &self.sources), end))
    }
}

impl Pairs {
    fn keep(&mut self, wanted: &[bool]) {
        let mut flags = wanted.iter();
        self.probe
            .retain(|_| *flags.next().expect("one flag per pair"));
        let mut flags = wanted.iter();
        self.build
            .retain(|_| *flags.next().expect("one flag per pair"));
    }

    fn matched(&self, start: usize, end: usize) -> Vec<bool> {
        let mut matched = vec![false; end - start];
        self.probe
            .iter()
            .for_each(|&row| matched[row as usize - start] = true);
        matched
    }

    /// Adds a pair without partner for each row from `start` to `end` that has none, in row order.
    fn add_unmatched(&mut self, start: usize, end: usize) {
        let matched = self.matched(start, end);
        let mut all = Self::default();
        let mut position = 0;
        for row in start..end {
            if !matched[row - start] {
                all.probe.push(row as u32);
                all.build.push(u32::MAX);
            }
            while self.probe.get(position) == Some(&(row as u32)) {
                all.probe.push(row as u32);
                all.build.push(self.build[position]);
                position += 1;
            }
        }
        *self = all;
    }

    /// One pair for each row that has a partner (or has none), the partner forgotten.
    fn reduce_to(&mut self, start: usize, end: usize, wanted: bool) {
        let matched = self.matched(start, end);
        self.probe = (start..end)
            .filter(|row| matched[row - start] == wanted)
            .map(|row| row as u32)
            .collect();
        self.build = vec![u32::MAX; self.probe.len()];
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(make_side) = self.make_side.take() {
            match make_side()? {
                BuildSide::Table(table) => self.pairing.table = table,
                BuildSide::Spilled(side) => {
                    let join = SpilledJoin::new(&mut self.probe, &side, &self.pairing, cx)?;
                    self.spilled = Some(join);
                }
            }
        }
        if let Some(spilled) = &mut self.spilled {
            return spilled.next(cx);
        }
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let (batch, start) = match self.current.take() {
                Some(current) => current,
                None => match self.probe.next(cx)? {
                    Some(batch) => (batch, 0),
                    None => return Ok(None),
                },
            };
            let (joined, end) = self.pairing.piece(&batch, start, cx)?;
            if end < batch.rows() {
                self.current = Some((batch, end));
            }
            if joined.rows() > 0 {
                self.output.put(joined);
            }
        }
    }
}
