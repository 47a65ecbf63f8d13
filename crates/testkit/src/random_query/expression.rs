//! Values of generated queries: numbers, strings, times and anything else, nested a few levels deep.
//!
//! An argument is usually of the type its function takes; now and then it is not, since errors are
//! part of the language. Functions that give another value each time (RAND, UUID, NOW, BNODE) are left out.

use super::Generator;
use super::scope::{Kind, Scope};
use super::star::iri;
use crate::query_tree::{Sort, Tree};
use crate::random_data::Range;

/// Ranges of numbers.
const NUMBERS: [Range; 4] = [Range::Integer, Range::Decimal, Range::Double, Range::Float];

fn leaf(text: impl Into<String>) -> Tree {
    Tree::leaf(Sort::Expression, text)
}

fn shape(text: &str, parts: Vec<Tree>) -> Tree {
    Tree::shape(Sort::Expression, text, parts)
}

/// A call of a constructor function.
fn cast(datatype: &str, argument: Tree) -> Tree {
    let text = format!("<http://www.w3.org/2001/XMLSchema#{datatype}>(□)");
    shape(&text, vec![argument])
}

impl Generator {
    /// Any value.
    pub(super) fn expression(&mut self, scope: &Scope, depth: usize) -> Tree {
        if depth == 0 || self.random.chance(25) {
            return self.any_leaf(scope);
        }
        let down = depth - 1;
        match self.random.below(12) {
            0..=2 => self.number(scope, depth),
            3 | 4 => self.text(scope, depth),
            5 => self.time(scope, depth),
            6 => self.truth(scope, down),
            7 => {
                let condition = self.truth(scope, down);
                let parts = vec![
                    condition,
                    self.expression(scope, down),
                    self.expression(scope, down),
                ];
                shape("IF(□, □, □)", parts)
            }
            8 => {
                let parts = vec![self.expression(scope, down), self.expression(scope, 0)];
                shape("COALESCE(□, □)", parts)
            }
            9 => shape("DATATYPE(□)", vec![self.expression(scope, down)]),
            10 => {
                let text = match self.has_base && self.random.chance(60) {
                    true => leaf(format!("\"person{}\"", self.random.below(5))),
                    false => shape("STR(□)", vec![self.any_leaf(scope)]),
                };
                shape(["IRI(□)", "URI(□)"][self.random.below(2)], vec![text])
            }
            _ => self.any_leaf(scope),
        }
    }

    /// A variable or a constant of any kind.
    fn any_leaf(&mut self, scope: &Scope) -> Tree {
        if self.random.chance(75)
            && let Some(name) = self.random.pick(&scope.names())
        {
            return leaf(name);
        }
        let ranges = [
            Range::Text,
            Range::Integer,
            Range::Decimal,
            Range::Double,
            Range::Boolean,
            Range::DateTime,
            Range::Link(0),
        ];
        let range = ranges[self.random.below(ranges.len())];
        leaf(self.constant(range))
    }

    /// A variable of a kind, or a constant of a range where there is none.
    fn variable_or(&mut self, names: &[String], scope: &Scope, range: Range) -> Tree {
        if self.random.chance(4) {
            return self.any_leaf(scope);
        }
        match self.random.pick(names) {
            Some(name) if self.random.chance(75) => leaf(name),
            _ => leaf(self.constant(range)),
        }
    }

    /// A number.
    pub(super) fn number(&mut self, scope: &Scope, depth: usize) -> Tree {
        let range = NUMBERS[self.random.below(NUMBERS.len())];
        if depth == 0 || self.random.chance(30) {
            let names = scope.of_kind(Kind::is_number);
            return self.variable_or(&names, scope, range);
        }
        let down = depth - 1;
        match self.random.below(14) {
            0..=3 => {
                let operator = ["+", "-", "*", "/"][self.random.below(4)];
                let parts = vec![self.number(scope, down), self.number(scope, down)];
                shape(&format!("(□ {operator} □)"), parts)
            }
            4 => shape("(-□)", vec![self.number(scope, down)]),
            5 | 6 => {
                let functions = ["ABS(□)", "ROUND(□)", "CEIL(□)", "FLOOR(□)"];
                let function = functions[self.random.below(functions.len())];
                shape(function, vec![self.number(scope, down)])
            }
            7 => shape("STRLEN(□)", vec![self.text(scope, down)]),
            8 => {
                let functions = [
                    "YEAR(□)",
                    "MONTH(□)",
                    "DAY(□)",
                    "HOURS(□)",
                    "MINUTES(□)",
                    "SECONDS(□)",
                ];
                let function = functions[self.random.below(functions.len())];
                shape(function, vec![self.time(scope, down)])
            }
            9 | 10 => {
                let datatype = ["integer", "decimal", "double", "float"][self.random.below(4)];
                let argument = match self.random.below(3) {
                    0 => self.text(scope, down),
                    1 => self.expression(scope, down),
                    _ => self.number(scope, down),
                };
                cast(datatype, argument)
            }
            11 => {
                let parts = vec![self.number(scope, down), self.number(scope, 0)];
                shape("COALESCE(□, □)", parts)
            }
            12 if self.options.odd_literals => {
                let big = [
                    "9223372036854775807",
                    "1000000007",
                    "99999999999999999999.75",
                ];
                let parts = vec![
                    self.number(scope, down),
                    leaf(big[self.random.below(big.len())]),
                ];
                shape(["(□ + □)", "(□ * □)"][self.random.below(2)], parts)
            }
            _ => {
                let names = scope.of_kind(Kind::is_number);
                self.variable_or(&names, scope, range)
            }
        }
    }

