//! The physical plan: a tree of operators over variable slots, as the executor runs it.
//!
//! The planner makes it, EXPLAIN prints it, the executor interprets it. It names terms by id where
//! the store knows them and keeps the term itself where it does not. Nothing here does I/O.
//!
//! Invariants: every slot in [`Node::schema`] is produced by the node; a slot outside it is not
//! visible above. [`Node::certain`] is the subset that is bound in every row. Joins that compare
//! ids directly ([`Op::StarJoin`], [`Op::PatternJoin`], [`Op::HashJoin`] keys) may only use
//! slots that are certain on both sides; other shared slots go through compatibility checks.

mod partners;
mod patterns;

pub use partners::{Nearest, PartnerAggregate, PartnerFunction, RangeEnd};
pub use patterns::{
    Endpoint, Graphs, PathPattern, Pattern, Position, ServicePattern, Star, StarAccess, StarEntry,
    StarPattern,
};

use crate::alternative::Alternative;
use basalt_rdf::TermId;
use oxrdf::Term;
use spargebra::algebra::Function;
use spargebra::term::TriplePattern;
use std::sync::Arc;

/// A variable of the query (or one made by the planner), an index into [`Plan::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// Index of a table (shape) in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableIdx(pub u32);

/// A constant of the query text. `id` is `None` where the store does not know the term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The term as written.
    pub term: Term,
    /// Its id, if the dictionary (or an inline kind) has one.
    pub id: Option<TermId>,
}

/// What a join does with rows that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a partner.
    LeftOuter,
    /// Left rows with a partner.
    Semi,
    /// Left rows without a partner.
    Anti,
}

/// One key of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// Whether larger values come first.
    pub descending: bool,
}

/// An aggregate of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The slot that takes the result.
    pub slot: Slot,
    /// The function.
    pub function: AggregateFunction,
    /// The argument; `None` only for `COUNT(*)`.
    pub argument: Option<Expr>,
    /// Whether `DISTINCT` was written.
    pub distinct: bool,
}

/// A number that [`Op::CountScan`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuadCount {
    /// The slot that takes the number.
    pub slot: Slot,
    /// The slot of the pattern whose distinct values are counted; `None` counts quads.
    pub distinct: Option<Slot>,
}

/// The aggregate functions of SPARQL 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// COUNT.
    Count,
    /// SUM.
    Sum,
    /// AVG.
    Avg,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// SAMPLE.
    Sample,
    /// GROUP_CONCAT with its separator.
    GroupConcat {
        /// The separator, a space by default.
        separator: String,
    },
}

impl AggregateFunction {
    /// Whether it gives one of the values of a group.
    pub(crate) fn picks_one(&self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::Sample)
    }
}

/// An expression over slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A variable; an unbound one is an error.
    Slot(Slot),
    /// A constant.
    Constant(Constant),
    /// `a || b || ...`
    Or(Vec<Expr>),
    /// `a && b && ...`
    And(Vec<Expr>),
    /// `!a`
    Not(Box<Expr>),
    /// `a = b`
    Equal(Box<Expr>, Box<Expr>),
    /// `sameTerm(a, b)`
    SameTerm(Box<Expr>, Box<Expr>),
    /// `a < b`
    Less(Box<Expr>, Box<Expr>),
    /// `a <= b`
    LessOrEqual(Box<Expr>, Box<Expr>),
    /// `a IN (...)`
    In(Box<Expr>, Vec<Expr>),
    /// `a + b`
    Add(Box<Expr>, Box<Expr>),
    /// `a - b`
    Subtract(Box<Expr>, Box<Expr>),
    /// `a * b`
    Multiply(Box<Expr>, Box<Expr>),
    /// `a / b`
    Divide(Box<Expr>, Box<Expr>),
    /// `+a`
    UnaryPlus(Box<Expr>),
    /// `-a`
    UnaryMinus(Box<Expr>),
    /// `IF(a, b, c)`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `COALESCE(...)`
    Coalesce(Vec<Expr>),
    /// `BOUND(?x)`
    Bound(Slot),
    /// A function call or cast.
    Call(Function, Vec<Expr>),
    /// An id that is the same for all values that are equal (`=`) to each other, seldom for others too; it stands for no term. An error where the
    /// operand is one, and of NaN. Equality of the values must be transitive.
    EqualityKey(Box<Expr>),
    /// `EXISTS { ... }`: the plan has one [`Op::Outer`] leaf that takes the current row.
    Exists(Arc<Node>),
}

