//! `PlanTemplate`: a plan with other constants put in their places, and what must be the same for it to be theirs.
//!
//! The planner looks at a constant of a query in few ways. An IRI that the store knows is an id to it; which id decides the tables of a star
//! that it is the subject or an object of (`choose_tables`), and how many rows are expected. A literal in an expression decides the latter alone. So planning notes, as a [`Trace`], the units that it meets
//! with constants; what is [`Asked`] of them for others is asked anew, and the plan holds for these if stars have the same tables, and is as good a choice as the answers are
//! alike in magnitude. Of IRIs that are not known, graphs, predicates, ends of paths, and literals in triples more is decided: such constants stay as they are.
//!
//! Invariant: constants that are replaced differ from each other and from all other terms of the query, so no term of the plan stands for two of them.

use crate::agreement::magnitude;
use crate::estimate::{condition, pattern, star, star_rows};
use crate::expression::for_each_operand_mut;
use crate::join_order::UnitKind;
use crate::physical::{Constant, Expr, Form, Node, Op, Pattern, Plan, Position, Star};
use crate::planner::Planner;
use basalt_rdf::TermId;
use oxrdf::{NamedNode, Term};
use spargebra::term::TermPattern;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

/// Stands in [`Circumstances`] before what must be the same of a unit.
const NEXT_UNIT: i32 = i32::MIN;

/// The units with constants that planning met.
#[derive(Debug, Default)]
pub(crate) struct Trace(RefCell<Vec<TracedUnit>>);

/// A star or a pattern with constants, or what values of a predicate are compared with.
#[derive(Clone, Debug, PartialEq)]
enum TracedUnit {
    Star(Star),
    Pattern(Pattern),
    Compared {
        predicate: TermId,
        order: Ordering,
        constant: TermId,
    },
    /// A constant that decides what is read in another way; plans are for it alone.
    Fixed(TermId),
}

impl Trace {
    /// Notes a constant for which no other may stand.
    pub(crate) fn fixed(&self, constant: TermId) {
        self.note(TracedUnit::Fixed(constant));
    }

    /// Notes a star, whatever its tables are, or a pattern.
    pub(crate) fn unit(&self, unit: &UnitKind) {
        match unit {
            UnitKind::Star(star) => {
                let objects = star.patterns.iter().map(|pattern| pattern.object);
                if objects.chain([star.subject]).any(is_constant) {
                    let mut star = star.clone();
                    star.tables.clear();
                    self.note(TracedUnit::Star(star));
                }
            }
            UnitKind::Pattern(pattern) => {
                if is_constant(pattern.subject) || is_constant(pattern.object) {
                    self.note(TracedUnit::Pattern(pattern.clone()));
                }
            }
            UnitKind::Path(_) | UnitKind::Plan(_) => {}
        }
    }

    /// Notes the constants that values of a star are compared with.
    pub(crate) fn comparisons(&self, star: &Star) {
        for compared in star_rows::comparisons(star) {
            self.note(TracedUnit::Compared {
                predicate: compared.predicate,
                order: compared.order(),
                constant: compared.constant,
            });
        }
    }

    fn note(&self, unit: TracedUnit) {
        let mut units = self.0.borrow_mut();
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
}

fn is_constant(position: Position) -> bool {
    matches!(position, Position::Id(_))
}

/// What planning asks of the constants of a query, whatever they are.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Asked(Vec<AskedUnit>);

#[derive(Debug, PartialEq)]
struct AskedUnit {
    /// With [`TermId::DEFAULT_GRAPH`] in place of constants.
    unit: TracedUnit,
    /// Where they are in the unit, and which of them.
    places: Vec<(usize, usize)>,
}

/// What the statistics answered for some constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// Kinds of ids and tables, without which a plan is wrong; and which constant of a star is the rarest.
    same: Vec<i32>,
    /// How many rows there are, in powers of four.
    magnitudes: Vec<i32>,
}

impl Circumstances {
    /// With magnitudes in powers of sixteen.
    pub(crate) fn roughly(&self) -> Self {
        let magnitudes = self.magnitudes.iter();
        Self {
            same: self.same.clone(),
            magnitudes: magnitudes.map(|in_fours| in_fours.div_euclid(2)).collect(),
        }
    }
}

impl Asked {
    /// What was asked of these constants.
    pub(crate) fn of(trace: Trace, constants: &[Constant]) -> Self {
        let units = trace.0.into_inner().into_iter().filter_map(|mut unit| {
            let mut places = Vec::new();
            let mut place = 0;
            unit.for_each_id(&mut |id| {
                let is_it = |constant: &Constant| constant.id == Some(*id);
                if let Some(constant_idx) = constants.iter().position(is_it) {
                    places.push((place, constant_idx));
                    *id = TermId::DEFAULT_GRAPH;
                }
                place += 1;
            });
            (!places.is_empty()).then_some(AskedUnit { unit, places })
        });
        Self(units.collect())
    }

