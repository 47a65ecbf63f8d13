//! Conditions that a client puts on a write to a graph: `If-Match` and `If-None-Match` (RFC 9110, section 13.1).
//!
//! The server gives no entity tags, so no tag is that of a graph: one that must match fails, one that must not passes. What
//! is left is `*`, whether the graph is there. It is looked at on the thread that writes, right before the writer's turn; a
//! write of somebody else that ends in between is not seen.

use crate::problem::Problem;
use crate::protocol::joined;
use axum::http::{HeaderMap, StatusCode, header};

/// What must be so for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    Nothing,
    /// The graph is there.
    There,
    /// The graph is not there.
    Absent,
}

impl Precondition {
    /// The condition that the headers of a request put; an error if nothing can fulfil it.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let is_any = |name| joined(headers, name).trim() == "*";
        let must_be_there = headers.contains_key(header::IF_MATCH);
        let must_be_absent = is_any(&header::IF_NONE_MATCH);
        if must_be_there && !is_any(&header::IF_MATCH) {
            let detail = "graphs have no entity tags here, so 'If-Match' takes '*' only";
            return Err(failed(detail));
        }
        match (must_be_there, must_be_absent) {
            (false, false) => Ok(Self::Nothing),
            (true, false) => Ok(Self::There),
            (false, true) => Ok(Self::Absent),
            (true, true) => Err(failed(
                "a graph cannot be there and not there: 'If-Match' and 'If-None-Match' are both '*'",
            )),
        }
    }

    /// Whether it is fulfilled, for a graph that is there or not.
    pub fn check(self, is_there: bool) -> Result<(), Problem> {
        match (self, is_there) {
            (Self::There, false) => Err(failed("the graph is not there, and 'If-Match' is '*'")),
            (Self::Absent, true) => Err(failed("the graph is there, and 'If-None-Match' is '*'")),
            _ => Ok(()),
        }
    }
}

fn failed(detail: &str) -> Problem {
    Problem::new(StatusCode::PRECONDITION_FAILED, detail)
}

#[cfg(test)]
mod tests {
    use super::Precondition;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn conditions_are_stars_and_tags() {
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|&(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            });
            Precondition::read(&pairs.collect::<HeaderMap>()).ok()
        };
        assert_eq!(read(&[]), Some(Precondition::Nothing));
        assert_eq!(read(&[("if-match", " * ")]), Some(Precondition::There));
        assert_eq!(read(&[("if-none-match", "*")]), Some(Precondition::Absent));
        let tags = [("if-none-match", "\"a\", W/\"b\"")];
        assert_eq!(read(&tags), Some(Precondition::Nothing));
        assert_eq!(read(&[("if-match", "\"a\"")]), None);
        assert_eq!(read(&[("if-match", "*"), ("if-none-match", "*")]), None);
    }
}
