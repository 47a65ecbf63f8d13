//! Data and queries with some of their literals exchanged, to find out what a difference hangs on.
//!
//! Where the two oracles differ, both are asked again about data and a query in which every literal of one kind
//! is folded: what is written in an unusual way is written canonically, or numbers that not every engine can
//! compute with are no numbers any more. If the oracles agree then, the difference hangs on those
//! literals. A folding that changes nothing explains nothing, so it is not tried.
//!
//! Cost: a copy of the data and of the query.

use crate::dataset::Dataset;
use crate::naive::{Number, is_number_or_boolean_by_name};
use oxrdf::vocab::xsd;
use oxrdf::{GraphName, Literal, NamedNode, NamedNodeRef, Quad, Term};
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Decimal, Double, Duration, Float, GDay, GMonth,
    GMonthDay, GYear, GYearMonth, Integer, Time, YearMonthDuration,
};
use spargebra::Query;
use spargebra::algebra::{
    AggregateExpression, Expression, Function, GraphPattern, OrderExpression,
};
use spargebra::term::{GroundTerm, TermPattern, TriplePattern};
use std::fmt::Display;
use std::str::FromStr;

/// What a literal becomes.
pub type Fold = fn(&Literal) -> Literal;

/// Data and a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked about.
    pub dataset: Dataset,
    /// What is asked.
    pub query: Query,
}

impl Question {
    /// The question with every literal folded; nothing if that changes none.
    pub fn folded(&self, fold: Fold) -> Option<Self> {
        let quads = self.dataset.quads().iter().map(|quad| Quad {
            object: match &quad.object {
                Term::Literal(literal) => fold(literal).into(),
                other => other.clone(),
            },
            ..quad.clone()
        });
        let mut query = self.query.clone();
        let rewrite = Rewrite {
            literal: fold,
            expression: |_| {},
        };
        in_query(&mut query, rewrite);
        let folded = Self {
            dataset: Dataset::from_quads(quads),
            query,
        };
        (folded != *self).then_some(folded)
    }

    /// The question without those graphs of FROM NAMED that hold nothing; nothing if there are none.
    pub fn without_empty_graphs(&self) -> Option<Self> {
        let mut changed = self.clone();
        let (Query::Select { dataset, .. }
        | Query::Construct { dataset, .. }
        | Query::Describe { dataset, .. }
        | Query::Ask { dataset, .. }) = &mut changed.query;
        let named = dataset.as_mut()?.named.as_mut()?;
        let before = named.len();
        named.retain(|name| {
            let name = GraphName::from(name.clone());
            self.dataset
                .quads()
                .iter()
                .any(|quad| quad.graph_name == name)
        });
        (named.len() < before).then_some(changed)
    }

    /// The question with arithmetic as it is with numbers of limited length: a result that does not fit is an error, and so is
    /// a quotient of zero and a decimal with a fraction. Nothing if there is no arithmetic.
    pub fn with_short_arithmetic(&self) -> Option<Self> {
        let mut query = self.query.clone();
        let rewrite = Rewrite {
            literal: Literal::clone,
            expression: shorten_arithmetic,
        };
        in_query(&mut query, rewrite);
        (query != self.query).then(|| Self {
            dataset: self.dataset.clone(),
            query,
        })
    }
}

/// What is done to the parts of a query.
#[derive(Clone, Copy)]
struct Rewrite {
    /// To every literal.
    literal: Fold,
    /// To every expression, once it is done to its operands.
    expression: fn(&mut Expression),
}

