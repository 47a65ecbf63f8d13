//! A dataset that arrives by several ways: a part is loaded, with quads that do not belong to it, and the rest comes
//! and goes as changes.
//!
//! Some quads that stay are taken away in between, some that go come by a change. Graphs, predicates
//! and other terms can occur in nothing but quads that go, or that arrive. Blank nodes are all loaded or
//! all changed, since a label of a file means nothing elsewhere.

use basalt_engine::{Database, GraphFormat, Snapshot};
use basalt_rdf::reader::SyntaxError;
use basalt_rdf::reader::document::read_document;
use basalt_rdf::{QuadView, TermBuf, TermId, TermView};
use basalt_store::QuadIds;
use basalt_testkit::split_mix::SplitMix;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// Subject, predicate, object, and the named graph.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OwnedQuad([TermBuf; 3], Option<TermBuf>);

impl OwnedQuad {
    fn line(&self) -> String {
        let [subject, predicate, object] = &self.0;
        let graph = self.1.as_ref().map(|graph| format!(" {}", graph.view()));
        let (s, p, o) = (subject.view(), predicate.view(), object.view());
        format!("{s} {p} {o}{} .\n", graph.unwrap_or_default())
    }

    fn has_blank(&self) -> bool {
        let mut terms = self.0.iter().chain(&self.1);
        terms.any(|term| matches!(term.view(), TermView::Blank(_)))
    }
}

/// What is removed and added by one change.
#[derive(Default)]
struct Step {
    removed: Vec<OwnedQuad>,
    added: Vec<OwnedQuad>,
}

/// A dataset cut up; see the [module documentation](self).
pub struct Changed {
    /// N-Quads to be loaded.
    pub loaded: String,
    steps: Vec<Step>,
    /// Quads of the dataset.
    count: usize,
}

fn parse(text: &str) -> Vec<OwnedQuad> {
    let mut quads = Vec::new();
    let mut seen = HashSet::new();
    let mut sink = |quad: QuadView<'_>| {
        let terms = [quad.subject, quad.predicate, quad.object].map(TermBuf::from);
        let quad = OwnedQuad(terms, quad.graph.map(TermBuf::from));
        if seen.insert(quad.clone()) {
            quads.push(quad);
        }
        Ok::<(), Infallible>(())
    };
    let mut strict = |error: SyntaxError| std::ops::ControlFlow::Break(error);
    let format = GraphFormat::NQuads;
    read_document(text.as_bytes(), format, None, &mut sink, &mut strict).expect("it is N-Quads");
    quads
}

/// Quads of terms of the dataset, and of others, that are not in it.
fn strangers(quads: &[OwnedQuad], random: &mut SplitMix) -> Vec<OwnedQuad> {
    let iri = |name: &str| TermBuf::from(TermView::Iri(name));
    let mut taken: HashSet<OwnedQuad> = quads.iter().cloned().collect();
    let named: Vec<&OwnedQuad> = quads.iter().filter(|quad| !quad.has_blank()).collect();
    let mut found = Vec::new();
    for quad in &named {
        let (Some(other), Some(third)) = (random.pick(&named), random.pick(&named)) else {
            break;
        };
        let mut made = (*quad).clone();
        match random.below(12) {
            0..4 => made.0[2] = other.0[2].clone(),
            4 => made.0[1] = other.0[1].clone(),
            5 => made.0[1] = iri("http://example.org/gone/predicate"),
            6 => made.0[0] = iri("http://example.org/gone/subject"),
            7 => made.0[2] = TermBuf::from(TermView::simple("gone")),
            8 => made.1 = Some(iri("http://example.org/gone/graph")),
            9 => made.1 = third.1.clone(),
            _ => continue,
        }
        if taken.insert(made.clone()) {
            found.push(made);
        }
    }
    found
}

