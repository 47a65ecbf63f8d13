//! From the text of a request to its operations.
//!
//! The text is parsed as a whole, which finds every error at its place. A request with ADD, MOVE or COPY, or with
//! declarations between operations, is then cut into pieces (`query_text::update_pieces`) that are parsed one by
//! one: the parser rewrites those three, and knows declarations at the start only. Codepoint escapes are decoded before
//! that, as the parser does, so they hide no operation. A request with ADD, MOVE or COPY that is not cut as the parser
//! does is refused: the rewritten operations do not see whether a graph is there, and take other datasets.
//!
//! A long INSERT DATA is not parsed here but when it runs, part by part (`long_data`).
//!
//! Cost: linear in the text; pieces are parsed with the declarations before them.

use super::UpdateOptions;
use super::tags::with_written_tags;
use crate::error::Error;
use crate::query::dataset_override;
use crate::query_text::data_parts::DataText;
use crate::query_text::diagnosis::{Wanted, diagnose};
use crate::query_text::escapes::{decoded, escaped};
use crate::query_text::nesting::on_large_stack;
use crate::query_text::select_names::with_names;
use crate::query_text::update_pieces::{
    Keyword, Piece, has_declarations, mentions_transfer, only, update_pieces,
};
use crate::query_text::{iri_taken_for_comparison, with_lower_case_booleans};
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Variable};
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{
    GraphName, GraphNamePattern, GroundQuad, GroundQuadPattern, GroundTermPattern,
    NamedNodePattern, Quad, QuadPattern, TermPattern,
};
use spargebra::{GraphUpdateOperation, Query, SparqlParser, SparqlSyntaxError, Update};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Bytes from which on the text of an INSERT DATA is parsed part by part.
const LONG_BYTES: usize = 4 << 20;
/// Characters of an operation that messages quote.
const QUOTED_CHARS: usize = 80;

/// An operation with its text, for messages.
#[derive(Debug)]
pub(super) struct Step<'t> {
    pub(super) text: String,
    pub(super) operation: Operation<'t>,
}

/// One operation of a request.
#[derive(Debug)]
pub(super) enum Operation<'t> {
    /// INSERT DATA.
    InsertData(Vec<Quad>),
    /// INSERT DATA with a long text, to be parsed when it runs.
    InsertLongData(DataText<'t>),
    /// DELETE DATA.
    DeleteData(Vec<GroundQuad>),
    /// DELETE and INSERT for the solutions of a pattern, DELETE WHERE too.
    Modify(Box<Modify>),
    /// LOAD.
    Load {
        is_silent: bool,
        source: NamedNode,
        destination: GraphName,
    },
    /// CREATE.
    Create { is_silent: bool, graph: NamedNode },
    /// CLEAR, and DROP, which is the same where graphs without quads are not kept.
    Clear { is_drop: bool, target: GraphTarget },
    /// ADD, COPY or MOVE.
    Transfer {
        kind: Keyword,
        is_silent: bool,
        /// From where and to where; `None` if that is one graph, so that there is nothing to do.
        ends: Option<(GraphName, GraphName)>,
    },
}

/// DELETE and INSERT for the solutions of a pattern.
#[derive(Debug)]
pub(super) struct Modify {
    pub(super) delete: Vec<GroundQuadPattern>,
    pub(super) insert: Vec<QuadPattern>,
    /// The variables of the templates, each once.
    pub(super) variables: Vec<Variable>,
    /// The pattern, as a SELECT of these variables.
    pub(super) query: Query,
    /// The base of relative IRIs.
    pub(super) base: Option<Arc<str>>,
}

impl Operation<'_> {
    /// Its words.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::InsertData(_) | Self::InsertLongData(_) => "INSERT DATA",
            Self::DeleteData(_) => "DELETE DATA",
            Self::Modify(modify) => match (modify.delete.is_empty(), modify.insert.is_empty()) {
                (false, true) => "DELETE WHERE",
                (true, _) => "INSERT WHERE",
                (false, false) => "DELETE/INSERT WHERE",
            },
            Self::Load { .. } => "LOAD",
            Self::Create { .. } => "CREATE",
            Self::Clear { is_drop: true, .. } => "DROP",
            Self::Clear { is_drop: false, .. } => "CLEAR",
            Self::Transfer { kind, .. } => match kind {
                Keyword::Add => "ADD",
                Keyword::Move => "MOVE",
                Keyword::Copy | Keyword::Other => "COPY",
            },
        }
    }
}

