//! Star and chain queries made by walking through data, so that most of them have answers.
//!
//! ```text
//! star:   ?a <p> ?b ; <q> ?c ; <r> "x" .                FILTER(?c < 7)
//! chain:  ?a <p> ?b . ?b <q> ?c . ?d <r> ?c . ?d <s> ?e
//! ```
//!
//! A walk goes over triples that are there; their terms become variables, some of those at its ends stay
//! constants, and a number or date at an end may get a FILTER that the walk's own value passes. What is right
//! about such a query does not matter here: they are for measuring how well the planner guesses.
//!
//! Invariants: a seed makes the same query for ever over the same triples; blank nodes are never constants;
//! 2 to 6 patterns, no pattern twice. Cost: 24 bytes a triple besides its distinct terms; a query is a few searches.

use crate::split_mix::SplitMix;
use std::collections::HashMap;

/// Patterns of the smallest and of the largest query.
const PATTERNS: std::ops::RangeInclusive<usize> = 2..=6;
/// A walk does not go back through an object that more subjects have: the answer would be their square.
const SUBJECTS_MAX: usize = 300;
/// A query has a constant object in so many of a hundred cases.
const CONSTANT_PERCENT: usize = 45;
/// A value at an end gets a condition in so many of a hundred cases.
const FILTER_PERCENT: usize = 35;
/// Datatypes whose values have an order.
const ORDERED: [&str; 6] = ["integer", "decimal", "double", "float", "date", "dateTime"];

/// Triples that one can walk over. Terms are text as SPARQL writes them.
pub struct WalkedTriples {
    terms: Vec<String>,
    /// Sorted; terms by their index.
    triples: Vec<[u32; 3]>,
    /// Indexes of the triples by object.
    by_object: Vec<u32>,
    /// Indexes of the triples of each predicate.
    by_predicate: Vec<Vec<u32>>,
}

impl WalkedTriples {
    /// Indexes triples; repeats count once.
    pub fn new<'a>(triples: impl Iterator<Item = [&'a str; 3]>) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut all = Vec::new();
        for triple in triples {
            all.push(triple.map(|term| {
                let next = known.len() as u32;
                *known.entry(term).or_insert(next)
            }));
        }
        all.sort_unstable();
        all.dedup();
        let mut terms = vec![String::new(); known.len()];
        for (term, idx) in known {
            terms[idx as usize] = term.to_owned();
        }
        let mut by_object: Vec<u32> = (0..all.len() as u32).collect();
        by_object.sort_by_key(|idx| all[*idx as usize][2]);
        let mut by_predicate: HashMap<u32, Vec<u32>> = HashMap::new();
        for (idx, triple) in all.iter().enumerate() {
            by_predicate.entry(triple[1]).or_default().push(idx as u32);
        }
        let mut by_predicate: Vec<Vec<u32>> = by_predicate.into_values().collect();
        by_predicate.sort_unstable();
        Self {
            terms,
            triples: all,
            by_object,
            by_predicate,
        }
    }

    /// Reads N-Triples as [`crate::dataset`] and the engine's dumps write them: one blank between terms.
    pub fn of_lines(text: &str) -> Self {
        Self::new(text.lines().filter_map(|line| {
            let (subject, rest) = line.strip_suffix(" .")?.split_once(' ')?;
            let (predicate, object) = rest.split_once(' ')?;
            Some([subject, predicate, object])
        }))
    }

    fn term(&self, idx: u32) -> &str {
        &self.terms[idx as usize]
    }

    /// The triples of a subject.
    fn of_subject(&self, subject: u32) -> &[[u32; 3]] {
        let start = self.triples.partition_point(|t| t[0] < subject);
        let end = self.triples.partition_point(|t| t[0] <= subject);
        &self.triples[start..end]
    }

    /// Indexes of the triples of an object.
    fn of_object(&self, object: u32) -> &[u32] {
        let key = |idx: &u32| self.triples[*idx as usize][2];
        let start = self.by_object.partition_point(|idx| key(idx) < object);
        let end = self.by_object.partition_point(|idx| key(idx) <= object);
        &self.by_object[start..end]
    }
}

/// The query of a seed; `None` if the data has no walk of two triples where it looks.
pub fn walked_query(triples: &WalkedTriples, seed: u64) -> Option<String> {
    let mut walker = Walker {
        data: triples,
        random: SplitMix::new(seed),
        walk: Vec::new(),
    };
    (0..50).find_map(|_| walker.query())
}

