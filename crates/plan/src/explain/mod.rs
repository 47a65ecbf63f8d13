//! EXPLAIN and PROFILE: a plan as a tree of what one wants to know of each operator.
//!
//! Plan, statistics and measurements come in, an [`ExplainedNode`] for each node goes out; renderings
//! ([`text`], and JSON in the engine) read nothing else, so that they say the same. Invariant: the tree has
//! the nodes of the plan, those of EXISTS included, in the order in which they are numbered but for the
//! latter, which stand before the inputs of their operator. Cost: a few allocations a node.

mod operator_text;
mod text;

use crate::physical::{Expr, Node, Plan};
use crate::statistics::Statistics;
use basalt_rdf::TermId;
use operator_text::Names;

/// What running a node took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeProfile {
    /// Rows it produced, over all evaluations.
    pub rows: u64,
    /// Rows it read from the store itself: rows of tables looked at, whether they match or not, quads, links.
    pub read_rows: u64,
    /// Those of them that are subjects which were looked up one by one: irregular, or changed where columns do not help.
    pub read_one_by_one: u64,
    /// Rows of which a value was compared, packed as it is in its column, to find those with a constant, or of which only was asked
    /// whether they have a value.
    pub compared_rows: u64,
    /// Rows of a scan that key filters turned away.
    pub turned_away: u64,
    /// Time in it without the nodes below, over all threads, in nanoseconds.
    pub own_nanos: u64,
    /// The most bytes of the query's memory that it held at one time.
    pub memory_bytes: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: u64,
    /// Whether it was asked for rows at all.
    pub is_started: bool,
    /// Whether it came to its end; not so where a limit, or a join without partners, needs no more of it.
    pub is_complete: bool,
}

/// One operator of a plan, as EXPLAIN shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedNode {
    /// Number of the node in the plan.
    pub id: usize,
    /// The operator with all that it was given; its first word is the name.
    pub text: String,
    /// The columns of its rows, by name.
    pub columns: Vec<String>,
    /// For stars the tables that can have clean rows.
    pub tables: Option<Vec<String>>,
    /// For stars, by what subjects are found.
    pub access: Option<String>,
    /// For scans, by name the columns that key filters test.
    pub reduced_by: Vec<String>,
    /// Estimated rows, of one evaluation.
    pub estimated_rows: f64,
    /// Estimated cost with everything below, in nanoseconds of one core.
    pub estimated_cost: f64,
    /// The cheapest way that was not taken, with its cost in the same unit.
    pub alternative: Option<(String, f64)>,
    /// What running it took, if it was run.
    pub actual: Option<NodeProfile>,
    /// The plans of EXISTS in its expressions.
    pub exists: Vec<ExplainedNode>,
    /// Its inputs.
    pub inputs: Vec<ExplainedNode>,
}

impl ExplainedNode {
    /// The name of the operator.
    pub fn operator(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// The nodes right below: plans of EXISTS, then inputs.
    pub fn below(&self) -> impl Iterator<Item = &ExplainedNode> {
        self.exists.iter().chain(&self.inputs)
    }

    /// Time in it and everything below, over all threads, in nanoseconds; 0 if it was not run.
    pub fn total_nanos(&self) -> u64 {
        let own = self.actual.map_or(0, |actual| actual.own_nanos);
        own + self.below().map(ExplainedNode::total_nanos).sum::<u64>()
    }

    /// Rows that it and everything below read from the store; 0 if it was not run.
    pub fn total_read_rows(&self) -> u64 {
        let own = self.actual.map_or(0, |actual| actual.read_rows);
        own + self
            .below()
            .map(ExplainedNode::total_read_rows)
            .sum::<u64>()
    }

    /// The tree as indented text, a line for each operator.
    pub fn to_text(&self) -> String {
        text::render(self)
    }
}

/// The plan as a tree; `term` gives the text of an id, `profile` is indexed by [`Node::id`].
pub fn explain(
    plan: &Plan,
    statistics: &dyn Statistics,
    term: &dyn Fn(TermId) -> String,
    profile: Option<&[NodeProfile]>,
) -> ExplainedNode {
    let names = Names {
        plan,
        statistics,
        term,
    };
    explained(&plan.root, &names, profile)
}

fn explained(node: &Node, names: &Names<'_>, profile: Option<&[NodeProfile]>) -> ExplainedNode {
    let mut exists = Vec::new();
    for expr in node.op.expressions() {
        plans_of_exists(expr, &mut |inside| {
            exists.push(explained(inside, names, profile));
        });
    }
    let columns = node.schema.iter();
    let reduced_by = names.reduced_by(node);
    let alternative = node.alternative.as_ref();
    ExplainedNode {
        id: node.id,
        text: names.operator(&node.op) + &operator_text::reduced_by(&reduced_by),
        columns: columns.map(|s| names.variable(*s).to_owned()).collect(),
        tables: names.tables(&node.op),
        access: names.access(&node.op),
        reduced_by,
        estimated_rows: node.estimated_rows,
        estimated_cost: node.estimated_cost,
        alternative: alternative.map(|other| (names.way(other.way), other.cost)),
        actual: profile.and_then(|profile| profile.get(node.id)).copied(),
        exists,
        inputs: node
            .op
            .children()
            .into_iter()
            .map(|input| explained(input, names, profile))
            .collect(),
    }
}

fn plans_of_exists(expr: &Expr, each: &mut dyn FnMut(&Node)) {
    if let Expr::Exists(inside) = expr {
        each(inside);
        return;
    }
    crate::expression::for_each_operand(expr, &mut |operand| plans_of_exists(operand, each));
}
