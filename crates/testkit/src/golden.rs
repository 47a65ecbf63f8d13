//! Golden scripts: data, queries and what must come out, in one readable file.
//!
//! A script is text with sections, each opened by a line in brackets; `#` lines outside sections are
//! comments and say why the story exists. Blocks are separated by a line `----`:
//!
//! ```text
//! # why this story
//! [data trig]
//! <a> <p> 1 .
//! ----
//! [query]
//! SELECT ?x WHERE { ?x <p> 1 }
//! [rows]
//! ?x
//! <a>
//! ----
//! ```
//!
//! `[rows]` are compared as a multiset and kept sorted, `[rows ordered]` as a list; both are
//! tab-separated N-Triples terms under a line of variables (a boolean is the one line `true` or `false`,
//! a graph has triples for lines). `[plan]` is the EXPLAIN text, `[error]` the message. A query
//! needs at least one expected section. With [`Mode::Bless`] expected sections are rewritten with
//! what the engine says, everything else is kept to the byte.
//!
//! Blank nodes print with the labels the engine gives; scripts should not select them.

use crate::dataset::{Answer, Dataset};
use oxrdf::{GraphName, Term};
use std::path::Path;

/// What a script runs against.
pub trait ScriptEngine {
    /// Adds TriG (or N-Quads) text to the store.
    fn load(&mut self, trig: &str) -> Result<(), String>;
    /// Evaluates a query.
    fn query(&mut self, text: &str) -> Result<Answer, String>;
    /// Describes the plan of a query.
    fn explain(&mut self, text: &str) -> Result<String, String>;
}

/// Whether expected sections are checked or rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Any difference is an error.
    Check,
    /// The expected sections become what the engine says.
    Bless,
}

impl Mode {
    /// [`Mode::Bless`] if the environment has `BASALT_BLESS=1`.
    pub fn from_env() -> Self {
        if std::env::var("BASALT_BLESS").is_ok_and(|value| value == "1") {
            Self::Bless
        } else {
            Self::Check
        }
    }
}

