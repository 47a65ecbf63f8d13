//! What Oxigraph is known to answer otherwise than the standard says, recognised by the query alone.
//!
//! [`deviation`] is kept as narrow as the cause allows: a query that it names is not compared with
//! Oxigraph, all others are, and what differs then is somebody's mistake. Each reason was seen in a
//! difference between the two oracles and decided by the text of the standard.

use oxrdf::vocab::xsd;
use spargebra::Query;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression,
    PropertyPathExpression,
};
use spargebra::term::{NamedNodePattern, TermPattern, Variable};

/// Why Oxigraph may answer a query otherwise, if a reason is known.
pub fn deviation(query: &Query) -> Option<&'static str> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    if matches!(query, Query::Describe { .. }) {
        return Some("DESCRIBE is left open, and Oxigraph describes every graph");
    }
    if query
        .dataset()
        .is_some_and(|clauses| clauses.default.len() > 1)
    {
        return Some("a triple that several FROM graphs have is found several times");
    }
    of_pattern(pattern, Place::default())
}

const SUBSELECT_IN_GRAPH: &str = "a subselect inside GRAPH ?g takes all graphs together";

/// What is around a pattern.
#[derive(Clone, Copy, Default)]
struct Place<'q> {
    /// Whether bindings from outside reach the pattern in Oxigraph, which runs the right side of a join for each
    /// row of the left side, where the algebra joins two bags.
    is_fed: bool,
    /// Whether it is inside GRAPH.
    in_graph: bool,
    /// The variable of the GRAPH that it is inside of.
    graph: Option<&'q Variable>,
}

fn of_pattern<'q>(pattern: &'q GraphPattern, place: Place<'q>) -> Option<&'static str> {
    let fed = Place {
        is_fed: true,
        ..place
    };
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Values { .. } => None,
        GraphPattern::Path {
            subject,
            path,
            object,
        } => of_path(subject, path, object),
        GraphPattern::Join { left, right } => {
            of_pattern(left, fed).or_else(|| of_pattern(right, fed))
        }
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => of_pattern(left, place)
            .or_else(|| of_pattern(right, fed))
            .or_else(|| expression.as_ref().and_then(|e| of_expression(e, fed))),
        GraphPattern::Minus { left, right } => {
            if place.is_fed {
                return Some("MINUS inside a group sees the bindings around it");
            }
            of_pattern(left, place).or_else(|| of_pattern(right, Place::default()))
        }
        GraphPattern::Union { left, right } => {
            of_pattern(left, place).or_else(|| of_pattern(right, place))
        }
        GraphPattern::Filter { expr, inner } => {
            of_expression(expr, place).or_else(|| of_pattern(inner, place))
        }
        GraphPattern::Graph { name, inner } => {
            if matches!(name, NamedNodePattern::Variable(_)) && place.in_graph {
                return Some("GRAPH inside GRAPH");
            }
            if !reads_graph(inner) {
                return Some("GRAPH around VALUES has no graph");
            }
            let inside = Place {
                in_graph: true,
                graph: match name {
                    NamedNodePattern::Variable(variable) => Some(variable),
                    NamedNodePattern::NamedNode(_) => None,
                },
                ..place
            };
            of_pattern(inner, inside)
        }
        GraphPattern::Extend {
            inner, expression, ..
        } => of_expression(expression, place).or_else(|| of_pattern(inner, place)),
        other => of_modifier(other, place),
    }
}

/// Whether each solution of a pattern comes from a part that looks at the graph; the empty pattern does.
fn reads_graph(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => true,
        GraphPattern::Join { left, right } => reads_graph(left) || reads_graph(right),
        GraphPattern::Union { left, right } => reads_graph(left) && reads_graph(right),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => reads_graph(left),
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Group { inner, .. } => reads_graph(inner),
        _ => false,
    }
}

