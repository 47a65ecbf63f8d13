//! Conditions of generated queries: what filters, IF and HAVING ask.

use super::Generator;
use super::scope::{Kind, Scope};
use super::star::iri;
use crate::query_tree::{Sort, Tree};
use crate::random_data::{CLASSES, LANGUAGES, Range, TEXTS};

/// The operators of comparison.
const OPERATORS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn leaf(text: impl Into<String>) -> Tree {
    Tree::leaf(Sort::Expression, text)
}

fn shape(text: &str, parts: Vec<Tree>) -> Tree {
    Tree::shape(Sort::Expression, text, parts)
}

impl Generator {
    /// A condition over the variables in scope, `depth` groups above the deepest.
    pub(super) fn condition(&mut self, scope: &Scope, depth: usize) -> Tree {
        match self.random.below(16) {
            1 => {
                let parts = vec![self.simple(scope), self.condition(scope, depth)];
                shape("(□ && □)", parts)
            }
            2 => {
                let parts = vec![self.simple(scope), self.condition(scope, depth)];
                shape("(□ || □)", parts)
            }
            3 => shape("(!□)", vec![self.simple(scope)]),
            4..=6 if self.options.exists && depth > 0 => self.exists(scope, depth),
            7 => match self.random.pick(scope.all()) {
                Some(known) => leaf(format!("BOUND({})", known.name)),
                None => leaf("true"),
            },
            8 => {
                let parts = vec![self.simple(scope), self.simple(scope)];
                shape("COALESCE(□, □, false)", parts)
            }
            9 => self.truth(scope, 2),
            _ => self.simple(scope),
        }
    }

    /// EXISTS of a whole group, in which every variable around has its value.
    fn exists(&mut self, scope: &Scope, depth: usize) -> Tree {
        let mut inner = scope.clone();
        let body = self.group(&mut inner, depth - 1);
        let not = ["", "NOT "][self.random.below(2)];
        shape(&format!("{not}EXISTS {{ □ }}"), vec![body])
    }

    /// One comparison or test of one variable, which many rows are likely to pass.
    fn simple(&mut self, scope: &Scope) -> Tree {
        let known: Vec<(String, Kind)> = match scope.is_empty() || self.random.chance(8) {
            true => scope
                .all()
                .iter()
                .map(|v| (v.name.clone(), v.kind))
                .collect(),
            false => scope.local().map(|v| (v.name.clone(), v.kind)).collect(),
        };
        let Some((name, kind)) = self.random.pick(&known).cloned() else {
            return leaf("true");
        };
        match kind {
            Kind::Resource(class_idx) => self.resource_condition(scope, &name, class_idx),
            Kind::Value(range) => self.value_condition(scope, &name, range),
            Kind::Predicate => {
                let properties = CLASSES[self.class_idx()].properties;
                let property = properties[self.random.below(properties.len())];
                let operator = OPERATORS[self.random.below(2)];
                leaf(format!("({name} {operator} {})", iri(property.name)))
            }
            Kind::Graph => {
                let operator = OPERATORS[self.random.below(2)];
                let graph = self.graph_name();
                leaf(format!("({name} {operator} {graph})"))
            }
            Kind::Number => {
                let operator = OPERATORS[self.random.below(6)];
                let constant = self.constant(Range::Integer);
                leaf(format!("({name} {operator} {constant})"))
            }
            Kind::Text | Kind::Any => match self.random.below(4) {
                0 => leaf(format!("isLiteral({name})")),
                1 => leaf(format!("isNumeric({name})")),
                2 => leaf(format!("(!isBlank({name}))")),
                _ => leaf(format!("(STRLEN(STR({name})) > {})", self.random.below(8))),
            },
        }
    }

    fn resource_condition(&mut self, scope: &Scope, name: &str, class_idx: usize) -> Tree {
        let constant = self.constant(Range::Link(class_idx));
        let others = scope.of_kind(|kind| matches!(kind, Kind::Resource(_)));
        leaf(match self.random.below(8) {
            0 => match self.random.below(3) {
                0 => format!("sameTerm({constant}, {name})"),
                1 => format!("({name} IN ({constant}))"),
                _ => format!("({name} = {constant})"),
            },
            1 | 2 => format!("({name} != {constant})"),
            3 => {
                let second = self.constant(Range::Link(class_idx));
                let not = ["", "NOT "][usize::from(!self.random.chance(30))];
                format!("({name} {not}IN ({constant}, {second}))")
            }
            4 => format!("isIRI({name})"),
            5 => format!("isBlank({name})"),
            _ => match self.random.pick(&others) {
                Some(other) if self.random.chance(25) => format!("(STR({name}) = STR({other}))"),
                Some(other) => format!("({name} != {other})"),
                None => format!("(!sameTerm({name}, {constant}))"),
            },
        })
    }

