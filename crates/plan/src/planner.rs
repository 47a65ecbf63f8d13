//! The entry: [`plan`] drives a query through translation, lowering, pruning and numbering.
//!
//! [`Planner`] holds what all stages share: statistics with a cache per predicate, the names of
//! slots, the inner patterns of EXISTS. Cost: linear passes, and join ordering (see `join_order`).

use crate::estimate::star::{self, StarProfile};
use crate::expression::boolean;
use crate::join_order::{JoinSample, KeyShares, OrderDraw, SampledSets};
use crate::known_stars::{self, KnownStars};
use crate::logical::Logical;
use crate::lower::Outer;
use crate::once::Once;
use crate::physical::{Expr, Form, Node, Op, Plan, Slot, Star, TableIdx};
use crate::plan_template::Trace;
use crate::rules;
use crate::slot_set::{SLOTS_MAX, SlotSet};
use crate::statistics::{ColumnStatistics, LinkOfWalk, Reached, Statistics};
use crate::translate::{Scope, Translation};
use basalt_rdf::TermId;
use spargebra::Query;
use spargebra::algebra::QueryDataset;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error;

/// Whole sub-plans that one query may plan twice; real queries need one or two.
const ALTERNATIVES_MAX: u32 = 16;

/// Why a query has no plan.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// The query uses something that Basalt does not do.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// The query is larger than the planner's limits.
    #[error("the query has too many {0}")]
    TooLarge(&'static str),
    /// A variable is computed that has a value already.
    #[error("«?{0}» has a value already where GROUP BY gives it one")]
    HasValue(String),
}

/// A join algorithm to prefer wherever it can be used, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForceJoin {
    /// Hash joins only (paths excepted).
    Hash,
    /// Star and pattern joins wherever possible.
    Index,
    /// Merge joins where both sides are sorted, else hash joins.
    Merge,
}

/// How to plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanOptions {
    /// A join algorithm to prefer.
    pub force_join: Option<ForceJoin>,
    /// Another join order than the cheapest, for tests and measurements.
    pub order_draw: Option<OrderDraw>,
    /// Rules that are off, by the names in [`crate::RULES`].
    pub disabled_rules: Vec<String>,
    /// Whether the default graph of queries is the union of all graphs.
    pub union_default_graph: bool,
    /// Whether key filters are passed down wherever that changes no answer, whether it pays or not; for tests.
    pub reduce_always: bool,
    /// Whether counts are made in parts, or with equal values taken off, wherever that changes no answer, not where it pays; for tests.
    pub aggregate_parts_always: bool,
    /// Whether plans of a template are taken wherever they are right, whether they are likely to be good or not; for tests.
    pub known_plans_always: bool,
}

impl PlanOptions {
    /// Whether a rule is on.
    pub(crate) fn rule(&self, name: &str) -> bool {
        debug_assert!(rules::RULES.contains(&name));
        !self.disabled_rules.iter().any(|disabled| disabled == name)
    }

    /// Whether what queries before came to may be taken, by a rule that says so.
    pub(crate) fn takes_known(&self, rule: &str) -> bool {
        self.force_join.is_none() && self.order_draw.is_none() && self.rule(rule)
    }
}

/// The columns of one predicate over all tables.
pub(crate) type PredicateColumns = Rc<Vec<(TableIdx, ColumnStatistics)>>;