fn of_modifier<'q>(pattern: &'q GraphPattern, place: Place<'q>) -> Option<&'static str> {
    match pattern {
        GraphPattern::OrderBy { inner, expression } => {
            let keys = expression.iter().find_map(|key| match key {
                OrderExpression::Asc(e) | OrderExpression::Desc(e) => of_expression(e, place),
            });
            keys.or_else(|| of_pattern(inner, place))
        }
        GraphPattern::Group {
            inner, aggregates, ..
        } => place
            .graph
            .is_some()
            .then_some(SUBSELECT_IN_GRAPH)
            .or_else(|| {
                let mut aggregates = aggregates.iter();
                aggregates.find_map(|(_, aggregate)| of_aggregate(aggregate, place))
            })
            .or_else(|| of_pattern(inner, place)),
        GraphPattern::Reduced { .. } => Some("REDUCED drops some duplicates, as it may"),
        GraphPattern::Project { inner, variables } => match place.graph {
            Some(graph) if !variables.contains(graph) => Some(SUBSELECT_IN_GRAPH),
            _ => of_pattern(inner, place),
        },
        GraphPattern::Slice { .. } if place.graph.is_some() => Some(SUBSELECT_IN_GRAPH),
        GraphPattern::Distinct { inner } | GraphPattern::Slice { inner, .. } => {
            of_pattern(inner, place)
        }
        _ => None,
    }
}

fn of_path(
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
) -> Option<&'static str> {
    let is_constant =
        |end: &TermPattern| matches!(end, TermPattern::NamedNode(_) | TermPattern::Literal(_));
    if has_zero(path) && (is_constant(subject) || is_constant(object)) {
        return Some("a term that is not in the graph does not reach itself in no steps");
    }
    has_alternative(path).then_some("alternatives of a path drop duplicates")
}

fn has_zero(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as Path;
    match path {
        Path::NamedNode(_) | Path::NegatedPropertySet(_) => false,
        Path::ZeroOrMore(_) | Path::ZeroOrOne(_) => true,
        Path::Reverse(inner) | Path::OneOrMore(inner) => has_zero(inner),
        Path::Sequence(a, b) | Path::Alternative(a, b) => has_zero(a) || has_zero(b),
    }
}

/// Whether a path has alternatives outside of closures, which make sets anyway.
fn has_alternative(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as Path;
    match path {
        Path::Alternative(..) => true,
        Path::Reverse(inner) => has_alternative(inner),
        Path::Sequence(a, b) => has_alternative(a) || has_alternative(b),
        _ => false,
    }
}

fn of_aggregate<'q>(aggregate: &'q AggregateExpression, place: Place<'q>) -> Option<&'static str> {
    match aggregate {
        AggregateExpression::CountSolutions { distinct: true } => Some(
            "COUNT(DISTINCT *) counts solutions that differ in a blank node of the pattern only",
        ),
        AggregateExpression::CountSolutions { .. } => None,
        AggregateExpression::FunctionCall { expr, name, .. } => {
            let is_counted = matches!(name, AggregateFunction::Count | AggregateFunction::Sample);
            of_expression(expr, place).or(match expr {
                Expression::Variable(_) => None,
                _ if is_counted => {
                    Some("COUNT of an expression fails as soon as one row is an error")
                }
                _ => None,
            })
        }
    }
}

/// Whether an expression can only have a value of a type that the operators order.
fn is_ordered(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(literal) => {
            literal.datatype() == xsd::STRING
                || literal.datatype() == xsd::INTEGER
                || literal.datatype() == xsd::DECIMAL
                || literal.datatype() == xsd::DOUBLE
                || literal.datatype() == xsd::DATE_TIME
        }
        Expression::Add(..)
        | Expression::Subtract(..)
        | Expression::Multiply(..)
        | Expression::Divide(..)
        | Expression::UnaryMinus(_) => true,
        Expression::FunctionCall(function, _) => matches!(
            function,
            Function::StrLen | Function::Str | Function::Year | Function::Month | Function::Day
        ),
        _ => false,
    }
}

/// Whether it is a number near the largest that Oxigraph computes with.
fn is_long_number(expression: &Expression) -> bool {
    matches!(expression, Expression::Literal(literal)
        if literal.value().bytes().filter(u8::is_ascii_digit).count() >= 18)
}

