//! Plans of templates with other constants in place: they are the plans that are made for these alone, and are taken for no others.

use super::PREFIX;
use crate::agreement::ALIKE_MIN;
use crate::physical::Plan;
use crate::rename_slots::canonical;
use crate::testing::FakeStatistics;
use crate::{ForceJoin, KnownStars, PlanOptions, TemplateInstance, plan, plan_instance};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use spargebra::{Query, SparqlParser};

/// Templates that have constants in every operator that can, with as many constants as they have marks.
const TEMPLATES: [(&str, usize); 22] = [
    ("SELECT * { ?p :type $0 ; :label ?l ; :feature $1 }", 2),
    (
        "SELECT * { $0 :label ?l ; :producer ?m . ?m :country ?c }",
        1,
    ),
    (
        "SELECT * { ?o :product $0 ; :vendor ?v . ?v :country ?c . FILTER(?c = $1) }",
        2,
    ),
    (
        "SELECT * { ?p :producer ?m FILTER(?m != $0) FILTER NOT EXISTS { ?p :feature $1 } }",
        2,
    ),
    (
        "SELECT * { ?p :producer $0 OPTIONAL { ?p :feature $1 . ?p :comment ?c } FILTER(!BOUND(?c)) }",
        2,
    ),
    (
        "SELECT * { { ?r :reviewFor $0 ; :rating1 ?s } UNION { ?r :reviewFor $0 ; :rating2 ?s } }",
        1,
    ),
    (
        "SELECT ?p (COUNT(?o) AS ?n) { ?p :type $0 . ?o :product ?p } GROUP BY ?p ORDER BY DESC(?n) LIMIT 5",
        1,
    ),
    ("SELECT (COUNT(*) AS ?n) { ?p :type $0 }", 1),
    (
        "SELECT ?x (COUNT(*) AS ?n) { ?x :feature $0 } GROUP BY ?x",
        1,
    ),
    ("SELECT * { ?s ?p $0 }", 1),
    ("SELECT * { $0 ?p ?o . ?o ?q ?r }", 1),
    ("SELECT * { ?o :product ?p ; :price ?x . ?p ?q $0 }", 1),
    (
        "CONSTRUCT { $0 :likes ?p . ?p :likedBy $0 } { ?p :producer $0 }",
        1,
    ),
    (
        "SELECT * { ?p :producer ?m BIND(IF(?m = $0, 1, 2) AS ?b) } ORDER BY (?m = $0) ?p",
        1,
    ),
    (
        "SELECT ?m (SUM(IF(?t = $0, 1, 2)) AS ?n) { ?p :producer ?m ; :type ?t } GROUP BY ?m HAVING (COUNT(*) > $1)",
        2,
    ),
    ("SELECT * { ?p :producer ?m MINUS { ?p :feature $0 } }", 1),
    ("SELECT * { ?p :producer ?m FILTER(?m IN ($0, $1)) }", 2),
    (
        "SELECT * { ?p :num1 ?n ; :num2 ?k FILTER(?n > $0 && ?k < $1) }",
        2,
    ),
    ("ASK { $0 :producer $1 }", 2),
    (
        "SELECT ?t (AVG(?x) AS ?a) { ?p :type ?t ; :producer $0 . ?o :product ?p ; :price ?x } GROUP BY ?t",
        1,
    ),
    (
        "SELECT * { ?p :producer $0 FILTER EXISTS { ?o :product ?p ; :vendor $1 } }",
        2,
    ),
    (
        "SELECT DISTINCT ?f { $0 :feature ?f . ?q :feature ?f ; :type $1 FILTER(?q != $0) }",
        2,
    ),
];

/// The constants with a number: rows of the table that a mark stands for.
fn constants(template: &str, count: usize, number: usize) -> Vec<Term> {
    let of_mark = |mark: usize| -> Term {
        let marked = format!("${mark}");
        let before = template.split(&marked).next().unwrap_or_default();
        let predicate = before
            .trim_end()
            .rsplit([' ', '('])
            .next()
            .unwrap_or_default();
        let kind = match predicate {
            ":type" => "Type",
            ":feature" => "Feature",
            ":reviewFor" | ":product" => "Product",
            ":vendor" => "Vendor",
            ">" | "<" => return Literal::from(5 + (number * 2 + mark) as i64).into(),
            ":producer" => "Producer",
            _ if template.contains("ASK") || template.contains("SELECT * { $0 :label") => "Product",
            _ if template.contains("?q != $0") => "Product",
            _ if mark == 1 => "Person",
            _ => "Producer",
        };
        NamedNode::new_unchecked(format!("http://ex/{kind}{number}")).into()
    };
    (0..count).map(of_mark).collect()
}

fn parsed(template: &str, constants: &[Term]) -> Query {
    let mut text = format!("{PREFIX}{template}");
    for (mark, constant) in constants.iter().enumerate() {
        text = text.replace(&format!("${mark}"), &constant.to_string());
    }
    let query = SparqlParser::new().parse_query(&text);
    query.expect("the test's query parses")
}

fn instance(template: u64, constants: Vec<Term>) -> TemplateInstance {
    TemplateInstance {
        template,
        fixed: Vec::new(),
        constants,
    }
}

/// What a plan does, and the names of its variables.
fn what_it_does(mut plan: Plan) -> Plan {
    plan.root = canonical(&plan.root);
    plan
}

fn known_shop() -> FakeStatistics {
    let mut statistics = FakeStatistics::shop();
    statistics.known_stars = Some(KnownStars::default());
    statistics
}

