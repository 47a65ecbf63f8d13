//! Tests of expressions: every function against values from the specification, logic with errors, zones,
//! long numbers, and fast kernels against the general ones.

mod blended;
mod by_column;
mod by_kind;
mod fast_paths;
mod functions;
mod long_numbers;
mod number_comparisons;
mod numbers;
mod operators;
mod solutions;

use super::CompiledExpr;
use super::comparison::CompareOp;
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use basalt_plan::physical::{Constant, Expr, Slot};
use basalt_store::Snapshot;
use oxrdf::Term;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::{Query, SparqlParser};
use std::sync::{Arc, LazyLock};

/// All of them.
const COMPARISONS: [CompareOp; 5] = [
    CompareOp::Equal,
    CompareOp::Less,
    CompareOp::LessOrEqual,
    CompareOp::Greater,
    CompareOp::GreaterOrEqual,
];

/// A query over nothing, the same for every test.
pub fn context() -> Arc<Context> {
    static CONTEXT: LazyLock<Arc<Context>> =
        LazyLock::new(|| Context::new(Snapshot::empty(), ExecOptions::default(), 0));
    Arc::clone(&CONTEXT)
}

/// The expression of this text; `?a`, `?b` and `?c` are the slots 0, 1 and 2.
pub fn parse(text: &str) -> Expr {
    let query =
        format!("PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT (({text}) AS ?x) {{ }}");
    let query = SparqlParser::new()
        .parse_query(&query)
        .expect("the expression is SPARQL");
    let Query::Select {
        pattern: GraphPattern::Project { inner, .. },
        ..
    } = query
    else {
        unreachable!("a SELECT query projects");
    };
    let GraphPattern::Extend { expression, .. } = *inner else {
        unreachable!("the expression is bound to a variable");
    };
    translate(&expression)
}

fn constant(term: impl Into<Term>) -> Expr {
    Expr::Constant(Constant {
        term: term.into(),
        id: None,
    })
}

fn slot(name: &str) -> Slot {
    Slot(u16::from(name.as_bytes()[0] - b'a'))
}

fn translate(expression: &Expression) -> Expr {
    let one = |e: &Expression| Box::new(translate(e));
    let pair = |a: &Expression, b: &Expression| (one(a), one(b));
    let many = |list: &[Expression]| list.iter().map(translate).collect();
    match expression {
        Expression::NamedNode(node) => constant(node.clone()),
        Expression::Literal(literal) => constant(literal.clone()),
        Expression::Variable(variable) => Expr::Slot(slot(variable.as_str())),
        Expression::Bound(variable) => Expr::Bound(slot(variable.as_str())),
        Expression::Or(a, b) => Expr::Or(vec![translate(a), translate(b)]),
        Expression::And(a, b) => Expr::And(vec![translate(a), translate(b)]),
        Expression::Not(a) => Expr::Not(one(a)),
        Expression::Equal(a, b) => Expr::Equal(one(a), one(b)),
        Expression::SameTerm(a, b) => Expr::SameTerm(one(a), one(b)),
        Expression::Less(a, b) => Expr::Less(one(a), one(b)),
        Expression::LessOrEqual(a, b) => Expr::LessOrEqual(one(a), one(b)),
        Expression::Greater(a, b) => {
            let (a, b) = pair(a, b);
            Expr::Less(b, a)
        }
        Expression::GreaterOrEqual(a, b) => {
            let (a, b) = pair(a, b);
            Expr::LessOrEqual(b, a)
        }
        Expression::In(a, list) => Expr::In(one(a), many(list)),
        Expression::Add(a, b) => Expr::Add(one(a), one(b)),
        Expression::Subtract(a, b) => Expr::Subtract(one(a), one(b)),
        Expression::Multiply(a, b) => Expr::Multiply(one(a), one(b)),
        Expression::Divide(a, b) => Expr::Divide(one(a), one(b)),
        Expression::UnaryPlus(a) => Expr::UnaryPlus(one(a)),
        Expression::UnaryMinus(a) => Expr::UnaryMinus(one(a)),
        Expression::If(a, b, c) => Expr::If(one(a), one(b), one(c)),
        Expression::Coalesce(list) => Expr::Coalesce(many(list)),
        Expression::FunctionCall(function, list) => Expr::Call(function.clone(), many(list)),
        Expression::Exists(_) => unreachable!("tests of EXISTS need data"),
    }
}

/// The ids of an expression in rows of the slots 0, 1, ...
pub fn evaluate(text: &str, columns: Vec<Vec<u64>>, cx: &Context) -> Vec<u64> {
    let schema: Vec<Slot> = (0..columns.len() as u16).map(Slot).collect();
    let rows = columns.first().map_or(1, Vec::len);
    let batch = Batch::from_vectors(columns, rows);
    CompiledExpr::compile(&parse(text), &schema, cx)
        .and_then(|compiled| compiled.evaluate(&batch, cx))
        .expect("the expression runs")
}

/// The id of a constant expression.
pub fn id_of(text: &str, cx: &Context) -> u64 {
    evaluate(text, Vec::new(), cx)[0]
}

/// The N-Triples form of an id, `error` for 0.
pub fn show(id: u64, cx: &Context) -> String {
    if id == 0 {
        return "error".to_owned();
    }
    let term = cx
        .terms()
        .term(basalt_rdf::TermId(id))
        .expect("the id is known");
    term.to_string()
        .replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
}

/// Asserts the results of constant expressions.
pub fn assert_results(cases: &[(&str, &str)]) {
    let cx = context();
    for (text, expected) in cases {
        assert_eq!(show(id_of(text, &cx), &cx), *expected, "{text}");
    }
}
