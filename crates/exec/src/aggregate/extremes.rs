//! `Extremes`: the least or greatest values of MIN or MAX, by group.
//!
//! ```text
//! states   [ id ]...       by group
//! hints    [ hint ]...     by group, once there are strings, or numbers or dates that are no inline ones
//! ```
//!
//! A string is compared by the start of its text first, which is all that is read of most, a number by the nearest double, a time by its second, a duration by its length; that of the
//! value a group has is kept. Invariant: of equal values the first stays. Memory: 16 bytes for a group, 24 of numbers or times, with hints 88.

use super::argument::Values;
use super::foremost::foremost;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{Item, Numbers};
use crate::row_numbers::hash_row;
use crate::value::{
    KnownWords, OrderKey, Reader, ShortNumber, Value, compare_for_order, day_time, first_word,
    ordered_as_ids, units,
};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use std::cmp::Ordering;

/// Bytes of a text that are compared first, with zeros behind a shorter one.
const START_BYTES: usize = size_of::<u128>();

/// Values that are remembered as compared: what joins repeat is compared once mostly.
const COMPARED: usize = 1 << 12;

/// The value of a group.
#[derive(Clone, Copy, Default)]
struct Extreme {
    /// The value; 0 if there is none.
    id: u64,
    failed: bool,
}

/// The values; see the [module documentation](self).
pub struct Extremes {
    /// The order in which a new value replaces the old: `Less` for MIN, `Greater` for MAX.
    wanted: Ordering,
    states: Vec<Extreme>,
    /// What is known of the values of the first groups.
    hints: Vec<Option<Hint>>,
    /// By kind, the doubles near the values of the first groups; NaN where that is not known, or it is of another kind.
    near: [Vec<f64>; 3],
    /// First bytes of strings.
    words: KnownWords,
    /// Values that were compared before, with their groups, by hash; none until there were as many.
    compared: Vec<(usize, u64)>,
    /// Comparisons until then.
    comparisons: usize,
}

/// A double that tells the order of most values of its kind.
#[derive(Clone, Copy)]
struct Near {
    kind: NearKind,
    double: f64,
}

/// What a double is near to.
#[derive(Clone, Copy, PartialEq)]
enum NearKind {
    /// A number.
    Number,
    /// The seconds of an `xsd:dateTime`, in UTC.
    Seconds,
    /// Those of a duration.
    Duration,
}

impl Near {
    fn number(double: f64) -> Self {
        Self {
            kind: NearKind::Number,
            double,
        }
    }

    /// What is near an inline value.
    #[inline]
    fn of_inline(id: u64) -> Option<Self> {
        if let Some((second, fraction)) = TermId(id).duration() {
            return Some(Self {
                kind: NearKind::Duration,
                double: day_time::with_fraction(second as f64, fraction),
            });
        }
        match Hint::of_inline(TermId(id)) {
            Some(hint) => hint.near(),
            None => inline_double(id).map(Self::number),
        }
    }
}

/// What tells the order of most values of a kind.
#[derive(Clone, Copy)]
enum Hint {
    /// The first bytes of the text of a string, as a number that is ordered as texts are.
    Start(u128),
    /// The double nearest to a number, which is not NaN.
    Double(f64),
    /// The second and, in units of 10^-18, the fraction of an `xsd:dateTime`, in UTC.
    Instant(i64, i64),
    /// The length of a duration.
    Length(i128),
}

