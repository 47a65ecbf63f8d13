//! Expressions: operators, logic with errors, and the forms that do not evaluate all their arguments
//! (section 17.2 to 17.4.1).
//!
//! Every function returns a term or a [`Fault`]; a [`Fault::Error`] is SPARQL's type error, which
//! filters, BIND and COALESCE absorb, and a [`Fault::Stop`] ends the whole evaluation.

use super::number::{Number, Operator};
use super::pattern::Scope;
use super::value::{Comparison, Value, compare, equal, is_number_or_boolean_by_name, number};
use super::{NaiveError, Solution, dates, function};
use oxrdf::{Literal, Term};
use spargebra::algebra::{Expression, GraphPattern};
use std::cmp::Ordering;

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A SPARQL error: unbound variable, type error, failed cast.
    Error,
    /// The oracle cannot go on.
    Stop(NaiveError),
}

impl From<NaiveError> for Fault {
    fn from(error: NaiveError) -> Self {
        Self::Stop(error)
    }
}

/// The value of an expression.
pub(crate) type Outcome = Result<Term, Fault>;

/// Turns the absence of a value into a SPARQL error.
pub(crate) fn or_error<T>(value: Option<T>) -> Result<T, Fault> {
    value.ok_or(Fault::Error)
}

/// A boolean as a term.
pub(crate) fn boolean(value: bool) -> Term {
    Literal::from(value).into()
}

