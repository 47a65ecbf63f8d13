//! Random updates: operations of every kind but LOAD, over the vocabulary of the data.
//!
//! Deletions look at the data, so that most of them find something. Most operations change a few quads; those that
//! empty or replace graphs are rare, or there would soon be nothing left to ask about.

use super::scope::Scope;
use super::star::iri;
use super::{Generator, QueryOptions};
use crate::choices::Choices;
use crate::dataset::Dataset;
use crate::random_data::{CLASSES, GRAPH_COUNT};
use oxrdf::{GraphName, Quad, Term};

/// Makes the operations of one request, by a seed, for this data.
pub fn random_update(seed: u64, options: QueryOptions, dataset: &Dataset) -> Vec<String> {
    let mut generator = Generator {
        // Away from the numbers that the same seed gives for data and queries.
        random: Choices::from_seed(seed ^ 0x5550_4441_5445_2121),
        options,
        variable_count: 0,
        has_base: false,
        elements_left: 14,
    };
    let count = 1 + generator.random.below(5) / 2;
    (0..count).map(|_| generator.operation(dataset)).collect()
}

impl Generator {
    fn operation(&mut self, dataset: &Dataset) -> String {
        match self.random.below(40) {
            0 => "CLEAR SILENT DEFAULT".to_owned(),
            1 => format!(
                "{} GRAPH {}",
                ["CLEAR", "DROP"][self.random.below(2)],
                self.graph_name()
            ),
            2 => "DROP NAMED".to_owned(),
            3 if self.random.chance(20) => "CLEAR ALL".to_owned(),
            4 => format!("CREATE{} GRAPH {}", self.silent(), self.graph_name()),
            5..=8 => self.transfer(),
            9..=13 => self.delete_data(dataset),
            14..=20 => self.insert_data(),
            21..=24 => self.delete_where(),
            _ => self.modify(),
        }
    }