/// The query of a seed, and before it the same without its last pattern, or without one of its conditions: the second asks for
/// more than the first. `None` as for [`walked_query`].
pub fn walked_pair(triples: &WalkedTriples, seed: u64) -> Option<[String; 2]> {
    let mut walker = Walker {
        data: triples,
        random: SplitMix::new(seed),
        walk: Vec::new(),
    };
    let written = (0..50).find_map(|_| walker.written())?;
    let mut less = written.clone();
    if less.conditions.is_empty() || walker.random.chance(60) {
        less.patterns.pop();
        let known = less.patterns.concat();
        // A condition goes with the only pattern that has its variable.
        less.conditions
            .retain(|(variable, _)| known.contains(&format!("{variable} .")));
    } else {
        let idx = walker.random.below(less.conditions.len());
        less.conditions.remove(idx);
    }
    Some([less.text(), written.text()])
}

/// A query in parts.
#[derive(Clone)]
struct Written {
    patterns: Vec<String>,
    /// Variables and the conditions on them.
    conditions: Vec<(String, String)>,
}

impl Written {
    fn text(&self) -> String {
        let conditions = self.conditions.iter().map(|(_, text)| text.as_str());
        let conditions: String = conditions.collect();
        format!("SELECT * {{{}{conditions} }}", self.patterns.concat())
    }
}

struct Walker<'a> {
    data: &'a WalkedTriples,
    random: SplitMix,
    walk: Vec<[u32; 3]>,
}

impl Walker<'_> {
    fn query(&mut self) -> Option<String> {
        Some(self.written()?.text())
    }

    fn written(&mut self) -> Option<Written> {
        let size = self.random.below(PATTERNS.end() - PATTERNS.start() + 1);
        let count = PATTERNS.start() + size;
        self.walk = vec![self.any_triple()?];
        if self.random.chance(50) {
            self.star(count);
        } else {
            self.chain(count);
        }
        (self.walk.len() >= *PATTERNS.start()).then(|| self.write())
    }

    /// Any triple: half the time of a predicate drawn first, so that rare ones get their turn.
    fn any_triple(&mut self) -> Option<[u32; 3]> {
        let data = self.data;
        if self.random.chance(50) {
            let of = self.random.pick(&data.by_predicate)?;
            let idx = *self.random.pick(of)?;
            return Some(data.triples[idx as usize]);
        }
        self.random.pick(&data.triples).copied()
    }

    /// More triples of the first one's subject, each of another predicate.
    fn star(&mut self, count: usize) {
        let mut rest = self.data.of_subject(self.walk[0][0]).to_vec();
        while self.walk.len() < count && !rest.is_empty() {
            let triple = rest.swap_remove(self.random.below(rest.len()));
            if self.walk.iter().all(|known| known[1] != triple[1]) {
                self.walk.push(triple);
            }
        }
    }

    /// From the object onward, back to another subject of it, or aside to another object of the subject.
    fn chain(&mut self, count: usize) {
        let data = self.data;
        let mut at = self.walk[0][2];
        // Termination: each round is one of a fixed number of tries.
        for _ in 0..count * 8 {
            if self.walk.len() == count {
                return;
            }
            let next = match self.random.below(4) {
                0 | 1 => self.random.pick(data.of_subject(at)).copied(),
                2 => {
                    let subjects = data.of_object(at);
                    let idx = (subjects.len() <= SUBJECTS_MAX)
                        .then(|| self.random.pick(subjects).copied());
                    idx.flatten().map(|idx| data.triples[idx as usize])
                }
                _ => {
                    let subject = self.walk[self.walk.len() - 1][0];
                    self.random.pick(data.of_subject(subject)).copied()
                }
            };
            let Some(next) = next.filter(|next| !self.walk.contains(next)) else {
                continue;
            };
            at = if next[0] == at { next[2] } else { next[0] };
            self.walk.push(next);
        }
    }

    /// How often a term is an end of the walk's triples.
    fn uses(&self, term: u32) -> usize {
        let ends = self.walk.iter().flat_map(|t| [t[0], t[2]]);
        ends.filter(|end| *end == term).count()
    }

    fn write(&mut self) -> Written {
        let loose: Vec<u32> = self
            .walk
            .iter()
            .map(|t| t[2])
            .filter(|object| self.uses(*object) == 1)
            .collect();
        let mut constant = None;
        if self.random.chance(CONSTANT_PERCENT) {
            let fixed: Vec<u32> = loose
                .iter()
                .copied()
                .filter(|object| !self.data.term(*object).starts_with("_:"))
                .collect();
            constant = self.random.pick(&fixed).copied();
        }
        let mut names: Vec<u32> = Vec::new();
        let mut name = |term: u32| {
            if constant == Some(term) {
                return self.data.term(term).to_owned();
            }
            let known = names.iter().position(|known| *known == term);
            let number = known.unwrap_or_else(|| {
                names.push(term);
                names.len() - 1
            });
            format!("?v{number}")
        };
        let mut written = Written {
            patterns: Vec::new(),
            conditions: Vec::new(),
        };
        for triple in &self.walk {
            let (subject, predicate) = (name(triple[0]), self.data.term(triple[1]));
            let pattern = format!(" {subject} {predicate} {} .", name(triple[2]));
            written.patterns.push(pattern);
        }
        let conditions: Vec<(String, u32)> = loose
            .iter()
            .filter(|object| constant != Some(**object) && is_ordered(self.data.term(**object)))
            .map(|object| (name(*object), *object))
            .collect();
        for (variable, object) in conditions {
            if self.random.chance(FILTER_PERCENT) {
                let sign = ["<=", ">=", "<=", ">=", "="][self.random.below(5)];
                let value = self.data.term(object);
                let condition = format!(" FILTER({variable} {sign} {value})");
                written.conditions.push((variable, condition));
            }
        }
        written
    }
}

