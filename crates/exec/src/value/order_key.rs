//! What sorting needs beside [`compare_for_order`]: classes of ids without decoding, and keys that are
//! decoded once for many comparisons.
//!
//! Invariant: both agree with [`compare_for_order`], of which they are parts.

use super::inline::order_within;
use super::inline_order::is_custom_number;
use super::order::Key;
use super::{Value, day_time};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use std::cmp::Ordering;

/// The classes of terms in the order of ORDER BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderClass {
    /// Unbound.
    Unbound,
    /// Blank nodes, by label.
    Blank,
    /// IRIs, by text.
    Iri,
    /// Numbers, by value.
    Number,
    /// Dates, times and durations, by kind and value.
    Calendar,
    /// Other literals, by text first.
    Text,
}

impl OrderClass {
    /// The class of an id, where it can be told without decoding; then terms of a class with texts are
    /// ordered by their lexical forms first.
    pub fn of(id: u64, cx: &Context) -> Option<Self> {
        let id = TermId(id);
        match id.tag() {
            tag::UNBOUND => Some(Self::Unbound),
            tag::RESOURCE if cx.terms().is_blank(id) => Some(Self::Blank),
            tag::RESOURCE => Some(Self::Iri),
            tag::STRING | tag::LANGUAGE => Some(Self::Text),
            _ if id.is_temporal() => Some(Self::Calendar),
            _ if is_custom_number(id) => Some(Self::Text),
            _ if id.is_number() => Some(Self::Number),
            _ => None,
        }
    }

    /// Whether its terms are ordered by texts.
    pub fn has_text(self) -> bool {
        matches!(self, Self::Blank | Self::Iri | Self::Text)
    }
}

/// Whether two ids are ordered as their terms are, and are equal only if their terms are.
#[inline]
pub fn ordered_as_ids(a: u64, b: u64) -> bool {
    order_within(TermId(a)).is_some_and(|shared| (a ^ b) & shared == 0)
}

/// The first eight bytes of a text as a number, the first byte highest, with zeros behind a shorter one: ordered as texts are, but for those
/// that are equal. Of twice as many it is [`first_word`](super::first_word).
#[inline]
pub fn first_bytes(text: &[u8]) -> u64 {
    u64::from_be_bytes(match text.first_chunk() {
        Some(bytes) => *bytes,
        None => {
            let mut bytes = [0; size_of::<u64>()];
            bytes[..text.len()].copy_from_slice(text);
            bytes
        }
    })
}

/// The place of one term in the order.
pub struct OrderKey(Key);

impl OrderKey {
    /// Decodes a bound id.
    pub fn of(id: u64, cx: &Context) -> Result<Self, ExecError> {
        Key::of(id, cx).map(Self)
    }

    /// The order of two terms.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.0.compare(&other.0)
    }

    /// The double nearest to a number, by which numbers are compared first; `None` if it is none or NaN.
    pub fn nearest_double(&self) -> Option<f64> {
        self.0.nearest_double()
    }

    /// The length of a duration, which orders those; `None` if it is none.
    pub fn length(&self) -> Option<i128> {
        match &self.0 {
            Key::Calendar(Value::Duration(duration, _)) => Some(day_time::length(*duration)),
            _ => None,
        }
    }

    /// The class, and the text by which terms of the class are ordered first.
    pub fn class(&self) -> (OrderClass, Option<&str>) {
        match &self.0 {
            Key::Blank(text) => (OrderClass::Blank, Some(text)),
            Key::Iri(text) => (OrderClass::Iri, Some(text)),
            Key::Number(..) => (OrderClass::Number, None),
            Key::Calendar(_) => (OrderClass::Calendar, None),
            Key::Text(text, ..) => (OrderClass::Text, Some(text)),
        }
    }
}
