//! Seeded random datasets with the mixture that a shape-discovering store finds hard.
//!
//! Most subjects belong to one of four classes and have nearly the same predicates (some optional, some
//! many-valued, some links), so that tables can be found; a part of every dataset breaks the pattern:
//! predicates of other classes, objects of an unexpected type, blank subjects, subjects without type,
//! the same subject or the same triple in several graphs. The vocabulary is public, since
//! [`random_query`](crate::random_query) asks about it.
//!
//! Invariants: a seed and options always give the same dataset; without
//! [`odd_literals`](DataOptions::odd_literals) every number and date is written canonically and two
//! unlike terms never denote one value; doubles and floats are small multiples of a quarter, so sums
//! are exact in any order. Cost: linear in the quads.

use crate::choices::Choices;
use crate::dataset::Dataset;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term};
use oxsdatatypes::{Decimal, Float};

/// The namespace of everything generated.
pub const NAMESPACE: &str = "http://example.org/";

/// How many named graphs the vocabulary has: `g0`, `g1`, …
pub const GRAPH_COUNT: usize = 3;

/// What the objects of a property usually are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Plain strings from a small pool.
    Text,
    /// Strings with a language tag.
    LangText,
    /// xsd:integer.
    Integer,
    /// xsd:decimal.
    Decimal,
    /// xsd:double.
    Double,
    /// xsd:float.
    Float,
    /// xsd:boolean.
    Boolean,
    /// xsd:date without zone.
    Date,
    /// xsd:dateTime in UTC.
    DateTime,
    /// A number in a datatype nobody knows.
    Custom,
    /// A subject of the class with this index in [`CLASSES`].
    Link(usize),
}

/// How many objects a subject usually has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplicity {
    /// One.
    One,
    /// None or one.
    Optional,
    /// None to three.
    Many,
}

/// A predicate of a class.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// Local name in [`NAMESPACE`].
    pub name: &'static str,
    /// What its objects are.
    pub range: Range,
    /// How many there are.
    pub multiplicity: Multiplicity,
}

/// A kind of regular subjects.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    /// Local name in [`NAMESPACE`].
    pub name: &'static str,
    /// The predicates its subjects have, besides rdf:type.
    pub properties: &'static [Property],
}

const fn property(name: &'static str, range: Range, multiplicity: Multiplicity) -> Property {
    Property {
        name,
        range,
        multiplicity,
    }
}

/// The vocabulary; some names occur in several classes on purpose.
pub const CLASSES: [Class; 4] = [
    Class {
        name: "Person",
        properties: &[
            property("name", Range::Text, Multiplicity::One),
            property("age", Range::Integer, Multiplicity::Optional),
            property("born", Range::Date, Multiplicity::Optional),
            property("nick", Range::LangText, Multiplicity::Many),
            property("knows", Range::Link(0), Multiplicity::Many),
            property("city", Range::Link(3), Multiplicity::One),
        ],
    },
    Class {
        name: "Product",
        properties: &[
            property("label", Range::Text, Multiplicity::One),
            property("price", Range::Decimal, Multiplicity::One),
            property("weight", Range::Double, Multiplicity::Optional),
            property("size", Range::Float, Multiplicity::Optional),
            property("active", Range::Boolean, Multiplicity::One),
            property("cost", Range::Custom, Multiplicity::Optional),
            property("related", Range::Link(1), Multiplicity::Many),
            property("city", Range::Link(3), Multiplicity::Optional),
        ],
    },
    Class {
        name: "Review",
        properties: &[
            property("about", Range::Link(1), Multiplicity::One),
            property("by", Range::Link(0), Multiplicity::One),
            property("rating", Range::Integer, Multiplicity::Optional),
            property("created", Range::DateTime, Multiplicity::One),
            property("text", Range::LangText, Multiplicity::One),
        ],
    },
    Class {
        name: "Place",
        properties: &[
            property("name", Range::Text, Multiplicity::One),
            property("population", Range::Integer, Multiplicity::Optional),
            property("near", Range::Link(3), Multiplicity::Many),
            property("part", Range::Link(3), Multiplicity::Optional),
        ],
    },
];

