//! `KnownOrders`: the join orders that searches found for groups of the same shape, on one state of the data.
//!
//! Texts of one template differ in constants, and mostly their joins are ordered alike: so the sampling and the search, which are most of the planning of
//! a join, need not be done for each. A *group shape* is all that the search looks at but constants, and the magnitude of the rows and the cost of each unit,
//! in powers of two. When several searches in a row, for different constants, came to the same tree of joins for a shape, the tree is taken for those
//! that follow, and each join of it by the way that costs least with their own rows. What samples said of sets of units ([`Corrections`]) is taken with it, as factors,
//! while it is steady: the same within [`STEADY`] times for all constants so far. Else the sets of the tree are sampled for each group.
//!
//! Constants of the same magnitude may still be joined best in different orders, where columns depend on each other: [`Agreement`] says how often a tree must have been found
//! for others, and has some groups searched all the same.
//!
//! Invariant: a tree says in which order units are joined and nothing else; whatever it says, the plan has the right answer. So shapes are compared by hash
//! alone. Bound: [`SHAPES_MAX`] shapes, some hundred bytes each; when there are as many, all go. Cost: a hash of the group, 1 µs, and a lock.

use super::corrections::Corrections;
use super::search::{Found, Step};
use super::{Problem, Unit, UnitKind};
use crate::agreement::{Agreement, Taken, magnitude};
use crate::expression::for_each_operand;
use crate::physical::{Expr, Pattern, Position, Star};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::{Arc, Mutex, PoisonError};

/// Shapes that are kept.
const SHAPES_MAX: usize = 1024;
/// What samples say of a set of units is steady if it differs by no more than so many times between constants.
const STEADY: f64 = 1.5;

/// A set of units that is joined from two smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The two sets, the smaller number first.
    pub(super) parts: [u64; 2],
}

impl Split {
    fn new(a: u64, b: u64) -> Self {
        Self {
            parts: [a.min(b), a.max(b)],
        }
    }

    /// All units.
    pub(super) fn mask(self) -> u64 {
        self.parts[0] | self.parts[1]
    }
}

/// What is known of the joins of a shape.
#[derive(Clone, Debug)]
pub(super) struct KnownOrder {
    /// The tree of joins, parts before what they are parts of.
    pub(super) splits: Vec<Split>,
    /// For each of them the least and the most times the rows by formulas that samples said.
    ranges: Vec<(f64, f64)>,
    /// What samples said last.
    corrections: Arc<Corrections>,
}

impl KnownOrder {
    fn of(found: &Found) -> Self {
        let splits = splits_of(found);
        let factor = |split: &Split| found.corrections.factor(split.mask());
        Self {
            ranges: splits
                .iter()
                .map(|split| (factor(split), factor(split)))
                .collect(),
            splits,
            corrections: Arc::clone(&found.corrections),
        }
    }

    /// What samples say, if it is about the same for all constants.
    pub(super) fn steady_corrections(&self) -> Option<&Arc<Corrections>> {
        let is_steady = |(least, most): &(f64, f64)| *most <= least * STEADY;
        self.ranges
            .iter()
            .all(is_steady)
            .then_some(&self.corrections)
    }

    /// Takes in what was found for other constants.
    fn join(&mut self, other: Self) {
        for ((least, most), (low, high)) in self.ranges.iter_mut().zip(other.ranges) {
            *least = least.min(low);
            *most = most.max(high);
        }
        self.corrections = other.corrections;
    }
}

/// Join orders by shape; see the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct KnownOrders {
    kept: Mutex<HashMap<u64, Kept>>,
    /// How many groups took the order of others.
    pub(crate) taken: Taken,
}

#[derive(Debug)]
struct Kept {
    order: Arc<KnownOrder>,
    agreement: Agreement,
}

