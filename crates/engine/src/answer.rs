//! Answers of queries: solutions, a boolean, or triples, streamed.

use crate::error::Error;
use basalt_exec::results::{Construct, Describe, VisitTriple};
use basalt_exec::{Batch, Execution, TermSpace};
use basalt_plan::physical::Slot;
use basalt_rdf::TermId;
use oxrdf::{Term, Triple};

/// The answer of a query.
pub enum Answer {
    /// Of SELECT.
    Solutions(Solutions),
    /// Of ASK.
    Boolean(bool),
    /// Of CONSTRUCT and DESCRIBE.
    Graph(GraphAnswer),
}

/// Solutions, batch by batch.
pub struct Solutions {
    execution: Execution,
    variables: Vec<String>,
    /// For each variable its column in the batches.
    columns: Vec<Option<usize>>,
}

impl Solutions {
    pub(crate) fn new(execution: Execution, slots: &[Slot]) -> Self {
        let names = &execution.plan().variables;
        let variables = slots
            .iter()
            .map(|slot| names[usize::from(slot.0)].clone())
            .collect();
        let schema = execution.schema();
        let columns = slots
            .iter()
            .map(|slot| schema.iter().position(|s| s == slot))
            .collect();
        Self {
            execution,
            variables,
            columns,
        }
    }

    /// The names of the variables, without question marks.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The next rows, one column for each variable; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        let batch = self.execution.next_batch()?;
        Ok(batch.map(|batch| batch.select_columns(&self.columns)))
    }

    /// Terms of the ids in the batches.
    pub fn terms(&self) -> &TermSpace {
        self.execution.terms()
    }

    /// All rows as terms; for small answers and tests.
    pub fn into_rows(mut self) -> Result<Vec<Vec<Option<Term>>>, Error> {
        let mut rows = Vec::new();
        while let Some(batch) = self.next_batch()? {
            for row in 0..batch.rows() {
                let term = |column: usize| match TermId(batch.ids(column)[row]) {
                    TermId::UNBOUND => Ok(None),
                    id => self.terms().term(id).map(Some),
                };
                rows.push(
                    (0..batch.width())
                        .map(term)
                        .collect::<Result<Vec<_>, _>>()?,
                );
            }
        }
        Ok(rows)
    }
}

/// Triples, piece by piece.
pub enum GraphAnswer {
    /// Made from a template as solutions come.
    Construct(Box<Construct>),
    /// Read for the resources of the solutions as they come.
    Describe(Box<Describe>),
}

impl GraphAnswer {
    /// Visits some more triples; false at the end.
    pub fn visit_next(&mut self, visit: VisitTriple<'_, Error>) -> Result<bool, Error> {
        match self {
            Self::Construct(construct) => construct.visit_next(visit),
            Self::Describe(describe) => describe.visit_next(visit),
        }
    }

    /// Some more triples, owned; `None` at the end.
    pub fn next_triples(&mut self) -> Result<Option<Vec<Triple>>, Error> {
        let mut triples = Vec::new();
        let has_more = self.visit_next(&mut |triple| {
            triples.extend(triple.to_oxrdf().map(Triple::from));
            Ok(())
        })?;
        Ok(has_more.then_some(triples))
    }
}