/// The pool of plain strings; small, so that joins on them find something.
pub const TEXTS: [&str; 6] = ["ann", "bob", "Ann", "abc def", "\u{e9}t\u{e9} \"x\"", ""];

/// The language tags in use.
pub const LANGUAGES: [&str; 3] = ["en", "de", "en-gb"];

/// What a random dataset should contain.
#[derive(Debug, Clone, Copy)]
pub struct DataOptions {
    /// The dataset has at most this many quads.
    pub quads_max: usize,
    /// Whether some quads are in named graphs.
    pub named_graphs: bool,
    /// Whether some subjects and objects are blank nodes.
    pub blank_nodes: bool,
    /// Whether [`ODD_LITERALS`] occur.
    pub odd_literals: bool,
    /// Percentage of additional quads that fit no class.
    pub irregular_percent: usize,
}

impl Default for DataOptions {
    fn default() -> Self {
        Self {
            quads_max: 160,
            named_graphs: true,
            blank_nodes: true,
            odd_literals: false,
            irregular_percent: 15,
        }
    }
}

/// Makes the dataset of a seed.
pub fn random_dataset(seed: u64, options: DataOptions) -> Dataset {
    dataset_of(Choices::from_seed(seed), options)
}

/// Makes the dataset of any decisions.
pub fn dataset_of(choices: Choices, options: DataOptions) -> Dataset {
    let mut generator = Generator {
        random: choices,
        options,
        class_sizes: [0; CLASSES.len()],
    };
    generator.dataset()
}

/// An IRI of the vocabulary.
pub fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{name}"))
}

/// A literal that a property of this range may have; nothing for links.
pub fn random_literal(random: &mut Choices, range: Range) -> Option<Literal> {
    let text = TEXTS[random.below(TEXTS.len())];
    let quarter = i16::try_from(random.below(21)).unwrap_or(0) - 4;
    Some(match range {
        Range::Text => Literal::new_simple_literal(text),
        Range::LangText => Literal::new_language_tagged_literal_unchecked(
            text,
            LANGUAGES[random.below(LANGUAGES.len())],
        ),
        Range::Integer => Literal::from(i64::from(quarter)),
        Range::Decimal => Literal::from(Decimal::new(i128::from(quarter) * 25, 2).ok()?),
        Range::Double => {
            let value = f64::from(quarter) / 4.0;
            let text = match random.below(4) {
                0 => format!("{value:E}"),
                1 => format!("{value:.1e}"),
                2 => format!("{}", value / 3.0),
                _ => format!("{value}"),
            };
            Literal::new_typed_literal(text, xsd::DOUBLE)
        }
        Range::Float => Literal::from(Float::from(f32::from(quarter) / 4.0)),
        Range::Boolean => Literal::from(quarter % 2 == 0),
        Range::Date => {
            let day = format!("20{:02}-0{}-15", 18 + random.below(4), 1 + random.below(9));
            Literal::new_typed_literal(day, xsd::DATE)
        }
        Range::DateTime => {
            let (year, month) = (18 + random.below(4), 1 + random.below(9));
            let hour = random.below(10);
            let fraction = ["", "", "", "", ".250", ".000", ".250000", ".000001"];
            let fraction = fraction.get(hour).copied().unwrap_or(".2500001");
            let instant = format!("20{year:02}-0{month}-03T1{}:30:00{fraction}Z", hour % 4);
            Literal::new_typed_literal(instant, xsd::DATE_TIME)
        }
        Range::Custom => Literal::new_typed_literal(quarter.to_string(), iri("money")),
        Range::Link(_) => return None,
    })
}

