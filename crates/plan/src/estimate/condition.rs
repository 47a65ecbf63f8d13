//! The share of rows that a condition keeps.
//!
//! Ranges interpolate between a column's smallest and largest value, equality takes one of the
//! distinct values, text search and the unknown take constants.

use crate::cost_constants::{
    EXPRESSION, SELECTIVITY_DEFAULT, SELECTIVITY_EQUAL, SELECTIVITY_EXISTS, SELECTIVITY_SAME,
    SELECTIVITY_TEXT, TEXT_APART, TEXT_EXPRESSION,
};
use crate::expression::for_each_operand;
use crate::physical::{Expr, Slot};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::UNITS_OF_SECOND;
use oxrdf::vocab::xsd;
use spargebra::algebra::Function;

/// What is known of the values of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotStatistics {
    pub(crate) distinct: f64,
    pub(crate) range: Option<(TermId, TermId)>,
}

/// Looks up what is known of a slot.
pub(crate) type Lookup<'a> = &'a dyn Fn(Slot) -> Option<SlotStatistics>;

/// The share of rows for which the condition is true, between 0 and 1.
pub(crate) fn selectivity(expr: &Expr, lookup: Lookup<'_>) -> f64 {
    match expr {
        Expr::And(list) => list.iter().map(|e| selectivity(e, lookup)).product(),
        Expr::Or(list) => {
            1.0 - list
                .iter()
                .map(|e| 1.0 - selectivity(e, lookup))
                .product::<f64>()
        }
        Expr::Not(inner) => match &**inner {
            Expr::Bound(_) | Expr::Exists(_) => SELECTIVITY_EXISTS,
            other => 1.0 - selectivity(other, lookup),
        },
        // Two objects of one subject asked to be the same mostly are, by the data's design.
        Expr::SameTerm(a, b) if matches!((&**a, &**b), (Expr::Slot(_), Expr::Slot(_))) => {
            SELECTIVITY_SAME
        }
        Expr::Equal(a, b) | Expr::SameTerm(a, b) => equality(a, b, lookup),
        Expr::In(a, list) => {
            let each: f64 = list.iter().map(|b| equality(a, b, lookup)).sum();
            each.min(1.0)
        }
        Expr::Less(a, b) | Expr::LessOrEqual(a, b) => inequality(a, b, lookup),
        Expr::Call(
            Function::Regex | Function::Contains | Function::StrStarts | Function::StrEnds,
            _,
        ) => SELECTIVITY_TEXT,
        Expr::Exists(_) => SELECTIVITY_EXISTS,
        Expr::Bound(_) => 0.9,
        _ => SELECTIVITY_DEFAULT,
    }
}

/// The cost of one evaluation.
pub(crate) fn cost(expr: &Expr) -> f64 {
    if reads_texts(expr) {
        TEXT_EXPRESSION
    } else {
        EXPRESSION
    }
}

/// What evaluations on rows that are not near each other cost, as far as texts are read; the rest counts with the cells.
pub(crate) fn texts_apart(conditions: &[Expr]) -> f64 {
    let reading = conditions.iter().filter(|condition| reads_texts(condition));
    reading.count() as f64 * TEXT_APART
}

/// Whether the text of a term is read for each row, or made.
pub fn reads_texts(expr: &Expr) -> bool {
    if let Some(of) = cast_to_number(expr) {
        return reads_texts(of);
    }
    if matches!(expr, Expr::Call(function, _) if !is_by_id(function)) {
        return true;
    }
    let mut reads = false;
    for_each_operand(expr, &mut |operand| reads |= reads_texts(operand));
    reads
}

/// Whether a function works on columns of numbers, or takes a part of a date. Languages and datatypes are read from ids as well, but the lists of labels that they
/// are mostly asked of take longer to read than a star is charged for.
fn is_by_id(function: &Function) -> bool {
    matches!(
        function,
        Function::Abs
            | Function::Ceil
            | Function::Floor
            | Function::Round
            | Function::Year
            | Function::Month
            | Function::Day
            | Function::Hours
            | Function::Minutes
            | Function::Seconds
            | Function::Timezone
            | Function::Tz
    )
}

/// What an expression casts to a number; of a text that STR or `xsd:string` gives, what that is the text of, since an id says both.
fn cast_to_number(expr: &Expr) -> Option<&Expr> {
    let numbers = [xsd::INTEGER, xsd::DECIMAL, xsd::FLOAT, xsd::DOUBLE];
    let Expr::Call(Function::Custom(name), arguments) = expr else {
        return None;
    };
    let [of] = arguments.as_slice() else {
        return None;
    };
    if !numbers.contains(&name.as_ref()) {
        return None;
    }
    let Expr::Call(function, text) = of else {
        return Some(of);
    };
    let gives_text = match function {
        Function::Str => true,
        Function::Custom(name) => *name == xsd::STRING,
        _ => false,
    };
    match text.as_slice() {
        [term] if gives_text => Some(term),
        _ => Some(of),
    }
}

