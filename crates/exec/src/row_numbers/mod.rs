//! `RowNumbers`: from rows of one or more ids to dense numbers, in order of first sight: the groups of GROUP BY, and what DISTINCT has seen.
//!
//! ```text
//! rows        [id id][id id]...        by number
//! by ordinal  ordinal -> number        rows of one resource that lie near each other
//! by pair     id, ordinal -> number    rows of two ids, of which one has few values
//! by hash     hash -> number           all other rows; compares with `rows`
//! ```
//!
//! Cost: one look-up per row, none where a row repeats the one before. Resources that lie too far apart for
//! [`ByOrdinal`] or [`ByPair`] are hashed, those known until then as well. Rows that are hashed are looked up some at a time, so
//! that their waits for memory overlap.

mod by_ordinal;
mod by_pair;
mod number_table;

use crate::selection;
use basalt_columns::prefetch;
use basalt_rdf::TermId;
use by_ordinal::ByOrdinal;
use by_pair::ByPair;
use number_table::NumberTable;
use std::ops::Range;

/// Bytes that [`ByOrdinal`] may take whatever the number of rows: a quarter of a million neighbours may come in any
/// order, and all pages are there before there are many of them.
const FREE_BYTES: usize = 1 << 20;
/// Bytes that it may take for each row more: some times what a hash table takes.
const ROW_BYTES: usize = 64;
/// Rows of two ids from which on they are looked at whether to go by [`ByPair`]: a hash table of fewer lies in the nearer caches, and
/// pages of ordinals that are far between take longer to make (measured: 2,855 numbers of 5,752 rows take 290 us with pages, 164 without). Tests
/// have fewer.
const PAIRS_FROM: usize = if cfg!(test) { 1024 } else { 8192 };

/// Rows that are looked up together.
const CHUNK: usize = 64;

/// Bytes of table and rows up to which rows of two ids are looked up one by one.
const NEAR_BYTES: usize = 1 << 18;

/// Bytes that a hashed number takes: four for a slot, half or so of which are taken.
const HASHED_BYTES: usize = 8;

/// Hashes a row of ids: multiply and fold, good in the high and the low bits.
pub fn hash_row(row: &[u64]) -> u64 {
    row.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, &id| {
        let product = u128::from(hash ^ id) * 0xA076_1D64_78BD_642F_u128;
        (product >> 64) as u64 ^ product as u64
    })
}

/// Numbers by row; see the [module documentation](self).
pub struct RowNumbers {
    /// Ids in a row.
    width: usize,
    count: usize,
    /// The rows, one after the other.
    rows: Vec<u64>,
    /// Rows of one resource; `None` where rows are wider, or once resources lie too far apart.
    ordinals: Option<ByOrdinal>,
    /// Rows of two ids; `None` where that does not pay.
    pairs: Option<Box<ByPair>>,
    table: NumberTable,
    /// The number that was asked for last.
    last: u32,
}

