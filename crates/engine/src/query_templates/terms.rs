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

/// Where a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The subject or the object of a triple, also of one that CONSTRUCT makes.
    End,
    /// A value in an expression.
    Value,
    /// A predicate, a graph, a part or an end of a path, a function, a cell of VALUES, anything in SERVICE.
    Other,
}

/// Visits the terms of a query; those of its dataset and its base are none of them.
pub fn visit_terms(query: &mut Query, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
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

fn of_pattern(pattern: &mut GraphPattern, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    match pattern {
        GraphPattern::Bgp { patterns } => of_triples(patterns, visit),
        GraphPattern::Path {
            subject,
            path,
            object,
        } => {
            of_term(subject, Role::Other, visit);
            of_path(path, visit);
            of_term(object, Role::Other, visit);
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
            expression.iter_mut().for_each(|e| of_expression(e, visit));
        }
        GraphPattern::Filter { expr, inner } => {
            of_expression(expr, visit);
            of_pattern(inner, visit);
        }
        GraphPattern::Graph { name, inner } => {
            of_name(name, visit);
            of_pattern(inner, visit);
        }
        GraphPattern::Service { name, inner, .. } => {
            of_name(name, visit);
            of_pattern(inner, &mut |term, _| visit(term, Role::Other));
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

fn of_triples(triples: &mut [TriplePattern], visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    for triple in triples {
        of_term(&mut triple.subject, Role::End, visit);
        of_name(&mut triple.predicate, visit);
        of_term(&mut triple.object, Role::End, visit);
    }
}

fn of_bindings(rows: &mut [Vec<Option<GroundTerm>>], visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    for term in rows.iter_mut().flatten().flatten() {
        match term {
            GroundTerm::NamedNode(iri) => visit(TermMut::Iri(iri), Role::Other),
            GroundTerm::Literal(literal) => visit(TermMut::Literal(literal), Role::Other),
        }
    }
}

fn of_term(term: &mut TermPattern, role: Role, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    match term {
        TermPattern::NamedNode(iri) => visit(TermMut::Iri(iri), role),
        TermPattern::Literal(literal) => visit(TermMut::Literal(literal), role),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => {}
    }
}

fn of_name(name: &mut NamedNodePattern, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    if let NamedNodePattern::NamedNode(iri) = name {
        visit(TermMut::Iri(iri), Role::Other);
    }
}

fn of_path(path: &mut PropertyPathExpression, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    use PropertyPathExpression as Path;
    match path {
        Path::NamedNode(iri) => visit(TermMut::Iri(iri), Role::Other),
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
                visit(TermMut::Iri(iri), Role::Other);
            }
        }
    }
}

fn of_expression(expression: &mut Expression, visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    match expression {
        Expression::NamedNode(iri) => visit(TermMut::Iri(iri), Role::Value),
        Expression::Literal(literal) => visit(TermMut::Literal(literal), Role::Value),
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
                visit(TermMut::Iri(iri), Role::Other);
            }
            of_all(arguments, visit);
        }
    }
}

fn of_all(expressions: &mut [Expression], visit: &mut dyn FnMut(TermMut<'_>, Role)) {
    for expression in expressions {
        of_expression(expression, visit);
    }
}
