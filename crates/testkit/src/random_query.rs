//! Seeded, grammar-made SPARQL queries over the vocabulary of [`random_data`](crate::random_data).
//!
//! A query starts from a star (several predicates of one subject), which is followed along links,
//! made optional, united, subtracted, filtered, grouped… Variables carry the kind of value they are
//! likely to hold, so that filters and joins mean something more often than not. Every text parses,
//! and every text has one right answer: results that depend on the order of evaluation (SAMPLE of
//! unlike values, GROUP_CONCAT, LIMIT without ORDER BY) are either avoided or come with the check that
//! still holds, in [`GeneratedQuery::check`].
//!
//! What the two oracles are known to see differently is left out unless
//! [`QueryOptions::only_what_oracles_agree_on`] is off or SPARQL allows both views: where a production
//! is narrower than the grammar of SPARQL, a comment there gives the reason.

mod filter;
mod pattern;

use crate::random_data::{CLASSES, GRAPH_COUNT, Range};
use crate::split_mix::SplitMix;
use pattern::Scope;

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
    /// CONSTRUCT.
    pub construct: bool,
    /// How deep groups nest.
    pub depth_max: usize,
    /// Whether to leave out what Oxigraph evaluates otherwise than the specification says, so that both
    /// oracles can be asked. Off, the naive oracle alone is right.
    pub only_what_oracles_agree_on: bool,
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
            construct: true,
            depth_max: 2,
            only_what_oracles_agree_on: true,
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
            construct: false,
            depth_max: 0,
            only_what_oracles_agree_on: true,
        }
    }
}

/// How the answer to a generated query can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// As a multiset: [`bag::compare`](crate::bag::compare).
    Bag,
    /// Row by row, since the order is total: [`bag::compare_ordered`](crate::bag::compare_ordered).
    Ordered,
    /// Against the answer of the same query without its OFFSET and LIMIT:
    /// [`bag::compare_sliced`](crate::bag::compare_sliced).
    Sliced {
        /// The query without OFFSET and LIMIT.
        unlimited: String,
        /// The OFFSET that was left out.
        offset: usize,
        /// The LIMIT that was left out.
        limit: usize,
    },
}

/// A query and the way to check its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedQuery {
    /// The SPARQL text, without prologue.
    pub text: String,
    /// How to compare answers.
    pub check: Check,
}

/// Makes the query of a seed.
pub fn random_query(seed: u64, options: QueryOptions) -> GeneratedQuery {
    let mut generator = Generator {
        // Away from the numbers that the same seed gives for data.
        random: SplitMix::new(seed ^ 0x5152_5341_5050_4c45),
        options,
        variable_count: 0,
    };
    generator.query()
}

/// What a variable is likely to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A subject of the class with this index.
    Resource(usize),
    /// A literal of this range.
    Value(Range),
    /// An IRI of a predicate.
    Predicate,
    /// The name of a graph.
    Graph,
    /// Some result of an expression or unknown object.
    Any,
}

/// The state of one generation.
struct Generator {
    /// Where all choices come from.
    random: SplitMix,
    /// What may be used.
    options: QueryOptions,
    /// How many variable names are taken.
    variable_count: usize,
}

impl Generator {
    fn query(&mut self) -> GeneratedQuery {
        match self.random.below(12) {
            0 => self.ask(),
            1 if self.options.construct => self.construct(),
            2 | 3 if self.options.aggregates => self.grouped(),
            4 => self.ordered(),
            5 => self.sliced(),
            _ => self.select(),
        }
    }

    /// A variable name nobody uses yet, with its question mark.
    fn fresh(&mut self) -> String {
        self.variable_count += 1;
        format!("?v{}", self.variable_count - 1)
    }

    fn dataset_clause(&mut self) -> String {
        if !self.options.dataset_clauses || !self.random.chance(6) {
            return String::new();
        }
        let mut clause = String::new();
        // One graph at most becomes the default graph: Oxigraph repeats a triple that several have.
        if self.random.chance(60) {
            let graph = self.random.below(GRAPH_COUNT);
            clause.push_str(&format!("FROM <http://example.org/g{graph}> "));
        }
        if clause.is_empty() || self.random.chance(40) {
            let graph = self.random.below(GRAPH_COUNT);
            clause.push_str(&format!("FROM NAMED <http://example.org/g{graph}> "));
        }
        clause
    }

