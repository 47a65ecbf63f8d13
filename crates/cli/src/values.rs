//! Values of options: sizes, durations, formats.

use crate::error::CliError;
use basalt_engine::{Durability, GraphFormat, ResultsFormat};
use basalt_server::parse_duration;
use std::path::Path;
use std::time::Duration;

/// A duration such as `30s`; a plain number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = "expected a duration such as 500ms, 30s, 5m or 1h";
    parse_duration(text, Duration::from_secs(1)).ok_or_else(|| expected.to_owned())
}

/// Refuses a folder for temporary files that is not there, before any work is done.
pub fn check_temp(folder: Option<&Path>) -> Result<(), CliError> {
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(CliError::Other(format!(
            "the temporary folder '{}' is not there",
            folder.display()
        ))),
    }
}

/// When commits are acknowledged.
pub fn durability(text: &str) -> Result<Durability, String> {
    let expected = || "expected always, interval, interval=500ms or none".to_owned();
    match text.split_once('=') {
        None if text == "always" => Ok(Durability::Always),
        None if text == "none" => Ok(Durability::None),
        None if text == "interval" => Ok(Durability::Interval(Duration::from_secs(1))),
        Some(("interval", time)) => match duration(time) {
            Ok(time) if !time.is_zero() => Ok(Durability::Interval(time)),
            _ => Err(expected()),
        },
        _ => Err(expected()),
    }
}

/// The token in a file, without the blanks around it.
pub fn read_token(path: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        let text = format!("'{}' does not hold one token", path.display());
        return Err(CliError::Other(text));
    }
    Ok(token.to_owned())
}

/// A size such as `4G`; a plain number is bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let expected = || "expected a size such as 512M or 4G".to_owned();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_uppercase();
    let shift = match unit.trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(expected()),
    };
    let number: usize = number.parse().map_err(|_| expected())?;
    number
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(expected)
}

/// An RDF syntax by its short name or media type.
pub fn graph_format(text: &str) -> Result<GraphFormat, String> {
    let known = GraphFormat::from_name(text);
    known.ok_or_else(|| "expected nt, nq, ttl, trig, rdfxml or jsonld".to_owned())
}

/// A prefix as `name=namespace`.
pub fn prefix(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let (name, namespace) =
        parts.ok_or("expected a prefix such as foaf=http://xmlns.com/foaf/0.1/")?;
    Ok((name.trim_end_matches(':').to_owned(), namespace.to_owned()))
}

/// A format of answers: of solutions and booleans, or of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Solutions and booleans.
    Results(ResultsFormat),
    /// Graphs.
    Graph(GraphFormat),
}

/// A format of answers by its short name or media type.
pub fn answer_format(text: &str) -> Result<AnswerFormat, String> {
    if let Some(format) =
        ResultsFormat::from_name(text).or_else(|| ResultsFormat::from_media_type(text))
    {
        return Ok(AnswerFormat::Results(format));
    }
    let expected =
        "expected json, xml, csv, tsv or arrow, or for graphs nt, nq, ttl, trig, rdfxml or jsonld";
    graph_format(text)
        .map(AnswerFormat::Graph)
        .map_err(|_| expected.to_owned())
}

/// A number of bytes for people.
pub fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

/// A count for people, in groups of three digits.
pub fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = [
            ("1", 1),
            ("4G", 4 << 30),
            ("512m", 512 << 20),
            ("2KiB", 2048),
            ("3 MB", 3 << 20),
        ];
        for (text, expected) in sizes {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "G", "0", "-1", "4X", "1.5G", "99999999999T"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durability_is_one_of_three() {
        let interval = |ms| Ok(Durability::Interval(Duration::from_millis(ms)));
        assert_eq!(durability("always"), Ok(Durability::Always));
        assert_eq!(durability("none"), Ok(Durability::None));
        assert_eq!(durability("interval"), interval(1000));
        assert_eq!(durability("interval=250ms"), interval(250));
        for bad in ["", "sometimes", "interval=", "interval=0s", "always=1s"] {
            assert!(durability(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_shown_for_people() {
        assert_eq!(show_count(0), "0");
        assert_eq!(show_count(999), "999");
        assert_eq!(show_count(1_234_567), "1,234,567");
        assert_eq!(show_bytes(1023), "1023 B");
        assert_eq!(show_bytes(1536), "1.5 KiB");
    }
}
