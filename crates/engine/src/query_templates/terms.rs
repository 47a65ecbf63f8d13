//! A walk over all IRIs and literals of a query's patterns and expressions, in an order that depends on its structure alone.

use oxrdf::{Literal, NamedNode};
use spargebra::Query;
use spargebra::algebra::{
    AggregateExpression, Expression, Function, GraphPattern, OrderExpression,
    PropertyPathExpression,
};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

/// A term in a query.
pub enum TermMut<'a> {
    /// An IRI.
    Iri(&'a mut NamedNode),
    /// A literal.
    Literal(&'a mut Literal),
}

/// Visits the terms of a query; those of its dataset and its base are none of them.
pub fn visit_terms(query: &mut Query, visit: &mut impl FnMut(TermMut<'_>)) {
    match query {
        Query::Select { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. } => of_pattern(pattern, visit),
        Query::Construct {
            template, pattern, ..
        } => {
            of_triples(template, visit);
            of_pattern(pattern, visit);
        }
    }
}

fn of_pattern(pattern: &mut GraphPattern, visit: &mut impl FnMut(TermMut<'_>)) {
    match pattern {
        GraphPattern::Bgp { patterns } => of_triples(patterns, visit),
        GraphPattern::Path {
            subject,
            path,
            object,
        } => {
            of_term(subject, visit);
            of_path(path, visit);
            of_term(object, visit);
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            of_pattern(left, visit);
            of_pattern(right, visit);
        }
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => {
            of_pattern(left, visit);
            of_pattern(right, visit);
            if let Some(expression) = expression {
                of_expression(expression, visit);
            }
        }
        GraphPattern::Filter { expr, inner } => {
            of_expression(expr, visit);
            of_pattern(inner, visit);
        }
        GraphPattern::Graph { name, inner } | GraphPattern::Service { name, inner, .. } => {
            of_name(name, visit);
            of_pattern(inner, visit);
        }
        GraphPattern::Extend {
            inner, expression, ..
        } => {
            of_pattern(inner, visit);
            of_expression(expression, visit);
        }
        GraphPattern::Values { bindings, .. } => of_bindings(bindings, visit),
        GraphPattern::OrderBy { inner, expression } => {
            of_pattern(inner, visit);
            for OrderExpression::Asc(by) | OrderExpression::Desc(by) in expression {
                of_expression(by, visit);
            }
        }
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => of_pattern(inner, visit),
        GraphPattern::Group {
            inner, aggregates, ..
        } => {
            of_pattern(inner, visit);
            for (_, aggregate) in aggregates {
                if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                    of_expression(expr, visit);
                }
            }
        }
    }
}

fn of_triples(triples: &mut [TriplePattern], visit: &mut impl FnMut(TermMut<'_>)) {
    for triple in triples {
        of_term(&mut triple.subject, visit);
        of_name(&mut triple.predicate, visit);
        of_term(&mut triple.object, visit);
    }
}

fn of_bindings(rows: &mut [Vec<Option<GroundTerm>>], visit: &mut impl FnMut(TermMut<'_>)) {
    for term in rows.iter_mut().flatten().flatten() {
        match term {
            GroundTerm::NamedNode(iri) => visit(TermMut::Iri(iri)),
            GroundTerm::Literal(literal) => visit(TermMut::Literal(literal)),
        }
    }
}

fn of_term(term: &mut TermPattern, visit: &mut impl FnMut(TermMut<'_>)) {
    match term {
        TermPattern::NamedNode(iri) => visit(TermMut::Iri(iri)),
        TermPattern::Literal(literal) => visit(TermMut::Literal(literal)),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => {}
    }
}

fn of_name(name: &mut NamedNodePattern, visit: &mut impl FnMut(TermMut<'_>)) {
    if let NamedNodePattern::NamedNode(iri) = name {
        visit(TermMut::Iri(iri));
    }
}

fn of_path(path: &mut PropertyPathExpression, visit: &mut impl FnMut(TermMut<'_>)) {
    use PropertyPathExpression as Path;
    match path {
        Path::NamedNode(iri) => visit(TermMut::Iri(iri)),
        Path::Reverse(inner)
        | Path::ZeroOrMore(inner)
        | Path::OneOrMore(inner)
        | Path::ZeroOrOne(inner) => of_path(inner, visit),
        Path::Sequence(left, right) | Path::Alternative(left, right) => {
            of_path(left, visit);
            of_path(right, visit);
        }
        Path::NegatedPropertySet(iris) => {
            for iri in iris {
                visit(TermMut::Iri(iri));
            }
        }
    }
}

fn of_expression(expression: &mut Expression, visit: &mut impl FnMut(TermMut<'_>)) {
    match expression {
        Expression::NamedNode(iri) => visit(TermMut::Iri(iri)),
        Expression::Literal(literal) => visit(TermMut::Literal(literal)),
        Expression::Variable(_) | Expression::Bound(_) => {}
        Expression::Or(left, right)
        | Expression::And(left, right)
        | Expression::Equal(left, right)
        | Expression::SameTerm(left, right)
        | Expression::Greater(left, right)
        | Expression::GreaterOrEqual(left, right)
        | Expression::Less(left, right)
        | Expression::LessOrEqual(left, right)
        | Expression::Add(left, right)
        | Expression::Subtract(left, right)
        | Expression::Multiply(left, right)
        | Expression::Divide(left, right) => {
            of_expression(left, visit);
            of_expression(right, visit);
        }
        Expression::UnaryPlus(inner) | Expression::UnaryMinus(inner) | Expression::Not(inner) => {
            of_expression(inner, visit);
        }
        Expression::In(inner, others) => {
            of_expression(inner, visit);
            of_all(others, visit);
        }
        Expression::Exists(pattern) => of_pattern(pattern, visit),
        Expression::If(condition, then, otherwise) => {
            of_expression(condition, visit);
            of_expression(then, visit);
            of_expression(otherwise, visit);
        }
        Expression::Coalesce(inner) => of_all(inner, visit),
        Expression::FunctionCall(function, arguments) => {
            if let Function::Custom(iri) = function {
                visit(TermMut::Iri(iri));
            }
            of_all(arguments, visit);
        }
    }
}

fn of_all(expressions: &mut [Expression], visit: &mut impl FnMut(TermMut<'_>)) {
    for expression in expressions {
        of_expression(expression, visit);
    }
}
