//! From query text to a running query.

use crate::answer::{Answer, GraphAnswer, Solutions};
use crate::error::Error;
use crate::federation::{HttpServices, ServicePolicy};
use crate::plan_cache::{Known, PlanCache};
use crate::plan_report::{PlanReport, RunReport};
use crate::query_text::diagnosis::{Wanted, diagnose};
use crate::query_text::escapes::{decoded, escaped};
use crate::query_text::nesting::on_large_stack;
use crate::query_text::select_names::with_names;
use crate::query_text::{iri_taken_for_comparison, with_lower_case_booleans};
use crate::statistics::SnapshotStatistics;
use basalt_exec::path::KnownPathIndexes;
use basalt_exec::results::{Construct, Describe};
use basalt_exec::{ExecOptions, execute};
use basalt_plan::physical::{Form, Plan};
use basalt_plan::statistics::Statistics;
use basalt_plan::{
    ForceJoin, NodeProfile, OrderDraw, PlanOptions, PlanShape, explain, plan, plan_instance,
};
use basalt_rdf::{TermBuf, TermId};
use basalt_store::Snapshot;
use oxrdf::NamedNode;
use spargebra::algebra::QueryDataset;
use spargebra::{Query, SparqlParser};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to run a query.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    /// Batch size, threads, memory, timeout, cancellation, profile.
    pub exec: ExecOptions,
    /// The base of relative IRIs.
    pub base: Option<String>,
    /// Default graphs given beside the query (`default-graph-uri`); they and `named_graphs` replace
    /// the query's own FROM clauses if either is not empty.
    pub default_graphs: Vec<String>,
    /// Named graphs given beside the query (`named-graph-uri`).
    pub named_graphs: Vec<String>,
    /// Whether the default graph is the union of all graphs.
    pub union_default_graph: bool,
    /// A join algorithm to prefer, for tests.
    pub force_join: Option<ForceJoin>,
    /// Another join order than the cheapest, for tests and measurements.
    pub order_draw: Option<OrderDraw>,
    /// Planner rules that are off, for tests.
    pub disabled_rules: Vec<String>,
    /// Whether key filters are passed down wherever that changes no answer, whether it pays or not; for tests.
    pub reduce_always: bool,
    /// Whether counts are made in parts, or with equal values taken off, wherever that changes no answer, not where it pays; for tests.
    pub aggregate_parts_always: bool,
    /// Whether plans of a template are taken wherever they are right, whether they are likely to be good or not; for tests.
    pub known_plans_always: bool,
    /// The endpoints that SERVICE may ask over HTTP. Who embeds Basalt and has a client of its own sets
    /// `exec.services` instead, and then this does not count.
    pub services: ServicePolicy,
    /// The longest time of one request to an endpoint; `None` is 30 seconds.
    pub service_timeout: Option<Duration>,
}

impl QueryOptions {
    /// The options of execution, with who asks endpoints.
    pub(crate) fn exec_options(&self) -> ExecOptions {
        let mut exec = self.exec.clone();
        if exec.services.is_none() && self.services != ServicePolicy::None {
            let client = HttpServices::new(self.services.clone(), self.service_timeout);
            exec.services = Some(Arc::new(client));
        }
        exec
    }

    /// The options of planning.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions {
            force_join: self.force_join,
            order_draw: self.order_draw,
            disabled_rules: self.disabled_rules.clone(),
            union_default_graph: self.union_default_graph,
            reduce_always: self.reduce_always,
            aggregate_parts_always: self.aggregate_parts_always,
            known_plans_always: self.known_plans_always,
        }
    }

    /// A parser that knows the base.
    pub(crate) fn parser(&self) -> Result<SparqlParser, Error> {
        let parser = SparqlParser::new();
        match &self.base {
            None => Ok(parser),
            Some(base) => parser.with_base_iri(base).map_err(|error| Error::Query {
                message: format!("the base '{base}' is not an absolute IRI: {error}"),
            }),
        }
    }
}

/// A planned query on a snapshot.
#[derive(Clone)]
pub struct Prepared {
    pub(crate) snapshot: Snapshot,
    pub(crate) query: Arc<Query>,
    pub(crate) plan: Arc<Plan>,
    /// The indexes of paths that queries before made of the store.
    pub(crate) path_indexes: Option<Arc<KnownPathIndexes>>,
    /// What plans of the same template have in common.
    pub shape: PlanShape,
    /// Time to parse the text.
    pub parse_time: Duration,
    /// Time to plan.
    pub plan_time: Duration,
    /// Whether the plan is that of an earlier query with the same text; `parse_time` is the time to find it then.
    pub is_cached: bool,
    /// Whether the plan is that of earlier queries which differ from this one in constants only; its estimates are those of one of them.
    pub is_of_template: bool,
}