/// Makes errors of the results that 64 bits, or 128 bits with 18 digits after the point, do not hold.
///
/// `x` made of `a` and `b` becomes `IF(x is no double && (x is too long || a is 0 under a fraction), error, x)`.
fn shorten_arithmetic(expression: &mut Expression) {
    let (a, b) = match expression {
        Expression::Add(a, b)
        | Expression::Subtract(a, b)
        | Expression::Multiply(a, b)
        | Expression::Divide(a, b) => (a.clone(), b.clone()),
        _ => return,
    };
    let call =
        |function, operand: &Expression| Expression::FunctionCall(function, vec![operand.clone()]);
    let number = |text: &str, datatype| {
        Box::new(Expression::Literal(Literal::new_typed_literal(
            text, datatype,
        )))
    };
    let and = |a, b| Expression::And(Box::new(a), Box::new(b));
    let or = |a, b| Expression::Or(Box::new(a), Box::new(b));
    let has_fraction = |operand: &Expression| {
        let floor = call(Function::Floor, operand);
        Expression::Not(Box::new(Expression::Equal(
            Box::new(floor),
            Box::new(operand.clone()),
        )))
    };
    let is_of = |datatypes: &[NamedNodeRef<'_>]| {
        let names = datatypes.iter().map(|name| name.into_owned().into());
        Expression::In(
            Box::new(call(Function::Datatype, expression)),
            names.collect(),
        )
    };
    let beyond = |limit: &str, datatype| {
        let magnitude = call(Function::Abs, expression);
        Expression::Greater(Box::new(magnitude), number(limit, datatype))
    };
    let unit = number("1000000000000000000", xsd::INTEGER);
    let shifted = Expression::Multiply(Box::new(expression.clone()), unit);
    let decimals_max = "170141183460469231731";
    let is_long = or(
        and(
            is_of(&[xsd::INTEGER]),
            beyond("9223372036854775807", xsd::INTEGER),
        ),
        or(has_fraction(&shifted), beyond(decimals_max, xsd::INTEGER)),
    );
    let is_zero = Expression::Equal(a, number("0", xsd::INTEGER));
    let is_share_of_nothing = match expression {
        Expression::Divide(..) => and(is_zero, has_fraction(&b)),
        _ => Expression::Literal(Literal::from(false)),
    };
    let is_refused = and(
        is_of(&[xsd::INTEGER, xsd::DECIMAL]),
        or(is_long, is_share_of_nothing),
    );
    let error = Expression::Coalesce(Vec::new());
    let result = expression.clone();
    *expression = Expression::If(Box::new(is_refused), Box::new(error), Box::new(result));
}

/// A literal in the canonical form of its value, as an engine gives it back that keeps values: types derived from
/// xsd:integer are xsd:integer, and tags are in lower case.
pub fn canonical(literal: &Literal) -> Literal {
    if let Some(tag) = literal.language() {
        let tag = tag.to_lowercase();
        return Literal::new_language_tagged_literal_unchecked(literal.value(), tag);
    }
    let datatype = literal.datatype();
    let text = literal.value();
    let Some(name) = datatype.as_str().strip_prefix(XSD) else {
        return literal.clone();
    };
    let written = match name {
        "boolean" => rewritten::<Boolean>(text),
        "decimal" => rewritten::<Decimal>(text),
        "double" => rewritten::<Double>(text),
        "float" => rewritten::<Float>(text),
        "dateTime" | "dateTimeStamp" => rewritten::<DateTime>(text),
        "date" => rewritten::<Date>(text),
        "time" => rewritten::<Time>(text),
        "gYear" => rewritten::<GYear>(text),
        "gYearMonth" => rewritten::<GYearMonth>(text),
        "gMonth" => rewritten::<GMonth>(text),
        "gMonthDay" => rewritten::<GMonthDay>(text),
        "gDay" => rewritten::<GDay>(text),
        "duration" => rewritten::<Duration>(text),
        "yearMonthDuration" => rewritten::<YearMonthDuration>(text),
        "dayTimeDuration" => rewritten::<DayTimeDuration>(text),
        _ if matches!(Number::parse(name, text), Some(Number::Integer(_))) => {
            let whole = rewritten::<Integer>(text);
            return whole.map_or_else(
                || literal.clone(),
                |text| Literal::new_typed_literal(text, xsd::INTEGER),
            );
        }
        _ => None,
    };
    match written {
        Some(text) => Literal::new_typed_literal(text, datatype.into_owned()),
        None => literal.clone(),
    }
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The datatype of what is no value any more.
const UNKNOWN: &str = "http://example.org/unknown";

/// Digits before and after the point that products of a few numbers can have without leaving 64 bits,
/// or 18 digits after the point.
const DIGITS_MAX: usize = 9;

/// A number with many digits as a literal of a datatype that nobody knows; all else as it is.
pub fn without_long_numbers(literal: &Literal) -> Literal {
    let name = literal.datatype().as_str().strip_prefix(XSD);
    let number = name.and_then(|name| Number::parse(name, literal.value()));
    let exact = number.and_then(|number| Some(Number::Decimal(number.to_decimal()?)));
    let text = exact.map_or_else(String::new, |number| number.text());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.trim_start_matches('-');
    if whole.len().max(fraction.len()) > DIGITS_MAX {
        unknown(literal)
    } else {
        literal.clone()
    }
}

/// What claims to be a number or a boolean and is none, as a literal of a datatype that nobody knows.
pub fn without_ill_typed(literal: &Literal) -> Literal {
    let is_claim = is_number_or_boolean_by_name(&literal.clone().into());
    let is_value = match literal.datatype().as_str().strip_prefix(XSD) {
        Some("boolean") => literal.value().parse::<Boolean>().is_ok(),
        Some(name) => Number::parse(name, literal.value()).is_some(),
        None => false,
    };
    if is_claim && !is_value {
        unknown(literal)
    } else {
        literal.clone()
    }
}

/// Every literal as a string.
pub fn as_text(literal: &Literal) -> Literal {
    Literal::new_simple_literal(literal.value())
}

fn unknown(literal: &Literal) -> Literal {
    Literal::new_typed_literal(literal.value(), NamedNode::new_unchecked(UNKNOWN))
}

fn rewritten<T: FromStr + Display>(text: &str) -> Option<String> {
    Some(text.parse::<T>().ok()?.to_string())
}

fn in_query(query: &mut Query, rewrite: Rewrite) {
    if let Query::Construct { template, .. } = query {
        in_triples(template, rewrite);
    }
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    in_pattern(pattern, rewrite);
}

fn in_triples(triples: &mut [TriplePattern], rewrite: Rewrite) {
    for triple in triples {
        in_node(&mut triple.subject, rewrite);
        in_node(&mut triple.object, rewrite);
    }
}

fn in_node(node: &mut TermPattern, rewrite: Rewrite) {
    if let TermPattern::Literal(literal) = node {
        *literal = (rewrite.literal)(literal);
    }
}

fn in_pattern(pattern: &mut GraphPattern, rewrite: Rewrite) {
    match pattern {
        GraphPattern::Bgp { patterns } => in_triples(patterns, rewrite),
        GraphPattern::Path {
            subject, object, ..
        } => {
            in_node(subject, rewrite);
            in_node(object, rewrite);
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            in_pattern(left, rewrite);
            in_pattern(right, rewrite);
        }
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => {
            in_pattern(left, rewrite);
            in_pattern(right, rewrite);
            in_expressions(expression, rewrite);
        }
        GraphPattern::Filter { expr, inner } => {
            in_expression(expr, rewrite);
            in_pattern(inner, rewrite);
        }
        GraphPattern::Extend {
            inner, expression, ..
        } => {
            in_expression(expression, rewrite);
            in_pattern(inner, rewrite);
        }
        GraphPattern::Values { bindings, .. } => {
            for term in bindings.iter_mut().flatten().flatten() {
                if let GroundTerm::Literal(literal) = term {
                    *literal = (rewrite.literal)(literal);
                }
            }
        }
        GraphPattern::OrderBy { inner, expression } => {
            for OrderExpression::Asc(key) | OrderExpression::Desc(key) in expression {
                in_expression(key, rewrite);
            }
            in_pattern(inner, rewrite);
        }
        GraphPattern::Group {
            inner, aggregates, ..
        } => {
            for (_, aggregate) in aggregates {
                if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                    in_expression(expr, rewrite);
                }
            }
            in_pattern(inner, rewrite);
        }
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Service { inner, .. } => in_pattern(inner, rewrite),
    }
}

