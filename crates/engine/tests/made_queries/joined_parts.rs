//! Queries of several parts that hang together: around what is bound, each part is a pattern, a path, an OPTIONAL, a UNION, a
//! condition with EXISTS, a MINUS, or a selection of its own.
//!
//! The term that a variable had where the query was made up is kept beside it, so that what is added has answers there. Queries
//! of one graph: what paths and selections are about within `GRAPH ?g` the oracle sees otherwise.

use super::{Maker, is_blank, is_iri, is_literal};

/// A variable, and the term that it stood for.
type Bound = (String, String);

/// A query that grows part by part.
struct Growing<'m, 'w> {
    maker: &'m mut Maker<'w>,
    parts: Vec<String>,
    bound: Vec<Bound>,
    variables: usize,
}

/// A kind of part, hung on a variable; false where the data does not have it.
type Part = fn(&mut Growing<'_, '_>, &Bound) -> bool;

const PARTS: [Part; 12] = [
    |growing, from| growing.pattern(from),
    |growing, from| growing.pattern(from),
    |growing, from| growing.star(from),
    |growing, from| growing.path(from),
    |growing, from| growing.optional(from),
    |growing, from| growing.union(from),
    |growing, from| growing.exists(from),
    |growing, from| growing.minus(from),
    |growing, from| growing.selection(from),
    |growing, from| growing.condition(from),
    |growing, from| growing.values(from),
    |growing, from| growing.expression(from),
];

/// A query of a star and up to five parts.
pub(super) fn joined_parts(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let [subject, _, object, _] = maker.quad(from);
    let first = maker.star_of("?v0", "o", from, 2, 50);
    let mut bound = vec![("?v0".to_owned(), subject.clone())];
    if first[0].contains("?o0") {
        bound.push(("?o0".to_owned(), object.clone()));
    }
    let mut growing = Growing {
        maker,
        parts: first,
        bound,
        variables: 0,
    };
    let count = 1 + growing.maker.random.below(5);
    for _ in 0..count {
        growing.grow();
    }
    let Growing {
        maker,
        mut parts,
        bound,
        ..
    } = growing;
    // The order of parts without OPTIONAL and MINUS is for the planner to choose.
    let is_free = |part: &String| !part.starts_with("OPTIONAL") && !part.starts_with("MINUS");
    if maker.random.chance(30) && parts.iter().all(is_free) {
        let at = maker.random.below(parts.len());
        parts.rotate_left(at);
        let binds = |part: &String| part.starts_with("BIND");
        parts.sort_by_key(binds);
    }
    let body = maker.scoped_to_one(&parts.join(" "));
    let variable = |maker: &mut Maker<'_>| {
        let at = maker.random.below(bound.len());
        bound[at].0.clone()
    };
    let (one, other) = (variable(maker), variable(maker));
    Some(match maker.random.below(6) {
        0 if one != other => format!("SELECT DISTINCT {one} {other} {{ {body} }}"),
        1 => format!(
            "SELECT {one} (COUNT(*) AS ?n_) (COUNT(DISTINCT {other}) AS ?m_) {{ {body} }} GROUP BY {one}"
        ),
        2 => format!("SELECT (COUNT(*) AS ?n_) {{ {body} }}"),
        3 => format!("SELECT DISTINCT {one} {{ {body} }}"),
        _ => format!("SELECT * {{ {body} }}"),
    })
}

impl Growing<'_, '_> {
    fn grow(&mut self) {
        for _ in 0..8 {
            let at = self.maker.random.below(self.bound.len());
            let from = self.bound[at].clone();
            let part = self.maker.random.below(PARTS.len());
            if PARTS[part](self, &from) {
                return;
            }
        }
    }

    fn fresh(&mut self) -> String {
        self.variables += 1;
        format!("?v{}", self.variables)
    }

    fn is_forward(&mut self, term: &str) -> bool {
        !is_literal(term) && self.maker.random.chance(70)
    }

