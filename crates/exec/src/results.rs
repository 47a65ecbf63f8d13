//! Graph answers: CONSTRUCT templates and DESCRIBE, streamed.
//!
//! The last step of a query whose answer is a graph: batches of ids become triples of terms.
//! Invariants: the memory held is counted in the query's account, and does not grow with the
//! answer of a CONSTRUCT.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::execution::Execution;
use crate::terms::TermSpace;
use basalt_plan::physical::{Plan, Slot};
use basalt_rdf::{QuadView, TermBuf, TermId, TermView};
use basalt_store::{QuadIds, QuadPattern};
use hashbrown::HashSet;
use oxrdf::Term;
use spargebra::term::{TermPattern, TriplePattern};
use std::collections::VecDeque;
use std::hash::RandomState;
use std::ops::ControlFlow;

/// Entries that the set of triples given already begins with.
const SEEN_MIN: usize = 1 << 10;
/// Entries beyond which that set does not grow: some 8 MB, so that an endpoint can afford one for each client.
const SEEN_MAX: usize = 1 << 18;
/// Bytes of an entry: three ids, their share of the free places and of the control bytes.
const SEEN_BYTES: usize = 32;

/// What is done with each triple, whose terms are there until the next.
pub type VisitTriple<'v, E> = &'v mut dyn FnMut(QuadView<'_>) -> Result<(), E>;

/// The terms of a triple; one that comes again in the same place is decoded once.
struct DecodedTriple {
    /// Of subject, predicate and object; unbound where the term is none of the query's.
    ids: [TermId; 3],
    terms: [TermBuf; 3],
}

impl DecodedTriple {
    fn new() -> Self {
        Self {
            ids: [TermId::UNBOUND; 3],
            terms: Default::default(),
        }
    }

    fn put(&mut self, place: usize, id: TermId, terms: &TermSpace) -> Result<(), ExecError> {
        if self.ids[place] != id {
            self.ids[place] = TermId::UNBOUND;
            terms.decode(id, &mut self.terms[place])?;
            self.ids[place] = id;
        }
        Ok(())
    }

    fn put_blank(&mut self, place: usize, label: &str) {
        self.ids[place] = TermId::UNBOUND;
        self.terms[place].fill_blank(label);
    }

    /// The triple; `None` if a term is not allowed where it stands.
    fn view(&self) -> Option<QuadView<'_>> {
        let [subject, predicate, object] = self.terms.each_ref().map(TermBuf::view);
        let fits =
            !matches!(subject, TermView::Literal(_)) && matches!(predicate, TermView::Iri(_));
        fits.then_some(QuadView {
            subject,
            predicate,
            object,
            graph: None,
        })
    }
}

/// The triples of a CONSTRUCT query.
///
/// Each comes once as long as the set of those given already has room; then the set begins anew, so a triple
/// that two far apart solutions make may come again. A graph does not change by that, and an answer of any size
/// needs no more memory than this.
pub struct Construct {
    execution: Execution,
    template: Vec<[Part; 3]>,
    seen: HashSet<[u64; 3], RandomState>,
    /// Triples with blank nodes of the template that the current solution has made; no other solution makes them.
    own: Vec<(u8, [u64; 3])>,
    /// Solutions seen so far, for the labels of template blank nodes.
    solutions: u64,
    decoded: DecodedTriple,
}

/// One place of a template's triple.
enum Part {
    /// A constant.
    Constant(TermId),
    /// A blank node, new for each solution; its place among the labels, and the label.
    Blank(u64, String),
    /// A column of the batches.
    Column(usize),
    /// A variable without values.
    Unbound,
}

impl Construct {
    /// The triples that a template makes of a query's solutions.
    pub fn new(execution: Execution, template: &[TriplePattern]) -> Self {
        let mut labels = Vec::new();
        let template = template
            .iter()
            .map(|pattern| {
                let predicate = TermPattern::from(pattern.predicate.clone());
                [&pattern.subject, &predicate, &pattern.object]
                    .map(|term| Part::new(term, &execution, &mut labels))
            })
            .collect();
        Self {
            execution,
            template,
            seen: HashSet::with_hasher(RandomState::new()),
            own: Vec::new(),
            solutions: 0,
            decoded: DecodedTriple::new(),
        }
    }

