//! `Pairing`: the pairs of a batch with a [`JoinTable`], piece by piece.
//!
//! A piece has a bounded number of candidates, also where one row has more: what it is made of needs no counting, and the query's
//! flag and clock are looked at between pieces. A semi or anti join makes one piece of a batch.

mod in_range;
mod joined;
mod keys;
mod sets;

use self::keys::Keys;
pub use sets::SetFunction;

use super::hash_join::{JoinShape, Source};
use super::join_table::JoinTable;
use super::key_filter::KeyFilter;
use super::range_order::Bounds;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::keep;
use basalt_columns::PREFETCH_ROWS;
use basalt_plan::physical::JoinKind;
use std::ops::Range;
use std::sync::Arc;

/// Candidates of a piece at most, in full batches.
const PIECE_BATCHES: usize = 8;

/// Partners that a semi or anti join tries first with each row.
pub const FIRST_RUN_ROWS: usize = 16;
/// How much longer each following run is.
pub const RUN_GROWTH: usize = 4;

/// Finds the pairs of batches with a table.
#[derive(Clone)]
pub struct Pairing {
    /// The build side, or a part of it.
    pub table: Arc<JoinTable>,
    /// Besides the inputs.
    pub shape: Arc<JoinShape>,
    /// The output columns.
    pub sources: Vec<Source>,
    keys: Keys,
}

/// Where a piece of a batch starts.
#[derive(Default)]
pub struct PieceStart {
    place: Place,
    /// The ranges of all rows of the batch, once they are known.
    bounds: Option<Bounds>,
}

impl PieceStart {
    /// The row of the batch.
    pub fn row(&self) -> usize {
        self.place.row
    }
}

/// A row of a batch, and how far it is joined.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    row: usize,
    /// Build rows that earlier pieces compared it with.
    compared: usize,
    /// Whether one of these was a partner.
    has_partner: bool,
}

impl Place {
    /// The start of a row.
    fn of_row(row: usize) -> Self {
        Self {
            row,
            ..Self::default()
        }
    }
}

/// Joined pairs: rows of the probe batch and of the build side.
#[derive(Default)]
struct Pairs {
    probe: Vec<u32>,
    build: Vec<u32>,
    /// For each, the places of the set of partners that it stands for, none if it is a pair, as are those behind the last.
    sets: Vec<Range<u32>>,
}

impl Pairing {
    /// The probe columns by whose values build rows are found: keys, or that of the half key if the table is by one.
    fn sought_columns(&self) -> Vec<usize> {
        let Keys {
            probe, compatible, ..
        } = &self.keys;
        if !probe.is_empty() {
            return probe.clone();
        }
        let by = self.table.key_columns();
        let half_key = compatible.iter().find(|(_, build)| by == [*build]);
        half_key.iter().map(|(probe, _)| *probe).collect()
    }

    /// Appends the build rows that a row with these values in the columns sought by is compared with: of those where such rows
    /// lie, only a run. Returns how many lie there.
    fn partners(&self, key: &[u64], run: &Range<usize>, out: &mut Vec<u32>) -> usize {
        let is_half = self.keys.probe.is_empty();
        if key.is_empty() || is_half && key == [0] {
            let all = 0..self.table.rows();
            out.extend(part(&all, run, 0).map(|row| row as u32));
            return all.len();
        }
        let same = self.table.directory().stretch(key);
        if !same.is_empty() {
            self.table.matching(part(&same, run, 0), key, out);
        }
        if !is_half {
            return same.len();
        }
        let unbound = self.table.directory().stretch(&[0]);
        self.table
            .matching(part(&unbound, run, same.len()), &[0], out);
        same.len() + unbound.len()
    }

