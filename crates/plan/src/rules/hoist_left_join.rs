//! Joins two plans; flattens groups, and moves an OPTIONAL above what is joined to it later.
//!
//! `(A ⟕ B) ⋈ C` is `(A ⋈ C) ⟕ B` when C shares with B (and the condition) only slots that are
//! certain in A. Then A and C become one group, free to be ordered.

use crate::expression::slots_of_all;
use crate::logical::{JoinGroup, Logical};
use crate::planner::Planner;

/// The join of two plans.
pub(crate) fn join(planner: &Planner<'_>, left: Logical, right: Logical) -> Logical {
    if left == Logical::Empty || right == Logical::Empty {
        return Logical::Empty;
    }
    if planner.rule("hoist_left_join") {
        match (left, right) {
            (
                Logical::LeftJoin {
                    left: a,
                    right: b,
                    conditions,
                },
                c,
            ) if movable(&a, &b, &conditions, &c) => {
                let left = Box::new(join(planner, *a, c));
                return Logical::LeftJoin {
                    left,
                    right: b,
                    conditions,
                };
            }
            (
                c,
                Logical::LeftJoin {
                    left: a,
                    right: b,
                    conditions,
                },
            ) if movable(&a, &b, &conditions, &c) => {
                let left = Box::new(join(planner, c, *a));
                return Logical::LeftJoin {
                    left,
                    right: b,
                    conditions,
                };
            }
            (left, right) => return merge(left, right),
        }
    }
    merge(left, right)
}

fn movable(a: &Logical, b: &Logical, conditions: &[crate::physical::Expr], c: &Logical) -> bool {
    let needed = b.mentioned().union(slots_of_all(conditions));
    needed.intersect(c.schema()).is_subset(&a.certain())
}

/// Joins the parts of two groups into one where nothing changes its meaning by that.
fn merge(left: Logical, right: Logical) -> Logical {
    let (left_schema, right_schema) = (left.schema(), right.schema());
    let as_group = |plan: Logical, other| match plan {
        Logical::Group(group) if group.can_merge(other) => group,
        plan => JoinGroup {
            children: vec![plan],
            ..JoinGroup::default()
        },
    };
    let mut group = as_group(left, &right_schema);
    let other = as_group(right, &left_schema);
    for triple in other.triples {
        if !group.triples.contains(&triple) {
            group.triples.push(triple);
        }
    }
    group.paths.extend(other.paths);
    group.children.extend(other.children);
    group.filters.extend(other.filters);
    Logical::Group(group)
}