fn in_expressions<'a>(list: impl IntoIterator<Item = &'a mut Expression>, rewrite: Rewrite) {
    for expression in list {
        in_expression(expression, rewrite);
    }
}

fn in_expression(expression: &mut Expression, rewrite: Rewrite) {
    match expression {
        Expression::Literal(literal) => *literal = (rewrite.literal)(literal),
        Expression::NamedNode(_) | Expression::Variable(_) | Expression::Bound(_) => {}
        Expression::Or(a, b)
        | Expression::And(a, b)
        | Expression::Equal(a, b)
        | Expression::SameTerm(a, b)
        | Expression::Greater(a, b)
        | Expression::GreaterOrEqual(a, b)
        | Expression::Less(a, b)
        | Expression::LessOrEqual(a, b)
        | Expression::Add(a, b)
        | Expression::Subtract(a, b)
        | Expression::Multiply(a, b)
        | Expression::Divide(a, b) => in_expressions([&mut **a, &mut **b], rewrite),
        Expression::Not(a) | Expression::UnaryPlus(a) | Expression::UnaryMinus(a) => {
            in_expression(a, rewrite);
        }
        Expression::In(a, list) => {
            in_expression(a, rewrite);
            in_expressions(list, rewrite);
        }
        Expression::If(a, b, c) => in_expressions([&mut **a, &mut **b, &mut **c], rewrite),
        Expression::Coalesce(list) | Expression::FunctionCall(_, list) => {
            in_expressions(list, rewrite);
        }
        Expression::Exists(pattern) => in_pattern(pattern, rewrite),
    }
    (rewrite.expression)(expression);
}

