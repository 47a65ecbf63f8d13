//! Graph patterns: each algebra operator of section 18.5 as the loop that its definition describes.
//!
//! A [`Scope`] is what a pattern is evaluated in: the active graph, and the bindings that an
//! enclosing EXISTS substitutes. Substitution is done at the leaves: a variable that is bound outside
//! is a constant inside and gets no binding of its own, as if its term stood in the text. A subquery
//! only sees the substituted variables that it projects, since its others are different variables.

use super::path::{self, Direction};
use super::value::{compare_for_order, order};
use super::{Context, Fact, NaiveError, ROWS_MAX, Solution, aggregate};
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{Expression, GraphPattern, OrderExpression, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};
use std::cmp::Ordering;
use std::collections::HashSet;

/// What a pattern is evaluated in.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The query's dataset and constants.
    pub(crate) context: &'a Context,
    /// The active graph.
    pub(crate) graph: &'a [Fact],
    /// What an enclosing EXISTS has put in place of variables.
    pub(crate) outer: &'a Solution,
}

/// One position of a triple pattern.
enum Slot {
    /// Only this term fits.
    Constant(Term),
    /// Only strings of this text and language fit, whatever the case of their tags.
    Tagged(Literal),
    /// Any term fits and is bound to this name.
    Variable(String),
}

