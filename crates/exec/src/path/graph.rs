//! The graph that a path walks over, and how its links are read.
//!
//! `GRAPH ?g` walks over each named graph on its own, everything else over one graph or the merge of
//! some. In a merge a triple that stands in several graphs is one link.

use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_plan::physical::Graphs;
use basalt_rdf::TermId;
use basalt_store::{Direction, QuadIds, QuadPattern};
use std::ops::ControlFlow;

/// Nodes expanded or quads read between two looks at the clock: well under a millisecond.
const NODES_PER_CHECK: usize = 512;
const QUADS_PER_CHECK: usize = 1 << 14;
/// Quads that are read in the time in which a start is followed in a graph that has no link from it.
const QUADS_PER_GRAPH: usize = 4;

/// Which links a step of a path follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Those of one predicate.
    Link(TermId),
    /// Those of all predicates but some.
    Except(Vec<TermId>),
}

impl Label {
    fn takes(&self, predicate: TermId) -> bool {
        match self {
            Self::Link(id) => *id == predicate,
            Self::Except(list) => !list.contains(&predicate),
        }
    }

    /// The quads with these links, wherever they are: what reading them all costs.
    pub fn quad_count(&self, cx: &Context) -> u64 {
        match self {
            Self::Link(id) => cx.snapshot().predicate_quads(*id),
            Self::Except(_) => cx.snapshot().quad_count(),
        }
    }
}

/// The other direction.
pub fn flipped(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Backward,
        Direction::Backward => Direction::Forward,
    }
}

/// One graph, or several merged into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathGraph {
    /// One graph.
    One(TermId),
    /// The union of some graphs, or of all.
    Merge(Option<Vec<TermId>>),
}

/// All graphs that a path is evaluated over, one after the other.
#[derive(Clone, Debug)]
pub enum PathGraphs {
    /// Only one.
    Single(PathGraph),
    /// Each of the named graphs, or of some of them.
    Each(Option<Vec<TermId>>),
}

impl PathGraphs {
    /// The graphs of a pattern.
    pub fn new(graphs: &Graphs) -> Self {
        match graphs {
            Graphs::One(graph) => Self::Single(PathGraph::One(*graph)),
            Graphs::Merge { among } => Self::Single(PathGraph::Merge(among.clone())),
            Graphs::Variable { among, .. } => Self::Each(among.clone()),
        }
    }

    /// The [key](PathGraph::key) of the graph that a quad of this graph belongs to, if any.
    pub fn key_of(&self, graph: TermId) -> Option<u64> {
        let listed =
            |list: &Option<Vec<TermId>>| list.as_ref().is_none_or(|list| list.contains(&graph));
        match self {
            Self::Single(single) => single.admits(graph).then(|| single.key()),
            Self::Each(list) => (graph != TermId::DEFAULT_GRAPH && listed(list)).then_some(graph.0),
        }
    }

    /// The one graph that a scan can be restricted to.
    pub fn only(&self) -> Option<TermId> {
        match self {
            Self::Single(PathGraph::One(graph)) => Some(*graph),
            Self::Single(PathGraph::Merge(_)) | Self::Each(_) => None,
        }
    }
}

impl PathGraph {
    /// Tells apart the graphs of one [`PathGraphs`].
    pub fn key(&self) -> u64 {
        match self {
            Self::One(graph) => graph.0,
            Self::Merge(_) => 0,
        }
    }

    fn admits(&self, graph: TermId) -> bool {
        match self {
            Self::One(id) => *id == graph,
            Self::Merge(list) => list.as_ref().is_none_or(|list| list.contains(&graph)),
        }
    }

    fn pattern(&self) -> QuadPattern {
        let graph = match self {
            Self::One(graph) => Some(*graph),
            Self::Merge(_) => None,
        };
        QuadPattern {
            graph,
            ..QuadPattern::default()
        }
    }

    /// Visits the links of ascending nodes: position of the node, predicate, other end. A link that
    /// stands in several graphs of a merge is visited for each.
    pub fn expand(
        &self,
        label: &Label,
        direction: Direction,
        nodes: &[u64],
        cx: &Context,
        visit: &mut dyn FnMut(usize, TermId, u64),
    ) -> Result<(), ExecError> {
        let mut first = 0;
        let mut read = 0;
        for part in nodes.chunks(NODES_PER_CHECK) {
            cx.check()?;
            match label {
                Label::Link(predicate) => {
                    let mut on_quad = |position: usize, other: TermId, graph| {
                        read += 1;
                        if self.admits(graph) {
                            visit(first + position, *predicate, other.0);
                        }
                    };
                    cx.snapshot()
                        .neighbours(*predicate, direction, part, &mut on_quad)?;
                }
                Label::Except(_) => {
                    for (offset, &node) in part.iter().enumerate() {
                        let mut on_link =
                            |predicate, other| visit(first + offset, predicate, other);
                        self.other_links(label, direction, TermId(node), cx, &mut on_link)?;
                    }
                }
            }
            first += part.len();
        }
        cx.profile().read(current_node(), read);
        Ok(())
    }

