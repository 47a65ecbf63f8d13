//! Places that read the same rows have plans that make the same.

use crate::physical::{Node, Op, Slot};
use crate::rename_slots::canonical;

/// Checks that the plans under spools of one number are alike: whichever is asked first makes the rows of all.
pub(super) fn check_spools(root: &Node) -> Result<(), String> {
    let mut spools = Vec::new();
    find(root, &mut spools);
    for (number, input) in &spools {
        let same = spools.iter().find(|(other, _)| other == number);
        let is_alike = same.is_none_or(|(_, first)| unnumbered(first) == unnumbered(input));
        if !is_alike {
            return Err(format!(
                "node {}: another plan makes the rows of spool {number}",
                input.id
            ));
        }
    }
    Ok(())
}

/// The plan without the numbers of slots and nodes, and without what its key filters are called.
fn unnumbered(plan: &Node) -> Node {
    let mut plan = canonical(plan);
    forget_numbers(&mut plan);
    plan
}

fn forget_numbers(node: &mut Node) {
    for filter in &mut node.key_filters {
        (filter.slot, filter.number) = (Slot(0), 0);
    }
    if let Op::OrderBy { cut_after, .. } = &mut node.op {
        *cut_after = cut_after.map(|_| 0);
    }
    node.op.children_mut().into_iter().for_each(forget_numbers);
}

fn find<'p>(node: &'p Node, spools: &mut Vec<(usize, &'p Node)>) {
    if let Op::Spool { input, spool, .. } = &node.op {
        spools.push((*spool, input));
    }
    for child in node.op.children() {
        find(child, spools);
    }
}
