//! Data as it comes in bit by bit: N-Triples text cut by subject, put in the order in which a shop would say it, and made into
//! update requests.

use std::collections::HashMap;

/// Links from what is said of a product to the product.
const OF_PRODUCT: [&str; 2] = ["/vocabulary/product>", "/vocabulary/reviewFor>"];
/// The predicate whose name stays when a vocabulary is renamed.
const TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";

/// All triples of one subject.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The subject.
    pub subject: String,
    /// A line each, without line feeds.
    pub lines: Vec<String>,
}

/// What of a vocabulary gets new names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// All predicates but `rdf:type`.
    Predicates,
    /// Classes too.
    PredicatesAndClasses,
}

/// The three terms of a line.
fn terms(line: &str) -> [&str; 3] {
    let mut parts = line.splitn(3, ' ');
    let mut next = || parts.next().unwrap_or_default();
    let (subject, predicate, object) = (next(), next(), next());
    [subject, predicate, object.trim_end_matches(['.', ' '])]
}

/// The subjects of a text, in the order in which they first appear.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut by_subject: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let [subject, ..] = terms(line);
        let at = *by_subject.entry(subject.to_owned()).or_insert_with(|| {
            blocks.push(Block {
                subject: subject.to_owned(),
                lines: Vec::new(),
            });
            blocks.len() - 1
        });
        blocks[at].lines.push(line.to_owned());
    }
    blocks
}

/// The same subjects product by product: each is followed by its offers and reviews.
pub fn by_product(blocks: Vec<Block>) -> Vec<Block> {
    let product = |block: &Block| {
        let mut links = block.lines.iter().map(|line| terms(line));
        let link = links.find(|[_, p, _]| OF_PRODUCT.iter().any(|end| p.ends_with(end)));
        link.map(|[_, _, object]| object.to_owned())
    };
    let mut said_of: HashMap<String, Vec<Block>> = HashMap::new();
    let mut first = Vec::new();
    for block in blocks {
        match product(&block) {
            Some(product) => said_of.entry(product).or_default().push(block),
            None => first.push(block),
        }
    }
    let mut all = Vec::new();
    for block in first {
        let others = said_of.remove(&block.subject).unwrap_or_default();
        all.push(block);
        all.extend(others);
    }
    // What is said of products that have no triples themselves.
    let mut rest: Vec<_> = said_of.into_iter().collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    all.extend(rest.into_iter().flat_map(|(_, blocks)| blocks));
    all
}

/// The block with other names.
pub fn renamed(block: &Block, what: Renamed) -> Block {
    let other = |iri: &str| match iri.strip_suffix('>') {
        Some(start) => format!("{start}_2>"),
        None => iri.to_owned(),
    };
    let line = |line: &String| match terms(line) {
        [subject, TYPE, class] if what == Renamed::PredicatesAndClasses => {
            format!("{subject} {TYPE} {} .", other(class))
        }
        [_, TYPE, _] => line.clone(),
        [subject, predicate, object] => format!("{subject} {} {object} .", other(predicate)),
    };
    Block {
        subject: block.subject.clone(),
        lines: block.lines.iter().map(line).collect(),
    }
}

/// The blocks as one text.
pub fn text_of<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> String {
    let lines = blocks.into_iter().flat_map(|block| &block.lines);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The blocks as requests that insert them (`INSERT`) or delete them (`DELETE`), whole subjects, of at least so many
/// triples each but the last.
pub fn requests(verb: &str, blocks: &[Block], triples_min: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut triples = 0;
    for (i, block) in blocks.iter().enumerate() {
        triples += block.lines.len();
        if triples >= triples_min || i + 1 == blocks.len() {
            let text = text_of(&blocks[from..=i]);
            all.push(format!("{verb} DATA {{\n{text}}}"));
            (from, triples) = (i + 1, 0);
        }
    }
    all
}