impl Scope<'_> {
    /// The multiset of solutions of a pattern, as a list.
    pub(crate) fn evaluate(&self, pattern: &GraphPattern) -> Result<Vec<Solution>, NaiveError> {
        match pattern {
            GraphPattern::Bgp { patterns } => self.basic(patterns),
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.path(subject, path, object),
            GraphPattern::Join { left, right } => {
                self.join(&self.evaluate(left)?, &self.evaluate(right)?)
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => self.left_join(left, right, expression.as_ref()),
            GraphPattern::Filter { expr, inner } => {
                let mut kept = Vec::new();
                for row in self.evaluate(inner)? {
                    if self.holds(expr, &row)? {
                        kept.push(row);
                    }
                }
                Ok(kept)
            }
            GraphPattern::Union { left, right } => {
                let mut rows = self.evaluate(left)?;
                rows.extend(self.evaluate(right)?);
                limited(rows)
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner),
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => self.extend(inner, variable, expression),
            GraphPattern::Minus { left, right } => self.minus(left, right),
            GraphPattern::Values {
                variables,
                bindings,
            } => Ok(self.values(variables, bindings)),
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => aggregate::group(self, self.evaluate(inner)?, variables, aggregates),
            other => self.modify(other),
        }
    }

    /// The solution modifiers (section 18.5, last part), and what is not supported.
    fn modify(&self, pattern: &GraphPattern) -> Result<Vec<Solution>, NaiveError> {
        match pattern {
            GraphPattern::OrderBy { inner, expression } => self.order_by(inner, expression),
            GraphPattern::Project { inner, variables } => self.project(inner, variables),
            GraphPattern::Distinct { inner } => {
                let mut seen = HashSet::new();
                let mut rows = self.evaluate(inner)?;
                rows.retain(|row| seen.insert(row.clone()));
                Ok(rows)
            }
            GraphPattern::Reduced { inner } => self.evaluate(inner),
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                let rows = self.evaluate(inner)?;
                // Which rows are cut off is only known if the order says so.
                if *start < rows.len() && !is_all(*start, *length, rows.len()) && *length != Some(0)
                {
                    self.require_order(inner, &rows)?;
                }
                let rows = rows.into_iter().skip(*start);
                Ok(rows.take(length.unwrap_or(usize::MAX)).collect())
            }
            GraphPattern::Service { .. } => Err(NaiveError::Unsupported("SERVICE".into())),
            GraphPattern::Lateral { left, right } => self.lateral(left, right),
            _ => Err(NaiveError::Unsupported("this kind of pattern".into())),
        }
    }

    /// Refuses rows of which the standard does not say in which order they come: unless each two that
    /// follow one another are the same or told apart by the sort keys.
    fn require_order(&self, pattern: &GraphPattern, rows: &[Solution]) -> Result<(), NaiveError> {
        let mut pattern = pattern;
        let keys = loop {
            match pattern {
                GraphPattern::Project { inner, .. }
                | GraphPattern::Distinct { inner }
                | GraphPattern::Reduced { inner } => pattern = inner,
                GraphPattern::OrderBy { expression, .. } => break expression.as_slice(),
                _ => break &[],
            }
        };
        for pair in rows.windows(2) {
            let mut is_decided = pair[0] == pair[1];
            for key in keys {
                let (OrderExpression::Asc(key) | OrderExpression::Desc(key)) = key;
                let a = self.value_or_unbound(key, &pair[0])?;
                let b = self.value_or_unbound(key, &pair[1])?;
                match order(a.as_ref(), b.as_ref()) {
                    Some(Ordering::Equal) => {}
                    Some(_) => is_decided = true,
                    None => break,
                }
                if is_decided {
                    break;
                }
            }
            if !is_decided {
                return Err(NaiveError::Ambiguous("LIMIT of rows without an order"));
            }
        }
        Ok(())
    }

    /// SEP-0006: the right side for each left row, with the row in place of its variables.
    fn lateral(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut rows = Vec::new();
        for row in self.evaluate(left)? {
            let outer = merge(self.outer, &row);
            let scope = Scope {
                outer: &outer,
                ..*self
            };
            rows.extend(self.join(&scope.evaluate(right)?, &[row])?);
        }
        limited(rows)
    }

    fn slot(&self, node: &TermPattern) -> Slot {
        match node {
            TermPattern::NamedNode(iri) => Slot::Constant(iri.clone().into()),
            TermPattern::Literal(literal) if literal.language().is_some() => {
                Slot::Tagged(literal.clone())
            }
            TermPattern::Literal(literal) => Slot::Constant(literal.clone().into()),
            TermPattern::BlankNode(blank) => Slot::Variable(blank.to_string()),
            TermPattern::Variable(variable) => self.variable_slot(variable),
        }
    }

    fn predicate_slot(&self, node: &NamedNodePattern) -> Slot {
        match node {
            NamedNodePattern::NamedNode(iri) => Slot::Constant(iri.clone().into()),
            NamedNodePattern::Variable(variable) => self.variable_slot(variable),
        }
    }

    fn variable_slot(&self, variable: &Variable) -> Slot {
        match self.outer.get(variable.as_str()) {
            Some(term) => Slot::Constant(term.clone()),
            None => Slot::Variable(variable.as_str().to_owned()),
        }
    }

    fn basic(&self, patterns: &[TriplePattern]) -> Result<Vec<Solution>, NaiveError> {
        let mut rows = vec![Solution::new()];
        for pattern in patterns {
            let slots = [
                self.slot(&pattern.subject),
                self.predicate_slot(&pattern.predicate),
                self.slot(&pattern.object),
            ];
            let mut next = Vec::new();
            self.context.spend(rows.len() * self.graph.len())?;
            for row in &rows {
                next.extend(self.graph.iter().filter_map(|fact| fit(row, &slots, fact)));
                if next.len() > ROWS_MAX {
                    return Err(NaiveError::TooLarge(ROWS_MAX));
                }
            }
            rows = next;
        }
        Ok(rows)
    }

    fn path(
        &self,
        subject: &TermPattern,
        path: &PropertyPathExpression,
        object: &TermPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        let slots = [self.slot(subject), self.slot(object)];
        let mut pairs = Vec::new();
        let tagged = |slot: &Slot| match slot {
            Slot::Tagged(literal) => self.spellings(literal),
            _ => Vec::new(),
        };
        for start in tagged(&slots[0]) {
            for end in path::reach(self.graph, path, &start, Direction::Forward) {
                pairs.push([start.clone(), end]);
            }
        }
        match &slots {
            [Slot::Tagged(_), _] => {}
            [Slot::Variable(_), Slot::Tagged(literal)] => {
                for end in self.spellings(literal) {
                    for start in path::reach(self.graph, path, &end, Direction::Backward) {
                        pairs.push([start, end.clone()]);
                    }
                }
            }
            [Slot::Constant(start), _] => {
                for end in path::reach(self.graph, path, start, Direction::Forward) {
                    pairs.push([start.clone(), end]);
                }
            }
            [_, Slot::Constant(end)] => {
                for start in path::reach(self.graph, path, end, Direction::Backward) {
                    pairs.push([start, end.clone()]);
                }
            }
            _ => {
                for start in path::nodes(self.graph) {
                    for end in path::reach(self.graph, path, &start, Direction::Forward) {
                        pairs.push([start.clone(), end]);
                    }
                }
            }
        }
        // Paths take more steps than they find ends; the walk is bounded by the nodes of small graphs.
        self.context.spend(pairs.len() * self.graph.len())?;
        let empty = Solution::new();
        limited(
            pairs
                .iter()
                .filter_map(|pair| fit(&empty, &slots, pair))
                .collect(),
        )
    }

    /// The terms of the active graph that a tagged constant stands for, or the constant where there is none.
    fn spellings(&self, literal: &Literal) -> Vec<Term> {
        let mut found = path::nodes(self.graph);
        found.retain(|term| is_same_tagged(literal, term));
        if found.is_empty() {
            found.push(literal.clone().into());
        }
        found
    }

    fn join(&self, left: &[Solution], right: &[Solution]) -> Result<Vec<Solution>, NaiveError> {
        self.context.spend(left.len() * right.len())?;
        let mut rows = Vec::new();
        for a in left {
            for b in right {
                if compatible(a, b) {
                    rows.push(merge(a, b));
                }
            }
            if rows.len() > ROWS_MAX {
                return Err(NaiveError::TooLarge(ROWS_MAX));
            }
        }
        Ok(rows)
    }

    /// Removes rows that are compatible with one of the right side and share a variable with it.
    ///
    /// Inside EXISTS the standard puts terms in place of variables, and whether both sides still share such a
    /// variable is what SPARQL 1.1 says no to and its successor yes: where that matters the answer is open.
    fn minus(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mentions = |pattern: &GraphPattern| {
            let mut names = HashSet::new();
            pattern.on_in_scope_variable(|v| {
                if self.outer.contains_key(v.as_str()) {
                    names.insert(v.as_str().to_owned());
                }
            });
            names
        };
        let is_sharing_outer = !mentions(left).is_disjoint(&mentions(right));
        let right = self.evaluate(right)?;
        let mut rows = self.evaluate(left)?;
        self.context.spend(rows.len() * right.len())?;
        let before = rows.len();
        let compatible_rows = rows
            .iter()
            .filter(|row| right.iter().any(|other| compatible(row, other)))
            .count();
        rows.retain(|row| {
            !right.iter().any(|other| {
                compatible(row, other) && row.keys().any(|key| other.contains_key(key))
            })
        });
        if is_sharing_outer && before - rows.len() != compatible_rows {
            return Err(NaiveError::Ambiguous("MINUS inside EXISTS"));
        }
        Ok(rows)
    }

    fn left_join(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
        expression: Option<&Expression>,
    ) -> Result<Vec<Solution>, NaiveError> {
        let right = self.evaluate(right)?;
        let left = self.evaluate(left)?;
        self.context.spend(left.len() * right.len())?;
        let mut rows = Vec::new();
        for row in left {
            let mut matched = false;
            for other in &right {
                if !compatible(&row, other) {
                    continue;
                }
                let merged = merge(&row, other);
                let accepted = match expression {
                    Some(expression) => self.holds(expression, &merged)?,
                    None => true,
                };
                if accepted {
                    matched = true;
                    rows.push(merged);
                }
            }
            if !matched {
                rows.push(row);
            }
            if rows.len() > ROWS_MAX {
                return Err(NaiveError::TooLarge(ROWS_MAX));
            }
        }
        Ok(rows)
    }

    fn graph(
        &self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        let slot = self.predicate_slot(name);
        let mut rows = Vec::new();
        for (graph_name, graph) in &self.context.named {
            let scope = Scope { graph, ..*self };
            match &slot {
                Slot::Constant(term) if term == graph_name => {
                    return scope.evaluate(inner);
                }
                Slot::Constant(_) | Slot::Tagged(_) => {}
                Slot::Variable(variable) => {
                    let binding = Solution::from([(variable.clone(), graph_name.clone())]);
                    rows.extend(self.join(&scope.evaluate(inner)?, &[binding])?);
                }
            }
        }
        // A constant that names no graph of the dataset has no solutions, not even for an empty group.
        limited(rows)
    }

    fn extend(
        &self,
        inner: &GraphPattern,
        variable: &Variable,
        expression: &Expression,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut rows = Vec::new();
        for mut row in self.evaluate(inner)? {
            let value = self.value_or_unbound(expression, &row)?;
            match (value, self.outer.get(variable.as_str())) {
                (Some(value), Some(fixed)) if value != *fixed => continue,
                (Some(value), None) => {
                    row.insert(variable.as_str().to_owned(), value);
                }
                _ => {}
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn values(
        &self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
    ) -> Vec<Solution> {
        let mut rows = Vec::new();
        for binding in bindings {
            let mut row = Solution::new();
            for (variable, term) in variables.iter().zip(binding) {
                let term = match term {
                    Some(GroundTerm::NamedNode(iri)) => Term::from(iri.clone()),
                    Some(GroundTerm::Literal(literal)) => Term::from(literal.clone()),
                    None => continue,
                };
                row.insert(variable.as_str().to_owned(), term);
            }
            if compatible(&row, self.outer) {
                row.retain(|name, _| !self.outer.contains_key(name));
                rows.push(row);
            }
        }
        rows
    }

    fn order_by(
        &self,
        inner: &GraphPattern,
        keys: &[OrderExpression],
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut keyed = Vec::new();
        for row in self.evaluate(inner)? {
            let mut values = Vec::new();
            for key in keys {
                let (OrderExpression::Asc(expression) | OrderExpression::Desc(expression)) = key;
                values.push(self.value_or_unbound(expression, &row)?);
            }
            keyed.push((values, row));
        }
        let sorted = merge_sorted(keyed, &|a, b| compare_keys(a, b, keys));
        Ok(sorted.into_iter().map(|(_, row)| row).collect())
    }

    fn project(
        &self,
        inner: &GraphPattern,
        variables: &[Variable],
    ) -> Result<Vec<Solution>, NaiveError> {
        let is_projected = |name: &str| variables.iter().any(|v| v.as_str() == name);
        let outer: Solution = self
            .outer
            .iter()
            .filter(|(name, _)| is_projected(name))
            .map(|(name, term)| (name.clone(), term.clone()))
            .collect();
        let scope = Scope {
            outer: &outer,
            ..*self
        };
        let mut rows = scope.evaluate(inner)?;
        for row in &mut rows {
            row.retain(|name, _| is_projected(name));
        }
        Ok(rows)
    }
}

/// Whether a slice keeps all rows.
fn is_all(start: usize, length: Option<usize>, rows: usize) -> bool {
    start == 0 && length.is_none_or(|length| length >= rows)
}

/// A row with the values of its sort keys.
type Keyed = (Vec<Option<Term>>, Solution);

fn compare_keys(a: &Keyed, b: &Keyed, keys: &[OrderExpression]) -> Ordering {
    for ((a, b), key) in a.0.iter().zip(&b.0).zip(keys) {
        let order = compare_for_order(a.as_ref(), b.as_ref());
        let order = match key {
            OrderExpression::Asc(_) => order,
            OrderExpression::Desc(_) => order.reverse(),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// A stable merge sort. The standard sort may panic when an order is not transitive, and the order of
/// unlike literals, NaN and dates without zone is not.
fn merge_sorted(mut rows: Vec<Keyed>, compare: &dyn Fn(&Keyed, &Keyed) -> Ordering) -> Vec<Keyed> {
    if rows.len() < 2 {
        return rows;
    }
    let right = rows.split_off(rows.len() / 2);
    let mut left = merge_sorted(rows, compare).into_iter().peekable();
    let mut right = merge_sorted(right, compare).into_iter().peekable();
    let mut merged = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let smaller = if compare(b, a) == Ordering::Less {
            right.next()
        } else {
            left.next()
        };
        merged.extend(smaller);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Extends a row so that the slots match the terms, if it can be done.
fn fit<const N: usize>(row: &Solution, slots: &[Slot; N], terms: &[Term; N]) -> Option<Solution> {
    // Constants and old bindings are checked first, since most terms do not fit.
    for (slot, term) in slots.iter().zip(terms) {
        let fits = match slot {
            Slot::Constant(constant) => constant == term,
            Slot::Tagged(constant) => is_same_tagged(constant, term),
            Slot::Variable(name) => row.get(name).is_none_or(|bound| bound == term),
        };
        if !fits {
            return None;
        }
    }
    let mut fitted = row.clone();
    for (slot, term) in slots.iter().zip(terms) {
        if let Slot::Variable(name) = slot {
            match fitted.get(name) {
                Some(bound) if bound != term => return None,
                Some(_) => {}
                None => {
                    fitted.insert(name.clone(), term.clone());
                }
            }
        }
    }
    Some(fitted)
}

/// Whether a term is a string with the text and, but for its case, the tag of a constant. Parsers write tags in
/// lower case, data keeps them as they are, and both mean the same (RDF 1.1, section 3.3).
fn is_same_tagged(constant: &Literal, term: &Term) -> bool {
    let (Term::Literal(other), Some(tag)) = (term, constant.language()) else {
        return false;
    };
    other.value() == constant.value()
        && other
            .language()
            .is_some_and(|other| other.eq_ignore_ascii_case(tag))
}

/// Whether two solutions agree wherever both are bound.
fn compatible(a: &Solution, b: &Solution) -> bool {
    a.iter()
        .all(|(name, term)| b.get(name).is_none_or(|other| other == term))
}

fn merge(a: &Solution, b: &Solution) -> Solution {
    let mut merged = a.clone();
    merged.extend(b.iter().map(|(name, term)| (name.clone(), term.clone())));
    merged
}

fn limited(rows: Vec<Solution>) -> Result<Vec<Solution>, NaiveError> {
    if rows.len() > ROWS_MAX {
        return Err(NaiveError::TooLarge(ROWS_MAX));
    }
    Ok(rows)
}