impl Scope<'_> {
    /// Whether a filter lets a row through: its effective boolean value is true, not false or error.
    pub(crate) fn holds(
        &self,
        expression: &Expression,
        row: &Solution,
    ) -> Result<bool, NaiveError> {
        match self.truth(expression, row) {
            Ok(truth) => Ok(truth),
            Err(Fault::Error) => Ok(false),
            Err(Fault::Stop(error)) => Err(error),
        }
    }

    /// The value of an expression where an error means unbound.
    pub(crate) fn value_or_unbound(
        &self,
        expression: &Expression,
        row: &Solution,
    ) -> Result<Option<Term>, NaiveError> {
        match self.value(expression, row) {
            Ok(term) => Ok(Some(term)),
            Err(Fault::Error) => Ok(None),
            Err(Fault::Stop(error)) => Err(error),
        }
    }

    fn truth(&self, expression: &Expression, row: &Solution) -> Result<bool, Fault> {
        let term = self.value(expression, row)?;
        match Value::of(&term).effective_boolean() {
            Some(truth) => Ok(truth),
            // "The EBV of any literal whose type is xsd:boolean or numeric is false if the lexical form is
            // not valid for that datatype" (section 17.2.2).
            None if is_number_or_boolean_by_name(&term) => Ok(false),
            None => Err(Fault::Error),
        }
    }

    /// The value of an expression in a row.
    pub(crate) fn value(&self, expression: &Expression, row: &Solution) -> Outcome {
        match expression {
            Expression::NamedNode(iri) => Ok(iri.clone().into()),
            Expression::Literal(literal) => Ok(literal.clone().into()),
            Expression::Variable(variable) => or_error(self.binding(variable.as_str(), row)),
            Expression::Bound(variable) => {
                Ok(boolean(self.binding(variable.as_str(), row).is_some()))
            }
            Expression::Or(a, b) => self.connective(a, b, row, true),
            Expression::And(a, b) => self.connective(a, b, row, false),
            Expression::Not(inner) => Ok(boolean(!self.truth(inner, row)?)),
            Expression::Equal(a, b) => {
                let (a, b) = (self.value(a, row)?, self.value(b, row)?);
                Ok(boolean(or_error(equal(&a, &b))?))
            }
            Expression::SameTerm(a, b) => Ok(boolean(self.value(a, row)? == self.value(b, row)?)),
            Expression::In(needle, list) => self.is_in(needle, list, row),
            Expression::Exists(pattern) => Ok(boolean(self.exists(pattern, row)?)),
            Expression::If(condition, then, otherwise) => {
                let chosen = if self.truth(condition, row)? {
                    then
                } else {
                    otherwise
                };
                self.value(chosen, row)
            }
            Expression::Coalesce(list) => {
                for option in list {
                    if let Some(term) = self.value_or_unbound(option, row)? {
                        return Ok(term);
                    }
                }
                Err(Fault::Error)
            }
            Expression::FunctionCall(name, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|argument| self.value(argument, row))
                    .collect::<Result<Vec<_>, _>>()?;
                function::call(self.context, name, &arguments)
            }
            other => self.binary(other, row),
        }
    }

    fn binding(&self, name: &str, row: &Solution) -> Option<Term> {
        row.get(name).or_else(|| self.outer.get(name)).cloned()
    }

    /// Order comparisons and arithmetic.
    fn binary(&self, expression: &Expression, row: &Solution) -> Outcome {
        let ordered = |a: &Expression, b: &Expression, accept: fn(Ordering) -> bool| -> Outcome {
            let (a, b) = (self.value(a, row)?, self.value(b, row)?);
            match compare(&a, &b) {
                Comparison::Ordered(order) => Ok(boolean(accept(order))),
                Comparison::Unordered if number(&a).is_some() => Ok(boolean(false)),
                Comparison::Unordered | Comparison::TypeError => Err(Fault::Error),
            }
        };
        let operand =
            |e: &Expression| -> Result<Number, Fault> { or_error(number(&self.value(e, row)?)) };
        let computed = |operator: Operator, a: &Expression, b: &Expression| -> Outcome {
            or_error(operand(a)?.compute(operator, &operand(b)?)).map(Term::from)
        };
        match expression {
            Expression::Greater(a, b) => ordered(a, b, Ordering::is_gt),
            Expression::GreaterOrEqual(a, b) => ordered(a, b, Ordering::is_ge),
            Expression::Less(a, b) => ordered(a, b, Ordering::is_lt),
            Expression::LessOrEqual(a, b) => ordered(a, b, Ordering::is_le),
            Expression::Add(a, b) => match computed(Operator::Add, a, b) {
                Err(Fault::Error) => {
                    or_error(dates::sum(&self.value(a, row)?, &self.value(b, row)?))
                }
                outcome => outcome,
            },
            Expression::Subtract(a, b) => match computed(Operator::Subtract, a, b) {
                Err(Fault::Error) => or_error(dates::difference(
                    &self.value(a, row)?,
                    &self.value(b, row)?,
                )),
                outcome => outcome,
            },
            Expression::Multiply(a, b) => computed(Operator::Multiply, a, b),
            Expression::Divide(a, b) => computed(Operator::Divide, a, b),
            Expression::UnaryPlus(a) => match operand(a) {
                Err(Fault::Error) => or_error(dates::signed(&self.value(a, row)?, false)),
                outcome => outcome.map(Term::from),
            },
            Expression::UnaryMinus(a) => match operand(a) {
                Err(Fault::Error) => or_error(dates::signed(&self.value(a, row)?, true)),
                outcome => outcome.map(|number| number.negated().into()),
            },
            other => Err(Fault::Stop(NaiveError::Unsupported(format!("{other}")))),
        }
    }

    /// Logical or (`decisive` true) and logical and (`decisive` false) of section 17.2.
    fn connective(
        &self,
        a: &Expression,
        b: &Expression,
        row: &Solution,
        decisive: bool,
    ) -> Outcome {
        let mut failed = false;
        for side in [a, b] {
            match self.truth(side, row) {
                Ok(truth) if truth == decisive => return Ok(boolean(decisive)),
                Ok(_) => {}
                Err(Fault::Error) => failed = true,
                Err(stop) => return Err(stop),
            }
        }
        if failed {
            Err(Fault::Error)
        } else {
            Ok(boolean(!decisive))
        }
    }

    /// `IN`: true if some `=` is true, else an error if some `=` is an error, else false.
    fn is_in(&self, needle: &Expression, list: &[Expression], row: &Solution) -> Outcome {
        let needle = self.value(needle, row)?;
        let mut failed = false;
        for candidate in list {
            match self.value_or_unbound(candidate, row)? {
                Some(candidate) => match equal(&needle, &candidate) {
                    Some(true) => return Ok(boolean(true)),
                    Some(false) => {}
                    None => failed = true,
                },
                None => failed = true,
            }
        }
        if failed {
            Err(Fault::Error)
        } else {
            Ok(boolean(false))
        }
    }

    /// Whether the pattern has a solution after the row's bindings are substituted into it.
    fn exists(&self, pattern: &GraphPattern, row: &Solution) -> Result<bool, NaiveError> {
        let mut outer = self.outer.clone();
        outer.extend(row.iter().map(|(name, term)| (name.clone(), term.clone())));
        let scope = Scope {
            outer: &outer,
            ..*self
        };
        Ok(!scope.evaluate(pattern)?.is_empty())
    }
}