impl Hint {
    /// The hint of a value; `None` of those that have none, and of numbers whose ids tell their order.
    #[inline]
    fn of(
        id: u64,
        words: &mut KnownWords,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Self>, ExecError> {
        let id = TermId(id);
        if let Some(hint) = Self::of_inline(id) {
            return Ok(Some(hint));
        }
        if !matches!(
            id.tag(),
            tag::STRING | tag::LANGUAGE | tag::TYPED | tag::LOCAL
        ) {
            return Ok(None);
        }
        if matches!(id.tag(), tag::STRING | tag::LANGUAGE) {
            let cx = reader.context();
            let read = || Ok(reader.string_word(id.0)?.unwrap_or_default());
            return Ok(Some(Self::Start(words.word(id.0, cx, read)?)));
        }
        if let Some(string) = reader.string_start(id.0, START_BYTES)? {
            return Ok(Some(Self::Start(first_word(string.lexical.as_bytes()))));
        }
        if let Some((second, fraction)) = reader.split_date_time(id.0)? {
            return Ok(Self::of_time(second, fraction));
        }
        if let Some(integer) = reader.stored_integer(id.0)? {
            return Ok(Some(Self::Double(integer as f64)));
        }
        let key = OrderKey::of(id.0, reader.context())?;
        let double = key.nearest_double().map(Self::Double);
        Ok(double.or_else(|| key.length().map(Self::Length)))
    }

    /// That of an inline `xsd:dateTime` or duration.
    #[inline]
    fn of_inline(id: TermId) -> Option<Self> {
        match (id.split_second(), id.duration()) {
            (Some((second, fraction)), _) => Self::of_time(second, fraction),
            (None, Some((second, fraction))) => {
                Some(Self::Length(units(second, 0) + i128::from(fraction)))
            }
            (None, None) => None,
        }
    }

    /// That of an inline `xsd:dateTime`, so many units of 10^-18 seconds later.
    #[inline]
    fn of_time(second: TermId, fraction: i64) -> Option<Self> {
        Some(Self::Instant(second.utc_seconds()?, fraction))
    }

    /// The double that tells most.
    #[inline]
    fn near(self) -> Option<Near> {
        match self {
            Self::Start(_) => None,
            Self::Double(double) => Some(Near::number(double)),
            Self::Length(length) => Some(Near {
                kind: NearKind::Duration,
                double: day_time::seconds(length),
            }),
            // Rounding keeps the order.
            Self::Instant(second, fraction) => {
                let kind = NearKind::Seconds;
                let double = day_time::with_fraction(second as f64, fraction);
                Some(Near { kind, double })
            }
        }
    }

    /// The order of two values, if it tells.
    fn order(self, other: Self) -> Option<Ordering> {
        let order = match (self, other) {
            (Self::Start(a), Self::Start(b)) => a.cmp(&b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b)?,
            (Self::Instant(a, of_a), Self::Instant(b, of_b)) => (a, of_a).cmp(&(b, of_b)),
            (Self::Length(a), Self::Length(b)) => a.cmp(&b),
            _ => return None,
        };
        order.is_ne().then_some(order)
    }
}

/// The double nearest to an inline number.
#[inline]
fn inline_double(id: u64) -> Option<f64> {
    ShortNumber::of_id(id)?.nearest_double()
}

impl Extremes {
    /// No groups.
    pub fn new(wanted: Ordering) -> Self {
        Self {
            wanted,
            states: Vec::new(),
            hints: Vec::new(),
            near: Default::default(),
            words: KnownWords::default(),
            compared: Vec::new(),
            comparisons: 0,
        }
    }

    /// No groups, for the same function.
    pub fn empty(&self) -> Self {
        Self::new(self.wanted)
    }

    /// Makes groups without a value up to this number.
    pub fn resize(&mut self, count: usize) {
        self.states.resize(count, Extreme::default());
    }

    /// Adds the values of rows, each to its group.
    pub fn update(
        &mut self,
        rows: impl Iterator<Item = (usize, u64)>,
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        for (group, id) in rows {
            self.add(group, id, reader)?;
        }
        Ok(())
    }

    /// Adds the values of rows of one group: where ids tell, no more than the first of the least or greatest of each kind.
    pub fn update_group(
        &mut self,
        group: usize,
        ids: &[u64],
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        match foremost(ids, self.wanted) {
            Some(ids) => self.update(ids.into_iter().map(|id| (group, id)), reader),
            None => self.update(ids.iter().map(|&id| (group, id)), reader),
        }
    }

    /// Adds numbers with the doubles nearest to them, and the values that they are of. Most are no more than compared with the
    /// double of what their group has.
    pub fn update_numbers(
        &mut self,
        groups: &[u32],
        numbers: &Numbers,
        nearest: &[f64],
        values: &Values<'_>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let reader = &mut Reader::new(cx);
        let of_numbers = NearKind::Number as usize;
        if self.near[of_numbers].len() < self.states.len() {
            self.near[of_numbers].resize(self.states.len(), f64::NAN);
        }
        let sign = self.sign();
        for (row, (&group, &double)) in groups.iter().zip(nearest).enumerate() {
            let group = group as usize;
            let is_error = numbers.is_error(row);
            if sign * double > sign * self.near[of_numbers][group] && !is_error {
                continue;
            }
            self.add(group, values.id(row, cx), reader)?;
            self.near(NearKind::Number, group, reader)?;
        }
        Ok(())
    }

