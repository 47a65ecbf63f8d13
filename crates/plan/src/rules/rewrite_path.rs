//! Paths to triples, joins and filters, as far as no closure is needed.
//!
//! - inverses are pushed down to the links, closures of closures become one: `(p*)+` is `p*`;
//! - a link is a triple, a sequence a join over a fresh variable, which keeps the number of solutions
//!   as the standard defines it (SPARQL 1.1, 18.4);
//! - a negated set is a triple with a variable predicate under a filter, looked up from whichever end
//!   is bound;
//! - an alternative can be a union ([`as_union`]), which is chosen by cost in lowering.
//!
//! What is left is a [`PathPattern`].

use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Endpoint, Expr, Graphs, PathPattern, Position};
use crate::planner::{PlanError, Planner};
use crate::rules::hoist_left_join;
use crate::statistics::constant;
use oxrdf::NamedNode;
use spargebra::algebra::PropertyPathExpression as Path;

/// More arms are not tried as a union: planning grows with each.
const ARMS_MAX: usize = 6;

/// Paths of a chain that nest from the left, as they are written.
const CHAIN_LEFT_MAX: usize = 16;

/// The same path with inverses at its links and without closures of closures.
pub(crate) fn simplify(path: &Path) -> Path {
    directed(path, false)
}

fn directed(path: &Path, inverse: bool) -> Path {
    let sub = |path: &Path| directed(path, inverse);
    match path {
        Path::NamedNode(_) | Path::NegatedPropertySet(_) if inverse => {
            Path::Reverse(Box::new(path.clone()))
        }
        Path::NamedNode(_) | Path::NegatedPropertySet(_) => path.clone(),
        Path::Reverse(inner) => directed(inner, !inverse),
        Path::Sequence(..) => {
            let mut steps: Vec<Path> = chain(path, true).into_iter().map(sub).collect();
            if inverse {
                steps.reverse();
            }
            balanced(steps, Path::Sequence)
        }
        Path::Alternative(..) => {
            let arms = chain(path, false).into_iter().map(sub);
            balanced(arms.collect(), Path::Alternative)
        }
        Path::ZeroOrMore(inner) => match sub(inner) {
            Path::ZeroOrMore(inner) | Path::OneOrMore(inner) | Path::ZeroOrOne(inner) => {
                Path::ZeroOrMore(inner)
            }
            inner => Path::ZeroOrMore(Box::new(inner)),
        },
        Path::OneOrMore(inner) => match sub(inner) {
            Path::ZeroOrMore(inner) | Path::ZeroOrOne(inner) => Path::ZeroOrMore(inner),
            Path::OneOrMore(inner) => Path::OneOrMore(inner),
            inner => Path::OneOrMore(Box::new(inner)),
        },
        Path::ZeroOrOne(inner) => match sub(inner) {
            Path::ZeroOrMore(inner) | Path::OneOrMore(inner) => Path::ZeroOrMore(inner),
            Path::ZeroOrOne(inner) => Path::ZeroOrOne(inner),
            inner => Path::ZeroOrOne(Box::new(inner)),
        },
    }
}

/// The steps of a sequence, or the arms of an alternative, in order.
fn chain(path: &Path, is_sequence: bool) -> Vec<&Path> {
    let (mut found, mut open) = (Vec::new(), vec![path]);
    // Termination: what is pushed is part of what was popped.
    while let Some(path) = open.pop() {
        match path {
            Path::Sequence(a, b) if is_sequence => open.extend([&**b, &**a]),
            Path::Alternative(a, b) if !is_sequence => open.extend([&**b, &**a]),
            other => found.push(other),
        }
    }
    found
}

/// A chain of paths as one: a long one is halved, so that it is not as deep as it is long.
fn balanced(mut parts: Vec<Path>, join: fn(Box<Path>, Box<Path>) -> Path) -> Path {
    if parts.len() <= CHAIN_LEFT_MAX {
        let joined = parts.into_iter();
        let joined = joined.reduce(|left, right| join(Box::new(left), Box::new(right)));
        return joined.expect("a chain has two ends");
    }
    let right = parts.split_off(parts.len() / 2);
    join(
        Box::new(balanced(parts, join)),
        Box::new(balanced(right, join)),
    )
}

/// The plan of a path between two ends.
pub(crate) fn plan(
    planner: &mut Planner<'_>,
    subject: &Endpoint,
    path: &Path,
    object: &Endpoint,
    graphs: &Graphs,
) -> Result<Logical, PlanError> {
    match path {
        Path::NamedNode(node) => Ok(link(planner, subject, node, object, graphs)),
        Path::Reverse(inner) => plan(planner, object, inner, subject, graphs),
        Path::Sequence(first, second) => {
            let name = format!(" path{}", planner.names.len());
            let middle = Endpoint::Slot(planner.new_slot(name)?);
            let left = plan(planner, subject, first, &middle, graphs)?;
            let right = plan(planner, &middle, second, object, graphs)?;
            Ok(hoist_left_join::join(planner, left, right))
        }
        Path::NegatedPropertySet(nodes) if planner.rule("rewrite_path") => {
            other_links(planner, subject, nodes, object, graphs)
        }
        _ => {
            let paths = vec![PathPattern {
                subject: subject.clone(),
                path: path.clone(),
                object: object.clone(),
                graphs: graphs.clone(),
            }];
            Ok(Logical::Group(JoinGroup {
                paths,
                ..JoinGroup::default()
            }))
        }
    }
}

