//! Makes a failing pair of data and query as small as it gets while it keeps failing.
//!
//! First quads are dropped, in halves, quarters and so on down to single ones (delta debugging, after
//! Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002), then parts of the
//! query, then both again until neither gets smaller. What failing means is the caller's question,
//! which is asked for every candidate and must say no for a query that does not parse.
//!
//! Invariant: what comes back fails, since it was asked about. Termination: each accepted candidate
//! is shorter than the one before. Cost: at most [`QUESTIONS_MAX`] questions.

use crate::dataset::Dataset;
use crate::query_tree::Tree;
use oxrdf::Quad;

/// How often the caller may be asked.
pub const QUESTIONS_MAX: usize = 4_000;

/// A failing pair.
#[derive(Debug, Clone)]
pub struct Case {
    /// The data.
    pub dataset: Dataset,
    /// The query.
    pub query: Tree,
}

/// Makes a case smaller as long as `fails` says that it still fails.
pub fn shrink(case: Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut left = QUESTIONS_MAX;
    let mut case = case;
    loop {
        let before = (case.dataset.quads().len(), case.query.size());
        case = fewer_quads(case, fails, &mut left);
        case = smaller_query(case, fails, &mut left);
        let after = (case.dataset.quads().len(), case.query.size());
        if after == before || left == 0 {
            return case;
        }
    }
}

/// Asks, unless there were too many questions.
fn ask(case: &Case, fails: &mut dyn FnMut(&Case) -> bool, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    fails(case)
}

fn fewer_quads(mut case: Case, fails: &mut dyn FnMut(&Case) -> bool, left: &mut usize) -> Case {
    let mut width = case.dataset.quads().len().div_ceil(2);
    while width > 0 && *left > 0 {
        let mut start = 0;
        while start < case.dataset.quads().len() {
            let mut quads: Vec<Quad> = case.dataset.quads().to_vec();
            let end = (start + width).min(quads.len());
            quads.drain(start..end);
            let candidate = Case {
                dataset: Dataset::from_quads(quads),
                query: case.query.clone(),
            };
            if ask(&candidate, fails, left) {
                case = candidate;
            } else {
                start += width;
            }
        }
        width /= 2;
    }
    case
}

fn smaller_query(mut case: Case, fails: &mut dyn FnMut(&Case) -> bool, left: &mut usize) -> Case {
    loop {
        let found = case.query.smaller().into_iter().find_map(|query| {
            let candidate = Case {
                dataset: case.dataset.clone(),
                query,
            };
            ask(&candidate, fails, left).then_some(candidate)
        });
        match found {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, shrink};
    use crate::query_tree::{Sort, Tree};
    use crate::random_data::{DataOptions, random_dataset};
    use crate::random_query::{QueryOptions, random_query};
    use spargebra::SparqlParser;

    #[test]
    fn what_matters_stays_and_nothing_else() {
        let dataset = random_dataset(3, DataOptions::default());
        let kept = dataset.quads()[17].clone();
        let elements = ["?a ?b ?c .", "FILTER(?a)", "FILTER(bad)", "?d ?e ?f ."];
        let leaves = elements.map(|text| Tree::leaf(Sort::Element, text));
        let query = Tree::list(Sort::Group, " ", 0, leaves.to_vec());
        let small = shrink(Case { dataset, query }, &mut |case| {
            case.dataset.quads().contains(&kept) && case.query.to_string().contains("bad")
        });
        assert_eq!(small.dataset.quads(), [kept]);
        assert_eq!(small.query.to_string(), "FILTER(bad)");
    }

    #[test]
    fn generated_queries_shrink_to_a_few_words() {
        for seed in 0..40 {
            let query = random_query(seed, QueryOptions::default());
            let dataset = random_dataset(seed, DataOptions::default());
            let fails = |case: &Case| {
                let text = case.query.to_string();
                SparqlParser::new().parse_query(&text).is_ok()
            };
            let small = shrink(Case { dataset, query }, &mut |case| fails(case));
            assert!(fails(&small) && small.dataset.quads().is_empty());
            assert!(small.query.size() < 120, "{}", small.query);
        }
    }
}
