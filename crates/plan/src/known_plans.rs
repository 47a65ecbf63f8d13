//! `KnownPlans`: plans of query templates, for queries that differ from earlier ones in constants only; of one state of the data.
//!
//! When several queries of a template in a row, for other constants each but in the same [`Circumstances`], came to the same plan, it is taken
//! for those that follow, with their constants in place ([`PlanTemplate`]). [`Agreement`] says how many they must be, and has some planned all the same.
//! Circumstances are compared in two [grains](GRAINS): where constants have many magnitudes, few are met often enough in the finer one, and most plans hold for more than that.
//!
//! Invariant: a plan that is taken gives the right answer, since what planning decided by constants was asked anew and answered alike; whether planning
//! would have come to the very same plan is a matter of time alone. Bound: [`NODES_MAX`] nodes of plans, about a kilobyte each; when there are as many, all go. Cost: a
//! lock, a few questions for each unit with constants, a copy of the part of the plan that has some.

use crate::agreement::{Agreement, Taken};
use crate::physical::{Constant, Plan};
use crate::plan_template::{Asked, Circumstances, PlanTemplate, Trace};
use crate::planner::{PlanError, PlanOptions, Planner, plan, plan_traced};
use crate::rename_slots::canonical;
use crate::statistics::{Statistics, constant};
use oxrdf::Term;
use spargebra::Query;
use spargebra::algebra::QueryDataset;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nodes of all plans that are kept, a plan counted in each grain that keeps it; fewer in tests of the bound.
const NODES_MAX: usize = if cfg!(test) { 1 << 10 } else { 1 << 14 };
/// Fine, with magnitudes in powers of four, and rough, in powers of sixteen. The finer one goes before where it has enough plans that agree;
/// where two plans were found in the same rough circumstances, only the finer one is asked.
const GRAINS: usize = 2;
const ROUGH: usize = GRAINS - 1;
/// What is planned that came once and is remembered.
const SEEN_MAX: usize = 1 << 10;

/// A query as one of a template: what is the same for all, and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateInstance {
    /// Another number for each template.
    pub template: u64,
    /// Constants that are part of what is planned: which they are, and how they are written.
    pub fixed: Vec<(usize, String)>,
    /// Constants that may be others: IRIs that are subjects or objects of triples, or stand in expressions, and literals in
    /// expressions. None of them is a term anywhere else in the query, or [made by the planner](is_made_by_planner).
    pub constants: Vec<Term>,
}

/// Whether a text is that of a literal which the planner may put into plans itself.
pub fn is_made_by_planner(text: &str) -> bool {
    ["0", "", "true", "false"].contains(&text)
}

/// Plans by template; see the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct KnownPlans {
    kept: Mutex<Kept>,
    /// How many queries took the plan of others.
    pub(crate) taken: Taken,
}

#[derive(Debug)]
struct Kept {
    groups: HashMap<u64, Group>,
    nodes: usize,
    /// Hashes of groups that came once, each at its place: of what never comes again nothing is kept.
    seen: Vec<u64>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            groups: HashMap::new(),
            nodes: 0,
            seen: vec![0; SEEN_MAX],
        }
    }
}

/// The plans of a template.
#[derive(Debug)]
struct Group {
    key: Key,
    asked: Arc<Asked>,
    /// By grain.
    plans: [Vec<KnownPlan>; GRAINS],
}

/// What is planned, but for constants.
#[derive(Debug, PartialEq)]
struct Key {
    template: u64,
    fixed: Vec<(usize, String)>,
    dataset: Option<QueryDataset>,
    options: PlanOptions,
}

/// A plan, and when it is taken.
#[derive(Debug)]
struct KnownPlan {
    circumstances: Circumstances,
    template: Arc<PlanTemplate>,
    agreement: Agreement,
}

/// How one of a template is planned.
struct Question<'a> {
    instance: &'a TemplateInstance,
    dataset: Option<&'a QueryDataset>,
    statistics: &'a dyn Statistics,
    options: &'a PlanOptions,
}