#[test]
fn a_plan_with_other_constants_is_the_plan_for_them() {
    let statistics = known_shop();
    let options = PlanOptions {
        known_plans_always: true,
        disabled_rules: vec!["known_orders".to_owned()],
        ..PlanOptions::default()
    };
    for (number, (template, count)) in TEMPLATES.into_iter().enumerate() {
        // What came once is not kept.
        for (asked, constant) in [0, 0, 1, 2].into_iter().enumerate() {
            let constants = constants(template, count, constant);
            let query = parsed(template, &constants);
            let instance = instance(number as u64, constants);
            let alone = plan(&query, None, &FakeStatistics::shop(), &options).expect("it plans");
            let made = plan_instance(&query, &instance, None, &statistics, &options);
            let made = made.expect("it plans");
            assert_eq!(made.is_of_others, asked > 1, "{template}");
            assert_eq!(crate::validate(&made.plan), Ok(()), "{template}");
            assert_eq!(what_it_does(made.plan), what_it_does(alone), "{template}");
        }
    }
    let taken = statistics.known_stars.map(|known| known.plans_taken());
    assert_eq!(taken, Some(2 * TEMPLATES.len() as u64));
}

/// Plans the query of a template with some constants, and gives whether it takes the plan of others.
fn takes_known(
    statistics: &FakeStatistics,
    template: &str,
    instance: &TemplateInstance,
    options: &PlanOptions,
) -> bool {
    let query = parsed(template, &instance.constants);
    let made = plan_instance(&query, instance, None, statistics, options);
    made.expect("it plans").is_of_others
}

#[test]
fn plans_are_taken_when_enough_agree() {
    let statistics = known_shop();
    let template = "SELECT * { ?o :product $0 ; :price ?x }";
    let of = |number| instance(7, constants(template, 1, number));
    let takes = |instance: &TemplateInstance| {
        takes_known(&statistics, template, instance, &PlanOptions::default())
    };
    let mut planned = 0;
    // Rows 0 to 2 have names, so the same constants come again; those in a row must differ.
    while !takes(&of(planned % 3)) {
        planned += 1;
        assert!(planned < 20);
    }
    assert_eq!(planned, 2 + ALIKE_MIN as usize);
    assert!(takes(&of(0)));
    assert!(!takes(&instance(8, of(0).constants)), "another template");
    let with_fixed = TemplateInstance {
        fixed: vec![(1, "5".to_owned())],
        ..of(0)
    };
    assert!(!takes(&with_fixed));
    let without_rule = PlanOptions {
        disabled_rules: vec!["known_plans".to_owned()],
        ..PlanOptions::default()
    };
    assert!(!takes_known(&statistics, template, &of(0), &without_rule));
}

#[test]
fn plans_are_taken_when_enough_agree_in_rougher_circumstances() {
    let statistics = known_shop();
    let template = "SELECT * { ?p :num1 ?n FILTER(?n < $0) }";
    // Values are between 1 and 2,000: a quarter passes, and a sixteenth.
    let of = |number: i64| instance(11, vec![Literal::from(number).into()]);
    let takes =
        |number: i64| takes_known(&statistics, template, &of(number), &PlanOptions::default());
    let mut planned = 0;
    while !takes([500, 125][planned % 2] + planned as i64) {
        planned += 1;
        assert!(planned < 20);
    }
    assert_eq!(planned, 2 + ALIKE_MIN as usize);
    assert!(takes(500));
    assert!(!takes(1999), "another magnitude, however rough");
}

#[test]
fn constants_of_other_tables_or_unknown_ones_are_planned_alone() {
    let statistics = known_shop();
    let options = PlanOptions {
        known_plans_always: true,
        ..PlanOptions::default()
    };
    let template = "SELECT * { $0 :label ?l ; :date ?d FILTER(?l != $1) }";
    let of = |name: &str, word: Literal| {
        let iri = NamedNode::new_unchecked(format!("http://ex/{name}"));
        instance(3, vec![iri.into(), word.into()])
    };
    let takes = |one: &TemplateInstance| takes_known(&statistics, template, one, &options);
    for _ in 0..2 {
        assert!(!takes(&of("Product0", "a".into())), "it is not kept yet");
    }
    assert!(takes(&of("Product1", "b".into())));
    assert!(!takes(&of("Vendor0", "b".into())), "a row of another table");
    assert!(takes(&of("Vendor1", "b".into())));
    for _ in 0..2 {
        assert!(!takes(&of("Nobody", "b".into())), "no term of the store");
    }
    assert!(!takes(&of("Product2", 5.into())), "an id of another kind");
    assert!(takes(&of("Product1", 6.into())));
}

#[test]
fn plans_that_look_at_the_sign_of_a_constant_are_for_it_alone() {
    let statistics = known_shop();
    let options = PlanOptions {
        known_plans_always: true,
        force_join: Some(ForceJoin::Hash),
        ..PlanOptions::default()
    };
    let template = "SELECT * { ?a :producer ?m ; :num1 ?v . ?b :producer ?m ; :num1 ?w FILTER(?w - ?v > $0) \
        FILTER NOT EXISTS { ?c :producer ?m ; :num1 ?u FILTER(?u > ?v && ?u < ?w) } }";
    let nearest = |distance: Term| {
        let one = instance(9, vec![distance]);
        let query = parsed(template, &one.constants);
        let made = plan_instance(&query, &one, None, &statistics, &options).expect("it plans");
        format!("{:?}", made.plan).contains("nearest: Some")
    };
    let long = |sign: &str| {
        let text = format!("{sign}1.00000000000000000000000001");
        Term::from(Literal::new_typed_literal(text, xsd::DECIMAL))
    };
    for _ in 0..3 {
        assert!(nearest(Literal::from(3).into()));
        assert!(!nearest(Literal::from(-3).into()));
    }
    for _ in 0..3 {
        nearest(long(""));
        assert!(!nearest(long("-")));
    }
}