    /// Visits the links of a node whose predicates a negated set takes.
    fn other_links(
        &self,
        label: &Label,
        direction: Direction,
        node: TermId,
        cx: &Context,
        visit: &mut dyn FnMut(TermId, u64),
    ) -> Result<(), ExecError> {
        let mut pattern = self.pattern();
        match direction {
            Direction::Forward => pattern.subject = Some(node),
            Direction::Backward => pattern.object = Some(node),
        }
        let mut read = 0;
        cx.snapshot().matching(&pattern, &mut |quad| {
            read += 1;
            if self.admits(quad.graph) && label.takes(quad.predicate) {
                let other = match direction {
                    Direction::Forward => quad.object,
                    Direction::Backward => quad.subject,
                };
                visit(quad.predicate, other.0);
            }
            ControlFlow::Continue(())
        })?;
        cx.profile().read(current_node(), read);
        Ok(())
    }

    /// Appends (position, other end) of each link of ascending nodes, each triple once.
    pub fn links(
        &self,
        label: &Label,
        direction: Direction,
        nodes: &[u64],
        cx: &Context,
    ) -> Result<Vec<(u32, u64)>, ExecError> {
        let mut found = Vec::new();
        self.expand(
            label,
            direction,
            nodes,
            cx,
            &mut |position, predicate, other| {
                found.push((position as u32, predicate, other));
            },
        )?;
        if self.repeats() {
            found.sort_unstable();
            found.dedup();
        }
        let pairs = found
            .into_iter()
            .map(|(position, _, other)| (position, other));
        Ok(pairs.collect())
    }

    /// Whether a triple can be met more than once.
    fn repeats(&self) -> bool {
        matches!(self, Self::Merge(_))
    }

    /// (subject, object) of every link, each triple once.
    pub fn all_links(&self, label: &Label, cx: &Context) -> Result<Vec<(u64, u64)>, ExecError> {
        let mut found = Vec::new();
        let graphs = PathGraphs::Single(self.clone());
        scan(&graphs, label, cx, &mut |_, quad| {
            found.push((quad.subject, quad.predicate, quad.object));
            Ok(())
        })?;
        if self.repeats() {
            found.sort_unstable();
            found.dedup();
        }
        let pairs = found.into_iter();
        Ok(pairs
            .map(|(subject, _, object)| (subject.0, object.0))
            .collect())
    }

    /// Whether a term is a subject or an object.
    pub fn has_node(&self, node: TermId, cx: &Context) -> Result<bool, ExecError> {
        let mut found = false;
        for pattern in with_end(node, self.pattern()) {
            cx.check()?;
            cx.snapshot().matching(&pattern, &mut |quad| {
                found |= self.admits(quad.graph);
                if found {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            if found {
                break;
            }
        }
        Ok(found)
    }
}

/// The quads of a pattern whose subject is a term, and those whose object it is.
fn with_end(node: TermId, pattern: QuadPattern) -> [QuadPattern; 2] {
    let end = Some(node);
    let as_subject = QuadPattern {
        subject: end,
        ..pattern
    };
    let as_object = QuadPattern {
        object: end,
        ..pattern
    };
    [as_subject, as_object]
}

/// The named graphs, of so many, in which a term is a subject or an object; `None` where looking at each of them is cheaper.
pub fn graphs_of(
    node: TermId,
    graphs: usize,
    cx: &Context,
) -> Result<Option<Vec<TermId>>, ExecError> {
    let (mut found, mut read) = (Vec::new(), 0);
    let most = graphs * QUADS_PER_GRAPH;
    for pattern in with_end(node, QuadPattern::default()) {
        cx.check()?;
        cx.snapshot().matching(&pattern, &mut |quad| {
            read += 1;
            if quad.graph != TermId::DEFAULT_GRAPH && found.last() != Some(&quad.graph) {
                found.push(quad.graph);
            }
            match read > most {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
    }
    cx.profile().read(current_node(), read);
    found.sort_unstable();
    found.dedup();
    Ok((read <= most).then_some(found))
}

/// Visits the quads of the graphs with links of a label, with the key of their graph; a triple in
/// several graphs of a merge is visited for each.
pub fn scan(
    graphs: &PathGraphs,
    label: &Label,
    cx: &Context,
    visit: &mut dyn FnMut(u64, QuadIds) -> Result<(), ExecError>,
) -> Result<(), ExecError> {
    let pattern = QuadPattern {
        predicate: match label {
            Label::Link(predicate) => Some(*predicate),
            Label::Except(_) => None,
        },
        graph: graphs.only(),
        ..QuadPattern::default()
    };
    let mut result = Ok(());
    let (mut read, mut until_check) = (0, QUADS_PER_CHECK);
    cx.snapshot().matching(&pattern, &mut |quad| {
        read += 1;
        until_check -= 1;
        if until_check == 0 {
            until_check = QUADS_PER_CHECK;
            result = cx.check();
        }
        if result.is_ok()
            && label.takes(quad.predicate)
            && let Some(key) = graphs.key_of(quad.graph)
        {
            result = visit(key, quad);
        }
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    cx.profile().read(current_node(), read);
    result
}