    /// Adds computed values. Most durations are no more than compared with what their group has.
    pub fn update_items(
        &mut self,
        groups: &[u32],
        items: &[Item],
        cx: &Context,
    ) -> Result<(), ExecError> {
        let reader = &mut Reader::new(cx);
        let sign = self.sign();
        for (&group, item) in groups.iter().zip(items) {
            let group = group as usize;
            let mut hint = None;
            if let Item::Value(Value::Duration(duration, _)) = item {
                let length = day_time::length(*duration);
                let known = self.near(NearKind::Duration, group, reader)?;
                if sign * day_time::seconds(length) > sign * known {
                    continue;
                }
                hint = Some(Hint::Length(length));
            }
            self.add_hinted(group, (item.id(cx), hint), reader)?;
        }
        Ok(())
    }

    /// What makes doubles those of which the least is wanted.
    fn sign(&self) -> f64 {
        match self.wanted {
            Ordering::Greater => -1.0,
            _ => 1.0,
        }
    }

    /// The double near the value that a group has, NaN if that is not of this kind.
    #[inline]
    fn near(
        &mut self,
        kind: NearKind,
        group: usize,
        reader: &mut Reader<'_>,
    ) -> Result<f64, ExecError> {
        if let Some(&known) = self.near[kind as usize].get(group)
            && !known.is_nan()
        {
            return Ok(known);
        }
        let near = self.near_of_group(group, reader)?;
        let near = near.filter(|near| near.kind == kind);
        let double = near.map_or(f64::NAN, |near| near.double);
        let known = &mut self.near[kind as usize];
        if known.len() <= group {
            known.resize(self.states.len(), f64::NAN);
        }
        known[group] = double;
        Ok(double)
    }

