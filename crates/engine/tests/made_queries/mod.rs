//! Queries made from the quads of a data set: their predicates, links, classes and values.
//!
//! Every query starts from a quad drawn at random and describes what is around it, so that most have
//! answers; constants are drawn from the data as well, which keeps answers small. Some patterns are
//! deliberately off: a constant of another quad, a term that is nowhere. Invariant: a seed makes the
//! same query for ever over the same quads. Blank nodes are never written as constants. Sums are made
//! only over integers and decimals, since the sum of doubles depends on their order.

mod joined_parts;
mod shapes_of_queries;

use basalt_testkit::split_mix::SplitMix;
use oxigraph::model::Quad;
use std::collections::HashMap;

const TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A query, and how it is asked and compared.
pub struct Query {
    /// Its text.
    pub text: String,
    /// Whether the order of the rows is fixed.
    pub is_ordered: bool,
    /// Whether the default graph is the union of all graphs.
    pub is_union: bool,
}

/// The quads of a set as text of SPARQL terms, with ways to find them.
pub struct World {
    quads: Vec<[String; 4]>,
    by_subject: HashMap<String, Vec<usize>>,
    by_object: HashMap<String, Vec<usize>>,
    by_predicate: Vec<(String, Vec<usize>)>,
    has_graphs: bool,
}

impl World {
    /// Indexes the quads; the default graph is the empty text.
    pub fn new(quads: &[Quad]) -> Self {
        let mut quads: Vec<[String; 4]> = quads
            .iter()
            .map(|quad| {
                let graph = if quad.graph_name.is_default_graph() {
                    String::new()
                } else {
                    quad.graph_name.to_string()
                };
                let subject = quad.subject.to_string();
                let predicate = quad.predicate.to_string();
                [subject, predicate, quad.object.to_string(), graph]
            })
            .collect();
        quads.sort_unstable();
        let mut by_subject: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_object: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_predicate: HashMap<String, Vec<usize>> = HashMap::new();
        for (idx, [subject, predicate, object, _]) in quads.iter().enumerate() {
            by_subject.entry(subject.clone()).or_default().push(idx);
            by_object.entry(object.clone()).or_default().push(idx);
            by_predicate.entry(predicate.clone()).or_default().push(idx);
        }
        let mut by_predicate: Vec<_> = by_predicate.into_iter().collect();
        by_predicate.sort_unstable();
        let has_graphs = quads.iter().any(|[_, _, _, graph]| !graph.is_empty());
        Self {
            quads,
            by_subject,
            by_object,
            by_predicate,
            has_graphs,
        }
    }
}

fn is_iri(term: &str) -> bool {
    term.starts_with('<')
}

fn is_literal(term: &str) -> bool {
    term.starts_with('"')
}

fn is_blank(term: &str) -> bool {
    term.starts_with("_:")
}

/// The local name of a literal's XSD datatype.
fn xsd_type(term: &str) -> Option<&str> {
    let at = term.rfind("\"^^<")?;
    let name = term.get(at + 4..term.len() - 1)?;
    name.strip_prefix(XSD)
}

/// Whether the term is a literal whose values are ordered, and not text.
fn is_ordered_value(term: &str) -> bool {
    is_literal(term)
        && matches!(
            xsd_type(term),
            Some("integer" | "decimal" | "double" | "date" | "dateTime")
        )
}

/// Whether the term is an exact number.
fn is_exact_number(term: &str) -> bool {
    is_literal(term) && matches!(xsd_type(term), Some("integer" | "decimal"))
}

/// Whether the term is a number with more digits than the oracle can compute with.
fn is_long_number(term: &str) -> bool {
    let digits = term.bytes().skip(1).take_while(|byte| *byte != b'"');
    is_exact_number(term) && digits.count() > 18
}

/// Makes one query.
pub struct Maker<'a> {
    world: &'a World,
    random: SplitMix,
    is_union: bool,
    is_ordered: bool,
    /// The graph that the patterns are about, where it is a constant.
    graph: String,
}

impl<'a> Maker<'a> {
    /// Starts from a seed.
    pub fn new(world: &'a World, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let is_union = world.has_graphs && random.chance(25);
        Self {
            world,
            random,
            is_union,
            is_ordered: false,
            graph: String::new(),
        }
    }

    /// The query of the seed.
    pub fn query(mut self) -> Query {
        let text = self.text();
        Query {
            text,
            is_ordered: self.is_ordered,
            is_union: self.is_union,
        }
    }

