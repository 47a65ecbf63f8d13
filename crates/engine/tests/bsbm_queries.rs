//! The queries of the Berlin SPARQL Benchmark, explore and BI, against Oxigraph over the same data.
//!
//! The data is generated in process. Every query is asked with several drawn parameters, the types of BI
//! queries from every level of the tree, under the matrix of configurations. A query that is cut by
//! OFFSET and LIMIT is asked uncut as well, because ties make the cut arbitrary. Means of floats depend on
//! the order of the sum, so floats are compared with a tolerance.
//!
//! `BASALT_TESTS_FULL=1` adds the 2,848 products of a million triples, which takes minutes.

mod support;

use basalt_bsbm::{
    Draw, GenerateOptions, ParameterPool, Parameters, UseCase, generate_to, query_text,
};
use basalt_engine::{Database, Layout, SchemaReport};
use basalt_testkit::Answer;
use basalt_testkit::bag::{self, Numbers};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxrdf::{Dataset, Term};
use std::collections::HashMap;
use std::time::Instant;
use support::{Configuration, Loaded, ask, load_nquads, matrix, query_options};

/// Two floats this near, relatively, are the same mean summed in another order.
const TOLERANCE: f64 = 1e-4;

/// Products in the data that every configuration is asked about; Oxigraph takes the time.
const PRODUCTS: u64 = 40;

/// A query that takes longer in some configuration is printed.
const SLOW_SECONDS: f64 = 0.5;

/// One question: a query text, and what its answer must be held against.
struct Question {
    /// Use case, number and draw, for messages.
    name: String,
    /// The query as the benchmark asks it.
    text: String,
    /// OFFSET and LIMIT, and the query without them.
    cut: Option<Cut>,
}

/// How a query is cut.
struct Cut {
    /// Rows left out at the start.
    offset: usize,
    /// Rows at most.
    limit: usize,
    /// The text without the cut.
    uncut_text: String,
    /// The variable that the rows are ordered by first.
    order: &'static str,
}

/// The variable that a cut query is ordered by.
fn order_of(use_case: UseCase, number: u8) -> Option<&'static str> {
    match (use_case, number) {
        (UseCase::Explore, 1 | 3 | 4 | 5) => Some("label"),
        (UseCase::Explore, 8) => Some("written"),
        (UseCase::Explore, 10) => Some("price"),
        (UseCase::Bi, 1) => Some("reviews"),
        (UseCase::Bi, 2) => Some("shared"),
        (UseCase::Bi, 3) => Some("growth"),
        (UseCase::Bi, 4) => Some("ratio"),
        (UseCase::Bi, 8) => Some("share"),
        _ => None,
    }
}

fn question(use_case: UseCase, number: u8, name: String, parameters: &Parameters) -> Question {
    let text = query_text(use_case, number, parameters).expect("the parameters are complete");
    let (mut offset, mut limit) = (0, None);
    let mut uncut = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        match (
            words.next(),
            words.next().and_then(|word| word.parse().ok()),
        ) {
            (Some("OFFSET"), Some(rows)) => offset = rows,
            (Some("LIMIT"), Some(rows)) => limit = Some(rows),
            _ => uncut.push(line),
        }
    }
    let cut = limit.map(|limit| Cut {
        offset,
        limit,
        uncut_text: uncut.join("\n"),
        order: order_of(use_case, number).expect("every cut query is listed with its order"),
    });
    Question { name, text, cut }
}

/// Draws every query: `draws` times, or once per level from `first_level` on if it takes a type of any.
fn questions(pool: &ParameterPool, draws: i64, first_level: usize) -> Vec<Question> {
    let mut all = Vec::new();
    for use_case in [UseCase::Explore, UseCase::Bi] {
        for number in 1..=use_case.queries() {
            let name = |what: String| format!("{} {number} {what}", use_case.name());
            if use_case.can_drill_down(number) {
                // The benchmark itself asks the fourth and the fifth query from below the root on.
                let first_level = first_level.max(usize::from(matches!(number, 4 | 5)));
                for level in first_level..=pool.depth() {
                    let draw = Draw {
                        seed: 11,
                        mix: level as i64,
                        position: u32::from(number),
                    };
                    let parameters = pool.draw_at_level(use_case, number, draw, level);
                    let parameters = parameters.expect("the query exists");
                    all.push(question(
                        use_case,
                        number,
                        name(format!("level {level}")),
                        &parameters,
                    ));
                }
                continue;
            }
            for mix in 0..draws {
                let draw = Draw {
                    seed: 7,
                    mix,
                    position: u32::from(number),
                };
                let parameters = pool.draw(use_case, number, draw).expect("the query exists");
                all.push(question(
                    use_case,
                    number,
                    name(format!("draw {mix}")),
                    &parameters,
                ));
            }
        }
    }
    all
}

/// The data set in N-Triples, products with all their types or with the leaf of the tree only.
fn generated(products: u64, forward_chaining: bool) -> String {
    let mut bytes = Vec::new();
    let options = GenerateOptions {
        forward_chaining,
        ..GenerateOptions::new(products)
    };
    generate_to(&mut bytes, &options).expect("the data is generated");
    String::from_utf8(bytes).expect("N-Triples is UTF-8")
}

