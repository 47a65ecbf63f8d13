//! The units of join ordering and what is known of each alone.
//!
//! Triples with the same subject and graphs and constant predicates make a star. A slot occurs at
//! most once in a star: a second object with the same slot gets a fresh slot and a `sameTerm`
//! condition; a triple that repeats a slot within itself stays a general pattern.

use super::Condition;
use crate::cost_constants::{
    GRAPH_QUADS_MIN, LOOKED_UP_QUADS_MAX, PATTERN_PROBE, PATTERN_SCAN, RARE_GRAPH, START,
    THREAD_START,
};
use crate::estimate::condition::{self, SlotStatistics};
use crate::estimate::star::StarProfile;
use crate::estimate::{groups, path, pattern, star};
use crate::logical::Triple;
use crate::physical::{
    Expr, Graphs, Node, PathPattern, Pattern, Position, Slot, Star, StarPattern, TableIdx,
};
use crate::planner::{PlanError, Planner};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;

/// What is joined.
#[derive(Clone, Debug)]
pub(crate) enum UnitKind {
    Star(Star),
    Pattern(Pattern),
    Path(PathPattern),
    Plan(Node),
}

/// A unit with its estimates.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) kind: UnitKind,
    pub(crate) slots: SlotSet,
    pub(crate) certain: SlotSet,
    /// Rows alone, its own conditions included.
    pub(crate) rows: f64,
    /// Cost of reading it alone.
    pub(crate) cost: f64,
    /// For stars.
    pub(crate) profile: Option<StarProfile>,
    /// Distinct values by slot, before conditions.
    distinct: Vec<(Slot, SlotStatistics)>,
}

impl UnitKind {
    pub(crate) fn slots(&self) -> SlotSet {
        match self {
            Self::Star(star) => SlotSet::of(&star.slots()),
            Self::Pattern(pattern) => SlotSet::of(&pattern.slots()),
            Self::Path(path) => SlotSet::of(&path.slots()),
            Self::Plan(node) => SlotSet::of(&node.schema),
        }
    }

    /// The slot that is the graph that quads are in, and nothing else of them.
    pub(super) fn graph(&self) -> Option<Slot> {
        let (graph, mut places) = match self {
            Self::Star(star) => {
                let objects = star.patterns.iter().map(|pattern| pattern.object);
                let places: Vec<Position> = objects.chain([star.subject]).collect();
                (star.graphs.slot()?, places)
            }
            Self::Pattern(pattern) => {
                let places = [pattern.subject, pattern.predicate, pattern.object];
                (pattern.graphs.slot()?, places.to_vec())
            }
            Self::Path(_) | Self::Plan(_) => return None,
        };
        places.retain(|place| place.slot() == Some(graph));
        places.is_empty().then_some(graph)
    }

    fn certain(&self) -> SlotSet {
        match self {
            Self::Star(star) => star_certain(star),
            Self::Plan(node) => SlotSet::of(&node.certain),
            other => other.slots(),
        }
    }
}

/// The slots a star binds in every row.
pub(crate) fn star_certain(star: &Star) -> SlotSet {
    let objects = star.patterns.iter().filter(|pattern| !pattern.optional);
    let objects = objects.filter_map(|pattern| pattern.object.slot());
    star.graphs
        .slot()
        .into_iter()
        .chain(star.subject.slot())
        .chain(objects)
        .collect()
}

/// Rows of a unit that is said to have none, where rows are multiplied and divided: a sample may find some.
const ROWS_MIN: f64 = 1e-9;

impl Unit {
    /// Whether a condition is part of the star already.
    pub(crate) fn has_own(&self, condition: &Condition) -> bool {
        let star = matches!(self.kind, UnitKind::Star(_));
        star && !condition.exists
            && !condition.slots.is_empty()
            && condition.slots.is_subset(&self.certain)
    }

    /// The rows, for products and quotients.
    pub(super) fn some_rows(&self) -> f64 {
        self.rows.max(ROWS_MIN)
    }