impl Prepared {
    /// Parses and plans a query, or finds its plan; who else asks the same on the same state may find it later.
    pub(crate) fn with_cache(
        cache: &PlanCache,
        snapshot: Snapshot,
        text: &str,
        options: &QueryOptions,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let (query, instance) = match cache.find(text, options, &snapshot) {
            Known::Plan(query, plan, shape) => {
                return Ok(Self {
                    snapshot,
                    query,
                    plan,
                    path_indexes: None,
                    shape,
                    parse_time: start.elapsed(),
                    plan_time: Duration::ZERO,
                    is_cached: true,
                    is_of_template: false,
                });
            }
            Known::Algebra(query) => (query, None),
            Known::Nothing => {
                let (query, instance) = cache.parse(text, options)?;
                (Arc::new(query), instance)
            }
        };
        let parse_time = start.elapsed();
        let known_stars = cache.known_stars(&snapshot);
        let statistics = SnapshotStatistics::with_known_stars(&snapshot, &known_stars);
        let prepared = match instance {
            None => {
                let (plan, plan_time) = make_plan(&query, options, &statistics)?;
                Self::with_plan(snapshot, query, parse_time, plan, plan_time)
            }
            Some(instance) => {
                let (dataset, plan_options) = (dataset_override(options)?, options.plan_options());
                let dataset = dataset.as_ref();
                let made = plan_instance(&query, &instance, dataset, &statistics, &plan_options)?;
                let plan_time = start.elapsed() - parse_time;
                Self {
                    is_of_template: made.is_of_others,
                    ..Self::with_plan(snapshot, query, parse_time, made.plan, plan_time)
                }
            }
        };
        cache.tell(text, options, &prepared);
        Ok(prepared)
    }

    /// Parses and plans a query.
    pub fn new(snapshot: Snapshot, text: &str, options: &QueryOptions) -> Result<Self, Error> {
        let statistics = SnapshotStatistics::new(&snapshot);
        Self::with_statistics(snapshot.clone(), text, options, &statistics)
    }

    /// Parses and plans a query with these statistics of the snapshot.
    pub(crate) fn with_statistics(
        snapshot: Snapshot,
        text: &str,
        options: &QueryOptions,
        statistics: &dyn Statistics,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let query = Arc::new(parse(&options.parser()?, text)?);
        let parse_time = start.elapsed();
        let (plan, plan_time) = make_plan(&query, options, statistics)?;
        Ok(Self::with_plan(
            snapshot, query, parse_time, plan, plan_time,
        ))
    }

    /// A query with the plan that was made for it now.
    fn with_plan(
        snapshot: Snapshot,
        query: Arc<Query>,
        parse_time: Duration,
        plan: Plan,
        plan_time: Duration,
    ) -> Self {
        Self {
            snapshot,
            query,
            shape: PlanShape::of(&plan),
            plan: Arc::new(plan),
            path_indexes: None,
            parse_time,
            plan_time,
            is_cached: false,
            is_of_template: false,
        }
    }

    /// Runs it.
    pub fn run(&self, options: &QueryOptions) -> Result<Answer, Error> {
        let mut execution = execute(
            Arc::clone(&self.plan),
            self.snapshot.clone(),
            self.exec_options(options),
        )?;
        Ok(match &self.plan.form {
            Form::Select(slots) => Answer::Solutions(Solutions::new(execution, slots)),
            Form::Ask => Answer::Boolean(execution.next_batch()?.is_some()),
            Form::Construct(template) => Answer::Graph(GraphAnswer::Construct(Box::new(
                Construct::new(execution, template),
            ))),
            Form::Describe(slots) => {
                let graphs = self.described_graphs(options);
                let describe = Describe::new(execution, slots, graphs);
                Answer::Graph(GraphAnswer::Describe(Box::new(describe)))
            }
        })
    }

    /// The options of an execution: the caller's, and the base that the query itself may have set.
    fn exec_options(&self, options: &QueryOptions) -> ExecOptions {
        ExecOptions {
            base_iri: self.query.base_iri().map(|base| base.as_str().into()),
            path_indexes: self.path_indexes.clone(),
            ..options.exec_options()
        }
    }

