//! From plan nodes to operators.
//!
//! A [`Build`] is shared by all threads that work on one query (or one evaluation of an EXISTS). It keeps
//! what they share: the morsels of scans and the finished hash tables, by node id.

pub mod correlated;
mod hash_join;
mod key_filters;
mod ranges;
mod roll_up;
mod shared;
mod sharing;
mod through;

pub use shared::Shared;
use sharing::last_distinct;
pub use sharing::{
    cheap_beside_build, few_that_lead_to_many, is_above, is_shared_by_batch, rows_led_to,
    shared_leaf, shares_of,
};

use super::early_cut::{CutRows, EarlyCut};
use super::merge_side::MergeSide;
use super::minus::MinusRows;
use super::pipeline::drain;
use super::profiled::Profiled;
use super::reserve::Reserve;
use super::shared_rows::SharedReader;
use super::{
    BoxOperator, count_join, count_scan, distinct, extend, filter, group, lateral_join, merge_join,
    minus, order_by, partial_distinct, path_at_once, path_join, path_runs, pattern_join,
    pattern_scan, project, reduced, rows, service, slice, slice_per, spool, union,
};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::star::CompiledStar;
use crate::star::join::StarJoin;
use crate::star::morsels::Morsels;
use crate::star::reducer::Reducers;
use crate::star::scan::{SharedScan, StarScan};
use basalt_plan::is_constant;
use basalt_plan::physical::{
    Aggregate, Constant, Expr, Node, Op, PathPattern, Pattern, Position, Slot, SortKey, Star,
    StarAccess, StarEntry, group_slots,
};
use correlated::OuterRows;
use std::sync::Arc;

/// What builds and shares the operators of one query; cheap to clone.
#[derive(Clone)]
pub struct Build {
    cx: Arc<Context>,
    shared: Arc<Shared>,
    /// What does not depend on the outer row; the same as `shared` where there is none.
    kept: Arc<Shared>,
    /// The current rows of the enclosing EXISTS or lateral join.
    outer: Option<Arc<OuterRows>>,
    /// The DISTINCT that the whole query ends with, if it is [made whole](super::shared_rows::distinct_pays_whole).
    last_distinct: Option<usize>,
    /// The node whose rows a sort above drops, and by which of its slots.
    early: Option<(usize, Slot, Arc<EarlyCut>)>,
}

fn columns_of(schema: &[Slot], input: &[Slot]) -> Vec<Option<usize>> {
    schema
        .iter()
        .map(|slot| input.iter().position(|s| s == slot))
        .collect()
}

fn column_of(schema: &[Slot], slot: Slot) -> Result<usize, ExecError> {
    let column = schema.iter().position(|&s| s == slot);
    column.ok_or_else(|| ExecError::Internal(format!("slot {} is not in the input", slot.0)))
}

impl Build {
    /// A build for the whole query.
    pub fn new(cx: Arc<Context>) -> Self {
        Self::sharing(cx, Arc::default())
    }

    /// The operator of a query's root, whose rows are all read.
    pub fn root(mut self, root: &Node) -> Result<BoxOperator, ExecError> {
        self.last_distinct = last_distinct(root, self.cx.options());
        self.operator(root)
    }

    /// A build of its own, with the key filters of joins above and nothing else that is shared.
    fn apart(&self, cx: &Context) -> Self {
        let shared = Shared::with_filters(&self.shared.key_filters);
        Self::sharing(cx.shared(), Arc::new(shared))
    }

    /// A build without outer rows.
    fn sharing(cx: Arc<Context>, shared: Arc<Shared>) -> Self {
        Self {
            cx,
            kept: Arc::clone(&shared),
            shared,
            outer: None,
            last_distinct: None,
            early: None,
        }
    }

    /// The query's context.
    pub fn context(&self) -> &Context {
        &self.cx
    }

    /// Makes the operator of a node and all below it.
    pub fn operator(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        let profile = self.cx.profile();
        let operator = match profile.is_on() {
            false => self.plain(node)?,
            // Some inputs are read while the operator is made.
            true => {
                let operator = profile.within(node.id, || self.plain(node))?;
                Box::new(Profiled::new(operator, node.id))
            }
        };
        match &self.early {
            Some((id, slot, cut)) if *id == node.id => {
                let column = column_of(&node.schema, *slot)?;
                Ok(Box::new(CutRows::new(operator, column, Arc::clone(cut))))
            }
            _ => Ok(operator),
        }
    }

