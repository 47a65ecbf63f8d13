//! A plan as indented text.
//!
//! ```text
//! StarJoin by subject ?v { .. } in Vendor  [?o ?v]  rows=5.5 cost=0.004ms instead of HashJoin cost=0.009ms actual=4 read=9 time=0.210ms own=0.080ms memory=64.0KiB
//! ```
//!
//! The slots of a row are in brackets. `time` is that of the operator with everything below, `own` without; both
//! are sums over threads. `read`, `one-by-one` (of those read, the subjects looked up one by
//! one), `compared` (rows of which a packed value was compared), `turned-away` (by key filters), `memory` and `spilled` are left out where they are nothing.

use super::{ExplainedNode, NodeProfile};

/// The tree, a line for each node.
pub(super) fn render(root: &ExplainedNode) -> String {
    let mut out = String::new();
    node(root, 0, &mut out);
    out
}

fn node(shown: &ExplainedNode, depth: usize, out: &mut String) {
    let columns: Vec<String> = shown
        .columns
        .iter()
        .map(|name| format!("?{name}"))
        .collect();
    let mut line = format!(
        "{}{}  [{}]  rows={} cost={}",
        "  ".repeat(depth),
        shown.text,
        columns.join(" "),
        rows(shown.estimated_rows),
        milliseconds(shown.estimated_cost)
    );
    if let Some((way, cost)) = &shown.alternative {
        let cost = milliseconds(*cost);
        line.push_str(&format!(" instead of {way} cost={cost}"));
    }
    if let Some(actual) = &shown.actual {
        line.push_str(&measured(actual, shown.total_nanos()));
    }
    out.push_str(&line);
    out.push('\n');
    for inside in &shown.exists {
        out.push_str(&format!("{}exists:\n", "  ".repeat(depth + 1)));
        node(inside, depth + 2, out);
    }
    for input in &shown.inputs {
        node(input, depth + 1, out);
    }
}

fn measured(actual: &NodeProfile, total_nanos: u64) -> String {
    if !actual.is_started {
        return " not run".to_owned();
    }
    let mut text = format!(" actual={}", actual.rows);
    if !actual.is_complete {
        text.push_str(" (not to its end)");
    }
    if actual.read_rows > 0 {
        text.push_str(&format!(" read={}", actual.read_rows));
    }
    if actual.read_one_by_one > 0 {
        text.push_str(&format!(" one-by-one={}", actual.read_one_by_one));
    }
    if actual.compared_rows > 0 {
        text.push_str(&format!(" compared={}", actual.compared_rows));
    }
    if actual.turned_away > 0 {
        text.push_str(&format!(" turned-away={}", actual.turned_away));
    }
    text.push_str(&format!(
        " time={} own={}",
        milliseconds(total_nanos as f64),
        milliseconds(actual.own_nanos as f64)
    ));
    for (what, bytes) in [
        ("memory", actual.memory_bytes),
        ("spilled", actual.spilled_bytes),
    ] {
        if bytes > 0 {
            text.push_str(&format!(" {what}={}", size(bytes)));
        }
    }
    text
}

fn rows(rows: f64) -> String {
    if rows < 10.0 {
        format!("{rows:.1}")
    } else {
        format!("{rows:.0}")
    }
}

fn milliseconds(nanos: f64) -> String {
    format!("{:.3}ms", nanos / 1e6)
}

/// Bytes in the largest unit that they fill.
fn size(bytes: u64) -> String {
    let mut shown = bytes as f64;
    let mut units = ["KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = None;
    while shown >= 1024.0
        && let Some(next) = units.next()
    {
        shown /= 1024.0;
        unit = Some(next);
    }
    match unit {
        None => format!("{bytes}B"),
        Some(unit) => format!("{shown:.1}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(id: usize, actual: Option<NodeProfile>) -> ExplainedNode {
        ExplainedNode {
            id,
            text: "Unit".to_owned(),
            columns: vec!["a".to_owned()],
            tables: None,
            access: None,
            reduced_by: Vec::new(),
            estimated_rows: 1.0,
            estimated_cost: 2_000_000.0,
            alternative: None,
            actual,
            exists: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn ran(rows: u64, own_nanos: u64) -> Option<NodeProfile> {
        Some(NodeProfile {
            rows,
            own_nanos,
            is_started: true,
            is_complete: true,
            ..NodeProfile::default()
        })
    }

    #[test]
    fn times_add_up_and_nothing_is_left_out() {
        let mut root = leaf(0, ran(5, 1_000_000));
        root.alternative = Some(("HashJoin".to_owned(), 3_000_000.0));
        root.inputs = vec![
            leaf(1, ran(7, 500_000)),
            leaf(3, Some(NodeProfile::default())),
        ];
        root.exists = vec![leaf(2, ran(0, 250_000))];
        let actual = root.inputs[0].actual.as_mut().expect("it was run");
        (actual.memory_bytes, actual.spilled_bytes) = (1_023, 3 << 20);
        (actual.is_complete, actual.read_rows) = (false, 31);
        (actual.read_one_by_one, actual.turned_away) = (4, 6);
        actual.compared_rows = 900;
        let lines = [
            "Unit  [?a]  rows=1.0 cost=2.000ms instead of HashJoin cost=3.000ms actual=5 time=1.750ms own=1.000ms",
            "  exists:",
            "    Unit  [?a]  rows=1.0 cost=2.000ms actual=0 time=0.250ms own=0.250ms",
            "  Unit  [?a]  rows=1.0 cost=2.000ms actual=7 (not to its end) read=31 one-by-one=4 compared=900 turned-away=6 time=0.500ms own=0.500ms memory=1023B spilled=3.0MiB",
            "  Unit  [?a]  rows=1.0 cost=2.000ms not run",
        ];
        assert_eq!(root.to_text(), lines.join("\n") + "\n");
    }
}