impl Changed {
    /// Cuts up N-Quads text, always in the same way.
    pub fn new(text: &str) -> Self {
        let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut random = SplitMix::new(seed);
        let quads = parse(text);
        let blanks_are_loaded = random.chance(50);
        let (mut loaded, mut come_back) = (String::new(), Vec::new());
        let mut steps = [const { Vec::new() }; 3].map(|removed| Step {
            removed,
            added: Vec::new(),
        });
        for stranger in strangers(&quads, &mut random) {
            let goes = 1 + random.below(2);
            if random.chance(60) {
                loaded += &stranger.line();
                steps[goes - random.below(2)].removed.push(stranger);
            } else {
                steps[goes - 1].added.push(stranger.clone());
                steps[goes].removed.push(stranger);
            }
        }
        let count = quads.len();
        for quad in quads {
            let is_loaded = match quad.has_blank() {
                true => blanks_are_loaded,
                false => random.chance(60),
            };
            if !is_loaded {
                steps[random.below(3)].added.push(quad);
                continue;
            }
            loaded += &quad.line();
            if !quad.has_blank() && random.chance(15) {
                steps[1].removed.push(quad.clone());
                come_back.push(quad);
            }
        }
        steps[2].added.append(&mut come_back);
        // What is there already changes nothing.
        let again: Vec<_> = steps[0].added.iter().step_by(5).cloned().collect();
        let gone: HashSet<_> = steps.iter().flat_map(|step| step.removed.clone()).collect();
        let again = again.into_iter().filter(|quad| !gone.contains(quad));
        steps[1].added.extend(again);
        Self {
            loaded,
            steps: steps.into(),
            count,
        }
    }

    /// Makes the changes on what was loaded; what comes out has exactly the dataset.
    pub fn apply(&self, loaded: Snapshot) -> Snapshot {
        let mut snapshot = loaded;
        let mut blanks = HashMap::new();
        for step in &self.steps {
            let mut ids = |quads: &[OwnedQuad]| -> Vec<QuadIds> {
                let ids = quads.iter();
                ids.map(|quad| ids_of(&snapshot, quad, &mut blanks))
                    .collect()
            };
            let (removed, added) = (ids(&step.removed), ids(&step.added));
            let (next, _) = snapshot
                .with_changes(&removed, &added)
                .expect("the quads can be stored");
            snapshot = next;
        }
        self.check(&snapshot);
        snapshot
    }

    /// As [`Self::apply`], by a transaction for each step.
    pub fn commit(&self, database: &Database) {
        let mut blanks = HashMap::new();
        for step in &self.steps {
            let mut transaction = database.begin().expect("the turn");
            let mut ids = |quads: &[OwnedQuad]| -> Vec<QuadIds> {
                let quads = quads.iter();
                quads
                    .map(|quad| ids_of(transaction.snapshot(), quad, &mut blanks))
                    .collect()
            };
            let (removed, added) = (ids(&step.removed), ids(&step.added));
            transaction
                .apply(&removed, &added)
                .expect("the quads can be stored");
            transaction.commit().expect("they can be committed");
        }
        self.check(&database.snapshot());
    }

    fn check(&self, snapshot: &Snapshot) {
        assert_eq!(snapshot.quad_count(), self.count as u64);
        snapshot
            .check(basalt_engine::CheckDepth::Deep)
            .expect("version and delta agree");
    }
}

fn ids_of(snapshot: &Snapshot, quad: &OwnedQuad, blanks: &mut HashMap<String, TermId>) -> QuadIds {
    let mut id = |term: &TermBuf| match term.view() {
        TermView::Blank(label) => *blanks
            .entry(label.to_owned())
            .or_insert_with(|| snapshot.new_blank().expect("there is room")),
        named => snapshot.intern(named).expect("there is room"),
    };
    let [subject, predicate, object] = &quad.0;
    QuadIds {
        subject: id(subject),
        predicate: id(predicate),
        object: id(object),
        graph: quad.1.as_ref().map_or(TermId::DEFAULT_GRAPH, id),
    }
}