impl<'a> Question<'a> {
    /// The plans that are kept, unless plans are to be made anew.
    fn plans(&self) -> Option<&'a KnownPlans> {
        let known = self.statistics.known_stars()?;
        let are_taken = self.options.takes_known("known_plans");
        (are_taken && !self.instance.constants.is_empty()).then_some(&known.plans)
    }

    fn hash(&self) -> u64 {
        hash_of((self.instance.template, &self.instance.fixed, self.dataset))
    }

    fn is_of(&self, key: &Key) -> bool {
        key.template == self.instance.template
            && key.fixed == self.instance.fixed
            && key.dataset.as_ref() == self.dataset
            && key.options == *self.options
    }

    fn key(&self) -> Key {
        Key {
            template: self.instance.template,
            fixed: self.instance.fixed.clone(),
            dataset: self.dataset.cloned(),
            options: self.options.clone(),
        }
    }

    /// The constants; `None` if the store does not know an IRI, or they could be taken for other terms of the plan.
    fn constants(&self) -> Option<Vec<Constant>> {
        let terms = self.instance.constants.iter();
        let known = terms.map(|term| constant(self.statistics, term));
        let known: Vec<Constant> = known.collect();
        let can_be_told = |(idx, constant): (usize, &Constant)| {
            let is_known = constant.id.is_some() || matches!(constant.term, Term::Literal(_));
            let is_it = |other: &Constant| other.id.is_some() && other.id == constant.id;
            is_known && !known[..idx].iter().any(is_it)
        };
        known.iter().enumerate().all(can_be_told).then_some(known)
    }

    /// The circumstances of some constants, by grain.
    fn circumstances(&self, asked: &Asked, constants: &[Constant]) -> [Circumstances; GRAINS] {
        let planner = Planner::new(self.statistics, self.options);
        let fine = asked.circumstances(&planner, constants);
        let rough = fine.roughly();
        [fine, rough]
    }
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A plan for a query that is one of a template.
#[derive(Debug)]
pub struct InstancePlan {
    /// The plan.
    pub plan: Plan,
    /// Whether others came to it, with other constants; its estimates are those of one of them.
    pub is_of_others: bool,
}

/// Plans a query that is one of a template: takes the plan that others came to, or makes one and keeps it for others.
///
/// # Errors
///
/// As for [`plan`].
pub fn plan_instance(
    query: &Query,
    instance: &TemplateInstance,
    dataset: Option<&QueryDataset>,
    statistics: &dyn Statistics,
    options: &PlanOptions,
) -> Result<InstancePlan, PlanError> {
    let question = Question {
        instance,
        dataset,
        statistics,
        options,
    };
    let made = |plan| InstancePlan {
        plan,
        is_of_others: false,
    };
    let Some((plans, constants)) = question.plans().zip(question.constants()) else {
        return plan(query, dataset, statistics, options).map(made);
    };
    let hash = question.hash();
    let known = match plans.asked(hash, &question) {
        Known::Nothing => return plan(query, dataset, statistics, options).map(made),
        Known::Group => None,
        Known::Asked(asked) => Some((question.circumstances(&asked, &constants), asked)),
    };
    if let Some((circumstances, asked)) = &known
        && let Some(template) = plans.find(hash, asked, circumstances)
    {
        return Ok(InstancePlan {
            plan: template.with(&constants),
            is_of_others: true,
        });
    }
    let trace = Trace::default();
    let planned = plan_traced(query, dataset, statistics, options, Some(&trace))?;
    let asked = Asked::of(trace, &constants);
    let circumstances = match known {
        Some((circumstances, known)) if *known == asked => circumstances,
        _ => question.circumstances(&asked, &constants),
    };
    let told = Told {
        circumstances,
        planned: &planned,
        constants,
        template: OnceCell::new(),
    };
    plans.tell(hash, &question, asked, told);
    Ok(made(planned))
}