    /// Pairs of the next piece of the batch; returns where the following piece starts.
    fn candidates(&self, batch: &Batch, mut at: Place, cx: &Context) -> (Pairs, Place) {
        let mut pairs = Pairs::default();
        let pairs_max = pairs_max(cx);
        let pairs_expected = pairs_max.min(batch.rows() - at.row);
        pairs.build.reserve(pairs_expected);
        pairs.probe.reserve(pairs_expected);
        if !self.keys.probe.is_empty() && at.compared == 0 {
            let keys = self.keys.probe.iter().map(|&column| batch.ids(column));
            let keys: Vec<&[u64]> = keys.collect();
            let out = (&mut pairs.probe, &mut pairs.build);
            at = Place::of_row(self.table.pair_keys(&keys, at.row, pairs_max, out));
            // A row with more partners than a piece has pairs is looked at run by run.
            if at.row == batch.rows() || !pairs.probe.is_empty() {
                return (pairs, at);
            }
        }
        let columns = self.sought_columns();
        let mut key = Vec::with_capacity(columns.len());
        let key_into = |key: &mut Vec<u64>, row: usize| {
            key.clear();
            key.extend(columns.iter().map(|&column| batch.ids(column)[row]));
        };
        while at.row < batch.rows() && pairs.build.len() < pairs_max {
            if at.row + PREFETCH_ROWS < batch.rows() && !columns.is_empty() {
                key_into(&mut key, at.row + PREFETCH_ROWS);
                self.table.directory().expect(&key);
            }
            key_into(&mut key, at.row);
            let run = at.compared..at.compared + (pairs_max - pairs.build.len());
            let rows = self.partners(&key, &run, &mut pairs.build);
            pairs.probe.resize(pairs.build.len(), at.row as u32);
            if run.end < rows {
                at.compared = run.end;
                break;
            }
            at = Place::of_row(at.row + 1);
        }
        (pairs, at)
    }

    /// The candidates of the next piece that are partners; returns where the following piece starts.
    fn pairs(
        &self,
        batch: &Batch,
        bounds: Option<&Bounds>,
        at: Place,
        cx: &Context,
    ) -> Result<(Pairs, Place), ExecError> {
        let (mut pairs, end) = match bounds {
            Some(bounds) => self.candidates_in_range(batch, bounds, at, cx),
            None => self.candidates(batch, at, cx),
        };
        self.keep_compatible(batch, &mut pairs);
        self.keep_true(batch, bounds, &mut pairs, cx)?;
        Ok((pairs, end))
    }