    fn value_condition(&mut self, scope: &Scope, name: &str, range: Range) -> Tree {
        let constant = self.constant(range);
        let operator = OPERATORS[self.random.below(OPERATORS.len())];
        // Few rows pass an equality.
        let equality = OPERATORS[usize::from(!self.random.chance(20))];
        leaf(match range {
            Range::Integer | Range::Decimal | Range::Double | Range::Float => {
                let others = scope.of_kind(Kind::is_number);
                match (self.random.below(5), self.random.pick(&others)) {
                    (0, _) => format!("({name} * 2 - 1 {operator} {constant})"),
                    (1, Some(other)) => format!("({name} <= {other})"),
                    (2, _) => format!("({name} NOT IN ({constant}, 1, 2.5))"),
                    (3, _) => format!("({name} / 4 {operator} 0.5)"),
                    _ => format!("({name} {operator} {constant})"),
                }
            }
            Range::Text => match self.random.below(7) {
                6 => match self.random.pick(&scope.of_kind(is_text)) {
                    Some(other) => format!("(LCASE({name}) = LCASE(STR({other})))"),
                    None => format!("(UCASE({name}) {operator} {constant})"),
                },
                0 => format!("REGEX({name}, \"^a\", \"i\")"),
                1 => format!("CONTAINS({name}, \"b\")"),
                2 => format!("STRSTARTS(LCASE({name}), \"a\")"),
                3 => format!("(STRLEN({name}) {operator} 3)"),
                4 => format!("({name} {equality} {constant})"),
                _ => format!("({name} {operator} {constant})"),
            },
            Range::LangText => match self.random.below(4) {
                0 => {
                    let language = LANGUAGES[self.random.below(LANGUAGES.len())];
                    format!("(LANG({name}) {equality} \"{language}\")")
                }
                1 => format!("LANGMATCHES(LANG({name}), \"en\")"),
                2 => format!(
                    "(STR({name}) {operator} \"{}\")",
                    TEXTS[self.random.below(4)]
                ),
                _ if self.random.chance(30) => format!("({name} {equality} \"lava\"@EN-GB)"),
                _ => format!("({name} {equality} {constant})"),
            },
            Range::Boolean => match self.random.below(3) {
                0 => name.to_owned(),
                1 => format!("(!{name})"),
                _ => format!("({name} {equality} {constant})"),
            },
            Range::Date | Range::DateTime => match self.random.below(3) {
                0 => format!("(YEAR({name}) {operator} 2019)"),
                1 => format!("(MONTH({name}) {operator} {})", 1 + self.random.below(9)),
                _ => format!("({name} {operator} {constant})"),
            },
            Range::Custom => match self.random.below(3) {
                0 => format!("(DATATYPE({name}) = {})", iri("money")),
                1 => {
                    let decimal = "<http://www.w3.org/2001/XMLSchema#decimal>";
                    format!("({decimal}(STR({name})) {operator} 2)")
                }
                _ => format!("({name} {equality} {constant})"),
            },
            Range::Link(class_idx) => return self.resource_condition(scope, name, class_idx),
        })
    }

    /// A truth value made of anything at all.
    pub(super) fn truth(&mut self, scope: &Scope, depth: usize) -> Tree {
        if depth == 0 {
            return self.simple(scope);
        }
        let down = depth - 1;
        let operator = OPERATORS[self.random.below(OPERATORS.len())];
        let comparison = format!("(□ {operator} □)");
        match self.random.below(16) {
            1 | 2 => {
                let parts = vec![self.number(scope, down), self.number(scope, down)];
                shape(&comparison, parts)
            }
            3 => {
                let parts = vec![self.text(scope, down), self.text(scope, down)];
                shape(&comparison, parts)
            }
            4 => {
                let parts = vec![self.time(scope, down), self.time(scope, down)];
                shape(&comparison, parts)
            }
            5 => {
                let parts = vec![self.expression(scope, down), self.expression(scope, down)];
                shape(&comparison, parts)
            }
            6 => {
                let parts = vec![self.expression(scope, down), self.expression(scope, down)];
                shape("sameTerm(□, □)", parts)
            }
            7 => {
                let tests = ["isIRI(□)", "isBlank(□)", "isLiteral(□)", "isNumeric(□)"];
                let test = tests[self.random.below(tests.len())];
                shape(test, vec![self.expression(scope, down)])
            }
            8 | 9 => self.text_test(scope, down),
            10 => {
                let not = ["", "NOT "][self.random.below(2)];
                let parts = vec![
                    self.expression(scope, down),
                    self.expression(scope, 0),
                    self.expression(scope, 0),
                ];
                shape(&format!("(□ {not}IN (□, □))"), parts)
            }
            11 => {
                let cast = "<http://www.w3.org/2001/XMLSchema#boolean>(□)";
                shape(cast, vec![self.expression(scope, down)])
            }
            12 => {
                let parts = vec![
                    self.truth(scope, down),
                    self.truth(scope, down),
                    self.expression(scope, down),
                ];
                shape("IF(□, □, □)", parts)
            }
            // Numbers and strings have a truth value of their own.
            13 => self.expression(scope, down),
            14 => {
                let parts = vec![self.truth(scope, down), self.truth(scope, down)];
                shape(["(□ && □)", "(□ || □)"][self.random.below(2)], parts)
            }
            _ => self.simple(scope),
        }
    }

    /// A test of a string.
    fn text_test(&mut self, scope: &Scope, depth: usize) -> Tree {
        if self.random.chance(50) {
            let tests = ["CONTAINS(□, □)", "STRSTARTS(□, □)", "STRENDS(□, □)"];
            let test = tests[self.random.below(tests.len())];
            return shape(test, vec![self.text(scope, depth), self.text(scope, 0)]);
        }
        let tests = [
            "LANGMATCHES(LANG(□), \"*\")",
            "LANGMATCHES(LANG(□), \"EN\")",
            "REGEX(□, \"A.?\", \"is\")",
            "REGEX(□, \"b c\", \"q\")",
        ];
        let test = tests[self.random.below(tests.len())];
        shape(test, vec![self.text(scope, depth)])
    }
}

fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Text | Kind::Value(Range::Text))
}
