//! What Oxigraph says about an answer that the naive oracle gives: the same, something else for a reason that is
//! known, or something else that somebody has to look into.
//!
//! A reason is known in one of these ways, and each says what the answers would be without it:
//!
//! - [`deviation`] sees in the query alone that the two need not agree, and Oxigraph is not asked;
//! - Oxigraph gives the right answer when it does not optimize the query, so it contradicts itself;
//! - its numbers differ in the last digits only, behind a conversion of a decimal to a double;
//! - it is right for a query in which each result is an error that numbers of limited length do not hold;
//! - only the order of the rows is wrong, and it is right where all literals are of one type;
//! - the two agree when they are asked the same once more with some literals [folded](crate::folding), so
//!   the difference hangs on these literals.
//!
//! Cost: that of both oracles, and for each difference that of both of them a few times more.

use crate::bag::{self, Numbers};
use crate::dataset::{Answer, Dataset};
use crate::expectation::{Expectation, expectation};
use crate::folding::{Fold, Question, as_text, canonical, without_ill_typed, without_long_numbers};
use crate::oxigraph_deviations::deviation;
use crate::oxigraph_oracle::{evaluate, evaluate_unoptimized};
use oxigraph::sparql::QueryEvaluationError;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, Term};
use spargebra::Query;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What Oxigraph says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// The same.
    Agrees,
    /// Perhaps something else, for this reason.
    Differs(&'static str),
    /// Something else, and this is how it differs.
    Contradicts(String),
}

/// What is folded to see whether a difference hangs on it.
struct Folding {
    /// One after the other.
    folds: &'static [Fold],
    /// The reason that it shows.
    reason: &'static str,
}

const FOLDINGS: [Folding; 4] = [
    Folding {
        folds: &[canonical],
        reason: "numbers and dates are kept as values and written canonically",
    },
    Folding {
        folds: &[without_long_numbers],
        reason: "integers have 64 bits and decimals 18 digits after the point",
    },
    Folding {
        folds: &[without_ill_typed],
        reason: "an ill-typed number or boolean as a condition is an error and not false",
    },
    Folding {
        folds: &[canonical, without_long_numbers, without_ill_typed],
        reason: "two of these: canonical forms, 64 bits, ill-typed conditions",
    },
];

/// Whether there is arithmetic in a query.
fn computes(query: &Query) -> bool {
    let text = query.to_sse();
    ["(+ ", "(- ", "(* ", "(/ "]
        .iter()
        .any(|op| text.contains(op))
}

/// Asks Oxigraph a question of which the right answer is known.
pub fn second_opinion(question: &Question, expected: &Expectation) -> Opinion {
    if let Some(reason) = deviation(&question.query) {
        return Opinion::Differs(reason);
    }
    let answer = ask(question, evaluate);
    let difference = match &answer {
        Ok(answer) => match expected.check(answer) {
            Ok(()) => return Opinion::Agrees,
            Err(difference) => difference.to_string(),
        },
        Err(failure) => failure.clone(),
    };
    match reason(question, expected, answer.as_ref()) {
        Some(reason) => Opinion::Differs(reason),
        None => Opinion::Contradicts(difference),
    }
}

/// Why Oxigraph's answer is another one.
fn reason(
    question: &Question,
    expected: &Expectation,
    answer: Result<&Answer, &String>,
) -> Option<&'static str> {
    let (is_order_only, is_rounded) = match answer {
        Ok(answer) => (
            expected.check_rows(answer).is_ok(),
            is_equal_but_for_last_digits(expected.answer(), answer),
        ),
        Err(failure) => (failure.contains("correctly implement a total order"), false),
    };
    if is_order_only && agree_on(question, &[as_text]) {
        return Some(
            "unlike literals are ordered by text and like ones by value, which is no order",
        );
    }
    if is_rounded && computes(&question.query) {
        return Some("the double of a decimal is a quotient of doubles and not the nearest");
    }
    if ask(question, evaluate_unoptimized).is_ok_and(|answer| expected.check(&answer).is_ok()) {
        return Some("without its optimizer it gives the right answer");
    }
    if let (Some(changed), Ok(answer)) = (question.with_short_arithmetic(), answer)
        && expectation(&changed.dataset, &changed.query)
            .is_ok_and(|changed| changed.check(answer).is_ok())
    {
        return Some(
            "arithmetic has limits, and zero divided by a decimal with a fraction has no value",
        );
    }
    if question.without_empty_graphs().as_ref().is_some_and(agree) {
        return Some("FROM NAMED makes an empty graph of a name that no quad has");
    }
    let mut shown = FOLDINGS
        .iter()
        .filter(|folding| agree_on(question, folding.folds));
    shown.next().map(|folding| folding.reason)
}

/// Whether two answers are equal once floats and doubles have lost their last digits.
fn is_equal_but_for_last_digits(expected: &Answer, answer: &Answer) -> bool {
    let [expected, answer] = [expected, answer].map(|answer| {
        let mut rounded = answer.clone();
        match &mut rounded {
            Answer::Solutions { rows, .. } => {
                let terms = rows.iter_mut().flatten().flatten();
                terms.for_each(without_last_digits);
            }
            Answer::Graph(triples) => {
                let terms = triples.iter_mut().map(|triple| &mut triple.object);
                terms.for_each(without_last_digits);
            }
            Answer::Boolean(_) => {}
        }
        rounded
    });
    bag::compare(&expected, &answer, Numbers::ByValue).is_ok()
}

