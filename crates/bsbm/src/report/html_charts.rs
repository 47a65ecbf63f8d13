//! Charts of reports as inline SVG: latency histograms, throughput and latency over time.
//!
//! Runs are told apart by the classes `run0`, `run1`, …, which the page gives colours. Times are
//! on a logarithmic axis that all histograms of a page share, so that queries can be compared by
//! eye. All text is made of numbers or escaped before.

use super::histogram::{Bucket, bucket_idx, limit};
use super::{Report, SliceTimes, Timeline};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HISTOGRAM_HEIGHT: f64 = 72.0;
const TIMELINE_HEIGHT: f64 = 150.0;
/// Room for the labels of an axis.
const LABEL_HEIGHT: f64 = 14.0;

/// The range of an axis of times, in indexes of buckets.
#[derive(Clone, Copy)]
pub(super) struct TimeAxis {
    first: usize,
    last: usize,
}

impl TimeAxis {
    /// The axis that holds the histograms of all reports.
    pub(super) fn of(reports: &[(&str, &Report)]) -> TimeAxis {
        let idxs = || {
            let queries = reports.iter().flat_map(|(_, report)| &report.queries);
            queries.flat_map(|query| &query.histogram).map(idx_of)
        };
        TimeAxis {
            first: idxs().min().unwrap_or(0),
            last: idxs().max().unwrap_or(0),
        }
    }

    fn x(&self, idx: usize) -> f64 {
        let buckets = (self.last - self.first + 1) as f64;
        (idx.max(self.first) - self.first) as f64 * WIDTH / buckets
    }

    /// Lines at powers of ten, with their times.
    fn push_grid(&self, out: &mut String, height: f64) {
        for idx in (self.first..=self.last).filter(|idx| idx.is_multiple_of(10)) {
            let x = self.x(idx);
            let label = show_time(limit(idx));
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{height}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                x + 2.0,
                height + LABEL_HEIGHT - 3.0
            );
        }
    }
}

/// The bucket of a histogram read from a report, by its middle: limits may have been rounded.
fn idx_of(bucket: &Bucket) -> usize {
    bucket_idx((bucket.from_s * bucket.to_s).sqrt())
}

/// The histograms of one query, a shape for each run; heights are shares of executions.
pub(super) fn histograms(axis: TimeAxis, runs: &[Option<&[Bucket]>]) -> String {
    let shares: Vec<Vec<(usize, f64)>> = runs
        .iter()
        .map(|buckets| {
            let buckets = buckets.unwrap_or_default();
            let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
            let share = |bucket: &Bucket| bucket.count as f64 / total.max(1) as f64;
            buckets.iter().map(|b| (idx_of(b), share(b))).collect()
        })
        .collect();
    let highest = shares
        .iter()
        .flatten()
        .map(|(_, share)| *share)
        .fold(0.0, f64::max);
    let mut out = open_svg(HISTOGRAM_HEIGHT, "histogram of times");
    axis.push_grid(&mut out, HISTOGRAM_HEIGHT);
    for (run, shares) in shares.iter().enumerate() {
        for (idx, share) in shares {
            let height = share / highest * (HISTOGRAM_HEIGHT - 4.0);
            let (x, end) = (axis.x(*idx), axis.x(idx + 1));
            let _ = write!(
                out,
                "<rect class=\"run{run}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\">\
                 <title>{} to {}: {:.1} %</title></rect>",
                HISTOGRAM_HEIGHT - height,
                (end - x - 1.0).max(1.0),
                show_time(limit(*idx)),
                show_time(limit(idx + 1)),
                share * 100.0
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Executions per second over the time of the runs, a line for each.
pub(super) fn timelines(reports: &[(&str, &Report)]) -> String {
    let rates = |timeline: &Timeline| {
        let rate = |count: &u64| *count as f64 / timeline.slice_s.max(1e-9);
        timeline.executions.iter().map(rate).collect::<Vec<f64>>()
    };
    let label = |rate: f64| format!("{rate:.0}/s");
    curves(reports, "executions per second over time", &rates, &label)
}

/// The 99th percentile of the times of queries or of updates over the time of the runs; nothing if
/// no run has any.
pub(super) fn latencies(
    reports: &[(&str, &Report)],
    title: &str,
    times: fn(&Timeline) -> &[SliceTimes],
) -> Option<String> {
    let has_times = |(_, report): &(&str, &Report)| !times(&report.timeline).is_empty();
    let p99s = |timeline: &Timeline| -> Vec<f64> {
        times(timeline).iter().map(|slice| slice.p99_s).collect()
    };
    let is_any = reports.iter().any(has_times);
    is_any.then(|| curves(reports, title, &p99s, &show_time))
}

/// A line for each run over time, of a value for each slice.
fn curves(
    reports: &[(&str, &Report)],
    title: &str,
    values: &dyn Fn(&Timeline) -> Vec<f64>,
    label: &dyn Fn(f64) -> String,
) -> String {
    let lines: Vec<(f64, Vec<f64>)> = reports
        .iter()
        .map(|(_, report)| (report.timeline.slice_s, values(&report.timeline)))
        .collect();
    let highest = lines
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .fold(0.0, f64::max);
    let longest = lines
        .iter()
        .map(|(slice_s, values)| slice_s * values.len() as f64)
        .fold(0.0, f64::max);
    let mut out = open_svg(TIMELINE_HEIGHT, title);
    if highest <= 0.0 || longest <= 0.0 {
        out.push_str("</svg>\n");
        return out;
    }
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let (x, y) = (share * (WIDTH - 40.0), (1.0 - share) * TIMELINE_HEIGHT);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"2\" y=\"{:.1}\">{}</text><text x=\"{x:.1}\" y=\"{:.1}\">{:.1} s</text>",
            y + 11.0,
            label(share * highest),
            TIMELINE_HEIGHT + LABEL_HEIGHT - 3.0,
            share * longest
        );
    }
    for (run, (slice_s, values)) in lines.iter().enumerate() {
        let _ = write!(out, "<polyline class=\"run{run}\" points=\"");
        for (slice, value) in values.iter().enumerate() {
            let x = (slice as f64 + 0.5) * slice_s / longest * WIDTH;
            let y = (1.0 - value / highest) * TIMELINE_HEIGHT;
            let _ = write!(out, "{x:.1},{y:.1} ");
        }
        out.push_str("\"/>");
    }
    out.push_str("</svg>\n");
    out
}

fn open_svg(height: f64, title: &str) -> String {
    let full = height + LABEL_HEIGHT;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {full}\" role=\"img\" aria-label=\"{title}\" \
         xmlns=\"http://www.w3.org/2000/svg\">"
    )
}

/// A time with a unit that suits it.
fn show_time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 0.999_9e-3 => (s * 1e6, "µs"),
        s if s < 0.999_9 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    match value {
        v if v < 9.95 => format!("{v:.1} {unit}").replace(".0 ", " "),
        v => format!("{v:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_suits_them() {
        let cases = [
            (1e-6, "1 µs"),
            (limit(30), "1 ms"),
            (0.001_26, "1.3 ms"),
            (0.1, "100 ms"),
            (limit(60), "1 s"),
            (12.6, "13 s"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(show_time(seconds), expected);
        }
    }
}
