//! Queries that take the plans of others, which differ from them in constants only. Random ones are held against the naive oracle, and take
//! plans wherever that is right; those over a benchmark's data against plans made alone, and take them where they are likely to be good.
//!
//! `BASALT_TEMPLATE_QUERIES` sets how many templates are asked, `BASALT_TEMPLATE_SEED` where the seeds begin.

mod duel;
mod estimate_errors;
mod sorted_rows;
mod support;

use basalt_engine::query::Prepared;
use basalt_engine::{Database, QueryOptions};
use basalt_testkit::Dataset;
use basalt_testkit::choices::Choices;
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::random_query::{QueryOptions as Grammar, random_query};
use duel::{Outcome, duel, expected, parsed};
use estimate_errors::bsbm;
use sorted_rows::sorted_rows;
use support::{Configuration, LAYOUTS, Loaded, load, number_from_env};

/// Templates asked of one dataset.
const TEMPLATES_PER_DATASET: u64 = 8;
/// Texts of a template.
const TEXTS: usize = 12;

/// An IRI of the data in place of another, of the same kind more often than not; predicates stay.
fn other_iri(name: &str, shift: u64, random: &mut Choices) -> String {
    const CLASSES: [&str; 5] = ["Person", "Place", "Product", "Review", "Nothing"];
    const ENTITIES: [&str; 4] = ["person", "place", "product", "review"];
    if let Some(class) = CLASSES.iter().position(|class| *class == name) {
        return CLASSES[(class + shift as usize) % CLASSES.len()].to_owned();
    }
    let digits_at = name.find(|c: char| c.is_ascii_digit());
    let Some((kind, number)) = digits_at.map(|at| name.split_at(at)) else {
        return name.to_owned();
    };
    let Ok(number) = number.parse::<u64>() else {
        return name.to_owned();
    };
    match random.below(8) {
        0 => format!("{}{number}", ENTITIES[random.below(4)]),
        1 => format!("{kind}{}", random.below(6)),
        _ => format!("{kind}{}", (number + shift) % 6),
    }
}

/// The text with other constants in some places. Numbers and graphs are mostly left as they are: plans hold for others than these seldom.
fn with_other_constants(text: &str, shift: u64, random: &mut Choices) -> String {
    const BASE: &str = "<http://example.org/";
    let is_bold = random.below(4) == 0;
    let mut is_in_values = false;
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '"']) {
        let (before, token) = rest.split_at(at);
        out.push_str(before);
        is_in_values = before.contains("VALUES") || is_in_values && !before.contains('}');
        let is_iri = token.starts_with('<');
        let end = if is_iri { '>' } else { '"' };
        let Some(length) = token[1..].find(end) else {
            rest = token;
            break;
        };
        let (token, after) = token.split_at(length + 2);
        let inner = &token[1..=length];
        let is_kept = !is_bold && (is_in_values || !is_iri || before.ends_with("GRAPH "));
        match (token.strip_prefix(BASE), inner.parse::<i64>()) {
            _ if is_kept => out.push_str(token),
            (Some(name), _) if !before.ends_with("^^") => {
                let name = other_iri(name.trim_end_matches('>'), shift, random);
                out.push_str(&format!("{BASE}{name}>"));
            }
            (None, Ok(number)) if !is_iri => {
                out.push_str(&format!("\"{}\"", number + shift as i64));
            }
            _ => out.push_str(token),
        }
        rest = after;
    }
    out + rest
}

/// How many answers were compared.
fn ask(
    seed: u64,
    dataset: &Dataset,
    loaded: &Loaded,
    configuration: &Configuration,
    random: &mut Choices,
) -> u64 {
    let text = random_query(seed, Grammar::default()).to_string();
    let mut right = 0;
    for text_idx in 0..TEXTS as u64 {
        // Texts of a template are planned by themselves until it is known.
        let text = with_other_constants(&text, text_idx.saturating_sub(1), random);
        let Some(query) = parsed(&text) else {
            continue;
        };
        let Ok(expected) = expected(dataset, &query) else {
            continue;
        };
        match duel(loaded, configuration, &text, &expected) {
            Outcome::Wrong(fault) => {
                unreachable!("seed {seed}, {configuration:?}: {fault:?}\n{text}")
            }
            outcome => right += u64::from(matches!(outcome, Outcome::Right { .. })),
        }
    }
    right
}

