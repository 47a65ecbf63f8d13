//! `Service`: rows joined with what a remote endpoint answers.
//!
//! ```text
//! input rows ──► chunk ──► by endpoint and columns that can be sent ──► requests of bounded size
//!                                   output ◄── hash join ◄── answer ◄──────┘
//! ```
//!
//! Values of the sent slots go along as distinct rows of VALUES, and each answer is joined with the rows
//! it was asked for. Blank nodes mean nothing elsewhere and are not sent; the join compares them all the
//! same. Without anything to send the whole pattern is fetched once for each endpoint and kept.
//!
//! Invariants: a sent row is bound throughout, so an answer row belongs to one sent row and no solution
//! is counted twice; blank nodes of two requests are never the same. A failed request with SILENT is an
//! answer of one row without bindings, for its own rows alone.
//! Memory: one chunk, one answer, and the patterns fetched whole; counted against the query's limit.

mod request;

use super::build_side::BuildSide;
use super::hash_join::{HashJoin, JoinShape};
use super::pipeline::{Collected, Sink};
use super::rows::Rows;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use basalt_plan::physical::{Endpoint, Expr, JoinKind, Node, Op, ServicePattern, Slot};
use basalt_rdf::TermId;
use hashbrown::{HashMap, HashSet};
use oxrdf::Term;
use request::Answer;
use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::Arc;

/// Rows of VALUES in one request. Enough to make the way there and back cheap for each, few enough for
/// any endpoint's parser.
const BINDINGS_MAX: usize = 512;
/// Bytes of VALUES in one request; common servers take no longer bodies than a megabyte.
const BINDINGS_BYTES_MAX: usize = 256 << 10;
/// Input rows collected to find enough distinct bindings for a request.
const CHUNK_ROWS_MAX: usize = 1 << 16;

/// What a service join is made of, besides its input.
pub struct ServiceShape {
    service: ServicePattern,
    /// For each sent variable its column in the input and in the answer.
    sent: Vec<(usize, usize)>,
    /// The column of the endpoint, if it is a variable that the input has.
    endpoint_column: Option<usize>,
    input_schema: Vec<Slot>,
    input_certain: Vec<Slot>,
    schema: Vec<Slot>,
    kind: JoinKind,
    filter: Option<Expr>,
}

/// The operator; see the [module documentation](self).
pub struct Service {
    input: BoxOperator,
    shape: ServiceShape,
    /// Requests to send, with the rows they are for.
    pending: VecDeque<Pending>,
    /// The answer being joined.
    joining: Option<HashJoin>,
    /// Answers to the whole pattern, by endpoint.
    whole: HashMap<String, Answer, RandomState>,
    input_ended: bool,
}

/// Input rows that wait for one answer.
struct Pending {
    endpoint: Target,
    /// Indices into [`ServiceShape::sent`].
    sent: Vec<usize>,
    /// The rows of VALUES.
    values: String,
    rows: Batch,
}

/// Where to send a request.
#[derive(Clone)]
enum Target {
    Iri(String),
    /// There is no endpoint, for this reason.
    Unknown(String),
    /// No solution can be compatible with the rows: they have blank nodes where solutions have values.
    Nowhere,
}

impl ServiceShape {
    /// The shape of a plan node that is a service.
    pub fn new(node: &Node) -> Result<Self, ExecError> {
        let Op::Service {
            input,
            service,
            send,
            kind,
            filter,
        } = &node.op
        else {
            return Err(ExecError::Internal("not a service".into()));
        };
        let slots = service.slots();
        let sent = send.iter().map(|slot| {
            let column = |schema: &[Slot]| schema.iter().position(|s| s == slot);
            column(&input.schema).zip(column(&slots))
        });
        let missing = || ExecError::Internal("a sent slot is missing".into());
        Ok(Self {
            service: service.clone(),
            sent: sent.collect::<Option<Vec<_>>>().ok_or_else(missing)?,
            endpoint_column: service
                .endpoint_slot()
                .and_then(|slot| input.schema.iter().position(|s| *s == slot)),
            input_schema: input.schema.clone(),
            input_certain: input.certain.clone(),
            schema: node.schema.clone(),
            kind: *kind,
            filter: filter.clone(),
        })
    }

