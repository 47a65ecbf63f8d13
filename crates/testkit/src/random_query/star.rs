//! Triple patterns of generated queries: stars, wildcards, and the constants in them.

use super::Generator;
use super::scope::{Kind, Scope};
use crate::query_tree::{Sort, Tree};
use crate::random_data::{CLASSES, GRAPH_COUNT, ODD_LITERALS, ODD_TAGGED, Range, random_literal};

/// `<http://example.org/NAME>`.
pub(super) fn iri(name: &str) -> String {
    format!("<{}{name}>", crate::random_data::NAMESPACE)
}

impl Generator {
    /// Several predicates of one subject, which is taken from the scope when there is one.
    pub(super) fn star(&mut self, scope: &mut Scope) -> Vec<Tree> {
        if self.random.chance(6) {
            return vec![self.wildcard(scope)];
        }
        let (subject, class_idx) = self.subject(scope);
        if subject.starts_with('?') {
            scope.add(&subject, Kind::Resource(class_idx));
        }
        let mut triples = Vec::new();
        let mut push = |text: String| triples.push(Tree::leaf(Sort::Element, text));
        if self.random.chance(25) {
            let class = match self.random.chance(8) {
                true => {
                    let class = self.fresh();
                    scope.add(&class, Kind::Any);
                    class
                }
                false => iri(CLASSES[class_idx].name),
            };
            push(format!("{subject} a {class} ."));
        }
        let properties = CLASSES[class_idx].properties;
        for _ in 0..1 + self.random.below(2) {
            let property = properties[self.random.below(properties.len())];
            let object = self.object(scope, property.range);
            push(format!("{subject} {} {object} .", iri(property.name)));
        }
        triples
    }

    /// A triple pattern with a variable predicate.
    pub(super) fn wildcard(&mut self, scope: &mut Scope) -> Tree {
        let (subject, class_idx) = self.subject(scope);
        if subject.starts_with('?') {
            scope.add(&subject, Kind::Resource(class_idx));
        }
        let known = scope.of_kind(|kind| kind == Kind::Predicate);
        let predicate = match self.random.pick(&known) {
            Some(known) if self.random.chance(30) => known.clone(),
            _ => self.fresh(),
        };
        scope.add(&predicate, Kind::Predicate);
        let properties = CLASSES[class_idx].properties;
        let object = match self.random.below(8) {
            0 => {
                let range = properties[self.random.below(properties.len())].range;
                self.object_constant(range)
            }
            1 if subject.starts_with('?') && self.random.chance(30) => subject.clone(),
            _ => {
                let object = self.fresh();
                scope.add(&object, Kind::Any);
                object
            }
        };
        Tree::leaf(Sort::Element, format!("{subject} {predicate} {object} ."))
    }

    /// A subject and the class it probably has.
    fn subject(&mut self, scope: &Scope) -> (String, usize) {
        let known: Vec<(String, usize)> = scope
            .all()
            .iter()
            .filter_map(|known| match known.kind {
                Kind::Resource(class_idx) => Some((known.name.clone(), class_idx)),
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
            1 if self.random.chance(50) => self.constant_subject(class_idx),
            2 => format!("_:n{}", self.fresh().trim_start_matches('?')),
            _ => self.fresh(),
        };
        (subject, class_idx)
    }

    /// A subject of a class, rarely one that nobody knows.
    pub(super) fn constant_subject(&mut self, class_idx: usize) -> String {
        if self.random.chance(4) {
            return iri("nowhere");
        }
        let number = self.random.below(5);
        let name = format!("{}{number}", CLASSES[class_idx].name.to_lowercase());
        match self.has_base && self.random.chance(50) {
            true => format!("<{name}>"),
            false => iri(&name),
        }
    }

    fn object(&mut self, scope: &mut Scope, range: Range) -> String {
        let kind = match range {
            Range::Link(class_idx) => Kind::Resource(class_idx),
            other => Kind::Value(other),
        };
        let same: Vec<String> = scope
            .all()
            .iter()
            .filter(|known| known.kind == kind)
            .map(|known| known.name.clone())
            .collect();
        if let Some(name) = self.random.pick(&same)
            && self.random.chance(7)
        {
            scope.add(name, kind);
            return name.clone();
        }
        if self.random.chance(5) {
            return self.object_constant(range);
        }
        let name = self.fresh();
        scope.add(&name, kind);
        name
    }

    /// A constant that occurs as object of properties with this range.
    pub(super) fn constant(&mut self, range: Range) -> String {
        if self.options.odd_literals && self.random.chance(4) {
            return self.odd_constant();
        }
        match (range, random_literal(&mut self.random, range)) {
            (_, Some(literal)) => literal.to_string(),
            (Range::Link(class_idx), None) => self.constant_subject(class_idx),
            (_, None) => self.constant_subject(0),
        }
    }

    /// A constant for a triple pattern, where a tagged one stands for every spelling of its tag. Which spelling an
    /// expression has that makes the same string is nobody's concern.
    fn object_constant(&mut self, range: Range) -> String {
        if self.options.odd_literals && self.random.chance(4) {
            let tag = ["en", "EN-gb", "en-GB"][self.random.below(3)];
            return format!("\"lava\"@{tag}");
        }
        self.constant(range)
    }

    /// One of the odd literals without a tag.
    pub(super) fn odd_constant(&mut self) -> String {
        let (text, datatype) = ODD_LITERALS[self.random.below(ODD_LITERALS.len() - ODD_TAGGED)];
        format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>")
    }

    /// The name of a graph, seldom one that does not exist.
    pub(super) fn graph_name(&mut self) -> String {
        let graph = self.random.below(GRAPH_COUNT * 4 + 1) % (GRAPH_COUNT + 1);
        iri(&format!("g{graph}"))
    }
}
