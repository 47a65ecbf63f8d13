//! Comparison kernels: any two vectors, and the fast form of a column with a constant.
//!
//! Ids of one tag and scale (numbers) or one tag and zone (dates) order as their values do, so the
//! common case compares the ids themselves. Everything else falls back to values row by row.

use super::date_comparison::DateComparison;
use super::id_ranges;
use super::kernel::Constant;
use super::number_comparison::NumberComparison;
use super::vector::{Argument, Truth};
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::positions;
use crate::value::{
    Comparison, IdKind, Number, Reader, Value, compare, compare_floats, compare_inline, date_type,
    equal, first_word, inline_float, inline_kind, order_within,
};
use basalt_rdf::term_id::{MANTISSA_BITS, tag};
use basalt_rdf::{LiteralKind, LiteralView, TermId};
use std::cmp::Ordering;

/// Two offsets of 14 hours: how far the instants of two dates can lie from what their local times say.
const ZONE_SLACK_SECONDS: i64 = 2 * 14 * 3600;
/// How far two durations of the same whole seconds can lie from each other, at most.
const FRACTION_SLACK_SECONDS: i64 = 1;

/// A comparison operator; `!=` is a negated [`CompareOp::Equal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl CompareOp {
    /// Whether the operator holds for operands in this order.
    #[inline]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The operator with its operands exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// The operator between two values.
    fn between(self, a: &Value, b: &Value, same_term: bool) -> Truth {
        if self == Self::Equal {
            return equal(a, b, same_term).into();
        }
        match compare(a, b) {
            Comparison::Ordered(order) => Some(self.accepts(order)).into(),
            Comparison::NotANumber => Truth::False,
            Comparison::TypeError => Truth::Error,
        }
    }

    /// The operator between two strings without a language; `None` of others.
    fn between_strings(self, a: LiteralView<'_>, b: LiteralView<'_>) -> Option<Truth> {
        let are_simple = a.kind == LiteralKind::Simple && b.kind == LiteralKind::Simple;
        are_simple.then(|| Some(self.accepts(a.lexical.cmp(b.lexical))).into())
    }

    /// The operator between columns of strings that the query has made, where both of a row are such; nothing of a column without.
    pub fn between_made(self, a: &[u64], b: &[u64], cx: &Context) -> Vec<Option<Truth>> {
        let is_made = |ids: &[u64]| {
            ids.first()
                .is_some_and(|&id| TermId(id).tag() == tag::LOCAL)
        };
        if !is_made(a) || !is_made(b) {
            return Vec::new();
        }
        let made = cx.terms().made();
        let order = |a: u64, b: u64| Some(made.simple(a)?.cmp(made.simple(b)?));
        let rows = a.iter().zip(b);
        rows.map(|(&a, &b)| order(a, b).map(|order| Some(self.accepts(order)).into()))
            .collect()
    }

    /// The operator between two arguments of any kind, with a reader for each of two strings.
    pub fn apply_read(
        self,
        a: Argument<'_>,
        b: Argument<'_>,
        reader: &mut Reader<'_>,
        other: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        let may_be_simple = |argument: Argument<'_>| match argument {
            Argument::Id(id) => matches!(TermId(id).tag(), tag::STRING | tag::LOCAL),
            other => other.known_string().is_some(),
        };
        let is_decided = self == Self::Equal && ids_tell(a, b);
        if !is_decided
            && may_be_simple(a)
            && may_be_simple(b)
            && let (Some(a), Some(b)) = (a.string(reader)?, b.string(other)?)
            && let Some(truth) = self.between_strings(a, b)
        {
            return Ok(truth);
        }
        self.apply(a, b, reader)
    }

    /// The operator between two arguments of any kind.
    pub fn apply(
        self,
        a: Argument<'_>,
        b: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        let (id_a, id_b) = (a.known_id(), b.known_id());
        let order = compare_inline(id_a, id_b).or_else(|| compare_floats(id_a, id_b));
        if let Some(order) = order {
            return Ok(Some(self.accepts(order)).into());
        }
        if self == Self::Equal && ids_tell(a, b) {
            return Ok(Some(id_a == id_b).into());
        }
        if self == Self::Equal
            && let Some(are_equal) = tagged_equal(a, b, reader)
        {
            return Ok(Some(are_equal).into());
        }
        if let (Some(kind), Some(other)) = (IdKind::of(id_a), IdKind::of(id_b)) {
            match self {
                Self::Equal if kind != other => return Ok(Truth::False),
                Self::Equal => {}
                _ if kind != other || !kind.has_order() => return Ok(Truth::Error),
                _ => {}
            }
        }
        if let (Some(a), Some(b)) = (a.known_string(), b.known_string())
            && let Some(truth) = self.between_strings(a, b)
        {
            return Ok(truth);
        }
        let (Some(value_a), Some(value_b)) = (a.value(reader)?, b.value(reader)?) else {
            return Ok(Truth::Error);
        };
        let same_term = id_a != 0 && id_a == id_b;
        Ok(self.between(&value_a, &value_b, same_term))
    }

    /// Whether a row with an id between the bounds can satisfy `id operator constant`.
    pub fn zone_may_match(self, constant: &Constant, min: u64, max: u64) -> bool {
        if min > max || min == 0 {
            return true;
        }
        let (low, high, id) = (TermId(min), TermId(max), TermId(constant.id));
        let by_ends = || match (
            compare_inline(min, constant.id),
            compare_inline(max, constant.id),
        ) {
            (Some(at_min), Some(at_max)) => self.range_may_match(at_min, at_max),
            _ => true,
        };
        if low.is_binary_double() && high.is_binary_double() {
            return by_ends();
        }
        if low.tag() != high.tag() {
            return true;
        }
        if low.is_resource() && id.is_resource() && self == Self::Equal {
            return min <= constant.id && constant.id <= max;
        }
        if low.is_numeric() && min >> MANTISSA_BITS == max >> MANTISSA_BITS {
            return by_ends();
        }
        match (
            low.local_seconds(),
            high.local_seconds(),
            id.local_seconds(),
        ) {
            (Some(first), Some(last), Some(at)) if date_type(low) == date_type(id) => {
                let slack = match id.is_duration() {
                    true => FRACTION_SLACK_SECONDS,
                    false => ZONE_SLACK_SECONDS,
                };
                self.range_may_match((first - slack).cmp(&at), (last + slack).cmp(&at))
            }
            _ => true,
        }
    }

    /// Whether something between two values that lie so from the constant can satisfy the operator.
    pub fn range_may_match(self, at_min: Ordering, at_max: Ordering) -> bool {
        match self {
            Self::Equal => at_min.is_le() && at_max.is_ge(),
            Self::Less | Self::LessOrEqual => self.accepts(at_min),
            Self::Greater | Self::GreaterOrEqual => self.accepts(at_max),
        }
    }
}

