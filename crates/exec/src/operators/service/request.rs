//! One request of a [`Service`](super::Service): values into text, and the answer into a table.
//!
//! What is sent comes from data, so only terms whose text cannot be anything else in a query are sent:
//! literals are escaped, IRIs with characters that an IRI in a query cannot have stay here.

use super::ServiceShape;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::join_table::JoinTable;
use crate::service::{ServiceError, ServiceRequest, ServiceRows};
use basalt_rdf::TermId;
use hashbrown::HashMap;
use oxrdf::{BlankNode, Term};
use std::hash::RandomState;
use std::sync::Arc;

/// Rows read between two looks at the clock and the memory.
const CHECK_ROWS: usize = 256;

/// An answer, ready to be joined.
pub(super) struct Answer {
    pub(super) table: Arc<JoinTable>,
    /// For each column whether all rows have a value.
    pub(super) bound: Vec<bool>,
}

impl Answer {
    fn new(
        shape: Option<&ServiceShape>,
        columns: Vec<Vec<u64>>,
        rows: usize,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let bound: Vec<bool> = columns.iter().map(|column| !column.contains(&0)).collect();
        let width = columns.len();
        let mut answer = Self {
            table: Arc::new(JoinTable::empty()),
            bound,
        };
        let keys = shape.map_or_else(Vec::new, |shape| shape.shared(&answer).0);
        let slots = shape.map_or_else(Vec::new, |shape| shape.service.slots());
        let key_columns = keys
            .iter()
            .filter_map(|key| slots.iter().position(|slot| slot == key))
            .collect();
        let batch = Batch::from_vectors(columns, rows);
        answer.table = Arc::new(JoinTable::build(&[batch], width, key_columns, cx)?);
        Ok(answer)
    }

    /// One row without bindings, which is compatible with everything.
    pub(super) fn of_failure(width: usize, cx: &Context) -> Result<Self, ExecError> {
        Self::new(None, vec![vec![0]; width], 1, cx)
    }

    /// No rows.
    pub(super) fn empty(width: usize, cx: &Context) -> Result<Self, ExecError> {
        let mut answer = Self::new(None, vec![Vec::new(); width], 0, cx)?;
        // Any key will do where there is nothing to find.
        answer.bound = vec![false; width];
        Ok(answer)
    }
}

/// Which of the columns to send have a value in the row that can be sent.
pub(super) fn sendable(
    shape: &ServiceShape,
    chunk: &Batch,
    row: usize,
    cx: &Context,
) -> Result<Vec<usize>, ExecError> {
    let mut sent = Vec::with_capacity(shape.sent.len());
    for (idx, &(column, _)) in shape.sent.iter().enumerate() {
        let id = TermId(chunk.ids(column)[row]);
        if id == TermId::UNBOUND || cx.terms().is_blank(id) {
            continue;
        }
        let is_safe = match id.is_resource() || id.tag() == basalt_rdf::term_id::tag::LOCAL {
            true => match cx.terms().term(id)? {
                Term::NamedNode(node) => node.as_str().chars().all(may_stand_in_an_iri),
                Term::Literal(_) => true,
                Term::BlankNode(_) => false,
            },
            false => true,
        };
        if is_safe {
            sent.push(idx);
        }
    }
    Ok(sent)
}

/// The characters of `IRIREF` in the grammar of SPARQL.
fn may_stand_in_an_iri(c: char) -> bool {
    c > ' ' && !matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\')
}

/// One row of VALUES.
pub(super) fn values_row(ids: &[u64], cx: &Context) -> Result<String, ExecError> {
    let mut text = "( ".to_owned();
    for &id in ids {
        text.push_str(&format!("{} ", cx.terms().term(TermId(id))?));
    }
    text.push_str(") ");
    Ok(text)
}

