//! The tables of a comparison beside updates, as Markdown.
//!
//! Invariant: ratios between stores are to Basalt, and above one where Basalt is faster; *slower* is a
//! store's time beside updates divided by its own alone.
//!
//! Cost: nothing.

use super::super::queries::figures::{Figures, QueryFigures};
use super::super::queries::tables::{milliseconds, times};
use super::super::report::{Table, ratio, thousands};
use super::driver::{DELETE, INSERT};

/// What was measured of a store in one setting.
pub struct Measured<'a> {
    /// The store.
    pub name: &'a str,
    /// The median run of the queries alone.
    pub alone: &'a Figures,
    /// The median run with the updates.
    pub beside: &'a Figures,
    /// Mixes an hour with the updates, of all runs.
    pub rates: Vec<f64>,
    /// The same without.
    pub rates_alone: Vec<f64>,
}

/// A figure of a query, and what it is called.
pub type Figure = (&'static str, fn(&QueryFigures) -> f64);

/// The figures that queries are compared by.
pub const FIGURES: [Figure; 2] = [("p50", |query| query.p50_s), ("p99", |query| query.p99_s)];

/// Mixes an hour of all stores; the first is the measure of the others.
pub fn rates(all: &[Measured]) -> Table {
    let mut header = vec!["mixes an hour".to_owned()];
    for store in all {
        header.push(store.name.to_owned());
        if !is_first(all, store) {
            header.push("times".to_owned());
        }
    }
    let mut table = Table::new(&header);
    let mut row = |name: &str, figure: &dyn Fn(&Measured) -> f64| {
        let mut cells = vec![name.to_owned()];
        let first = all.first().map_or(0.0, figure);
        for store in all {
            cells.push(thousands(figure(store).round() as u64));
            if !is_first(all, store) {
                cells.push(times(ratio(first, figure(store))));
            }
        }
        table.add(cells);
    };
    row("with updates: 5 updates, 25 queries", &|store| {
        store.beside.qmph
    });
    row("the 25 queries alone", &|store| store.alone.qmph);
    let mut texts = |name: &str, text: &dyn Fn(&Measured) -> String| {
        let mut cells = vec![name.to_owned()];
        for store in all {
            cells.push(text(store));
            if !is_first(all, store) {
                cells.push(String::new());
            }
        }
        table.add(cells);
    };
    texts("with updates, all rounds", &|store| list(&store.rates));
    texts("alone, all rounds", &|store| list(&store.rates_alone));
    table
}

/// Each query alone and beside updates.
pub fn slowdowns(all: &[Measured], (figure, of): Figure) -> Table {
    let mut header = vec!["query".to_owned()];
    for store in all {
        header.push(format!("{} alone {figure} ms", store.name));
        header.push("with updates".to_owned());
        header.push("slower".to_owned());
        if !is_first(all, store) {
            header.push("times".to_owned());
        }
    }
    let mut table = Table::new(&header);
    let queries = all.first().map_or(&[][..], |store| &store.beside.queries);
    let queries = queries.iter().filter(|query| !is_update(query.number));
    for query in queries.clone() {
        let mut cells = vec![name(query.number)];
        for store in all {
            let alone = store.alone.query(query.number).map(of);
            let beside = store.beside.query(query.number).map(of);
            cells.push(alone.map_or_else(String::new, milliseconds));
            cells.push(beside.map_or_else(String::new, milliseconds));
            let slower = alone
                .zip(beside)
                .map(|(alone, beside)| ratio(beside, alone));
            cells.push(slower.map_or_else(String::new, times));
            if !is_first(all, store) {
                let ratio = beside.map(|beside| ratio(beside, of(query)));
                cells.push(ratio.map_or_else(String::new, times));
            }
        }
        table.add(cells);
    }
    let mut means = vec!["geometric mean".to_owned()];
    for store in all {
        let pairs = queries.clone().filter_map(|query| {
            let alone = of(store.alone.query(query.number)?);
            let beside = of(store.beside.query(query.number)?);
            Some((beside, alone, of(query)))
        });
        let pairs: Vec<(f64, f64, f64)> = pairs.collect();
        means.extend([String::new(), String::new()]);
        let slower = pairs
            .iter()
            .map(|(beside, alone, _)| ratio(*beside, *alone));
        means.push(times(geometric_mean(slower)));
        if !is_first(all, store) {
            let ratios = pairs
                .iter()
                .map(|(beside, _, first)| ratio(*beside, *first));
            means.push(times(geometric_mean(ratios)));
        }
    }
    table.add(means);
    table
}

/// How long the updates took.
pub fn updates(all: &[Measured]) -> Table {
    let mut table = Table::new(&[
        "update",
        "store",
        "count",
        "mean ms",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms",
        "p50 times",
    ]);
    for number in [INSERT, DELETE] {
        let first = all.first().and_then(|store| store.beside.query(number));
        for store in all {
            let Some(query) = store.beside.query(number) else {
                continue;
            };
            let mut cells = vec![name(number), store.name.to_owned(), query.count.to_string()];
            let seconds = [
                query.mean_s,
                query.p50_s,
                query.p95_s,
                query.p99_s,
                query.max_s,
            ];
            cells.extend(seconds.map(milliseconds));
            cells.push(match first {
                Some(first) if !is_first(all, store) => times(ratio(query.p50_s, first.p50_s)),
                _ => String::new(),
            });
            table.add(cells);
        }
    }
    table
}

/// What a number of the mix is called.
pub fn name(number: u64) -> String {
    match number {
        INSERT => "insert of a product".to_owned(),
        DELETE => "delete of an offer".to_owned(),
        number => format!("explore {}", number - DELETE),
    }
}

/// Whether a number is one of the two updates.
pub fn is_update(number: u64) -> bool {
    number <= DELETE
}

fn is_first(all: &[Measured], store: &Measured) -> bool {
    all.first().is_some_and(|first| first.name == store.name)
}

/// Rates with commas between.
fn list(rates: &[f64]) -> String {
    let rates = rates.iter().map(|rate| thousands(rate.round() as u64));
    rates.collect::<Vec<_>>().join("; ")
}

/// The geometric mean of what is above 0; 0 if nothing is.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    match logarithms.len() {
        0 => 0.0,
        count => (logarithms.iter().sum::<f64>() / count as f64).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::queries::figures::tests::run;
    use super::*;

    fn lines(table: &Table) -> Vec<String> {
        table.markdown().lines().map(str::to_owned).collect()
    }

    #[test]
    fn stores_stand_beside_themselves_and_one_another() {
        let alone = [
            run(&[(3, 1.0, "a"), (4, 2.0, "b")]),
            run(&[(3, 8.0, "a"), (4, 20.0, "b")]),
        ];
        let beside = [
            run(&[(1, 0.5, "-"), (2, 0.25, "-"), (3, 2.0, "a"), (4, 4.0, "b")]),
            run(&[(1, 50.0, "-"), (2, 2.0, "-"), (3, 8.0, "a"), (4, 80.0, "b")]),
        ];
        let mut slow = beside[1].clone();
        slow.qmph = 360.0;
        let all = [
            Measured {
                name: "A",
                alone: &alone[0],
                beside: &beside[0],
                rates: vec![3_600.0, 3_500.4],
                rates_alone: vec![3_600.0],
            },
            Measured {
                name: "B",
                alone: &alone[1],
                beside: &slow,
                rates: vec![360.0],
                rates_alone: vec![3_600.0],
            },
        ];
        assert_eq!(
            lines(&rates(&all))[2..],
            [
                "| with updates: 5 updates, 25 queries | 3,600 | 360 | 10 |",
                "| the 25 queries alone | 3,600 | 3,600 | 1.00 |",
                "| with updates, all rounds | 3,600; 3,500 | 360 |  |",
                "| alone, all rounds | 3,600 | 3,600 |  |",
            ]
        );
        assert_eq!(
            lines(&slowdowns(&all, FIGURES[0])),
            [
                "| query | A alone p50 ms | with updates | slower | B alone p50 ms | with updates | slower | times |",
                "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
                "| explore 1 | 1.00 | 2.00 | 2.00 | 8.00 | 8.00 | 1.00 | 4.00 |",
                "| explore 2 | 2.00 | 4.00 | 2.00 | 20.0 | 80.0 | 4.00 | 20 |",
                "| geometric mean |  |  | 2.00 |  |  | 2.00 | 8.94 |",
            ]
        );
        let updates = lines(&updates(&all));
        assert_eq!(
            updates[2],
            "| insert of a product | A | 10 | 0.50 | 0.50 | 1.00 | 1.00 | 1.00 |  |"
        );
        assert_eq!(
            updates[3],
            "| insert of a product | B | 10 | 50.0 | 50.0 | 100 | 100 | 100 | 100 |"
        );
        assert_eq!(updates.len(), 2 + 4);
        assert_eq!(geometric_mean([].into_iter()), 0.0);
    }
}