    fn quad(&self, idx: usize) -> &'a [String; 4] {
        &self.world.quads[idx]
    }

    /// Any quad: half the time of a predicate drawn first, so that rare ones get their turn.
    fn any_quad(&mut self) -> usize {
        let world = self.world;
        let idx = if self.random.chance(50) {
            let of = self.random.pick(&world.by_predicate);
            of.and_then(|(_, quads)| self.random.pick(quads).copied())
        } else {
            Some(self.random.below(world.quads.len()))
        };
        let idx = idx.expect("there are quads");
        self.graph = self.quad(idx)[3].clone();
        idx
    }

    /// Any quad, while the query stays about the graph that it is about.
    fn any_quad_kept(&mut self) -> usize {
        let graph = self.graph.clone();
        let idx = self.any_quad();
        self.graph = graph;
        idx
    }

    /// A quad that passes the test, if some tries find one.
    fn quad_where(&mut self, test: impl Fn(&[String; 4]) -> bool) -> Option<usize> {
        let world = self.world;
        (0..200)
            .map(|_| self.any_quad())
            .find(|idx| test(&world.quads[*idx]))
    }

    /// The quads of a subject in a graph.
    fn quads_of(&self, subject: &str, graph: &str) -> Vec<usize> {
        let all = self.world.by_subject.get(subject);
        let all = all.map_or(&[][..], Vec::as_slice);
        all.iter()
            .copied()
            .filter(|idx| self.quad(*idx)[3] == graph)
            .collect()
    }

    /// A quad for each of up to `count` predicates of a subject, the given one first.
    fn star_quads(&mut self, from: usize, count: usize) -> Vec<usize> {
        let [subject, _, _, graph] = self.quad(from);
        let mut rest = self.quads_of(subject, graph);
        let mut chosen = vec![from];
        while chosen.len() < count && !rest.is_empty() {
            let idx = rest.swap_remove(self.random.below(rest.len()));
            let known = |other: &usize| self.quad(*other)[1] == self.quad(idx)[1];
            if !chosen.iter().any(known) {
                chosen.push(idx);
            }
        }
        chosen
    }

    /// A quad that has a term as subject, in the graph of the query.
    fn onward(&mut self, term: &str) -> Option<usize> {
        let quads = self.quads_of(term, &self.graph.clone());
        self.random.pick(&quads).copied()
    }

    /// A quad that has a term as object, in the graph of the query.
    fn backward(&mut self, term: &str) -> Option<usize> {
        let all = self.world.by_object.get(term)?;
        let graph = self.graph.clone();
        let quads: Vec<usize> = all
            .iter()
            .copied()
            .filter(|idx| self.quad(*idx)[3] == graph)
            .collect();
        self.random.pick(&quads).copied()
    }

    /// The term, or a variable if it is a blank node.
    fn constant_or(&self, term: &str, variable: &str) -> String {
        if is_blank(term) {
            variable.to_owned()
        } else {
            term.to_owned()
        }
    }

    /// Patterns of a star around a quad's subject, objects in `?{prefix}0`...; `constants` percent of
    /// the objects stay what they are.
    fn star(&mut self, subject: &str, prefix: &str, from: usize, constants: usize) -> Vec<String> {
        let count = 2 + self.random.below(4);
        self.star_of(subject, prefix, from, count, constants)
    }

    fn star_of(
        &mut self,
        subject: &str,
        prefix: &str,
        from: usize,
        count: usize,
        constants: usize,
    ) -> Vec<String> {
        let quads = self.star_quads(from, count);
        let mut patterns = Vec::new();
        for (number, idx) in quads.into_iter().enumerate() {
            let [_, predicate, object, _] = self.quad(idx);
            let variable = format!("?{prefix}{number}");
            let object = if self.random.chance(constants) {
                self.constant_or(object, &variable)
            } else {
                variable
            };
            patterns.push(format!("{subject} {predicate} {object} ."));
        }
        patterns
    }

    /// The patterns within the right graph.
    fn scoped(&mut self, body: &str) -> String {
        if !self.world.has_graphs || self.is_union {
            return body.to_owned();
        }
        if self.graph.is_empty() {
            return body.to_owned();
        }
        match self.random.below(3) {
            0 => format!("GRAPH {} {{ {body} }}", self.graph),
            _ => format!("GRAPH ?g {{ {body} }}"),
        }
    }

    /// The patterns in one graph: what is selected apart within `GRAPH ?g` is of that graph, too, but the oracle does
    /// not hold to that.
    fn scoped_to_one(&mut self, body: &str) -> String {
        if self.graph.is_empty() || self.is_union {
            return body.to_owned();
        }
        format!("GRAPH {} {{ {body} }}", self.graph)
    }

    /// The quads with the predicate of a quad, unless some have numbers that the oracle cannot read.
    fn same_predicate(&self, idx: usize) -> Option<&'a [usize]> {
        let world = self.world;
        let [_, wanted, _, _] = self.quad(idx);
        let (_, same) = world.by_predicate.iter().find(|(name, _)| name == wanted)?;
        let is_readable = |idx: &usize| !is_long_number(&world.quads[*idx][2]);
        same.iter().all(is_readable).then_some(same.as_slice())
    }

    /// A quad of a predicate whose values all have one spelling only: the oracle's `str` makes numbers
    /// and dates canonical.
    fn quad_of_plain_text(&mut self, test: impl Fn(&[String; 4]) -> bool) -> Option<usize> {
        let idx = self.quad_where(test)?;
        let world = self.world;
        let same = self.same_predicate(idx)?;
        let is_plain = |idx: &usize| {
            matches!(
                xsd_type(&world.quads[*idx][2]),
                None | Some("anyURI" | "boolean")
            )
        };
        same.iter().all(is_plain).then_some(idx)
    }

    /// A word in a literal: some consecutive letters.
    fn piece(&mut self, literal: &str) -> String {
        let end = literal.rfind('"').unwrap_or(0).max(1);
        let words: Vec<&str> = literal[1..end]
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.chars().count() > 2)
            .collect();
        let word = self.random.pick(&words).copied().unwrap_or("a");
        let length = 2 + self.random.below(5);
        word.chars().take(length).collect()
    }
}