/// A triple with a constant predicate.
fn link(
    planner: &Planner<'_>,
    subject: &Endpoint,
    predicate: &NamedNode,
    object: &Endpoint,
    graphs: &Graphs,
) -> Logical {
    let predicate = planner.statistics.term_id(&predicate.clone().into());
    let predicate = predicate.filter(|&p| planner.statistics.predicate_quads(p) > 0);
    match predicate {
        Some(predicate) => triple(subject, Position::Id(predicate), object, graphs),
        None => Logical::Empty,
    }
}

/// A triple with any predicate but some.
fn other_links(
    planner: &mut Planner<'_>,
    subject: &Endpoint,
    excluded: &[NamedNode],
    object: &Endpoint,
    graphs: &Graphs,
) -> Result<Logical, PlanError> {
    let predicate = planner.fresh_slot("predicate")?;
    let mut logical = triple(subject, Position::Slot(predicate), object, graphs);
    if let Logical::Group(group) = &mut logical {
        for node in excluded {
            let node = constant(planner.statistics, &node.clone().into());
            // What no quad has excludes nothing.
            if node.id.is_some() {
                let slot = Box::new(Expr::Slot(predicate));
                let same = Expr::SameTerm(slot, Box::new(Expr::Constant(node)));
                group.filters.push(Expr::Not(Box::new(same)));
            }
        }
    }
    Ok(logical)
}

fn triple(subject: &Endpoint, predicate: Position, object: &Endpoint, graphs: &Graphs) -> Logical {
    let position = |endpoint: &Endpoint| match endpoint {
        Endpoint::Slot(slot) => Some(Position::Slot(*slot)),
        Endpoint::Constant(constant) => constant.id.map(Position::Id),
    };
    let no_graph = match graphs {
        Graphs::One(_) => false,
        Graphs::Variable { among, .. } | Graphs::Merge { among } => {
            among.as_ref().is_some_and(Vec::is_empty)
        }
    };
    match (position(subject), position(object)) {
        (Some(subject), Some(object)) if !no_graph => Logical::Group(JoinGroup {
            triples: vec![Triple {
                subject,
                predicate,
                object,
                graphs: graphs.clone(),
                optional: false,
            }],
            ..JoinGroup::default()
        }),
        _ => Logical::Empty,
    }
}

/// The arms of an alternative that have solutions, each as a plan.
fn arms(planner: &mut Planner<'_>, pattern: &PathPattern) -> Result<Vec<Logical>, PlanError> {
    let (subject, object) = (&pattern.subject, &pattern.object);
    let mut arms = Vec::new();
    for arm in chain(&pattern.path, false) {
        // Variables that only one arm has stay unbound in the others, where nobody asks for them.
        let arm = plan(planner, subject, arm, object, &pattern.graphs)?;
        if arm != Logical::Empty {
            arms.push(arm);
        }
    }
    Ok(arms)
}

/// The arms of a group that is nothing but an alternative of so many arms at most, each under the group's conditions; `None` of other groups.
pub(crate) fn arms_alone(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    arms_max: usize,
) -> Result<Option<Vec<Logical>>, PlanError> {
    let [pattern] = &group.paths[..] else {
        return Ok(None);
    };
    let is_alone = group.triples.is_empty() && group.children.is_empty();
    let is_alternative = (2..=arms_max).contains(&chain(&pattern.path, false).len());
    if !is_alone || !is_alternative || !planner.rule("rewrite_path") {
        return Ok(None);
    }
    let arms = arms(planner, pattern)?.into_iter().map(|arm| {
        let mut arm = arm.into_group();
        arm.filters.extend(group.filters.iter().cloned());
        Logical::Group(arm)
    });
    Ok(Some(arms.collect()))
}

/// The group with its first alternative as a union of the arms; `None` where there is none or it has
/// too many.
pub(crate) fn as_union(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
) -> Result<Option<JoinGroup>, PlanError> {
    if !planner.rule("rewrite_path") {
        return Ok(None);
    }
    let is_alternative =
        |path: &PathPattern| (2..=ARMS_MAX).contains(&chain(&path.path, false).len());
    let Some(position) = group.paths.iter().position(is_alternative) else {
        return Ok(None);
    };
    let mut rewritten = group.clone();
    let pattern = rewritten.paths.remove(position);
    let mut branches = arms(planner, &pattern)?;
    if let [_] = branches[..] {
        let only = branches.remove(0);
        // The conditions are about the rows of the whole group, also those on slots of the arm.
        let filters = std::mem::take(&mut rewritten.filters);
        let joined = hoist_left_join::join(planner, Logical::Group(rewritten), only);
        let mut joined = joined.into_group();
        joined.filters.extend(filters);
        return Ok(Some(joined));
    }
    rewritten.children.push(if branches.is_empty() {
        Logical::Empty
    } else {
        Logical::Union(branches)
    });
    Ok(Some(rewritten))
}