    /// Visits the triples of the next batch of solutions that did not come before; false at the end.
    pub fn visit_next<E: From<ExecError>>(&mut self, visit: VisitTriple<'_, E>) -> Result<bool, E> {
        let Some(batch) = self.execution.next_batch()? else {
            return Ok(false);
        };
        for row in 0..batch.rows() {
            self.solutions += 1;
            self.own.clear();
            for idx in 0..self.template.len() {
                if let Some(ids) = self.new_ids(idx, &batch, row)
                    && let Some(triple) = self.triple(idx, ids)?
                {
                    visit(triple)?;
                }
            }
        }
        Ok(true)
    }

    /// The ids of a triple of the template, for a blank node the place of its label; `None` if a part is unbound
    /// or the triple was given already.
    fn new_ids(&mut self, idx: usize, batch: &Batch, row: usize) -> Option<[u64; 3]> {
        let mut ids = [0; 3];
        let mut blanks = 0;
        for (place, part) in self.template[idx].iter().enumerate() {
            ids[place] = match part {
                Part::Constant(id) => id.0,
                Part::Blank(label, _) => {
                    blanks |= 1 << place;
                    *label
                }
                Part::Column(column) => match batch.ids(*column)[row] {
                    id if TermId(id) == TermId::UNBOUND => return None,
                    id => id,
                },
                Part::Unbound => return None,
            };
        }
        let is_new = if blanks == 0 {
            self.make_room();
            self.seen.insert(ids)
        } else {
            let is_new = !self.own.contains(&(blanks, ids));
            self.own.push((blanks, ids));
            is_new
        };
        is_new.then_some(ids)
    }

    /// Lets the set of triples grow, or begin anew where it may not.
    fn make_room(&mut self) {
        if self.seen.len() < self.seen.capacity() {
            return;
        }
        let more = self.seen.capacity().max(SEEN_MIN);
        let cx = self.execution.context();
        if self.seen.len() + more <= SEEN_MAX && cx.reserve(more * SEEN_BYTES, "construct").is_ok()
        {
            self.seen.reserve(more);
        } else {
            self.seen.clear();
        }
    }

    /// The triple of these ids; `None` if a term is not allowed where it stands.
    fn triple(&mut self, idx: usize, ids: [u64; 3]) -> Result<Option<QuadView<'_>>, ExecError> {
        for (place, part) in self.template[idx].iter().enumerate() {
            match part {
                Part::Blank(_, label) => {
                    // A label that no stored blank node has: those are a letter and digits.
                    let label = format!("t{}-{label}", self.solutions);
                    self.decoded.put_blank(place, &label);
                }
                _ => {
                    let terms = self.execution.terms();
                    self.decoded.put(place, TermId(ids[place]), terms)?;
                }
            }
        }
        Ok(self.decoded.view())
    }
}

impl Part {
    fn new(term: &TermPattern, execution: &Execution, labels: &mut Vec<String>) -> Self {
        let constant = |term: Term| Self::Constant(execution.terms().intern_term(&term));
        match term {
            TermPattern::NamedNode(node) => constant(node.clone().into()),
            TermPattern::Literal(literal) => constant(literal.clone().into()),
            TermPattern::BlankNode(node) => {
                let label = node.as_str();
                let known = labels.iter().position(|known| known == label);
                let place = known.unwrap_or_else(|| {
                    labels.push(label.to_owned());
                    labels.len() - 1
                });
                Self::Blank(place as u64, label.to_owned())
            }
            TermPattern::Variable(variable) => {
                column_of(execution.plan(), variable.as_str()).map_or(Self::Unbound, Self::Column)
            }
        }
    }
}

fn column_of(plan: &Plan, variable: &str) -> Option<usize> {
    let slot = plan.variables.iter().position(|name| name == variable)?;
    plan.root
        .schema
        .iter()
        .position(|s| usize::from(s.0) == slot)
}

/// Triples of a DESCRIBE answer that are made at once.
const PIECE_TRIPLES: usize = 1 << 10;
/// Bytes that a described resource takes: its id among those seen, and its place in the queue.
const RESOURCE_BYTES: usize = 32;