/// Literals whose text is not the canonical one of its value, that are at the edge of what fits a machine
/// word, or that are no value at all. Language tags end in `@`; they are the last [`ODD_TAGGED`], and their text is
/// in no other literal, so that only who looks for them meets two spellings of one tag.
pub const ODD_LITERALS: [(&str, &str); 51] = [
    ("01", "integer"),
    ("+1", "integer"),
    ("-0", "integer"),
    ("9223372036854775807", "integer"),
    ("-9223372036854775808", "integer"),
    ("340282366920938463463374607431768211456", "integer"),
    ("1", "int"),
    ("7", "byte"),
    ("2", "unsignedLong"),
    ("1.50", "decimal"),
    ("1.0", "decimal"),
    ("170141183460469231731.687303715884105728", "decimal"),
    ("0.00000000000000000000000000000000000001", "decimal"),
    ("1.0E0", "double"),
    ("1e+00", "double"),
    ("0.99999999999999989", "double"),
    ("100", "double"),
    ("INF", "double"),
    ("NaN", "double"),
    ("-0.0E0", "double"),
    ("1.0E30", "double"),
    ("2.5", "float"),
    ("NaN", "float"),
    ("1", "boolean"),
    ("many", "integer"),
    ("", "decimal"),
    ("yes", "boolean"),
    ("2020-02-30", "date"),
    ("2020-01-01T01:00:00+01:00", "dateTime"),
    ("2020-01-01T00:00:00", "dateTime"),
    ("2019-12-31T24:00:00Z", "dateTime"),
    ("2020-01-01T00:00:00.250-14:00", "dateTime"),
    ("2020-05-15Z", "date"),
    ("2020-05-15+14:00", "date"),
    ("12:30:00", "time"),
    ("12:30:00Z", "time"),
    ("08:15:00", "time"),
    ("12:30:00.0", "time"),
    ("14:30:00+02:00", "time"),
    ("24:00:00", "time"),
    ("2020", "gYear"),
    ("P1Y", "yearMonthDuration"),
    ("PT36H", "dayTimeDuration"),
    ("P1DT12H", "dayTimeDuration"),
    ("P1DT12H", "duration"),
    ("PT0.5S", "dayTimeDuration"),
    ("PT00.50S", "dayTimeDuration"),
    ("-PT5M", "dayTimeDuration"),
    ("lava", "EN@"),
    ("lava", "En-Gb@"),
    ("lava", "en-GB@"),
];

/// How many of the odd literals have a language tag.
pub const ODD_TAGGED: usize = 3;

fn odd_literal(random: &mut Choices) -> Literal {
    let (text, datatype) = ODD_LITERALS[random.below(ODD_LITERALS.len())];
    match datatype.strip_suffix('@') {
        Some(tag) => Literal::new_language_tagged_literal_unchecked(text, tag),
        None => {
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{datatype}");
            Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype))
        }
    }
}

/// The state of one generation.
struct Generator {
    /// Where all choices come from.
    random: Choices,
    /// What was asked for.
    options: DataOptions,
    /// Number of subjects of each class.
    class_sizes: [usize; CLASSES.len()],
}

impl Generator {
    fn dataset(&mut self) -> Dataset {
        for size in &mut self.class_sizes {
            *size = 3 + self.random.below(6);
        }
        let mut quads = Vec::new();
        for class_idx in 0..CLASSES.len() {
            for number in 0..self.class_sizes[class_idx] {
                self.regular_subject(class_idx, number, &mut quads);
            }
        }
        let irregular_count = quads.len() * self.options.irregular_percent / 100;
        for _ in 0..irregular_count {
            let quad = self.irregular_quad();
            quads.push(quad);
        }
        if self.options.named_graphs {
            self.repeat_in_other_graphs(&mut quads);
        }
        // Quads are dropped from everywhere, so that what remains is still a mixture.
        while quads.len() > self.options.quads_max {
            let dropped = self.random.below(quads.len());
            quads.swap_remove(dropped);
        }
        Dataset::from_quads(quads)
    }

    /// The term of a subject; which subjects are blank follows from their number alone.
    fn subject(&self, class_idx: usize, number: usize) -> NamedOrBlankNode {
        let name = format!("{}{number}", CLASSES[class_idx].name.to_lowercase());
        if self.options.blank_nodes && (number * 7 + class_idx) % 9 == 3 {
            BlankNode::new_unchecked(name).into()
        } else {
            iri(&name).into()
        }
    }