impl RowNumbers {
    /// No rows, of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            count: 0,
            rows: Vec::new(),
            ordinals: (width == 1).then(ByOrdinal::default),
            pairs: None,
            table: NumberTable::default(),
            last: 0,
        }
    }

    /// Ids in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many different rows there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The row with a number.
    pub fn row(&self, number: usize) -> &[u64] {
        &self.rows[number * self.width..][..self.width]
    }

    /// The rows, by number.
    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.count).map(|number| self.row(number))
    }

    /// Adds a row; false if it was there.
    pub fn insert(&mut self, row: &[u64]) -> bool {
        let before = self.count;
        self.number_of(row);
        self.count > before
    }

    /// Adds rows; gives the positions of those that were not there, ascending. Rows come by column: `columns` has one for each id of a row.
    pub fn insert_all(&mut self, columns: &[&[u64]], rows: usize) -> Vec<u32> {
        let mut next = as_number(self.count);
        let mut numbers = Vec::new();
        self.numbers_of(columns, rows, &mut numbers);
        // New rows have the next numbers, one after the other.
        selection::positions(&numbers, |number| {
            let is_new = number == next;
            next += u32::from(is_new);
            is_new
        })
    }

    /// The number of a row, a new one if the row is new.
    pub fn number_of(&mut self, row: &[u64]) -> u32 {
        debug_assert_eq!(row.len(), self.width);
        match *row {
            [id] => self.number_of_one(id),
            [first, second] => self.number_of_two([first, second]),
            _ => self.number_by_hash(row),
        }
    }

    /// Appends the numbers of some rows, new ones where rows are new. Rows come by column: `columns` has one for each id of a row.
    pub fn numbers_of(&mut self, columns: &[&[u64]], rows: usize, numbers: &mut Vec<u32>) {
        debug_assert_eq!(columns.len(), self.width);
        debug_assert!(columns.iter().all(|column| column.len() == rows));
        numbers.reserve(rows);
        match columns {
            [] => numbers.extend((0..rows).map(|_| self.number_of(&[]))),
            [ids] => self.numbers_of_ones(ids, numbers),
            [firsts, seconds] => self.numbers_of_twos(firsts, seconds, numbers),
            _ => self.numbers_of_wide(columns, 0..rows, numbers),
        }
    }

    /// The same of two columns of as many rows.
    fn numbers_of_twos(&mut self, firsts: &[u64], seconds: &[u64], numbers: &mut Vec<u32>) {
        for start in (0..firsts.len()).step_by(PAIRS_FROM) {
            let rows = start..firsts.len().min(start + PAIRS_FROM);
            if self.pairs.is_none() && !self.is_near() {
                let before = self.count;
                self.numbers_of_wide(&[firsts, seconds], rows, numbers);
                self.look_at_pairs(before);
                continue;
            }
            let mut last = None;
            for (&first, &second) in firsts[rows.clone()].iter().zip(&seconds[rows]) {
                let row = [first, second];
                let number = match last {
                    Some((same, number)) if same == row => number,
                    _ => self.number_of_two(row),
                };
                last = Some((row, number));
                numbers.push(number);
            }
        }
    }

    /// Whether what hashed rows are looked up in lies in the nearer caches, so that there is nothing to wait for.
    fn is_near(&self) -> bool {
        self.table.bytes() + self.rows.len() * size_of::<u64>() <= NEAR_BYTES
    }

    /// Appends the numbers here of some rows of another.
    pub fn numbers_of_others(&mut self, other: &Self, rows: Range<usize>, numbers: &mut Vec<u32>) {
        debug_assert_eq!(other.width, self.width);
        if self.width < 2 || self.pairs.is_some() {
            numbers.extend(rows.map(|row| self.number_of(other.row(row))));
            return;
        }
        let before = self.count;
        let rows = rows.start * self.width..rows.end * self.width;
        self.numbers_by_hash(&other.rows[rows], numbers);
        self.look_at_pairs(before);
    }

    /// Appends the numbers of some rows that have no other places than by hash.
    fn numbers_of_wide(&mut self, columns: &[&[u64]], rows: Range<usize>, numbers: &mut Vec<u32>) {
        let mut flat = Vec::with_capacity(CHUNK.min(rows.len()) * self.width);
        for start in rows.clone().step_by(CHUNK) {
            flat.clear();
            for row in start..rows.end.min(start + CHUNK) {
                flat.extend(columns.iter().map(|column| column[row]));
            }
            self.numbers_by_hash(&flat, numbers);
        }
    }

    /// The number of a row of one id, a new one if the row is new.
    #[inline]
    pub fn number_of_one(&mut self, id: u64) -> u32 {
        debug_assert_eq!(self.width, 1);
        if self.is_last(&[id]) {
            return self.last;
        }
        if let Some(ordinals) = &mut self.ordinals
            && let Some(ordinal) = TermId(id).resource_ordinal()
        {
            let bytes_max = FREE_BYTES + self.count * ROW_BYTES;
            let is_there = ordinals.place(ordinal).is_some();
            if (is_there || ordinals.add_page(ordinal, bytes_max).is_some())
                && let Some(place) = ordinals.place(ordinal)
            {
                if *place == 0 {
                    self.rows.push(id);
                    self.count += 1;
                    *place = as_number(self.count);
                }
                self.last = *place - 1;
                return self.last;
            }
            self.hash_all();
        }
        self.number_by_hash(&[id])
    }

    /// Appends the numbers of rows of one id, new ones where rows are new.
    fn numbers_of_ones(&mut self, ids: &[u64], numbers: &mut Vec<u32>) {
        for ids in ids.chunks(CHUNK) {
            let mut rest = self.after_places(ids, numbers);
            // Termination: the first of the rest gets its number each time.
            while let [id, others @ ..] = rest {
                let by_ordinal = |id: &u64| TermId(*id).is_resource();
                if self.ordinals.is_some() && by_ordinal(id) {
                    numbers.push(self.number_of_one(*id));
                    rest = self.after_places(others, numbers);
                    continue;
                }
                let hashed = match &self.ordinals {
                    None => rest.len(),
                    Some(_) => rest.iter().take_while(|id| !by_ordinal(id)).count(),
                };
                let (hashed, others) = rest.split_at(hashed);
                self.numbers_by_hash(hashed, numbers);
                rest = self.after_places(others, numbers);
            }
        }
    }

    /// Appends the numbers of the first ids, as far as they have places by ordinal; the other ids. Whether a row is new is
    /// as good as random, so there is no branch on it: each is written behind the last one, and stays there if it is new.
    fn after_places<'a>(&mut self, ids: &'a [u64], numbers: &mut Vec<u32>) -> &'a [u64] {
        let Some(ordinals) = &mut self.ordinals else {
            return ids;
        };
        let before = numbers.len();
        self.rows.resize(self.count + ids.len(), 0);
        for &id in ids {
            let place = TermId(id).resource_ordinal();
            let Some(place) = place.and_then(|ordinal| ordinals.place(ordinal)) else {
                break;
            };
            self.rows[self.count] = id;
            let is_new = u32::from(*place == 0);
            *place += is_new * as_number(self.count + 1);
            self.count += is_new as usize;
            numbers.push(*place - 1);
        }
        self.rows.truncate(self.count);
        let placed = &numbers[before..];
        if let Some(&number) = placed.last() {
            self.last = number;
        }
        &ids[placed.len()..]
    }

    /// The number of a row of two ids, a new one if the row is new.
    #[inline]
    fn number_of_two(&mut self, row: [u64; 2]) -> u32 {
        debug_assert_eq!(self.width, 2);
        if let Some(pairs) = &mut self.pairs
            && let Some(ordinal) = pairs.ordinal(row)
        {
            if let Some(place) = pairs.place(row, ordinal, self.count) {
                if *place == 0 {
                    self.rows.extend_from_slice(&row);
                    self.count += 1;
                    *place = as_number(self.count);
                }
                self.last = *place - 1;
                return self.last;
            }
            self.hash_all();
        }
        self.number_by_hash(&row)
    }

    /// Whether a row is the one that was asked for last.
    #[inline]
    fn is_last(&self, row: &[u64]) -> bool {
        self.count > 0 && is_same(&self.rows[self.last as usize * self.width..], row)
    }

    /// The number of a row that has no other place, a new one if the row is new.
    fn number_by_hash(&mut self, row: &[u64]) -> u32 {
        let before = self.count;
        self.make_room(1);
        self.last = self.find_or_insert(hash_row(row), row);
        self.look_at_pairs(before);
        self.last
    }

    /// Appends the numbers of some rows that have no other place, which come one after the other, new ones where rows are new.
    fn numbers_by_hash(&mut self, rows: &[u64], numbers: &mut Vec<u32>) {
        let mut hashes = [0; CHUNK];
        let width = self.width;
        for rows in rows.chunks(CHUNK * width) {
            let each = || rows.chunks_exact(width);
            for (hash, row) in hashes.iter_mut().zip(each()) {
                *hash = hash_row(row);
                self.table.prefetch(*hash);
            }
            let hashes = &hashes[..rows.len() / width];
            self.make_room(hashes.len());
            for &hash in hashes {
                if let Some(number) = self.table.first_guess(hash) {
                    prefetch(&self.rows, number as usize * width);
                }
            }
            for (row, &hash) in each().zip(hashes) {
                if !self.is_last(row) {
                    self.last = self.find_or_insert(hash, row);
                }
                numbers.push(self.last);
            }
        }
    }

    /// Sees to it that so many more may be put into the table.
    #[inline]
    fn make_room(&mut self, more: usize) {
        if !self.table.has_room(more, self.count + more) {
            self.grow(more);
        }
    }

    /// Makes a table that has room for so many more, at least twice as large.
    #[cold]
    fn grow(&mut self, more: usize) {
        let mut larger = self.table.doubled();
        // Termination: it doubles.
        while !larger.has_room(self.table.count() + more, self.count + more) {
            larger = larger.doubled();
        }
        if self.table.count() == self.count {
            self.put_into(&mut larger, 0..as_number(self.count));
        } else {
            self.put_into(&mut larger, self.table.numbers());
        }
        self.table = larger;
    }

    /// Puts numbers of rows into a table that has none of them, and has room.
    fn put_into(&self, table: &mut NumberTable, mut numbers: impl Iterator<Item = u32>) {
        let mut hashed = [(0, 0); CHUNK];
        loop {
            let mut count = 0;
            for (place, number) in hashed.iter_mut().zip(&mut numbers) {
                *place = (hash_row(self.row(number as usize)), number);
                table.prefetch(place.0);
                count += 1;
            }
            for &(hash, number) in &hashed[..count] {
                table.find_or_insert(hash, number, |_| false);
            }
            if count < CHUNK {
                return;
            }
        }
    }

    #[inline]
    fn find_or_insert(&mut self, hash: u64, row: &[u64]) -> u32 {
        let (rows, width) = (&self.rows, self.width);
        let is_same = |number: u32| is_same(&rows[number as usize * width..], row);
        let new = as_number(self.count);
        let number = self.table.find_or_insert(hash, new, is_same);
        if number == new {
            self.rows.extend_from_slice(row);
            self.count += 1;
        }
        number
    }

    /// Looks whether rows of two ids had better go by pair, once there are enough.
    fn look_at_pairs(&mut self, before: usize) {
        if self.width == 2 && before < PAIRS_FROM && self.count >= PAIRS_FROM {
            self.try_pairs();
        }
    }

    /// Takes the rows out of the hash table that can go by pair, if it pays.
    fn try_pairs(&mut self) {
        let Some(mut pairs) = ByPair::of(&self.rows) else {
            return;
        };
        for (number, row) in self.rows.chunks_exact(2).enumerate() {
            let row = [row[0], row[1]];
            let place = pairs
                .ordinal(row)
                .and_then(|ordinal| pairs.place(row, ordinal, self.count));
            match place {
                Some(place) => *place = as_number(number + 1),
                None => return,
            }
        }
        self.table = NumberTable::default();
        self.pairs = Some(Box::new(pairs));
    }

    /// Hashes the rows that had places by ordinal.
    fn hash_all(&mut self) {
        self.ordinals = None;
        self.pairs = None;
        let mut table = NumberTable::default().doubled();
        // Termination: it doubles.
        while !table.has_room(self.count, self.count) {
            table = table.doubled();
        }
        self.put_into(&mut table, 0..as_number(self.count));
        self.table = table;
    }

    /// The number of a row, if it is there.
    #[inline]
    pub fn find(&self, row: &[u64]) -> Option<u32> {
        debug_assert_eq!(row.len(), self.width);
        if let (Some(ordinals), [id]) = (&self.ordinals, row)
            && let Some(ordinal) = TermId(*id).resource_ordinal()
        {
            return ordinals.find(ordinal);
        }
        if let (Some(pairs), &[first, second]) = (&self.pairs, row)
            && let Some(ordinal) = pairs.ordinal([first, second])
        {
            return pairs.find([first, second], ordinal);
        }
        let is_same = |number: u32| is_same(self.row(number as usize), row);
        self.table.find(hash_row(row), is_same)
    }

    /// Whether a row is there.
    pub fn contains(&self, row: &[u64]) -> bool {
        self.find(row).is_some()
    }

    /// The rows as columns.
    pub fn into_columns(self) -> Vec<Vec<u64>> {
        match self.width {
            1 => vec![self.rows],
            _ => self.columns_of(0..self.count),
        }
    }

    /// The rows, one after the other.
    pub fn into_rows(self) -> Vec<u64> {
        self.rows
    }

    /// The rows with these numbers as columns.
    pub fn columns_of(&self, numbers: Range<usize>) -> Vec<Vec<u64>> {
        let column = |idx| {
            let ids = numbers.clone().map(|number| self.row(number)[idx]);
            ids.collect()
        };
        (0..self.width).map(column).collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let ordinals = self.ordinals.as_ref().map_or(0, ByOrdinal::bytes);
        let pairs = self.pairs.as_ref().map_or(0, |pairs| pairs.bytes());
        let rows = self.rows.capacity() * size_of::<u64>();
        rows + self.table.bytes() + ordinals + pairs
    }

    /// Bytes that a row of this width takes, about.
    pub fn row_bytes(width: usize) -> usize {
        width * size_of::<u64>() + HASHED_BYTES
    }
}