    fn silent(&mut self) -> &'static str {
        ["", " SILENT"][self.random.below(2)]
    }

    fn end(&mut self) -> String {
        match self.random.below(4) {
            0 => "DEFAULT".to_owned(),
            1 => format!("GRAPH {}", self.graph_name()),
            _ => self.graph_name(),
        }
    }

    fn transfer(&mut self) -> String {
        // More often ADD, which takes nothing away.
        let kind = ["ADD", "ADD", "COPY", "MOVE"][self.random.below(4)];
        let silent = if self.random.chance(70) {
            " SILENT"
        } else {
            ""
        };
        let (from, to) = (self.end(), self.end());
        format!("{kind}{silent} {from} TO {to}")
    }

    /// Triples in a graph, as they stand in data and templates.
    fn placed(&mut self, triples: &str) -> String {
        match self.random.below(3) {
            0 => format!("GRAPH {} {{ {triples} }}", self.graph_name()),
            _ => triples.to_owned(),
        }
    }

    /// Some quads: of known subjects or a new one, with the predicates of a class or a strange one.
    fn insert_data(&mut self) -> String {
        // No two operations may share a label.
        let mark = self.fresh().replace('?', "_:");
        let mut quads = String::new();
        for _ in 0..1 + self.random.below(3) {
            let class_idx = self.class_idx();
            let subject = match self.random.below(5) {
                0 => format!("{mark}s{}", self.random.below(3)),
                1 => iri(&format!("new{}", self.random.below(50))),
                _ => self.constant_subject(class_idx),
            };
            let mut triples = String::new();
            if self.random.chance(20) {
                triples.push_str(&format!("{subject} a {} . ", iri(CLASSES[class_idx].name)));
            }
            let properties = CLASSES[class_idx].properties;
            for _ in 0..1 + self.random.below(properties.len()) {
                let property = properties[self.random.below(properties.len())];
                let predicate = match self.random.chance(10) {
                    true => iri(&format!("strange{}", self.random.below(3))),
                    false => iri(property.name),
                };
                let object = match self.random.below(12) {
                    0 => format!("{mark}o{}", self.random.below(3)),
                    1 => format!("\"new text {}\"", self.random.below(30)),
                    _ => self.constant(property.range),
                };
                triples.push_str(&format!("{subject} {predicate} {object} . "));
            }
            quads.push_str(&self.placed(&triples));
            quads.push(' ');
        }
        format!("INSERT DATA {{ {quads}}}")
    }

    fn delete_data(&mut self, dataset: &Dataset) -> String {
        let is_ground = |quad: &&Quad| {
            quad.subject.is_named_node()
                && !matches!(quad.object, Term::BlankNode(_))
                && !matches!(quad.graph_name, GraphName::BlankNode(_))
        };
        let ground: Vec<&Quad> = dataset.quads().iter().filter(is_ground).collect();
        let mut quads = String::new();
        for _ in 0..1 + self.random.below(6) {
            let Some(quad) = self.random.pick(&ground) else {
                break;
            };
            let predicate = match self.random.chance(8) {
                true => iri("nothing"),
                false => quad.predicate.to_string(),
            };
            let triple = format!("{} {predicate} {}", quad.subject, quad.object);
            quads.push_str(&match &quad.graph_name {
                GraphName::DefaultGraph => format!("{triple} . "),
                graph => format!("GRAPH {graph} {{ {triple} }} "),
            });
        }
        format!("DELETE DATA {{ {quads}}}")
    }

    fn delete_where(&mut self) -> String {
        let class_idx = self.class_idx();
        let subject = match self.random.chance(50) {
            true => self.constant_subject(class_idx),
            false => self.fresh(),
        };
        let properties = CLASSES[class_idx].properties;
        let mut triples = String::new();
        for _ in 0..1 + self.random.below(2) {
            let property = properties[self.random.below(properties.len())];
            let predicate = match self.random.chance(10) {
                true => self.fresh(),
                false => iri(property.name),
            };
            let object = match self.random.chance(40) {
                true => self.constant(property.range),
                false => self.fresh(),
            };
            triples.push_str(&format!("{subject} {predicate} {object} . "));
        }
        match self.random.below(4) {
            0 => format!("DELETE WHERE {{ GRAPH {} {{ {triples}}} }}", self.fresh()),
            1 => format!(
                "DELETE WHERE {{ GRAPH {} {{ {triples}}} }}",
                self.graph_name()
            ),
            _ => format!("DELETE WHERE {{ {triples}}}"),
        }
    }

    fn modify(&mut self) -> String {
        let mut scope = Scope::default();
        self.elements_left = self.elements_left.max(4);
        let body = self.body(&mut scope);
        let names = scope.names();
        let form = self.random.below(4);
        let mut text = String::new();
        let has_with = self.random.chance(15);
        if has_with {
            text.push_str(&format!("WITH {} ", self.graph_name()));
        }
        if form < 2 {
            let template = self.template(&names, false);
            text.push_str(&format!("DELETE {{ {template}}} "));
        }
        if form > 0 {
            let template = self.template(&names, true);
            text.push_str(&format!("INSERT {{ {template}}} "));
        }
        if self.random.chance(10) {
            for _ in 0..1 + self.random.below(2) {
                let named = ["", "NAMED "][self.random.below(2)];
                let graph = self.random.below(GRAPH_COUNT);
                text.push_str(&format!("USING {named}{} ", iri(&format!("g{graph}"))));
            }
        }
        format!("{text}WHERE {{ {body} }}")
    }

    /// Quads of variables and constants; with blank nodes if they are to be inserted.
    fn template(&mut self, names: &[String], is_insert: bool) -> String {
        let mut quads = String::new();
        for _ in 0..1 + self.random.below(2) {
            let class_idx = self.class_idx();
            let properties = CLASSES[class_idx].properties;
            let property = properties[self.random.below(properties.len())];
            let subject = match self.random.pick(names) {
                Some(name) if self.random.chance(85) => name.clone(),
                _ if is_insert && self.random.chance(60) => "_:b".to_owned(),
                _ => self.constant_subject(class_idx),
            };
            let predicate = match self.random.pick(names) {
                Some(name) if self.random.chance(if is_insert { 8 } else { 30 }) => name.clone(),
                _ if is_insert && self.random.chance(40) => iri("made"),
                _ => iri(property.name),
            };
            let object = match self.random.pick(names) {
                Some(name) if self.random.chance(80) => name.clone(),
                _ if is_insert && self.random.chance(30) => "_:b".to_owned(),
                _ => self.constant(property.range),
            };
            let triple = format!("{subject} {predicate} {object} . ");
            quads.push_str(&match (self.random.below(6), self.random.pick(names)) {
                (0, Some(name)) => format!("GRAPH {name} {{ {triple}}} "),
                (1, _) => format!("GRAPH {} {{ {triple}}} ", self.graph_name()),
                _ => triple,
            });
        }
        quads
    }
}

#[cfg(test)]
mod tests {
    use super::random_update;
    use crate::naive::update::{UpdateFailure, update};
    use crate::random_data::{DataOptions, random_dataset};
    use crate::random_query::QueryOptions;
    use spargebra::SparqlParser;

    #[test]
    fn random_updates_parse_and_most_change_something() {
        let mut changed = 0;
        for seed in 0..150 {
            let data = random_dataset(seed, DataOptions::default());
            let operations = random_update(seed, QueryOptions::default(), &data);
            let text = operations.join(" ;\n");
            let parsed = SparqlParser::new().parse_update(&text);
            assert!(parsed.is_ok(), "seed {seed}: {text}\n{parsed:?}");
            match update(&data, &operations) {
                Ok(after) => changed += usize::from(after != data),
                Err(UpdateFailure::Refused(_) | UpdateFailure::Oracle(_)) => {}
            }
        }
        assert!(changed > 75, "{changed} of 150");
    }
}
