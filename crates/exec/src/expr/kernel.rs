//! `Kernel`: the compiled form of an expression, a tree that evaluation walks once per batch.

use super::arithmetic::Operator;
use super::by_kind::ByKind;
use super::by_value::ByValue;
use super::calendar_comparison::CalendarComparison;
use super::comparison::CompareOp;
use super::constant_set::ConstantSet;
use super::kind_test::KindTest;
use super::language_test::LanguageTest;
use super::number_comparison::NumberComparison;
use super::numeric_cast::{CastOf, NumericCast};
use super::string_function::makes_texts;
use super::text_test::TextTest;
use crate::operators::exists::Exists;
use crate::value::Value;
use spargebra::algebra::Function;

/// A constant and what it denotes.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its id in this query.
    pub id: u64,
    /// Its value.
    pub value: Value,
}

/// Of a comparison of two kernels of which one is a constant: the operator with that on its right, the other kernel, and the constant.
pub fn compared_with_constant<'k>(
    op: CompareOp,
    a: &'k Kernel,
    b: &'k Kernel,
) -> Option<(CompareOp, &'k Kernel, &'k Constant)> {
    match (a, b) {
        (other, Kernel::Constant(constant)) => Some((op, other, constant)),
        (Kernel::Constant(constant), other) => Some((op.flipped(), other, constant)),
        _ => None,
    }
}

/// A step of evaluation; the fast forms come last.
pub enum Kernel {
    /// An error in every row: a slot that is not there, or a folded error.
    Error,
    /// A column.
    Column(usize),
    /// A constant.
    Constant(Constant),
    /// `a || b || ...`
    Or(Vec<Kernel>),
    /// `a && b && ...`
    And(Vec<Kernel>),
    /// `!a`
    Not(Box<Kernel>),
    /// `sameTerm(a, b)`
    SameTerm(Box<Kernel>, Box<Kernel>),
    /// `a = b`, `a < b` and so on.
    Compare(CompareOp, Box<Kernel>, Box<Kernel>),
    /// `a IN (...)`
    In(Box<Kernel>, Vec<Kernel>),
    /// `a IN (...)` of constants.
    InConstants(Box<Kernel>, Box<ConstantSet>),
    /// Arithmetic on two numbers.
    Arithmetic(Operator, Box<Kernel>, Box<Kernel>),
    /// `+a`, and `-a` if the flag is set.
    Sign {
        /// Whether the sign changes.
        negate: bool,
        /// The number.
        argument: Box<Kernel>,
    },
    /// `IF(a, b, c)`
    If(Box<Kernel>, Box<Kernel>, Box<Kernel>),
    /// `COALESCE(...)`
    Coalesce(Vec<Kernel>),
    /// `BOUND(?x)`
    Bound(usize),
    /// A function or cast of evaluated arguments.
    Call(Function, Vec<Kernel>),
    /// `BNODE(label)`, one node for each label and solution.
    LabelledBlank(Box<Kernel>),
    /// What equal values have in common.
    EqualityKey(Box<Kernel>),
    /// `EXISTS { ... }`
    Exists(Box<Exists>),
    /// A column compared with a constant.
    CompareConstant {
        /// The column, on the left of the operator.
        column: usize,
        /// The operator.
        op: CompareOp,
        /// The constant, on the right.
        constant: Constant,
    },
    /// A test of the language of a column.
    Language {
        /// The column.
        column: usize,
        /// What its language tag must be.
        test: LanguageTest,
    },
    /// `xsd:float(?x)`, `xsd:float(str(?x))` and the like.
    CastNumber {
        /// The column.
        column: usize,
        /// The type.
        cast: NumericCast,
        /// What is cast.
        of: CastOf,
    },
    /// A kernel of one column, evaluated once for each value.
    ByValue(ByValue),
    /// A kernel that computes, evaluated apart for rows of each kind.
    ByKind(ByKind),
    /// A test of a text with a constant; an invalid pattern is folded to an error.
    Text {
        /// The text.
        text: Box<Kernel>,
        /// Whether `STR` is taken of the text first.
        of_str: bool,
        /// What is asked.
        test: TextTest,
    },
}

