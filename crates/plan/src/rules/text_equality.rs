//! `FILTER(STR(?a) = STR(?b))` becomes a join where nothing else joins the two sides.
//!
//! ```text
//! A . B . FILTER(f(?a) = g(?b))   ->   (A extended by f(?a) as k) joined with (B extended by g(?b) as k), on k
//! ```
//!
//! `=` compares values, but an `xsd:string` equals nothing but itself: where one side of it can be nothing else, both are equal if
//! they are the same term. Where both are strings that may have languages, they are equal only if `STR` of them is the same, and the
//! condition is asked again. What makes a key an error makes the condition none that is true, so rows without a key go. Parts that
//! are connected stay as they are: a join by what they share is better than one by what is computed. So do parts of a few rows: to
//! compare each row of the other side with those makes no strings into terms.

use crate::estimate::pattern;
use crate::expression::{has_exists, is_volatile, slots_of};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::term_view::XSD_STRING;
use spargebra::algebra::Function;

/// Rows of VALUES, or up to a LIMIT, that are few, and so are the subjects that an object has on the average.
const FEW_ROWS: usize = 8;

/// The plan with every such equality of its group made a join.
pub(crate) fn apply(planner: &mut Planner<'_>, outer: SlotSet, plan: Logical) -> Logical {
    if !planner.rule("text_equality") {
        return plan;
    }
    let Logical::Group(mut group) = plan else {
        return plan;
    };
    while let Some(equality) = find(planner, &group, &outer) {
        let Some(key) = equality.key(planner) else {
            break;
        };
        group = equality.joined(group, key, &outer);
    }
    Logical::Group(group)
}

/// What is known of the value of an expression that is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// It is an `xsd:string`.
    Simple,
    /// It is a string, perhaps with a language.
    Tagged,
    /// It may be anything.
    Unknown,
}

impl Text {
    /// Of an expression, whatever its constants are.
    fn of(expr: &Expr) -> Self {
        let Expr::Call(function, arguments) = expr else {
            return Self::Unknown;
        };
        let mut of_arguments = arguments.iter().map(Self::of);
        match function {
            Function::Str
            | Function::Lang
            | Function::EncodeForUri
            | Function::Tz
            | Function::Md5
            | Function::Sha1
            | Function::Sha256
            | Function::Sha384
            | Function::Sha512 => Self::Simple,
            Function::Custom(name) if name.as_str() == XSD_STRING => Self::Simple,
            // Where nothing is found they are simple, else as the first argument.
            Function::StrBefore
            | Function::StrAfter
            | Function::UCase
            | Function::LCase
            | Function::SubStr
            | Function::Replace => match of_arguments.next() {
                Some(Self::Simple) => Self::Simple,
                _ => Self::Tagged,
            },
            // A language that all arguments have.
            Function::Concat => match of_arguments.any(|text| text == Self::Simple) {
                true => Self::Simple,
                false => Self::Tagged,
            },
            Function::StrLang => Self::Tagged,
            _ => Self::Unknown,
        }
    }
}

/// One side of an equality.
struct Side {
    /// What makes the key.
    key: Expr,
    /// The slots of what has to be joined for it.
    slots: SlotSet,
}

/// An equality between two parts of a group.
struct Equality {
    filter_idx: usize,
    sides: [Side; 2],
    /// Whether equal keys are all that it asks.
    is_exact: bool,
}

/// The first usable equality.
fn find(planner: &Planner<'_>, group: &JoinGroup, outer: &SlotSet) -> Option<Equality> {
    let equalities = group.filters.iter().enumerate();
    equalities
        .filter(|(_, filter)| !has_exists(filter) && !is_volatile(filter))
        .find_map(|(filter_idx, filter)| {
            let Expr::Equal(a, b) = filter else {
                return None;
            };
            let is_exact = match (Text::of(a), Text::of(b)) {
                (Text::Simple, _) | (_, Text::Simple) => true,
                (Text::Tagged, Text::Tagged) => false,
                _ => return None,
            };
            let side = |expr: &Expr| {
                let slots = connected(group, slots_of(expr), outer)?;
                let key = match is_exact {
                    true => expr.clone(),
                    false => Expr::Call(Function::Str, vec![expr.clone()]),
                };
                Some(Side { key, slots })
            };
            let sides = [side(a)?, side(b)?];
            let is_apart = sides[0].slots.is_disjoint(&sides[1].slots);
            if sides.iter().any(|side| is_few(planner, group, &side.slots)) {
                return None;
            }
            is_apart.then_some(Equality {
                filter_idx,
                sides,
                is_exact,
            })
        })
}