    fn where_clause(&mut self, scope: &mut Scope) -> String {
        let body = self.group(scope, self.options.depth_max);
        format!("WHERE {{ {body} }}")
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

    fn select(&mut self) -> GeneratedQuery {
        let mut scope = Scope::default();
        let body = self.where_clause(&mut scope);
        let columns = if self.random.chance(25) {
            "*".to_owned()
        } else {
            self.some_variables(&scope).join(" ")
        };
        let distinct = match self.random.below(4) {
            0 => "DISTINCT ",
            _ => "",
        };
        let from = self.dataset_clause();
        let order = match self.random.below(6) {
            // Not a total order: the answer is still compared as a multiset.
            0 => self.order_clause(&scope),
            _ => String::new(),
        };
        GeneratedQuery {
            text: format!("SELECT {distinct}{columns} {from}{body}{order}"),
            check: Check::Bag,
        }
    }

    fn order_clause(&mut self, scope: &Scope) -> String {
        let Some(name) = self.random.pick(&scope.names()).cloned() else {
            return String::new();
        };
        // Oxigraph's order of unlike literals is not transitive, and its sort panics when it notices.
        let key = if self.options.only_what_oracles_agree_on {
            format!("STR({name})")
        } else {
            name
        };
        match self.random.below(2) {
            0 => format!(" ORDER BY DESC({key})"),
            _ => format!(" ORDER BY ASC({key})"),
        }
    }

    fn ask(&mut self) -> GeneratedQuery {
        let mut scope = Scope::default();
        let from = self.dataset_clause();
        let body = self.where_clause(&mut scope);
        GeneratedQuery {
            text: format!("ASK {from}{body}"),
            check: Check::Bag,
        }
    }

    fn construct(&mut self) -> GeneratedQuery {
        let mut scope = Scope::default();
        let body = self.where_clause(&mut scope);
        let names = scope.names();
        let mut template = String::new();
        for number in 0..1 + self.random.below(2) {
            let subject = match self.random.pick(&names) {
                Some(name) if self.random.chance(75) => name.clone(),
                _ => "_:b".to_owned(),
            };
            let object = self.random.pick(&names).cloned().unwrap_or_default();
            template.push_str(&format!(
                "{subject} <http://example.org/made{number}> {object} . "
            ));
        }
        GeneratedQuery {
            text: format!("CONSTRUCT {{ {template}}} {body}"),
            check: Check::Bag,
        }
    }

    /// Every column is a string, a number of rows or unbound, and every column is a sort key, so rows
    /// that compare equal are equal.
    fn ordered(&mut self) -> GeneratedQuery {
        let mut scope = Scope::default();
        let body = self.where_clause(&mut scope);
        let chosen = self.some_variables(&scope);
        let mut columns = String::new();
        let mut keys = String::new();
        for (number, name) in chosen.iter().enumerate() {
            columns.push_str(&format!("(STR({name}) AS ?k{number}) "));
            let key = match self.random.below(3) {
                0 => format!("DESC(?k{number}) "),
                _ => format!("?k{number} "),
            };
            keys.push_str(&key);
        }
        let limit = match self.random.below(3) {
            0 => String::new(),
            1 => format!("LIMIT {}", 1 + self.random.below(8)),
            _ => format!(
                "LIMIT {} OFFSET {}",
                1 + self.random.below(8),
                self.random.below(4)
            ),
        };
        GeneratedQuery {
            text: format!("SELECT {columns}{body} ORDER BY {keys}{limit}"),
            check: Check::Ordered,
        }
    }

    fn sliced(&mut self) -> GeneratedQuery {
        let base = self.select();
        let offset = self.random.below(4);
        let limit = self.random.below(6);
        GeneratedQuery {
            text: format!("{} LIMIT {limit} OFFSET {offset}", base.text),
            check: Check::Sliced {
                unlimited: base.text,
                offset,
                limit,
            },
        }
    }

    fn grouped(&mut self) -> GeneratedQuery {
        let mut scope = Scope::default();
        let body = self.where_clause(&mut scope);
        let (columns, tail) = self.grouping(&scope);
        GeneratedQuery {
            text: format!("SELECT {columns} {body} {tail}"),
            check: Check::Bag,
        }
    }

    /// The SELECT list and the GROUP BY … HAVING tail of an aggregate query.
    fn grouping(&mut self, scope: &Scope) -> (String, String) {
        let names = scope.names();
        let key = self.random.pick(&names).cloned().unwrap_or_default();
        let mut columns = Vec::new();
        let mut tail = String::new();
        let is_keyed = self.random.chance(75);
        if is_keyed {
            columns.push(key.clone());
            tail = format!("GROUP BY {key}");
        }
        for _ in 0..1 + self.random.below(2) {
            let aggregate = self.aggregate(scope, is_keyed.then_some(key.as_str()));
            columns.push(format!("({aggregate} AS {})", self.fresh()));
        }
        if is_keyed && self.random.chance(25) {
            tail.push_str(&format!(" HAVING (COUNT(*) > {})", self.random.below(3)));
        }
        (columns.join(" "), tail)
    }

    fn aggregate(&mut self, scope: &Scope, key: Option<&str>) -> String {
        let distinct = if self.random.chance(30) {
            "DISTINCT "
        } else {
            ""
        };
        let names = scope.names();
        let any = self.random.pick(&names).cloned().unwrap_or_default();
        let number = self.number_variable(scope);
        match (self.random.below(9), number, key) {
            (0, ..) => "COUNT(*)".to_owned(),
            // Oxigraph counts solutions that differ in nothing but a blank node of the pattern.
            (1, ..) if !self.options.only_what_oracles_agree_on => "COUNT(DISTINCT *)".to_owned(),
            (2, Some(number), _) => format!("SUM({distinct}{number})"),
            (3, Some(number), _) => format!("AVG({distinct}{number})"),
            // The least of values that compare equal but differ is anyone's choice: only numbers and
            // strings of texts are asked for.
            (4, Some(number), _) => format!("MIN({number} + 0)"),
            (5, Some(number), _) => format!("MAX({number} * 2)"),
            (6, ..) => format!("MAX(STR({any}))"),
            // The order of concatenation is free, the length is not.
            (7, ..) => format!("STRLEN(GROUP_CONCAT({distinct}STR({any}); SEPARATOR=\"|\"))"),
            // All values of a group key are the same within its group.
            (8, _, Some(key)) => format!("SAMPLE({key})"),
            // COUNT of a plain variable: Oxigraph makes COUNT of an expression an error as soon as one
            // row is an error, where the specification skips that row.
            _ => format!("COUNT({distinct}{any})"),
        }
    }

    fn number_variable(&mut self, scope: &Scope) -> Option<String> {
        let names = scope.of_kind(|kind| {
            matches!(
                kind,
                Kind::Value(Range::Integer | Range::Decimal | Range::Double | Range::Float)
            )
        });
        self.random.pick(&names).cloned()
    }

    fn class_idx(&mut self) -> usize {
        self.random.below(CLASSES.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, QueryOptions, random_query};
    use spargebra::SparqlParser;
    use std::collections::HashSet;

    #[test]
    fn every_text_parses_and_a_seed_always_means_the_same_query() {
        let mut texts = HashSet::new();
        for seed in 0..2000 {
            let query = random_query(seed, QueryOptions::default());
            assert_eq!(query, random_query(seed, QueryOptions::default()));
            let parsed = SparqlParser::new().parse_query(&query.text);
            assert!(parsed.is_ok(), "seed {seed}: {} {parsed:?}", query.text);
            if let Check::Sliced { unlimited, .. } = &query.check {
                assert!(SparqlParser::new().parse_query(unlimited).is_ok());
            }
            texts.insert(query.text);
        }
        assert!(texts.len() > 1950, "only {} different queries", texts.len());
    }

    #[test]
    fn options_leave_constructs_out() {
        for seed in 0..500 {
            let text = random_query(seed, QueryOptions::simple()).text;
            for word in [
                "GRAPH",
                "OPTIONAL",
                "EXISTS",
                "GROUP",
                "FROM",
                "CONSTRUCT",
                ">*",
            ] {
                assert!(!text.contains(word), "{word} in seed {seed}: {text}");
            }
        }
    }
}
