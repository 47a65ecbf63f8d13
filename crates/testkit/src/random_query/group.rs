//! Groups of generated queries: what stands between braces, nested as deep as the options allow.
//!
//! Each production returns a tree and adds the variables it binds to the [`Scope`] it was given, or to an
//! inner one where SPARQL hides them.

use super::scope::{Kind, Scope};
use super::{Generator, clauses, item};
use crate::query_tree::{Sort, Tree};
use crate::random_data::Range;

fn group_of(elements: Vec<Tree>) -> Tree {
    Tree::list(Sort::Group, " ", 0, elements)
}

impl Generator {
    /// The body of a group: a star, then more elements and filters.
    pub(super) fn group(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut elements = Vec::new();
        if self.random.chance(94) || depth == self.options.depth_max {
            elements.extend(self.star(scope));
            if self.random.chance(20) {
                elements.extend(self.star(scope));
            }
        }
        if scope.is_empty() && depth == self.options.depth_max {
            // Only constants so far, and a query needs something to select.
            let subject = self.fresh();
            let (predicate, object) = (self.fresh(), self.fresh());
            scope.add(&subject, Kind::Any);
            scope.add(&predicate, Kind::Predicate);
            scope.add(&object, Kind::Any);
            let text = format!("{subject} {predicate} {object} .");
            elements.push(Tree::leaf(Sort::Element, text));
        }
        if depth > 0 {
            // More often one or two than none or three.
            for _ in 0..(self.random.below(3) + self.random.below(4)).div_ceil(2) {
                if self.elements_left == 0 {
                    break;
                }
                self.elements_left -= 1;
                elements.extend(self.element(scope, depth));
            }
        }
        if self.random.chance(25) {
            elements.push(self.filter(scope, depth));
        }
        group_of(elements)
    }

    fn filter(&mut self, scope: &Scope, depth: usize) -> Tree {
        let condition = self.condition(scope, depth);
        Tree::shape(Sort::Element, "FILTER(□)", vec![condition])
    }

    fn element(&mut self, scope: &mut Scope, depth: usize) -> Vec<Tree> {
        let one = match self.random.below(20) {
            1..=4 => self.optional(scope, depth),
            5 | 6 => self.union(scope, depth),
            7 => {
                let mut inner = scope.inner();
                let body = self.group(&mut inner, depth - 1);
                Tree::shape(Sort::Element, "MINUS { □ }", vec![body])
            }
            8 | 9 => self.bind(scope),
            10 => self.values(scope),
            11 | 12 if self.options.graphs => self.graph(scope, depth),
            13 | 14 if self.options.subqueries => self.subquery(scope, depth),
            15 if self.options.paths => self.path(scope),
            16 => {
                let mut inner = scope.inner();
                let body = self.group(&mut inner, depth - 1);
                scope.add_all(&inner);
                Tree::shape(Sort::Element, "{ □ }", vec![body])
            }
            17 => self.filter(scope, depth),
            _ => return self.star(scope),
        };
        vec![one]
    }

    fn optional(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut inner = scope.inner();
        let body = self.group(&mut inner, depth - 1);
        scope.add_all(&inner);
        if self.random.chance(25) {
            // A filter of an OPTIONAL sees both sides.
            let filter = self.filter(scope, depth - 1);
            return Tree::shape(Sort::Element, "OPTIONAL { □ □ }", vec![body, filter]);
        }
        Tree::shape(Sort::Element, "OPTIONAL { □ }", vec![body])
    }

    fn union(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut bodies = Vec::new();
        let mut after = scope.clone();
        for _ in 0..2 + self.random.below(5) / 4 {
            let mut inner = scope.inner();
            let body = self.group(&mut inner, depth - 1);
            bodies.push(Tree::shape(Sort::Item, "{ □ }", vec![body]));
            after.add_all(&inner);
        }
        *scope = after;
        let bodies = Tree::list(Sort::Clause, " UNION ", 1, bodies);
        Tree::shape(Sort::Element, "□", vec![bodies])
    }

    fn bind(&mut self, scope: &mut Scope) -> Tree {
        let (value, kind) = match self.random.below(3) {
            0 => (self.number(scope, 2), Kind::Number),
            1 => (self.text(scope, 2), Kind::Text),
            _ => (self.expression(scope, 2), Kind::Any),
        };
        let name = self.fresh();
        scope.add(&name, kind);
        let text = format!("BIND(□ AS {name})");
        Tree::shape(Sort::Element, &text, vec![value])
    }

