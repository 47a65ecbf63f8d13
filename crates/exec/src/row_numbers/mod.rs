//! `RowNumbers`: from rows of one or more ids to dense numbers, in order of first sight: the groups of GROUP BY, and what DISTINCT has seen.
//!
//! ```text
//! rows        [id id][id id]...        by number
//! by id       id -> number             rows of one resource, number or date that lie near each other
//! by pair     id, ordinal -> number    rows of two ids, of which one has few values
//! by hash     hash -> number           all other rows; compares with `rows`
//! ```
//!
//! Cost: one look-up per row, one for 64 rows that are the same. Ids that lie too far apart for
//! [`ById`] or [`ByPair`] are hashed, those known until then as well. Rows that are hashed are looked up some at a time ([`keys`]), so
//! that their waits for memory overlap, and most of them without a branch: 3 to 5 ns a row while there are few.

mod by_id;
mod by_ordinal;
mod by_pair;
mod keys;
mod reading;

use crate::number_table::NumberTable;
use crate::selection;
use basalt_columns::prefetch;
use by_id::ById;
use by_pair::ByPair;
use keys::{Flat, Keys, Ones, Twos, are_same};
use std::ops::Range;

pub use keys::{hash_row, hash_rows};

/// Rows of two ids from which on they are looked at whether to go by [`ByPair`]: a hash table of fewer lies in the nearer caches, and
/// pages of ordinals that are far between take longer to make (measured: 2,855 numbers of 5,752 rows take 290 us with pages, 164 without). Tests
/// have fewer.
const PAIRS_FROM: usize = if cfg!(test) { 1024 } else { 8192 };

/// Rows that are looked up together.
const CHUNK: usize = 64;

/// Bytes that a hashed number takes: four for a slot, half or so of which are taken.
const HASHED_BYTES: usize = 8;

/// Numbers by row; see the [module documentation](self).
pub struct RowNumbers {
    /// Ids in a row.
    width: usize,
    count: usize,
    /// The rows, one after the other.
    rows: Vec<u64>,
    /// Rows of one id; `None` where rows are wider, or once they lie too far apart.
    by_id: Option<ById>,
    /// Rows of two ids; `None` where that does not pay.
    pairs: Option<Box<ByPair>>,
    /// Whether rows are looked at for pairs once there are enough.
    tries_pairs: bool,
    table: NumberTable,
    /// The number of a row of one id that was asked for lately.
    last: u32,
}

