//! Joins in the order that was found for other constants: the answers are those of plans made alone, and the plans hardly ever cost more.

mod estimate_errors;
mod sorted_rows;

use basalt_engine::query::Prepared;
use basalt_engine::{Answer, Database, QueryOptions};
use estimate_errors::bsbm;
use sorted_rows::sorted_rows;

/// Products in the data.
const PRODUCTS: u64 = 200;
/// Texts of each template.
const TEXTS: usize = 60;

const PREFIXES: &str = "PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
PREFIX rev: <http://purl.org/stuff/rev#>
";

/// Templates without a cut, so that an answer is the same whatever the plan. `{}` is the constant, of which the query asks for others with `constants`.
const TEMPLATES: [(&str, &str); 4] = [
    (
        "SELECT DISTINCT ?c { ?v bsbm:country ?c }",
        "SELECT ?p ?price { ?o bsbm:vendor ?v ; bsbm:product ?p ; bsbm:price ?price . ?v bsbm:country {} . ?p bsbm:producer ?m . ?m bsbm:country {} }",
    ),
    (
        "SELECT DISTINCT ?f { ?p bsbm:productFeature ?f }",
        "SELECT ?p ?r { ?p bsbm:productFeature {} . ?r bsbm:reviewFor ?p ; rev:reviewer ?who . ?who bsbm:country ?c . ?o bsbm:product ?p ; bsbm:deliveryDays 3 }",
    ),
    (
        "SELECT ?p { ?p bsbm:producer ?m }",
        "SELECT ?other ?o { {} bsbm:productFeature ?f . ?other bsbm:productFeature ?f ; bsbm:producer ?m . ?o bsbm:product ?other ; bsbm:vendor ?v . ?v bsbm:country ?c . ?m bsbm:country ?c }",
    ),
    (
        "SELECT DISTINCT ?t { ?p a ?t . ?p bsbm:producer ?m }",
        "SELECT ?m (COUNT(?r) AS ?n) { ?p a {} ; bsbm:producer ?m . ?r bsbm:reviewFor ?p ; bsbm:rating1 ?x FILTER(?x > 5) } GROUP BY ?m",
    ),
];

/// The first value of each row, as it is written in a query.
fn constants(database: &Database, text: &str) -> Vec<String> {
    let options = QueryOptions::default();
    let text = format!("{PREFIXES}{text}");
    let Answer::Solutions(solutions) = database.query(&text, &options).expect("it runs") else {
        unreachable!("the query is a SELECT");
    };
    let rows = solutions.into_rows().expect("it runs to its end");
    let first = rows.iter().filter_map(|row| row[0].as_ref());
    let mut all: Vec<String> = first.map(ToString::to_string).collect();
    all.sort();
    all
}

/// Whole plans of others would leave no joins to order.
fn without_known_plans() -> QueryOptions {
    QueryOptions {
        disabled_rules: vec!["known_plans".to_owned()],
        ..QueryOptions::default()
    }
}

#[test]
fn joins_in_the_order_of_others_have_the_same_answers() {
    let database = bsbm(PRODUCTS);
    let options = without_known_plans();
    let (mut asked, mut dearer, mut not_empty) = (0, 0, 0);
    for (of_constants, template) in TEMPLATES {
        let constants = constants(&database, of_constants);
        assert!(constants.len() > 5, "{of_constants}");
        for constant in constants
            .iter()
            .cycle()
            .take(TEXTS.min(constants.len() * 3))
        {
            let text = format!("{PREFIXES}{}", template.replace("{}", constant));
            let after = database.prepare(&text, &options).expect("a query");
            let alone = Prepared::new(database.snapshot(), &text, &options).expect("a query");
            let found = sorted_rows(&after, &options);
            assert_eq!(found, sorted_rows(&alone, &options), "{text}");
            asked += 1;
            not_empty += usize::from(!found.is_empty());
            let cost = |prepared: &Prepared| prepared.plan().root.estimated_cost;
            dearer += usize::from(cost(&after) > 1.5 * cost(&alone));
        }
    }
    let known = database.plan_cache_status().known_orders;
    assert!(not_empty * 2 > asked, "{not_empty} of {asked} have answers");
    assert!(
        known * 5 > asked as u64,
        "{known} of {asked} in the order of others"
    );
    assert!(dearer * 20 < asked, "{dearer} of {asked} cost more");
}

#[test]
fn orders_are_of_one_state_of_the_data() {
    let database = bsbm(PRODUCTS);
    let (of_constants, template) = TEMPLATES[1];
    let ask = || {
        for constant in constants(&database, of_constants).iter().take(TEXTS) {
            let text = format!("{PREFIXES}{}", template.replace("{}", constant));
            let options = without_known_plans();
            database.prepare(&text, &options).expect("a query");
        }
        database.plan_cache_status().known_orders
    };
    let before = ask();
    assert!(before > 0);
    database
        .update(
            "INSERT DATA { <http://e/s> <http://e/p> <http://e/o> }",
            &Default::default(),
        )
        .expect("it is an update");
    let first = constants(&database, of_constants).remove(0);
    let text = format!("{PREFIXES}{}", template.replace("{}", &first));
    let options = without_known_plans();
    database.prepare(&text, &options).expect("a query");
    let now = database.plan_cache_status().known_orders;
    assert_eq!(
        now, before,
        "nothing is known of the new state, and what was counted stays"
    );
}
