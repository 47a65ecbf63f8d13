//! Terms of a comparison moved to its other side, so that what is left of the build side bounds partners.
//!
//! ```text
//! ?x - ?y < 0.5                    ?x < ?y + 0.5
//! ABS(?x - ?y) <= ?d               ?x <= ?y + ?d, ?x >= ?y - ?d
//! ?x - ?y = 1                      ?x <= ?y + 1, ?x >= ?y + 1
//! ?later - ?at < "PT1H"            ?later < ?at + "PT1H"
//! ```
//!
//! Of integers and decimals, which nothing rounds, and of times beside a duration of seconds the two say the same. Floats and doubles are rounded,
//! so what is in range must be widened by a share of the sizes of what was moved. Where the moved terms have no sum (it has no value, or lies beyond the calendar) they
//! bound nothing: the executor asks the condition itself then.

use crate::expression::slots_of;
use crate::join_ranges::{Bound, JoinBound};
use crate::physical::{Constant, Expr};
use crate::slot_set::SlotSet;
use oxrdf::Term;
use oxrdf::vocab::xsd;
use spargebra::algebra::Function;

/// What terms were moved.
#[derive(Clone, Debug, PartialEq)]
pub enum Moved {
    /// Numbers, whose sizes make this sum.
    Numbers(Box<Expr>),
    /// A time and a duration of seconds.
    Times,
}

/// A term of a sum that is compared with zero.
#[derive(Clone, Copy)]
struct Summand<'e> {
    of: &'e Expr,
    is_negative: bool,
}

/// The bounds that a comparison gives once its terms are moved, each of an expression of the build side; none if it does not consist of one term of that side, and
/// others of the probe side.
pub fn moved_bounds(conjunct: &Expr, probe: &SlotSet, build: &SlotSet) -> Vec<(Expr, JoinBound)> {
    let (less, more, bound) = match conjunct {
        Expr::Less(a, b) => (&**a, b, Bound::Below),
        Expr::LessOrEqual(a, b) => (&**a, b, Bound::AtMost),
        Expr::Equal(a, b) => return of_equality(a, b, probe, build),
        _ => return Vec::new(),
    };
    let of_difference = |less: &Expr, is_negative: bool| {
        moved_bound(&difference(less, is_negative, more), bound, probe, build)
    };
    let Expr::Call(Function::Abs, of) = less else {
        return of_difference(less, false).into_iter().collect();
    };
    // a < b and -a < b; an absolute value is one of a number.
    let of_sign = |is_negative| of_difference(of.first()?, is_negative);
    match (of_sign(false), of_sign(true)) {
        (Some(a), Some(b)) if a.1.moved != Some(Moved::Times) => vec![a, b],
        _ => Vec::new(),
    }
}

/// An equality says that its sides differ by no more than nothing, and no less.
fn of_equality(a: &Expr, b: &Expr, probe: &SlotSet, build: &SlotSet) -> Vec<(Expr, JoinBound)> {
    let summands = difference(a, false, b);
    let bounds = [Bound::AtMost, Bound::AtLeast];
    let bounds = bounds.map(|bound| moved_bound(&summands, bound, probe, build));
    bounds.into_iter().flatten().collect()
}

/// What the difference of two sides consists of, the first of which may be taken for its negative.
fn difference<'e>(a: &'e Expr, is_negative: bool, b: &'e Expr) -> Vec<Summand<'e>> {
    let mut summands = Vec::new();
    add_summands(a, is_negative, &mut summands);
    add_summands(b, true, &mut summands);
    summands
}

/// Adds what a sum consists of.
fn add_summands<'e>(expr: &'e Expr, is_negative: bool, out: &mut Vec<Summand<'e>>) {
    match expr {
        Expr::Add(a, b) => {
            add_summands(a, is_negative, out);
            add_summands(b, is_negative, out);
        }
        Expr::Subtract(a, b) => {
            add_summands(a, is_negative, out);
            add_summands(b, !is_negative, out);
        }
        Expr::UnaryPlus(a) => add_summands(a, is_negative, out),
        Expr::UnaryMinus(a) => add_summands(a, !is_negative, out),
        of => out.push(Summand { of, is_negative }),
    }
}