fn oracle_dataset(text: &str) -> Dataset {
    let parser = oxigraph::io::RdfParser::from_format(oxigraph::io::RdfFormat::NTriples);
    parser
        .for_slice(text.as_bytes())
        .map(|quad| quad.expect("generated data parses"))
        .collect()
}

fn oracle_answer(data: &Dataset, text: &str) -> Answer {
    let query = SparqlEvaluator::new()
        .parse_query(text)
        .expect("the query parses");
    match query
        .on_queryable_dataset(data)
        .execute()
        .expect("Oxigraph evaluates the query")
    {
        QueryResults::Boolean(value) => Answer::Boolean(value),
        QueryResults::Solutions(solutions) => {
            let variables = solutions
                .variables()
                .iter()
                .map(|v| v.as_str().to_owned())
                .collect();
            let rows = solutions
                .map(|row| row.expect("a solution").values().to_vec())
                .collect();
            Answer::Solutions { variables, rows }
        }
        QueryResults::Graph(triples) => {
            Answer::Graph(triples.map(|triple| triple.expect("a triple")).collect())
        }
    }
}

/// The floats of a row, and the rest of it as text.
fn split_row(row: &[Option<Term>]) -> (String, Vec<f64>) {
    let mut key = String::new();
    let mut floats = Vec::new();
    for term in row {
        match term {
            Some(Term::Literal(literal)) if is_float(literal) => {
                floats.push(literal.value().parse().unwrap_or(f64::NAN));
                key.push_str("~\t");
            }
            Some(term) => key.push_str(&format!("{term}\t")),
            None => key.push('\t'),
        }
    }
    (key, floats)
}

fn is_float(literal: &oxrdf::Literal) -> bool {
    literal.datatype() == oxrdf::vocab::xsd::FLOAT
        || literal.datatype() == oxrdf::vocab::xsd::DOUBLE
}

fn is_near(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

fn are_near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_near(*a, *b))
}

/// Rows with the columns in the order of `variables`.
fn aligned(variables: &[String], answer: &Answer) -> Result<Vec<Vec<Option<Term>>>, String> {
    let Answer::Solutions {
        variables: found,
        rows,
    } = answer
    else {
        return Err("solutions are expected".to_owned());
    };
    let places: Option<Vec<usize>> = variables
        .iter()
        .map(|v| found.iter().position(|other| other == v))
        .collect();
    let places =
        places.ok_or_else(|| format!("variables {variables:?} expected, {found:?} found"))?;
    Ok(rows
        .iter()
        .map(|row| places.iter().map(|&place| row[place].clone()).collect())
        .collect())
}

/// Compares two answers as bags, floats with the tolerance.
fn compare_near(expected: &Answer, actual: &Answer) -> Result<(), String> {
    let Answer::Solutions { variables, .. } = expected else {
        return bag::compare(expected, actual, Numbers::ByValue).map_err(|error| error.to_string());
    };
    let mut left: Vec<_> = aligned(variables, expected)?
        .iter()
        .map(|row| split_row(row))
        .collect();
    let mut right: Vec<_> = aligned(variables, actual)?
        .iter()
        .map(|row| split_row(row))
        .collect();
    if left.len() != right.len() {
        return Err(format!(
            "{} rows expected, {} found",
            left.len(),
            right.len()
        ));
    }
    let order = |a: &(String, Vec<f64>), b: &(String, Vec<f64>)| {
        a.0.cmp(&b.0)
            .then_with(|| a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal))
    };
    left.sort_by(order);
    right.sort_by(order);
    match left
        .iter()
        .zip(&right)
        .find(|(a, b)| a.0 != b.0 || !are_near(&a.1, &b.1))
    {
        None => Ok(()),
        Some((a, b)) => Err(format!("expected {a:?}, found {b:?}")),
    }
}

/// Checks a cut answer against the uncut one of the oracle: the right number of rows, each one of the uncut
/// rows, and at each place the value that orders them.
fn compare_cut(uncut: &Answer, actual: &Answer, cut: &Cut) -> Result<(), String> {
    let Answer::Solutions { variables, .. } = uncut else {
        return Err("solutions are expected".to_owned());
    };
    let whole = aligned(variables, uncut)?;
    let part = aligned(variables, actual)?;
    let count = whole.len().saturating_sub(cut.offset).min(cut.limit);
    if part.len() != count {
        return Err(format!("{count} rows expected, {} found", part.len()));
    }
    let mut available: HashMap<String, Vec<Vec<f64>>> = HashMap::new();
    for (key, floats) in whole.iter().map(|row| split_row(row)) {
        available.entry(key).or_default().push(floats);
    }
    for (key, floats) in part.iter().map(|row| split_row(row)) {
        let same = available.get_mut(&key);
        let taken = same.and_then(|same| {
            let at = same.iter().position(|other| are_near(other, &floats))?;
            Some(same.swap_remove(at))
        });
        if taken.is_none() {
            return Err(format!("row {key} {floats:?} is not in the uncut answer"));
        }
    }
    let column = variables
        .iter()
        .position(|v| v == cut.order)
        .expect("the order is selected");
    for (at, row) in part.iter().enumerate() {
        let expected = split_row(&whole[cut.offset + at][column..=column]);
        let found = split_row(&row[column..=column]);
        if expected.0 != found.0 || !are_near(&expected.1, &found.1) {
            return Err(format!(
                "row {at} has {found:?} where the order wants {expected:?}"
            ));
        }
    }
    Ok(())
}