#[test]
fn queries_that_differ_in_constants_have_right_answers() {
    let templates = number_from_env("BASALT_TEMPLATE_QUERIES", 80);
    let first = number_from_env("BASALT_TEMPLATE_SEED", 700_000);
    let (mut right, mut taken) = (0, 0);
    for data_seed in first..first + templates / TEMPLATES_PER_DATASET {
        let options = DataOptions {
            odd_literals: data_seed % 2 == 1,
            ..DataOptions::default()
        };
        let dataset = random_dataset(data_seed, options);
        let configuration = Configuration {
            layout: LAYOUTS[data_seed as usize % LAYOUTS.len()],
            known_plans_always: data_seed % 5 != 4,
            is_changed: data_seed % 3 == 2,
            loads: if data_seed % 7 == 3 { 3 } else { 1 },
            threads: 1 + data_seed as usize % 2,
            ..Configuration::default()
        };
        let loaded = load(&dataset, &configuration);
        let mut random = Choices::from_seed(data_seed);
        for number in 0..TEMPLATES_PER_DATASET {
            let seed = data_seed * TEMPLATES_PER_DATASET + number;
            right += ask(seed, &dataset, &loaded, &configuration, &mut random);
        }
        taken += loaded.database.plan_cache_status().known_plans;
    }
    eprintln!("{right} answers are right, {taken} by plans of others");
    assert!(right > templates * 4, "only {right} were compared");
    assert!(
        taken * 20 > right,
        "only {taken} of {right} took the plan of others"
    );
}

/// The features of a product, offers of products that have one of them too, and their vendors elsewhere than in a country.
fn of_products(product: u64, country: &str, days: u64) -> String {
    format!(
        "PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
        SELECT ?other ?offer {{
            <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromProducer1/Product{product}> bsbm:productFeature ?feature .
            ?other bsbm:productFeature ?feature .
            ?offer bsbm:product ?other ; bsbm:vendor ?vendor ; bsbm:deliveryDays ?days .
            ?vendor bsbm:country ?country .
            FILTER(?country != <http://downlode.org/rdf/iso-3166/countries#{country}> && ?days > {days})
        }}"
    )
}

/// How a query came to its plan, in words.
fn cached(prepared: &Prepared) -> String {
    let times = prepared.explain().times_text();
    let (_, cached) = times.split_once("cached: ").expect("it is said");
    cached.trim_end().to_owned()
}

#[test]
fn plans_of_others_are_told_and_are_of_one_state_of_the_data() {
    let database = bsbm(60);
    let options = QueryOptions::default();
    let prepare = |database: &Database, product: u64| {
        let text = of_products(
            product,
            ["US", "DE", "GB"][product as usize % 3],
            product % 4 + 1,
        );
        let prepared = database.prepare(&text, &options).expect("a query");
        let alone = Prepared::new(database.snapshot(), &text, &options).expect("a query");
        let rows = sorted_rows(&prepared, &options);
        assert_eq!(rows, sorted_rows(&alone, &options), "{text}");
        (prepared, rows.len())
    };
    let asked: Vec<(Prepared, usize)> =
        (1..40).map(|product| prepare(&database, product)).collect();
    assert!(asked.iter().any(|(_, rows)| *rows > 0), "some have rows");
    let taken: Vec<&Prepared> = asked
        .iter()
        .map(|(prepared, _)| prepared)
        .filter(|p| p.is_of_template)
        .collect();
    assert!(taken.len() > 10, "{} of 39", taken.len());
    assert_eq!(database.plan_cache_status().known_plans, taken.len() as u64);
    assert_eq!(cached(taken[0]), "of its template");
    assert_eq!(taken[0].explain().to_json()["of_template"], true);
    assert_eq!(cached(&asked[0].0), "no");
    database
        .update(
            "INSERT DATA { <http://e/s> <http://e/p> 1 }",
            &Default::default(),
        )
        .expect("it is an update");
    let (anew, _) = prepare(&database, 40);
    assert_eq!(cached(&anew), "no", "nothing is known of the new state");
    assert_eq!(database.plan_cache_status().known_plans, taken.len() as u64);
}
