//! `FILTER(?x = <iri>)` becomes the constant itself in the patterns that bind `?x`, which is given its value again above where it is needed.
//!
//! An IRI equals nothing but itself, and neither does a string, so whatever binds `?x` may ask for it: by an inverse, a row or a predicate's
//! columns, where a condition would be tested on all that there is. A variable of `GRAPH` keeps its place, and is asked for that graph alone.
//!
//! Runs over the whole pattern, after the translator has put all that is joined together into one group. Slots of a row around an EXISTS stay as they
//! are: they are what the inside is joined by.

use crate::expression::{boolean, for_each_operand_mut, has_exists, slots_of, slots_of_all};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Constant, Endpoint, Expr, Graphs, PathPattern, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use oxrdf::Term;
use oxrdf::vocab::xsd;

/// A slot and what it must be.
struct Fixed {
    filter_idx: usize,
    slot: Slot,
    constant: Constant,
}

/// The plan with every such equality of its groups made a constant; of its slots, `needed` are read above, and `outer` are those of a row around it.
pub(crate) fn apply(
    planner: &Planner<'_>,
    plan: Logical,
    needed: SlotSet,
    outer: SlotSet,
) -> Logical {
    match planner.rule("constant_equality") {
        true => in_plan(planner, plan, needed, outer),
        false => plan,
    }
}

fn in_plan(planner: &Planner<'_>, mut plan: Logical, needed: SlotSet, outer: SlotSet) -> Logical {
    if let Logical::Group(group) = plan {
        return in_group(planner, group, needed, outer);
    }
    for (input, needed, outer) in inputs(&mut plan, needed, outer) {
        let below = std::mem::replace(input, Logical::Empty);
        *input = in_plan(planner, below, needed, outer);
    }
    plan
}

/// The inputs of an operator that is no group; which of their slots are needed, and which are of a row around them.
fn inputs(
    plan: &mut Logical,
    needed: SlotSet,
    outer: SlotSet,
) -> Vec<(&mut Logical, SlotSet, SlotSet)> {
    match plan {
        Logical::LeftJoin {
            left,
            right,
            conditions,
        }
        | Logical::AntiJoin {
            left,
            right,
            conditions,
        } => {
            let needed = needed.union(slots_of_all(conditions));
            let of_left = needed.union(right.mentioned());
            let of_right = needed.union(left.schema());
            vec![(left, of_left, outer), (right, of_right, outer)]
        }
        Logical::Minus { left, right, graph } => {
            let graph: SlotSet = graph.iter().copied().collect();
            let of_left = needed.union(right.mentioned()).union(graph);
            let of_right = left.schema().union(graph);
            vec![(left, of_left, outer), (right, of_right, outer)]
        }
        Logical::Lateral { left, right } => {
            let of_left = needed.union(right.mentioned());
            let (of_right, around) = (needed.union(left.schema()), outer.union(left.schema()));
            vec![(left, of_left, outer), (right, of_right, around)]
        }
        Logical::Filter { input, conditions } => {
            vec![(input, needed.union(slots_of_all(conditions)), outer)]
        }
        Logical::Extend { input, expr, .. } => vec![(input, needed.union(slots_of(expr)), outer)],
        Logical::Project { input, slots } => vec![(input, SlotSet::of(slots), outer)],
        Logical::Distinct { input } => vec![(input, needed, outer)],
        Logical::OrderBy { input, keys } => {
            let of_keys = keys.iter().map(|key| slots_of(&key.expr));
            vec![(input, of_keys.fold(needed, SlotSet::union), outer)]
        }
        Logical::Slice { input, per, .. } => {
            let per: SlotSet = per.iter().copied().collect();
            vec![(input, needed.union(per), outer)]
        }
        Logical::Aggregate {
            input,
            keys,
            aggregates,
        } => {
            let arguments = aggregates.iter().filter_map(|a| a.argument.as_ref());
            let read = arguments.map(slots_of);
            let needed = read.fold(SlotSet::of(keys), SlotSet::union);
            vec![(input, needed, outer)]
        }
        Logical::Union(branches) => {
            let branches = branches.iter_mut();
            branches.map(|branch| (branch, needed, outer)).collect()
        }
        Logical::Empty
        | Logical::Group(_)
        | Logical::GraphNames { .. }
        | Logical::Values { .. }
        | Logical::Service(_) => Vec::new(),
    }
}

