//! The report as a Markdown page, for people and for repositories.

use super::timeline::median_p99;
use super::{Report, SliceTimes};
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
        if self.duration_s.is_some() {
            self.push_timeline(&mut out);
        }
        out
    }

    /// A row for each slice of the run; figures of the worst slices are bold.
    fn push_timeline(&self, out: &mut String) {
        let timeline = &self.timeline;
        let Some(worst) = timeline.worst else { return };
        out.push_str("\nOver time; the worst of a column is bold:\n\n| until s | mixes | executions/s | queries p50 ms | p99 ms | max ms |");
        let has_updates = !timeline.updates.is_empty();
        if has_updates {
            out.push_str(" updates | p50 ms | p99 ms | max ms |");
        }
        let columns = if has_updates { 10 } else { 6 };
        let _ = writeln!(out, "\n|{}", " --- |".repeat(columns));
        for (slice, count) in timeline.executions.iter().enumerate() {
            let (_, until_s) = timeline.range_s(slice);
            let rate = format!("{:.1}", *count as f64 / timeline.slice_s);
            let rate = marked(rate, worst.executions == slice);
            let mixes = timeline.mixes.get(slice).copied().unwrap_or_default();
            let digits = timeline.digits();
            let _ = write!(out, "| {until_s:.digits$} | {mixes} | {rate} |");
            push_times(out, &timeline.queries, slice, worst.queries);
            if has_updates {
                let updates = timeline.updates.get(slice).map_or(0, |times| times.count);
                let _ = write!(out, " {updates} |");
                push_times(out, &timeline.updates, slice, worst.updates);
            }
            out.push('\n');
        }
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
        if let Some(duration_s) = self.duration_s {
            let end = match self.transactions_used_up {
                true => format!("all transactions sent; {duration_s} s were asked for"),
                false => format!("the clock, after {duration_s} s"),
            };
            add("ended by", end);
        }
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
        for (name, value) in self.over_time().into_iter().chain(self.changes()) {
            add(name, value);
        }
        add("driver", self.driver.clone());
        add("driver's machine", self.machine.clone());
        for (name, value) in &self.labels {
            add(name, value.clone());
        }
        facts
    }

    /// The worst slices of a run by the clock beside the median ones.
    fn over_time(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        let timeline = &self.timeline;
        let Some(worst) = timeline.worst.filter(|_| self.duration_s.is_some()) else {
            return facts;
        };
        let place = |slice| {
            let (from_s, until_s) = timeline.range_s(slice);
            let digits = timeline.digits();
            format!("from {from_s:.digits$} s to {until_s:.digits$} s")
        };
        if let Some((median, least)) = timeline.rates() {
            let place = place(worst.executions);
            let value = format!("{median:.1} in the median period, {least:.1} {place}");
            facts.push(("executions a second", value));
        }
        let mut add = |name, times: &[SliceTimes], worst: Option<usize>| {
            let Some((slice, times, p99)) =
                worst.and_then(|slice| Some((slice, times.get(slice)?, median_p99(times))))
            else {
                return;
            };
            let value = format!(
                "p99 {} ms in the median period, {} ms {}, longest {} ms",
                milliseconds(p99),
                milliseconds(times.p99_s),
                place(slice),
                milliseconds(times.max_s)
            );
            facts.push((name, value));
        };
        add("queries over time", &timeline.queries, worst.queries);
        add("updates over time", &timeline.updates, worst.updates);
        facts
    }

    /// What the updates did.
    fn changes(&self) -> Vec<(&'static str, String)> {
        let Some(updates) = &self.updates else {
            return Vec::new();
        };
        let (blocks, triples) = (updates.inserted_blocks, updates.inserted_triples);
        let (hit, all) = (updates.deletes_that_hit, updates.deletes);
        let right = updates.verified - updates.wrong;
        vec![
            (
                "inserted",
                format!("{triples} triples in {blocks} transactions"),
            ),
            ("deleted", format!("{hit} offers by {all} transactions")),
            (
                "verified",
                format!("{right} of {} subjects right", updates.verified),
            ),
        ]
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

/// The cells of a slice.
fn push_times(out: &mut String, times: &[SliceTimes], slice: usize, worst: Option<usize>) {
    let times = times.get(slice).copied().unwrap_or_default();
    let p99 = marked(milliseconds(times.p99_s), worst == Some(slice));
    let [p50, max] = [times.p50_s, times.max_s].map(milliseconds);
    // Writing to a string cannot fail.
    let _ = write!(out, " {p50} | {p99} | {max} |");
}

/// Bold, if it stands out.
fn marked(text: String, stands_out: bool) -> String {
    match stands_out {
        true => format!("**{text}**"),
        false => text,
    }
}

pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1_000.0)
}