    /// Where the request for a row goes.
    fn target(&self, row: &Batch, position: usize, cx: &Context) -> Result<Target, ExecError> {
        let unbound = || {
            let name = "the endpoint is a variable that nothing binds before SERVICE";
            Ok(Target::Unknown(name.to_owned()))
        };
        match (&self.service.endpoint, self.endpoint_column) {
            (Endpoint::Constant(constant), _) => Ok(match &constant.term {
                Term::NamedNode(node) => Target::Iri(node.as_str().to_owned()),
                other => Target::Unknown(format!("the endpoint {other} is not an IRI")),
            }),
            (Endpoint::Slot(_), None) => unbound(),
            (Endpoint::Slot(_), Some(column)) => match TermId(row.ids(column)[position]) {
                TermId::UNBOUND => unbound(),
                id => Ok(match cx.terms().term(id)? {
                    Term::NamedNode(node) => Target::Iri(node.into_string()),
                    other => Target::Unknown(format!("the endpoint {other} is not an IRI")),
                }),
            },
        }
    }

    /// Slots on both sides: those to compare by id, and those to check for compatibility.
    fn shared(&self, answer: &Answer) -> (Vec<Slot>, Vec<Slot>) {
        let slots = self.service.slots().into_iter();
        let shared = slots
            .enumerate()
            .filter(|(_, slot)| self.input_schema.contains(slot));
        let (keys, compatible): (Vec<_>, Vec<_>) = shared
            .partition(|(column, slot)| self.input_certain.contains(slot) && answer.bound[*column]);
        let slots = |list: Vec<(usize, Slot)>| list.into_iter().map(|(_, slot)| slot).collect();
        (slots(keys), slots(compatible))
    }

    /// The join of some input rows with an answer.
    fn join(&self, rows: Batch, answer: &Answer, cx: &Context) -> Result<HashJoin, ExecError> {
        let build = self.service.slots();
        let probe = &self.input_schema;
        let (keys, compatible) = self.shared(answer);
        let column = |schema: &[Slot], slot: &Slot| {
            let found = schema.iter().position(|s| s == slot);
            found.ok_or_else(|| ExecError::Internal("a shared slot is missing".into()))
        };
        let sources = |schema: &[Slot]| JoinShape::sources(schema, probe, &build, &keys);
        let fresh = build.iter().filter(|slot| !probe.contains(slot));
        let joined: Vec<Slot> = probe.iter().chain(fresh).copied().collect();
        let filter = match &self.filter {
            Some(filter) => Some((
                CompiledExpr::compile(filter, &joined, &cx.shared())?,
                sources(&joined),
            )),
            None => None,
        };
        let shape = JoinShape {
            probe_keys: keys
                .iter()
                .map(|slot| column(probe, slot))
                .collect::<Result<_, _>>()?,
            compatible: compatible
                .iter()
                .map(|slot| Ok((column(probe, slot)?, column(&build, slot)?)))
                .collect::<Result<_, ExecError>>()?,
            kind: self.kind,
            filter,
            ranges: None,
            nearest: None,
            partners: Vec::new(),
            sources: sources(&self.schema),
        };
        let table = Arc::clone(&answer.table);
        let make_side = Box::new(move || Ok(BuildSide::Table(table)));
        Ok(HashJoin::new(Box::new(Rows::new(rows)), make_side, shape))
    }
}

impl Service {
    /// Joins the rows of `input` with a remote pattern.
    pub fn new(input: BoxOperator, shape: ServiceShape) -> Self {
        Self {
            input,
            shape,
            pending: VecDeque::new(),
            joining: None,
            whole: HashMap::default(),
            input_ended: false,
        }
    }

    /// Input rows with enough distinct bindings for a request; `None` at the end.
    fn chunk(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let mut rows = Collected::new(self.shape.input_schema.len());
        let mut seen: HashSet<Vec<u64>, RandomState> = HashSet::default();
        while !self.input_ended && rows.rows < CHUNK_ROWS_MAX && seen.len() < BINDINGS_MAX {
            cx.check()?;
            let Some(batch) = self.input.next(cx)? else {
                self.input_ended = true;
                break;
            };
            for row in 0..batch.rows() {
                let cells = self.shape.sent.iter();
                seen.insert(cells.map(|&(column, _)| batch.ids(column)[row]).collect());
            }
            rows.push(&batch, cx)?;
            if self.shape.sent.is_empty() {
                break;
            }
        }
        Ok((rows.rows > 0).then(|| rows.into_batch()))
    }