    /// The key columns of a batch, where equal keys are all that partners need.
    fn deciding_keys<'b>(&self, batch: &'b Batch) -> Option<Vec<&'b [u64]>> {
        let Keys {
            probe, compatible, ..
        } = &self.keys;
        let no_condition = self.shape.filter.is_none();
        let are_deciding = !probe.is_empty() && compatible.is_empty() && no_condition;
        are_deciding.then(|| probe.iter().map(|&key| batch.ids(key)).collect())
    }

    /// One pair for each row of the batch that has a partner, for semi and anti joins.
    ///
    /// Build rows are tried in growing runs, each only with the rows that have no partner yet: most
    /// rows find theirs early, and comparing them with all others would be quadratic for nothing.
    fn partnered(
        &self,
        batch: &Batch,
        bounds: Option<&Bounds>,
        cx: &Context,
    ) -> Result<Pairs, ExecError> {
        let mut found = Pairs::default();
        if let Some(keys) = self.deciding_keys(batch) {
            self.table.found_keys(&keys, &mut found.probe);
            return Ok(found);
        }
        let mut pending: Vec<u32> = (0..batch.rows() as u32).collect();
        let mut run = 0..match bounds {
            Some(bounds) if self.is_decided_by_first(bounds) => 1,
            _ => FIRST_RUN_ROWS,
        };
        while !pending.is_empty() {
            let mut matched = vec![false; batch.rows()];
            let of = (batch, bounds, pending.as_slice());
            let longer = self.try_run(of, &run, &mut matched, cx)?;
            let is_matched = |row: &u32| matched[*row as usize];
            found
                .probe
                .extend(pending.iter().copied().filter(is_matched));
            pending = longer.into_iter().filter(|row| !is_matched(row)).collect();
            run = run.end..run.end + pairs_max(cx).min(run.len() * RUN_GROWTH);
        }
        Ok(found)
    }

    /// Compares each row with a run of the build rows with its key, and returns those that have more.
    fn try_run(
        &self,
        (batch, bounds, rows): (&Batch, Option<&Bounds>, &[u32]),
        run: &Range<usize>,
        matched: &mut [bool],
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let mut longer = Vec::new();
        let mut pairs = Pairs::default();
        let columns = self.sought_columns();
        let mut key = Vec::with_capacity(columns.len());
        for (position, &row) in rows.iter().enumerate() {
            let ids = columns.iter().map(|&column| batch.ids(column));
            key.clear();
            key.extend(ids.map(|ids| ids[row as usize]));
            let rows_there = match bounds {
                Some(bounds) => self.partners_in_range((bounds, row), &key, run, &mut pairs.build),
                None => self.partners(&key, run, &mut pairs.build),
            };
            pairs.probe.resize(pairs.build.len(), row);
            if rows_there > run.end {
                longer.push(row);
            }
            if pairs.build.len() >= pairs_max(cx) || position + 1 == rows.len() {
                cx.check()?;
                self.keep_compatible(batch, &mut pairs);
                self.keep_true(batch, bounds, &mut pairs, cx)?;
                let of = pairs.probe.iter();
                of.for_each(|&row| matched[row as usize] = true);
                pairs = Pairs::default();
            }
        }
        Ok(longer)
    }

    fn keep_compatible(&self, batch: &Batch, pairs: &mut Pairs) {
        for &(probe_column, build_column) in &self.keys.compatible {
            let (left, right) = (batch.ids(probe_column), self.table.column(build_column));
            let fits = |p: u32, b: u32| {
                let (a, b) = (left[p as usize], right[b as usize]);
                a == b || a == 0 || b == 0
            };
            let both = pairs.probe.iter().zip(&pairs.build);
            let wanted = (0_u32..).zip(both);
            let wanted = wanted.filter_map(|(at, (&p, &b))| fits(p, b).then_some(at));
            pairs.keep(&wanted.collect::<Vec<u32>>());
        }
    }

    fn keep_true(
        &self,
        batch: &Batch,
        bounds: Option<&Bounds>,
        pairs: &mut Pairs,
        cx: &Context,
    ) -> Result<(), ExecError> {
        if let Some((condition, sources)) = self.condition(bounds)
            && !pairs.probe.is_empty()
        {
            let joined = self.joined(batch, pairs, sources);
            pairs.keep(&condition.select(&joined, cx)?);
        }
        Ok(())
    }

    /// All rows of a batch that a semi or anti join keeps by these keys alone.
    pub fn kept_by(&self, keys: &KeyFilter, batch: &Batch, start: &mut PieceStart) -> Batch {
        start.place = Place::of_row(batch.rows());
        let wanted = self.shape.kind == JoinKind::Semi;
        let ids = self.shape.probe_keys.first().map(|&key| batch.ids(key));
        let probe = ids.map(|ids| keys.positions(ids, wanted));
        let pairs = Pairs::without_partners(probe.unwrap_or_default());
        self.joined(batch, &pairs, &self.sources)
    }

    /// All rows of a batch that a semi or anti join keeps, if every row has a partner in the table, which may be a part of the build side;
    /// else `None`.
    pub fn of_first_partners(
        &self,
        batch: &Batch,
        start: &mut PieceStart,
        cx: &Context,
    ) -> Result<Option<Batch>, ExecError> {
        let mut pairs = self.partnered(batch, None, cx)?;
        if pairs.probe.len() < batch.rows() {
            return Ok(None);
        }
        pairs.reduce_to(batch.rows(), self.shape.kind == JoinKind::Semi);
        start.place = Place::of_row(batch.rows());
        Ok(Some(self.joined(batch, &pairs, &self.sources)))
    }

    /// Joins the next piece of a batch; `start` becomes that of the following piece.
    pub fn piece(
        &self,
        batch: &Batch,
        start: &mut PieceStart,
        cx: &Context,
    ) -> Result<Batch, ExecError> {
        if self.lacks_keys(batch) {
            return self.loose(cx)?.piece(batch, start, cx);
        }
        let bounds = match start.bounds.take() {
            Some(bounds) => Some(bounds),
            None => self.bounds(batch, cx)?,
        };
        let pairs = match self.shape.kind {
            JoinKind::Semi | JoinKind::Anti => {
                debug_assert_eq!(start.row(), 0, "such a batch is joined in one piece");
                let mut pairs = self.partnered(batch, bounds.as_ref(), cx)?;
                pairs.reduce_to(batch.rows(), self.shape.kind == JoinKind::Semi);
                start.place = Place::of_row(batch.rows());
                pairs
            }
            JoinKind::Inner | JoinKind::LeftOuter => {
                let place = start.place;
                let (mut pairs, mut end) = match &bounds {
                    Some(bounds) if self.has_sets(bounds) => self.sets(batch, bounds, place, cx)?,
                    bounds => self.pairs(batch, bounds.as_ref(), place, cx)?,
                };
                end.has_partner = end.row == place.row && place.has_partner
                    || pairs.probe.last() == Some(&(end.row as u32));
                if self.shape.kind == JoinKind::LeftOuter {
                    pairs.add_unmatched(place, end.row);
                }
                *start = PieceStart { place: end, bounds };
                pairs
            }
        };
        Ok(self.joined(batch, &pairs, &self.sources))
    }
}