/// Whether two terms are equal exactly if their ids are: two stored strings, or anything and a constant
/// IRI.
fn ids_tell(a: Argument<'_>, b: Argument<'_>) -> bool {
    let is_iri = |argument| match argument {
        Argument::Constant(constant) => matches!(constant.value, Value::Iri),
        _ => false,
    };
    let (id_a, id_b) = (TermId(a.known_id()), TermId(b.known_id()));
    let both_strings = id_a.tag() == tag::STRING && id_b.tag() == tag::STRING;
    id_a.is_bound() && id_b.is_bound() && (both_strings || is_iri(a) || is_iri(b))
}

/// Whether two strings with languages are equal, stored ones or constants, of which none is stored twice; `None` of others, and where
/// the languages differ in the case of letters alone.
fn tagged_equal(a: Argument<'_>, b: Argument<'_>, reader: &Reader<'_>) -> Option<bool> {
    fn language<'a>(argument: Argument<'a>, reader: &'a Reader<'_>) -> Option<&'a str> {
        match argument {
            Argument::Constant(constant) => match &constant.value {
                Value::LangString(tagged) => Some(&*tagged.1),
                _ => None,
            },
            Argument::Id(id) => reader.stored_language(id),
            _ => None,
        }
    }
    // Most arguments have none, which their ids tell.
    let (a_language, b_language) = (language(a, reader)?, language(b, reader)?);
    match a_language == b_language {
        true => Some(a.known_id() == b.known_id()),
        false if a_language.eq_ignore_ascii_case(b_language) => None,
        false => Some(false),
    }
}