fn of_expression<'q>(expression: &'q Expression, place: Place<'q>) -> Option<&'static str> {
    let many = |list: &'q [Expression]| list.iter().find_map(|e| of_expression(e, place));
    match expression {
        Expression::Greater(a, b)
        | Expression::GreaterOrEqual(a, b)
        | Expression::Less(a, b)
        | Expression::LessOrEqual(a, b) => of_expression(a, place)
            .or_else(|| of_expression(b, place))
            .or((!is_ordered(a) && !is_ordered(b))
                .then_some("terms are ordered that the table of operators does not order")),
        Expression::Or(a, b)
        | Expression::And(a, b)
        | Expression::Equal(a, b)
        | Expression::SameTerm(a, b) => of_expression(a, place).or_else(|| of_expression(b, place)),
        Expression::Add(a, b)
        | Expression::Subtract(a, b)
        | Expression::Multiply(a, b)
        | Expression::Divide(a, b) => of_expression(a, place)
            .or_else(|| of_expression(b, place))
            .or((is_long_number(a) || is_long_number(b)).then_some(
                "integers have 64 bits and decimals 38 digits, and a result beyond has no value",
            )),
        Expression::Not(a) | Expression::UnaryPlus(a) | Expression::UnaryMinus(a) => {
            of_expression(a, place)
        }
        Expression::In(a, list) => of_expression(a, place).or_else(|| many(list)),
        Expression::If(a, b, c) => of_expression(a, place)
            .or_else(|| of_expression(b, place))
            .or_else(|| of_expression(c, place)),
        Expression::Coalesce(list) => many(list),
        Expression::Exists(pattern) => of_pattern(
            pattern,
            Place {
                is_fed: true,
                ..place
            },
        ),
        Expression::FunctionCall(function, list) => match function {
            Function::Replace => Some("REPLACE takes patterns that match the empty string"),
            Function::SubStr => Some("SUBSTR takes positions of type xsd:integer only"),
            _ => many(list),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::deviation;
    use spargebra::SparqlParser;

    fn is_known(text: &str) -> bool {
        let query = SparqlParser::new().parse_query(text).expect("it parses");
        deviation(&query).is_some()
    }

    #[test]
    fn only_queries_with_the_cause_are_named() {
        assert!(!is_known("SELECT * { ?s ?p ?o MINUS { ?o ?q ?r } }"));
        assert!(is_known(
            "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r MINUS { ?r ?t ?u } } }"
        ));
        assert!(!is_known("SELECT * { ?s ?p ?o FILTER(?o < 5) }"));
        assert!(is_known("SELECT * { ?s ?p ?o FILTER(?o < ?s) }"));
        assert!(!is_known("SELECT (?o * 99 AS ?x) { ?s ?p ?o }"));
        assert!(is_known(
            "SELECT (?o * 9223372036854775807 AS ?x) { ?s ?p ?o }"
        ));
        assert!(!is_known(
            "SELECT * { GRAPH <http://a/g> { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }"
        ));
        assert!(is_known(
            "SELECT * { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }"
        ));
        assert!(is_known("SELECT * { GRAPH ?g { SELECT ?s { ?s ?p ?o } } }"));
        assert!(!is_known(
            "SELECT * { GRAPH ?g { SELECT ?s ?g { ?s ?p ?o } } }"
        ));
        assert!(is_known("SELECT * { GRAPH ?g { VALUES ?x { 1 2 } } }"));
        assert!(!is_known(
            "SELECT * { GRAPH ?g { ?s ?p ?x VALUES ?x { 1 2 } } }"
        ));
        assert!(!is_known("SELECT * { ?s <http://a/p>+ ?o }"));
        assert!(is_known("SELECT * { <http://a/s> <http://a/p>* ?o }"));
        assert!(!is_known("SELECT (COUNT(?s) AS ?n) { ?s ?p ?o }"));
        assert!(is_known("SELECT (COUNT(?s + 1) AS ?n) { ?s ?p ?o }"));
    }
}