    /// What is near the value that a group has.
    fn near_of_group(
        &mut self,
        group: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Near>, ExecError> {
        let known = self.states[group].id;
        Ok(match Near::of_inline(known) {
            None if known != 0 => self.hint_of_group(group, reader)?.and_then(Hint::near),
            near => near,
        })
    }

    /// Adds values of another: of group `from` to group `to`, for each pair.
    pub fn merge(
        &mut self,
        other: &Self,
        pairs: impl Iterator<Item = (usize, usize)>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let reader = &mut Reader::new(cx);
        for (from, to) in pairs {
            match other.states[from] {
                Extreme { failed: true, .. } => self.add(to, 0, reader)?,
                Extreme { id: 0, .. } => {}
                Extreme { id, .. } => {
                    let hint = other.hints.get(from).copied().flatten();
                    self.add_hinted(to, (id, hint), reader)?;
                }
            }
        }
        Ok(())
    }

    /// The values by group, 0 for unbound.
    pub fn finish(self) -> Vec<u64> {
        let values = self.states.into_iter();
        values
            .map(|state| if state.failed { 0 } else { state.id })
            .collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Extreme>()
            + self.hints.capacity() * size_of::<Option<Hint>>()
            + self.near.iter().map(Vec::capacity).sum::<usize>() * size_of::<f64>()
            + self.compared.capacity() * size_of::<(usize, u64)>()
    }

    #[inline]
    fn add(&mut self, group: usize, id: u64, reader: &mut Reader<'_>) -> Result<(), ExecError> {
        self.add_hinted(group, (id, None), reader)
    }

    /// Adds a value with its hint, if that is known.
    #[inline]
    fn add_hinted(
        &mut self,
        group: usize,
        (id, hint): (u64, Option<Hint>),
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        let state = &mut self.states[group];
        match id {
            0 => state.failed = true,
            _ if state.failed || state.id == id => {}
            _ if ordered_as_ids(state.id, id) => {
                if id.cmp(&state.id) == self.wanted {
                    self.set(group, id, hint);
                }
            }
            _ if state.id == 0 => self.set(group, id, hint),
            _ => return self.replace(group, (id, hint), reader),
        }
        Ok(())
    }

    /// Puts another value in the place of the one that a group has, if it comes before it.
    fn replace(
        &mut self,
        group: usize,
        (id, hint): (u64, Option<Hint>),
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        if let Some(near) = Near::of_inline(id) {
            let (sign, known) = (self.sign(), self.near(near.kind, group, reader)?);
            if sign * near.double > sign * known {
                return Ok(());
            }
        }
        if self.was_compared(group, id) {
            return Ok(());
        }
        let known = self.states[group].id;
        let hint = match hint {
            Some(hint) => Some(hint),
            None => Hint::of(id, &mut self.words, reader)?,
        };
        let told = match hint {
            Some(hint) => self
                .hint_of_group(group, reader)?
                .and_then(|other| hint.order(other)),
            None => None,
        };
        let order = match told {
            Some(order) => order,
            None => compare_for_order(id, known, reader.context())?,
        };
        if order == self.wanted {
            self.set(group, id, hint);
        }
        Ok(())
    }

    /// Whether a value is known to be no better than that of a group, as it was compared before; from now on it is.
    fn was_compared(&mut self, group: usize, id: u64) -> bool {
        if self.compared.is_empty() {
            self.comparisons += 1;
            if self.comparisons < COMPARED {
                return false;
            }
            self.compared.resize(COMPARED, (0, 0));
        }
        let place = hash_row(&[group as u64, id]) as usize % COMPARED;
        let before = std::mem::replace(&mut self.compared[place], (group, id));
        before == (group, id)
    }

    /// Makes a value that of a group, and its hint that of the value.
    fn set(&mut self, group: usize, id: u64, hint: Option<Hint>) {
        self.states[group].id = id;
        if let Some(known) = self.hints.get_mut(group) {
            *known = hint;
        }
        for near in &mut self.near {
            if let Some(near) = near.get_mut(group) {
                *near = f64::NAN;
            }
        }
    }

    /// The hint of the value that a group has.
    fn hint_of_group(
        &mut self,
        group: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Hint>, ExecError> {
        if self.hints.len() <= group {
            self.hints.resize(self.states.len(), None);
        }
        if self.hints[group].is_none() {
            self.hints[group] = Hint::of(self.states[group].id, &mut self.words, reader)?;
        }
        Ok(self.hints[group])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// Texts of which some share their first bytes, and some are numbers.
    fn term(number: usize, is_tagged: bool) -> String {
        let start = ["", "same start of a text ", "same start of a te", "ä"][number % 4];
        match is_tagged {
            true => format!("{start}{}", number / 4),
            false => format!("{start}\0{}", number / 4),
        }
    }

    proptest! {
        #[test]
        fn they_are_what_comparing_all_gives(
            rows in prop::collection::vec((0..3_usize, 0..12_u8, 0..40_usize), 1..80),
            wanted in prop::sample::select(vec![Ordering::Less, Ordering::Greater]),
            split in 0..80_usize,
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let id = |kind: u8, number: usize| match kind {
                0 => cx.terms().intern(TermView::typed(&number.to_string(), "http://www.w3.org/2001/XMLSchema#integer")).0,
                1 => cx.terms().intern(TermView::language(&term(number, true), "en")).0,
                5 => cx.terms().intern(TermView::typed(&format!("{}.5{}e0", number / 2, ["", "0"][number / 3 % 2]), "http://www.w3.org/2001/XMLSchema#double")).0,
                6 => cx.terms().intern(TermView::typed(&format!("{number}e"), "http://www.w3.org/2001/XMLSchema#double")).0,
                2 => cx.terms().intern(TermView::Iri(&term(number, true))).0,
                7..=11 => {
                    let (hour, zone) = (number % 4, ["", "Z", "+01:00"][number / 4 % 3]);
                    let fraction = ["", ".5", ".25", ".500", ".250000"][usize::from(kind - 7)];
                    let text = format!("2000-01-01T{hour:02}:00:00{fraction}{zone}");
                    cx.terms().intern(TermView::typed(&text, "http://www.w3.org/2001/XMLSchema#dateTime")).0
                }
                _ => cx.terms().intern(TermView::simple(&term(number, kind == 3))).0,
            };
            let rows: Vec<(usize, u64)> = rows
                .into_iter()
                .map(|(group, kind, number)| (group, id(kind, number)))
                .collect();
            let mut expected = [0; 3];
            for &(group, id) in &rows {
                let best = &mut expected[group];
                if *best == 0 || compare_for_order(id, *best, &cx).expect("terms") == wanted {
                    *best = id;
                }
            }
            let split = split.min(rows.len());
            let part = |rows: &[(usize, u64)]| {
                let mut extremes = Extremes::new(wanted);
                extremes.resize(3);
                let rows = rows.iter().copied();
                extremes.update(rows, &mut Reader::new(&cx)).expect("terms");
                extremes
            };
            let (mut first, second) = (part(&rows[..split]), part(&rows[split..]));
            first.merge(&second, (0..3).zip(0..3), &cx).expect("terms");
            prop_assert_eq!(first.finish(), expected);
            for (group, &expected) in expected.iter().enumerate() {
                let ids = rows.iter().filter(|row| row.0 == group).map(|row| row.1);
                let mut alone = Extremes::new(wanted);
                alone.resize(1);
                let ids: Vec<u64> = ids.collect();
                alone.update_group(0, &ids, &mut Reader::new(&cx)).expect("terms");
                prop_assert_eq!(alone.finish(), [expected]);
            }
        }
    }
}
