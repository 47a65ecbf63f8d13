//! How many nodes a closure leads from each of its starts to: walked from some of them.
//!
//! A hierarchy is seldom balanced: where nodes have several parents, a node has many more ancestors than there are levels. So some nodes are
//! drawn, evenly among those that a link leads on from, and [walked](crate::statistics::Statistics::reached) from, to the side on which fewer
//! links leave a node: what is reached there differs little from node to node, and the pairs are the same from either side. Walks that do not
//! end tell what lies between them and all nodes: the geometric mean. Cost: some walks of microseconds, or a long one, which takes
//! tenths of a millisecond, or some milliseconds where each of a thousand nodes leads to the next alone.

use crate::cost_constants::{PATH_WALKS, PATH_WALKS_MIN, PATH_WALKS_NODES};
use crate::planner::Planner;
use crate::statistics::LinkOfWalk;
use basalt_rdf::TermId;

/// Rows of a table that are looked at for starts.
const ROWS_DRAWN: usize = 64;

/// The ends of one start by at least one of the links, on average, of so many starts and ends that they have together; from objects
/// back to subjects if `backward`. `None` where nobody can walk, or no starts can be drawn.
pub(super) fn mean_ends(
    planner: &Planner<'_>,
    links: &[LinkOfWalk],
    backward: bool,
    all: f64,
) -> Option<f64> {
    let turned: Vec<LinkOfWalk> = links
        .iter()
        .map(|link| LinkOfWalk {
            is_inverse: link.is_inverse != backward,
            ..*link
        })
        .collect();
    let starts = draw(planner, *turned.first()?);
    let (mut weights, mut ends) = (0.0, 0.0);
    let (mut walks, mut met, mut endless) = (0, 0.0, 0);
    for (start, weight) in evenly(&starts, PATH_WALKS) {
        let reached = planner.statistics.reached(&turned, start)?;
        let nodes = match reached.is_all {
            true => reached.nodes,
            false => (reached.nodes.max(1.0) * all.max(reached.nodes)).sqrt(),
        };
        weights += weight;
        ends += weight * nodes;
        walks += 1;
        met += reached.nodes;
        endless += usize::from(!reached.is_all);
        let is_enough = walks >= PATH_WALKS_MIN || endless > 0;
        if endless > 1 || is_enough && met > PATH_WALKS_NODES {
            break;
        }
    }
    (weights > 0.0).then(|| ends / weights)
}

/// Some nodes that a link leads on from, each with how many it stands for.
fn draw(planner: &Planner<'_>, link: LinkOfWalk) -> Vec<(TermId, f64)> {
    let statistics = planner.statistics;
    let mut starts = Vec::new();
    for (table, _) in planner.columns(link.predicate).iter() {
        let Some((rows, population)) = statistics.spread_rows(*table, None, ROWS_DRAWN) else {
            continue;
        };
        let weight = population / rows.len().max(1) as f64;
        add(
            planner,
            link,
            rows.into_iter().map(|row| (row, weight)),
            &mut starts,
        );
    }
    let others = statistics.spread_irregular(link.predicate, None, ROWS_DRAWN);
    add(planner, link, others.into_iter(), &mut starts);
    starts
}

/// Adds those of some subjects that have the link, or what it leads from them to.
fn add(
    planner: &Planner<'_>,
    link: LinkOfWalk,
    subjects: impl Iterator<Item = (TermId, f64)>,
    starts: &mut Vec<(TermId, f64)>,
) {
    let subjects: Vec<(TermId, f64)> = subjects.collect();
    let ids: Vec<TermId> = subjects.iter().map(|(id, _)| *id).collect();
    let mut of = subjects.iter();
    planner
        .statistics
        .objects_of(link.predicate, &ids, &mut |objects| {
            let Some((subject, weight)) = of.next() else {
                return;
            };
            match link.is_inverse {
                true => starts.extend(objects.iter().map(|object| (*object, *weight))),
                false if objects.is_empty() => {}
                false => starts.push((*subject, *weight)),
            }
        });
}

/// At most so many of some, evenly spread.
fn evenly<T: Copy>(all: &[T], most: usize) -> impl Iterator<Item = T> + '_ {
    let taken = all.len().min(most);
    (0..taken).map(move |idx| all[idx * all.len() / taken])
}
