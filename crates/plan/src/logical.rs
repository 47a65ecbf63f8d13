//! The logical plan: the query's meaning, before any order or algorithm is chosen.
//!
//! Between the translator, whose rules rewrite it, and lowering. Variables are slots already;
//! joins are flattened into [`JoinGroup`]s, the unit of join ordering.
//!
//! Invariant: in `GRAPH ?g` every sub-plan carries the graph's slot in its schema, so that joins
//! compare the graph. A slot that a subselect does not project occurs nowhere outside it.

use crate::expression::{bound_by, slots_of, slots_of_all};
use crate::physical::{
    Aggregate, AggregateFunction, Constant, Expr, Graphs, PathPattern, Position, ServicePattern,
    Slot, SortKey,
};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;

/// One triple pattern; unknown constants have pruned the plan before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Triple {
    pub(crate) subject: Position,
    pub(crate) predicate: Position,
    pub(crate) object: Position,
    pub(crate) graphs: Graphs,
    /// An OPTIONAL folded into the group; the object is a slot that occurs nowhere else.
    pub(crate) optional: bool,
}

impl Triple {
    pub(crate) fn slots(&self) -> SlotSet {
        [self.subject, self.predicate, self.object]
            .into_iter()
            .filter_map(Position::slot)
            .chain(self.graphs.slot())
            .collect()
    }

    pub(crate) fn certain(&self) -> SlotSet {
        let mut slots = self.slots();
        if self.optional
            && let Some(object) = self.object.slot()
        {
            slots.remove(object);
        }
        slots
    }
}

/// Everything that is joined with each other, in any order, under the conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JoinGroup {
    pub(crate) triples: Vec<Triple>,
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) children: Vec<Logical>,
    /// Conjuncts over the joined rows.
    pub(crate) filters: Vec<Expr>,
}

/// An operator of the logical plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Logical {
    Empty,
    Group(JoinGroup),
    LeftJoin {
        left: Box<Logical>,
        right: Box<Logical>,
        conditions: Vec<Expr>,
    },
    /// Left rows without a partner (the partner's slots are not visible above).
    AntiJoin {
        left: Box<Logical>,
        right: Box<Logical>,
        conditions: Vec<Expr>,
    },
    /// MINUS; `graph` is the slot of an enclosing `GRAPH ?g`, which must be equal but does not
    /// count as shared.
    Minus {
        left: Box<Logical>,
        right: Box<Logical>,
        graph: Option<Slot>,
    },
    Filter {
        input: Box<Logical>,
        conditions: Vec<Expr>,
    },
    Extend {
        input: Box<Logical>,
        slot: Slot,
        expr: Expr,
    },
    Project {
        input: Box<Logical>,
        slots: Vec<Slot>,
    },
    Distinct {
        input: Box<Logical>,
    },
    OrderBy {
        input: Box<Logical>,
        keys: Vec<SortKey>,
    },
    /// OFFSET and LIMIT; with a slot, of each of its values (a subselect inside `GRAPH ?g`).
    Slice {
        input: Box<Logical>,
        offset: usize,
        limit: Option<usize>,
        per: Option<Slot>,
    },
    /// LATERAL: the right side for each row of the left one, which it sees.
    Lateral {
        left: Box<Logical>,
        right: Box<Logical>,
    },
    /// The named graphs.
    GraphNames {
        slot: Slot,
        among: Option<Vec<TermId>>,
    },
    Aggregate {
        input: Box<Logical>,
        keys: Vec<Slot>,
        aggregates: Vec<Aggregate>,
    },
    Union(Vec<Logical>),
    Values {
        slots: Vec<Slot>,
        rows: Vec<Vec<Option<Constant>>>,
    },
    /// SERVICE; the slot of a variable endpoint is in the schema, though others must bind it.
    Service(ServicePattern),
}

impl JoinGroup {
    pub(crate) fn schema(&self) -> SlotSet {
        let mut set = self.pattern_slots();
        for child in &self.children {
            set = set.union(child.schema());
        }
        set
    }

    pub(crate) fn certain(&self) -> SlotSet {
        let mut set = SlotSet::default();
        for triple in &self.triples {
            set = set.union(triple.certain());
        }
        for path in &self.paths {
            set = set.union(SlotSet::of(&path.slots()));
        }
        for child in &self.children {
            set = set.union(child.certain());
        }
        set
    }

    /// The slots of triples and paths.
    pub(crate) fn pattern_slots(&self) -> SlotSet {
        let mut set = SlotSet::default();
        for triple in &self.triples {
            set = set.union(triple.slots());
        }
        for path in &self.paths {
            set = set.union(SlotSet::of(&path.slots()));
        }
        set
    }