/// The operations of a request.
pub(super) fn parse<'t>(text: &'t str, options: &UpdateOptions) -> Result<Vec<Step<'t>>, Error> {
    let long = match text.len() > LONG_BYTES {
        true => DataText::of(text),
        false => None,
    };
    let Some(long) = long else {
        return parse_short(text, options);
    };
    // What does not depend on the text is refused at once.
    drop(options.query.parser().map_err(as_update)?);
    drop(dataset_override(&options.query).map_err(as_update)?);
    Ok(vec![Step {
        text: shortened(first_characters(text)),
        operation: Operation::InsertLongData(long),
    }])
}

/// The start of a text, with more than messages quote.
fn first_characters(text: &str) -> &str {
    let end = text.char_indices().nth(4 * QUOTED_CHARS);
    end.map_or(text, |(end, _)| &text[..end])
}

/// As [`parse`], all at once, however long the text is.
pub(super) fn parse_short(
    given: &str,
    options: &UpdateOptions,
) -> Result<Vec<Step<'static>>, Error> {
    let text = decoded(given);
    let lowered = with_lower_case_booleans(&text);
    on_large_stack(&lowered, || parse_plain(&text, &lowered, options))?
}

/// As [`parse_short`], of a text without codepoint escapes, and the same with keywords in lower case.
fn parse_plain(
    text: &str,
    lowered: &str,
    options: &UpdateOptions,
) -> Result<Vec<Step<'static>>, Error> {
    let parser = options.query.parser().map_err(as_update)?;
    let using = dataset_override(&options.query).map_err(as_update)?;
    let pieces = update_pieces(lowered).unwrap_or_default();
    let is_cut = pieces
        .iter()
        .skip(1)
        .any(|piece| has_declarations(lowered, &piece.prologue));
    let is_transfer = |piece: &Piece| piece.keyword != Keyword::Other;
    let request = Request {
        text,
        lowered,
        parser: &parser,
        using: using.as_ref(),
    };
    match request.parse(lowered) {
        Err(error) if !is_cut => Err(syntax_error(text, &error)),
        Ok(update) if !is_cut && !pieces.iter().any(is_transfer) => {
            request.check_iris(lowered)?;
            request.steps(update, &pieces)
        }
        whole => request.cut(&pieces, whole.ok().map(|update| update.operations.len())),
    }
}

/// A request that is being parsed.
struct Request<'a> {
    /// The text with codepoint escapes decoded.
    text: &'a str,
    /// That text as the parser wants it, of the same length.
    lowered: &'a str,
    parser: &'a SparqlParser,
    /// The dataset given beside the request.
    using: Option<&'a QueryDataset>,
}