/// Candidates of a piece at most.
fn pairs_max(cx: &Context) -> usize {
    PIECE_BATCHES * cx.options().batch_rows.max(1)
}

/// The part of a stretch that is in a run of several, of which those before it have `before` rows.
fn part(stretch: &Range<usize>, run: &Range<usize>, before: usize) -> Range<usize> {
    let place = |position: usize| {
        let position = position.saturating_sub(before);
        stretch.start + position.min(stretch.len())
    };
    place(run.start)..place(run.end)
}

impl Pairs {
    /// Keeps the pairs at these positions, which ascend.
    fn keep(&mut self, positions: &[u32]) {
        if positions.len() < self.probe.len() {
            keep(&mut self.probe, positions);
            keep(&mut self.build, positions);
        }
    }

    /// Adds a pair without partner for each row from the start of the piece to `end` that has none, in row order.
    fn add_unmatched(&mut self, start: Place, end: usize) {
        let mut all = Self::default();
        let mut position = 0;
        for row in start.row..end {
            let before = position;
            while self.probe.get(position) == Some(&(row as u32)) {
                position += 1;
            }
            let is_matched = position > before || row == start.row && start.has_partner;
            if !is_matched {
                all.probe.push(row as u32);
                all.build.push(u32::MAX);
            }
            all.append(self, before..position);
        }
        // Of the row that goes on in the next piece.
        all.append(self, position..self.probe.len());
        *self = all;
    }

    /// One pair for each of the first `rows` rows that has a partner (or has none), the partner forgotten.
    fn reduce_to(&mut self, rows: usize, wanted: bool) {
        let mut matched = vec![false; rows];
        let of = self.probe.iter();
        of.for_each(|&row| matched[row as usize] = true);
        let rows = (0..rows).filter(|row| matched[*row] == wanted);
        *self = Self::without_partners(rows.map(|row| row as u32).collect());
    }

    /// Whether no partner is missing.
    fn have_partners(&self) -> bool {
        !self.build.contains(&u32::MAX)
    }

    /// Rows of the probe batch alone.
    fn without_partners(probe: Vec<u32>) -> Self {
        Self {
            build: vec![u32::MAX; probe.len()],
            probe,
            sets: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::computed_numbers::ComputedNumbers;
    use crate::context::ExecOptions;
    use crate::expr::Numbers;
    use crate::value::decimal_id;
    use basalt_rdf::TermId;
    use basalt_rdf::qualifiers::DOUBLE;
    use basalt_store::Snapshot;

    /// Build rows of one key, several pieces of them.
    const BUILD_ROWS: u64 = 5 * PIECE_BATCHES as u64;

    fn context() -> Arc<Context> {
        let options = ExecOptions {
            batch_rows: 1,
            ..ExecOptions::default()
        };
        Context::new(Snapshot::empty(), options, 0)
    }

    /// The second columns of the rows that three probe rows are joined to, piece by piece: all have the same key, and what each has in
    /// the column to be compared is given.
    fn pieces(kind: JoinKind, compared: [u64; 3]) -> Vec<Vec<u64>> {
        let cx = context();
        let keys = vec![7; BUILD_ROWS as usize];
        let build =
            Batch::from_vectors(vec![keys, (1..=BUILD_ROWS).collect()], BUILD_ROWS as usize);
        let shape = JoinShape {
            probe_keys: vec![0],
            compatible: vec![(1, 1)],
            kind,
            filter: None,
            ranges: None,
            nearest: None,
            partners: Vec::new(),
            sources: vec![Source::Build(1)],
        };
        let table = JoinTable::build(&[build], 2, vec![0], &cx).expect("there is room");
        let sources = shape.sources.clone();
        let pairing = Pairing::new(Arc::new(table), Arc::new(shape), sources);
        let batch = Batch::from_vectors(vec![vec![7; 3], compared.to_vec()], 3);
        let mut start = PieceStart::default();
        let mut pieces = Vec::new();
        while start.row() < batch.rows() {
            let piece = pairing
                .piece(&batch, &mut start, &cx)
                .expect("it is joined");
            pieces.push(piece.ids(0).to_vec());
        }
        pieces
    }

    #[test]
    fn the_partners_of_one_row_are_in_several_pieces() {
        let all: Vec<u64> = (1..=BUILD_ROWS).collect();
        for kind in [JoinKind::Inner, JoinKind::LeftOuter] {
            let pieces = pieces(kind, [0, 0, 0]);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BATCHES));
            assert_eq!(pieces.concat(), [all.as_slice(), &all, &all].concat());
        }
    }