    /// Splits a chunk into requests, in the order of their first rows.
    fn plan_requests(&mut self, chunk: &Batch, cx: &Context) -> Result<(), ExecError> {
        let mut groups: Vec<(Target, Vec<usize>, Vec<u32>)> = Vec::new();
        let mut known: HashMap<(u64, Vec<usize>), usize, RandomState> = HashMap::default();
        for row in 0..chunk.rows() {
            let sent = request::sendable(&self.shape, chunk, row, cx)?;
            let endpoint = self
                .shape
                .endpoint_column
                .map_or(0, |column| chunk.ids(column)[row]);
            let group = match known.get(&(endpoint, sent.clone())) {
                Some(&group) => group,
                None => {
                    let mut target = self.shape.target(chunk, row, cx)?;
                    if matches!(target, Target::Iri(_)) && self.is_hopeless(&sent) {
                        target = Target::Nowhere;
                    }
                    groups.push((target, sent.clone(), Vec::new()));
                    known.insert((endpoint, sent), groups.len() - 1);
                    groups.len() - 1
                }
            };
            groups[group].2.push(row as u32);
        }
        for (target, sent, rows) in groups {
            self.cut(chunk, &target, &sent, &rows, cx)?;
        }
        Ok(())
    }

    /// Whether rows that cannot send some column cannot have a partner either: solutions always bind
    /// it, and never to a blank node of this store.
    fn is_hopeless(&self, sent: &[usize]) -> bool {
        let certain = &self.shape.service.certain;
        let columns = self.shape.sent.iter().enumerate();
        columns
            .filter(|(idx, _)| !sent.contains(idx))
            .any(|(_, &(_, column))| certain.contains(&self.shape.service.variables[column].0))
    }

    /// Cuts the rows of one group into requests of bounded size, each with its distinct bindings.
    fn cut(
        &mut self,
        chunk: &Batch,
        target: &Target,
        sent: &[usize],
        rows: &[u32],
        cx: &Context,
    ) -> Result<(), ExecError> {
        let mut requests: Vec<(String, usize, Vec<u32>)> = vec![Default::default()];
        let mut request_of: HashMap<Vec<u64>, usize, RandomState> = HashMap::default();
        for &row in rows {
            let columns = sent.iter().map(|&idx| self.shape.sent[idx].0);
            let key: Vec<u64> = columns.map(|c| chunk.ids(c)[row as usize]).collect();
            let number = match request_of.get(&key) {
                Some(&number) => number,
                None => {
                    let text = request::values_row(&key, cx)?;
                    let is_full = requests.last().is_some_and(|(values, bindings, _)| {
                        *bindings >= BINDINGS_MAX || values.len() + text.len() > BINDINGS_BYTES_MAX
                    });
                    if is_full {
                        requests.push(Default::default());
                    }
                    let number = requests.len() - 1;
                    requests[number].0.push_str(&text);
                    requests[number].1 += 1;
                    request_of.insert(key, number);
                    number
                }
            };
            requests[number].2.push(row);
        }
        self.pending
            .extend(requests.into_iter().map(|(values, _, rows)| Pending {
                endpoint: target.clone(),
                sent: sent.to_vec(),
                values,
                rows: chunk.take(&rows),
            }));
        Ok(())
    }

    /// Sends a request, or takes the answer that is there already, and joins it.
    fn start(&mut self, pending: Pending, cx: &Context) -> Result<(), ExecError> {
        let width = self.shape.service.variables.len();
        if let Target::Iri(endpoint) = &pending.endpoint
            && pending.sent.is_empty()
        {
            if !self.whole.contains_key(endpoint) {
                let answer = request::ask(&self.shape, endpoint, &[], "", cx)?;
                self.whole.insert(endpoint.clone(), answer);
            }
            self.joining = Some(self.shape.join(pending.rows, &self.whole[endpoint], cx)?);
            return Ok(());
        }
        let answer = match &pending.endpoint {
            Target::Iri(endpoint) => {
                request::ask(&self.shape, endpoint, &pending.sent, &pending.values, cx)?
            }
            Target::Unknown(_) if self.shape.service.silent => Answer::of_failure(width, cx)?,
            Target::Unknown(message) => {
                return Err(ExecError::NoEndpoint(message.clone()));
            }
            Target::Nowhere => Answer::empty(width, cx)?,
        };
        self.joining = Some(self.shape.join(pending.rows, &answer, cx)?);
        Ok(())
    }
}

impl Operator for Service {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(join) = &mut self.joining {
                if let Some(batch) = join.next(cx)? {
                    return Ok(Some(batch));
                }
                self.joining = None;
            }
            cx.check()?;
            if let Some(pending) = self.pending.pop_front() {
                self.start(pending, cx)?;
            } else if let Some(chunk) = self.chunk(cx)? {
                self.plan_requests(&chunk, cx)?;
            } else {
                return Ok(None);
            }
        }
    }
}
