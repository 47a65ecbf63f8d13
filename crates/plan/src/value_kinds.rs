//! `ValueKinds`: what the values of a slot or an expression can be, as far as that is plain from the data and the query.
//!
//! ```text
//! ?p :year ?y      ids of the column from 1950 to 2026 of one type      {integer}
//! YEAR(?date)                                                          {integer}
//! MAX(?price)      decimals                                            {exact}
//! ```
//!
//! Rules for `=` ask two things of them: whether two values can only be equal if they are the same term, and whether equality goes through a
//! float on one side and an exact number on the other, where it is not transitive.
//!
//! Invariant: a value that is bound is of one of the kinds, in the state of the data that the query is planned for. Cost: bounds of the columns of a predicate.

use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Aggregate, AggregateFunction, Constant, Expr, Position, Slot};
use crate::planner::Planner;
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::{DECIMAL, DOUBLE, FLOAT, xsd_numeric_code};
use basalt_rdf::term_id::tag;
use basalt_rdf::term_view::{XSD, XSD_STRING};
use oxrdf::Term;
use spargebra::algebra::Function;
use std::ops::RangeInclusive;

/// A set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueKinds(u8);

impl ValueKinds {
    /// No value.
    pub(crate) const NONE: Self = Self(0);
    /// IRIs and blank nodes.
    pub(crate) const RESOURCE: Self = Self(1);
    /// Strings without a language.
    pub(crate) const STRING: Self = Self(2);
    /// Numbers of the type `xsd:integer` that are their own ids: one term for each value.
    pub(crate) const INTEGER: Self = Self(4);
    /// Integers and decimals.
    pub(crate) const EXACT: Self = Self(8);
    /// `xsd:double`.
    pub(crate) const DOUBLE: Self = Self(16);
    /// `xsd:float`.
    pub(crate) const FLOAT: Self = Self(32);
    /// Other literals.
    pub(crate) const OTHER: Self = Self(64);
    /// All that can be computed with.
    const NUMBER: Self = Self::INTEGER
        .or(Self::EXACT)
        .or(Self::DOUBLE)
        .or(Self::FLOAT);
    /// Anything.
    pub(crate) const ANY: Self = Self(127);

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether all that can be computed with are integers and decimals.
    pub(crate) fn are_exact(self) -> bool {
        self.is_within(Self::INTEGER.or(Self::EXACT))
    }

    /// Whether values of two such kinds are equal (`=`) only if they are the same term.
    pub(crate) fn equal_themselves_alone(a: Self, b: Self) -> bool {
        const ALONE: ValueKinds = ValueKinds::RESOURCE.or(ValueKinds::STRING);
        const NUMBERED: ValueKinds = ALONE.or(ValueKinds::INTEGER);
        a.is_within(ALONE) || b.is_within(ALONE) || a.is_within(NUMBERED) && b.is_within(NUMBERED)
    }

    /// Whether `=` of values of two such kinds is transitive. Between floats and exact numbers it is not: several of these have one
    /// nearest float.
    pub(crate) fn equality_is_transitive(a: Self, b: Self) -> bool {
        const EXACT: ValueKinds = ValueKinds::EXACT.or(ValueKinds::INTEGER);
        !(a.has(Self::FLOAT) && b.has(EXACT) || a.has(EXACT) && b.has(Self::FLOAT))
    }

    /// Those of ids from one to another.
    fn of_range(planner: &Planner<'_>, (least, greatest): (TermId, TermId)) -> Self {
        let numeric = |code: u8| tag::NUMERIC + code;
        let has_some = |tags: RangeInclusive<u8>| {
            *tags.start() <= greatest.tag() && least.tag() <= *tags.end()
        };
        let has_one = |tag: u8| has_some(tag..=tag);
        let mut kinds = Self::NONE;
        let mut add = |is_there: bool, more: Self| {
            if is_there {
                kinds = kinds.or(more);
            }
        };
        add(has_one(tag::RESOURCE), Self::RESOURCE);
        add(has_some(tag::BOOLEAN..=tag::STRING - 1), Self::OTHER);
        add(has_one(tag::STRING), Self::STRING);
        add(has_some(tag::STRING + 1..=tag::NUMERIC - 1), Self::OTHER);
        if has_some(tag::TYPED..=tag::NUMERIC - 1) {
            add(true, Self::EXACT.or(Self::DOUBLE));
            add(planner.statistics.has_written_floats(), Self::FLOAT);
        }
        add(has_one(numeric(0)), Self::INTEGER);
        add(has_one(numeric(DECIMAL)), Self::EXACT);
        add(has_one(numeric(DOUBLE)), Self::DOUBLE);
        add(has_one(numeric(FLOAT)), Self::FLOAT);
        // Types derived from xsd:integer, then those that are no numbers to SPARQL.
        add(
            has_some(numeric(FLOAT + 1)..=tag::NUMERIC_LAST),
            Self::EXACT.or(Self::OTHER),
        );
        add(has_some(tag::DOUBLE..=tag::DOUBLE_LAST), Self::DOUBLE);
        add(has_some(tag::DOUBLE_LAST + 1..=u8::MAX), Self::OTHER);
        kinds
    }