/// Asks an endpoint for the solutions compatible with some rows of values.
pub(super) fn ask(
    shape: &ServiceShape,
    endpoint: &str,
    sent: &[usize],
    values: &str,
    cx: &Context,
) -> Result<Answer, ExecError> {
    let service = &shape.service;
    let sent: Vec<usize> = sent.iter().map(|&idx| shape.sent[idx].1).collect();
    let names: Vec<&str> = sent
        .iter()
        .map(|&column| service.variables[column].1.as_str())
        .collect();
    let query = service.query(&names, values);
    let failed = |message: String| -> Result<Answer, ExecError> {
        // The query's own end is nobody's failure.
        cx.check()?;
        if service.silent {
            return Answer::of_failure(service.variables.len(), cx);
        }
        Err(ExecError::Service {
            endpoint: endpoint.to_owned(),
            message,
        })
    };
    let Some(client) = &cx.options().services else {
        let message =
            format!("the service <{endpoint}> may not be asked: services are switched off");
        return Err(ExecError::ServiceRefused(message));
    };
    let request = ServiceRequest {
        endpoint,
        query: &query,
        deadline: cx.deadline(),
        cancel: &cx.options().cancel,
        bytes_max: cx.options().memory_bytes_max,
    };
    let read = client
        .select(&request)
        .map_err(Problem::from)
        .and_then(|rows| read(shape, rows, &sent, cx));
    match read {
        Ok((columns, rows)) => {
            let reserved = reserved_bytes(rows, columns.len());
            let answer = Answer::new(Some(shape), columns, rows, cx);
            cx.release(reserved);
            answer
        }
        Err(Problem::Service(ServiceError::Refused(message))) => {
            Err(ExecError::ServiceRefused(message))
        }
        Err(Problem::Service(ServiceError::Failed(message))) => failed(message),
        Err(Problem::Query(error)) => Err(error),
    }
}

/// Why an answer could not be read: the service's doing, or the query's.
enum Problem {
    Service(ServiceError),
    Query(ExecError),
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

impl From<ExecError> for Problem {
    fn from(error: ExecError) -> Self {
        Self::Query(error)
    }
}

fn reserved_bytes(rows: usize, width: usize) -> usize {
    rows.next_multiple_of(CHECK_ROWS) * width * size_of::<u64>()
}

/// Columns of ids, and the number of rows.
type Columns = (Vec<Vec<u64>>, usize);

fn read(
    shape: &ServiceShape,
    answer: ServiceRows<'_>,
    sent: &[usize],
    cx: &Context,
) -> Result<Columns, Problem> {
    let variables = &shape.service.variables;
    let places: Vec<Option<usize>> = variables
        .iter()
        .map(|(_, name)| answer.variables.iter().position(|other| other == name))
        .collect();
    let mut columns = vec![Vec::new(); variables.len()];
    let mut labels = Labels::new(cx.next_service_request());
    let mut rows = 0;
    let outcome = (|| {
        for row in answer.rows {
            let mut row = row?;
            if rows % CHECK_ROWS == 0 {
                cx.check()?;
                cx.reserve(reserved_bytes(1, variables.len()), "Service")?;
            }
            rows += 1;
            for (column, place) in places.iter().enumerate() {
                let term = place.and_then(|place| row.get_mut(place)?.take());
                let id = match term {
                    Some(term) => cx.terms().intern_term(&labels.localize(term)).0,
                    None => missing(shape, column, sent)?,
                };
                columns[column].push(id);
            }
        }
        Ok(())
    })();
    if let Err(problem) = outcome {
        cx.release(reserved_bytes(rows, variables.len()));
        return Err(problem);
    }
    Ok((columns, rows))
}

/// The id for a value that is not there, if it may be absent.
fn missing(shape: &ServiceShape, column: usize, sent: &[usize]) -> Result<u64, ServiceError> {
    let (slot, name) = &shape.service.variables[column];
    if sent.contains(&column) || shape.service.certain.contains(slot) {
        let message = format!("a solution lacks ?{name}, which the pattern always binds");
        return Err(ServiceError::Failed(message));
    }
    Ok(0)
}

/// Blank nodes of one answer under names of their own.
struct Labels {
    request: u64,
    known: HashMap<String, usize, RandomState>,
}

impl Labels {
    fn new(request: u64) -> Self {
        Self {
            request,
            known: HashMap::default(),
        }
    }

    fn localize(&mut self, term: Term) -> Term {
        let Term::BlankNode(node) = term else {
            return term;
        };
        let next = self.known.len();
        let number = *self.known.entry(node.as_str().to_owned()).or_insert(next);
        // A label that no stored blank node has: those are a letter and digits.
        BlankNode::new_unchecked(format!("r{}-{number}", self.request)).into()
    }
}