    pub(crate) fn new(planner: &Planner<'_>, mut kind: UnitKind, conditions: &[Condition]) -> Self {
        let (slots, certain) = (kind.slots(), kind.certain());
        let own = conditions
            .iter()
            .filter(|c| !c.slots.is_empty() && c.slots.is_subset(&slots));
        let settled = own.filter(|c| c.slots.is_subset(&certain) && !c.exists);
        let mut unit = match &mut kind {
            UnitKind::Star(star) => {
                star.filters
                    .extend(settled.map(|condition| condition.expr.clone()));
                let profile = planner.star_profile(star);
                let distinct = star_distinct(planner, star, &profile);
                Self {
                    kind,
                    slots,
                    certain,
                    rows: profile.rows,
                    cost: profile.cost,
                    profile: Some(profile),
                    distinct,
                }
            }
            UnitKind::Pattern(triple) => {
                let rows = pattern::rows(planner, triple);
                let cost = pattern_scan_cost(planner, triple, rows);
                let distinct = pattern_distinct(planner, triple, rows);
                Self {
                    kind,
                    slots,
                    certain,
                    rows,
                    cost,
                    profile: None,
                    distinct,
                }
            }
            UnitKind::Path(pattern) => {
                let (rows, cost, distinct) = path_alone(planner, pattern, None);
                Self {
                    kind,
                    slots,
                    certain,
                    rows,
                    cost,
                    profile: None,
                    distinct,
                }
            }
            UnitKind::Plan(node) => {
                let (rows, cost) = (node.estimated_rows, node.estimated_cost);
                let distinct = plan_distinct(planner, node, &slots);
                Self {
                    kind,
                    slots,
                    certain,
                    rows,
                    cost,
                    profile: None,
                    distinct,
                }
            }
        };
        if unit.profile.is_none() {
            unit.count_conditions(conditions);
        }
        unit
    }

    /// Paths that may have no link: what joins them asks for the nodes that it has, and not for all of the store.
    pub(super) fn limit_paths(planner: &Planner<'_>, units: &mut [Self], conditions: &[Condition]) {
        for idx in 0..units.len() {
            let UnitKind::Path(pattern) = &units[idx].kind else {
                continue;
            };
            if !path::may_be_empty(&pattern.path) {
                continue;
            }
            let slots = units[idx].slots;
            let others = units.iter().enumerate();
            let others = others.filter(|(other, unit)| *other != idx && !is_path(unit));
            let met = others.flat_map(|(_, unit)| {
                let shared = unit.slots.intersect(slots).to_vec().into_iter();
                shared.map(|slot| unit.distinct(slot))
            });
            let Some(met) = met.reduce(f64::max) else {
                continue;
            };
            let known = path_alone(planner, pattern, Some(met));
            let unit = &mut units[idx];
            (unit.rows, unit.cost, unit.distinct) = known;
            unit.count_conditions(conditions);
        }
    }

    /// Counts the conditions that will be applied to the unit alone.
    fn count_conditions(&mut self, conditions: &[Condition]) {
        let rest = conditions
            .iter()
            .filter(|c| !c.slots.is_empty() && !c.exists && c.slots.is_subset(&self.certain));
        for condition in rest {
            self.rows *= condition::selectivity(&condition.expr, &|slot| self.statistics(slot));
            self.cost += self.rows * condition::cost(&condition.expr);
        }
    }

    /// What is known of a slot before conditions.
    pub(crate) fn statistics(&self, slot: Slot) -> Option<SlotStatistics> {
        self.distinct
            .iter()
            .find(|(s, _)| *s == slot)
            .map(|(_, statistics)| *statistics)
    }

    /// The star that it is, and what is known of it.
    pub(crate) fn star(&self) -> Option<(&Star, &StarProfile)> {
        match (&self.kind, &self.profile) {
            (UnitKind::Star(star), Some(profile)) => Some((star, profile)),
            _ => None,
        }
    }

    /// How many rows of a star differ in objects alone whose slots are not among these: they come one after the other.
    pub(crate) fn rows_alike(&self, read: &SlotSet) -> f64 {
        let Some((star, profile)) = self.star() else {
            return 1.0;
        };
        profile.rows_alike(star, read)
    }

    /// Distinct values of a slot before conditions.
    pub(crate) fn distinct(&self, slot: Slot) -> f64 {
        self.statistics(slot)
            .map_or(1.0, |statistics| statistics.distinct)
            .max(1.0)
    }
}

