//! What queries take beside changes that are not merged, and after the merge: `cargo xtask bench changes STORE DATA_DIR [QUADS]`.
//!
//! A store with data of the benchmark is copied, and the copy is asked counts, averages and the BI queries: before, with so many changed
//! quads (250,000 where no number is given) in memory, and after `optimize`. Offers spread over all of them are deleted, and as many are
//! inserted under new names with what the deleted ones had. Prints the time of each query, the least of several runs in this process, and the ratios to
//! the time before. Answers beside the changes and after the merge are compared as numbers of rows: a difference is an error.
//!
//! Without a store it makes the data of a million triples, and a tenth of the changes.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "questions/mod.rs"]
mod questions;

use basalt_bsbm::{GenerateOptions, ParameterPool};
use basalt_engine::{
    Answer, Database, GraphFormat, MergePolicy, QueryOptions, UpdateOptions, WriteOptions,
};
use questions::Question;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Products of the data that is made where no store is given.
const PRODUCTS: u64 = 2_848;
/// Changed quads where a store is given and no number.
const CHANGED: u64 = 250_000;
/// Changed quads where no store is given.
const CHANGED_OF_MADE: u64 = 25_000;
/// Runs of each text, after one to warm up.
const RUNS: usize = 7;
/// The benchmark's words.
const PREFIX: &str = "PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/> PREFIX rev: <http://purl.org/stuff/rev#> ";