/// What all stages of planning one query share.
pub(crate) struct Planner<'a> {
    pub(crate) statistics: &'a dyn Statistics,
    pub(crate) options: &'a PlanOptions,
    /// Names by slot.
    pub(crate) names: Vec<String>,
    /// The inner patterns of EXISTS, by the placeholder's node id.
    pub(crate) exists: Vec<Logical>,
    /// Alternatives that may still be planned in full and compared by cost.
    pub(crate) alternatives: u32,
    columns: RefCell<HashMap<TermId, PredicateColumns>>,
    star_profiles: Once<Star, StarProfile>,
    /// What samples tell of joins of stars.
    pub(crate) sampled_sets: Once<Vec<Star>, Arc<SampledSets>>,
    /// The same, of some sets of them alone.
    pub(crate) sampled_along: Once<(Vec<Star>, Vec<u64>), Arc<SampledSets>>,
    /// The samples that joins begin with: of a star, with the slots of which values are kept, by what decides what is drawn.
    pub(crate) star_samples: Once<(Star, SlotSet, u64), Option<Arc<JoinSample>>>,
    /// How often keys repeat: of a star, in a slot.
    pub(crate) key_shares: Once<(Star, Slot), Option<Arc<KeyShares>>>,
    /// What walks from constants reach.
    pub(crate) walks: Once<(Vec<LinkOfWalk>, TermId), Option<Reached>>,
    /// What walks of closures reach from some nodes, on average: along these links, or back.
    pub(crate) walked: Once<(Vec<LinkOfWalk>, bool), Option<f64>>,
    /// Groups that may be made from the states of one.
    pub(crate) same_rows: Vec<rules::roll_up::SameRows>,
    /// How often the plan that is made is expected to run: once for each row around it.
    pub(crate) evaluations: f64,
    /// Whether joins in it may build tables that all of these evaluations share.
    pub(crate) keeps_builds: bool,
    /// Spools that have a number.
    pub(crate) spools: usize,
    /// What groups of parts are made of, which are not parted again.
    pub(crate) in_parts: SlotSet,
    /// Where units with constants are noted, if anywhere.
    pub(crate) trace: Option<&'a Trace>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(statistics: &'a dyn Statistics, options: &'a PlanOptions) -> Self {
        Self {
            statistics,
            options,
            names: Vec::new(),
            exists: Vec::new(),
            alternatives: ALTERNATIVES_MAX,
            columns: RefCell::new(HashMap::new()),
            star_profiles: Once::default(),
            sampled_sets: Once::default(),
            sampled_along: Once::default(),
            star_samples: Once::default(),
            key_shares: Once::default(),
            walks: Once::default(),
            walked: Once::default(),
            same_rows: Vec::new(),
            evaluations: 1.0,
            keeps_builds: true,
            spools: 0,
            in_parts: SlotSet::default(),
            trace: None,
        }
    }

    /// Whether a rule is on.
    pub(crate) fn rule(&self, name: &str) -> bool {
        self.options.rule(name)
    }

    /// A placeholder for an EXISTS, whose pattern waits in the list of them.
    pub(crate) fn placeholder(&mut self, inside: Logical) -> Expr {
        let mentioned = inside.mentioned().to_vec();
        let mut placeholder = node(Op::Outer, mentioned, SlotSet::default(), 1.0, 0.0);
        placeholder.id = self.exists.len();
        self.exists.push(inside);
        Expr::Exists(Arc::new(placeholder))
    }

    /// A new slot; `name` is that of a variable, or a hint for one of the planner's own.
    pub(crate) fn new_slot(&mut self, name: String) -> Result<Slot, PlanError> {
        if self.names.len() >= SLOTS_MAX {
            return Err(PlanError::TooLarge("variables"));
        }
        self.names.push(name);
        Ok(Slot((self.names.len() - 1) as u16))
    }

    /// A new slot with a name that no query can write.
    pub(crate) fn fresh_slot(&mut self, hint: &str) -> Result<Slot, PlanError> {
        let name = format!(" {}#{}", hint.trim_start(), self.names.len());
        self.new_slot(name)
    }

    /// The columns of a predicate in all tables, asked for once per query.
    pub(crate) fn columns(&self, predicate: TermId) -> PredicateColumns {
        if let Some(columns) = self.columns.borrow().get(&predicate) {
            return Rc::clone(columns);
        }
        let tables = (0..self.statistics.table_count()).map(|idx| TableIdx(idx as u32));
        let columns: PredicateColumns = Rc::new(
            tables
                .filter_map(|table| Some((table, self.statistics.column(table, predicate)?)))
                .collect(),
        );
        self.columns
            .borrow_mut()
            .insert(predicate, Rc::clone(&columns));
        columns
    }

    /// What is known of a star, worked out once per query.
    pub(crate) fn star_profile(&self, star: &Star) -> StarProfile {
        let kept = self.kept([star]).map(|known| &known.profiles);
        let is_asked = |other: &Star| other == star;
        let answer = || {
            if let Some(trace) = self.trace {
                trace.comparisons(star);
            }
            star::profile(self, star)
        };
        self.star_profiles
            .get_kept(kept, is_asked, || star.clone(), answer)
    }

    /// What is kept of stars for other queries, if it may tell of all of these.
    pub(crate) fn kept<'s>(
        &self,
        stars: impl IntoIterator<Item = &'s Star>,
    ) -> Option<&'a KnownStars> {
        let known = self.statistics.known_stars()?;
        stars
            .into_iter()
            .all(known_stars::is_of_data)
            .then_some(known)
    }

    /// The constant `false`.
    pub(crate) fn constant_false(&self) -> Expr {
        boolean(false, self.statistics)
    }
}

/// Plans a query. `dataset` replaces the query's own FROM clauses (the protocol's parameters do).
pub fn plan(
    query: &Query,
    dataset: Option<&QueryDataset>,
    statistics: &dyn Statistics,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    plan_traced(query, dataset, statistics, options, None)
}