    /// Those of all constants of this one's type, of which each may stand in the same plan.
    fn of_constant(constant: &Constant) -> Self {
        match &constant.term {
            Term::Literal(literal) if literal.language().is_some() => Self::OTHER,
            Term::Literal(literal) => Self::of_datatype(literal.datatype().as_str()),
            _ => Self::RESOURCE,
        }
    }

    /// Those of literals of a type that have other texts than the canonical ones, too.
    fn of_datatype(datatype: &str) -> Self {
        match xsd_numeric_code(datatype) {
            Some(DOUBLE) => Self::DOUBLE,
            Some(FLOAT) => Self::FLOAT,
            Some(_) => Self::EXACT,
            None if datatype == XSD_STRING => Self::STRING,
            None => Self::OTHER,
        }
    }

    /// Those of a slot in rows of a plan that bind it.
    pub(crate) fn of_slot(planner: &Planner<'_>, plan: &Logical, slot: Slot) -> Self {
        if !plan.schema().contains(slot) {
            return Self::NONE;
        }
        let below = |input: &Logical| Self::of_slot(planner, input, slot);
        match plan {
            Logical::Group(group) => Self::in_group(planner, group, slot),
            Logical::AntiJoin { left, .. } | Logical::Minus { left, .. } => below(left),
            Logical::LeftJoin { left, right, .. } | Logical::Lateral { left, right } => {
                match left.certain().contains(slot) {
                    true => below(left),
                    false => below(left).or(below(right)),
                }
            }
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Distinct { input }
            | Logical::OrderBy { input, .. }
            | Logical::Slice { input, .. } => below(input),
            Logical::Extend {
                input,
                slot: made,
                expr,
            } => match *made == slot {
                true => Self::of_expr(expr, &|slot| Self::of_slot(planner, input, slot)),
                false => below(input),
            },
            Logical::Aggregate {
                input, aggregates, ..
            } => match aggregates.iter().find(|made| made.slot == slot) {
                Some(made) => Self::of_aggregate(planner, made, input),
                None => below(input),
            },
            Logical::Union(inputs) => inputs
                .iter()
                .fold(Self::NONE, |kinds, input| kinds.or(below(input))),
            Logical::Values { slots, rows } => {
                let columns = slots.iter().position(|other| *other == slot);
                let values =
                    columns.map(|idx| rows.iter().filter_map(move |row| row.get(idx)?.as_ref()));
                let kinds = values.into_iter().flatten();
                kinds.fold(Self::NONE, |kinds, value| {
                    kinds.or(Self::of_constant(value))
                })
            }
            Logical::GraphNames { .. } => Self::RESOURCE,
            Logical::Empty => Self::NONE,
            Logical::Service(_) => Self::ANY,
        }
    }

    /// Those of a slot of a group: of what binds it in every row where something does.
    pub(crate) fn in_group(planner: &Planner<'_>, group: &JoinGroup, slot: Slot) -> Self {
        let triples = group.triples.iter();
        let triples = triples.filter(|triple| triple.slots().contains(slot));
        let mut certain = triples
            .clone()
            .filter(|triple| triple.certain().contains(slot));
        if let Some(first) = certain.next() {
            let first = Self::of_triple(planner, first, slot);
            return certain.fold(first, |kinds, triple| {
                Self(kinds.0 & Self::of_triple(planner, triple, slot).0)
            });
        }
        if let Some(child) = group
            .children
            .iter()
            .find(|child| child.certain().contains(slot))
        {
            return Self::of_slot(planner, child, slot);
        }
        if group.paths.iter().any(|path| path.slots().contains(&slot)) {
            return Self::ANY;
        }
        let of_triples = triples.map(|triple| Self::of_triple(planner, triple, slot));
        let of_children = group
            .children
            .iter()
            .map(|child| Self::of_slot(planner, child, slot));
        of_triples.chain(of_children).fold(Self::NONE, Self::or)
    }

    fn of_triple(planner: &Planner<'_>, triple: &Triple, slot: Slot) -> Self {
        let here = Position::Slot(slot);
        if triple.object != here || triple.subject == here || triple.predicate == here {
            return Self::RESOURCE;
        }
        let Position::Id(predicate) = triple.predicate else {
            return Self::ANY;
        };
        let columns = planner.columns(predicate);
        // A dirty row has its values in cells and in irregular quads, like all others.
        let ranges = columns.iter().filter_map(|(_, column)| column.range);
        let ranges = ranges.chain(planner.statistics.irregular_range(predicate));
        ranges.fold(Self::NONE, |kinds, range| {
            kinds.or(Self::of_range(planner, range))
        })
    }

    fn of_aggregate(planner: &Planner<'_>, made: &Aggregate, input: &Logical) -> Self {
        let argument = || match &made.argument {
            Some(expr) => Self::of_expr(expr, &|slot| Self::of_slot(planner, input, slot)),
            None => Self::ANY,
        };
        match made.function {
            AggregateFunction::Count => Self::INTEGER,
            // Of no rows a sum is zero.
            AggregateFunction::Sum | AggregateFunction::Avg => {
                argument().computed().or(Self::EXACT)
            }
            AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Sample => {
                argument()
            }
            AggregateFunction::GroupConcat { .. } => Self::STRING.or(Self::OTHER),
        }
    }

