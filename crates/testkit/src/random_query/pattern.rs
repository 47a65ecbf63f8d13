//! Graph patterns of generated queries: stars, chains, paths, and the groups made of them.
//!
//! Each production returns text and adds the variables it binds to the [`Scope`] it was given, or to a
//! copy where SPARQL hides them.

use super::{Generator, Kind};
use crate::random_data::{CLASSES, GRAPH_COUNT, Range, random_literal};

/// The variables a group can see, in order of appearance.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// Names with question mark, and what they are likely to hold.
    variables: Vec<(String, Kind)>,
}

impl Scope {
    /// Adds a variable unless it is there.
    pub(super) fn add(&mut self, name: &str, kind: Kind) {
        if !self.variables.iter().any(|(known, _)| known == name) {
            self.variables.push((name.to_owned(), kind));
        }
    }

    /// All names.
    pub(super) fn names(&self) -> Vec<String> {
        self.of_kind(|_| true)
    }

    /// The names of variables of certain kinds.
    pub(super) fn of_kind(&self, accept: impl Fn(Kind) -> bool) -> Vec<String> {
        self.variables
            .iter()
            .filter(|(_, kind)| accept(*kind))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Names and kinds.
    pub(super) fn variables(&self) -> &[(String, Kind)] {
        &self.variables
    }

    /// The scope inside GRAPH: the names of graphs are bound only after the inner pattern, and engines
    /// differ in whether an inner pattern can already see them, so none is used there.
    fn without_graphs(&self) -> Self {
        Self {
            variables: self
                .variables
                .iter()
                .filter(|(_, kind)| *kind != Kind::Graph)
                .cloned()
                .collect(),
        }
    }

    fn add_all(&mut self, other: &Self) {
        for (name, kind) in &other.variables {
            self.add(name, *kind);
        }
    }
}

/// `<http://example.org/NAME>`.
pub(super) fn iri(name: &str) -> String {
    format!("<{}{name}>", crate::random_data::NAMESPACE)
}

impl Generator {
    /// The body of a group: a star, then more elements, then filters.
    pub(super) fn group(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut parts = vec![self.star(scope)];
        if scope.variables().is_empty() {
            // Only constants so far, and a query needs something to select.
            parts.push(self.wildcard(scope));
        }
        if self.random.chance(35) {
            parts.push(self.star(scope));
        }
        if depth > 0 {
            for _ in 0..self.random.below(3) {
                parts.push(self.element(scope, depth));
            }
        }
        if self.random.chance(40) {
            parts.push(format!("FILTER({})", self.condition(scope, depth)));
        }
        parts.join(" ")
    }

    fn element(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.random.below(12) {
            0..=2 => self.optional(scope, depth),
            3 => self.union(scope, depth),
            // Oxigraph evaluates an inner group with the bindings around it, which MINUS then sees as
            // shared variables that the algebra does not give it.
            4 if depth == self.options.depth_max || !self.options.only_what_oracles_agree_on => {
                let mut inner = scope.clone();
                format!("MINUS {{ {} }}", self.group(&mut inner, depth - 1))
            }
            5 => self.bind(scope),
            6 => self.values(scope),
            7 | 8 if self.options.graphs => self.graph(scope, depth),
            9 if self.options.subqueries => self.subquery(scope, depth),
            10 if self.options.paths => self.path(scope),
            _ => self.star(scope),
        }
    }

    /// Several predicates of one subject, which is taken from the scope when there is one.
    pub(super) fn star(&mut self, scope: &mut Scope) -> String {
        if self.random.chance(5) {
            return self.wildcard(scope);
        }
        let (subject, class_idx) = self.subject(scope);
        if subject.starts_with('?') {
            scope.add(&subject, Kind::Resource(class_idx));
        }
        let mut text = String::new();
        if self.random.chance(25) {
            let class = iri(CLASSES[class_idx].name);
            text.push_str(&format!("{subject} a {class} . "));
        }
        let properties = CLASSES[class_idx].properties;
        for _ in 0..1 + self.random.below(2) {
            let property = properties[self.random.below(properties.len())];
            let object = self.object(scope, property.range);
            text.push_str(&format!("{subject} {} {object} . ", iri(property.name)));
        }
        text
    }