    /// A pattern from a variable to a new one, or to a constant; what the new one stands for.
    fn link(&mut self, from: &Bound, constants: usize) -> Option<(String, Option<Bound>)> {
        let (variable, term) = from;
        let is_forward = self.is_forward(term);
        let idx = if is_forward {
            self.maker.onward(term)?
        } else {
            self.maker.backward(term)?
        };
        let [subject, predicate, object, _] = self.maker.quad(idx);
        let end = if is_forward { object } else { subject };
        let is_constant = !is_blank(end) && self.maker.random.chance(constants);
        let name = if is_constant {
            end.clone()
        } else {
            self.fresh()
        };
        let pattern = if is_forward {
            format!("{variable} {predicate} {name} .")
        } else {
            format!("{name} {predicate} {variable} .")
        };
        let bound = (!is_constant).then(|| (name, end.clone()));
        Some((pattern, bound))
    }

    fn pattern(&mut self, from: &Bound) -> bool {
        let Some((pattern, bound)) = self.link(from, 25) else {
            return false;
        };
        self.parts.push(pattern);
        self.bound.extend(bound);
        true
    }

    fn star(&mut self, from: &Bound) -> bool {
        let (variable, term) = from;
        let Some(idx) = self.maker.onward(term) else {
            return false;
        };
        self.variables += 1;
        let prefix = format!("w{}_", self.variables);
        let star = self.maker.star_of(variable, &prefix, idx, 3, 40);
        self.parts.push(star.join(" "));
        true
    }

    fn path(&mut self, from: &Bound) -> bool {
        let (variable, term) = from;
        let is_forward = self.is_forward(term);
        let idx = if is_forward {
            self.maker.onward(term)
        } else {
            self.maker.backward(term)
        };
        let Some(idx) = idx else { return false };
        let [subject, first, object, _] = self.maker.quad(idx);
        let end = if is_forward { object } else { subject };
        if is_literal(end) {
            return false;
        }
        let next = self.maker.onward(end);
        let second = next.map_or(first, |next| &self.maker.quad(next)[1]);
        let path = match self.maker.random.below(6) {
            0 => format!("{first}+"),
            1 => format!("{first}*"),
            2 => format!("({first}|{second})+"),
            3 => format!("{first}/{first}*"),
            4 => format!("{first}?"),
            _ => format!("{first}*/{second}?"),
        };
        let name = self.fresh();
        self.parts.push(if is_forward {
            format!("{variable} {path} {name} .")
        } else {
            format!("{name} {path} {variable} .")
        });
        self.bound.push((name, end.clone()));
        true
    }

    fn optional(&mut self, from: &Bound) -> bool {
        let Some((first, bound)) = self.link(from, 10) else {
            return false;
        };
        let mut body = first;
        if let Some(bound) = bound {
            if self.maker.random.chance(50)
                && let Some((second, further)) = self.link(&bound, 20)
            {
                body = format!("{body} {second}");
                self.bound.extend(further);
            }
            if self.maker.random.chance(20) {
                body.push_str(&format!(" FILTER(isIRI({}))", bound.0));
            }
            self.bound.push(bound);
        }
        self.parts.push(format!("OPTIONAL {{ {body} }}"));
        true
    }

    fn union(&mut self, from: &Bound) -> bool {
        let Some((first, _)) = self.link(from, 20) else {
            return false;
        };
        let Some((mut second, bound)) = self.link(from, 20) else {
            return false;
        };
        if let Some(bound) = bound
            && self.maker.random.chance(40)
            && let Some((further, _)) = self.link(&bound, 20)
        {
            second = format!("{second} {further}");
        }
        let third = if self.maker.random.chance(30) {
            " UNION { }"
        } else {
            ""
        };
        self.parts
            .push(format!("{{ {first} }} UNION {{ {second} }}{third}"));
        true
    }