/// Counts and averages.
const COUNTS: [(&str, &str); 8] = [
    ("everything", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
    (
        "subjects of deliveryDays",
        "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?o bsbm:deliveryDays ?d }",
    ),
    (
        "distinct products",
        "SELECT (COUNT(DISTINCT ?p) AS ?n) { ?o bsbm:product ?p }",
    ),
    (
        "products, vendors, countries",
        "SELECT (COUNT(*) AS ?n) { ?o bsbm:product ?p ; bsbm:vendor ?v . ?v bsbm:country ?c }",
    ),
    (
        "mean of deliveryDays",
        "SELECT (AVG(?d) AS ?n) { ?o bsbm:deliveryDays ?d }",
    ),
    (
        "mean price of those that come soon",
        "SELECT (AVG(xsd:float(str(?x))) AS ?n) { ?o bsbm:deliveryDays ?d ; bsbm:price ?x FILTER(?d <= 2) }",
    ),
    (
        "offers by vendor",
        "SELECT ?v (COUNT(?o) AS ?n) { ?o bsbm:vendor ?v } GROUP BY ?v",
    ),
    (
        "mean of deliveryDays by country",
        "SELECT ?c (AVG(?d) AS ?n) { ?o bsbm:vendor ?v ; bsbm:deliveryDays ?d . ?v bsbm:country ?c } GROUP BY ?c",
    ),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What asking a question gave.
struct Asked {
    time: Duration,
    rows: usize,
}

/// Rows of the answer, and the time until the last.
fn ask(database: &Database, text: &str) -> Outcome<Asked> {
    let start = Instant::now();
    let rows = match database.query(text, &QueryOptions::default())? {
        Answer::Boolean(_) => 1,
        Answer::Solutions(solutions) => solutions.into_rows()?.len(),
        Answer::Graph(_) => return Err("a graph is not counted".into()),
    };
    let time = start.elapsed();
    Ok(Asked { time, rows })
}

/// The sum over a question's texts of the least time of some runs, and the first time of all.
fn measure(database: &Database, question: &Question) -> Outcome<(Duration, Asked)> {
    let mut first = Duration::ZERO;
    let (mut time, mut rows) = (Duration::ZERO, 0);
    for text in &question.texts {
        let mut least = Duration::MAX;
        for run in 0..=RUNS {
            let asked = ask(database, text)?;
            match run {
                0 => {
                    first += asked.time;
                    rows += asked.rows;
                }
                _ => least = least.min(asked.time),
            }
        }
        time += least;
    }
    Ok((first, Asked { time, rows }))
}

fn all_questions(bi: Vec<Question>) -> Vec<Question> {
    let prefix = format!("{PREFIX}PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ");
    let counts = COUNTS.iter().map(|(name, query)| Question {
        name: (*name).to_owned(),
        texts: vec![format!("{prefix}{query}")],
    });
    counts.chain(bi).collect()
}

/// Deletes offers that are spread over all of them, and inserts as many under new names; the number of changed quads.
fn change(database: &Database, quads: u64) -> Outcome<u64> {
    let offers = count(database, "?o a bsbm:Offer")?;
    let of_one = count(database, "?o a bsbm:Offer . ?o ?p ?v")? / offers.max(1);
    let wanted = (quads / 2 / of_one.max(1)).clamp(1, offers.max(1));
    let nth = (offers / wanted).max(1);
    // Days in the order of offers would do as well; the number at the end of its name is spread over all of them.
    let chosen = format!(
        "?o a bsbm:Offer BIND(xsd:integer(REPLACE(STR(?o), \"^.*Offer\", \"\")) AS ?number) \
         FILTER(?number - {nth} * FLOOR(?number / {nth}) = 0)"
    );
    let head = format!("{PREFIX}PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>");
    let text = format!(
        "{head} DELETE {{ ?o ?p ?v }} INSERT {{ ?new ?p ?v }} WHERE {{ {chosen} . ?o ?p ?v \
         BIND(IRI(CONCAT(STR(?o), \"-new\")) AS ?new) }}"
    );
    let report = database.update(&text, &UpdateOptions::default())?;
    Ok(report.added + report.removed)
}

fn count(database: &Database, patterns: &str) -> Outcome<u64> {
    let text = format!("{PREFIX}SELECT (COUNT(*) AS ?n) {{ {patterns} }}");
    let Answer::Solutions(solutions) = database.query(&text, &QueryOptions::default())? else {
        return Err("a count is a row".into());
    };
    let rows = solutions.into_rows()?;
    match rows.first().and_then(|row| row.first()) {
        Some(Some(oxrdf::Term::Literal(count))) => Ok(count.value().parse()?),
        _ => Err("a count is a number".into()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => std::fs::copy(entry.path(), target).map(|_| ())?,
        }
    }
    Ok(())
}

/// All questions, and what they took.
fn ask_all(database: &Database, questions: &[Question]) -> Outcome<Vec<(Duration, Asked)>> {
    let asked = questions.iter().map(|question| {
        let asked = measure(database, question);
        asked.map_err(|error| format!("{}: {error}", question.name).into())
    });
    asked.collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The geometric mean.
fn mean(ratios: &[f64]) -> f64 {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (logarithms / ratios.len().max(1) as f64).exp()
}

fn print(
    questions: &[Question],
    [before, beside, after]: [&[(Duration, Asked)]; 3],
) -> Outcome<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "\n| query | before, ms | beside changes | first time | times | merged | times |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    let (mut of_beside, mut of_after) = (Vec::new(), Vec::new());
    let mut mixes = [Duration::ZERO; 3];
    for (idx, question) in questions.iter().enumerate() {
        let times = [before, beside, after].map(|all| all[idx].1.time);
        let [one, two, three] = times.map(ms);
        if beside[idx].1.rows != after[idx].1.rows {
            let name = &question.name;
            return Err(
                format!("{name} has other rows beside changes than after the merge").into(),
            );
        }
        of_beside.push(two / one);
        of_after.push(three / one);
        if question.name.starts_with("bi ") {
            mixes
                .iter_mut()
                .zip(times)
                .for_each(|(sum, time)| *sum += time);
        }
        writeln!(
            out,
            "| {} | {one:.2} | {two:.2} | {:.2} | {:.2} | {three:.2} | {:.2} |",
            question.name,
            ms(beside[idx].0),
            two / one,
            three / one
        )?;
    }
    let [one, two, three] = mixes.map(ms);
    writeln!(
        out,
        "| all of BI | {one:.1} | {two:.1} | | {:.2} | {three:.1} | {:.2} |",
        two / one,
        three / one
    )?;
    let (beside, after) = (mean(&of_beside), mean(&of_after));
    writeln!(out, "| geometric mean | | | | {beside:.2} | | {after:.2} |")?;
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    let options = WriteOptions {
        merge: MergePolicy::NEVER,
        ..WriteOptions::default()
    };
    let (database, pool, quads) = match arguments.as_slice() {
        [store, data, rest @ ..] => {
            copy(Path::new(store), &path)?;
            let quads = rest.first().map_or(Ok(CHANGED), |count| count.parse())?;
            let pool = ParameterPool::open(Path::new(data))?;
            (Database::open_with(&path, options)?, pool, quads)
        }
        _ => {
            let database = Database::open_or_empty_with(&path, options)?;
            database.load_text(&questions::generated(PRODUCTS)?, GraphFormat::NTriples)?;
            let seed = GenerateOptions::new(PRODUCTS).seed;
            let pool = ParameterPool::from_options(PRODUCTS, seed)?;
            (database, pool, CHANGED_OF_MADE)
        }
    };
    let questions = all_questions(questions::of_use_case(&pool, basalt_bsbm::UseCase::Bi));
    let before = ask_all(&database, &questions)?;
    let start = Instant::now();
    let changed = change(&database, quads)?;
    writeln!(
        io::stdout(),
        "{changed} of {} quads changed in {:.2} s",
        database.snapshot().quad_count(),
        start.elapsed().as_secs_f64()
    )?;
    let beside = ask_all(&database, &questions)?;
    let start = Instant::now();
    database.merge_now()?;
    let seconds = start.elapsed().as_secs_f64();
    writeln!(io::stdout(), "merged in {seconds:.2} s")?;
    let after = ask_all(&database, &questions)?;
    print(&questions, [&before, &beside, &after])
}