    /// A triple pattern with a variable predicate.
    fn wildcard(&mut self, scope: &mut Scope) -> String {
        let (subject, class_idx) = self.subject(scope);
        if subject.starts_with('?') {
            scope.add(&subject, Kind::Resource(class_idx));
        }
        let predicate = self.fresh();
        scope.add(&predicate, Kind::Predicate);
        let object = self.fresh();
        scope.add(&object, Kind::Any);
        format!("{subject} {predicate} {object} . ")
    }

    /// A subject and the class it probably has.
    fn subject(&mut self, scope: &Scope) -> (String, usize) {
        let known: Vec<(String, usize)> = scope
            .variables()
            .iter()
            .filter_map(|(name, kind)| match kind {
                Kind::Resource(class_idx) => Some((name.clone(), *class_idx)),
                _ => None,
            })
            .collect();
        // Once something is bound, most stars hang on it: a cross product has too many rows.
        if let Some(chosen) = self.random.pick(&known)
            && self.random.chance(93)
        {
            return chosen.clone();
        }
        let class_idx = self.class_idx();
        let subject = match self.random.below(10) {
            0 if self.random.chance(50) => self.constant_subject(class_idx),
            1 => format!("_:n{}", self.fresh().trim_start_matches('?')),
            _ => self.fresh(),
        };
        (subject, class_idx)
    }

    fn constant_subject(&mut self, class_idx: usize) -> String {
        let number = self.random.below(5);
        iri(&format!(
            "{}{number}",
            CLASSES[class_idx].name.to_lowercase()
        ))
    }

    fn object(&mut self, scope: &mut Scope, range: Range) -> String {
        let kind = match range {
            Range::Link(class_idx) => Kind::Resource(class_idx),
            other => Kind::Value(other),
        };
        let same = scope.of_kind(|other| other == kind);
        if let Some(name) = self.random.pick(&same)
            && self.random.chance(7)
        {
            return name.clone();
        }
        if self.random.chance(5) {
            return self.constant(range);
        }
        let name = self.fresh();
        scope.add(&name, kind);
        name
    }

    /// A constant that occurs as object of properties with this range.
    pub(super) fn constant(&mut self, range: Range) -> String {
        match (range, random_literal(&mut self.random, range)) {
            (_, Some(literal)) => literal.to_string(),
            (Range::Link(class_idx), None) => self.constant_subject(class_idx),
            (_, None) => self.constant_subject(0),
        }
    }

    fn optional(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut inner = scope.clone();
        let body = self.group(&mut inner, depth - 1);
        scope.add_all(&inner);
        format!("OPTIONAL {{ {body} }}")
    }

    fn union(&mut self, scope: &mut Scope, depth: usize) -> String {
        let (mut left, mut right) = (scope.clone(), scope.clone());
        let left_body = self.group(&mut left, depth - 1);
        let right_body = self.group(&mut right, depth - 1);
        scope.add_all(&left);
        scope.add_all(&right);
        format!("{{ {left_body} }} UNION {{ {right_body} }}")
    }

    fn bind(&mut self, scope: &mut Scope) -> String {
        let expression = self.expression(scope);
        let name = self.fresh();
        scope.add(&name, Kind::Any);
        format!("BIND({expression} AS {name})")
    }

    fn values(&mut self, scope: &mut Scope) -> String {
        let known: Vec<(String, Range)> = scope
            .variables()
            .iter()
            .filter_map(|(name, kind)| match kind {
                Kind::Resource(class_idx) => Some((name.clone(), Range::Link(*class_idx))),
                Kind::Value(range) => Some((name.clone(), *range)),
                _ => None,
            })
            .collect();
        let Some((name, range)) = self.random.pick(&known).cloned() else {
            return String::new();
        };
        let mark = self.fresh();
        scope.add(&mark, Kind::Any);
        let mut rows = String::new();
        for number in 0..2 + self.random.below(3) {
            let value = match self.random.below(6) {
                0 => "UNDEF".to_owned(),
                _ => self.constant(range),
            };
            rows.push_str(&format!("({value} {number}) "));
        }
        format!("VALUES ({name} {mark}) {{ {rows}}}")
    }