/// An operator; `Arc<Node>` children come first in EXPLAIN order. They are shared between copies of a plan: execution holds on to
/// parts of it without copying what is below, and rules write with `Arc::make_mut`.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// One row without columns.
    Unit,
    /// No rows.
    Empty,
    /// The current row of the enclosing EXISTS or lateral join, only the slots of the schema.
    Outer,
    /// The named graphs, bound to the only slot of the schema (leaf).
    GraphNames {
        /// The allowed graphs (`FROM NAMED`), those that hold nothing included; `None` is all.
        among: Option<Vec<TermId>>,
    },
    /// VALUES; each row has one entry for each slot of the schema, in its order.
    Values {
        /// The rows; `None` is UNDEF.
        rows: Vec<Vec<Option<Constant>>>,
    },
    /// A star read from its tables (leaf).
    StarScan {
        /// The star.
        star: Star,
        /// How subjects are found.
        access: StarAccess,
    },
    /// A star found for each input row: positional join, adjacency join or index join.
    StarJoin {
        /// The rows to extend.
        input: Arc<Node>,
        /// The star; slots also in the input's schema are constraints (and are certain there).
        star: Star,
        /// Which slot of the input leads to the star.
        entry: StarEntry,
        /// Inner, left outer, semi or anti.
        kind: JoinKind,
    },
    /// One general pattern (leaf).
    PatternScan {
        /// The pattern.
        pattern: Pattern,
        /// Condition over its predicate alone.
        filter: Option<Expr>,
    },
    /// One general pattern looked up for each input row.
    PatternJoin {
        /// The rows to extend.
        input: Arc<Node>,
        /// The pattern; slots also in the input's schema are constraints.
        pattern: Pattern,
        /// Inner, left outer, semi or anti.
        kind: JoinKind,
        /// Condition over the joined row; part of the join (matters for all but inner).
        filter: Option<Expr>,
    },
    /// A property path evaluated for each input row ([`Op::Unit`] input for a leaf).
    PathJoin {
        /// The rows to extend.
        input: Arc<Node>,
        /// The path; slots also in the input's schema are constraints (certain there).
        pattern: PathPattern,
        /// Whether each end is given once for all rows together; it is all that the schema has then, and no slot of the input.
        at_once: bool,
    },
    /// A remote pattern joined to the input ([`Op::Unit`] for a leaf).
    Service {
        /// The rows to extend.
        input: Arc<Node>,
        /// The remote pattern; shared slots are compared as by [`Op::HashJoin`].
        service: ServicePattern,
        /// The shared slots whose values go with the requests (certain in the input); with none
        /// the whole pattern is fetched once.
        send: Vec<Slot>,
        /// Inner, left outer, semi or anti.
        kind: JoinKind,
        /// Condition over the joined row; part of the join.
        filter: Option<Expr>,
    },
    /// Hash join; also the general join: with no keys every pair is compared.
    HashJoin {
        /// Left side, the one kept by left outer, semi and anti.
        left: Arc<Node>,
        /// Right side.
        right: Arc<Node>,
        /// Slots certain on both sides, compared by id.
        keys: Vec<Slot>,
        /// Shared slots that may be unbound on a side: compatible if equal or one is unbound; the
        /// result takes the bound one.
        compatible: Vec<Slot>,
        /// What happens to matches.
        kind: JoinKind,
        /// Condition over the joined row; part of the join.
        filter: Option<Expr>,
        /// Build the hash table from the left side instead of the right.
        build_left: bool,
        /// Where rows stand for sets of pairs, what they tell of these besides the left side's columns; those of the right side
        /// are gone. With some the join is inner or left outer and builds from the right.
        partners: Vec<PartnerAggregate>,
        /// Which partners of a row are enough, as a join above drops the others.
        nearest: Option<Nearest>,
    },
    /// Merge join of two inputs sorted by `key`'s id (inner only).
    MergeJoin {
        /// Left side.
        left: Arc<Node>,
        /// Right side.
        right: Arc<Node>,
        /// The slot both are sorted by; certain on both sides and the only shared slot.
        key: Slot,
    },
    /// The right side evaluated anew for each left row, which its [`Op::Outer`] leaves take.
    LateralJoin {
        /// The rows to extend.
        left: Arc<Node>,
        /// What is joined to each of them. A slot that both sides have is the left row's value, or
        /// was unbound there.
        right: Arc<Node>,
    },
    /// MINUS: drops left rows that have a compatible right row sharing at least one bound slot.
    Minus {
        /// Left side.
        left: Arc<Node>,
        /// Right side.
        right: Arc<Node>,
        /// The shared slots.
        shared: Vec<Slot>,
    },
    /// Rows for which the condition is true.
    Filter {
        /// The rows.
        input: Arc<Node>,
        /// The condition.
        condition: Expr,
    },
    /// BIND: a new slot; an error leaves it unbound.
    Extend {
        /// The rows.
        input: Arc<Node>,
        /// The new slot.
        slot: Slot,
        /// Its value.
        expr: Expr,
    },
    /// Keeps (and reorders to) the slots of the node's schema; one that the input lacks is unbound.
    Project {
        /// The rows.
        input: Arc<Node>,
    },
    /// Each distinct row once.
    Distinct {
        /// The rows.
        input: Arc<Node>,
    },
    /// Rows, of those that repeat fewer: where nobody counts repeats, so that they are not joined further.
    PartialDistinct {
        /// The rows.
        input: Arc<Node>,
    },
    /// Rows in order; with a limit only the first ones (top-k).
    OrderBy {
        /// The rows.
        input: Arc<Node>,
        /// The keys, most significant first.
        keys: Vec<SortKey>,
        /// Rows that are needed, if not all.
        limit: Option<usize>,
        /// The number of a node below, whose rows are dropped that would come after all that are needed.
        cut_after: Option<usize>,
    },
    /// OFFSET and LIMIT.
    Slice {
        /// The rows.
        input: Arc<Node>,
        /// Rows skipped.
        offset: usize,
        /// Rows kept.
        limit: Option<usize>,
    },
    /// OFFSET and LIMIT for each value of a slot: a subselect inside `GRAPH ?g`.
    SlicePer {
        /// The rows.
        input: Arc<Node>,
        /// The slot.
        slot: Slot,
        /// Rows skipped of each value.
        offset: usize,
        /// Rows kept of each value.
        limit: Option<usize>,
    },
    /// GROUP BY; with no keys exactly one group.
    Group {
        /// The rows.
        input: Arc<Node>,
        /// The grouping slots.
        keys: Vec<Slot>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// GROUP BY over the join of pairs and rows by `via`, without making it: the aggregates of the rows by
    /// `via`, added up by `keys` for each pair.
    GroupThrough(Box<GroupThrough>),
    /// GROUP BY from the states of a finer group, which other groups of the plan begin with too.
    RollUp(Box<RollUp>),
    /// Counts of the quads of one pattern, by one of its slots or all together, from statistics and
    /// inverses (leaf). With a key one row for each value that has quads; without, exactly one row.
    CountScan {
        /// The pattern; no slot occurs twice in it and its subject is a slot.
        pattern: Pattern,
        /// The slot of the pattern by which quads are counted.
        key: Option<Slot>,
        /// What is counted.
        counts: Vec<QuadCount>,
    },
    /// For each input row with quads of a pattern that have one of its slots as their object, how many these are; rows without
    /// are dropped. What a join with a [`Op::CountScan`] by that slot gives, in the order of the input.
    CountJoin {
        /// The rows; the key is certain in them.
        input: Arc<Node>,
        /// The pattern: its object is the key, its predicate a constant, its subject a slot; no other slot of it is bound.
        pattern: Pattern,
        /// The slot of the input that is the object.
        key: Slot,
        /// The slot that takes the number.
        count: Slot,
    },
    /// Rows that several places of the plan read: the first that asks makes them, the others get the same rows.
    Spool {
        /// What makes the rows; of the same number the same but for the names of slots.
        input: Arc<Node>,
        /// The same number for all places.
        spool: usize,
        /// Whether the rows must be kept: made again they might be others. Else each place makes its own where they do not fit.
        always: bool,
    },
    /// All rows of all inputs; a slot that an input lacks is unbound.
    Union {
        /// The inputs.
        inputs: Vec<Node>,
    },
}

