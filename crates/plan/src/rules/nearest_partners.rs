//! Of partners in a range those that a NOT EXISTS above drops are not joined: the latest rate before a day, the next stop of a trip.
//!
//! ```text
//! HashJoin anti on ?c in ranges of ?e if ?d < ?e && ?e <= ?day        is there a later one until that day?
//!   HashJoin on ?c build right in ranges of ?d, the greatest alone      <- all others have a later one
//!     StarScan ?order { :currency ?c; :day ?day }
//!     StarScan ?rate { :currency ?c; :date ?d; :rate ?r }
//!   StarScan ?other { :currency ?c; :date ?e }
//! ```
//!
//! A partner of which another partner of the same row, in the same range, is further towards one end has that one as a witness: the join above finds
//! it, wherever the rows of its right side hold all that the build side holds, and its condition says nothing of these but what the range
//! says. So only partners at the end need be joined. Where words do not tell comparisons all are, and the join above drops them: this is a hint, and
//! what it leaves out changes no answer (as-of joins; SPARQL has no other way to ask for them than this one and MAX).
//!
//! Runs over the physical plan before conditions are changed. Cost: a walk over the plan.

use crate::expression::{conjuncts, for_each_operand_mut};
use crate::join_ranges::{join_ranges, probe_and_build};
use crate::moved_terms::is_constant_of_seconds;
use crate::physical::{
    Constant, Expr, JoinKind, Nearest, Node, Op, Position, RangeEnd, Slot, Star, StarPattern,
};
use crate::planner::Planner;
use crate::rename_slots::expression_slots;
use oxrdf::Term;
use std::sync::Arc;

/// Marks such joins in the whole plan.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("nearest_partners") {
        visit(root, planner);
    }
}

fn visit(node: &mut Node, planner: &Planner<'_>) {
    for child in node.op.children_mut() {
        visit(child, planner);
    }
    for expr in node.op.expressions_mut() {
        visit_exists(expr, planner);
    }
    if let Some(above) = Above::of(node)
        && let Op::HashJoin { left, .. } = &mut node.op
    {
        mark(Arc::make_mut(left), &above, planner);
    }
}

fn visit_exists(expr: &mut Expr, planner: &Planner<'_>) {
    match expr {
        Expr::Exists(inside) => visit(Arc::make_mut(inside), planner),
        _ => for_each_operand_mut(expr, &mut |operand| visit_exists(operand, planner)),
    }
}

/// A join that drops rows with a partner.
struct Above {
    keys: Vec<Slot>,
    star: Star,
    conditions: Vec<Expr>,
}

impl Above {
    fn of(node: &Node) -> Option<Self> {
        let Op::HashJoin {
            right,
            keys,
            compatible,
            kind: JoinKind::Anti,
            filter: Some(filter),
            ..
        } = &node.op
        else {
            return None;
        };
        Some(Self {
            keys: keys.clone(),
            star: scanned(right).filter(|_| compatible.is_empty())?.clone(),
            conditions: conjuncts(filter),
        })
    }
}

/// The star that a plan scans, whatever columns it keeps.
pub(crate) fn scanned(node: &Node) -> Option<&Star> {
    match &node.op {
        Op::StarScan { star, .. } => Some(star),
        Op::Project { input } => scanned(input),
        _ => None,
    }
}

/// Adds the stars of which each row of a plan has a match.
fn add_stars<'n>(node: &'n Node, stars: &mut Vec<&'n Star>) {
    match &node.op {
        Op::StarScan { star, .. } => stars.push(star),
        Op::StarJoin {
            input, star, kind, ..
        } => {
            if *kind == JoinKind::Inner {
                stars.push(star);
            }
            add_stars(input, stars);
        }
        Op::HashJoin {
            left, right, kind, ..
        } => {
            add_stars(left, stars);
            if *kind == JoinKind::Inner {
                add_stars(right, stars);
            }
        }
        Op::Filter { input, .. } | Op::Project { input } | Op::Distinct { input } => {
            add_stars(input, stars);
        }
        _ => {}
    }
}

