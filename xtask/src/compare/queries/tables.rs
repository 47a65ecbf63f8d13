//! The tables of a comparison of queries, as Markdown.
//!
//! Invariants: a time of a query that was not always answered is marked with how many answers are
//! missing, and one that is the limit as less than the real one; ratios are to Basalt's median and above one where Basalt is faster.
//!
//! Cost: nothing.

use super::super::report::{Table, ratio};
use super::figures::{Figures, LevelFigures, QueryFigures};

/// A run with the name of its store.
pub struct Run<'a> {
    /// The store.
    pub name: &'a str,
    /// Its figures.
    pub figures: &'a Figures,
}

/// Medians and 95th percentiles side by side; the first run is the measure of the others.
/// `answers` says in words how the answers of all stores to a query compare.
pub fn by_query(runs: &[Run], answers: &dyn Fn(u64) -> String) -> Table {
    let Some((first, others)) = runs.split_first() else {
        return Table::new(&["query"]);
    };
    let mut header = vec!["query".to_owned()];
    for run in runs {
        header.push(format!("{} p50 ms", run.name));
        header.push("p95 ms".to_owned());
        if run.name != first.name {
            header.push("times".to_owned());
        }
    }
    header.push("answers".to_owned());
    let mut table = Table::new(&header);
    for query in &first.figures.queries {
        let mut cells = vec![query.number.to_string()];
        cells.extend(query_cells(Some(query), None));
        for run in others {
            cells.extend(query_cells(run.figures.query(query.number), Some(query)));
        }
        cells.push(answers(query.number));
        table.add(cells);
    }
    let mut rate = vec!["mixes an hour".to_owned()];
    for run in runs {
        let bound = if run
            .figures
            .queries
            .iter()
            .any(|query| query.unanswered() > 0)
        {
            "at most "
        } else {
            ""
        };
        rate.push(format!("{bound}{:.0}", run.figures.qmph));
        rate.push(String::new());
        if run.name != first.name {
            rate.push(times(ratio(first.figures.qmph, run.figures.qmph)));
        }
    }
    table.add(rate);
    table
}

/// Median, 95th percentile and, beside a reference, the ratio.
fn query_cells(query: Option<&QueryFigures>, reference: Option<&QueryFigures>) -> Vec<String> {
    let mut cells = match query {
        Some(query) => {
            let missing = match query.unanswered() {
                0 => String::new(),
                missing => format!(" ({missing} of {} not answered)", query.count),
            };
            vec![
                format!(
                    "{}{}{missing}",
                    bound(query.unanswered(), query.p50_s, query.max_s),
                    milliseconds(query.p50_s)
                ),
                format!(
                    "{}{}",
                    bound(query.unanswered(), query.p95_s, query.max_s),
                    milliseconds(query.p95_s)
                ),
            ]
        }
        None => vec![String::new(), String::new()],
    };
    if let Some(reference) = reference {
        cells.push(query.map_or_else(String::new, |query| {
            let bound = bound(query.unanswered(), query.p50_s, query.max_s);
            format!("{bound}{}", times(ratio(query.p50_s, reference.p50_s)))
        }));
    }
    cells
}

/// Medians by level of the product type; nothing if no query has levels.
pub fn by_level(runs: &[Run]) -> Option<Table> {
    let (first, others) = runs.split_first()?;
    let mut header = vec!["query, level".to_owned()];
    for run in runs {
        header.push(format!("{} p50 ms", run.name));
        header.push("longest ms".to_owned());
        if run.name != first.name {
            header.push("times".to_owned());
        }
    }
    let mut table = Table::new(&header);
    let mut is_empty = true;
    for query in &first.figures.queries {
        for level in &query.levels {
            is_empty = false;
            let mut cells = vec![format!("{}, {}", query.number, level.level)];
            cells.extend(level_cells(level));
            for run in others {
                let found = run.figures.query(query.number);
                let found = found
                    .and_then(|query| query.levels.iter().find(|known| known.level == level.level));
                match found {
                    Some(found) => {
                        cells.extend(level_cells(found));
                        let bound = bound(found.unanswered, found.p50_s, found.max_s);
                        let ratio = times(ratio(found.p50_s, level.p50_s));
                        cells.push(format!("{bound}{ratio}"));
                    }
                    None => cells.extend([String::new(), String::new(), String::new()]),
                }
            }
            table.add(cells);
        }
    }
    (!is_empty).then_some(table)
}

/// Median and longest time.
fn level_cells(level: &LevelFigures) -> [String; 2] {
    let missing = match level.unanswered {
        0 => String::new(),
        missing => format!(" ({missing} of {} not answered)", level.count),
    };
    let bound = |seconds| bound(level.unanswered, seconds, level.max_s);
    [
        format!(
            "{}{}{missing}",
            bound(level.p50_s),
            milliseconds(level.p50_s)
        ),
        format!("{}{}", bound(level.max_s), milliseconds(level.max_s)),
    ]
}