    /// What operators make of values of these kinds: numbers, and durations and times.
    fn computed(self) -> Self {
        let exact = match self.has(Self::INTEGER) {
            true => Self::EXACT,
            false => Self::NONE,
        };
        const KEPT: ValueKinds = ValueKinds::EXACT
            .or(ValueKinds::DOUBLE)
            .or(ValueKinds::FLOAT)
            .or(ValueKinds::OTHER);
        Self(self.0 & KEPT.0).or(exact)
    }

    /// Whether an expression has a value in every row of a plan: sums, differences and products of integers that are bound, which have as many digits as need be.
    pub(crate) fn never_fails(planner: &Planner<'_>, plan: &Logical, expr: &Expr) -> bool {
        let never = |expr: &Expr| Self::never_fails(planner, plan, expr);
        match expr {
            Expr::Slot(slot) => {
                plan.certain().contains(*slot)
                    && Self::of_slot(planner, plan, *slot).is_within(Self::INTEGER)
            }
            Expr::Constant(constant) => {
                constant.id.is_some_and(TermId::is_number)
                    && Self::of_constant(constant).is_within(Self::NUMBER)
            }
            Expr::Add(a, b) | Expr::Subtract(a, b) | Expr::Multiply(a, b) => never(a) && never(b),
            Expr::UnaryPlus(a) | Expr::UnaryMinus(a) => never(a),
            _ => false,
        }
    }

    /// Those of an expression that is no error.
    pub(crate) fn of_expr(expr: &Expr, of_slot: &dyn Fn(Slot) -> Self) -> Self {
        let of = |expr: &Expr| Self::of_expr(expr, of_slot);
        match expr {
            Expr::Slot(slot) => of_slot(*slot),
            Expr::Constant(constant) => Self::of_constant(constant),
            Expr::Add(a, b) | Expr::Subtract(a, b) | Expr::Multiply(a, b) | Expr::Divide(a, b) => {
                of(a).or(of(b)).computed()
            }
            Expr::UnaryPlus(a) | Expr::UnaryMinus(a) => of(a).computed(),
            Expr::If(_, a, b) => of(a).or(of(b)),
            Expr::Coalesce(list) => list
                .iter()
                .fold(Self::NONE, |kinds, expr| kinds.or(of(expr))),
            Expr::Call(function, arguments) => Self::of_call(function, arguments, &of),
            Expr::EqualityKey(_) => Self::ANY,
            Expr::Or(_)
            | Expr::And(_)
            | Expr::Not(_)
            | Expr::Equal(..)
            | Expr::SameTerm(..)
            | Expr::Less(..)
            | Expr::LessOrEqual(..)
            | Expr::In(..)
            | Expr::Bound(_)
            | Expr::Exists(_) => Self::OTHER,
        }
    }

    fn of_call(function: &Function, arguments: &[Expr], of: &dyn Fn(&Expr) -> Self) -> Self {
        let first = || arguments.first().map_or(Self::ANY, of);
        match function {
            Function::Str
            | Function::Lang
            | Function::EncodeForUri
            | Function::Tz
            | Function::StrUuid
            | Function::Md5
            | Function::Sha1
            | Function::Sha256
            | Function::Sha384
            | Function::Sha512 => Self::STRING,
            // Where nothing is found they are simple, else as the first argument.
            Function::StrBefore
            | Function::StrAfter
            | Function::UCase
            | Function::LCase
            | Function::SubStr
            | Function::Replace => match first().is_within(Self::STRING) {
                true => Self::STRING,
                false => Self::STRING.or(Self::OTHER),
            },
            // A language that all arguments have.
            Function::Concat => {
                let is_simple = |expr: &Expr| of(expr).is_within(Self::STRING);
                match arguments.iter().any(is_simple) {
                    true => Self::STRING,
                    false => Self::STRING.or(Self::OTHER),
                }
            }
            Function::Year
            | Function::Month
            | Function::Day
            | Function::Hours
            | Function::Minutes
            | Function::StrLen => Self::INTEGER,
            Function::Seconds => Self::EXACT,
            Function::Abs | Function::Ceil | Function::Floor | Function::Round => {
                first().computed()
            }
            Function::Rand => Self::DOUBLE,
            Function::Iri | Function::BNode | Function::Uuid | Function::Datatype => Self::RESOURCE,
            Function::Timezone
            | Function::Now
            | Function::StrLang
            | Function::LangMatches
            | Function::Contains
            | Function::StrStarts
            | Function::StrEnds
            | Function::Regex
            | Function::IsIri
            | Function::IsBlank
            | Function::IsLiteral
            | Function::IsNumeric => Self::OTHER,
            Function::Custom(name) if name.as_str().starts_with(XSD) => {
                Self::of_datatype(name.as_str())
            }
            _ => Self::ANY,
        }
    }
}