impl RowNumbers {
    /// No rows, of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            count: 0,
            rows: Vec::new(),
            by_id: (width == 1).then(ById::default),
            pairs: None,
            tries_pairs: width == 2,
            table: NumberTable::default(),
            last: 0,
        }
    }

    /// The same with all rows hashed: for whoever counts bytes by [`Self::row_bytes`].
    pub fn hashed(width: usize) -> Self {
        Self {
            by_id: None,
            tries_pairs: false,
            ..Self::new(width)
        }
    }

    /// No rows yet of `width` ids, with room for so many, which are hashed.
    pub fn with_room(width: usize, rows: usize) -> Self {
        let mut numbers = Self::hashed(width);
        numbers.rows.reserve_exact(rows * width);
        numbers.make_room(rows);
        numbers
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
            _ => self.numbers_of_hashed(columns, 0..rows, numbers),
        }
    }

    /// The same of two columns of as many rows.
    fn numbers_of_twos(&mut self, firsts: &[u64], seconds: &[u64], numbers: &mut Vec<u32>) {
        for start in (0..firsts.len()).step_by(PAIRS_FROM) {
            let rows = start..firsts.len().min(start + PAIRS_FROM);
            let (firsts, seconds) = (&firsts[rows.clone()], &seconds[rows]);
            if self.pairs.is_some() {
                self.numbers_of_pairs(firsts, seconds, numbers);
            } else {
                let before = self.count;
                self.numbers_by_hash(&Twos(firsts, seconds), firsts.len(), numbers);
                self.look_at_pairs(before);
            }
        }
    }

    /// The same of rows that go by pair, some at a time.
    fn numbers_of_pairs(&mut self, firsts: &[u64], seconds: &[u64], numbers: &mut Vec<u32>) {
        let mut codes = Vec::with_capacity(CHUNK);
        for (firsts, seconds) in firsts.chunks(CHUNK).zip(seconds.chunks(CHUNK)) {
            if are_same(firsts) && are_same(seconds) {
                let number = self.number_of_two([firsts[0], seconds[0]]);
                numbers.extend(std::iter::repeat_n(number, firsts.len()));
                continue;
            }
            codes.clear();
            if let Some(pairs) = &mut self.pairs {
                pairs.codes_of([firsts, seconds], &mut codes);
            }
            // Codes of rows that are hashed by then are not looked at.
            codes.resize(firsts.len(), 0);
            let mut done = 0;
            // Termination: a row more has its number each time.
            loop {
                done +=
                    self.after_pairs(&firsts[done..], &seconds[done..], &codes[done..], numbers);
                if done == firsts.len() {
                    break;
                }
                let row = [firsts[done], seconds[done]];
                numbers.push(self.number_of_pair(row, codes[done]));
                done += 1;
            }
        }
    }

    /// Appends the numbers of the first rows of two ids, as far as they have places by pair; how many those are. As in
    /// [`Self::after_places`] there is no branch on whether a row is new.
    fn after_pairs(
        &mut self,
        firsts: &[u64],
        seconds: &[u64],
        codes: &[u32],
        numbers: &mut Vec<u32>,
    ) -> usize {
        let Some(pairs) = &mut self.pairs else {
            return 0;
        };
        let before = numbers.len();
        self.rows.resize((self.count + codes.len()) * 2, 0);
        for ((&first, &second), &code) in firsts.iter().zip(seconds).zip(codes) {
            let row = [first, second];
            let ordinal = pairs.ordinal(row);
            let Some(place) = ordinal.and_then(|ordinal| pairs.known_place(code, ordinal)) else {
                break;
            };
            self.rows[self.count * 2..][..2].copy_from_slice(&row);
            let is_new = u32::from(*place == 0);
            *place += is_new * as_number(self.count + 1);
            self.count += is_new as usize;
            numbers.push(*place - 1);
        }
        self.rows.truncate(self.count * 2);
        numbers.len() - before
    }

    /// Appends the numbers here of some rows of another.
    pub fn numbers_of_others(&mut self, other: &Self, rows: Range<usize>, numbers: &mut Vec<u32>) {
        debug_assert_eq!(other.width, self.width);
        let ids = &other.rows[rows.start * self.width..rows.end * self.width];
        match self.width {
            1 => self.numbers_of_ones(ids, numbers),
            _ if self.width == 0 || self.pairs.is_some() => {
                numbers.extend(rows.map(|row| self.number_of(other.row(row))));
            }
            _ => {
                let before = self.count;
                self.numbers_by_hash(&Flat(ids, self.width), rows.len(), numbers);
                self.look_at_pairs(before);
            }
        }
    }

    /// Appends the numbers of some rows that have no other places than by hash.
    fn numbers_of_hashed(
        &mut self,
        columns: &[&[u64]],
        rows: Range<usize>,
        numbers: &mut Vec<u32>,
    ) {
        let mut flat = Vec::with_capacity(CHUNK.min(rows.len()) * self.width);
        for start in rows.clone().step_by(CHUNK) {
            flat.clear();
            for row in start..rows.end.min(start + CHUNK) {
                flat.extend(columns.iter().map(|column| column[row]));
            }
            let rows = flat.len() / self.width;
            self.numbers_by_hash(&Flat(&flat, self.width), rows, numbers);
        }
    }

    /// The number of a row of one id, a new one if the row is new.
    #[inline]
    pub fn number_of_one(&mut self, id: u64) -> u32 {
        debug_assert_eq!(self.width, 1);
        if self.is_last(&[id]) {
            return self.last;
        }
        if let Some(by_id) = &mut self.by_id
            && by_id.has(id)
        {
            if let Some(place) = by_id.make_place(id, self.count) {
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
            if are_same(ids) {
                let number = self.number_of_one(ids[0]);
                numbers.extend(std::iter::repeat_n(number, ids.len()));
                continue;
            }
            let mut rest = self.after_places(ids, numbers);
            // Termination: the first of the rest gets its number each time.
            while let [id, others @ ..] = rest {
                let by_id = self.by_id.as_ref();
                let has_place = |id: &u64| by_id.is_some_and(|by_id| by_id.has(*id));
                if has_place(id) {
                    numbers.push(self.number_of_one(*id));
                    rest = self.after_places(others, numbers);
                    continue;
                }
                let hashed = rest.iter().take_while(|id| !has_place(id)).count();
                let (hashed, others) = rest.split_at(hashed);
                self.numbers_by_hash(&Ones(hashed), hashed.len(), numbers);
                rest = self.after_places(others, numbers);
            }
        }
    }

    /// Appends the numbers of the first ids, as far as they have places by id; the other ids. Whether a row is new is
    /// as good as random, so there is no branch on it: each is written behind the last one, and stays there if it is new.
    fn after_places<'a>(&mut self, ids: &'a [u64], numbers: &mut Vec<u32>) -> &'a [u64] {
        let Some(mut places) = self.by_id.as_mut().and_then(ById::places) else {
            return ids;
        };
        let before = numbers.len();
        numbers.resize(before + ids.len(), 0);
        self.rows.resize(self.count + ids.len(), 0);
        // All rows may be new: that their numbers exist is asked once.
        as_number(self.count + ids.len());
        let mut next = as_number(self.count);
        let mut placed = 0;
        for (&id, number) in ids.iter().zip(&mut numbers[before..]) {
            let Some(place) = places.place(id) else {
                break;
            };
            self.rows[next as usize] = id;
            let is_new = u32::from(*place == 0);
            next += is_new;
            *place += is_new * next;
            *number = *place - 1;
            placed += 1;
        }
        self.count = next as usize;
        self.rows.truncate(self.count);
        numbers.truncate(before + placed);
        if placed > 0 {
            self.last = numbers[before + placed - 1];
        }
        &ids[placed..]
    }

    /// The number of a row of two ids, a new one if the row is new.
    #[inline]
    fn number_of_two(&mut self, row: [u64; 2]) -> u32 {
        debug_assert_eq!(self.width, 2);
        let pairs = self.pairs.as_mut();
        let code = pairs.map_or(0, |pairs| pairs.code(row));
        self.number_of_pair(row, code)
    }

    /// The same of a row with this code, if it goes by pair.
    #[inline]
    fn number_of_pair(&mut self, row: [u64; 2], code: u32) -> u32 {
        if let Some(pairs) = &mut self.pairs
            && let Some(ordinal) = pairs.ordinal(row)
        {
            if let Some(place) = pairs.place(code, ordinal, self.count) {
                if *place == 0 {
                    self.rows.extend_from_slice(&row);
                    self.count += 1;
                    *place = as_number(self.count);
                }
                return *place - 1;
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
        self.last = self.find_or_insert(hash_row(row), &Flat(row, row.len()), 0);
        self.look_at_pairs(before);
        self.last
    }

    /// Appends the numbers of so many rows that have no other place, new ones where rows are new. Most rows are in the first slot that
    /// their hash leads to: those are found without a branch that cannot be foreseen, then the others one by one.
    fn numbers_by_hash(&mut self, keys: &impl Keys, rows: usize, numbers: &mut Vec<u32>) {
        let (mut hashes, mut guesses) = ([0; CHUNK], [0; CHUNK]);
        for start in (0..rows).step_by(CHUNK) {
            let count = CHUNK.min(rows - start);
            let (hashes, guesses) = (&mut hashes[..count], &mut guesses[..count]);
            self.make_room(count);
            if keys.are_same(start..start + count) {
                let number = self.find_or_insert(keys.hash(start), keys, start);
                numbers.extend(std::iter::repeat_n(number, count));
                continue;
            }
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = keys.hash(start + row);
                self.table.prefetch(*hash);
            }
            for (hash, guess) in hashes.iter().zip(guesses.iter_mut()) {
                *guess = self.table.first_guess(*hash);
                prefetch(&self.rows, *guess as usize * self.width);
            }
            let mut others = 0_u64;
            for (row, &guess) in guesses.iter().enumerate() {
                let is_other = !keys.is_at(start + row, &self.rows, guess);
                others |= u64::from(is_other) << row;
            }
            // In the order of the rows: of two alike that are new, the second finds the first.
            while others != 0 {
                let row = others.trailing_zeros() as usize;
                others &= others - 1;
                guesses[row] = self.find_or_insert(hashes[row], keys, start + row);
            }
            numbers.extend_from_slice(guesses);
        }
    }

    /// Sees to it that so many more may be put into the table.
    #[inline]
    fn make_room(&mut self, more: usize) {
        if !self.table.has_room(more, self.count + more) {
            self.grow(more);
        }
    }

    /// Makes the table larger, so that it has room for so many more.
    #[cold]
    fn grow(&mut self, more: usize) {
        let count = self.table.count();
        self.table = match count == self.count {
            true => self.larger_table(0..as_number(count), count, more),
            false => self.larger_table(self.table.numbers(), count, more),
        };
    }

    /// A table of the rows with these numbers, of which there are so many, and with room for more: at least twice as large as the one there is.
    fn larger_table(
        &self,
        mut numbers: impl Iterator<Item = u32>,
        count: usize,
        more: usize,
    ) -> NumberTable {
        let mut table = self.table.doubled();
        // Termination: it doubles.
        while !table.has_room(count + more, self.count + more) {
            table = table.doubled();
        }
        let mut hashed = [(0, 0); CHUNK];
        loop {
            let mut taken = 0;
            for (place, number) in hashed.iter_mut().zip(&mut numbers) {
                *place = (hash_row(self.row(number as usize)), number);
                table.prefetch(place.0);
                taken += 1;
            }
            for &(hash, number) in &hashed[..taken] {
                table.find_or_insert(hash, number, |_| false);
            }
            if taken < CHUNK {
                return table;
            }
        }
    }

    /// The number of one of some rows, a new one if the row is new; there is room for it.
    #[inline]
    fn find_or_insert(&mut self, hash: u64, keys: &impl Keys, row: usize) -> u32 {
        let rows = &self.rows;
        let new = as_number(self.count);
        let number = self
            .table
            .find_or_insert(hash, new, |number| keys.is_at(row, rows, number));
        if number == new {
            keys.push(row, &mut self.rows);
            self.count += 1;
        }
        number
    }

    /// Looks whether rows of two ids had better go by pair, once there are enough.
    fn look_at_pairs(&mut self, before: usize) {
        if self.tries_pairs && before < PAIRS_FROM && self.count >= PAIRS_FROM {
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
            let code = pairs.code(row);
            let place = pairs
                .ordinal(row)
                .and_then(|ordinal| pairs.place(code, ordinal, self.count));
            match place {
                Some(place) => *place = as_number(number + 1),
                None => return,
            }
        }
        self.table = NumberTable::default();
        self.pairs = Some(Box::new(pairs));
    }

    /// Hashes the rows that had other places.
    fn hash_all(&mut self) {
        self.by_id = None;
        self.pairs = None;
        self.table = self.larger_table(0..as_number(self.count), self.count, 0);
    }

    /// The number of a row, if it is there.
    #[inline]
    pub fn find(&self, row: &[u64]) -> Option<u32> {
        debug_assert_eq!(row.len(), self.width);
        if let (Some(by_id), [id]) = (&self.by_id, row)
            && by_id.has(*id)
        {
            return by_id.find(*id);
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

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let by_id = self.by_id.as_ref().map_or(0, ById::bytes);
        let pairs = self.pairs.as_ref().map_or(0, |pairs| pairs.bytes());
        let rows = self.rows.capacity() * size_of::<u64>();
        rows + self.table.bytes() + by_id + pairs
    }

    /// Bytes that a row of this width takes that is [hashed](Self::hashed), about.
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
mod tests;