    /// Rows of a key, which repeats, and a number, which is computed or has its id.
    fn numbered(ids: &[u64], are_computed: bool, cx: &Context) -> Batch {
        let keys = (0..ids.len() as u64).map(|n| TermId::resource(n * n % 11).0);
        let batch = Batch::from_vectors(vec![keys.collect()], ids.len());
        match are_computed {
            true => {
                let numbers = Numbers::of_ids(ids).expect("they have one type");
                batch.with_numbers(ComputedNumbers::new(numbers, cx))
            }
            false => batch.with_column(ids.to_vec()),
        }
    }

    #[test]
    fn computed_numbers_are_joined_as_their_ids_are() {
        let cx = context();
        let decimal = |n: i64, scale| decimal_id(n, scale).expect("fits").0;
        let few: Vec<u64> = (0..20).map(|n| decimal(n * 7 - 90, 2)).collect();
        let more: Vec<u64> = (0..20).map(|n| decimal(n * 7 + 51, 2)).collect();
        let longer: Vec<u64> = (0..20).map(|n| decimal(n * 10 + 1, 5)).collect();
        let double = |n: i64| TermId::numeric(DOUBLE, n * 10 + 1, 1).expect("fits").0;
        let doubles: Vec<u64> = (0..20).map(double).collect();
        let joined = |parts: &[&[u64]], kind, are_computed| {
            let parts = parts.iter().map(|ids| numbered(ids, are_computed, &cx));
            let parts: Vec<Batch> = parts.collect();
            let shape = JoinShape {
                probe_keys: vec![0],
                compatible: Vec::new(),
                kind,
                filter: None,
                ranges: None,
                nearest: None,
                partners: Vec::new(),
                sources: vec![Source::Probe(0), Source::Build(1), Source::Probe(1)],
            };
            let table = JoinTable::build(&parts, 2, vec![0], &cx).expect("there is room");
            let sources = shape.sources.clone();
            let pairing = Pairing::new(Arc::new(table), Arc::new(shape), sources);
            let probe = numbered(&few[..15], are_computed, &cx);
            let (mut start, mut rows) = (PieceStart::default(), Vec::new());
            while start.row() < probe.rows() {
                let piece = pairing.piece(&probe, &mut start, &cx);
                let piece = piece.expect("it is joined");
                (0..piece.rows()).for_each(|row| piece.row_into(row, &mut rows));
            }
            rows
        };
        // Of one scale, of two, and of two types.
        for parts in [[&few, &more], [&few, &longer], [&few, &doubles]] {
            let parts = parts.map(Vec::as_slice);
            for kind in [JoinKind::Inner, JoinKind::LeftOuter] {
                assert_eq!(joined(&parts, kind, true), joined(&parts, kind, false));
            }
        }
    }

    #[test]
    fn a_row_has_no_partner_only_if_no_piece_has_one() {
        let compared = [1, BUILD_ROWS + 1, BUILD_ROWS];
        assert_eq!(
            pieces(JoinKind::LeftOuter, compared).concat(),
            [1, 0, BUILD_ROWS]
        );
        assert_eq!(pieces(JoinKind::Inner, compared).concat(), [1, BUILD_ROWS]);
        assert_eq!(pieces(JoinKind::Semi, compared).len(), 1);
        assert_eq!(pieces(JoinKind::Semi, compared).concat().len(), 2);
        assert_eq!(pieces(JoinKind::Anti, compared).concat().len(), 1);
    }
}