    fn plain(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        let schema = || node.schema.clone();
        Ok(match &node.op {
            Op::Unit => Box::new(rows::Rows::new(Batch::from_vectors(
                vec![vec![0]; node.schema.len()],
                1,
            ))),
            Op::Empty => Box::new(rows::Rows::new(Batch::default())),
            Op::Outer => Box::new(rows::Rows::new(self.outer_rows(&node.schema)?)),
            Op::GraphNames { among } => {
                Box::new(rows::Rows::new(self.graph_names(&node.schema, among)))
            }
            Op::Values { rows } => Box::new(rows::Rows::new(self.values(rows, node.schema.len()))),
            _ if let Some(rows) = self.shared_rows_of(node) => Box::new(SharedReader(rows)),
            Op::StarScan { .. } => Box::new(StarScan::new(self.shared_scan(node, 0.0)?, schema())),
            Op::StarJoin {
                input,
                star,
                entry,
                kind,
            } => {
                let star = &self.narrowed_star(star);
                let compiled =
                    CompiledStar::new(star, (&input.schema, &node.schema), &[], &self.cx)?;
                let entry_pattern = entry_pattern(star, *entry);
                let input = self.operator(input)?;
                let join = StarJoin::new(input, compiled, *entry, entry_pattern, *kind, schema())?;
                self.reduced(node, Box::new(self.for_first_rows(join)))?
            }
            Op::PatternScan { pattern, filter } => Box::new(pattern_scan::PatternScan::new(
                &Pattern {
                    graphs: self.narrowed(&pattern.graphs).into_owned(),
                    ..pattern.clone()
                },
                filter.as_ref(),
                schema(),
                Arc::clone(&self.cx),
            )?),
            Op::CountScan {
                pattern,
                key,
                counts,
            } => Box::new(count_scan::CountScan::new(
                pattern,
                *key,
                counts,
                &node.schema,
            )?),
            _ => self.plain_join(node)?,
        })
    }

    /// The rows of a node that pass its key filters.
    fn reduced(&self, node: &Node, rows: BoxOperator) -> Result<BoxOperator, ExecError> {
        if node.key_filters.is_empty() {
            return Ok(rows);
        }
        let wanted = node.key_filters.iter().map(|passed| {
            let column = column_of(&node.schema, passed.slot)?;
            Ok((column, passed.number))
        });
        let wanted = wanted.collect::<Result<_, ExecError>>()?;
        let made = &self.shared.key_filters;
        Ok(Box::new(reduced::Reduced::new(rows, wanted, made)))
    }

    fn plain_join(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        Ok(match &node.op {
            Op::PatternJoin {
                input,
                pattern,
                kind,
                filter,
            } => {
                let pattern = &Pattern {
                    graphs: self.narrowed(&pattern.graphs).into_owned(),
                    ..pattern.clone()
                };
                let compiled = pattern_scan::CompiledPattern::new(pattern, &input.schema);
                let joined: Vec<Slot> = input
                    .schema
                    .iter()
                    .chain(&compiled.new_slots)
                    .copied()
                    .collect();
                let filter = filter
                    .as_ref()
                    .map(|f| CompiledExpr::compile(f, &joined, &self.cx))
                    .transpose()?;
                let columns = columns_of(&node.schema, &joined);
                let input = self.operator(input)?;
                Box::new(pattern_join::PatternJoin::new(
                    input, compiled, *kind, filter, columns,
                ))
            }
            Op::CountJoin { input, .. } => {
                let input = self.operator(input)?;
                Box::new(count_join::CountJoin::new(node, input)?)
            }
            Op::PathJoin {
                input,
                pattern,
                at_once,
            } => self.path_join(node, input, (pattern, *at_once))?,
            Op::Service { input, .. } => {
                let shape = service::ServiceShape::new(node)?;
                Box::new(service::Service::new(self.operator(input)?, shape))
            }
            Op::HashJoin { .. } => self.hash_join(node)?,
            Op::MergeJoin { left, right, key } => self.merge_join(node, left, right, *key)?,
            Op::LateralJoin { left, right } => {
                let rows = self.operator(left)?;
                Box::new(lateral_join::LateralJoin::new(
                    (rows, &left.schema),
                    right,
                    &node.schema,
                    &self.cx,
                ))
            }
            Op::Minus {
                left,
                right,
                shared,
            } => self.minus(left, right, shared)?,
            _ => self.plain_unary(node)?,
        })
    }