    /// The slots of triples and paths, and some of those of every child but one.
    pub(crate) fn slots_beside(&self, at: usize, of: impl Fn(&Logical) -> SlotSet) -> SlotSet {
        let others = self.children.iter().enumerate();
        let others = others.filter(|(other, _)| *other != at);
        others.fold(self.pattern_slots(), |set, (_, other)| set.union(of(other)))
    }

    /// Whether another part that has these slots may be joined into this group without moving
    /// what a filter or a folded OPTIONAL sees.
    pub(crate) fn can_merge(&self, other: &SlotSet) -> bool {
        let certain = self.certain();
        let optional_free = self
            .triples
            .iter()
            .filter(|triple| triple.optional)
            .all(|triple| triple.slots().minus(certain).is_disjoint(other));
        optional_free
            && self
                .filters
                .iter()
                .all(|filter| slots_of(filter).intersect(*other).is_subset(&certain))
    }
}

impl Logical {
    /// One row without columns.
    pub(crate) fn unit() -> Self {
        Self::Group(JoinGroup::default())
    }

    /// A group with this as its only child, or the group that this is.
    pub(crate) fn into_group(self) -> JoinGroup {
        match self {
            Self::Group(group) => group,
            other => JoinGroup {
                children: vec![other],
                ..JoinGroup::default()
            },
        }
    }

    /// The slots that may be bound in a row.
    pub(crate) fn schema(&self) -> SlotSet {
        match self {
            Self::Empty => SlotSet::default(),
            Self::Group(group) => group.schema(),
            Self::LeftJoin { left, right, .. } | Self::Lateral { left, right } => {
                left.schema().union(right.schema())
            }
            Self::GraphNames { slot, .. } => SlotSet::of(&[*slot]),
            Self::AntiJoin { left, .. } | Self::Minus { left, .. } => left.schema(),
            Self::Filter { input, .. }
            | Self::Distinct { input }
            | Self::OrderBy { input, .. }
            | Self::Slice { input, .. } => input.schema(),
            Self::Extend { input, slot, .. } => {
                let mut set = input.schema();
                set.insert(*slot);
                set
            }
            Self::Project { slots, .. } | Self::Values { slots, .. } => SlotSet::of(slots),
            Self::Aggregate {
                keys, aggregates, ..
            } => keys
                .iter()
                .copied()
                .chain(aggregates.iter().map(|a| a.slot))
                .collect(),
            Self::Union(inputs) => inputs
                .iter()
                .fold(SlotSet::default(), |set, input| set.union(input.schema())),
            Self::Service(service) => service
                .slots()
                .into_iter()
                .chain(service.endpoint_slot())
                .collect(),
        }
    }