/// What [`Op::GroupThrough`] does.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupThrough {
    /// What is aggregated; has all that the aggregates read.
    pub rows: Node,
    /// The keys with the `via` of their rows.
    pub pairs: Node,
    /// The slots that rows and pairs share; certain on both sides.
    pub via: Vec<Slot>,
    /// The grouping slots, of the pairs.
    pub keys: Vec<Slot>,
    /// The aggregates, none of them DISTINCT.
    pub aggregates: Vec<Aggregate>,
    /// If given, distinct rows of the keys: each of them gets the aggregates of all rows but those
    /// that it has a pair with (the pairs are distinct then), unless none is left.
    pub without: Option<Domain>,
    /// The number of the states of rows with a pair, which groups of the same number make once.
    pub shared: Option<usize>,
    /// All rows, where such states are taken away: `rows` has only those with a pair for certain then.
    pub total: Option<Total>,
    /// With `without`: the group whose states could be taken away, until it is known whether the plan has it.
    pub with_pair: Option<Arc<WithPair>>,
}

/// Distinct rows of the keys of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// These.
    Rows(Box<Node>),
    /// Those of the pairs that another group has read for its states, which are shared.
    Pairs,
}

impl Domain {
    /// What is read for it.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Self::Rows(node) => Some(node),
            Self::Pairs => None,
        }
    }

    /// What is read for it, mutably.
    pub fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Rows(node) => Some(node),
            Self::Pairs => None,
        }
    }
}

