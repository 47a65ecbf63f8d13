//! `HashJoin`: the general join.
//!
//! The build side is read whole into a [`JoinTable`]; the other side streams through. Keys are slots
//! certain on both sides; other shared slots are checked for compatibility (equal, or unbound on
//! a side) and merged. Those that no build row lacks are keys of the table all the same, by which batches find their partners of which no row
//! lacks them either; for other batches a second table is made by the keys alone. With no keys a table is by the first of those slots, the *half key*: a row that has a value there is compared with
//! the build rows that have the same or none, another with all. With neither all pairs are compared. Pairs are made in pieces of bounded size;
//! a semi or anti join does not look for many more partners of a row than the first, and by one key alone it needs no
//! table if the keys lie close together: a bit for each. One without keys looks at some first rows of the other side before that is read,
//! and reads it only if a row has no partner among them. The condition is part of the join, as OPTIONAL asks for.
//!
//! Where the streaming side is the cheaper one, a row of it is looked for before the build side is made, and without one nothing is
//! made; where rows need a partner and the build side has none, the streaming side is not read.
//!
//! Output keeps the order of the streaming side. Memory: the build side, and one piece of pairs. A build side beyond its
//! share of memory goes to files, if there are keys (see [`build_side`](super::build_side) and
//! [`spilled_join`](super::spilled_join)).

use super::build_side::BuildSide;
use super::join_table::JoinTable;
use super::key_filter::KeyFilter;
use super::output::Output;
use super::pairing::{Pairing, PieceStart, SetFunction};
use super::peeked::Peeked;
use super::range_order::RangeExprs;
use super::spilled_join::SpilledJoin;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use basalt_plan::physical::{JoinKind, RangeEnd, Slot};
use std::sync::Arc;

/// Where an output column comes from; indices of the probe side and of the build side.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A column of the probe side.
    Probe(usize),
    /// A column of the build side.
    Build(usize),
    /// On both sides: the bound one.
    Either(usize, usize),
    /// What is told of the set of pairs that the row stands for.
    Set(usize),
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
    /// What the condition bounds.
    pub ranges: Option<JoinRanges>,
    /// At which end of the range partners are enough, if at one.
    pub nearest: Option<RangeEnd>,
    /// What is told of sets of pairs, where rows stand for such.
    pub partners: Vec<SetFunction>,
    /// The output columns.
    pub sources: Vec<Source>,
}

/// The ranges of a condition.
pub struct JoinRanges {
    /// What bounds what.
    pub exprs: RangeExprs,
    /// The rest of the condition, for where the words of values tell the ranges.
    pub rest: Option<(CompiledExpr, Vec<Source>)>,
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

/// Rows of the build side that are looked at first where every row may have a partner.
const FIRST_ROWS: u32 = 256;

/// The operator; see the [module documentation](self).
pub struct HashJoin {
    probe: Peeked,
    /// Whether to look for rows of the streaming side before the build side is made.
    probe_first: bool,
    /// Whether nothing comes out, whatever the streaming side has.
    is_over: bool,
    /// Makes the build side at the first call of `next`, or when the first rows do not suffice.
    make_side: Option<MakeSide>,
    /// Rows of the build side, of which the first ones may suffice.
    first_rows: Option<BoxOperator>,
    /// The first ones.
    first: Option<Pairing>,
    pairing: Pairing,
    /// What comes out, where the build side is in files.
    spilled: Option<SpilledJoin>,
    /// The keys of the build side, where nothing else is asked for.
    keys: Option<Arc<KeyFilter>>,
    output: Output,
    /// A probe batch that is being joined piece by piece, and where the next piece starts.
    current: Option<(Batch, PieceStart)>,
}

impl HashJoin {
    /// Joins the rows of `probe` with the build side that `make_side` brings.
    pub fn new(probe: BoxOperator, make_side: MakeSide, shape: JoinShape) -> Self {
        let sources = shape.sources.clone();
        let pairing = Pairing::new(Arc::new(JoinTable::empty()), Arc::new(shape), sources);
        Self {
            probe: Peeked::new(probe),
            probe_first: false,
            is_over: false,
            make_side: Some(make_side),
            first_rows: None,
            first: None,
            pairing,
            spilled: None,
            keys: None,
            output: Output::default(),
            current: None,
        }
    }

    /// The same for a semi or anti join without keys, whose build side gives its rows one after another: every row may have a partner among
    /// the first ones.
    pub fn with_first_rows(self, rows: Option<BoxOperator>) -> Self {
        Self {
            first_rows: rows,
            ..self
        }
    }

    /// The same with the build side made only if the streaming side has rows.
    pub fn with_probe_first(self, probe_first: bool) -> Self {
        Self {
            probe_first,
            ..self
        }
    }

    /// Reads the first rows of the build side.
    fn read_first(&mut self, cx: &Context) -> Result<(), ExecError> {
        let Some(mut rows) = self.first_rows.take() else {
            return Ok(());
        };
        if let Some(batch) = rows.next(cx)? {
            let count = FIRST_ROWS.min(batch.rows() as u32);
            let some = batch.keep(&(0..count).collect::<Vec<u32>>());
            let table = JoinTable::build(&[some], batch.width(), Vec::new(), cx)?;
            self.first = Some(self.pairing.with_table(Arc::new(table)));
        }
        Ok(())
    }

    /// Makes the build side if it is not there.
    fn read_side(&mut self, cx: &Context) -> Result<(), ExecError> {
        let Some(make_side) = self.make_side.take() else {
            return Ok(());
        };
        self.first = None;
        match make_side()? {
            BuildSide::Table(table) => {
                let needs_partner =
                    matches!(self.pairing.shape.kind, JoinKind::Inner | JoinKind::Semi);
                self.is_over = needs_partner && table.rows() == 0;
                self.pairing = self.pairing.with_table(table);
            }
            BuildSide::Keys(keys) => self.keys = Some(keys),
            BuildSide::Spilled(side) => {
                let join = SpilledJoin::new(&mut self.probe, &side, &self.pairing, cx)?;
                self.spilled = Some(join);
            }
        }
        Ok(())
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if std::mem::take(&mut self.probe_first) && !self.probe.has_rows(cx)? {
            self.is_over = true;
        }
        if !self.is_over {
            self.read_first(cx)?;
            if self.first.is_none() {
                self.read_side(cx)?;
            }
        }
        if let Some(spilled) = &mut self.spilled {
            return spilled.next(cx);
        }
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            if self.is_over {
                return Ok(None);
            }
            cx.check()?;
            let (batch, mut start) = match self.current.take() {
                Some(current) => current,
                None => match self.probe.next(cx)? {
                    Some(batch) => (batch, PieceStart::default()),
                    None => return Ok(None),
                },
            };
            let by_first = match &self.first {
                Some(first) => first.of_first_partners(&batch, &mut start, cx)?,
                None => None,
            };
            let joined = match by_first {
                Some(joined) => joined,
                None => {
                    // Without keys it is no files, which would take the rows from the probe side.
                    self.read_side(cx)?;
                    match &self.keys {
                        Some(keys) => self.pairing.kept_by(keys, &batch, &mut start),
                        None => self.pairing.piece(&batch, &mut start, cx)?,
                    }
                }
            };
            if start.row() < batch.rows() {
                self.current = Some((batch, start));
            }
            if joined.rows() > 0 {
                self.output.put(joined);
            }
        }
    }
}