    /// The slots that are bound in every row.
    pub(crate) fn certain(&self) -> SlotSet {
        match self {
            Self::Empty => SlotSet::default(),
            Self::Group(group) => group.certain(),
            Self::LeftJoin { left, .. }
            | Self::AntiJoin { left, .. }
            | Self::Minus { left, .. } => left.certain(),
            Self::Lateral { left, right } => left.certain().union(right.certain()),
            Self::GraphNames { slot, .. } => SlotSet::of(&[*slot]),
            Self::Filter { input, conditions } => {
                let bound = conditions.iter().map(bound_by);
                let bound = bound.fold(SlotSet::default(), SlotSet::union);
                input.certain().union(bound.intersect(input.schema()))
            }
            Self::Distinct { input } | Self::OrderBy { input, .. } | Self::Slice { input, .. } => {
                input.certain()
            }
            Self::Extend { input, slot, expr } => {
                let mut set = input.certain();
                if is_certain(expr, &set) {
                    set.insert(*slot);
                }
                set
            }
            Self::Project { input, slots } => input.certain().intersect(SlotSet::of(slots)),
            Self::Values { slots, rows } => certain_values(slots, rows),
            Self::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                let below = input.certain();
                let bound = aggregates
                    .iter()
                    .filter(|aggregate| is_bound_in_groups(aggregate, keys, &below));
                SlotSet::of(keys)
                    .intersect(below)
                    .union(bound.map(|aggregate| aggregate.slot).collect())
            }
            Self::Union(inputs) => inputs
                .iter()
                .map(Self::certain)
                .reduce(SlotSet::intersect)
                .unwrap_or_default(),
            // A row without an endpoint ends the query, unless failures are silent.
            Self::Service(service) => service
                .certain
                .iter()
                .copied()
                .chain(service.endpoint_slot().filter(|_| !service.silent))
                .collect(),
        }
    }

    /// Whether some row may bind a slot: GROUP BY and subselects may name one that nothing inside binds.
    pub(crate) fn may_bind(&self, slot: Slot) -> bool {
        match self {
            Self::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                let is_made = aggregates.iter().any(|aggregate| aggregate.slot == slot);
                is_made || keys.contains(&slot) && input.may_bind(slot)
            }
            Self::Project { input, slots } => slots.contains(&slot) && input.may_bind(slot),
            Self::Extend {
                input, slot: made, ..
            } => *made == slot || input.may_bind(slot),
            other => other.schema().contains(slot),
        }
    }

    /// Every slot that the plan mentions where an enclosing row could provide it.
    pub(crate) fn mentioned(&self) -> SlotSet {
        let set = self.schema();
        match self {
            Self::Empty | Self::Values { .. } | Self::GraphNames { .. } | Self::Service(_) => set,
            Self::Group(group) => group
                .children
                .iter()
                .fold(set.union(slots_of_all(&group.filters)), |set, child| {
                    set.union(child.mentioned())
                }),
            Self::LeftJoin {
                left,
                right,
                conditions,
            }
            | Self::AntiJoin {
                left,
                right,
                conditions,
            } => {
                let set = set.union(slots_of_all(conditions));
                set.union(left.mentioned()).union(right.mentioned())
            }
            Self::Minus { left, right, .. } | Self::Lateral { left, right } => {
                set.union(left.mentioned()).union(right.mentioned())
            }
            Self::Filter { input, conditions } => {
                set.union(slots_of_all(conditions)).union(input.mentioned())
            }
            Self::Extend { input, expr, .. } => set.union(slots_of(expr)).union(input.mentioned()),
            Self::OrderBy { input, keys } => {
                keys.iter().fold(set.union(input.mentioned()), |set, key| {
                    set.union(slots_of(&key.expr))
                })
            }
            Self::Project { input, .. } | Self::Distinct { input } | Self::Slice { input, .. } => {
                set.union(input.mentioned())
            }
            Self::Aggregate {
                input, aggregates, ..
            } => aggregates
                .iter()
                .filter_map(|aggregate| aggregate.argument.as_ref())
                .fold(set.union(input.mentioned()), |set, expr| {
                    set.union(slots_of(expr))
                }),
            Self::Union(inputs) => inputs
                .iter()
                .fold(set, |set, input| set.union(input.mentioned())),
        }
    }
}

/// Whether an expression never fails on rows where these slots are bound.
pub(crate) fn is_certain(expr: &Expr, certain: &SlotSet) -> bool {
    match expr {
        Expr::Constant(_) | Expr::Bound(_) => true,
        Expr::Slot(slot) => certain.contains(*slot),
        Expr::Coalesce(list) => list.iter().any(|expr| is_certain(expr, certain)),
        _ => false,
    }
}

/// Whether an aggregate has a value in every group of rows that bind these slots: a count always, and one of the values of a slot where each group has a row.
pub(crate) fn is_bound_in_groups(aggregate: &Aggregate, keys: &[Slot], certain: &SlotSet) -> bool {
    match (&aggregate.function, &aggregate.argument) {
        (AggregateFunction::Count, _) => true,
        (function, Some(Expr::Slot(slot))) if function.picks_one() => {
            !keys.is_empty() && certain.contains(*slot)
        }
        _ => false,
    }
}

/// Gives each condition to the first of two groups that has all that it needs; those that have no place in either are left.
pub(crate) fn share_filters(
    filters: &[Expr],
    first: &mut JoinGroup,
    second: &mut JoinGroup,
) -> Vec<Expr> {
    let homes = [first.schema(), second.schema()];
    let mut homeless = Vec::new();
    for filter in filters {
        let slots = slots_of(filter);
        let home = match homes.iter().position(|home| slots.is_subset(home)) {
            Some(0) => &mut first.filters,
            Some(_) => &mut second.filters,
            None => &mut homeless,
        };
        home.push(filter.clone());
    }
    homeless
}

/// The slots without UNDEF in any row.
pub(crate) fn certain_values(slots: &[Slot], rows: &[Vec<Option<Constant>>]) -> SlotSet {
    let bound = |idx: usize| {
        rows.iter()
            .all(|row| row.get(idx).is_some_and(Option::is_some))
    };
    slots
        .iter()
        .enumerate()
        .filter(|(idx, _)| bound(*idx))
        .map(|(_, slot)| *slot)
        .collect()
}