    /// Whether a condition that gives the same for all rows is true.
    pub(super) fn passes_all(&self, condition: &Expr) -> Result<bool, ExecError> {
        let condition = CompiledExpr::compile(condition, &[], &self.cx)?;
        let passing = condition.select(&Batch::of_rows(1), &self.cx)?;
        Ok(!passing.is_empty())
    }

    fn path_join(
        &self,
        node: &Node,
        input: &Node,
        (pattern, at_once): (&PathPattern, bool),
    ) -> Result<BoxOperator, ExecError> {
        let pattern = &PathPattern {
            graphs: self.narrowed(&pattern.graphs).into_owned(),
            ..pattern.clone()
        };
        let path = path_join::CompiledPath::new(node.id, pattern, input, &self.cx);
        if let (true, Some((direction, start))) = (at_once, path_runs::start_column(&path)) {
            let input = self.operator(input)?;
            let join = path_at_once::PathAtOnce::new(input, path, direction, start);
            return Ok(Box::new(join));
        }
        let new_slots = path.new_slots.iter();
        let joined: Vec<Slot> = input.schema.iter().chain(new_slots).copied().collect();
        let columns = columns_of(&node.schema, &joined);
        let input = self.operator(input)?;
        Ok(Box::new(path_join::PathJoin::new(input, path, columns)))
    }

    fn plain_unary(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        Ok(match &node.op {
            Op::Filter { input, condition } if is_constant(condition) => {
                match self.passes_all(condition)? {
                    true => self.operator(input)?,
                    false => Box::new(rows::Rows::new(Batch::default())),
                }
            }
            Op::Filter { input, condition } => {
                let condition = CompiledExpr::compile(condition, &input.schema, &self.cx)?;
                Box::new(filter::Filter::new(self.operator(input)?, condition))
            }
            Op::Extend { input, slot, expr } => {
                let expr = CompiledExpr::compile(expr, &input.schema, &self.cx)?;
                let made: Vec<Slot> = input.schema.iter().copied().chain([*slot]).collect();
                let columns = columns_of(&node.schema, &made);
                Box::new(extend::Extend::new(self.operator(input)?, expr, columns))
            }
            Op::Project { input } => {
                let columns = columns_of(&node.schema, &input.schema);
                Box::new(project::Project::new(self.operator(input)?, columns))
            }
            Op::Distinct { input } if self.last_distinct == Some(node.id) => {
                self.distinct_as_groups(input, &node.schema)
            }
            Op::Distinct { input } => {
                let width = input.schema.len();
                Box::new(distinct::Distinct::new(self.operator(input)?, width))
            }
            Op::PartialDistinct { input } => {
                let (width, expected) = (input.schema.len(), node.estimated_rows);
                let input = self.operator(input)?;
                Box::new(partial_distinct::PartialDistinct::new(
                    input, width, expected,
                ))
            }
            Op::OrderBy {
                input,
                keys,
                limit,
                cut_after,
            } => self.order_by(input, keys, *limit, *cut_after)?,
            Op::Slice {
                input,
                offset,
                limit,
            } => Box::new(slice::Slice::new(self.operator(input)?, *offset, *limit)),
            Op::SlicePer {
                input,
                slot,
                offset,
                limit,
            } => Box::new(slice_per::SlicePer::new(
                self.operator(input)?,
                column_of(&input.schema, *slot)?,
                *offset,
                *limit,
            )),
            Op::Group { .. } | Op::GroupThrough(_) | Op::RollUp(_) => self.group(node)?,
            Op::Union { inputs } => self.union(inputs, &node.schema)?,
            Op::Spool {
                input,
                spool,
                always,
            } => self.spooled(input, (*spool, *always)),
            other => return Err(ExecError::Internal(format!("no operator for {other:?}"))),
        })
    }