impl KnownOrders {
    /// The order of a shape, if it is to be believed.
    pub(super) fn find(&self, shape: GroupShape) -> Option<Arc<KnownOrder>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get_mut(&shape.hash)?;
        if !known.agreement.is_reached() {
            return None;
        }
        self.taken.note();
        Some(Arc::clone(&known.order))
    }

    /// Keeps what a search found.
    pub(super) fn tell(&self, shape: GroupShape, found: &Found) {
        let order = KnownOrder::of(found);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = kept.get_mut(&shape.hash) else {
            if kept.len() >= SHAPES_MAX {
                kept.clear();
            }
            let known = Kept {
                order: Arc::new(order),
                agreement: Agreement::new(shape.has_constants.then_some(shape.constants)),
            };
            kept.insert(shape.hash, known);
            return;
        };
        if known.order.splits != order.splits {
            known.agreement.ends(shape.constants);
            known.order = Arc::new(order);
        } else if known.agreement.goes_on(shape.constants) {
            Arc::make_mut(&mut known.order).join(order);
        }
    }

    /// None yet, for the next state of the data; what was taken goes on being counted.
    pub(crate) fn for_next_state(&self) -> Self {
        Self {
            taken: self.taken.for_next_state(),
            ..Self::default()
        }
    }
}

/// The tree of joins that a search found.
fn splits_of(found: &Found) -> Vec<Split> {
    let mut splits = Vec::new();
    let mut sets = vec![found.full];
    // Termination: parts have fewer units.
    while let Some(mask) = sets.pop() {
        let parts = match found.best[&mask].step {
            Step::Leaf { .. } => continue,
            Step::Star { rest, unit_idx, .. }
            | Step::Pattern { rest, unit_idx }
            | Step::Path { rest, unit_idx }
            | Step::Count { rest, unit_idx } => [rest, 1 << unit_idx],
            Step::Hash { left, right, .. } | Step::Merge { left, right, .. } => [left, right],
        };
        splits.push(Split::new(parts[0], parts[1]));
        sets.extend(parts);
    }
    // A set has a larger number than its parts.
    splits.sort_by_key(|split| split.mask());
    splits
}

/// What groups have in common whose joins are likely to be ordered alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupShape {
    hash: u64,
    /// A hash of the constants.
    constants: u64,
    has_constants: bool,
}

impl GroupShape {
    /// The shape of a group; `None` if it has paths, of which the search asks more than is looked at here.
    pub(super) fn of(problem: &Problem<'_>) -> Option<Self> {
        let mut walk = Walk::default();
        problem.units.len().hash(&mut walk.shape);
        for unit in problem.units {
            walk.unit(unit)?;
        }
        for condition in problem.conditions {
            condition.exists.hash(&mut walk.shape);
            walk.expression(&condition.expr);
        }
        Some(Self {
            hash: walk.shape.finish(),
            constants: walk.constants.finish(),
            has_constants: walk.has_constants,
        })
    }
}

#[derive(Default)]
struct Walk {
    shape: DefaultHasher,
    constants: DefaultHasher,
    has_constants: bool,
}

impl Walk {
    fn unit(&mut self, unit: &Unit) -> Option<()> {
        discriminant(&unit.kind).hash(&mut self.shape);
        magnitude(unit.rows).hash(&mut self.shape);
        magnitude(unit.cost).hash(&mut self.shape);
        match &unit.kind {
            UnitKind::Star(star) => {
                let access = unit.profile.as_ref().map(|profile| &profile.access);
                access.hash(&mut self.shape);
                self.star(star);
            }
            UnitKind::Pattern(pattern) => self.pattern(pattern),
            UnitKind::Path(_) => return None,
            UnitKind::Plan(node) => {
                discriminant(&node.op).hash(&mut self.shape);
                node.schema.hash(&mut self.shape);
                node.certain.hash(&mut self.shape);
                node.sorted_by.hash(&mut self.shape);
                // Its constants decide its rows.
                self.constant(unit.rows.to_bits());
            }
        }
        Some(())
    }