/// As [`plan`], and notes what is asked of constants.
pub(crate) fn plan_traced(
    query: &Query,
    dataset: Option<&QueryDataset>,
    statistics: &dyn Statistics,
    options: &PlanOptions,
    trace: Option<&Trace>,
) -> Result<Plan, PlanError> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    let mut planner = Planner {
        trace,
        ..Planner::new(statistics, options)
    };
    let mut scope = Scope::default();
    let mut translation = Translation::new(&mut planner, dataset.or(query.dataset()));
    let (logical, projected) = translation.translate_root(pattern, &mut scope)?;
    let form = match query {
        Query::Select { .. } => Form::Select(projected.clone()),
        Query::Describe { .. } => Form::Describe(projected.clone()),
        Query::Ask { .. } => Form::Ask,
        Query::Construct { template, .. } => Form::Construct(template.clone()),
    };
    let required = match (&form, query) {
        (Form::Ask, _) => Vec::new(),
        (_, Query::Construct { template, .. }) => slots_of_template(template, &scope),
        _ => projected,
    };
    let (needed, outer) = (SlotSet::of(&required), Outer::default());
    let logical = rules::constant_equality::apply(&planner, logical, needed, outer.slots);
    planner.same_rows = rules::roll_up::find(&planner, &logical);
    let mut root = planner.lower(&logical, &outer)?;
    if form == Form::Ask {
        root = planner.slice(root, 0, Some(1));
    } else if root.schema != required && !matches!(query, Query::Construct { .. }) {
        root = planner.project(root, required.clone());
    }
    rules::nearest_partners::apply(&mut root, &planner);
    rules::defer_conditions::apply(&mut root, &planner);
    rules::share_states::apply(&mut root, &planner);
    rules::hoist_expressions::apply(&mut root, &mut planner);
    rules::compute_early::apply(&mut root, &planner);
    rules::filter_predicates::apply(&mut root, &planner);
    rules::prune_columns::apply(&mut root, &SlotSet::of(&required), &planner);
    if rules::early_distinct::apply(&mut root, &planner) {
        // Semi joins need fewer columns.
        rules::prune_columns::apply(&mut root, &SlotSet::of(&required), &planner);
    }
    rules::keep_builds::apply(&mut root, &planner);
    rules::share_subplans::apply(&mut root, &planner);
    rules::reduce_scans::apply(&mut root, &planner);
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    rules::cut_early::apply(&mut root, &planner);
    let plan = Plan {
        form,
        root,
        variables: planner.names,
        node_count,
    };
    debug_assert_eq!(crate::validate(&plan), Ok(()));
    Ok(plan)
}

/// The slots of the variables of a template, as far as the pattern has them.
fn slots_of_template(template: &[TriplePattern], scope: &Scope) -> Vec<Slot> {
    let mut slots = Vec::new();
    for triple in template {
        let predicate = match &triple.predicate {
            NamedNodePattern::Variable(variable) => Some(variable),
            NamedNodePattern::NamedNode(_) => None,
        };
        let ends = [&triple.subject, &triple.object];
        let ends = ends.into_iter().filter_map(|position| match position {
            TermPattern::Variable(variable) => Some(variable),
            _ => None,
        });
        for variable in ends.chain(predicate) {
            slots.extend(scope.get(variable.as_str()).filter(|s| !slots.contains(s)));
        }
    }
    slots
}

/// Gives nodes their numbers: parents before children, plans inside EXISTS after the node's inputs.
fn number(node: &mut Node, next: &mut usize) {
    node.id = *next;
    *next += 1;
    for child in node.op.children_mut() {
        number(child, next);
    }
    for expr in node.op.expressions_mut() {
        number_exists(expr, next);
    }
}

fn number_exists(expr: &mut Expr, next: &mut usize) {
    if let Expr::Exists(node) = expr {
        number(Arc::make_mut(node), next);
    } else {
        crate::expression::for_each_operand_mut(expr, &mut |operand| number_exists(operand, next));
    }
}

/// A node out of a place that is written next, or is gone.
pub(crate) fn take_node(place: &mut Node) -> Node {
    std::mem::replace(
        place,
        node(Op::Empty, Vec::new(), SlotSet::default(), 0.0, 0.0),
    )
}

/// A node that is not yet numbered.
pub(crate) fn node(op: Op, schema: Vec<Slot>, certain: SlotSet, rows: f64, cost: f64) -> Node {
    let certain = schema
        .iter()
        .copied()
        .filter(|slot| certain.contains(*slot))
        .collect();
    Node {
        id: 0,
        op,
        schema,
        certain,
        estimated_rows: rows.max(0.0),
        estimated_cost: cost,
        sorted_by: Vec::new(),
        alternative: None,
        key_filters: Vec::new(),
    }
}
