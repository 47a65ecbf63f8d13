//! Expressions of generated queries: conditions for FILTER and values for BIND.
//!
//! Left out, since SPARQL makes them errors and Oxigraph gives them a value, which it may: `<=` and
//! `>=` between IRIs or blank nodes, order of language-tagged strings and of booleans.

use super::pattern::{Scope, iri};
use super::{Generator, Kind};
use crate::random_data::{CLASSES, LANGUAGES, Range, TEXTS};

impl Generator {
    /// A condition over the variables in scope.
    pub(super) fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        match self.random.below(14) {
            0 => format!(
                "{} && {}",
                self.simple_condition(scope),
                self.simple_condition(scope)
            ),
            1 => format!(
                "{} || {}",
                self.simple_condition(scope),
                self.simple_condition(scope)
            ),
            2 => format!("!({})", self.simple_condition(scope)),
            3 | 4 if self.options.exists && depth > 0 => self.exists(scope),
            5 => match self.random.pick(&scope.names()) {
                Some(name) => format!("BOUND({name})"),
                None => "true".to_owned(),
            },
            6 => format!(
                "COALESCE({}, {}, false)",
                self.simple_condition(scope),
                self.simple_condition(scope)
            ),
            _ => self.simple_condition(scope),
        }
    }

    /// EXISTS over stars and a filter; the group has no MINUS, OPTIONAL or subquery, for which
    /// substitution is not well defined.
    fn exists(&mut self, scope: &Scope) -> String {
        let mut inner = scope.clone();
        let saved = self.options;
        self.options.exists = false;
        let body = self.group(&mut inner, 0);
        self.options = saved;
        let not = if self.random.chance(50) { "NOT " } else { "" };
        format!("{not}EXISTS {{ {body} }}")
    }

    /// One comparison or test of one variable.
    fn simple_condition(&mut self, scope: &Scope) -> String {
        let Some((name, kind)) = self.random.pick(scope.variables()).cloned() else {
            return "true".to_owned();
        };
        match kind {
            Kind::Resource(class_idx) => self.resource_condition(scope, &name, class_idx),
            Kind::Value(range) => self.value_condition(scope, &name, range),
            Kind::Predicate => {
                let properties = CLASSES[self.class_idx()].properties;
                let property = properties[self.random.below(properties.len())];
                format!("{name} != {}", iri(property.name))
            }
            Kind::Graph => format!("{name} = {}", iri("g1")),
            Kind::Any => match self.random.below(3) {
                0 => format!("isLiteral({name})"),
                1 => format!("isNumeric({name})"),
                _ => format!("STRLEN(STR({name})) > {}", self.random.below(12)),
            },
        }
    }

    fn resource_condition(&mut self, scope: &Scope, name: &str, class_idx: usize) -> String {
        let constant = self.constant(Range::Link(class_idx));
        let others = scope.of_kind(|kind| matches!(kind, Kind::Resource(_)));
        match self.random.below(6) {
            0 => format!("{name} = {constant}"),
            1 => format!("{name} != {constant}"),
            2 => {
                let second = self.constant(Range::Link(class_idx));
                let not = if self.random.chance(50) { "NOT " } else { "" };
                format!("{name} {not}IN ({constant}, {second})")
            }
            3 => format!("isIRI({name})"),
            4 => format!("isBlank({name})"),
            _ => match self.random.pick(&others) {
                Some(other) => format!("{name} != {other}"),
                None => format!("sameTerm({name}, {constant})"),
            },
        }
    }

    fn value_condition(&mut self, scope: &Scope, name: &str, range: Range) -> String {
        let constant = self.constant(range);
        let operators = ["=", "!=", "<", "<=", ">", ">="];
        let operator = operators[self.random.below(operators.len())];
        let equality = operators[self.random.below(2)];
        match range {
            Range::Integer | Range::Decimal | Range::Double | Range::Float => {
                match self.random.below(5) {
                    0 => format!("{name} * 2 - 1 {operator} {constant}"),
                    1 => match self.number_variable(scope) {
                        Some(other) => format!("{name} < {other}"),
                        None => format!("{name} IN ({constant}, 1, 2.5)"),
                    },
                    2 => format!("{name} IN ({constant}, 1, 2.5)"),
                    3 => format!("{name} / 4 {operator} 0.5"),
                    _ => format!("{name} {operator} {constant}"),
                }
            }
            Range::Text => match self.random.below(6) {
                0 => format!("REGEX({name}, \"^a\", \"i\")"),
                1 => format!("CONTAINS({name}, \"b\")"),
                2 => format!("STRSTARTS(LCASE({name}), \"a\")"),
                3 => format!("STRLEN({name}) {operator} 3"),
                4 => format!("{name} {equality} {constant}"),
                _ => format!("{name} {operator} {constant}"),
            },
            Range::LangText => match self.random.below(4) {
                0 => format!(
                    "LANG({name}) = \"{}\"",
                    LANGUAGES[self.random.below(LANGUAGES.len())]
                ),
                1 => format!("LANGMATCHES(LANG({name}), \"en\")"),
                2 => format!("STR({name}) = \"{}\"", TEXTS[self.random.below(4)]),
                _ => format!("{name} {equality} {constant}"),
            },
            Range::Boolean => match self.random.below(3) {
                0 => name.to_owned(),
                1 => format!("!{name}"),
                _ => format!("{name} {equality} {constant}"),
            },
            Range::Date | Range::DateTime => match self.random.below(3) {
                0 => format!("YEAR({name}) {operator} 2019"),
                1 => format!("MONTH({name}) {operator} {}", 1 + self.random.below(9)),
                _ => format!("{name} {operator} {constant}"),
            },
            Range::Custom => match self.random.below(3) {
                0 => format!("DATATYPE({name}) = {}", iri("money")),
                1 => {
                    format!("<http://www.w3.org/2001/XMLSchema#decimal>(STR({name})) {operator} 2")
                }
                _ => format!("{name} {equality} {constant}"),
            },
            Range::Link(class_idx) => self.resource_condition(scope, name, class_idx),
        }
    }

    /// A value for BIND.
    pub(super) fn expression(&mut self, scope: &Scope) -> String {
        let Some((name, kind)) = self.random.pick(scope.variables()).cloned() else {
            return "1".to_owned();
        };
        let condition = self.simple_condition(scope);
        match (self.random.below(5), kind) {
            (0, _) => format!("IF({condition}, {name}, \"none\")"),
            (1, _) => format!("COALESCE({name}, \"none\")"),
            (2, _) => format!("({condition})"),
            (_, Kind::Value(Range::Integer | Range::Decimal)) => match self.random.below(4) {
                0 => format!("{name} / 3"),
                1 => format!("{name} * 1.5"),
                2 => format!("ABS({name})"),
                _ => format!("CEIL({name} / 2)"),
            },
            (_, Kind::Value(Range::Double | Range::Float)) => match self.random.below(3) {
                0 => format!("{name} + 1"),
                1 => format!("ROUND({name})"),
                _ => format!("<http://www.w3.org/2001/XMLSchema#integer>({name})"),
            },
            (_, Kind::Value(Range::Text | Range::LangText)) => match self.random.below(5) {
                0 => format!("UCASE({name})"),
                1 => format!("SUBSTR({name}, 2)"),
                2 => format!("CONCAT({name}, \"-\", {name})"),
                3 => format!("REPLACE({name}, \"b+\", \"x\")"),
                _ => format!("STRAFTER({name}, \"a\")"),
            },
            (_, Kind::Value(Range::Date | Range::DateTime)) => match self.random.below(2) {
                0 => format!("YEAR({name})"),
                _ => format!("DAY({name})"),
            },
            _ => format!("STR({name})"),
        }
    }
}
