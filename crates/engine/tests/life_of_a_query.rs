//! Holds `docs/life-of-a-query.md` to what the engine does.
//!
//! The page has a fenced block after each marker `<!-- name -->`. Blocks `data` and `query` are the input; `schema`,
//! `algebra`, `plan`, `rows` and `answer` are what comes out, compared line by line. `BASALT_BLESS=1` writes what came
//! out into the page instead. Costs and times are left out, so that the page is the same on every machine.

use basalt_engine::results::write_solutions;
use basalt_engine::{
    Answer, Database, GraphFormat, Input, Layout, LoadOptions, NoProgress, QueryOptions,
    ResultsFormat, SchemaReport,
};
use spargebra::SparqlParser;
use std::io::Cursor;
use std::path::PathBuf;

/// The namespace of the example, which the algebra and the plan write out.
const NAMESPACE: &str = "http://shop.example/";

fn page_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/life-of-a-query.md")
}

/// Where the text of the block after a marker begins and ends, in bytes.
fn block(page: &str, name: &str) -> (usize, usize) {
    let marker = format!("<!-- {name} -->\n");
    let places: Vec<usize> = page.match_indices(&marker).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "the page has one marker {marker:?}");
    let fence = places[0] + marker.len();
    assert!(
        page[fence..].starts_with("```"),
        "no block right after {marker:?}"
    );
    let line_end = page[fence..].find('\n').expect("the fence line ends");
    let start = fence + line_end + 1;
    let end = page[start..].find("```").expect("the block ends");
    (start, start + end)
}

fn load(data: &str, layout: Layout) -> Database {
    let database = Database::in_memory();
    let reader = Cursor::new(data.as_bytes().to_vec());
    let options = LoadOptions {
        inputs: vec![Input::reader("shop.trig", reader, GraphFormat::TriG)],
        layout,
        ..LoadOptions::default()
    };
    database
        .load(options, &NoProgress)
        .expect("the example loads");
    database
}

/// The algebra as an indented tree.
fn algebra(query: &str) -> String {
    let parsed = SparqlParser::new()
        .parse_query(query)
        .expect("the example parses");
    let operators = ["project", "filter", "leftjoin", "join", "bgp", "triple"];
    let text = parsed.to_sse().replace(&format!("<{NAMESPACE}"), "<");
    let (mut out, mut depth) = (String::new(), 0);
    for (piece_idx, piece) in text.split('(').enumerate() {
        if piece_idx > 0 {
            depth += 1;
            if operators.contains(&piece.split_whitespace().next().unwrap_or("")) {
                out = out.trim_end().to_owned();
                out.push_str(if out.is_empty() { "" } else { "\n" });
                out.push_str(&"  ".repeat(depth - 1));
            }
            out.push('(');
        }
        depth -= piece.matches(')').count();
        out.push_str(piece);
    }
    out.trim_end().to_owned() + "\n"
}

/// The words of a plan that say what a machine or a calibration decides.
const MACHINE: [&str; 4] = ["cost=", "time=", "own=", "memory="];

/// A plan without what a machine or a calibration decides, and with short names.
fn timeless(plan: &str) -> String {
    let mut out = String::new();
    for line in plan.lines() {
        let kept = line
            .split(' ')
            .filter(|word| !MACHINE.iter().any(|what| word.starts_with(what)));
        let kept: Vec<&str> = kept.collect();
        out.push_str(kept.join(" ").trim_end());
        out.push('\n');
    }
    out.replace(&format!("<{NAMESPACE}"), "<")
}

fn answer_rows(database: &Database, query: &str, options: &QueryOptions) -> String {
    let answer = database.query(query, options).expect("the example runs");
    let Answer::Solutions(mut solutions) = answer else {
        unreachable!("the example is a SELECT")
    };
    let mut out = Vec::new();
    write_solutions(&mut solutions, ResultsFormat::Tsv, &mut out).expect("a vector takes it all");
    String::from_utf8(out).expect("TSV is UTF-8")
}

/// The lines of a text, sorted.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// What the engine says at each stage, by the name of its block.
fn stages(data: &str, query: &str, options: &QueryOptions) -> Vec<(&'static str, String)> {
    let database = load(data, Layout::Discover);
    let schema = SchemaReport::new(&database.snapshot()).expect("the statistics can be read");
    let prepared = database.prepare(query, options).expect("the example plans");
    let profile = prepared.profile(options).expect("the example runs");
    vec![
        ("schema", schema.to_text()),
        ("algebra", algebra(query)),
        ("plan", timeless(&prepared.explain().to_text())),
        ("rows", timeless(&profile.to_text())),
        ("answer", answer_rows(&database, query, options)),
    ]
}

/// One thread, so that rows come in one order.
fn one_thread() -> QueryOptions {
    let mut options = QueryOptions::default();
    options.exec.threads = 1;
    options
}

/// Loads the example in the other layouts and compares the rows, in any order.
fn check_layouts(data: &str, query: &str, answer: &str) {
    for layout in [Layout::AllIrregular, Layout::OneTable, Layout::HalfDirty] {
        let rows = answer_rows(&load(data, layout), query, &one_thread());
        assert_eq!(sorted(&rows), sorted(answer), "{layout:?}");
    }
}

#[test]
fn the_page_says_what_happens() {
    let mut page = std::fs::read_to_string(page_path()).expect("the page is there");
    let text_of = |page: &str, name: &str| {
        let (start, end) = block(page, name);
        page[start..end].to_owned()
    };
    let (data, query) = (text_of(&page, "data"), text_of(&page, "query"));
    let is_blessing = std::env::var("BASALT_BLESS").is_ok_and(|value| value == "1");
    let mut differences = Vec::new();
    for (name, found) in stages(&data, &query, &one_thread()) {
        let (start, end) = block(&page, name);
        if page[start..end] == found {
            continue;
        }
        if is_blessing {
            page.replace_range(start..end, &found);
        } else {
            let expected = &page[start..end];
            differences.push(format!(
                "block '{name}' differs\n--- the page\n{expected}--- the engine\n{found}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    check_layouts(&data, &query, &text_of(&page, "answer"));
    if is_blessing {
        std::fs::write(page_path(), page).expect("the page can be written");
    }
}