    fn values(&mut self, scope: &mut Scope) -> Tree {
        let known: Vec<(String, Range)> = scope
            .all()
            .iter()
            .filter_map(|known| match known.kind {
                Kind::Resource(class_idx) => Some((known.name.clone(), Range::Link(class_idx))),
                // A tag in a VALUES block comes from the parser in lower case, and terms join as they are.
                Kind::Value(Range::LangText) => None,
                Kind::Value(range) => Some((known.name.clone(), range)),
                _ => None,
            })
            .collect();
        let mark = self.fresh();
        let Some((name, range)) = self.random.pick(&known).cloned() else {
            scope.add(&mark, Kind::Number);
            let text = format!("VALUES {mark} {{ 1 2.5 }}");
            return Tree::leaf(Sort::Element, text);
        };
        let kind = match range {
            Range::Link(class_idx) => Kind::Resource(class_idx),
            other => Kind::Value(other),
        };
        scope.add(&name, kind);
        scope.add(&mark, Kind::Number);
        let odd = std::mem::replace(&mut self.options.odd_literals, false);
        let mut rows = Vec::new();
        for number in 0..2 + self.random.below(3) {
            let value = match self.random.below(5) {
                0 => "UNDEF".to_owned(),
                _ => self.constant(range),
            };
            let number = match self.random.below(6) {
                0 => "UNDEF".to_owned(),
                _ => number.to_string(),
            };
            rows.push(item(format!("({value} {number})")));
        }
        self.options.odd_literals = odd;
        let text = format!("VALUES ({name} {mark}) {{ □ }}");
        let rows = Tree::list(Sort::Clause, " ", 0, rows);
        Tree::shape(Sort::Element, &text, vec![rows])
    }

    fn graph(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut inner = scope.inner();
        let known = scope.of_kind(|kind| kind == Kind::Graph);
        let name = match self.random.below(5) {
            0 => self.graph_name(),
            1 if !known.is_empty() => known[self.random.below(known.len())].clone(),
            _ => self.fresh(),
        };
        let body = match self.random.chance(4) {
            true => group_of(Vec::new()),
            false => self.group(&mut inner, depth - 1),
        };
        scope.add_all(&inner);
        if name.starts_with('?') {
            scope.add(&name, Kind::Graph);
        }
        let text = format!("GRAPH {name} {{ □ }}");
        Tree::shape(Sort::Element, &text, vec![body])
    }

    /// A subquery that starts from variables around it and shows some of its own: those it hides have
    /// the names of others outside.
    fn subquery(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let mut inner = scope.inner();
        if self.options.aggregates && self.random.chance(10) {
            let groups = self.grouped_alike(&mut inner, depth - 1);
            scope.add_all(&inner);
            return groups;
        }
        if self.options.aggregates && self.random.chance(35) {
            let query = self.grouped(&mut inner, clauses(Vec::new()), depth - 1);
            scope.add_all(&inner);
            return Tree::shape(Sort::Element, "{ □ }", vec![query]);
        }
        let body = self.group(&mut inner, depth - 1);
        if inner.is_empty() {
            return Tree::shape(Sort::Element, "{ □ }", vec![body]);
        }
        let shown = self.some_variables(&inner);
        let visible: Vec<(String, Kind)> = inner
            .local()
            .filter(|known| shown.contains(&known.name))
            .map(|known| (known.name.clone(), known.kind))
            .collect();
        for (name, kind) in visible {
            scope.add(&name, kind);
        }
        let columns = shown.iter().map(item).collect();
        let columns = Tree::list(Sort::Clause, " ", 1, columns);
        match self.random.below(4) {
            0 => {
                // Total where no column is a blank node: whether it is, the oracle finds out.
                let slice = format!("LIMIT {}", 1 + self.random.below(6));
                let keys = shown.join(" ");
                let text = format!("{{ SELECT DISTINCT □ {{ □ }} ORDER BY {keys} {slice} }}");
                Tree::shape(Sort::Element, &text, vec![columns, body])
            }
            1 => {
                let text = "{ SELECT DISTINCT □ { □ } }";
                Tree::shape(Sort::Element, text, vec![columns, body])
            }
            _ => Tree::shape(Sort::Element, "{ SELECT □ { □ } }", vec![columns, body]),
        }
    }
}
