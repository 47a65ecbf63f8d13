//! The report as a Markdown page, for people and for repositories.

use super::Report;
use std::fmt::Write;

impl Report {
    /// The report as a Markdown page.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# BSBM {}, {} products\n\n", self.use_case, self.products);
        for (name, value) in self.facts() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "- {name}: {value}");
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "- **warning**: {warning}");
        }
        out.push_str(
            "\n| query | count | rows | mean ms | p50 ms | p95 ms | p99 ms | max ms | timeouts | errors | result hash |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for query in &self.queries {
            let times = [
                query.aqet_s,
                query.p50_s,
                query.p95_s,
                query.p99_s,
                query.max_s,
            ];
            let [mean, p50, p95, p99, max] = times.map(milliseconds);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {mean} | {p50} | {p95} | {p99} | {max} | {} | {} | `{}` |",
                query.number,
                query.count,
                query.rows,
                query.timeouts,
                query.errors,
                query.result_hash
            );
        }
        if self.queries.iter().any(|query| !query.levels.is_empty()) {
            out.push_str("\nBy level of the product type, the root is 0:\n\n");
            out.push_str("| query | level | count | mean ms | p50 ms | max ms |\n");
            out.push_str("| --- | --- | --- | --- | --- | --- |\n");
        }
        for query in &self.queries {
            for level in &query.levels {
                let times = [level.aqet_s, level.p50_s, level.max_s];
                let [mean, p50, max] = times.map(milliseconds);
                let (number, depth, count) = (query.number, level.level, level.count);
                let _ = writeln!(
                    out,
                    "| {number} | {depth} | {count} | {mean} | {p50} | {max} |"
                );
            }
        }
        out
    }

    /// The headline and the setting, as names and values.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let mut facts: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
        let void = if self.is_sound() {
            ""
        } else {
            " (void: see the warnings)"
        };
        add("query mixes per hour", format!("{:.2}{void}", self.qmph));
        add("mean time of a mix", format!("{:.5} s", self.cqet_s));
        if self.power > 0.0 {
            let value = format!("{:.2}, {:.2}", self.power, self.throughput);
            add("power, throughput at scale 284,826", value);
        }
        add("endpoint", self.endpoint.clone());
        if let Some(url) = &self.update_endpoint {
            add("update endpoint", url.clone());
            let stated = self.durability.as_deref().unwrap_or("not stated");
            add("durability of a commit", stated.to_owned());
            add("updates in a mix", self.updates_at.name().to_owned());
        }
        let before = match &self.ramp_up {
            Some(ramp_up) if ramp_up.is_settled => "of ramp-up, then steady",
            Some(_) => "of ramp-up, not steady",
            None => "for warm-up",
        };
        add(
            "mixes",
            format!("{} after {} {before}", self.runs, self.warmups()),
        );
        add("clients", self.clients.to_string());
        add("seed", self.seed.to_string());
        if let Some(level) = self.drill_down {
            add("drill-down", format!("from level {level} to the leaves"));
        }
        if self.mix_order == crate::driver::MixOrder::Shuffled {
            add("order of queries", "permuted in every mix".to_owned());
        }
        if !self.ignored.is_empty() {
            let numbers: Vec<String> = self.ignored.iter().map(u8::to_string).collect();
            add("left out", format!("query {}", numbers.join(", ")));
        }
        add("elapsed", format!("{:.3} s", self.elapsed_s));
        if let Some(floor) = self.floor_s {
            add("an empty question", format!("{} ms", milliseconds(floor)));
        }
        for (name, value) in self.limits() {
            add(name, value);
        }
        if let Some(updates) = &self.updates {
            let (blocks, triples) = (updates.inserted_blocks, updates.inserted_triples);
            add(
                "inserted",
                format!("{triples} triples in {blocks} transactions"),
            );
            let (hit, all) = (updates.deletes_that_hit, updates.deletes);
            add("deleted", format!("{hit} offers by {all} transactions"));
            let right = updates.verified - updates.wrong;
            add(
                "verified",
                format!("{right} of {} subjects right", updates.verified),
            );
        }
        add("driver", self.driver.clone());
        add("driver's machine", self.machine.clone());
        for (name, value) in &self.labels {
            add(name, value.clone());
        }
        facts
    }

    /// How answers were asked for and waited for, and how many did not come.
    fn limits(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if self.results_format != Default::default() {
            facts.push(("format of rows", self.results_format.name().to_owned()));
        }
        if self.wording != Default::default() {
            facts.push(("wording", self.wording.name().to_owned()));
        }
        facts.push(("time limit", format!("{} s", self.timeout_s)));
        let not_tried = match self.not_tried {
            0 => String::new(),
            not_tried => format!("{not_tried} not tried, "),
        };
        let (timeouts, errors) = (self.timeouts, self.errors);
        let failed = format!("{timeouts} timeouts, {not_tried}{errors} errors");
        facts.push(("failed executions", failed));
        facts
    }
}

pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1_000.0)
}