    /// Rows that other places read too.
    fn spooled(&self, input: &Arc<Node>, (spool, always): (usize, bool)) -> BoxOperator {
        let (input, rows) = (Arc::clone(input), self.shared.spooled_rows(spool));
        Box::new(spool::Spool::new((input, always), self.clone(), rows))
    }

    /// The groups of a node's rows, in columns of this schema.
    fn grouped(
        &self,
        input: &Arc<Node>,
        keys: &[Slot],
        aggregates: &[Aggregate],
        schema: &[Slot],
    ) -> BoxOperator {
        let columns = columns_of(schema, &group_slots(keys, aggregates));
        let (build, input) = (self.clone(), Arc::clone(input));
        let (keys, aggregates) = (keys.to_vec(), aggregates.to_vec());
        let collect: group::Collect =
            Box::new(move |cx| group::groups(&input, &keys, &aggregates, &build, cx));
        Box::new(group::Group::new(collect, columns))
    }

    /// The distinct rows of a node, in columns of this schema.
    fn distinct_as_groups(&self, input: &Arc<Node>, schema: &[Slot]) -> BoxOperator {
        self.grouped(input, &input.schema, &[], schema)
    }

    fn group(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        Ok(match &node.op {
            Op::Group {
                input,
                keys,
                aggregates,
            } => self.grouped(input, keys, aggregates, &node.schema),
            Op::GroupThrough(through) => {
                let made = group_slots(&through.keys, &through.aggregates);
                let columns = columns_of(&node.schema, &made);
                let (build, node, through) = (self.clone(), node.clone(), through.clone());
                let collect: group::Collect =
                    Box::new(move |cx| build.groups_through(&node, &through, cx));
                Box::new(group::Group::new(collect, columns))
            }
            Op::RollUp(roll_up) => {
                let columns = columns_of(&node.schema, &roll_up.slots());
                let (build, roll_up) = (self.clone(), roll_up.clone());
                let collect: group::Collect = Box::new(move |cx| build.rolled_up(&roll_up, cx));
                Box::new(group::Group::new(collect, columns))
            }
            other => return Err(ExecError::Internal(format!("no group: {other:?}"))),
        })
    }

    fn union(&self, inputs: &[Node], schema: &[Slot]) -> Result<BoxOperator, ExecError> {
        let inputs = inputs
            .iter()
            .map(|input| Ok((self.operator(input)?, columns_of(schema, &input.schema))))
            .collect::<Result<Vec<_>, ExecError>>()?;
        Ok(Box::new(union::Union::new(inputs)))
    }

    fn values(&self, rows: &[Vec<Option<Constant>>], width: usize) -> Batch {
        let id = |constant: &Option<Constant>| match constant {
            None => 0,
            Some(Constant { id: Some(id), .. }) => id.0,
            Some(Constant { term, .. }) => self.cx.terms().intern_term(term).0,
        };
        let columns = (0..width)
            .map(|column| rows.iter().map(|row| id(&row[column])).collect())
            .collect();
        Batch::from_vectors(columns, rows.len())
    }

    /// The star and morsels of a `StarScan` node, the same for every thread.
    pub fn shared_scan(&self, node: &Node, leads_to: f64) -> Result<Arc<SharedScan>, ExecError> {
        let profile = self.cx.profile();
        profile.within(node.id, || self.make_scan(node, leads_to))
    }

    fn make_scan(&self, node: &Node, leads_to: f64) -> Result<Arc<SharedScan>, ExecError> {
        let Op::StarScan { star, access } = &node.op else {
            return Err(ExecError::Internal("only a star scan has morsels".into()));
        };
        let mut scans = self.shared.scans.lock().expect("no holder panics");
        if let Some(scan) = scans.get(&node.id) {
            return Ok(Arc::clone(scan));
        }
        let object = match access {
            StarAccess::Object { pattern_idx } => match star.patterns[*pattern_idx].object {
                Position::Id(object) => Some((star.patterns[*pattern_idx].predicate, object)),
                Position::Slot(_) => None,
            },
            StarAccess::Rows | StarAccess::Subject => None,
        };
        let tested: Vec<Slot> = node.key_filters.iter().map(|f| f.slot).collect();
        let compiled = CompiledStar::new(
            &self.narrowed_star(star),
            (&[], &node.schema),
            &tested,
            &self.cx,
        )?;
        let made = &self.shared.key_filters;
        let mut morsels = Morsels::new(&compiled, access, object, &self.cx)?;
        morsels.share_for(leads_to, self.cx.options());
        let scan = Arc::new(SharedScan {
            morsels,
            reserve: Reserve::default(),
            reducers: Reducers::new(&compiled, &node.key_filters, made),
            star: compiled,
        });
        scans.insert(node.id, Arc::clone(&scan));
        Ok(scan)
    }