fn in_group(
    planner: &Planner<'_>,
    mut group: JoinGroup,
    needed: SlotSet,
    outer: SlotSet,
) -> Logical {
    for at in 0..group.children.len() {
        let around = group
            .slots_beside(at, Logical::mentioned)
            .union(slots_of_all(&group.filters));
        let child = std::mem::replace(&mut group.children[at], Logical::Empty);
        group.children[at] = in_plan(planner, child, needed.union(around), outer);
    }
    if !narrow_graphs(planner, &mut group) {
        return Logical::Empty;
    }
    let mut restored = Vec::new();
    // Termination: each turn takes a condition away.
    while let Some(fixed) = find(&group, &outer) {
        let Some(id) = fixed.constant.id else {
            return Logical::Empty;
        };
        group.filters.remove(fixed.filter_idx);
        if !put(planner, &mut group, &fixed, id) {
            return Logical::Empty;
        }
        restored.push(fixed);
    }
    super::seed_paths::apply(planner, &mut group, &outer);
    let restored = restored
        .into_iter()
        .filter(|fixed| needed.contains(fixed.slot));
    restored.fold(Logical::Group(group), |input, fixed| Logical::Extend {
        input: Box::new(input),
        slot: fixed.slot,
        expr: Expr::Constant(fixed.constant),
    })
}

/// The slot that a condition fixes, and the only term that it lets pass.
pub(super) fn fixed_by(condition: &Expr) -> Option<(Slot, &Constant)> {
    let (a, b) = match condition {
        Expr::Equal(a, b) | Expr::SameTerm(a, b) => (&**a, &**b),
        Expr::In(a, list) => match &list[..] {
            [only] => (&**a, only),
            _ => return None,
        },
        _ => return None,
    };
    match (a, b) {
        (Expr::Slot(slot), Expr::Constant(constant))
        | (Expr::Constant(constant), Expr::Slot(slot)) => {
            equals_only_itself(&constant.term).then_some((*slot, constant))
        }
        _ => None,
    }
}

pub(super) fn equals_only_itself(term: &Term) -> bool {
    match term {
        Term::NamedNode(_) => true,
        Term::Literal(literal) => literal.datatype() == xsd::STRING,
        _ => false,
    }
}

/// The first slot of the group's patterns that may be a constant.
fn find(group: &JoinGroup, outer: &SlotSet) -> Option<Fixed> {
    let mut conditions = group.filters.iter().enumerate();
    conditions.find_map(|(filter_idx, condition)| {
        let (slot, constant) = fixed_by(condition)?;
        let may_be_constant = is_of_patterns(group, slot, outer)
            && is_bound(group, slot)
            && group.paths.iter().all(|path| may_end(group, path, slot))
            && !is_inside_exists(group, slot);
        may_be_constant.then(|| Fixed {
            filter_idx,
            slot,
            constant: constant.clone(),
        })
    })
}

/// Whether a slot is in no other part of the group than in patterns, where it is neither a graph nor what an optional one adds, and in no row around it.
pub(super) fn is_of_patterns(group: &JoinGroup, slot: Slot, outer: &SlotSet) -> bool {
    !outer.contains(slot)
        && !group.children.iter().any(|c| c.mentioned().contains(slot))
        && !is_graph(group, slot)
        && !is_optional_object(group, slot)
}

/// Whether every row has the slot from a pattern of the group.
fn is_bound(group: &JoinGroup, slot: Slot) -> bool {
    group.triples.iter().any(|triple| binds(triple, slot))
        || group.paths.iter().any(|path| is_end(path, slot))
}

pub(super) fn is_end(path: &PathPattern, slot: Slot) -> bool {
    [&path.subject, &path.object].contains(&&Endpoint::Slot(slot))
}

/// Whether every row has the slot from this triple.
pub(super) fn binds(triple: &Triple, slot: Slot) -> bool {
    !triple.optional && triple.certain().contains(slot)
}

fn is_graph(group: &JoinGroup, slot: Slot) -> bool {
    graphs(group).any(|graphs| graphs.slot() == Some(slot))
}