/// Whether the term is a literal of a datatype whose values have an order.
fn is_ordered(term: &str) -> bool {
    let datatype = term
        .rsplit_once("\"^^<http://www.w3.org/2001/XMLSchema#")
        .and_then(|(_, name)| name.strip_suffix('>'));
    datatype.is_some_and(|name| ORDERED.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spargebra::SparqlParser;

    fn triples() -> WalkedTriples {
        let mut text = String::new();
        for row in 0..40 {
            let (vendor, price) = (row % 5, row * 3);
            text.push_str(&format!(
                "<http://e/o{row}> <http://e/vendor> <http://e/v{vendor}> .\n\
                 <http://e/o{row}> <http://e/price> \"{price}\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
                 <http://e/o{row}> <http://e/label> \"offer {row}\" .\n\
                 <http://e/v{vendor}> <http://e/country> _:c{} .\n",
                vendor % 2
            ));
        }
        WalkedTriples::of_lines(&text)
    }

    #[test]
    fn queries_parse_and_are_of_all_kinds() {
        let data = triples();
        assert_eq!(data.triples.len(), 3 * 40 + 5);
        let (mut constants, mut filters, mut chains) = (0, 0, 0);
        for seed in 0..200 {
            let text = walked_query(&data, seed).expect("the data has walks");
            assert_eq!(Some(&text), walked_query(&data, seed).as_ref());
            SparqlParser::new()
                .parse_query(&text)
                .expect("the query parses");
            let patterns = text.matches(" .").count();
            assert!(PATTERNS.contains(&patterns), "{text}");
            assert!(!text.contains("_:"), "{text}");
            let body = text.split("FILTER").next().unwrap_or_default();
            constants += usize::from(body.contains("\" .") || body.contains("integer>"));
            filters += usize::from(text.contains("FILTER"));
            chains += usize::from(text.contains("vendor> ?") && text.contains("country>"));
        }
        assert!(
            constants > 10 && filters > 20 && chains > 20,
            "{constants} {filters} {chains}"
        );
    }

    #[test]
    fn a_pair_differs_by_a_pattern_or_a_condition() {
        let data = triples();
        let (mut patterns, mut conditions) = (0, 0);
        for seed in 0..200 {
            let [less, more] = walked_pair(&data, seed).expect("the data has walks");
            assert_eq!(Some(&more), walked_query(&data, seed).as_ref());
            for text in [&less, &more] {
                SparqlParser::new()
                    .parse_query(text)
                    .expect("the query parses");
            }
            let count = |text: &str, part: &str| text.matches(part).count();
            match count(&more, " .") - count(&less, " .") {
                0 => {
                    assert_eq!(count(&more, "FILTER"), count(&less, "FILTER") + 1);
                    conditions += 1;
                }
                difference => {
                    assert_eq!(difference, 1, "{less}\n{more}");
                    patterns += 1;
                }
            }
        }
        assert!(patterns > 20 && conditions > 20, "{patterns} {conditions}");
    }

    #[test]
    fn without_a_second_triple_there_is_no_query() {
        let data = WalkedTriples::of_lines("<http://e/a> <http://e/p> \"x\" .\n");
        assert_eq!(walked_query(&data, 1), None);
    }
}