/// Marks the join that makes the rows which the one above drops, if there is one down the sides whose rows go up as they are.
fn mark(node: &mut Node, above: &Above, planner: &Planner<'_>) {
    if let Some((nearest, build_left)) = nearest(node, above, planner)
        && let Op::HashJoin {
            left,
            right,
            nearest: own,
            build_left: side,
            ..
        } = &mut node.op
    {
        (*own, *side) = (Some(nearest), build_left);
        let probe = if build_left { right } else { left };
        node.estimated_rows = node.estimated_rows.min(probe.estimated_rows);
        return;
    }
    match &mut node.op {
        Op::Filter { input, .. }
        | Op::Extend { input, .. }
        | Op::Project { input }
        | Op::StarJoin { input, .. } => {
            mark(Arc::make_mut(input), above, planner);
        }
        Op::HashJoin {
            left,
            right,
            kind,
            partners,
            ..
        } if partners.is_empty() => {
            mark(Arc::make_mut(left), above, planner);
            if *kind == JoinKind::Inner {
                mark(Arc::make_mut(right), above, planner);
            }
        }
        _ => {}
    }
}

/// Which partners of an inner join are enough under the join above, and whether the left side is to be built.
fn nearest(join: &Node, above: &Above, planner: &Planner<'_>) -> Option<(Nearest, bool)> {
    let Op::HashJoin {
        left,
        right,
        keys,
        compatible,
        kind: JoinKind::Inner,
        filter: Some(filter),
        partners,
        ..
    } = &join.op
    else {
        return None;
    };
    if !compatible.is_empty()
        || !partners.is_empty()
        || !above.keys.iter().all(|key| keys.contains(key))
    {
        return None;
    }
    let own = conjuncts(filter);
    for (side, build_left) in [(right, false), (left, true)] {
        let mut stars = Vec::new();
        add_stars(side, &mut stars);
        let direction = stars.into_iter().find_map(|star| {
            let names = Names::of(&above.star, star, &above.keys)?;
            names.direction(&above.conditions)
        });
        let Some((slot, end, others)) = direction else {
            continue;
        };
        let mut turned = join.op.clone();
        if let Op::HashJoin {
            build_left: side, ..
        } = &mut turned
        {
            *side = build_left;
        }
        let Some(ranges) = join_ranges(&turned) else {
            continue;
        };
        let rest = ranges.rest.as_ref().map(conjuncts).unwrap_or_default();
        let [range] = &ranges.ranges[..] else {
            continue;
        };
        let told = || own.iter().filter(|own| !rest.contains(own));
        let is_told = |condition: &Expr| {
            told().any(|own| own == condition || says_less(own, condition, planner))
        };
        let is_built =
            probe_and_build(&turned).is_some_and(|(_, build)| build.schema.contains(&slot));
        if is_built && range.sole() == Some(&Expr::Slot(slot)) && others.iter().all(is_told) {
            return Some((Nearest { slot, end }, build_left));
        }
    }
    None
}

/// Whether a condition says that something is less than something else, by some distance from zero on, and another that it is less.
fn says_less(own: &Expr, condition: &Expr, planner: &Planner<'_>) -> bool {
    let (Expr::Less(less, more) | Expr::LessOrEqual(less, more)) = condition else {
        return false;
    };
    let (is_strict, small, large) = match own {
        Expr::Less(small, large) => (true, &**small, &**large),
        Expr::LessOrEqual(small, large) => (false, &**small, &**large),
        _ => return false,
    };
    let distance = match (small, large) {
        (Expr::Constant(distance), Expr::Subtract(a, b)) if (a, b) == (more, less) => {
            Some((distance, true))
        }
        (Expr::Add(a, b), large) if *large == **more => match (&**a, &**b) {
            (Expr::Constant(distance), of) | (of, Expr::Constant(distance)) if *of == **less => {
                Some((distance, false))
            }
            _ => None,
        },
        (small, Expr::Subtract(a, b)) if *small == **less && a == more => match &**b {
            Expr::Constant(distance) => Some((distance, false)),
            _ => None,
        },
        _ => None,
    };
    let Some((distance, is_difference)) = distance else {
        return false;
    };
    // A sum may be rounded to what it was, but for one of a time.
    let adds_up = is_difference || is_constant_of_seconds(distance);
    let asks_less = matches!(condition, Expr::Less(..));
    let says = match is_strict || !asks_less {
        true => !is_negative(distance),
        false => adds_up && is_positive(distance),
    };
    // The plan is for this constant alone, where constants without ids cannot be told apart.
    says && planner
        .trace
        .is_none_or(|trace| distance.id.inspect(|id| trace.fixed(*id)).is_some())
}

