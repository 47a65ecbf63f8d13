//! `CutOff`: whether a row can still be among the first rows of a sort with a limit.
//!
//! Holds the last row that is kept so far, decoded. Most rows are turned away by the class or the payload of
//! their id, or by the first bytes of their text; nothing is decoded twice for equal neighbours.
//!
//! Invariant: agrees with [`compare_for_order`]. Of equal rows the earlier one stays.

use crate::context::Context;
use crate::error::ExecError;
use crate::value::{OrderClass, compare_for_order, order_inline, text_into, text_start_into};
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
    /// The id that was compared last, and how.
    last: (u64, Ordering),
    scratch: Vec<u8>,
}

impl CutOff {
    /// The cut-off at a row with these key ids; each with whether it descends.
    pub fn new(row: impl Iterator<Item = (u64, bool)>, cx: &Context) -> Result<Self, ExecError> {
        let key = |(id, descending)| {
            let class = OrderClass::of(id, cx);
            let mut text = Vec::new();
            if class.is_some_and(OrderClass::has_text) {
                text_into(id, &mut text, cx)?;
            }
            Ok(CutKey {
                id,
                descending,
                class,
                text,
                last: (id, Ordering::Equal),
                scratch: Vec::new(),
            })
        };
        let keys = row.map(key).collect::<Result<_, ExecError>>()?;
        Ok(Self { keys })
    }

    /// The rows of these key columns that come before the cut-off.
    pub fn select(&mut self, columns: &[Vec<u64>], cx: &Context) -> Result<Vec<u32>, ExecError> {
        let rows = columns.first().map_or(0, Vec::len);
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
        if let Some(order) = order_inline(id, self.id) {
            return Ok(order);
        }
        match (OrderClass::of(id, cx), self.class) {
            (Some(class), Some(of_cut)) if class != of_cut => Ok(class.cmp(&of_cut)),
            (Some(class), Some(_)) if class.has_text() => self.compare_text(id, class, cx),
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
        self.scratch.clear();
        text_start_into(id, &mut self.scratch, cx)?;
        let both = self.scratch.len().min(self.text.len());
        let order = self.scratch[..both].cmp(&self.text[..both]);
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
