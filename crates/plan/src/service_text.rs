//! The text of remote requests: a pattern in a form that survives being written, and the query
//! around it.
//!
//! The algebra is written with as few braces as can be, and then a FILTER that stood in a group of its
//! own would reach further than it did. [`arrange`] puts an empty pattern before such a part, which
//! changes nothing but the braces, once, when the query is translated.
//!
//! Cost: linear in the pattern.

use crate::physical::{ServicePattern, Slot};
use spargebra::algebra::GraphPattern;

impl ServicePattern {
    /// The query for the whole pattern, or for its part that is compatible with some bindings: the
    /// variables that are sent, and rows of values as in VALUES.
    ///
    /// The bindings stand in a group beside the pattern and never inside, so that a LIMIT or an
    /// aggregate in the pattern counts what it would count without them.
    pub fn query(&self, sent: &[&str], rows: &str) -> String {
        let mut text = "SELECT".to_owned();
        for (_, name) in &self.variables {
            text.push_str(" ?");
            text.push_str(name);
        }
        if self.variables.is_empty() {
            // Only the number of solutions counts; there is no other way to ask for no variable.
            text.push_str(" (1 AS ?solution)");
        }
        text.push_str(" WHERE { ");
        if !sent.is_empty() {
            text.push_str("VALUES (");
            for name in sent {
                text.push_str(" ?");
                text.push_str(name);
            }
            text.push_str(" ) { ");
            text.push_str(rows);
            text.push_str("} ");
        }
        text.push_str(&format!("{{ {} }} }}", self.pattern));
        text
    }

    /// Asks only for variables that are wanted, but never for none where there are some.
    pub(crate) fn ask_only(&mut self, is_wanted: &dyn Fn(Slot) -> bool) {
        let last = self.variables.first().cloned();
        self.variables.retain(|(slot, _)| is_wanted(*slot));
        if self.variables.is_empty() {
            self.variables.extend(last);
        }
        let asked = self.slots();
        self.certain.retain(|slot| asked.contains(slot));
    }
}

/// The pattern, in a form whose text parses to the same meaning.
pub(crate) fn arrange(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Join { left, right } => join(before(*left), arrange(*right)),
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => GraphPattern::LeftJoin {
            left: Box::new(before(*left)),
            right: Box::new(before(*right)),
            expression,
        },
        GraphPattern::Minus { left, right } => GraphPattern::Minus {
            left: Box::new(before(*left)),
            right: boxed(*right),
        },
        GraphPattern::Lateral { left, right } => GraphPattern::Lateral {
            left: Box::new(before(*left)),
            right: boxed(*right),
        },
        GraphPattern::Extend {
            inner,
            variable,
            expression,
        } => GraphPattern::Extend {
            inner: Box::new(before(*inner)),
            variable,
            expression,
        },
        GraphPattern::Filter { expr, inner } => GraphPattern::Filter {
            expr,
            inner: boxed(*inner),
        },
        GraphPattern::Union { left, right } => GraphPattern::Union {
            left: boxed(*left),
            right: boxed(*right),
        },
        GraphPattern::Graph { name, inner } => GraphPattern::Graph {
            name,
            inner: boxed(*inner),
        },
        GraphPattern::Service {
            name,
            inner,
            silent,
        } => GraphPattern::Service {
            name,
            inner: boxed(*inner),
            silent,
        },
        modifier => arrange_modifier(modifier),
    }
}

fn arrange_modifier(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Group {
            inner,
            variables,
            aggregates,
        } => GraphPattern::Group {
            inner: boxed(*inner),
            variables,
            aggregates,
        },
        GraphPattern::Project { inner, variables } => GraphPattern::Project {
            inner: Box::new(below(*inner)),
            variables,
        },
        GraphPattern::OrderBy { inner, expression } => GraphPattern::OrderBy {
            inner: Box::new(below(*inner)),
            expression,
        },
        GraphPattern::Distinct { inner } => GraphPattern::Distinct {
            inner: boxed(*inner),
        },
        GraphPattern::Reduced { inner } => GraphPattern::Reduced {
            inner: boxed(*inner),
        },
        GraphPattern::Slice {
            inner,
            start,
            length,
        } => GraphPattern::Slice {
            inner: boxed(*inner),
            start,
            length,
        },
        leaf => leaf,
    }
}