/// Asks one question and compares; the expected answer is the uncut one if the query is cut.
fn check(
    question: &Question,
    expected: &Answer,
    database: &Database,
    configuration: &Configuration,
) -> Result<(), String> {
    let options = query_options(configuration);
    let actual = ask(database, &question.text, &options)?;
    let Some(cut) = &question.cut else {
        return compare_near(expected, &actual);
    };
    compare_cut(expected, &actual, cut)?;
    compare_near(expected, &ask(database, &cut.uncut_text, &options)?)
}

fn expected_answers(data: &Dataset, questions: &[Question]) -> Vec<Answer> {
    let text = |question: &Question| match &question.cut {
        Some(cut) => cut.uncut_text.clone(),
        None => question.text.clone(),
    };
    questions
        .iter()
        .map(|question| oracle_answer(data, &text(question)))
        .collect()
}

fn failures(
    questions: &[Question],
    expected: &[Answer],
    loaded: &Loaded,
    configuration: &Configuration,
) -> Vec<String> {
    let mut failures = Vec::new();
    for (question, expected) in questions.iter().zip(expected) {
        let start = Instant::now();
        if let Err(what) = check(question, expected, &loaded.database, configuration) {
            let options = query_options(configuration);
            let plan = loaded.database.prepare(&question.text, &options);
            let plan = plan.map_or_else(
                |error| error.to_string(),
                |prepared| prepared.explain().to_text(),
            );
            failures.push(format!(
                "{} {configuration:?}: {what}\n{}\n{plan}",
                question.name, question.text
            ));
        }
        let seconds = start.elapsed().as_secs_f64();
        if seconds > SLOW_SECONDS {
            eprintln!("slow, {seconds:.2} s: {} {configuration:?}", question.name);
        }
    }
    failures
}

fn assert_none(failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures
            .iter()
            .take(3)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n\n")
    );
}

#[test]
fn every_query_agrees_with_oxigraph_in_every_configuration() {
    let start = Instant::now();
    let text = generated(PRODUCTS, true);
    let pool =
        ParameterPool::from_options(PRODUCTS, basalt_bsbm::DEFAULT_SEED).expect("valid options");
    let questions = questions(&pool, 2, 0);
    let expected = expected_answers(&oracle_dataset(&text), &questions);
    eprintln!("Oxigraph: {:.1} s", start.elapsed().as_secs_f64());
    let nonempty = expected.iter().filter(|answer| !answer.is_empty()).count();
    assert!(
        nonempty * 2 > expected.len(),
        "only {nonempty} of {} answers have rows",
        expected.len()
    );
    let mut stores: HashMap<(Layout, bool), Loaded> = HashMap::new();
    let mut all = Vec::new();
    for configuration in matrix() {
        let key = (configuration.layout, configuration.is_reopened);
        let loaded = stores
            .entry(key)
            .or_insert_with(|| load_nquads(text.clone(), &configuration));
        all.extend(failures(&questions, &expected, loaded, &configuration));
    }
    assert_none(&all);
}

#[test]
fn a_million_triples_agree_with_oxigraph() {
    if std::env::var("BASALT_TESTS_FULL").is_err() {
        eprintln!("skipped: the 2,848 products take minutes (set BASALT_TESTS_FULL=1)");
        return;
    }
    let text = generated(2_848, true);
    let pool =
        ParameterPool::from_options(2_848, basalt_bsbm::DEFAULT_SEED).expect("valid options");
    // At the root Oxigraph needs hours for the products without a feature.
    let questions = questions(&pool, 5, 2);
    let data = oracle_dataset(&text);
    let configuration = Configuration::default();
    let loaded = load_nquads(text, &configuration);
    let mut all = Vec::new();
    for question in questions {
        let start = Instant::now();
        let name = question.name.clone();
        let expected = expected_answers(&data, std::slice::from_ref(&question));
        let oracle_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        all.extend(failures(&[question], &expected, &loaded, &configuration));
        eprintln!(
            "{name}: Oxigraph {oracle_s:.2} s, Basalt {:.3} s",
            start.elapsed().as_secs_f64()
        );
    }
    assert_none(&all);
}

#[test]
fn a_thousand_products_have_the_eight_shapes() {
    let loaded = load_nquads(generated(1_000, false), &Configuration::default());
    let report = SchemaReport::new(&loaded.database.snapshot()).expect("a readable schema");
    let mut names: Vec<&str> = report
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    names.sort_unstable();
    let expected = [
        "Offer",
        "Person",
        "Producer",
        "Product",
        "ProductFeature",
        "ProductType",
        "Review",
        "Vendor",
    ];
    assert_eq!(names, expected);
    assert!(report.coverage >= 0.999, "coverage {}", report.coverage);
}