    /// The graphs that DESCRIBE reads; `None` is all.
    fn described_graphs(&self, options: &QueryOptions) -> Option<Vec<TermId>> {
        let find = |iri: &str| {
            self.snapshot
                .dictionary()
                .find(basalt_rdf::TermView::Iri(iri))
        };
        if !options.default_graphs.is_empty() || !options.named_graphs.is_empty() {
            return Some(
                options
                    .default_graphs
                    .iter()
                    .filter_map(|iri| find(iri))
                    .collect(),
            );
        }
        match self.query.dataset() {
            Some(dataset) => Some(
                dataset
                    .default
                    .iter()
                    .filter_map(|node| find(node.as_str()))
                    .collect(),
            ),
            None if options.union_default_graph => None,
            None => Some(vec![TermId::DEFAULT_GRAPH]),
        }
    }

    /// The plan with estimates.
    pub fn explain(&self) -> PlanReport {
        self.report(None, None)
    }

    /// Runs the query to its end and gives the plan with what each operator took.
    pub fn profile(&self, options: &QueryOptions) -> Result<PlanReport, Error> {
        let start = Instant::now();
        let exec = ExecOptions {
            profile: true,
            ..self.exec_options(options)
        };
        let mut execution = execute(Arc::clone(&self.plan), self.snapshot.clone(), exec)?;
        let mut rows = 0;
        while let Some(batch) = execution.next_batch()? {
            rows += batch.rows() as u64;
        }
        let run = RunReport {
            rows,
            time: start.elapsed(),
            memory_bytes: execution.memory_bytes_max(),
            spilled_bytes: execution.spilled_bytes(),
        };
        Ok(self.report(Some(&execution.profile()), Some(run)))
    }

    fn report(&self, profile: Option<&[NodeProfile]>, run: Option<RunReport>) -> PlanReport {
        let statistics = SnapshotStatistics::new(&self.snapshot);
        PlanReport {
            root: explain(&self.plan, &statistics, &|id| self.term_text(id), profile),
            parse_time: self.parse_time,
            plan_time: self.plan_time,
            is_cached: self.is_cached,
            is_of_template: self.is_of_template,
            run,
        }
    }

    /// The text of an id, for EXPLAIN.
    pub(crate) fn term_text(&self, id: TermId) -> String {
        if id == TermId::DEFAULT_GRAPH {
            return "default".to_owned();
        }
        let mut buffer = TermBuf::new();
        match self.snapshot.dictionary().decode(id, &mut buffer) {
            Ok(()) => buffer.view().to_string(),
            Err(_) => format!("{id:?}"),
        }
    }

    /// The plan itself.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Plans a query, and says how long that took.
pub(crate) fn make_plan(
    query: &Query,
    options: &QueryOptions,
    statistics: &dyn Statistics,
) -> Result<(Plan, Duration), Error> {
    let start = Instant::now();
    let dataset = dataset_override(options)?;
    let plan = plan(query, dataset.as_ref(), statistics, &options.plan_options())?;
    Ok((plan, start.elapsed()))
}

/// Parses a text by the rules for tokens that the parser itself does not keep.
pub(crate) fn parse(parser: &SparqlParser, text: &str) -> Result<Query, Error> {
    // The parser decodes escapes, and may panic at what looks like one and is none.
    let plain = decoded(text);
    let lowered = with_lower_case_booleans(&plain);
    on_large_stack(&lowered, || parse_plain(parser, &plain, &lowered))?
}

/// As [`parse`], of a text without codepoint escapes, and the same with keywords in lower case.
fn parse_plain(parser: &SparqlParser, plain: &str, lowered: &str) -> Result<Query, Error> {
    let parse = |text: &str| with_names(text, |text| parser.clone().parse_query(&escaped(text)));
    let query = parse(lowered).map_err(|error| Error::Query {
        message: diagnose(plain, Wanted::Query, &error.to_string()),
    })?;
    let parses = |text: &str| parse(text).is_ok();
    match iri_taken_for_comparison(lowered, parses) {
        None => Ok(query),
        Some(range) => Err(Error::Query {
            message: format!(
                "'{}' is one IRI, since the longest token counts; where comparisons are meant, put blanks around them",
                &plain[range]
            ),
        }),
    }
}

/// The dataset given beside a text, if any.
pub(crate) fn dataset_override(options: &QueryOptions) -> Result<Option<QueryDataset>, Error> {
    if options.default_graphs.is_empty() && options.named_graphs.is_empty() {
        return Ok(None);
    }
    let nodes = |iris: &[String]| {
        iris.iter()
            .map(|iri| {
                NamedNode::new(iri).map_err(|error| Error::Query {
                    message: format!("the graph '{iri}' is not an absolute IRI: {error}"),
                })
            })
            .collect::<Result<Vec<_>, _>>()
    };
    let named = nodes(&options.named_graphs)?;
    Ok(Some(QueryDataset {
        default: nodes(&options.default_graphs)?,
        named: Some(named),
    }))
}