/// The triples of a DESCRIBE query, piece by piece.
///
/// Concise bounded description: every triple of the default graph (of any graph if `graphs` is
/// `None`) with the resource as subject, and the same for blank nodes that are objects.
/// Memory: the ids of the resources described, and the statements of one of them.
pub struct Describe {
    execution: Execution,
    /// The columns with the resources.
    columns: Vec<usize>,
    graphs: Option<Vec<TermId>>,
    /// Resources to be described.
    queue: VecDeque<TermId>,
    /// Resources that were ever in the queue.
    seen: HashSet<TermId, RandomState>,
    /// Statements of the current resource that were not given yet.
    statements: std::vec::IntoIter<QuadIds>,
    /// Bytes counted for them.
    statement_bytes: usize,
    decoded: DecodedTriple,
}

impl Describe {
    /// The descriptions of the resources in these slots.
    pub fn new(execution: Execution, slots: &[Slot], graphs: Option<Vec<TermId>>) -> Self {
        let schema = execution.schema();
        let columns = slots
            .iter()
            .filter_map(|slot| schema.iter().position(|s| s == slot))
            .collect();
        Self {
            execution,
            columns,
            graphs,
            queue: VecDeque::new(),
            seen: HashSet::with_hasher(RandomState::new()),
            statements: Vec::new().into_iter(),
            statement_bytes: 0,
            decoded: DecodedTriple::new(),
        }
    }

    /// Visits some more triples; false at the end.
    pub fn visit_next<E: From<ExecError>>(&mut self, visit: VisitTriple<'_, E>) -> Result<bool, E> {
        let mut triples = 0;
        while triples < PIECE_TRIPLES {
            if let Some(quad) = self.statements.next() {
                visit(self.triple(quad)?)?;
                triples += 1;
                if self.execution.terms().is_blank(quad.object) {
                    self.enqueue(quad.object)?;
                }
            } else if let Some(resource) = self.queue.pop_front() {
                self.begin(resource)?;
            } else if let Some(batch) = self.execution.next_batch()? {
                for position in 0..self.columns.len() {
                    for &id in batch.ids(self.columns[position]) {
                        self.enqueue(TermId(id))?;
                    }
                }
            } else {
                break;
            }
        }
        Ok(triples > 0)
    }

    fn enqueue(&mut self, id: TermId) -> Result<(), ExecError> {
        if id.is_resource() && self.seen.insert(id) {
            self.execution
                .context()
                .reserve(RESOURCE_BYTES, "describe")?;
            self.queue.push_back(id);
        }
        Ok(())
    }

    /// Reads the statements of a resource.
    fn begin(&mut self, resource: TermId) -> Result<(), ExecError> {
        let cx = self.execution.context();
        cx.check()?;
        let mut quads = statements(resource, self.graphs.as_deref(), cx)?;
        quads.sort_unstable();
        quads.dedup_by_key(|quad| (quad.subject, quad.predicate, quad.object));
        cx.release(std::mem::take(&mut self.statement_bytes));
        let bytes = quads.len() * size_of::<QuadIds>();
        cx.reserve(bytes, "describe")?;
        self.statement_bytes = bytes;
        self.statements = quads.into_iter();
        Ok(())
    }

    fn triple(&mut self, quad: QuadIds) -> Result<QuadView<'_>, ExecError> {
        let places = [quad.subject, quad.predicate, quad.object];
        for (place, id) in places.into_iter().enumerate() {
            self.decoded.put(place, id, self.execution.terms())?;
        }
        let misplaced = || ExecError::Internal("a stored triple has a literal out of place".into());
        self.decoded.view().ok_or_else(misplaced)
    }
}

fn statements(
    subject: TermId,
    graphs: Option<&[TermId]>,
    cx: &Context,
) -> Result<Vec<QuadIds>, ExecError> {
    let mut quads = Vec::new();
    let pattern = QuadPattern {
        subject: Some(subject),
        ..QuadPattern::default()
    };
    cx.snapshot().matching(&pattern, &mut |quad| {
        if graphs.is_none_or(|graphs| graphs.contains(&quad.graph)) {
            quads.push(quad);
        }
        ControlFlow::Continue(())
    })?;
    Ok(quads)
}
