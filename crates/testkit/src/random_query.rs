//! Grammar-made SPARQL queries over the vocabulary of [`random_data`](crate::random_data).
//!
//! A query starts from a star (several predicates of one subject), which is followed along links, made
//! optional, united, subtracted, filtered, grouped… Variables carry the kind of value they are likely to hold,
//! so that filters and joins mean something more often than not. Every text parses. Whether a text has one
//! right answer is not the generator's business: [`expectation`](crate::expectation) finds out what an answer
//! can be held to, and says so where the standard leaves it open. The one exception is GROUP_CONCAT,
//! whose parts come in any order: only its length is asked for.
//!
//! A query is made of decisions ([`Choices`]), so a seed gives one and so does any string of bytes, and
//! comes as a [`Tree`], so that it can be made smaller.

mod aggregate;
mod condition;
mod expression;
mod group;
mod path;
mod scope;
mod star;
pub mod update;

use crate::choices::Choices;
use crate::query_tree::{Sort, Tree};
use crate::random_data::{CLASSES, GRAPH_COUNT};
use scope::Scope;

/// Which parts of the language may be used.
#[derive(Debug, Clone, Copy)]
pub struct QueryOptions {
    /// Property paths.
    pub paths: bool,
    /// GRAPH with constant and variable names.
    pub graphs: bool,
    /// FROM and FROM NAMED.
    pub dataset_clauses: bool,
    /// Subqueries.
    pub subqueries: bool,
    /// GROUP BY, HAVING and aggregates.
    pub aggregates: bool,
    /// EXISTS and NOT EXISTS.
    pub exists: bool,
    /// CONSTRUCT and DESCRIBE.
    pub graph_results: bool,
    /// Numbers beyond machine words, language tags in odd case, ill-typed constants.
    pub odd_literals: bool,
    /// How deep groups nest.
    pub depth_max: usize,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            paths: true,
            graphs: true,
            dataset_clauses: true,
            subqueries: true,
            aggregates: true,
            exists: true,
            graph_results: true,
            odd_literals: true,
            depth_max: 3,
        }
    }
}

impl QueryOptions {
    /// Star and chain patterns with filters only: what a table store must answer first.
    pub fn simple() -> Self {
        Self {
            paths: false,
            graphs: false,
            dataset_clauses: false,
            subqueries: false,
            aggregates: false,
            exists: false,
            graph_results: false,
            odd_literals: false,
            depth_max: 0,
        }
    }
}

/// Makes the query of a seed.
pub fn random_query(seed: u64, options: QueryOptions) -> Tree {
    // Away from the numbers that the same seed gives for data.
    query_of(Choices::from_seed(seed ^ 0x5152_5341_5050_4c45), options)
}

/// Makes the query of any decisions.
pub fn query_of(choices: Choices, options: QueryOptions) -> Tree {
    let mut generator = Generator {
        random: choices,
        options,
        variable_count: 0,
        has_base: false,
        elements_left: 14,
    };
    generator.query()
}

/// The state of one generation.
struct Generator {
    /// Where all decisions come from.
    random: Choices,
    /// What may be used.
    options: QueryOptions,
    /// How many variable names are taken.
    variable_count: usize,
    /// Whether relative IRIs mean something.
    has_base: bool,
    /// How many more elements groups may have, all together.
    elements_left: usize,
}

/// Parts of a query that may all be missing.
fn clauses(items: Vec<Tree>) -> Tree {
    Tree::list(Sort::Clause, " ", 0, items)
}

/// A part of a query that is not looked into.
fn item(text: impl Into<String>) -> Tree {
    Tree::leaf(Sort::Item, text)
}

impl Generator {
    fn query(&mut self) -> Tree {
        self.has_base = self.random.chance(8);
        let body = match self.random.below(14) {
            0 => self.ask(),
            1 if self.options.graph_results => self.construct(),
            2 if self.options.graph_results && self.random.chance(50) => self.describe(),
            3 | 4 if self.options.aggregates => {
                let mut scope = Scope::default();
                let from = self.dataset_clause();
                self.grouped(&mut scope, from, self.options.depth_max)
            }
            _ => self.select(),
        };
        match self.has_base {
            true => Tree::shape(Sort::Query, "BASE <http://example.org/> □", vec![body]),
            false => Tree::shape(Sort::Query, "□", vec![body]),
        }
    }

    /// A variable name nobody uses yet, with its question mark.
    fn fresh(&mut self) -> String {
        self.variable_count += 1;
        format!("?v{}", self.variable_count - 1)
    }

    fn dataset_clause(&mut self) -> Tree {
        let mut items = Vec::new();
        if self.options.dataset_clauses && self.random.chance(7) {
            for _ in 0..1 + self.random.below(3) {
                let named = if self.random.chance(50) { " NAMED" } else { "" };
                let graph = self.random.below(GRAPH_COUNT + 1);
                items.push(item(format!("FROM{named} <http://example.org/g{graph}>")));
            }
        }
        clauses(items)
    }

    fn body(&mut self, scope: &mut Scope) -> Tree {
        self.group(scope, self.options.depth_max)
    }

    /// Some of the variables in scope, at least one.
    fn some_variables(&mut self, scope: &Scope) -> Vec<String> {
        let names: Vec<String> = scope.names();
        let mut chosen: Vec<String> = names
            .iter()
            .filter(|_| self.random.chance(60))
            .cloned()
            .collect();
        if chosen.is_empty() {
            chosen.extend(names.first().cloned());
        }
        chosen
    }