/// The bound of the one summand of the build side in a sum that is below zero, or at most.
fn moved_bound(
    summands: &[Summand<'_>],
    bound: Bound,
    probe: &SlotSet,
    build: &SlotSet,
) -> Option<(Expr, JoinBound)> {
    let mut own = None;
    let mut others = Vec::new();
    for &summand in summands {
        let slots = slots_of(summand.of);
        if slots.is_subset(probe) {
            others.push(summand);
        } else if !slots.is_subset(build) || own.replace(summand).is_some() {
            return None;
        }
    }
    let own: Summand<'_> = own?;
    // own + others < 0, or others - own < 0.
    let (bound, is_turned) = match own.is_negative {
        false => (bound, true),
        true => (bound.turned(), false),
    };
    for other in &mut others {
        other.is_negative ^= is_turned;
    }
    let moved = moved(&others)?;
    // A positive one first: durations have no sign.
    let is_last = |of: &Expr| matches!(of, Expr::Constant(_)) || is_seconds(of);
    others.sort_by_key(|other| (other.is_negative, is_last(other.of)));
    let bound = JoinBound {
        bound,
        by: sum(&others)?,
        moved: Some(moved),
    };
    Some((own.of.clone(), bound))
}

/// What terms are: numbers as far as constants tell, or a time and a duration of seconds.
fn moved(others: &[Summand<'_>]) -> Option<Moved> {
    let constants = || {
        others.iter().filter_map(|other| match other.of {
            Expr::Constant(constant) => Some(constant),
            _ => None,
        })
    };
    if others.iter().any(|other| is_seconds(other.of)) {
        let is_time = |other: &Summand<'_>| !other.is_negative && !is_seconds(other.of);
        return (others.len() == 2 && others.iter().any(is_time)).then_some(Moved::Times);
    }
    let size = |other: &Summand<'_>| Expr::Call(Function::Abs, vec![other.of.clone()]);
    let add = |a, b| Expr::Add(Box::new(a), Box::new(b));
    let sizes = others.iter().map(size).reduce(add)?;
    constants()
        .all(is_number)
        .then(|| Moved::Numbers(Box::new(sizes)))
}

/// The sum of terms.
fn sum(others: &[Summand<'_>]) -> Option<Expr> {
    let (first, others) = others.split_first()?;
    let first = match first.is_negative {
        false => first.of.clone(),
        true => Expr::UnaryMinus(Box::new(first.of.clone())),
    };
    Some(others.iter().fold(first, |sum, other| {
        let (sum, of) = (Box::new(sum), Box::new(other.of.clone()));
        match other.is_negative {
            false => Expr::Add(sum, of),
            true => Expr::Subtract(sum, of),
        }
    }))
}

/// Whether an expression is a duration of seconds, if it is not an error: a constant, or made one.
fn is_seconds(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(constant) => is_constant_of_seconds(constant),
        Expr::Call(Function::Custom(name), _) => *name == xsd::DAY_TIME_DURATION,
        Expr::Call(Function::StrDt, arguments) => match &arguments[..] {
            [_, Expr::Constant(datatype)] => {
                matches!(&datatype.term, Term::NamedNode(name) if *name == xsd::DAY_TIME_DURATION)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a constant is a duration of seconds, if it is one at all.
pub(crate) fn is_constant_of_seconds(constant: &Constant) -> bool {
    matches!(&constant.term, Term::Literal(literal) if literal.datatype() == xsd::DAY_TIME_DURATION)
}

fn is_number(constant: &Constant) -> bool {
    /// Types of numbers that are not derived from others.
    const NUMBERS: [oxrdf::NamedNodeRef<'_>; 4] =
        [xsd::INTEGER, xsd::DECIMAL, xsd::FLOAT, xsd::DOUBLE];
    matches!(&constant.term, Term::Literal(literal) if NUMBERS.contains(&literal.datatype()))
}
