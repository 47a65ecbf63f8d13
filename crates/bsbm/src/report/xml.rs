//! The report as XML, with the elements and digits of the original test driver, which people's
//! scripts read.
//!
//! Two things differ, as they must: results of DESCRIBE and CONSTRUCT are counted in triples and
//! not in bytes, and a run with errors has a report too; `errorcount` says how many.

use super::{QueryReport, Report};
use crate::queries::UseCase;
use std::fmt::Write;

impl Report {
    /// The report as XML.
    pub fn to_xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<bsbm>\n");
        out.push_str("  <querymix>\n");
        let mut line = |name: &str, value: String| push_element(&mut out, 4, name, &value);
        line("scalefactor", self.products.to_string());
        line("warmups", self.warmups().to_string());
        if self.clients > 1 {
            line("nrthreads", self.clients.to_string());
        }
        line("seed", self.seed.to_string());
        line("querymixruns", self.runs.to_string());
        line("minquerymixruntime", format!("{:.4}", self.mix_min_s));
        line("maxquerymixruntime", format!("{:.4}", self.mix_max_s));
        line("totalruntime", format!("{:.3}", self.query_time_s));
        if self.clients > 1 {
            line("actualtotalruntime", format!("{:.3}", self.elapsed_s));
        }
        line("qmph", format!("{:.2}", self.qmph));
        line("cqet", format!("{:.5}", self.cqet_s));
        line("cqetg", format!("{:.5}", self.cqet_geometric_s));
        line("errorcount", self.errors.to_string());
        out.push_str("  </querymix>\n  <queries>\n");
        let last = match UseCase::from_name(&self.use_case) {
            Some(use_case) => use_case.queries(),
            None => self.queries.iter().map(|q| q.number).max().unwrap_or(0),
        };
        for number in 1..=last {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "    <query nr=\"{number}\">");
            match self.queries.iter().find(|query| query.number == number) {
                Some(query) => push_query(&mut out, query),
                None => {
                    push_element(&mut out, 6, "executecount", "0");
                    push_element(&mut out, 6, "aqet", "0.0");
                }
            }
            out.push_str("    </query>\n");
        }
        out.push_str("  </queries>\n</bsbm>\n");
        out
    }

    /// Mixes that were run before measuring.
    pub(super) fn warmups(&self) -> u64 {
        match &self.ramp_up {
            Some(ramp_up) => ramp_up.period_mixes * ramp_up.periods_s.len() as u64,
            None => self.warmup,
        }
    }
}

fn push_query(out: &mut String, query: &QueryReport) {
    let answered = query.count - query.errors;
    let rows_mean = query.rows as f64 / answered.max(1) as f64;
    let mut line = |name: &str, value: String| push_element(out, 6, name, &value);
    line("executecount", query.count.to_string());
    line("aqet", format!("{:.6}", query.aqet_s));
    line("aqetg", format!("{:.6}", query.aqet_geometric_s));
    line("qps", format!("{:.2}", query.qps));
    line("minqet", format!("{:.8}", query.min_s));
    line("maxqet", format!("{:.8}", query.max_s));
    line("avgresults", format!("{rows_mean:.2}"));
    line("minresults", query.rows_min.to_string());
    line("maxresults", query.rows_max.to_string());
    line("timeoutcount", query.timeouts.to_string());
    line("errorcount", query.errors.to_string());
}

fn push_element(out: &mut String, indent: usize, name: &str, value: &str) {
    // Values are numbers, so there is nothing to escape; writing to a string cannot fail.
    let _ = writeln!(out, "{:indent$}<{name}>{value}</{name}>", "");
}