    /// What the statistics answer for these constants.
    pub(crate) fn circumstances(
        &self,
        planner: &Planner<'_>,
        constants: &[Constant],
    ) -> Circumstances {
        let tag = |constant: &Constant| constant.id.map_or(-1, |id| i32::from(id.datatype_tag()));
        let mut answers = Circumstances {
            same: constants.iter().map(tag).collect(),
            magnitudes: Vec::new(),
        };
        for asked in &self.0 {
            answers.same.push(NEXT_UNIT);
            let mut unit = asked.with(constants);
            match &mut unit {
                TracedUnit::Star(star) => {
                    // Plans for other tables than these are wrong.
                    star::choose_tables(planner, star);
                    let tables = star.tables.iter().map(|table| table.0 as i32);
                    answers.same.extend(tables);
                }
                TracedUnit::Fixed(id) => {
                    answers.same.extend([(id.0 >> 32) as i32, id.0 as i32]);
                }
                TracedUnit::Pattern(_) | TracedUnit::Compared { .. } => {}
            }
            if !planner.options.known_plans_always {
                let rows = expected_rows(planner, &unit, constants);
                answers.same.extend(least(&rows));
                answers.magnitudes.extend(rows.into_iter().map(roughly));
            }
        }
        answers
    }
}

impl AskedUnit {
    /// The unit with these constants.
    fn with(&self, constants: &[Constant]) -> TracedUnit {
        let mut unit = self.unit.clone();
        let mut places = self.places.iter().peekable();
        let mut place = 0;
        unit.for_each_id(&mut |id| {
            if let Some(&(_, constant_idx)) = places.next_if(|(at, _)| *at == place) {
                *id = constants[constant_idx].id.unwrap_or(*id);
            }
            place += 1;
        });
        unit
    }
}

/// How many rows there are of each constant, or which share passes: plans for others than these may be slow.
fn expected_rows(planner: &Planner<'_>, unit: &TracedUnit, constants: &[Constant]) -> Vec<f64> {
    let quads = |predicate, object| pattern::object_quads(planner, predicate, object);
    match unit {
        TracedUnit::Star(star) => {
            let objects = star.patterns.iter().filter_map(|pattern| {
                let (Position::Id(object), predicate) = (pattern.object, pattern.predicate) else {
                    return None;
                };
                let is_constant = constants.iter().any(|c| c.id == Some(object));
                is_constant.then(|| quads(predicate, object))
            });
            objects.collect()
        }
        TracedUnit::Pattern(pattern) => vec![pattern::rows(planner, pattern)],
        TracedUnit::Compared {
            predicate,
            order,
            constant,
        } => {
            let passes = || {
                let below = share_below(planner, *predicate, *constant);
                let is_below = *order == Ordering::Less;
                if is_below { below } else { 1.0 - below }
            };
            vec![match order {
                Ordering::Equal => quads(*predicate, *constant),
                _ => condition::never_none(passes()),
            }]
        }
        TracedUnit::Fixed(_) => Vec::new(),
    }
}

/// Which number of several is the least: a star is mostly entered by its rarest constant.
fn least(rows: &[f64]) -> Option<i32> {
    let least = (0..rows.len()).min_by(|a, b| rows[*a].total_cmp(&rows[*b]))?;
    (rows.len() > 1).then_some(least as i32)
}

/// A number in powers of four.
fn roughly(number: f64) -> i32 {
    magnitude(number.sqrt())
}

impl TracedUnit {
    /// Visits the ids that a constant of a query may be, always in the same order.
    fn for_each_id(&mut self, visit: &mut dyn FnMut(&mut TermId)) {
        match self {
            Self::Star(star) => for_each_star_id(star, visit),
            Self::Pattern(pattern) => for_each_pattern_id(pattern, visit),
            Self::Compared { constant, .. } | Self::Fixed(constant) => visit(constant),
        }
    }
}

/// The share of a predicate's range of values in cells that is below a number or a date.
fn share_below(planner: &Planner<'_>, predicate: TermId, bound: TermId) -> f64 {
    let columns = planner.columns(predicate);
    let ranges = columns.iter().filter_map(|(_, column)| column.range);
    let whole = ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    condition::share_below(whole, Some(bound)).unwrap_or(0.5)
}