#[cfg(test)]
mod tests {
    use super::{Question, as_text, canonical, without_ill_typed, without_long_numbers};
    use crate::dataset::Dataset;
    use oxrdf::{GraphName, Literal, NamedNode, Quad};
    use spargebra::SparqlParser;

    fn typed(text: &str, name: &str) -> Literal {
        let datatype = format!("http://www.w3.org/2001/XMLSchema#{name}");
        Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype))
    }

    #[test]
    fn a_value_has_one_spelling() {
        for (text, name, right) in [
            ("-0", "integer", "0"),
            ("+07", "integer", "7"),
            ("1.50", "decimal", "1.5"),
            ("1.0E2", "double", "100"),
            ("1", "boolean", "true"),
            ("PT36H", "dayTimeDuration", "P1DT12H"),
            ("24:00:00", "time", "00:00:00"),
            (
                "2020-01-01T00:00:00.250Z",
                "dateTime",
                "2020-01-01T00:00:00.25Z",
            ),
            ("many", "integer", "many"),
            (
                "340282366920938463463374607431768211456",
                "integer",
                "340282366920938463463374607431768211456",
            ),
        ] {
            assert_eq!(canonical(&typed(text, name)), typed(right, name), "{text}");
        }
        assert_eq!(canonical(&typed("007", "byte")), typed("7", "integer"));
        let tagged = |tag| Literal::new_language_tagged_literal_unchecked("a", tag);
        assert_eq!(canonical(&tagged("En-GB")), tagged("en-gb"));
    }

    #[test]
    fn long_numbers_are_none_any_more() {
        for (text, name) in [
            ("1000000007", "int"),
            ("-0.0000000001", "decimal"),
            ("1.0E30", "double"),
        ] {
            let folded = without_long_numbers(&typed(text, name));
            assert_eq!(folded.datatype().as_str(), super::UNKNOWN, "{text}");
        }
        for (text, name) in [
            ("000000000007", "integer"),
            ("INF", "double"),
            ("1234567890", "string"),
        ] {
            assert_eq!(without_long_numbers(&typed(text, name)), typed(text, name));
        }
    }

    #[test]
    fn foldings_take_out_what_they_say_and_no_more() {
        let is_unknown = |literal: Literal| literal.datatype().as_str() == super::UNKNOWN;
        for (text, name, is_ill) in [
            ("many", "integer", true),
            ("yes", "boolean", true),
            ("1", "boolean", false),
            ("7", "byte", false),
            ("2020-02-30", "date", false),
            ("P1Y", "yearMonthDuration", false),
            ("PT1H", "duration", false),
            ("many", "string", false),
        ] {
            let literal = typed(text, name);
            assert_eq!(is_unknown(without_ill_typed(&literal)), is_ill, "{literal}");
            assert_eq!(as_text(&literal), Literal::from(text));
        }
    }

    #[test]
    fn literals_are_folded_wherever_they_stand_and_a_folding_of_nothing_is_none() {
        let question = |object: &str, text: &str| {
            let iri = NamedNode::new_unchecked("http://a/s");
            let quad = Quad::new(
                iri.clone(),
                iri,
                typed(object, "integer"),
                GraphName::DefaultGraph,
            );
            Question {
                dataset: Dataset::from_quads([quad]),
                query: SparqlParser::new().parse_query(text).expect("it parses"),
            }
        };
        let spelled = |n: &str| {
            question(
                n,
                &format!(
                    "CONSTRUCT {{ ?s ?p {n} }} {{ ?s ?p {n} ; <http://a/q>* {n} OPTIONAL {{ ?s ?r ?t FILTER(?t < {n}) }}
                     {{ SELECT ?s (SUM(?x + {n}) AS ?y) {{ VALUES ?x {{ {n} }} BIND(IF(?x = {n}, {n}, -{n}) AS ?z)
                     FILTER(EXISTS {{ ?s ?p {n} }} || ?x IN (1, {n}) || COALESCE(?u, {n}) > ABS({n})) }}
                     GROUP BY ?s ORDER BY (?s * {n}) }} MINUS {{ {{ ?s ?p {n} }} UNION {{ GRAPH ?g {{ ?s ?p {n} }} }} }} }}"
                ),
            )
        };
        // With its quotes: the parser's names of aggregates are made of random digits.
        let spellings = |question: &Question| question.query.to_string().matches("\"007\"").count();
        let odd = spelled("007");
        assert_eq!(spellings(&odd), 16);
        let folded = odd.folded(canonical).expect("there is something to fold");
        assert_eq!(spellings(&folded), 0);
        assert_eq!(folded.dataset, spelled("7").dataset);
        assert_eq!(folded.folded(canonical), None);
    }
}