/// The slot that an expression is, or is a cast to a number of, and whether it is such a cast.
pub(crate) fn slot_or_cast(expr: &Expr) -> Option<(Slot, bool)> {
    let of = cast_to_number(expr);
    match of.unwrap_or(expr) {
        Expr::Slot(slot) => Some((*slot, of.is_some())),
        _ => None,
    }
}

fn equality(a: &Expr, b: &Expr, lookup: Lookup<'_>) -> f64 {
    let distinct = |e: &Expr| {
        let (slot, _) = slot_or_cast(e)?;
        lookup(slot).map(|statistics| statistics.distinct)
    };
    match (distinct(a), distinct(b)) {
        (Some(a), Some(b)) => 1.0 / a.max(b).max(1.0),
        (Some(one), None) | (None, Some(one)) => 1.0 / one.max(1.0),
        // Most values of a predicate have one datatype, and conditions ask for it mostly.
        (None, None) if is_datatype(a) || is_datatype(b) => SELECTIVITY_SAME,
        (None, None) => SELECTIVITY_EQUAL,
    }
}

fn is_datatype(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(Function::Datatype, _))
}

fn inequality(a: &Expr, b: &Expr, lookup: Lookup<'_>) -> f64 {
    let share = |slot: Slot, bound: Option<TermId>| share_below(lookup(slot)?.range, bound);
    let share = match (a, b) {
        (value, Expr::Constant(constant)) => {
            slot_or_cast(value).and_then(|(slot, _)| share(slot, constant.id))
        }
        (Expr::Constant(constant), value) => slot_or_cast(value)
            .and_then(|(slot, _)| share(slot, constant.id))
            .map(|share| 1.0 - share),
        _ => None,
    };
    share.map_or(SELECTIVITY_DEFAULT, never_none)
}

/// A share that is never quite none: ranges know nothing of what lies between.
pub(crate) fn never_none(share: f64) -> f64 {
    share.clamp(0.001, 1.0)
}

/// The share of a range that is below a bound, if all are numbers or dates.
pub(crate) fn share_below(range: Option<(TermId, TermId)>, bound: Option<TermId>) -> Option<f64> {
    let (low, high) = range?;
    let (low, high, bound) = (number(low)?, number(high)?, number(bound?)?);
    if high <= low {
        return Some(if bound >= low { 1.0 } else { 0.0 });
    }
    Some(((bound - low) / (high - low)).clamp(0.0, 1.0))
}

/// The value of an inline id on the scale of its kind: a number, the time of a date or the length of a duration.
pub(crate) fn number(id: TermId) -> Option<f64> {
    if id.is_number() {
        return id.as_f64();
    }
    if let Some((second, fraction)) = id.split_second() {
        let fraction = fraction as f64 / UNITS_OF_SECOND as f64;
        return Some(second.date_time_seconds()? as f64 + fraction);
    }
    if let Some((second, fraction)) = id.duration() {
        return Some(second as f64 + fraction as f64 / UNITS_OF_SECOND as f64);
    }
    id.is_temporal()
        .then(|| (id.payload() >> id.zone_bits()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::NamedNode;

    fn call(name: NamedNode, argument: Expr) -> Expr {
        Expr::Call(Function::Custom(name), vec![argument])
    }

    #[test]
    fn casts_of_numbers_read_no_texts() {
        let slot = || Expr::Slot(Slot(0));
        let text = || Expr::Call(Function::Str, vec![slot()]);
        let lower = || Expr::Call(Function::LCase, vec![slot()]);
        for (expr, expected) in [
            (slot(), EXPRESSION),
            (call(xsd::DECIMAL.into_owned(), text()), EXPRESSION),
            (
                call(
                    xsd::DOUBLE.into_owned(),
                    call(xsd::STRING.into_owned(), slot()),
                ),
                EXPRESSION,
            ),
            (call(xsd::FLOAT.into_owned(), slot()), EXPRESSION),
            (Expr::Call(Function::Year, vec![slot()]), EXPRESSION),
            (text(), TEXT_EXPRESSION),
            (call(xsd::STRING.into_owned(), slot()), TEXT_EXPRESSION),
            (call(xsd::DECIMAL.into_owned(), lower()), TEXT_EXPRESSION),
            (
                call(
                    xsd::DECIMAL.into_owned(),
                    Expr::Call(Function::Str, vec![lower()]),
                ),
                TEXT_EXPRESSION,
            ),
            (Expr::Not(Box::new(lower())), TEXT_EXPRESSION),
            (Expr::Call(Function::Lang, vec![slot()]), TEXT_EXPRESSION),
        ] {
            assert_eq!(cost(&expr), expected, "{expr:?}");
        }
    }
}