    fn star(&mut self, star: &Star) {
        self.position(star.subject);
        star.graphs.hash(&mut self.shape);
        star.tables.hash(&mut self.shape);
        for pattern in &star.patterns {
            (pattern.predicate, pattern.optional).hash(&mut self.shape);
            self.position(pattern.object);
        }
        for filter in &star.filters {
            self.expression(filter);
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        pattern.predicate.hash(&mut self.shape);
        self.position(pattern.subject);
        self.position(pattern.object);
        pattern.graphs.hash(&mut self.shape);
    }

    fn position(&mut self, position: Position) {
        match position {
            Position::Slot(slot) => slot.hash(&mut self.shape),
            Position::Id(id) => {
                u64::MAX.hash(&mut self.shape);
                self.constant(id.0);
            }
        }
    }

    fn constant(&mut self, constant: impl Hash) {
        constant.hash(&mut self.constants);
        self.has_constants = true;
    }

    fn expression(&mut self, expr: &Expr) {
        discriminant(expr).hash(&mut self.shape);
        match expr {
            Expr::Slot(slot) | Expr::Bound(slot) => slot.hash(&mut self.shape),
            Expr::Constant(constant) => match constant.id {
                Some(id) => {
                    id.datatype_tag().hash(&mut self.shape);
                    self.constant(id.0);
                }
                None => self.constant(&constant.term),
            },
            Expr::Call(function, _) => function.hash(&mut self.shape),
            Expr::Exists(node) => (node.id, &node.schema).hash(&mut self.shape),
            _ => {}
        }
        for_each_operand(expr, &mut |operand| self.expression(operand));
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::Search;
    use super::super::{Condition, Problem};
    use super::*;
    use crate::agreement::{AGAIN, ALIKE_MIN};
    use crate::logical::Triple;
    use crate::physical::{Graphs, Slot};
    use crate::planner::{PlanOptions, Planner};
    use crate::testing::FakeStatistics;
    use basalt_rdf::TermId;

    const NO_CONDITIONS: &[Condition] = &[];

    /// Offers of products with an object of a predicate, and their vendors.
    fn with_group(
        (predicate, object): (&str, Position),
        check: impl Fn(&Planner<'_>, &Problem<'_>, GroupShape),
    ) {
        let mut statistics = FakeStatistics::shop();
        let [offer, product, vendor] = [0, 1, 2].map(|slot| Position::Slot(Slot(slot)));
        let [price, country] = [3, 4].map(|slot| Position::Slot(Slot(slot)));
        let triples = [
            (offer, "product", product),
            (offer, "price", price),
            (product, predicate, object),
            (offer, "vendor", vendor),
            (vendor, "country", country),
        ];
        let triples = triples.map(|(subject, predicate, object)| Triple {
            subject,
            predicate: Position::Id(statistics.id(predicate)),
            object,
            graphs: Graphs::One(TermId::DEFAULT_GRAPH),
            optional: false,
        });
        let options = PlanOptions::default();
        let mut planner = Planner::new(&statistics, &options);
        let kinds = planner
            .stars_and_patterns(&triples)
            .expect("they are stars");
        let units = kinds.into_iter();
        let units: Vec<Unit> = units
            .map(|kind| Unit::new(&planner, kind, NO_CONDITIONS))
            .collect();
        let problem = Problem {
            units: &units,
            conditions: NO_CONDITIONS,
        };
        let shape = GroupShape::of(&problem).expect("there are no paths");
        check(&planner, &problem, shape);
    }

    fn of_type(row: u64) -> (&'static str, Position) {
        ("type", Position::Id(TermId::resource(1_000 + row)))
    }

    fn shape_of(group: (&str, Position)) -> GroupShape {
        let shape = std::cell::Cell::new(None);
        with_group(group, |_, _, of_group| shape.set(Some(of_group)));
        shape.get().expect("the check is run")
    }

    #[test]
    fn constants_are_no_part_of_a_shape() {
        let (one, other) = (shape_of(of_type(0)), shape_of(of_type(1)));
        assert_eq!(one.hash, other.hash);
        assert_ne!(one.constants, other.constants);
        assert_eq!(one.constants, shape_of(of_type(0)).constants);
        let open = shape_of(("type", Position::Slot(Slot(5))));
        assert_ne!(one.hash, open.hash);
        assert!(one.has_constants && !open.has_constants);
        // As many products, but of another predicate.
        let feature = ("feature", Position::Id(TermId::resource(1_000)));
        assert_ne!(one.hash, shape_of(feature).hash);
    }

    #[test]
    fn an_order_is_believed_when_several_constants_had_it() {
        let orders = KnownOrders::default();
        let search = |constant: u64| {
            let found = std::cell::Cell::new(false);
            with_group(of_type(constant), |planner, problem, shape| {
                let known = orders.find(shape);
                found.set(known.is_some());
                let searched = Search::new(planner, problem).run();
                let Some(order) = known else {
                    return orders.tell(shape, &searched);
                };
                let followed = Search::following(planner, problem, &order).expect("a plan");
                assert_eq!(splits_of(&followed), splits_of(&searched));
                let (followed, searched) =
                    (followed.best[&followed.full], searched.best[&searched.full]);
                assert!((followed.cost - searched.cost).abs() <= searched.cost * 1e-9);
                assert_eq!(followed.rows, searched.rows);
            });
            found.get()
        };
        // The same constant twice tells nothing new.
        let constants = [0, 0, 1, 2, 3];
        assert_eq!(constants.map(search), [false; 5]);
        assert!(!search(4), "three others so far");
        let found: Vec<bool> = (5..5 + u64::from(AGAIN)).map(search).collect();
        let searched = found.iter().filter(|known| !**known).count();
        assert_eq!(searched, 1, "{found:?}");
        assert_eq!(orders.taken.count(), found.len() as u64 - 1);
    }

    #[test]
    fn another_order_must_be_found_more_often() {
        let orders = KnownOrders::default();
        with_group(of_type(0), |planner, problem, shape| {
            let mut found = Search::new(planner, problem).run();
            let tell = |found: &Found, constants: std::ops::Range<u64>| {
                for constants in constants {
                    orders.tell(GroupShape { constants, ..shape }, found);
                }
            };
            let is_known = || orders.find(shape).is_some();
            tell(&found, 0..1 + u64::from(ALIKE_MIN));
            assert!(is_known());
            // The same units in another tree.
            let full = found.full;
            let [Split { parts: [a, b] }, _] = splits_of(&found)[..] else {
                unreachable!("three units are joined by two joins");
            };
            let rest = full & !a;
            let single = |mask: u64| mask.trailing_zeros() as usize;
            let other = [(rest, [b, rest & !b]), (full, [rest, a])];
            for (mask, [rest, unit]) in other {
                let mut candidate = found.best[&full];
                candidate.step = Step::Pattern {
                    rest,
                    unit_idx: single(unit),
                };
                found.best.insert(mask, candidate);
            }
            tell(&found, 10..11 + u64::from(ALIKE_MIN));
            assert!(!is_known());
            tell(&found, 20..20 + u64::from(ALIKE_MIN));
            assert!(is_known());
        });
    }

    #[test]
    fn what_differs_between_constants_is_not_steady() {
        let order = |factors: [f64; 2]| KnownOrder {
            splits: vec![Split::new(1, 2), Split::new(3, 4)],
            ranges: factors.map(|factor| (factor, factor)).to_vec(),
            corrections: Arc::default(),
        };
        let mut known = order([1.0, 2.0]);
        assert!(known.steady_corrections().is_some());
        known.join(order([1.4, 2.5]));
        assert!(known.steady_corrections().is_some());
        known.join(order([0.9, 2.5]));
        assert!(known.steady_corrections().is_none());
        known.join(order([1.0, 2.0]));
        assert!(known.steady_corrections().is_none(), "once is enough");
    }
}