/// Whether a row is the same as one of those that begin here; without a call for a few words.
#[inline]
fn is_same(rows: &[u64], row: &[u64]) -> bool {
    rows.iter().zip(row).all(|(a, b)| a == b)
}

fn as_number(count: usize) -> u32 {
    u32::try_from(count).expect("memory ends before 2^32 rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Resources near each other and far apart, and ids that are no resources.
    fn id() -> impl Strategy<Value = u64> {
        let resource = |range: std::ops::Range<u64>| range.prop_map(|o| TermId::resource(o).0);
        prop_oneof![
            4 => resource(5_000..9_000_u64),
            2 => resource(0..3_000_000_u64),
            1 => resource(0..1 << 40),
            1 => 0..5_u64,
            1 => Just(TermId::numeric(0, 7, 0).expect("fits").0),
        ]
    }

    proptest! {
        #[test]
        fn ones_are_numbered_by_first_sight(ids in prop::collection::vec(id(), 0..400)) {
            let (mut table, mut oracle) = (RowNumbers::new(1), HashMap::new());
            let (mut at_once, mut numbers) = (RowNumbers::new(1), Vec::new());
            for (row, &id) in ids.iter().enumerate() {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.find(&[id]), oracle.get(&id).copied());
                let number = *oracle.entry(id).or_insert(new);
                prop_assert_eq!(table.number_of(&[id]), number, "{}", row);
                numbers.push(number);
            }
            let mut found = Vec::new();
            for ids in ids.chunks(150) {
                at_once.numbers_of(&[ids], ids.len(), &mut found);
            }
            prop_assert_eq!(found, numbers);
            prop_assert_eq!(at_once.rows, &table.rows[..]);
            prop_assert_eq!(table.count(), oracle.len());
            for (&id, &group) in &oracle {
                prop_assert_eq!(table.find(&[id]), Some(group));
                prop_assert_eq!(table.row(group as usize), &[id]);
            }
        }

        /// Some at a time, and those of another: as one by one.
        #[test]
        fn rows_at_once_are_numbered_as_one_by_one(
            few in prop::collection::vec(id(), 1..9),
            step in 1..3_u64,
            width in 2..4_usize,
            at_once in 1..3_000_usize,
            others in 0..3_000_usize,
        ) {
            let column = |at: usize| -> Vec<u64> {
                let id = |i: u64| match at {
                    0 => few[i as usize * 7 % few.len()],
                    1 => TermId::resource(i * 61_837 % 900 * step).0,
                    _ => i / 5 % 2,
                };
                (0..6_000).map(id).collect()
            };
            let columns: Vec<Vec<u64>> = (0..width).map(column).collect();
            let row = |i: usize| -> Vec<u64> { columns.iter().map(|column| column[i]).collect() };
            let mut one_by_one = RowNumbers::new(width);
            let expected: Vec<u32> = (0..6_000).map(|i| one_by_one.number_of(&row(i))).collect();
            let (mut table, mut numbers) = (RowNumbers::new(width), Vec::new());
            for start in (0..6_000).step_by(at_once) {
                let rows = start..6_000.min(start + at_once);
                let slices: Vec<&[u64]> = columns.iter().map(|column| &column[rows.clone()]).collect();
                table.numbers_of(&slices, rows.len(), &mut numbers);
            }
            prop_assert_eq!(&numbers, &expected);
            prop_assert_eq!(&table.rows, &one_by_one.rows);
            // Another that has some of them.
            let mut other = RowNumbers::new(width);
            (0..others).for_each(|i| _ = other.number_of(&row(i * 2)));
            let mut merged = Vec::new();
            let middle = table.count() / 2;
            other.numbers_of_others(&table, 0..middle, &mut merged);
            other.numbers_of_others(&table, middle..table.count(), &mut merged);
            for (row, number) in table.iter().zip(merged) {
                prop_assert_eq!(other.row(number as usize), row);
                prop_assert_eq!(other.find(row), Some(number));
            }
            let distinct: std::collections::HashSet<&[u64]> = other.iter().collect();
            prop_assert_eq!(distinct.len(), other.count());
        }

        #[test]
        fn wide_rows_are_numbered_by_first_sight(rows in prop::collection::vec((id(), id(), 0..2_u64), 0..100)) {
            let (mut table, mut oracle) = (RowNumbers::new(3), HashMap::new());
            for (a, b, c) in rows {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.number_of(&[a, b, c]), *oracle.entry((a, b, c)).or_insert(new));
            }
        }

        /// Enough pairs that they may go by ordinal, of which one id has few values, or not; some are no resources.
        #[test]
        fn pairs_are_numbered_by_first_sight(
            few in prop::collection::vec(id(), 1..40),
            step in 1..5_000_u64,
            is_first in any::<bool>(),
            others in prop::collection::vec((0..6_000_usize, id(), id()), 0..30),
        ) {
            let (mut table, mut oracle) = (RowNumbers::new(2), HashMap::new());
            let mut check = |a: u64, b: u64| {
                let new = oracle.len() as u32;
                let expected = oracle.get(&(a, b)).copied();
                prop_assert_eq!(table.find(&[a, b]), expected);
                let group = *oracle.entry((a, b)).or_insert(new);
                prop_assert_eq!(table.number_of(&[a, b]), group);
                prop_assert_eq!(table.row(group as usize), &[a, b]);
                prop_assert_eq!(table.count(), oracle.len());
                Ok(())
            };
            for i in 0..6_000 {
                for (_, a, b) in others.iter().filter(|(at, ..)| *at == i) {
                    check(*a, *b)?;
                }
                let one = few[i * 7 % few.len()];
                let other = TermId::resource(i as u64 % 900 * step).0;
                match is_first {
                    true => check(one, other)?,
                    false => check(other, one)?,
                }
            }
        }
    }

    #[test]
    fn pairs_of_few_and_neighbours_are_not_hashed_and_strangers_are() {
        for is_first in [true, false] {
            let mut table = RowNumbers::new(2);
            let pair = |few: u64, many: u64| match is_first {
                true => [few, TermId::resource(many).0],
                false => [TermId::resource(many).0, few],
            };
            for i in 0..60_000_u64 {
                table.number_of(&pair(i % 10, 5_000 + i * 61_837 % 20_000));
            }
            assert!(table.pairs.is_some() && table.table.count() == 0);
            let count = table.count();
            for far in 1..2_000_u64 {
                table.number_of(&pair(3, far << 32));
            }
            assert!(table.pairs.is_none());
            assert_eq!(table.table.count(), count + 1_999);
        }
        // Where both have many values.
        let mut table = RowNumbers::new(2);
        for i in 0..5_000 {
            table.number_of(&[TermId::resource(i).0, TermId::resource(i + 1).0]);
        }
        assert!(table.pairs.is_none() && table.table.count() == 5_000);
    }

    #[test]
    fn neighbours_are_not_hashed_and_strangers_are() {
        let mut table = RowNumbers::new(1);
        for ordinal in (1_000_000..1_030_000).rev() {
            table.number_of(&[TermId::resource(ordinal).0]);
        }
        assert!(table.ordinals.is_some() && table.table.count() == 0);
        for far in 1..1_000_u64 {
            table.number_of(&[TermId::resource(far << 32).0]);
        }
        assert!(table.ordinals.is_none());
        assert_eq!(table.table.count(), 30_999);
        assert!(table.bytes() < 30_999 * 40);
    }

    #[test]
    fn neighbours_may_come_in_any_order() {
        let mut table = RowNumbers::new(1);
        for i in 0..100_000_u64 {
            table.number_of(&[TermId::resource(i * 61_837 % 100_000 + 77).0]);
        }
        assert!(table.ordinals.is_some() && table.count() == 100_000);
    }
}