/// Whether the value of a constant may lie below zero.
fn is_negative(constant: &Constant) -> bool {
    text(constant).is_none_or(|text| text.trim_start().starts_with('-'))
}

/// Whether the value of a constant lies above zero, if it has one.
fn is_positive(constant: &Constant) -> bool {
    let digits = text(constant).and_then(|text| text.split(['e', 'E']).next());
    let is_zero = digits.is_none_or(|digits| !digits.contains(|c| matches!(c, '1'..='9')));
    !is_zero && !is_negative(constant)
}

fn text(constant: &Constant) -> Option<&str> {
    match &constant.term {
        Term::Literal(literal) => Some(literal.value()),
        _ => None,
    }
}

/// Slots of the star above, and those of the star below that stand for the same: whatever the one below matches, the one above does.
struct Names(Vec<(Slot, Slot)>);

impl Names {
    fn of(above: &Star, below: &Star, keys: &[Slot]) -> Option<Self> {
        let fits = above.graphs == below.graphs
            && above.graphs.slot().is_none()
            && below.tables.iter().all(|table| above.has_table(*table));
        if !fits {
            return None;
        }
        let mut names = Self(Vec::new());
        names.add(above.subject, below.subject, keys)?;
        for pattern in &above.patterns {
            let is_same = |other: &&StarPattern| {
                let is_pattern = other.predicate == pattern.predicate && !other.optional;
                is_pattern && names.fit(pattern.object, other.object, keys)
            };
            let other = below
                .patterns
                .iter()
                .find(is_same)
                .filter(|_| !pattern.optional)?;
            names.add(pattern.object, other.object, keys)?;
        }
        let is_asked = |filter: &Expr| below.filters.contains(&names.renamed(filter));
        above.filters.iter().all(is_asked).then_some(names)
    }

    /// Whether a position below may stand for one above: a key for itself, another slot for one that it does not stand for yet.
    fn fit(&self, above: Position, below: Position, keys: &[Slot]) -> bool {
        match (above, below) {
            (Position::Slot(above), Position::Slot(below)) => {
                let known = self.0.iter().find(|(name, _)| *name == above);
                match known {
                    Some((_, own)) => *own == below,
                    None => !keys.contains(&above) || above == below,
                }
            }
            (above, below) => above == below,
        }
    }

    fn add(&mut self, above: Position, below: Position, keys: &[Slot]) -> Option<()> {
        let fits = self.fit(above, below, keys);
        if let (Position::Slot(above), Position::Slot(below)) = (above, below) {
            self.0.push((above, below));
        }
        fits.then_some(())
    }

    fn renamed(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        expression_slots(&mut expr, &mut |slot| {
            if let Some((_, below)) = self.0.iter().find(|(above, _)| above == slot) {
                *slot = *below;
            }
        });
        expr
    }

    /// The slot below that conditions above compare with its own name, towards which end, and the others as the join below says them.
    fn direction(&self, conditions: &[Expr]) -> Option<(Slot, RangeEnd, Vec<Expr>)> {
        let directions = conditions.iter().map(|condition| self.end(condition));
        let directions: Vec<Option<(Slot, RangeEnd)>> = directions.collect();
        let mut found = directions.iter().flatten();
        let (slot, end) = *found.next()?;
        let others = conditions.iter().zip(&directions);
        let others = others.filter(|(_, direction)| direction.is_none());
        let others = others
            .map(|(condition, _)| self.renamed(condition))
            .collect();
        found.next().is_none().then_some((slot, end, others))
    }

    /// Towards which end the name above lies by a condition: `?d < ?e`, or one of several that holds with it.
    fn end(&self, condition: &Expr) -> Option<(Slot, RangeEnd)> {
        match condition {
            Expr::Less(a, b) => {
                let (Expr::Slot(a), Expr::Slot(b)) = (&**a, &**b) else {
                    return None;
                };
                let stands_for = |above, below| self.0.contains(&(above, below)) && above != below;
                match (stands_for(*b, *a), stands_for(*a, *b)) {
                    (true, false) => Some((*a, RangeEnd::Greatest)),
                    (false, true) => Some((*b, RangeEnd::Least)),
                    _ => None,
                }
            }
            Expr::Or(parts) => parts.iter().find_map(|part| self.end(part)),
            _ => None,
        }
    }
}