/// The slots of all parts of a group that have some of these, or share some with such a part; `None` if there is none of
/// these, some is not certain there, or rows around the group may bind one of them.
fn connected(group: &JoinGroup, slots: SlotSet, outer: &SlotSet) -> Option<SlotSet> {
    if slots.is_empty() || !slots.is_subset(&group.certain()) {
        return None;
    }
    let parts = parts(group);
    let mut all = slots;
    loop {
        let joined = parts.iter().filter(|part| !part.is_disjoint(&all));
        let more = joined.fold(all, |all, part| all.union(*part));
        if more == all {
            return all.is_disjoint(outer).then_some(all);
        }
        all = more;
    }
}

/// Whether the parts of a group with these slots have a few rows, as far as that is plain: one speaks of a constant subject, or of a
/// constant object such as few have, or is a few rows by itself.
fn is_few(planner: &Planner<'_>, group: &JoinGroup, slots: &SlotSet) -> bool {
    let is_part = |of: SlotSet| !of.is_disjoint(slots);
    let mut triples = group.triples.iter();
    let mut children = group.children.iter();
    triples.any(|triple| is_part(triple.slots()) && has_few_solutions(planner, triple))
        || children.any(|child| is_part(child.mentioned()) && has_few_rows(child))
}

fn has_few_solutions(planner: &Planner<'_>, triple: &Triple) -> bool {
    match (triple.subject, triple.predicate, triple.object) {
        (Position::Id(_), ..) => true,
        (_, Position::Id(predicate), Position::Id(_)) => {
            let quads = planner.statistics.predicate_quads(predicate) as f64;
            quads <= FEW_ROWS as f64 * pattern::objects(planner, predicate)
        }
        _ => false,
    }
}

fn has_few_rows(plan: &Logical) -> bool {
    match plan {
        Logical::Values { rows, .. } => rows.len() <= FEW_ROWS,
        Logical::Slice { limit, .. } => limit.is_some_and(|limit| limit <= FEW_ROWS),
        Logical::Aggregate { keys, .. } => keys.is_empty(),
        Logical::Extend { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input } => has_few_rows(input),
        Logical::Group(group) => *group == JoinGroup::default(),
        _ => false,
    }
}

/// The slots of each part of a group, those that an enclosing row could give included.
fn parts(group: &JoinGroup) -> Vec<SlotSet> {
    let triples = group.triples.iter().map(|triple| triple.slots());
    let paths = group.paths.iter().map(|path| SlotSet::of(&path.slots()));
    let children = group.children.iter().map(Logical::mentioned);
    triples.chain(paths).chain(children).collect()
}

impl Equality {
    /// The slot of the key: one that a side has already, or a new one.
    fn key(&self, planner: &mut Planner<'_>) -> Option<Slot> {
        let known = self.sides.iter().find_map(|side| match side.key {
            Expr::Slot(slot) => Some(slot),
            _ => None,
        });
        known.or_else(|| planner.fresh_slot("text").ok())
    }

    /// The group with both sides joined by the key.
    fn joined(self, mut group: JoinGroup, key: Slot, outer: &SlotSet) -> JoinGroup {
        if self.is_exact {
            group.filters.remove(self.filter_idx);
        }
        for side in self.sides {
            // A slot of the side itself is its key.
            if side.key != Expr::Slot(key) {
                let part = take_part(&mut group, &side.slots, outer);
                group.children.push(keyed(part, key, side.key));
            }
        }
        group
    }
}

/// What has these slots, taken out of a group with the conditions that are about it alone.
fn take_part(group: &mut JoinGroup, slots: &SlotSet, outer: &SlotSet) -> JoinGroup {
    let is_part = |of: SlotSet| !of.is_disjoint(slots);
    JoinGroup {
        triples: group
            .triples
            .extract_if(.., |triple| is_part(triple.slots()))
            .collect(),
        paths: group
            .paths
            .extract_if(.., |path| is_part(SlotSet::of(&path.slots())))
            .collect(),
        children: group
            .children
            .extract_if(.., |child| is_part(child.mentioned()))
            .collect(),
        filters: group
            .filters
            .extract_if(.., |filter| {
                let of = slots_of(filter);
                !of.is_empty()
                    && of.is_subset(slots)
                    && of.is_disjoint(outer)
                    && !has_exists(filter)
                    && !is_volatile(filter)
            })
            .collect(),
    }
}

/// A part with its key, and only the rows that have one.
fn keyed(part: JoinGroup, key: Slot, expr: Expr) -> Logical {
    Logical::Filter {
        input: Box::new(Logical::Extend {
            input: Box::new(Logical::Group(part)),
            slot: key,
            expr,
        }),
        conditions: vec![Expr::Bound(key)],
    }
}