fn graphs(group: &JoinGroup) -> impl Iterator<Item = &Graphs> {
    let of_triples = group.triples.iter().map(|triple| &triple.graphs);
    of_triples.chain(group.paths.iter().map(|path| &path.graphs))
}

fn is_optional_object(group: &JoinGroup, slot: Slot) -> bool {
    let mut optional = group.triples.iter().filter(|triple| triple.optional);
    optional.any(|triple| {
        triple.object == Position::Slot(slot) || triple.predicate == Position::Slot(slot)
    })
}

fn is_inside_exists(group: &JoinGroup, slot: Slot) -> bool {
    let mut filters = group.filters.iter();
    filters.any(|filter| has_exists(filter) && slots_of(filter).contains(slot))
}

/// Whether a constant at the end of a path asks for the same: a path without links leads from every term to itself, and from a variable only to nodes of
/// the graphs, of which a triple must say that the constant is one.
fn may_end(group: &JoinGroup, path: &PathPattern, slot: Slot) -> bool {
    let is_node = |triple: &Triple| {
        let ends = [triple.subject, triple.object];
        binds(triple, slot) && triple.graphs == path.graphs && ends.contains(&Position::Slot(slot))
    };
    !is_end(path, slot) || !path.matches_zero() || group.triples.iter().any(is_node)
}

/// Puts a constant into the places of a slot; false if no row can have it.
fn put(planner: &Planner<'_>, group: &mut JoinGroup, fixed: &Fixed, id: TermId) -> bool {
    let slot = fixed.slot;
    let note = |id| {
        if let Some(trace) = planner.trace {
            trace.fixed(id);
        }
    };
    let mut may_match = true;
    for triple in &mut group.triples {
        if triple.predicate == Position::Slot(slot) {
            note(id);
            triple.predicate = Position::Id(id);
            may_match &= planner.statistics.predicate_quads(id) > 0;
        }
        if triple.subject == Position::Slot(slot) {
            triple.subject = Position::Id(id);
            may_match &= id.is_resource();
        }
        if triple.object == Position::Slot(slot) {
            triple.object = Position::Id(id);
        }
    }
    // Repeated patterns say nothing new.
    let mut distinct: Vec<Triple> = Vec::with_capacity(group.triples.len());
    for triple in group.triples.drain(..) {
        if !distinct.contains(&triple) {
            distinct.push(triple);
        }
    }
    group.triples = distinct;
    for path in &mut group.paths {
        for end in [&mut path.subject, &mut path.object] {
            if *end == Endpoint::Slot(slot) {
                note(id);
                *end = Endpoint::Constant(fixed.constant.clone());
            }
        }
    }
    for filter in &mut group.filters {
        put_into(planner, filter, fixed);
    }
    may_match
}

fn put_into(planner: &Planner<'_>, expr: &mut Expr, fixed: &Fixed) {
    match expr {
        Expr::Slot(slot) if *slot == fixed.slot => *expr = Expr::Constant(fixed.constant.clone()),
        Expr::Bound(slot) if *slot == fixed.slot => *expr = boolean(true, planner.statistics),
        _ => for_each_operand_mut(expr, &mut |operand| put_into(planner, operand, fixed)),
    }
}

/// Lets patterns in a variable graph that must be a certain one read that alone; false if it is none that they may read.
fn narrow_graphs(planner: &Planner<'_>, group: &mut JoinGroup) -> bool {
    let fixed = group.filters.iter().filter_map(fixed_by);
    let fixed: Vec<(Slot, Option<TermId>)> = fixed.map(|(slot, c)| (slot, c.id)).collect();
    let of_triples = group.triples.iter_mut().map(|triple| &mut triple.graphs);
    let of_paths = group.paths.iter_mut().map(|path| &mut path.graphs);
    for graphs in of_triples.chain(of_paths) {
        let Graphs::Variable { slot, among } = graphs else {
            continue;
        };
        for (_, id) in fixed.iter().filter(|(fixed, _)| fixed == slot) {
            let is_one = |id: &TermId| among.as_ref().is_none_or(|among| among.contains(id));
            let Some(id) = id.filter(is_one) else {
                return false;
            };
            if let Some(trace) = planner.trace {
                trace.fixed(id);
            }
            *among = Some(vec![id]);
        }
    }
    true
}