/// Rows, cost and distinct values of a path by itself, of which others have so many nodes.
fn path_alone(
    planner: &Planner<'_>,
    pattern: &PathPattern,
    met: Option<f64>,
) -> (f64, f64, Vec<(Slot, SlotStatistics)>) {
    let (rows, distinct) = path::rows(planner, pattern, met);
    let cost = path::join_cost(planner, pattern, 1.0, &SlotSet::default(), |_| 1.0);
    let distinct = distinct.into_iter();
    let distinct = distinct.map(|(slot, distinct)| (slot, plain(distinct)));
    (rows, cost, distinct.collect())
}

fn is_path(unit: &Unit) -> bool {
    matches!(unit.kind, UnitKind::Path(_))
}

/// The cost of reading a pattern alone.
fn pattern_scan_cost(planner: &Planner<'_>, triple: &Pattern, rows: f64) -> f64 {
    // What names neither subject nor object is scanned on a thread of its own, but for graphs with few quads.
    let is_scan = triple.subject.slot().is_some() && triple.object.slot().is_some();
    if let Graphs::One(graph) = triple.graphs
        && is_scan
        && let Some(quads) = planner.statistics.graph_quads(graph)
        && is_looked_up(quads, planner.statistics.quad_count())
    {
        return START + pattern::cost_in_graph(planner, triple, &SlotSet::default());
    }
    let thread = if is_scan { THREAD_START } else { 0.0 };
    START + thread + PATTERN_PROBE + pattern::read(planner, triple, rows) * PATTERN_SCAN
}

/// Whether so many quads of one graph, among so many, are looked up and not scanned.
fn is_looked_up(quads: u64, all: u64) -> bool {
    let is_rare = quads as f64 * RARE_GRAPH <= all as f64 && quads <= LOOKED_UP_QUADS_MAX;
    is_rare || quads <= GRAPH_QUADS_MIN
}

fn plain(distinct: f64) -> SlotStatistics {
    SlotStatistics {
        distinct: distinct.max(1.0),
        range: None,
    }
}

/// What is known of the columns of a finished plan: values of which nothing is known are all different.
fn plan_distinct(
    planner: &Planner<'_>,
    node: &Node,
    slots: &SlotSet,
) -> Vec<(Slot, SlotStatistics)> {
    let rows = node.estimated_rows.max(1.0);
    let distinct = |slot| groups::distinct(planner, node, slot).unwrap_or(rows);
    slots
        .iter()
        .map(|slot| (slot, plain(distinct(slot))))
        .collect()
}

/// What is known of the slots of a star before conditions.
pub(crate) fn star_distinct(
    planner: &Planner<'_>,
    star: &Star,
    profile: &StarProfile,
) -> Vec<(Slot, SlotStatistics)> {
    let mut distinct: Vec<_> = star
        .subject
        .slot()
        .map(|slot| (slot, plain(profile.subjects)))
        .into_iter()
        .collect();
    if let Some(graph) = star.graphs.slot() {
        // As many as subjects at most.
        let graphs = planner.statistics.named_graph_count() as f64;
        distinct.push((graph, plain(graphs.min(profile.subjects))));
    }
    for pattern in &star.patterns {
        if let Some(slot) = pattern.object.slot()
            && let Some(known) = star::slot_statistics(star, &profile.patterns, slot)
        {
            let in_graph = (known.distinct * profile.graph_share).max(1.0);
            let distinct_here = SlotStatistics {
                distinct: in_graph,
                ..known
            };
            distinct.push((slot, distinct_here));
        }
    }
    distinct
}

/// What is known of the slots of a pattern before conditions.
pub(crate) fn pattern_distinct(
    planner: &Planner<'_>,
    pattern: &Pattern,
    rows: f64,
) -> Vec<(Slot, SlotStatistics)> {
    let subjects = planner.statistics.subject_count() as f64;
    let mut distinct = Vec::new();
    if let Some(slot) = pattern.subject.slot() {
        distinct.push((slot, plain(rows.min(subjects))));
    }
    if let Some(slot) = pattern.predicate.slot() {
        let predicates = planner.statistics.predicate_count() as f64;
        distinct.push((slot, plain(rows.min(predicates))));
    }
    if let Some(slot) = pattern.object.slot() {
        distinct.push((slot, plain(rows.min(subjects))));
    }
    if let Some(slot) = pattern.graphs.slot() {
        let graphs = planner.statistics.named_graph_count() as f64;
        distinct.push((slot, plain(graphs.min(rows))));
    }
    distinct
}