/// All rows of a group that takes the states of another away from theirs.
#[derive(Clone, Debug, PartialEq)]
pub enum Total {
    /// The rows.
    Rows(Node),
    /// Rows of `via`: for each of them the other's state of its `via`, if there is one, has what is to be added up. Without, each such
    /// state once.
    Parts(Option<Node>),
}

impl Total {
    /// What is read for it.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Self::Rows(node) => Some(node),
            Self::Parts(node) => node.as_ref(),
        }
    }

    /// What is read for it, mutably.
    pub fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Rows(node) => Some(node),
            Self::Parts(node) => node.as_mut(),
        }
    }
}

/// What [`Op::RollUp`] does.
#[derive(Clone, Debug, PartialEq)]
pub struct RollUp {
    /// The finer group, an [`Op::Group`] or an [`Op::GroupThrough`] of rows with a pair: the same wherever the number is.
    pub finer: Node,
    /// The grouping slots, each with the finer group's that it is.
    pub keys: Vec<(Slot, Slot)>,
    /// The aggregates, each with the finer group's that adds up to it.
    pub aggregates: Vec<(Slot, Slot)>,
    /// The number of the states, which whoever asks first makes.
    pub states: usize,
}

impl RollUp {
    /// What it makes: its keys, then its aggregates.
    pub fn slots(&self) -> Vec<Slot> {
        let made = self.keys.iter().chain(&self.aggregates);
        made.map(|(slot, _)| *slot).collect()
    }
}

/// A group whose states could be taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct WithPair {
    /// The group.
    pub group: Node,
    /// All rows by its states, if these tell them.
    pub total: Option<Total>,
}

/// What a group makes: its keys, then its aggregates.
pub fn group_slots(keys: &[Slot], aggregates: &[Aggregate]) -> Vec<Slot> {
    let made = aggregates.iter().map(|aggregate| aggregate.slot);
    keys.iter().copied().chain(made).collect()
}

/// A key filter: the keys of a build side, with which a scan on the other side turns rows away that would find no partner. The join
/// looks at every row again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyFilter {
    /// The key of the join that makes it, and a slot of the scans that test it.
    pub slot: Slot,
    /// The same for the join and its scans, dense from 0 in the plan.
    pub number: usize,
}

/// An operator with what the planner knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Number of the node in the plan, dense from 0 (for profiles).
    pub id: usize,
    /// The operator.
    pub op: Op,
    /// The slots of the rows it produces, in column order.
    pub schema: Vec<Slot>,
    /// The slots of the schema that are bound in every row.
    pub certain: Vec<Slot>,
    /// Estimated rows.
    pub estimated_rows: f64,
    /// Estimated cost of the node and everything below, in nanoseconds of one core.
    pub estimated_cost: f64,
    /// Slots by whose ids the rows are sorted, most significant first.
    pub sorted_by: Vec<Slot>,
    /// The cheapest way that was not taken, where there was a choice.
    pub alternative: Option<Alternative>,
    /// The key filters that an [`Op::HashJoin`] makes of its build side, or those that an [`Op::StarScan`] tests.
    pub key_filters: Vec<KeyFilter>,
}

/// What the query asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// SELECT: the projected slots in order.
    Select(Vec<Slot>),
    /// ASK.
    Ask,
    /// CONSTRUCT: the template; its variables are looked up in [`Plan::variables`] by name.
    Construct(Vec<TriplePattern>),
    /// DESCRIBE: the resources are the values of these slots.
    Describe(Vec<Slot>),
}

/// A plan ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What to do with the rows.
    pub form: Form,
    /// Produces the rows.
    pub root: Node,
    /// Names by slot, without the question mark; slots made by the planner have names that no
    /// query can write (they start with a space).
    pub variables: Vec<String>,
    /// Number of nodes, those inside EXISTS included.
    pub node_count: usize,
}