/// What is known of a group.
enum Known {
    /// It came for the first time.
    Nothing,
    /// It came before.
    Group,
    /// What is asked of its constants.
    Asked(Arc<Asked>),
}

/// A plan that was made.
struct Told<'a> {
    circumstances: [Circumstances; GRAINS],
    planned: &'a Plan,
    constants: Vec<Constant>,
    template: OnceCell<Arc<PlanTemplate>>,
}

impl Told<'_> {
    fn template(&self) -> Arc<PlanTemplate> {
        let make = || Arc::new(PlanTemplate::new(self.planned, self.constants.clone()));
        Arc::clone(self.template.get_or_init(make))
    }

    /// Whether others came to the same plan.
    fn is_of(&self, template: &PlanTemplate) -> bool {
        let expected = template.with(&self.constants);
        canonical(&expected.root) == canonical(&self.planned.root)
    }

    /// The same of the plans of each grain, which mostly are one.
    fn is_of_each(&self, templates: &[Option<Arc<PlanTemplate>>; GRAINS]) -> [bool; GRAINS] {
        match templates {
            [Some(fine), Some(rough)] if Arc::ptr_eq(fine, rough) => [self.is_of(fine); GRAINS],
            _ => templates.each_ref().map(|template| {
                let template = template.as_ref();
                template.is_some_and(|template| self.is_of(template))
            }),
        }
    }
}

impl Group {
    /// The plan for some circumstances in one grain.
    fn known(&mut self, grain: usize, circumstances: &Circumstances) -> Option<&mut KnownPlan> {
        let mut plans = self.plans[grain].iter_mut();
        plans.find(|known| known.circumstances == *circumstances)
    }

    /// The plan that is looked at for some circumstances: of the finer grain if enough agreed there.
    fn best(&mut self, circumstances: &[Circumstances; GRAINS]) -> Option<&mut KnownPlan> {
        let always = self.key.options.known_plans_always;
        let holds = |known: &KnownPlan| always || known.agreement.holds();
        let grain = (0..GRAINS).find(|&grain| {
            self.known(grain, &circumstances[grain])
                .is_some_and(|k| holds(k))
        })?;
        self.known(grain, &circumstances[grain])
    }

    /// The plans that are kept for the circumstances of one that was made; it is kept itself in the grains that have none.
    fn known_or_add(
        &mut self,
        told: &Told<'_>,
        nodes: &mut usize,
    ) -> [Option<Arc<PlanTemplate>>; GRAINS] {
        std::array::from_fn(|grain| {
            let circumstances = &told.circumstances[grain];
            if let Some(known) = self.known(grain, circumstances) {
                return Some(Arc::clone(&known.template));
            }
            *nodes += told.planned.node_count;
            self.plans[grain].push(KnownPlan {
                circumstances: circumstances.clone(),
                agreement: Agreement::new(Some(hash_of(&told.constants))),
                template: told.template(),
            });
            None
        })
    }
}

impl KnownPlans {
    /// What is asked of the constants of a template.
    fn asked(&self, hash: u64, question: &Question<'_>) -> Known {
        let mut kept = self.lock();
        match kept.groups.get(&hash) {
            Some(group) if question.is_of(&group.key) => Known::Asked(Arc::clone(&group.asked)),
            _ => {
                let place = &mut kept.seen[hash as usize % SEEN_MAX];
                let has_come = std::mem::replace(place, hash) == hash;
                if has_come {
                    Known::Group
                } else {
                    Known::Nothing
                }
            }
        }
    }

    /// The plan for these answers, if it is to be taken.
    fn find(
        &self,
        hash: u64,
        asked: &Arc<Asked>,
        circumstances: &[Circumstances; GRAINS],
    ) -> Option<Arc<PlanTemplate>> {
        let mut kept = self.lock();
        let group = kept.groups.get_mut(&hash)?;
        // Another thread may have put another group there.
        if !Arc::ptr_eq(&group.asked, asked) {
            return None;
        }
        let always = group.key.options.known_plans_always;
        let known = group.best(circumstances)?;
        if !always && !known.agreement.is_reached() {
            return None;
        }
        self.taken.note();
        Some(Arc::clone(&known.template))
    }