    /// One pattern, or two in a row.
    fn inner(&mut self, from: &Bound) -> Option<String> {
        let (mut body, bound) = self.link(from, 30)?;
        if let Some(bound) = bound
            && self.maker.random.chance(50)
            && let Some((further, _)) = self.link(&bound, 50)
        {
            body = format!("{body} {further}");
        }
        Some(body)
    }

    fn exists(&mut self, from: &Bound) -> bool {
        let Some(body) = self.inner(from) else {
            return false;
        };
        let word = ["EXISTS", "NOT EXISTS"][self.maker.random.below(2)];
        let other = match self.maker.random.chance(30) {
            true => self.inner(from),
            false => None,
        };
        let filter = match (other, self.maker.random.chance(50)) {
            (Some(other), true) => format!("{word} {{ {{ {body} }} UNION {{ {other} }} }}"),
            (Some(other), false) => format!("({word} {{ {body} }} || EXISTS {{ {other} }})"),
            (None, _) => format!("{word} {{ {body} }}"),
        };
        self.parts.push(format!("FILTER {filter}"));
        true
    }

    fn minus(&mut self, from: &Bound) -> bool {
        let Some(body) = self.inner(from) else {
            return false;
        };
        self.parts.push(format!("MINUS {{ {body} }}"));
        true
    }

    fn selection(&mut self, from: &Bound) -> bool {
        let Some((pattern, Some(bound))) = self.link(from, 0) else {
            return false;
        };
        let (variable, _) = from;
        let name = &bound.0;
        let text = match self.maker.random.below(4) {
            0 => {
                let count = self.fresh();
                format!(
                    "{{ SELECT {variable} (COUNT({name}) AS {count}) {{ {pattern} }} GROUP BY {variable} }}"
                )
            }
            1 => format!("{{ SELECT DISTINCT {variable} {{ {pattern} }} }}"),
            2 => {
                let Some((further, _)) = self.link(&bound, 20) else {
                    return false;
                };
                format!("{{ SELECT DISTINCT {variable} {name} {{ {pattern} {further} }} }}")
            }
            _ => {
                let greatest = self.fresh();
                format!(
                    "{{ SELECT {variable} (COUNT(DISTINCT {name}) AS {greatest}) {{ {pattern} }} GROUP BY {variable} HAVING (COUNT(*) > 1) }}"
                )
            }
        };
        self.parts.push(text);
        true
    }

    fn condition(&mut self, from: &Bound) -> bool {
        let at = self.maker.random.below(self.bound.len());
        let (one, term) = from;
        let (other, _) = self.bound[at].clone();
        let condition = match self.maker.random.below(5) {
            0 if is_iri(term) => format!("{one} != {term}"),
            1 if is_iri(term) => format!("{one} = {term}"),
            2 => format!("isLiteral({one}) || {one} != {other}"),
            3 => format!("bound({one}) && !sameTerm({one}, {other})"),
            _ => format!("isIRI({one})"),
        };
        self.parts.push(format!("FILTER({condition})"));
        true
    }

    fn values(&mut self, from: &Bound) -> bool {
        let (variable, term) = from;
        if is_blank(term) {
            return false;
        }
        let any = self.maker.any_quad_kept();
        let [other, ..] = self.maker.quad(any);
        let other = if is_blank(other) {
            "\"nowhere\""
        } else {
            other
        };
        self.parts
            .push(format!("VALUES {variable} {{ {term} {other} }}"));
        true
    }

    fn expression(&mut self, from: &Bound) -> bool {
        let (variable, _) = from;
        let name = self.fresh();
        let expression = [
            format!("isIRI({variable})"),
            format!("if(isBlank({variable}), 1, 2)"),
            format!("coalesce({variable}, \"none\")"),
        ];
        let at = self.maker.random.below(expression.len());
        self.parts
            .push(format!("BIND({} AS {name})", expression[at]));
        true
    }
}