fn for_each_star_id(star: &mut Star, visit: &mut dyn FnMut(&mut TermId)) {
    let objects = star.patterns.iter_mut().map(|pattern| &mut pattern.object);
    for position in std::iter::once(&mut star.subject).chain(objects) {
        if let Position::Id(id) = position {
            visit(id);
        }
    }
}

fn for_each_pattern_id(pattern: &mut Pattern, visit: &mut dyn FnMut(&mut TermId)) {
    for position in [&mut pattern.subject, &mut pattern.object] {
        if let Position::Id(id) = position {
            visit(id);
        }
    }
}

/// A plan with places for constants; see the [module documentation](self).
#[derive(Debug)]
pub(crate) struct PlanTemplate {
    plan: Plan,
    /// The constants that it was made for.
    constants: Vec<Constant>,
    /// The nodes that have one of them, themselves or below, by number.
    has_constants: Vec<bool>,
}

impl PlanTemplate {
    /// That of a plan that was made for these constants.
    pub(crate) fn new(plan: &Plan, constants: Vec<Constant>) -> Self {
        let mut template = Self {
            plan: plan.clone(),
            constants,
            has_constants: vec![true; plan.node_count],
        };
        let mut has_constants = vec![false; plan.node_count];
        let mut root = plan.root.clone();
        template.replace(&mut root, &template.constants, &mut has_constants);
        template.has_constants = has_constants;
        template
    }

    /// The plan with these constants, as many as there were.
    pub(crate) fn with(&self, constants: &[Constant]) -> Plan {
        let mut plan = self.plan.clone();
        let mut found = vec![false; plan.node_count];
        self.replace(&mut plan.root, constants, &mut found);
        if let Form::Construct(triples) = &mut plan.form {
            let ends = triples
                .iter_mut()
                .flat_map(|triple| [&mut triple.subject, &mut triple.object]);
            for end in ends {
                if let TermPattern::NamedNode(iri) = end
                    && let Some(constant) = self.replacement_of(iri, constants)
                {
                    *iri = constant;
                }
            }
        }
        plan
    }

    fn replacement_of(&self, iri: &NamedNode, constants: &[Constant]) -> Option<NamedNode> {
        let is_it =
            |known: &Constant| matches!(&known.term, Term::NamedNode(known) if known == iri);
        match &constants[self.constants.iter().position(is_it)?].term {
            Term::NamedNode(other) => Some(other.clone()),
            _ => None,
        }
    }

    /// Replaces the constants of a node and of all below, and notes which nodes have some.
    fn replace(&self, node: &mut Node, constants: &[Constant], found: &mut [bool]) -> bool {
        let mut has_some = false;
        let mut replace_id = |id: &mut TermId| {
            let known = self.constants.iter();
            if let Some(idx) = known.into_iter().position(|known| known.id == Some(*id)) {
                *id = constants[idx].id.unwrap_or(*id);
                has_some = true;
            }
        };
        match &mut node.op {
            Op::StarScan { star, .. } | Op::StarJoin { star, .. } => {
                for_each_star_id(star, &mut replace_id);
            }
            Op::PatternScan { pattern, .. }
            | Op::PatternJoin { pattern, .. }
            | Op::CountScan { pattern, .. }
            | Op::CountJoin { pattern, .. } => for_each_pattern_id(pattern, &mut replace_id),
            _ => {}
        }
        for expr in node.op.expressions_mut() {
            has_some |= self.replace_in(expr, constants, found);
        }
        if self.may_have_below(&node.op) {
            for child in node.op.children_mut() {
                if self.has_constants[child.id] {
                    has_some |= self.replace(child, constants, found);
                }
            }
        }
        found[node.id] = has_some;
        has_some
    }

    /// Whether a node below has constants; the nodes of a plan that has none are not copied.
    fn may_have_below(&self, op: &Op) -> bool {
        op.children()
            .into_iter()
            .any(|child| self.has_constants[child.id])
    }

    fn replace_in(&self, expr: &mut Expr, constants: &[Constant], found: &mut [bool]) -> bool {
        match expr {
            Expr::Constant(constant) => {
                let known = self.constants.iter().position(|known| known == constant);
                if let Some(idx) = known {
                    *constant = constants[idx].clone();
                }
                known.is_some()
            }
            Expr::Exists(node) => {
                self.has_constants[node.id] && self.replace(Arc::make_mut(node), constants, found)
            }
            _ => {
                let mut has_some = false;
                for_each_operand_mut(expr, &mut |operand| {
                    has_some |= self.replace_in(operand, constants, found);
                });
                has_some
            }
        }
    }
}