impl Request<'_> {
    /// Parses a text with codepoint escapes decoded.
    fn parse(&self, text: &str) -> Result<Update, SparqlSyntaxError> {
        let parser = || self.parser.clone();
        let parse = |text: &str| with_names(text, |text| parser().parse_update(&escaped(text)));
        Ok(with_written_tags(parse(text)?, text, |text| {
            parse(text).ok()
        }))
    }

    /// Refuses IRIs that the parser took for comparisons.
    fn check_iris(&self, text: &str) -> Result<(), Error> {
        match iri_taken_for_comparison(text, |text| self.parse(text).is_ok()) {
            None => Ok(()),
            Some(range) => Err(refused(format!(
                "'{}' is one IRI, since the longest token counts; where comparisons are meant, put blanks around them",
                &text[range]
            ))),
        }
    }

    /// The steps of a request that was parsed whole.
    fn steps(&self, update: Update, pieces: &[Piece]) -> Result<Vec<Step<'static>>, Error> {
        let has_texts = pieces.len() == update.operations.len();
        if !has_texts && mentions_transfer(self.text) {
            return Err(not_told_apart());
        }
        let base = base_of(&update);
        let operations = update.operations.into_iter().enumerate();
        let steps = operations.map(|(idx, operation)| {
            let text = match has_texts {
                true => shortened(&self.text[pieces[idx].operation.clone()]),
                false => shortened(&operation.to_string()),
            };
            let operation = self.operation(operation, base.as_ref())?;
            Ok(Step { text, operation })
        });
        steps.collect()
    }

    /// The steps of a request that is parsed piece by piece; if it could be parsed whole, into so many operations.
    fn cut(&self, pieces: &[Piece], whole: Option<usize>) -> Result<Vec<Step<'static>>, Error> {
        let mut parsed = 0;
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut steps = Vec::with_capacity(pieces.len());
        let mut labels = HashSet::new();
        for piece in pieces {
            if has_declarations(self.lowered, &piece.prologue) {
                parts.push(piece.prologue.clone());
            }
            let declared = parts.iter().map(|part| &self.lowered[part.clone()]);
            let mut text: String = declared.flat_map(|part| [part, "\n"]).collect();
            text.push_str(&self.lowered[piece.operation.clone()]);
            let update = match self.parse(&text) {
                Ok(update) => update,
                Err(error) => {
                    parts.push(piece.operation.clone());
                    // The same text where it stands in the request, for the place in the message.
                    let error = self
                        .parse(&only(self.lowered, &parts))
                        .err()
                        .unwrap_or(error);
                    return Err(syntax_error(self.text, &error));
                }
            };
            self.check_iris(&text)?;
            check_labels(&update.operations, &mut labels)?;
            parsed += update.operations.len();
            let operation = match piece.keyword {
                Keyword::Other => self.only_operation(update)?,
                kind => Operation::Transfer {
                    kind,
                    is_silent: piece.is_silent,
                    ends: ends_of(&update.operations)?,
                },
            };
            let text = shortened(&self.text[piece.operation.clone()]);
            steps.push(Step { text, operation });
        }
        if whole.is_some_and(|whole| whole != parsed) {
            return Err(not_told_apart());
        }
        Ok(steps)
    }

    fn only_operation(&self, update: Update) -> Result<Operation<'static>, Error> {
        let base = base_of(&update);
        match <[GraphUpdateOperation; 1]>::try_from(update.operations) {
            Ok([operation]) => self.operation(operation, base.as_ref()),
            Err(_) => Err(not_told_apart()),
        }
    }

    fn operation(
        &self,
        operation: GraphUpdateOperation,
        base: Option<&Arc<str>>,
    ) -> Result<Operation<'static>, Error> {
        Ok(match operation {
            GraphUpdateOperation::InsertData { data } => Operation::InsertData(data),
            GraphUpdateOperation::DeleteData { data } => Operation::DeleteData(data),
            GraphUpdateOperation::DeleteInsert {
                delete,
                insert,
                using,
                pattern,
            } => {
                if using.is_some() && self.using.is_some() {
                    return Err(refused(
                        "graphs are given beside an update that has WITH, USING or USING NAMED itself"
                            .to_owned(),
                    ));
                }
                let dataset = using.or_else(|| self.using.cloned());
                let modify = Modify::new(delete, insert, dataset, *pattern, base.cloned());
                Operation::Modify(Box::new(modify))
            }
            GraphUpdateOperation::Load {
                silent,
                source,
                destination,
            } => Operation::Load {
                is_silent: silent,
                source,
                destination,
            },
            GraphUpdateOperation::Create { silent, graph } => Operation::Create {
                is_silent: silent,
                graph,
            },
            GraphUpdateOperation::Clear { graph, .. } => Operation::Clear {
                is_drop: false,
                target: graph,
            },
            GraphUpdateOperation::Drop { graph, .. } => Operation::Clear {
                is_drop: true,
                target: graph,
            },
        })
    }
}

impl Modify {
    fn new(
        delete: Vec<GroundQuadPattern>,
        insert: Vec<QuadPattern>,
        dataset: Option<QueryDataset>,
        pattern: GraphPattern,
        base: Option<Arc<str>>,
    ) -> Self {
        let variables = variables_of(&delete, &insert);
        let is_constant = variables.is_empty() && !insert.iter().any(has_blank);
        let projected = GraphPattern::Project {
            inner: Box::new(pattern),
            variables: variables.clone(),
        };
        let pattern = match is_constant {
            // One solution makes all that many would.
            true => GraphPattern::Slice {
                inner: Box::new(projected),
                start: 0,
                length: Some(1),
            },
            false => projected,
        };
        let query = Query::Select {
            dataset,
            pattern,
            base_iri: None,
        };
        Self {
            delete,
            insert,
            variables,
            query,
            base,
        }
    }
}

