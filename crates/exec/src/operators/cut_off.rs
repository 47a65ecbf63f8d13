//! `CutOff`: whether a row can still be among the first rows of a sort with a limit.
//!
//! Holds the last row that is kept so far, decoded. Most rows are turned away by the class or the payload of
//! their id, by the double nearest to their number, or by the first bytes of their text; nothing is decoded twice for equal neighbours.
//!
//! Invariant: agrees with [`compare_for_order`]. Of equal rows the earlier one stays.

use crate::context::Context;
use crate::error::ExecError;
use crate::expr::Numbers;
use crate::value::{
    KnownWords, OrderClass, OrderKey, Reader, compare_for_order, first_word, order_inline,
    ordered_as_ids, text_into, text_word,
};
use std::cmp::Ordering;

/// The last row that is kept; see the [module documentation](self).
pub struct CutOff {
    keys: Vec<CutKey>,
}

struct CutKey {
    id: u64,
    descending: bool,
    class: Option<OrderClass>,
    /// The text, for classes that have one.
    text: Vec<u8>,
    /// Its first bytes, as [`text_word`] gives them.
    word: u128,
    /// The double nearest to a number.
    double: Option<f64>,
    /// Whether ids of its kind are ordered as their terms.
    is_ordered_by_id: bool,
    /// Its place, of dates and of terms of which only decoding tells the class.
    place: Option<OrderKey>,
    /// The id that was compared last, and how.
    last: (u64, Ordering),
    /// First bytes of texts that were compared.
    words: KnownWords,
    scratch: Vec<u8>,
}

impl CutOff {
    /// The cut-off at a row with these key ids, each with whether it descends, in the place of the one before.
    pub fn new(
        row: impl Iterator<Item = (u64, bool)>,
        before: Option<Self>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let mut before = before
            .map_or_else(Vec::new, |before| before.keys)
            .into_iter();
        let key = |(id, descending)| {
            let words = before.next().map(|key| key.words);
            let class = OrderClass::of(id, cx);
            let mut text = Vec::new();
            if class.is_some_and(OrderClass::has_text) {
                text_into(id, &mut text, cx)?;
            }
            let is_decoded = class.is_none_or(|class| class == OrderClass::Calendar);
            let place = is_decoded.then(|| OrderKey::of(id, cx)).transpose()?;
            Ok(CutKey {
                is_ordered_by_id: ordered_as_ids(id, id),
                place,
                id,
                descending,
                class,
                word: first_word(&text),
                text,
                double: nearest_double(id, cx)?,
                last: (id, Ordering::Equal),
                words: words.unwrap_or_default(),
                scratch: Vec::new(),
            })
        };
        let keys = row.map(key).collect::<Result<_, ExecError>>()?;
        Ok(Self { keys })
    }

    /// The rows that may come before the cut-off by these numbers, which are their first key; `None` where that is not told.
    pub fn select_numbers(&self, numbers: &Numbers) -> Option<Vec<u32>> {
        let key = self.keys.first()?;
        let (cut, nearest) = (key.double?, numbers.nearest_doubles()?);
        let is_later = |double: f64| match key.descending {
            true => double < cut,
            false => double > cut,
        };
        let rows = (0_u32..).zip(nearest.iter());
        let kept =
            rows.filter(|&(row, &double)| !is_later(double) || numbers.is_error(row as usize));
        Some(kept.map(|(row, _)| row).collect())
    }