impl Planner<'_> {
    /// Groups triples into stars; what fits into none stays a pattern.
    pub(crate) fn stars_and_patterns(
        &mut self,
        triples: &[Triple],
    ) -> Result<Vec<UnitKind>, PlanError> {
        let mut stars: Vec<Star> = Vec::new();
        let mut patterns = Vec::new();
        let (optional, required): (Vec<&Triple>, Vec<&Triple>) =
            triples.iter().partition(|triple| triple.optional);
        for triple in required.into_iter().chain(optional) {
            let Some(predicate) = star_predicate(triple) else {
                patterns.push(UnitKind::Pattern(Pattern {
                    subject: triple.subject,
                    predicate: triple.predicate,
                    object: triple.object,
                    graphs: triple.graphs.clone(),
                }));
                continue;
            };
            let same =
                |star: &&mut Star| star.subject == triple.subject && star.graphs == triple.graphs;
            let mut object = triple.object;
            let pattern = |object| StarPattern {
                predicate,
                object,
                optional: triple.optional,
                any_value: false,
            };
            match stars.iter_mut().find(same) {
                Some(star) => {
                    if let Position::Slot(slot) = object
                        && star.slots().contains(&slot)
                    {
                        let copy = self.fresh_slot("same")?;
                        object = Position::Slot(copy);
                        let (a, b) = (Box::new(Expr::Slot(slot)), Box::new(Expr::Slot(copy)));
                        star.filters.push(Expr::SameTerm(a, b));
                    }
                    star.patterns.push(pattern(object));
                }
                None => stars.push(Star {
                    subject: triple.subject,
                    graphs: triple.graphs.clone(),
                    patterns: vec![pattern(object)],
                    filters: Vec::new(),
                    tables: Vec::new(),
                }),
            }
        }
        for star in &mut stars {
            star::choose_tables(self, star);
        }
        if self.rule("prune_tables") {
            self.prune_linked_tables(&mut stars);
        }
        let stars = stars.into_iter().map(UnitKind::Star);
        let units: Vec<UnitKind> = stars.chain(patterns).collect();
        if let Some(trace) = self.trace {
            units.iter().for_each(|unit| trace.unit(unit));
        }
        Ok(units)
    }

    /// A star whose subject is another star's object has clean rows only in the tables that the
    /// object's columns and added quads link to, if all values are in these.
    pub(super) fn prune_linked_tables(&self, stars: &mut [Star]) {
        let mut links: Vec<(Slot, Vec<TableIdx>)> = Vec::new();
        for star in stars.iter() {
            for pattern in star.patterns.iter().filter(|pattern| !pattern.optional) {
                let Position::Slot(slot) = pattern.object else {
                    continue;
                };
                if self.statistics.irregular_in_files(pattern.predicate) == 0 {
                    let columns = self.columns(pattern.predicate);
                    let added = self.statistics.added_links(pattern.predicate);
                    let in_cells = columns.iter().flat_map(|(_, column)| &column.links);
                    let targets = in_cells.chain(&added).filter(|(_, count)| *count > 0);
                    let mut targets: Vec<TableIdx> = targets.map(|(table, _)| *table).collect();
                    targets.sort_unstable();
                    targets.dedup();
                    links.push((slot, targets));
                }
            }
        }
        for star in stars.iter_mut() {
            for (slot, targets) in &links {
                if star.subject == Position::Slot(*slot) {
                    star.tables
                        .retain(|table| targets.binary_search(table).is_ok());
                }
            }
        }
    }
}

/// The predicate of a triple that can be part of a star.
fn star_predicate(triple: &Triple) -> Option<TermId> {
    let Position::Id(predicate) = triple.predicate else {
        return None;
    };
    let repeats = |slot: Option<Slot>, other: Option<Slot>| slot.is_some() && slot == other;
    let graph = match &triple.graphs {
        Graphs::Variable { slot, .. } => Some(*slot),
        Graphs::One(_) | Graphs::Merge { .. } => None,
    };
    let (subject, object) = (triple.subject.slot(), triple.object.slot());
    let repeated = repeats(subject, object) || repeats(graph, subject) || repeats(graph, object);
    (!repeated).then_some(predicate)
}