impl Kernel {
    /// Whether the value is the same in every row and at every time.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Error)
    }

    /// Whether the rows need numbers that say which solution they are.
    pub fn needs_solutions(&self) -> bool {
        match self {
            Self::LabelledBlank(_) => true,
            Self::ByKind(by_kind) => by_kind.kernel().needs_solutions(),
            other => other.operands().into_iter().any(Self::needs_solutions),
        }
    }

    /// About how long a row takes beside others: what weighs less goes first where the order is free.
    pub fn weight(&self) -> u8 {
        if CalendarComparison::of(self).is_some() {
            return 1;
        }
        let own = match self {
            Self::Exists(_) => 4,
            Self::Call(function, _) if KindTest::of(function).is_some() => 1,
            Self::Text { .. } | Self::Call(..) | Self::LabelledBlank(_) => 3,
            Self::Compare(..)
            | Self::In(..)
            | Self::Arithmetic(..)
            | Self::Sign { .. }
            | Self::EqualityKey(_)
            | Self::CastNumber { .. } => 2,
            Self::CompareConstant { .. } | Self::InConstants(..) => 1,
            Self::ByValue(by_value) => by_value.kernel().weight(),
            Self::ByKind(by_kind) => by_kind.kernel().weight(),
            _ => 0,
        };
        let operands = self.operands().into_iter().map(Self::weight);
        operands.fold(own, u8::max)
    }

    /// Whether a row mostly takes less than finding out whether it needs a value: what ids tell of a column or of casts of it.
    pub fn is_light(&self) -> bool {
        let is_number = |constant: &Constant| matches!(constant.value, Value::Number(_));
        let is_short = |operand: &Self| match operand {
            Self::Constant(constant) => is_number(constant),
            other => matches!(other, Self::Column(_) | Self::CastNumber { .. }),
        };
        match self {
            Self::Error
            | Self::Column(_)
            | Self::Constant(_)
            | Self::Bound(_)
            | Self::CastNumber { .. } => true,
            Self::CompareConstant { constant, .. } => is_number(constant),
            Self::Compare(_, a, b) => {
                is_short(a) && is_short(b) || CalendarComparison::of(self).is_some()
            }
            Self::Or(list) | Self::And(list) | Self::Coalesce(list) => {
                list.iter().all(Self::is_light)
            }
            Self::Not(a) => a.is_light(),
            Self::ByKind(by_kind) => by_kind.kernel().is_light(),
            Self::If(a, b, c) => a.is_light() && b.is_light() && c.is_light(),
            _ => false,
        }
    }

    /// Whether strings are made for rows.
    pub fn makes_texts(&self) -> bool {
        match self {
            Self::Call(function, _) if makes_texts(function) => true,
            Self::ByValue(by_value) => by_value.kernel().makes_texts(),
            Self::ByKind(by_kind) => by_kind.kernel().makes_texts(),
            other => other.operands().into_iter().any(Self::makes_texts),
        }
    }

    /// The kernels below; none of one that is evaluated by value or by kind.
    pub fn operands(&self) -> Vec<&Self> {
        match self {
            Self::Or(list) | Self::And(list) | Self::Coalesce(list) | Self::Call(_, list) => {
                list.iter().collect()
            }
            Self::In(needle, list) => std::iter::once(&**needle).chain(list).collect(),
            Self::Not(a)
            | Self::InConstants(a, _)
            | Self::Sign { argument: a, .. }
            | Self::Text { text: a, .. }
            | Self::LabelledBlank(a)
            | Self::EqualityKey(a) => vec![a],
            Self::SameTerm(a, b) | Self::Compare(_, a, b) | Self::Arithmetic(_, a, b) => {
                vec![a, b]
            }
            Self::If(a, b, c) => vec![a, b, c],
            Self::Error
            | Self::Column(_)
            | Self::Constant(_)
            | Self::Bound(_)
            | Self::Exists(..)
            | Self::ByValue(_)
            | Self::ByKind(_)
            | Self::CompareConstant { .. }
            | Self::Language { .. }
            | Self::CastNumber { .. } => Vec::new(),
        }
    }

    /// The same, mutably.
    pub fn operands_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Or(list) | Self::And(list) | Self::Coalesce(list) | Self::Call(_, list) => {
                list.iter_mut().collect()
            }
            Self::In(needle, list) => std::iter::once(&mut **needle).chain(list).collect(),
            Self::Not(a)
            | Self::InConstants(a, _)
            | Self::Sign { argument: a, .. }
            | Self::Text { text: a, .. }
            | Self::LabelledBlank(a)
            | Self::EqualityKey(a) => vec![a],
            Self::SameTerm(a, b) | Self::Compare(_, a, b) | Self::Arithmetic(_, a, b) => {
                vec![a, b]
            }
            Self::If(a, b, c) => vec![a, b, c],
            Self::Error
            | Self::Column(_)
            | Self::Constant(_)
            | Self::Bound(_)
            | Self::Exists(..)
            | Self::ByValue(_)
            | Self::ByKind(_)
            | Self::CompareConstant { .. }
            | Self::Language { .. }
            | Self::CastNumber { .. } => Vec::new(),
        }
    }

    /// See [`CompiledExpr::zone_may_match`](super::CompiledExpr::zone_may_match).
    pub fn zone_may_match(&self, zone_column: usize, min: u64, max: u64) -> bool {
        match self {
            Self::And(list) => list
                .iter()
                .all(|part| part.zone_may_match(zone_column, min, max)),
            Self::Or(list) => list
                .iter()
                .any(|part| part.zone_may_match(zone_column, min, max)),
            Self::CompareConstant {
                column,
                op,
                constant,
            } if *column == zone_column => op.zone_may_match(constant, min, max),
            other => {
                if let Some(comparison) = CalendarComparison::of(other) {
                    return comparison.column != zone_column || comparison.zone_may_match(min, max);
                }
                NumberComparison::of(other)
                    .filter(|comparison| comparison.column == zone_column)
                    .is_none_or(|comparison| comparison.zone_may_match(min, max))
            }
        }
    }
}