fn without_last_digits(term: &mut Term) {
    if let Term::Literal(literal) = term {
        let value: Option<f64> = literal.value().parse().ok();
        let text = match literal.datatype() {
            xsd::DOUBLE => value.map(|value| format!("{value:.12e}")),
            xsd::FLOAT => value.map(|value| format!("{value:.4e}")),
            _ => None,
        };
        if let Some(text) = text {
            *literal = Literal::new_typed_literal(text, literal.datatype().into_owned());
        }
    }
}

/// Whether the foldings change something, and both oracles say the same about what comes of it.
fn agree_on(question: &Question, folds: &[Fold]) -> bool {
    let mut folded = None;
    for fold in folds {
        folded = folded.as_ref().unwrap_or(question).folded(*fold).or(folded);
    }
    folded.is_some_and(|folded| agree(&folded))
}

/// Whether both oracles say the same.
fn agree(question: &Question) -> bool {
    let is_right = |expected: Expectation| {
        ask(question, evaluate).is_ok_and(|answer| expected.check(&answer).is_ok())
    };
    expectation(&question.dataset, &question.query).is_ok_and(is_right)
}

/// A way to ask Oxigraph.
type Evaluate = fn(&Dataset, &Query) -> Result<Answer, QueryEvaluationError>;

/// Oxigraph's answer, or why there is none.
fn ask(question: &Question, evaluate: Evaluate) -> Result<Answer, String> {
    let asked = catch_unwind(AssertUnwindSafe(|| {
        evaluate(&question.dataset, &question.query)
    }));
    match asked {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("it panicked: {}", message.unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Opinion, second_opinion};
    use crate::dataset::Dataset;
    use crate::expectation::expectation;
    use crate::folding::Question;
    use oxrdf::{GraphName, Literal, NamedNode, Quad};
    use spargebra::SparqlParser;

    fn opinion(query: &str, objects: &[(&str, &str)]) -> Opinion {
        let iri = NamedNode::new_unchecked("http://a/s");
        let quads = objects.iter().map(|(text, name)| {
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{name}");
            let object = Literal::new_typed_literal(*text, NamedNode::new_unchecked(datatype));
            Quad::new(iri.clone(), iri.clone(), object, GraphName::DefaultGraph)
        });
        let question = Question {
            dataset: Dataset::from_quads(quads),
            query: SparqlParser::new().parse_query(query).expect("it parses"),
        };
        let expected = expectation(&question.dataset, &question.query);
        second_opinion(&question, &expected.expect("the answer is not open"))
    }

    fn has_reason(query: &str, objects: &[(&str, &str)], reason: &str) -> bool {
        match opinion(query, objects) {
            Opinion::Differs(found) => found.contains(reason),
            _ => false,
        }
    }

    #[test]
    fn a_reason_is_given_where_it_is_one() {
        let sum = "SELECT (SUM(?o) AS ?n) { ?s ?p ?o }";
        let long = ("9223372036854775807", "integer");
        assert_eq!(
            opinion(sum, &[("1", "integer"), ("2", "integer")]),
            Opinion::Agrees
        );
        assert!(has_reason(sum, &[long, ("2", "integer")], "64 bits"));
        let text = "SELECT (STR(?o) AS ?t) { ?s ?p ?o }";
        assert_eq!(opinion(text, &[("1.5", "decimal")]), Opinion::Agrees);
        assert!(has_reason(text, &[("1.50", "decimal")], "canonically"));
        let condition = "SELECT * { ?s ?p ?o FILTER(!?o) }";
        assert_eq!(opinion(condition, &[("0", "integer")]), Opinion::Agrees);
        assert!(has_reason(condition, &[("many", "integer")], "ill-typed"));
        let difference = "SELECT (?o - ?o AS ?d) { ?s ?p ?o }";
        assert_eq!(
            opinion(difference, &[("2020-05-15Z", "date")]),
            Opinion::Agrees
        );
        let quotient = "SELECT (3 / 2.75 / (16 + ?o) AS ?q) { ?s ?p ?o }";
        assert!(has_reason(quotient, &[("1.0E0", "double")], "nearest"));
        let share = "SELECT (?o / 2.5 AS ?q) { ?s ?p ?o }";
        assert_eq!(opinion(share, &[("1", "integer")]), Opinion::Agrees);
        assert!(has_reason(share, &[("0", "integer")], "zero divided"));
        let product = "SELECT (1 / ?o * 0.25 AS ?q) { ?s ?p ?o }";
        assert_eq!(opinion(product, &[("4", "integer")]), Opinion::Agrees);
        assert!(has_reason(product, &[("3", "integer")], "limits"));
        let named = "SELECT * FROM <http://a/g> FROM NAMED <http://a/g> { GRAPH ?g { } }";
        assert!(has_reason(named, &[("1", "integer")], "FROM NAMED"));
        let reflexive = "SELECT * { ?s (<http://a/q>*)* ?o FILTER(?s != ?s) }";
        assert!(has_reason(reflexive, &[("NaN", "double")], "optimizer"));
    }

    #[test]
    fn a_wrong_answer_has_no_reason() {
        let quad = |object: &str| {
            let iri = NamedNode::new_unchecked("http://a/s");
            Quad::new(
                iri.clone(),
                iri,
                Literal::from(object),
                GraphName::DefaultGraph,
            )
        };
        let query = SparqlParser::new().parse_query("SELECT * { ?s ?p ?o }");
        let query = query.expect("it parses");
        let [right, wrong] = ["01", "02"].map(|text| Dataset::from_quads([quad(text)]));
        let expected = expectation(&wrong, &query).expect("it is supported");
        let question = Question {
            dataset: right,
            query,
        };
        let opinion = second_opinion(&question, &expected);
        assert!(matches!(opinion, Opinion::Contradicts(_)), "{opinion:?}");
    }
}