    /// A string, perhaps with a language tag.
    pub(super) fn text(&mut self, scope: &Scope, depth: usize) -> Tree {
        if depth == 0 || self.random.chance(25) {
            let names = scope.of_kind(Kind::is_text);
            return self.variable_or(&names, scope, Range::Text);
        }
        let down = depth - 1;
        match self.random.below(16) {
            0 | 1 => shape("STR(□)", vec![self.expression(scope, down)]),
            2 => {
                let functions = ["UCASE(□)", "LCASE(□)", "ENCODE_FOR_URI(□)"];
                let function = functions[self.random.below(functions.len())];
                shape(function, vec![self.text(scope, down)])
            }
            3 => shape("SUBSTR(□, 2)", vec![self.text(scope, down)]),
            4 => {
                let parts = vec![self.text(scope, down), self.number(scope, 0)];
                shape("SUBSTR(□, 0, □)", parts)
            }
            5 | 6 => {
                let parts = vec![self.text(scope, down), self.text(scope, down)];
                shape("CONCAT(□, □)", parts)
            }
            7 => {
                let replacements = [
                    "REPLACE(□, \"b+\", \"x\")",
                    "REPLACE(□, \"([a-c])\", \"<$1>\")",
                    "REPLACE(□, \"A\", \"\\\\$\", \"i\")",
                    "REPLACE(□, \"z*\", \"-\")",
                ];
                let text = replacements[self.random.below(replacements.len())];
                shape(text, vec![self.text(scope, down)])
            }
            8 | 9 => {
                let functions = ["STRBEFORE(□, □)", "STRAFTER(□, □)"];
                let function = functions[self.random.below(functions.len())];
                shape(function, vec![self.text(scope, down), self.text(scope, 0)])
            }
            10 => shape("LANG(□)", vec![self.text(scope, down)]),
            11 => shape("TZ(□)", vec![self.time(scope, down)]),
            12 => shape("STRLANG(STR(□), \"fr\")", vec![self.text(scope, down)]),
            13 => {
                let datatype = ["integer", "date", "string"][self.random.below(3)];
                let datatype = format!("<http://www.w3.org/2001/XMLSchema#{datatype}>");
                let datatype = match self.random.chance(30) {
                    true => iri("money"),
                    false => datatype,
                };
                let text = format!("STRDT(STR(□), {datatype})");
                shape(&text, vec![self.expression(scope, down)])
            }
            14 => cast("string", self.expression(scope, down)),
            _ => {
                let names = scope.of_kind(Kind::is_text);
                self.variable_or(&names, scope, Range::Text)
            }
        }
    }

    /// A date, a time or both.
    pub(super) fn time(&mut self, scope: &Scope, depth: usize) -> Tree {
        let range = [Range::Date, Range::DateTime][self.random.below(2)];
        if depth > 0 {
            match self.random.below(5) {
                0 => {
                    let datatype = ["dateTime", "date", "time"][self.random.below(3)];
                    return cast(datatype, self.time(scope, depth - 1));
                }
                1 => {
                    let text = shape("STR(□)", vec![self.time(scope, depth - 1)]);
                    return cast("dateTime", text);
                }
                2 => return shape("TIMEZONE(□)", vec![self.time(scope, depth - 1)]),
                _ => {}
            }
        }
        let names =
            scope.of_kind(|kind| matches!(kind, Kind::Value(Range::Date | Range::DateTime)));
        self.variable_or(&names, scope, range)
    }
}