/// Why a script did not pass.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file cannot be read or written.
    #[error("cannot access script {path}")]
    Io {
        /// The script.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The script is not well formed.
    #[error("line {line}: {what}")]
    Script {
        /// Line number from one.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The engine says something else than the script.
    #[error("line {line}: [{section}] differs\n--- expected\n{expected}\n--- found\n{found}")]
    Differs {
        /// Line of the section's header.
        line: usize,
        /// Name of the section.
        section: String,
        /// The text of the script.
        expected: String,
        /// What the engine says.
        found: String,
    },
}

/// One bracketed section, or the text between sections.
struct Section {
    /// Text between the brackets; nothing for comments, blank lines and separators.
    header: Option<String>,
    /// Line number of the header, from one.
    line: usize,
    /// The lines below the header.
    body: Vec<String>,
}

/// Runs the script in a file and, in [`Mode::Bless`], writes it back.
pub fn run_file(path: &Path, engine: &mut dyn ScriptEngine, mode: Mode) -> Result<(), GoldenError> {
    let io = |source| GoldenError::Io {
        path: path.display().to_string(),
        source,
    };
    let text = std::fs::read_to_string(path).map_err(io)?;
    let blessed = run(&text, engine, mode)?;
    if mode == Mode::Bless && blessed != text {
        std::fs::write(path, blessed).map_err(io)?;
    }
    Ok(())
}

/// Runs a script and returns its text, with fresh expected sections in [`Mode::Bless`].
pub fn run(text: &str, engine: &mut dyn ScriptEngine, mode: Mode) -> Result<String, GoldenError> {
    let mut sections = parse(text);
    let mut query: Option<(String, usize, bool)> = None;
    for section in &mut sections {
        let Some(header) = section.header.clone() else {
            continue;
        };
        let body = section.body.join("\n");
        let script_error = |what: String| GoldenError::Script {
            line: section.line,
            what,
        };
        match header.as_str() {
            "data" | "data trig" => engine.load(&body).map_err(script_error)?,
            "query" => {
                require_expectation(&query)?;
                query = Some((body, section.line, false));
            }
            "rows" | "rows ordered" | "plan" | "error" => {
                let Some((text, _, expected)) = &mut query else {
                    return Err(script_error(format!("[{header}] without [query]")));
                };
                *expected = true;
                let found = actual(engine, text, &header).map_err(script_error)?;
                settle(section, &header, &found, mode)?;
            }
            other => return Err(script_error(format!("unknown section [{other}]"))),
        }
    }
    require_expectation(&query)?;
    Ok(unparse(&sections, text))
}

/// Refuses a query that nothing was expected of.
fn require_expectation(query: &Option<(String, usize, bool)>) -> Result<(), GoldenError> {
    match query {
        Some((_, line, false)) => Err(GoldenError::Script {
            line: *line,
            what: "[query] without an expected section".into(),
        }),
        _ => Ok(()),
    }
}

/// What the engine has to say for one expected section.
fn actual(engine: &mut dyn ScriptEngine, query: &str, header: &str) -> Result<String, String> {
    match header {
        "plan" => engine.explain(query),
        "error" => match engine.query(query) {
            Ok(answer) => Err(format!("an error is expected, found {} rows", answer.len())),
            Err(message) => Ok(message),
        },
        _ => {
            let answer = engine.query(query)?;
            Ok(print_answer(&answer, header == "rows ordered"))
        }
    }
}

/// Compares or replaces the body of an expected section.
fn settle(section: &mut Section, header: &str, found: &str, mode: Mode) -> Result<(), GoldenError> {
    let found: Vec<String> = found
        .trim_end()
        .lines()
        .map(|l| l.trim_end().into())
        .collect();
    let content = section
        .body
        .iter()
        .rposition(|line| !line.trim().is_empty())
        .map_or(0, |last| last + 1);
    // An unbound last column ends a line with a tab, which editors like to strip.
    let expected: Vec<String> = section.body[..content]
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let same = if header == "rows" {
        sorted_tail(&expected) == sorted_tail(&found)
    } else {
        expected == found
    };
    match mode {
        _ if same => Ok(()),
        Mode::Bless => {
            section.body.splice(..content, found);
            Ok(())
        }
        Mode::Check => Err(GoldenError::Differs {
            line: section.line,
            section: header.to_owned(),
            expected: expected.join("\n"),
            found: found.join("\n"),
        }),
    }
}

/// The lines with all but the first sorted.
fn sorted_tail(lines: &[String]) -> Vec<String> {
    let mut sorted = lines.to_vec();
    if let Some(tail) = sorted.get_mut(1..) {
        tail.sort();
    }
    sorted
}

/// Prints an answer as the body of a `[rows]` section; rows are sorted unless their order counts.
pub fn print_answer(answer: &Answer, is_ordered: bool) -> String {
    let mut lines: Vec<String>;
    let mut head = Vec::new();
    match answer {
        Answer::Boolean(value) => lines = vec![value.to_string()],
        Answer::Graph(triples) => lines = triples.iter().map(|t| format!("{t} .")).collect(),
        Answer::Solutions { variables, rows } => {
            let names: Vec<String> = variables.iter().map(|v| format!("?{v}")).collect();
            head.push(names.join("\t"));
            let cell = |term: &Option<Term>| term.as_ref().map_or(String::new(), Term::to_string);
            lines = rows
                .iter()
                .map(|row| row.iter().map(cell).collect::<Vec<_>>().join("\t"))
                .collect();
        }
    }
    if !is_ordered {
        lines.sort();
    }
    head.extend(lines);
    head.join("\n")
}

/// The script of a case: its data, its query, and the rows that should come out, if they are known.
pub fn script(dataset: &Dataset, query: &str, answer: Option<&Answer>) -> String {
    let mut text = String::from("[data trig]\n");
    for quad in dataset.quads() {
        let triple = format!("{} {} {}", quad.subject, quad.predicate, quad.object);
        text.push_str(&match &quad.graph_name {
            GraphName::DefaultGraph => format!("{triple} .\n"),
            name => format!("{name} {{ {triple} }}\n"),
        });
    }
    text.push_str(&format!("----\n[query]\n{query}\n"));
    if let Some(answer) = answer {
        let rows = print_answer(answer, false);
        text.push_str(&format!("[rows]\n{rows}\n----\n"));
    }
    text
}

/// Cuts a script into sections.
fn parse(text: &str) -> Vec<Section> {
    let mut sections = vec![Section {
        header: None,
        line: 1,
        body: Vec::new(),
    }];
    for (line_idx, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let names = [
            "data",
            "data trig",
            "query",
            "rows",
            "rows ordered",
            "plan",
            "error",
        ];
        let header = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .filter(|name| {
                // `[]` and `[ … ]` are Turtle and SPARQL; a misspelt single word is still an error.
                names.contains(name)
                    || (!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
            });
        if header.is_some() || trimmed == "----" {
            sections.push(Section {
                header: header.map(str::to_owned),
                line: line_idx + 1,
                body: Vec::new(),
            });
            if header.is_some() {
                continue;
            }
        }
        if let Some(section) = sections.last_mut() {
            section.body.push(line.to_owned());
        }
    }
    sections
}

/// Puts a script together again; headers are written back as they were.
fn unparse(sections: &[Section], original: &str) -> String {
    let mut lines = Vec::new();
    for section in sections {
        if let Some(header) = &section.header {
            lines.push(format!("[{header}]"));
        }
        lines.extend(section.body.iter().cloned());
    }
    let mut text = lines.join("\n");
    if original.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
