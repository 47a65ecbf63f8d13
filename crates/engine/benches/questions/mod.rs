//! What measurements of stores that change share: generated data, the benchmark's queries as texts, and options of the command line.

#![allow(dead_code, reason = "each program uses its own part")]

use basalt_bsbm::{Draw, GenerateOptions, ParameterPool, UseCase, generate_to, mix, query_text};
use basalt_engine::{Answer, Database, QueryOptions};
use std::error::Error;
use std::time::{Duration, Instant};

/// Texts of an explore query; it is asked of one product or a few.
const EXPLORE_TEXTS: i64 = 20;
/// Texts of a BI query.
const BI_TEXTS: i64 = 3;

/// One query of a use case with different parameters.
pub struct Question {
    /// Use case and number.
    pub name: String,
    /// The texts.
    pub texts: Vec<String>,
}

/// Data of so many products, as N-Triples.
pub fn generated(products: u64) -> Result<String, Box<dyn Error>> {
    let mut bytes = Vec::new();
    generate_to(&mut bytes, &GenerateOptions::new(products))?;
    Ok(String::from_utf8(bytes)?)
}

fn pool(products: u64) -> Result<ParameterPool, Box<dyn Error>> {
    let seed = GenerateOptions::new(products).seed;
    Ok(ParameterPool::from_options(products, seed)?)
}

/// All queries of explore and BI.
pub fn questions(products: u64) -> Result<Vec<Question>, Box<dyn Error>> {
    let pool = pool(products)?;
    let use_cases = [UseCase::Explore, UseCase::Bi];
    let all = use_cases
        .into_iter()
        .flat_map(|use_case| of_use_case(&pool, use_case));
    Ok(all.collect())
}

/// All queries of a use case.
pub fn of_use_case(pool: &ParameterPool, use_case: UseCase) -> Vec<Question> {
    let texts = match use_case {
        UseCase::Bi => BI_TEXTS,
        _ => EXPLORE_TEXTS,
    };
    let question = |number: u8| {
        let texts = (0..texts).filter_map(|mix| {
            let draw = Draw {
                seed: 7,
                mix,
                position: u32::from(number),
            };
            query_text(use_case, number, &pool.draw(use_case, number, draw)?)
        });
        Question {
            name: format!("{} {number}", use_case.name()),
            texts: texts.collect(),
        }
    };
    (1..=use_case.queries()).map(question).collect()
}

/// The texts of explore mixes, each in the order of the benchmark.
pub fn explore_mixes(products: u64, mixes: i64) -> Result<Vec<String>, Box<dyn Error>> {
    let pool = pool(products)?;
    let mut all = Vec::new();
    for number in 0..mixes {
        for (position, &query) in mix(UseCase::Explore).iter().enumerate() {
            let draw = Draw {
                seed: 7,
                mix: number,
                position: position as u32,
            };
            let parameters = pool.draw(UseCase::Explore, query, draw);
            all.extend(parameters.and_then(|p| query_text(UseCase::Explore, query, &p)));
        }
    }
    Ok(all)
}

/// Asks a query, takes all of its answer, and tells the time.
pub fn ask(database: &Database, text: &str) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    match database.query(text, &QueryOptions::default())? {
        Answer::Boolean(_) => {}
        Answer::Solutions(solutions) => drop(solutions.into_rows()?),
        Answer::Graph(mut triples) => while triples.next_triples()?.is_some() {},
    }
    Ok(start.elapsed())
}

/// The number after an option on the command line.
pub fn number_after(option: &str) -> Result<Option<u64>, Box<dyn Error>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != option);
    match (arguments.next(), arguments.next()) {
        (None, _) => Ok(None),
        (Some(_), None) => Err(format!("expected a number after {option}").into()),
        (Some(_), Some(number)) => Ok(Some(number.parse()?)),
    }
}