    fn select(&mut self) -> Tree {
        let mut scope = Scope::default();
        let from = self.dataset_clause();
        let group = self.body(&mut scope);
        if self.random.chance(15) {
            return self.select_texts(&scope, from, group);
        }
        let mut names = self.some_variables(&scope);
        let mut columns: Vec<Tree> = names.iter().map(item).collect();
        for _ in 0..self.random.below(3) {
            let value = self.expression(&scope, 2);
            let name = self.fresh();
            let column = format!("(□ AS {name})");
            columns.push(Tree::shape(Sort::Item, &column, vec![value]));
            names.push(name);
        }
        let columns = match self.random.chance(20) {
            true => item("*"),
            false => Tree::list(Sort::Clause, " ", 1, columns),
        };
        let distinct = match self.random.below(5) {
            0 => vec![item("DISTINCT")],
            1 if self.random.chance(20) => vec![item("REDUCED")],
            _ => Vec::new(),
        };
        let order = self.order_clause(&scope, &names);
        let slice = self.slice();
        let modifiers = clauses([order, slice].into_iter().flatten().collect());
        Tree::shape(
            Sort::Clause,
            "SELECT □ □ □ WHERE { □ } □",
            vec![clauses(distinct), columns, from, group, modifiers],
        )
    }

    /// ORDER BY: by columns, whose order can be checked, or by whatever expression.
    fn order_clause(&mut self, scope: &Scope, names: &[String]) -> Option<Tree> {
        if !self.random.chance(30) {
            return None;
        }
        let mut keys = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let key = match self.random.pick(names) {
                Some(name) if self.random.chance(85) => Tree::leaf(Sort::Expression, name.as_str()),
                _ => self.expression(scope, 1),
            };
            let text = ["ASC(□)", "DESC(□)"][self.random.below(2)];
            keys.push(Tree::shape(Sort::Item, text, vec![key]));
        }
        let keys = Tree::list(Sort::Clause, " ", 1, keys);
        Some(Tree::shape(Sort::Clause, "ORDER BY □", vec![keys]))
    }

    fn slice(&mut self) -> Option<Tree> {
        let limit = format!("LIMIT {}", self.random.below(8));
        let offset = format!("OFFSET {}", self.random.below(5));
        match self.random.below(12) {
            0 => Some(item(limit)),
            1 => Some(item(format!("{limit} {offset}"))),
            2 if self.random.chance(40) => Some(item(offset)),
            _ => None,
        }
    }

    /// Every column is a string or unbound and a sort key, so the order is total and so is the cut.
    fn select_texts(&mut self, scope: &Scope, from: Tree, group: Tree) -> Tree {
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        for name in self.some_variables(scope) {
            let key = self.fresh();
            columns.push(item(format!("(STR({name}) AS {key})")));
            keys.push(item(match self.random.below(3) {
                0 => format!("DESC({key})"),
                _ => key,
            }));
        }
        let keys = Tree::list(Sort::Clause, " ", 1, keys);
        let mut modifiers = vec![Tree::shape(Sort::Clause, "ORDER BY □", vec![keys])];
        let limit = format!("LIMIT {}", 1 + self.random.below(8));
        match self.random.below(3) {
            0 => {}
            1 => modifiers.push(item(limit)),
            _ => modifiers.push(item(format!("{limit} OFFSET {}", self.random.below(4)))),
        }
        let distinct = ["", "DISTINCT "][self.random.below(2)];
        let columns = Tree::list(Sort::Clause, " ", 1, columns);
        let text = format!("SELECT {distinct}□ □ WHERE {{ □ }} □");
        let parts = vec![columns, from, group, clauses(modifiers)];
        Tree::shape(Sort::Clause, &text, parts)
    }

    fn ask(&mut self) -> Tree {
        let mut scope = Scope::default();
        let from = self.dataset_clause();
        let group = self.body(&mut scope);
        Tree::shape(Sort::Clause, "ASK □ WHERE { □ }", vec![from, group])
    }

    fn describe(&mut self) -> Tree {
        let mut scope = Scope::default();
        let class_idx = self.class_idx();
        if self.random.chance(20) {
            let iri = self.constant_subject(class_idx);
            return item(format!("DESCRIBE {iri}"));
        }
        let group = self.body(&mut scope);
        let names = self.some_variables(&scope).join(" ");
        let text = format!("DESCRIBE {names} WHERE {{ □ }}");
        Tree::shape(Sort::Clause, &text, vec![group])
    }

    fn construct(&mut self) -> Tree {
        let mut scope = Scope::default();
        let from = self.dataset_clause();
        let group = self.body(&mut scope);
        let names = scope.names();
        let mut template = Vec::new();
        for number in 0..1 + self.random.below(3) {
            let subject = match self.random.pick(&names) {
                Some(name) if self.random.chance(75) => name.clone(),
                _ => "_:b".to_owned(),
            };
            let object = match self.random.pick(&names) {
                Some(name) if self.random.chance(80) => name.clone(),
                _ => ["_:b", "_:c", "\"x\"@en", "7"][self.random.below(4)].to_owned(),
            };
            let predicate = match self.random.pick(&names) {
                Some(name) if self.random.chance(10) => name.clone(),
                _ => format!("<http://example.org/made{number}>"),
            };
            template.push(item(format!("{subject} {predicate} {object} .")));
        }
        let template = Tree::list(Sort::Clause, " ", 0, template);
        Tree::shape(
            Sort::Clause,
            "CONSTRUCT { □ } □ WHERE { □ }",
            vec![template, from, group],
        )
    }

    fn class_idx(&mut self) -> usize {
        self.random.below(CLASSES.len())
    }
}

#[cfg(test)]
mod tests;