    /// Keeps a plan that was made.
    fn tell(&self, hash: u64, question: &Question<'_>, asked: Asked, told: Told<'_>) {
        let mut kept = self.lock();
        let Kept { groups, nodes, .. } = &mut *kept;
        let is_right = |group: &Group| question.is_of(&group.key) && *group.asked == asked;
        let holds = |group: &Group| group.plans.iter().flatten().any(|k| k.agreement.holds());
        match groups.get(&hash) {
            Some(group) if is_right(group) => {}
            // Other units may be met with other constants: what was found once with one of them is kept no longer than that.
            Some(group) if holds(group) => return,
            _ => {
                let group = Group {
                    key: question.key(),
                    asked: Arc::new(asked),
                    plans: Default::default(),
                };
                groups.insert(hash, group);
            }
        }
        let Some(group) = groups.get_mut(&hash) else {
            return;
        };
        let known = group.known_or_add(&told, nodes);
        if *nodes > NODES_MAX {
            *kept = Kept::default();
            return;
        }
        drop(kept);
        // Plans are compared while nobody waits.
        let is_same = told.is_of_each(&known);
        let constants_hash = hash_of(&told.constants);
        let mut kept = self.lock();
        let Some(group) = kept.groups.get_mut(&hash) else {
            return;
        };
        for (grain, before) in known.iter().enumerate() {
            let Some(before) = before else { continue };
            let known = group.known(grain, &told.circumstances[grain]);
            let Some(known) = known.filter(|known| Arc::ptr_eq(&known.template, before)) else {
                continue;
            };
            if is_same[grain] {
                known.agreement.goes_on(constants_hash);
            } else if grain == ROUGH {
                known.agreement.refute();
            } else {
                known.agreement.ends(constants_hash);
                known.template = told.template();
            }
        }
    }

    /// None yet, for the next state of the data; what was taken goes on being counted.
    pub(crate) fn for_next_state(&self) -> Self {
        Self {
            taken: self.taken.for_next_state(),
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_stars::KnownStars;
    use crate::testing::FakeStatistics;
    use oxrdf::NamedNode;
    use spargebra::SparqlParser;

    /// Plans the query of a template with this number a few times, and gives how many groups and nodes are kept then.
    fn kept_after(statistics: &FakeStatistics, number: u64, times: usize) -> (usize, usize) {
        let arm = "{ ?o <http://ex/product> <http://ex/Product1> }";
        let text = format!("SELECT * {{ {} }}", [arm; 16].join(" UNION "));
        let query = SparqlParser::new().parse_query(&text).expect("a query");
        let instance = TemplateInstance {
            template: 1,
            fixed: vec![(0, number.to_string())],
            constants: vec![NamedNode::new_unchecked("http://ex/Product1").into()],
        };
        for _ in 0..times {
            plan_instance(&query, &instance, None, statistics, &PlanOptions::default())
                .expect("it plans");
        }
        let known = statistics.known_stars.as_ref().expect("it is kept");
        let kept = known.plans.lock();
        (kept.groups.len(), kept.nodes)
    }

    #[test]
    fn plans_are_kept_when_they_come_again_and_within_a_bound() {
        let mut statistics = FakeStatistics::shop();
        statistics.known_stars = Some(KnownStars::default());
        for number in 0..100 {
            assert_eq!(kept_after(&statistics, number, 1), (0, 0));
        }
        let (groups, nodes) = kept_after(&statistics, 1000, 2);
        assert!(groups == 1 && nodes > 0, "{groups} groups, {nodes} nodes");
        let mut most = 0;
        for number in 0..2 * NODES_MAX / nodes {
            let (_, nodes) = kept_after(&statistics, number as u64, 2);
            most = most.max(nodes);
        }
        assert!(most > NODES_MAX / 2 && most <= NODES_MAX, "{most} nodes");
    }
}