    fn any_subject(&mut self) -> NamedOrBlankNode {
        let class_idx = self.random.below(CLASSES.len());
        let number = self.random.below(self.class_sizes[class_idx]);
        self.subject(class_idx, number)
    }

    fn object(&mut self, range: Range) -> Term {
        if self.options.odd_literals && self.random.chance(8) {
            return odd_literal(&mut self.random).into();
        }
        match (range, random_literal(&mut self.random, range)) {
            (Range::Link(class_idx), _) => {
                let number = self.random.below(self.class_sizes[class_idx]);
                self.subject(class_idx, number).into()
            }
            (_, Some(literal)) => literal.into(),
            (_, None) => self.any_subject().into(),
        }
    }

    fn any_graph(&mut self) -> GraphName {
        if self.options.named_graphs && self.random.chance(22) {
            iri(&format!("g{}", self.random.below(GRAPH_COUNT))).into()
        } else {
            GraphName::DefaultGraph
        }
    }

    fn regular_subject(&mut self, class_idx: usize, number: usize, quads: &mut Vec<Quad>) {
        let subject = self.subject(class_idx, number);
        let graph = self.any_graph();
        if self.random.chance(90) {
            let class = iri(CLASSES[class_idx].name);
            quads.push(Quad::new(subject.clone(), rdf::TYPE, class, graph.clone()));
        }
        for property in CLASSES[class_idx].properties {
            let count = match property.multiplicity {
                Multiplicity::One => usize::from(!self.random.chance(4)),
                Multiplicity::Optional => usize::from(self.random.chance(70)),
                Multiplicity::Many => self.random.below(4),
            };
            for _ in 0..count {
                let object = self.object(property.range);
                let predicate = iri(property.name);
                // Now and then one triple of a subject strays into another graph.
                let home = if self.random.chance(5) {
                    self.any_graph()
                } else {
                    graph.clone()
                };
                quads.push(Quad::new(subject.clone(), predicate, object, home));
            }
        }
    }

    fn irregular_quad(&mut self) -> Quad {
        let subject = match self.random.below(4) {
            0 if self.options.blank_nodes => {
                BlankNode::new_unchecked(format!("odd{}", self.random.below(4))).into()
            }
            1 => iri(&format!("odd{}", self.random.below(4))).into(),
            _ => self.any_subject(),
        };
        let class = CLASSES[self.random.below(CLASSES.len())];
        let used = class.properties[self.random.below(class.properties.len())];
        let other = class.properties[self.random.below(class.properties.len())];
        let predicate = if self.random.chance(30) {
            iri(&format!("extra{}", self.random.below(3)))
        } else {
            iri(used.name)
        };
        let object = self.object(other.range);
        Quad::new(subject, predicate, object, self.any_graph())
    }

    fn repeat_in_other_graphs(&mut self, quads: &mut Vec<Quad>) {
        for _ in 0..quads.len() / 12 {
            if let Some(quad) = self.random.pick(quads).cloned() {
                quads.push(Quad {
                    graph_name: self.any_graph(),
                    ..quad
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataOptions, random_dataset};
    use oxrdf::GraphName;

    #[test]
    fn a_seed_always_means_the_same_data_and_options_are_obeyed() {
        for seed in 0..50 {
            let options = DataOptions::default();
            let data = random_dataset(seed, options);
            assert_eq!(data.quads(), random_dataset(seed, options).quads());
            assert!(data.quads().len() <= options.quads_max);
            assert!(data.quads().len() > 20, "seed {seed} makes too little");
        }
        let options = DataOptions {
            named_graphs: false,
            blank_nodes: false,
            ..DataOptions::default()
        };
        for quad in random_dataset(1, options).quads() {
            assert_eq!(quad.graph_name, GraphName::DefaultGraph);
            assert!(!quad.subject.is_blank_node() && !quad.object.is_blank_node());
        }
    }
}