/// The rows in which a column compares so with a constant, where ids tell for all rows; `None` where they do not.
pub fn select_column(ids: &[u64], op: CompareOp, constant: &Constant) -> Option<Vec<u32>> {
    let other = constant.id;
    let mask = order_within(TermId(other));
    if mask.is_none_or(|mask| ids.iter().fold(0, |bits, id| bits | (id ^ other)) & mask != 0) {
        return match NumberComparison::of_column(0, op, constant) {
            Some(comparison) => comparison.select(ids),
            None => id_ranges::select(&DateComparison::of(op, constant)?, ids),
        };
    }
    Some(match op {
        CompareOp::Equal => positions(ids, |id| id == other),
        CompareOp::Less => positions(ids, |id| id < other),
        CompareOp::LessOrEqual => positions(ids, |id| id <= other),
        CompareOp::Greater => positions(ids, |id| id > other),
        CompareOp::GreaterOrEqual => positions(ids, |id| id >= other),
    })
}

/// Two columns compared row by row, where the ids of all rows have one order, are dates that have one, tell which terms are equal or are all inline floats;
/// `None` where they are not.
pub fn compare_columns(a: &[u64], b: &[u64], op: CompareOp) -> Option<Vec<Truth>> {
    let first = *a.first()?;
    if let Some(mask) = order_within(TermId(first)) {
        let ids = a.iter().chain(b);
        if ids.fold(0, |bits, id| bits | (id ^ first)) & mask == 0 {
            return Some(compare_values(a, b, op));
        }
        return compare_dates(a, b, op);
    }
    if op == CompareOp::Equal && matches!(TermId(first).tag(), tag::RESOURCE | tag::STRING) {
        // IRIs, blank nodes and stored strings are equal if their ids are.
        let ids = a.iter().chain(b);
        let differing = ids.fold(0, |bits, id| bits | (id ^ first));
        return (TermId(differing).tag() == 0).then(|| compare_values(a, b, op));
    }
    inline_float(first)?;
    let floats = |ids: &[u64]| {
        let mut floats = Vec::with_capacity(ids.len());
        for &id in ids {
            floats.push(inline_float(id)?);
        }
        Some(floats)
    };
    Some(compare_values(&floats(a)?, &floats(b)?, op))
}

/// Two columns of dates compared row by row, where all are inline, of one type, and with a zone, or all without; `None` where they are not.
fn compare_dates(a: &[u64], b: &[u64], op: CompareOp) -> Option<Vec<Truth>> {
    let like = TermId(*a.first()?);
    match like.is_temporal() {
        true => Some(compare_values(&instants(a, like)?, &instants(b, like)?, op)),
        false => None,
    }
}

/// When dates begin, in seconds and units of 10^-18, which have the type of another and a zone if that has one; `None` if some have not.
fn instants(ids: &[u64], like: TermId) -> Option<Vec<(i64, i64)>> {
    let (of_type, has_zone) = (date_type(like), like.zone_minutes().is_some());
    let are_durations = like.is_duration();
    let mut instants = Vec::with_capacity(ids.len());
    for &id in ids {
        let id = TermId(id);
        if !id.is_temporal() || date_type(id) != of_type {
            return None;
        }
        let instant = match are_durations {
            true => id.duration()?,
            false => {
                let (start, fraction) = id.split_second().unwrap_or((id, 0));
                let zone = start.zone_minutes();
                if zone.is_some() != has_zone {
                    return None;
                }
                let second = start.local_seconds()? - i64::from(zone.unwrap_or(0)) * 60;
                (second, fraction)
            }
        };
        instants.push(instant);
    }
    Some(instants)
}