fn boxed(pattern: GraphPattern) -> Box<GraphPattern> {
    Box::new(arrange(pattern))
}

/// A part after which others follow in the same group.
fn before(pattern: GraphPattern) -> GraphPattern {
    match arrange(pattern) {
        filter @ GraphPattern::Filter { .. } => in_braces(filter),
        other => other,
    }
}

/// What a projection or order is over: a subquery there keeps its own modifiers.
fn below(pattern: GraphPattern) -> GraphPattern {
    match arrange(pattern) {
        nested @ (GraphPattern::Slice { .. }
        | GraphPattern::Distinct { .. }
        | GraphPattern::Reduced { .. }
        | GraphPattern::Project { .. }) => in_braces(nested),
        other => other,
    }
}

/// The same solutions, written in braces.
fn in_braces(pattern: GraphPattern) -> GraphPattern {
    GraphPattern::Join {
        left: Box::new(GraphPattern::default()),
        right: Box::new(pattern),
    }
}

/// Joins lean to the left, as groups are read.
fn join(left: GraphPattern, right: GraphPattern) -> GraphPattern {
    match right {
        GraphPattern::Join {
            left: first,
            right: second,
        } => GraphPattern::Join {
            left: Box::new(join(left, *first)),
            right: second,
        },
        other => GraphPattern::Join {
            left: Box::new(left),
            right: Box::new(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::arrange;
    use spargebra::algebra::GraphPattern;
    use spargebra::{Query, SparqlParser};

    fn pattern(group: &str) -> GraphPattern {
        let text = format!("PREFIX : <http://e/> SELECT * {{ {group} }}");
        let query = SparqlParser::new().parse_query(&text).expect("a query");
        match query {
            Query::Select { pattern, .. } => match pattern {
                GraphPattern::Project { inner, .. } => *inner,
                other => other,
            },
            _ => unreachable!("the text says SELECT"),
        }
    }

    #[test]
    fn text_parses_to_the_same_pattern() {
        for group in [
            "?s :p ?o . { ?s :q ?x OPTIONAL { ?x :r ?y } ?x :t ?z }",
            "{ ?s :p ?o FILTER(?o > ?z) } ?o :q ?z",
            "?s :p ?o OPTIONAL { { ?o :q ?x FILTER(?s = ?x) } }",
            "?s :p ?o OPTIONAL { ?o :q ?x FILTER(?s = ?x) }",
            "{ ?s :p ?o FILTER(?o > 1) } MINUS { ?s :q ?z }",
            "{ SELECT ?s { { SELECT ?s { ?s :p ?o } ORDER BY ?o LIMIT 3 } } LIMIT 2 }",
            "{ ?s :p ?o } UNION { ?s :q ?o FILTER(?o = 1) } GRAPH ?g { ?s :r _:b . _:b :t ?u }",
            "?s :p+ ?o . BIND(?o AS ?x) FILTER NOT EXISTS { ?x :q ?s }",
        ] {
            let arranged = arrange(pattern(group));
            let again = arrange(pattern(&arranged.to_string()));
            assert_eq!(again.to_string(), arranged.to_string(), "{group}");
        }
    }

    #[test]
    fn a_filter_in_a_group_keeps_its_group() {
        let group = "{ ?s :p ?o FILTER(?o > ?z) } ?o :q ?z";
        assert!(
            !pattern(group).to_string().contains('{'),
            "the braces are not needed any more"
        );
        let arranged = arrange(pattern(group)).to_string();
        let GraphPattern::Join { left, .. } = pattern(&arranged) else {
            unreachable!("a filter at the top would be the defect: {arranged}");
        };
        assert!(left.to_string().contains("FILTER"), "{arranged}");
    }
}