    fn merge_join(
        &self,
        node: &Node,
        left: &Node,
        right: &Node,
        key: Slot,
    ) -> Result<BoxOperator, ExecError> {
        let sources = node
            .schema
            .iter()
            .map(|&slot| match column_of(&left.schema, slot) {
                Ok(column) => Ok((true, column)),
                Err(_) => Ok((false, column_of(&right.schema, slot)?)),
            })
            .collect::<Result<Vec<_>, ExecError>>()?;
        let keys = (
            column_of(&left.schema, key)?,
            column_of(&right.schema, key)?,
        );
        let (left, right) = (
            self.merge_side(left, keys.0)?,
            self.merge_side(right, keys.1)?,
        );
        let join = merge_join::MergeJoin::new(left, right, sources, &self.cx)?;
        Ok(Box::new(join))
    }

    fn merge_side(&self, input: &Node, key_column: usize) -> Result<MergeSide, ExecError> {
        let make = || Ok(MergeSide::new(key_column, input.schema.len()));
        let mut sides = drain(input, self, &self.cx, make)?.into_iter();
        let mut side = sides.next().map_or_else(make, Ok)?;
        sides.for_each(|more| side.append(more));
        Ok(side)
    }

    fn minus(&self, left: &Node, right: &Node, shared: &[Slot]) -> Result<BoxOperator, ExecError> {
        let columns = |input: &Node| {
            let columns = shared.iter().map(|&slot| column_of(&input.schema, slot));
            columns.collect::<Result<Vec<usize>, _>>()
        };
        let right_columns = columns(right)?;
        let make = || Ok(MinusRows::new(&right_columns));
        let mut parts = drain(right, self, &self.cx, make)?.into_iter();
        let mut rows = parts.next().map_or_else(make, Ok)?;
        for more in parts {
            rows.append(&more, &self.cx)?;
        }
        let columns = columns(left)?;
        let input = self.operator(left)?;
        Ok(Box::new(minus::Minus::new(input, columns, rows)))
    }

    fn order_by(
        &self,
        input: &Arc<Node>,
        keys: &[SortKey],
        limit: Option<usize>,
        cut_after: Option<usize>,
    ) -> Result<BoxOperator, ExecError> {
        let mut build = self.clone();
        build.early = match (cut_after, keys.first()) {
            (Some(id), Some(key)) => match &key.expr {
                Expr::Slot(slot) => Some((id, *slot, Arc::new(EarlyCut::new(key.descending)))),
                _ => None,
            },
            _ => None,
        };
        let keys = keys
            .iter()
            .map(|key| {
                Ok((
                    CompiledExpr::compile(&key.expr, &input.schema, &self.cx)?,
                    key.descending,
                ))
            })
            .collect::<Result<Vec<_>, ExecError>>()?;
        let mut order = order_by::SortOrder::new(keys, limit);
        order.early = build.early.as_ref().map(|(.., cut)| Arc::clone(cut));
        let (order, input) = (Arc::new(order), Arc::clone(input));
        let collect: order_by::Collect = Box::new(move |cx| {
            let make = || {
                Ok(order_by::SortBuffer::new(
                    Arc::clone(&order),
                    input.schema.len(),
                ))
            };
            let mut sinks = drain(&input, &build, cx, make)?.into_iter();
            let mut rows = sinks.next().map_or_else(make, Ok)?;
            sinks.for_each(|more| rows.append(more));
            Ok(rows)
        });
        Ok(order_by::OrderBy::boxed(collect))
    }
}

fn entry_pattern(star: &Star, entry: StarEntry) -> Option<(basalt_rdf::TermId, Slot)> {
    let StarEntry::Object { pattern_idx } = entry else {
        return None;
    };
    let pattern = &star.patterns[pattern_idx];
    match pattern.object {
        Position::Slot(slot) => Some((pattern.predicate, slot)),
        Position::Id(_) => None,
    }
}