/// Values that have an order compared row by row.
fn compare_values<T: Copy + PartialOrd>(a: &[T], b: &[T], op: CompareOp) -> Vec<Truth> {
    match op {
        CompareOp::Equal => each_pair(a, b, |a, b| a == b),
        CompareOp::Less => each_pair(a, b, |a, b| a < b),
        CompareOp::LessOrEqual => each_pair(a, b, |a, b| a <= b),
        CompareOp::Greater => each_pair(a, b, |a, b| a > b),
        CompareOp::GreaterOrEqual => each_pair(a, b, |a, b| a >= b),
    }
}

fn each_pair<T: Copy>(a: &[T], b: &[T], holds: impl Fn(T, T) -> bool) -> Vec<Truth> {
    let pairs = a.iter().zip(b);
    pairs.map(|(&a, &b)| Some(holds(a, b)).into()).collect()
}

/// A column compared with a constant.
pub fn compare_column(
    ids: &[u64],
    op: CompareOp,
    constant: &Constant,
    reader: &mut Reader<'_>,
) -> Result<Vec<Truth>, ExecError> {
    if let Some(mask) = order_within(TermId(constant.id))
        && ids.iter().all(|id| (id ^ constant.id) & mask == 0)
    {
        let truth = |&id: &u64| Some(op.accepts(id.cmp(&constant.id))).into();
        return Ok(ids.iter().map(truth).collect());
    }
    if let Some(comparison) = NumberComparison::of_column(0, op, constant) {
        return id_ranges::truths(&comparison, ids, |id| compare_one(id, op, constant, reader));
    }
    if let Some(comparison) = DateComparison::of(op, constant) {
        return id_ranges::truths(&comparison, ids, |id| {
            let split = reader.split_date_time(id)?;
            let passes = split.and_then(|(second, fraction)| comparison.passes(second, fraction));
            match passes {
                Some(passes) => Ok(Some(passes).into()),
                None => compare_one(id, op, constant, reader),
            }
        });
    }
    if op == CompareOp::Equal && matches!(constant.value, Value::Iri | Value::Blank) {
        let equal_id = |&row_id: &u64| match row_id {
            0 => Truth::Error,
            other => Some(other == constant.id).into(),
        };
        return Ok(ids.iter().map(equal_id).collect());
    }
    let compare_row = |&row_id: &u64| compare_one(row_id, op, constant, reader);
    ids.iter().map(compare_row).collect()
}

fn compare_one(
    id: u64,
    op: CompareOp,
    constant: &Constant,
    reader: &mut Reader<'_>,
) -> Result<Truth, ExecError> {
    if id == 0 {
        return Ok(Truth::Error);
    }
    if op == CompareOp::Equal && matches!(constant.value, Value::String(_)) {
        let row_id = TermId(id);
        match row_id.tag() {
            _ if id == constant.id => return Ok(Truth::True),
            // Stored strings with different ids are different strings.
            tag::STRING | tag::LANGUAGE | tag::RESOURCE => return Ok(Truth::False),
            _ if inline_kind(id).is_some() => return Ok(Truth::False),
            _ => {}
        }
    }
    if let Value::String(text) = &constant.value
        && TermId(id).tag() == tag::STRING
    {
        let of_constant = first_word(text.as_bytes());
        let order = reader.string_word(id)?.map(|word| word.cmp(&of_constant));
        if let Some(order @ (Ordering::Less | Ordering::Greater)) = order {
            return Ok(Some(op.accepts(order)).into());
        }
        if let Some(start) = reader.string_start(id, text.chars().count() + 1)? {
            // What has one character more than the constant is ordered beside it as the whole text is.
            return Ok(Some(op.accepts(start.lexical.cmp(text))).into());
        }
    }
    if let Value::Number(Number::Integer(number)) = &constant.value
        && let Some(integer) = reader.stored_integer(id)?
    {
        return Ok(Some(op.accepts(integer.cmp(&i64::from(*number)))).into());
    }
    op.apply(Argument::Id(id), Argument::Constant(constant), reader)
}