    fn graph(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut inner = scope.without_graphs();
        let known = scope.of_kind(|kind| kind == Kind::Graph);
        let name = match self.random.below(4) {
            0 => iri(&format!("g{}", self.random.below(GRAPH_COUNT + 1))),
            1 if !known.is_empty() => known[self.random.below(known.len())].clone(),
            _ => self.fresh(),
        };
        // GRAPH does not nest here, for the same reason that hides graph variables inside.
        let nested = std::mem::replace(&mut self.options.graphs, false);
        let body = self.group(&mut inner, depth - 1);
        self.options.graphs = nested;
        scope.add_all(&inner);
        if name.starts_with('?') {
            scope.add(&name, Kind::Graph);
        }
        format!("GRAPH {name} {{ {body} }}")
    }

    /// A subquery that shares at most its key with the outside.
    fn subquery(&mut self, scope: &mut Scope, depth: usize) -> String {
        let known = scope.of_kind(|kind| matches!(kind, Kind::Resource(_)));
        let mut inner = Scope::default();
        if let Some(shared) = self.random.pick(&known) {
            let kind = scope.variables().iter().find(|(name, _)| name == shared);
            inner.add(shared, kind.map_or(Kind::Any, |(_, kind)| *kind));
        }
        let body = self.group(&mut inner, depth - 1);
        let Some((key, kind)) = inner.variables().first().cloned() else {
            return String::new();
        };
        scope.add(&key, kind);
        if self.options.aggregates && self.random.chance(60) {
            let count = self.fresh();
            scope.add(&count, Kind::Value(Range::Integer));
            return format!(
                "{{ SELECT {key} (COUNT(*) AS {count}) WHERE {{ {body} }} GROUP BY {key} }}"
            );
        }
        format!("{{ SELECT DISTINCT {key} WHERE {{ {body} }} }}")
    }

    fn path(&mut self, scope: &mut Scope) -> String {
        let links = [
            ("knows", 0, 0),
            ("related", 1, 1),
            ("near", 3, 3),
            ("part", 3, 3),
        ];
        let (link, from, to) = links[self.random.below(links.len())];
        let step = iri(link);
        let is_safe = self.options.only_what_oracles_agree_on;
        let known = scope.of_kind(|kind| kind == Kind::Resource(from));
        let (path, from, to) = match self.random.below(11) {
            0 => (format!("{step}+"), from, to),
            // A constant reaches itself in no steps even if it is not in the graph; not so in Oxigraph.
            1 | 2 if is_safe && known.is_empty() => (format!("{step}+"), from, to),
            1 => (format!("{step}*"), from, to),
            2 => (format!("{step}?"), from, to),
            3 => (format!("{}/{step}", iri("city")), 0, 3),
            4 => (format!("^{}/{}", iri("by"), iri("about")), 0, 1),
            5 => (format!("({}|{step})+", iri("part")), from, to),
            6 => (format!("!({step}|{})", iri("name")), from, to),
            7 => (format!("{}/{}*", iri("city"), iri("near")), 0, 3),
            8 => (format!("(^{step}|{step})+"), from, to),
            // Alternatives are a union that keeps duplicates; Oxigraph drops them.
            9 if !is_safe => (format!("!(^{step}|{})", iri("name")), from, to),
            _ if !is_safe => (format!("^{step}|{step}"), from, to),
            _ => (format!("^{step}"), to, from),
        };
        let known = scope.of_kind(|kind| kind == Kind::Resource(from));
        let subject = match self.random.pick(&known) {
            Some(name) => name.clone(),
            None => self.constant_subject(from),
        };
        let object = match self.random.below(5) {
            0 => self.constant_subject(to),
            _ => self.fresh(),
        };
        if object.starts_with('?') {
            scope.add(&object, Kind::Resource(to));
        }
        format!("{subject} {path} {object} . ")
    }
}