    /// The rows that may come before the cut-off by these ids, which are their first key.
    pub fn select_first(&mut self, ids: &[u64], cx: &Context) -> Result<Vec<u32>, ExecError> {
        let mut kept = Vec::with_capacity(ids.len());
        for (row, &id) in (0_u32..).zip(ids) {
            let is_later = match self.keys.first_mut() {
                Some(key) => key.compare(id, cx)?.is_gt(),
                None => false,
            };
            if !is_later {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// The rows of these key columns that come before the cut-off.
    pub fn select(&mut self, columns: &[&[u64]], cx: &Context) -> Result<Vec<u32>, ExecError> {
        let rows = columns.first().map_or(0, |ids| ids.len());
        let mut kept = Vec::new();
        for row in 0..rows {
            for (key, column) in self.keys.iter_mut().zip(columns) {
                match key.compare(column[row], cx)? {
                    Ordering::Less => {
                        kept.push(row as u32);
                        break;
                    }
                    Ordering::Greater => break,
                    Ordering::Equal => {}
                }
            }
        }
        Ok(kept)
    }
}

/// The double nearest to the number of an id; `None` of NaN, of other terms and of unbound.
fn nearest_double(id: u64, cx: &Context) -> Result<Option<f64>, ExecError> {
    let number = Reader::new(cx).number(id)?;
    Ok(number.and_then(|number| number.nearest_double()))
}

impl CutKey {
    #[inline]
    fn compare(&mut self, id: u64, cx: &Context) -> Result<Ordering, ExecError> {
        if id != self.last.0 {
            let order = self.compare_ascending(id, cx)?;
            let order = if self.descending {
                order.reverse()
            } else {
                order
            };
            self.last = (id, order);
        }
        Ok(self.last.1)
    }

    fn compare_ascending(&mut self, id: u64, cx: &Context) -> Result<Ordering, ExecError> {
        if id == self.id {
            return Ok(Ordering::Equal);
        }
        if self.is_ordered_by_id && ordered_as_ids(self.id, id) {
            return Ok(id.cmp(&self.id));
        }
        if let Some(order) = order_inline(id, self.id) {
            return Ok(order);
        }
        match (OrderClass::of(id, cx), self.class) {
            (Some(class), Some(of_cut)) if class != of_cut => Ok(class.cmp(&of_cut)),
            (Some(class), Some(_)) if class.has_text() => self.compare_text(id, class, cx),
            _ => self.compare_number(id, cx),
        }
    }

    /// Compares numbers by the doubles nearest to them first.
    fn compare_number(&self, id: u64, cx: &Context) -> Result<Ordering, ExecError> {
        if let Some(cut) = self.double
            && let Some(double) = nearest_double(id, cx)?
            && let Some(order) = double.partial_cmp(&cut)
            && order.is_ne()
        {
            return Ok(order);
        }
        match &self.place {
            Some(place) if id != 0 => Ok(OrderKey::of(id, cx)?.compare(place)),
            _ => compare_for_order(id, self.id, cx),
        }
    }

    fn compare_text(
        &mut self,
        id: u64,
        class: OrderClass,
        cx: &Context,
    ) -> Result<Ordering, ExecError> {
        cx.check_for_term()?;
        let scratch = &mut self.scratch;
        let word = self.words.word(id, cx, || text_word(id, scratch, cx))?;
        let order = word.cmp(&self.word);
        if order != Ordering::Equal {
            return Ok(order);
        }
        self.scratch.clear();
        text_into(id, &mut self.scratch, cx)?;
        match self.scratch.cmp(&self.text) {
            // Datatype and language decide.
            Ordering::Equal if class == OrderClass::Text => compare_for_order(id, self.id, cx),
            order => Ok(order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

    /// Numbers near each other, some with more digits than a word has, and what is none.
    fn text() -> impl Strategy<Value = String> {
        let odd = vec![
            "NaN",
            "INF",
            "-INF",
            "x",
            "1.000000000000000001",
            "1.0000000000000000001",
            "unbound",
        ];
        prop_oneof![
            8 => (-30_i32..30).prop_map(|n| (f64::from(n) / 10.0).to_string()),
            1 => prop::sample::select(odd).prop_map(str::to_owned),
        ]
    }

    proptest! {
        #[test]
        fn numbers_come_before_it_as_their_ids_do(
            texts in prop::collection::vec(text(), 1..30),
            name in prop::sample::select(vec!["double", "float", "decimal"]),
            cut in (text(), prop::sample::select(vec!["double", "float", "decimal", "integer", "string"])),
            descending: bool,
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let id = |text: &str, name: &str| {
                if text == "unbound" {
                    return 0;
                }
                let datatype = format!("{XSD}{name}");
                cx.terms().intern(TermView::typed(text, &datatype)).0
            };
            let ids: Vec<u64> = texts.iter().map(|text| id(text, name)).collect();
            let row = std::iter::once((id(&cut.0, cut.1), descending));
            let mut cut_off = CutOff::new(row, None, &cx).expect("terms decode");
            let selected = cut_off.select(&[&ids], &cx).expect("terms decode");
            let before = |&row: &u32| {
                let order = compare_for_order(ids[row as usize], id(&cut.0, cut.1), &cx).expect("terms decode");
                order == if descending { Ordering::Greater } else { Ordering::Less }
            };
            let expected: Vec<u32> = (0..ids.len() as u32).filter(before).collect();
            prop_assert_eq!(&selected, &expected);
            let first = cut_off.select_first(&ids, &cx).expect("terms decode");
            let not_after = |&row: &u32| {
                let order = compare_for_order(ids[row as usize], id(&cut.0, cut.1), &cx).expect("terms decode");
                order != if descending { Ordering::Less } else { Ordering::Greater }
            };
            prop_assert!(first.into_iter().eq((0..ids.len() as u32).filter(not_after)));
            if let Some(numbers) = Numbers::of_ids(&ids)
                && let Some(kept) = cut_off.select_numbers(&numbers)
            {
                prop_assert!(expected.iter().all(|row| kept.contains(row)));
                let doubles = numbers.nearest_doubles().expect("there were some");
                let equal = |row: &u32| Some(doubles[*row as usize]) == cut_off.keys[0].double;
                let others = kept.iter().filter(|row| !expected.contains(row));
                prop_assert!(others.into_iter().all(|row| equal(row) || doubles[*row as usize].is_nan() || numbers.is_error(*row as usize)));
            }
        }
    }
}
