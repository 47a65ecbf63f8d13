//! Property paths of generated queries: every operator, nested, with ends of every kind.

use super::Generator;
use super::scope::{Kind, Scope};
use super::star::iri;
use crate::query_tree::{Sort, Tree};
use crate::random_data::{CLASSES, Range, TEXTS};

/// A path from subjects of one class to subjects of another.
struct Route {
    /// The path.
    path: Tree,
    /// Where it leads.
    to: usize,
}

impl Generator {
    /// A path pattern.
    pub(super) fn path(&mut self, scope: &mut Scope) -> Tree {
        let known: Vec<(String, usize)> = scope
            .all()
            .iter()
            .filter_map(|known| match known.kind {
                Kind::Resource(class_idx) => Some((known.name.clone(), class_idx)),
                _ => None,
            })
            .collect();
        let (subject, from) = match self.random.pick(&known) {
            Some(known) if self.random.chance(75) => known.clone(),
            _ => {
                let class_idx = self.class_idx();
                let subject = match self.random.below(4) {
                    0 => self.constant_subject(class_idx),
                    _ => self.fresh(),
                };
                (subject, class_idx)
            }
        };
        let Route { path, to } = self.route(from, 3);
        let ends: Vec<String> = known
            .iter()
            .filter(|(_, class_idx)| *class_idx == to)
            .map(|(name, _)| name.clone())
            .collect();
        let object = match self.random.below(10) {
            1 => self.constant_subject(to),
            2 => format!("\"{}\"", TEXTS[self.random.below(4)]),
            3 if !ends.is_empty() => ends[self.random.below(ends.len())].clone(),
            4 if self.random.chance(50) => subject.clone(),
            _ => self.fresh(),
        };
        for (end, class_idx) in [(&subject, from), (&object, to)] {
            if end.starts_with('?') {
                scope.add(end, Kind::Resource(class_idx));
            }
        }
        let text = format!("{subject} □ {object} .");
        Tree::shape(Sort::Element, &text, vec![path])
    }

    fn route(&mut self, from: usize, depth: usize) -> Route {
        let stay = |route: Route, text: &str| Route {
            path: Tree::shape(Sort::Path, text, vec![route.path]),
            ..route
        };
        if depth == 0 {
            return self.step(from);
        }
        match self.random.below(12) {
            0 | 1 => {
                let first = self.route(from, depth - 1);
                let second = self.route(first.to, depth - 1);
                Route {
                    path: Tree::shape(Sort::Path, "(□/□)", vec![first.path, second.path]),
                    to: second.to,
                }
            }
            2 => {
                let first = self.route(from, depth - 1);
                let second = self.route(from, depth - 1);
                Route {
                    path: Tree::shape(Sort::Path, "(□|□)", vec![first.path, second.path]),
                    ..first
                }
            }
            3 | 4 => stay(self.route(from, depth - 1), "(□)+"),
            5 | 6 => stay(self.route(from, depth - 1), "(□)*"),
            7 => stay(self.route(from, depth - 1), "(□)?"),
            8 => self.negated(from),
            9 if self.random.chance(40) => stay(self.route(from, depth - 1), "^(□)"),
            _ => self.step(from),
        }
    }

    /// One link that leaves or enters a class, rarely a property with literals.
    fn step(&mut self, from: usize) -> Route {
        let mut steps = Vec::new();
        for (class_idx, class) in CLASSES.iter().enumerate() {
            for property in class.properties {
                if let Range::Link(to) = property.range {
                    if class_idx == from {
                        steps.push((iri(property.name), to));
                    }
                    if to == from {
                        steps.push((format!("^{}", iri(property.name)), class_idx));
                    }
                }
            }
        }
        if self.random.chance(8) {
            let properties = CLASSES[from].properties;
            let name = properties[self.random.below(properties.len())].name;
            steps = vec![(iri(name), from)];
        }
        let (text, to) = steps[self.random.below(steps.len())].clone();
        Route {
            path: Tree::leaf(Sort::Path, text),
            to,
        }
    }

    fn negated(&mut self, from: usize) -> Route {
        let mut excluded = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let inverse = if self.random.chance(30) { "^" } else { "" };
            let properties = CLASSES[self.random.below(CLASSES.len())].properties;
            let name = properties[self.random.below(properties.len())].name;
            excluded.push(Tree::leaf(Sort::Item, format!("{inverse}{}", iri(name))));
        }
        let excluded = Tree::list(Sort::Clause, "|", 1, excluded);
        Route {
            path: Tree::shape(Sort::Path, "!(□)", vec![excluded]),
            to: from,
        }
    }
}