/// All figures of all runs.
pub fn raw(runs: &[Run]) -> Table {
    let mut table = Table::new(&[
        "store",
        "query",
        "count",
        "rows",
        "mean ms",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms",
        "timeouts",
        "not tried",
        "errors",
        "hash",
    ]);
    for run in runs {
        for query in &run.figures.queries {
            let mut cells = vec![
                run.name.to_owned(),
                query.number.to_string(),
                query.count.to_string(),
                query.rows.to_string(),
            ];
            let seconds = [
                query.mean_s,
                query.p50_s,
                query.p95_s,
                query.p99_s,
                query.max_s,
            ];
            cells.extend(seconds.map(|seconds| format!("{:.3}", seconds * 1e3)));
            let failures = [query.timeouts, query.not_tried, query.errors];
            cells.extend(failures.map(|count| count.to_string()));
            cells.push(query.hash.clone().unwrap_or_default());
            table.add(cells);
        }
    }
    table
}

/// A mark of times that are the limit, because answers are missing: the real ones are longer.
fn bound(unanswered: u64, seconds: f64, longest: f64) -> &'static str {
    if unanswered > 0 && seconds >= longest {
        "> "
    } else {
        ""
    }
}

/// Milliseconds with three digits that mean something.
pub fn milliseconds(seconds: f64) -> String {
    let milliseconds = seconds * 1e3;
    if milliseconds < 10.0 {
        format!("{milliseconds:.2}")
    } else if milliseconds < 100.0 {
        format!("{milliseconds:.1}")
    } else {
        format!("{milliseconds:.0}")
    }
}

/// A ratio with as many digits as it deserves.
pub fn times(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.2}")
    } else {
        format!("{ratio:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::run;
    use super::*;

    fn table(table: &Table) -> Vec<String> {
        table.markdown().lines().map(str::to_owned).collect()
    }

    #[test]
    fn stores_stand_side_by_side_with_ratios_to_the_first() {
        let fast = run(&[(1, 2.0, "a"), (4, 20.0, "b")]);
        let mut slow = run(&[(1, 50.0, "a"), (4, 60_000.0, "c")]);
        slow.queries[1].not_tried = 7;
        slow.queries[1].max_s = 60.0;
        slow.queries[1].p95_s = 60.0;
        slow.qmph = 100.0;
        let runs = [
            Run {
                name: "A",
                figures: &fast,
            },
            Run {
                name: "B",
                figures: &slow,
            },
        ];
        let answers = |number| {
            if number == 1 {
                "equal".to_owned()
            } else {
                "B: 7".to_owned()
            }
        };
        let lines = table(&by_query(&runs, &answers));
        assert_eq!(
            lines[0],
            "| query | A p50 ms | p95 ms | B p50 ms | p95 ms | times | answers |"
        );
        assert_eq!(lines[2], "| 1 | 2.00 | 4.00 | 50.0 | 100 | 25 | equal |");
        assert_eq!(
            lines[3],
            "| 4 | 20.0 | 40.0 | > 60000 (7 of 10 not answered) | > 60000 | > 3000 | B: 7 |"
        );
        assert_eq!(
            lines[4],
            "| mixes an hour | 3600 |  | at most 100 |  | 36 |  |"
        );
        assert_eq!(lines.len(), 5);
        assert_eq!(table(&raw(&runs)).len(), 2 + 4);
    }

    #[test]
    fn levels_have_a_table_of_their_own() {
        let level = |level, p50_s, unanswered| LevelFigures {
            level,
            count: 3,
            unanswered,
            p50_s,
            max_s: if unanswered > 0 { p50_s } else { 2.0 * p50_s },
        };
        let mut fast = run(&[(4, 20.0, "b")]);
        let mut slow = run(&[(4, 20.0, "b")]);
        let without = run(&[(4, 20.0, "b")]);
        fn runs<'a>(fast: &'a Figures, slow: &'a Figures) -> [Run<'a>; 2] {
            let run = |name, figures| Run { name, figures };
            [run("A", fast), run("B", slow)]
        }
        assert!(by_level(&runs(&fast, &slow)).is_none());
        fast.queries[0].levels = vec![level(0, 0.02, 0), level(1, 0.01, 0)];
        slow.queries[0].levels = vec![level(0, 60.0, 3)];
        let lines = table(&by_level(&runs(&fast, &slow)).expect("there are levels"));
        assert_eq!(
            lines[2..],
            [
                "| 4, 0 | 20.0 | 40.0 | > 60000 (3 of 3 not answered) | > 60000 | > 3000 |",
                "| 4, 1 | 10.0 | 20.0 |  |  |  |",
            ]
        );
        assert_eq!(
            table(&by_level(&runs(&fast, &without)).expect("A has levels")).len(),
            4
        );
    }
}