/// The variables of templates, each once.
fn variables_of(delete: &[GroundQuadPattern], insert: &[QuadPattern]) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    let mut add = |variable: &Variable| {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
    };
    for quad in delete {
        for term in [&quad.subject, &quad.object] {
            if let GroundTermPattern::Variable(variable) = term {
                add(variable);
            }
        }
        if let NamedNodePattern::Variable(variable) = &quad.predicate {
            add(variable);
        }
        if let GraphNamePattern::Variable(variable) = &quad.graph_name {
            add(variable);
        }
    }
    for quad in insert {
        for term in [&quad.subject, &quad.object] {
            if let TermPattern::Variable(variable) = term {
                add(variable);
            }
        }
        if let NamedNodePattern::Variable(variable) = &quad.predicate {
            add(variable);
        }
        if let GraphNamePattern::Variable(variable) = &quad.graph_name {
            add(variable);
        }
    }
    variables
}

fn has_blank(quad: &QuadPattern) -> bool {
    [&quad.subject, &quad.object]
        .into_iter()
        .any(|term| matches!(term, TermPattern::BlankNode(_)))
}

fn base_of(update: &Update) -> Option<Arc<str>> {
    update.base_iri.as_ref().map(|base| base.as_str().into())
}

/// From where to where the parser's form of ADD, MOVE or COPY goes; `None` from a graph to itself.
fn ends_of(operations: &[GraphUpdateOperation]) -> Result<Option<(GraphName, GraphName)>, Error> {
    let copies = operations.iter().find_map(|operation| match operation {
        GraphUpdateOperation::DeleteInsert {
            insert, pattern, ..
        } => Some((insert, pattern)),
        _ => None,
    });
    let Some((insert, pattern)) = copies else {
        return match operations {
            [] => Ok(None),
            _ => Err(Error::Internal(
                "a transfer of graphs copies nothing".into(),
            )),
        };
    };
    let from = match &**pattern {
        GraphPattern::Graph {
            name: NamedNodePattern::NamedNode(node),
            ..
        } => GraphName::NamedNode(node.clone()),
        _ => GraphName::DefaultGraph,
    };
    let to = match insert.first().map(|quad| &quad.graph_name) {
        Some(GraphNamePattern::NamedNode(node)) => GraphName::NamedNode(node.clone()),
        _ => GraphName::DefaultGraph,
    };
    Ok(Some((from, to)))
}

/// A label of a blank node may not stand in two INSERT DATA of a request.
fn check_labels(
    operations: &[GraphUpdateOperation],
    known: &mut HashSet<BlankNode>,
) -> Result<(), Error> {
    for operation in operations {
        let GraphUpdateOperation::InsertData { data } = operation else {
            continue;
        };
        let mut own = HashSet::new();
        for quad in data {
            if let NamedOrBlankNode::BlankNode(node) = &quad.subject {
                own.insert(node.clone());
            }
            if let Term::BlankNode(node) = &quad.object {
                own.insert(node.clone());
            }
        }
        if let Some(node) = known.intersection(&own).next() {
            return Err(refused(format!(
                "the blank node '{node}' stands in two INSERT DATA operations"
            )));
        }
        known.extend(own);
    }
    Ok(())
}

/// One line of an operation's text.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(QUOTED_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn syntax_error(text: &str, error: &SparqlSyntaxError) -> Error {
    refused(diagnose(text, Wanted::Update, &error.to_string()))
}

/// Where the text is not cut as the parser does.
fn not_told_apart() -> Error {
    refused(
        "the operations are not told apart; where ADD, MOVE or COPY are meant, send them in a request of their own, \
         with blanks between the words"
            .to_owned(),
    )
}

fn refused(message: String) -> Error {
    Error::UpdateText { message }
}

/// An error of the options, told as one of the update.
fn as_update(error: Error) -> Error {
    match error {
        Error::Query { message } => refused(message),
        other => other,
    }
}

#[cfg(test)]
mod tests;
