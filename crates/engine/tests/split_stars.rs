//! Stars that are joined in parts: the answers are those of whole stars, and of a search through all pairs; a part of the plan tells which it is.

mod sorted_rows;

use basalt_engine::{Database, GraphFormat, QueryOptions};
use sorted_rows::sorted_rows;
use std::collections::BTreeSet;
use std::fmt::Write;

const PEOPLE: u64 = 3_000;
const THINGS: u64 = 400;

/// A person follows some others and likes some things; some lead back.
#[derive(Default)]
struct Links {
    follows: BTreeSet<(u64, u64)>,
    likes: BTreeSet<(u64, u64)>,
}

fn links() -> Links {
    let mut state = 77_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut links = Links::default();
    for person in 0..PEOPLE {
        for _ in 0..1 + next(12) {
            let other = next(PEOPLE);
            links.follows.insert((person, other));
            if next(5) == 0 {
                links.follows.insert((other, person));
            }
        }
        for _ in 0..1 + next(14) {
            links.likes.insert((person, next(THINGS)));
        }
    }
    links
}

fn database(links: &Links) -> Database {
    let mut text = String::new();
    let mut triple = |subject: String, predicate: &str, object: String| {
        writeln!(
            text,
            "<http://e/{subject}> <http://e/{predicate}> {object} ."
        )
        .expect("writes");
    };
    for (person, other) in &links.follows {
        triple(
            format!("p{person}"),
            "follows",
            format!("<http://e/p{other}>"),
        );
    }
    for (person, thing) in &links.likes {
        triple(
            format!("p{person}"),
            "likes",
            format!("<http://e/t{thing}>"),
        );
    }
    for person in 0..PEOPLE {
        triple(format!("p{person}"), "name", format!("\"name {person}\""));
    }
    for thing in 0..THINGS {
        triple(format!("t{thing}"), "title", format!("\"title {thing}\""));
    }
    let database = Database::in_memory();
    database
        .load_text(&text, GraphFormat::NTriples)
        .expect("it loads");
    database
}

/// Pairs that follow each other, with what both like.
fn both_like(links: &Links) -> usize {
    let of = |person: u64| {
        links
            .likes
            .range((person, 0)..(person + 1, 0))
            .map(|(_, thing)| *thing)
    };
    let mutual = links
        .follows
        .iter()
        .filter(|(a, b)| links.follows.contains(&(*b, *a)));
    mutual
        .map(|&(a, b)| {
            of(a)
                .filter(|thing| links.likes.contains(&(b, *thing)))
                .count()
        })
        .sum()
}

fn answer(database: &Database, text: &str, options: &QueryOptions) -> (Vec<String>, usize) {
    let prepared = database.prepare(text, options).expect("it plans");
    let plan = prepared.explain().to_text();
    let rows = sorted_rows(&prepared, options);
    (rows, plan.matches("Star").count())
}

#[test]
fn stars_in_parts_have_the_answers_of_whole_ones() {
    let links = links();
    let database = database(&links);
    let whole = QueryOptions {
        disabled_rules: vec!["split_stars".into()],
        ..QueryOptions::default()
    };
    // Each with whether parts are far cheaper.
    let queries = [
        (
            "SELECT ?a ?b ?t { ?a :follows ?b . ?b :follows ?a . ?a :likes ?t . ?b :likes ?t }",
            true,
        ),
        (
            "SELECT ?a ?b ?t { ?a :follows ?b ; :likes ?t ; :name ?n . ?b :follows ?a ; :likes ?t FILTER(?a != ?b) }",
            true,
        ),
        (
            "SELECT ?a ?t { ?a :follows ?b ; :likes ?t OPTIONAL { ?a :name ?n } ?b :follows ?a }",
            false,
        ),
        // Each thing is wanted with each person followed, and nothing is dropped.
        (
            "SELECT ?a ?b ?t { ?a :follows ?b ; :likes ?t . ?t :title ?l . ?b :name ?n }",
            false,
        ),
        (
            "SELECT ?a ?b ?t { ?a :follows ?b ; :likes ?t . ?b :name \"name 7\" }",
            false,
        ),
    ];
    for (text, is_split) in queries {
        let text = format!("PREFIX : <http://e/> {text}");
        let (rows, stars) = answer(&database, &text, &QueryOptions::default());
        let (expected, whole_stars) = answer(&database, &text, &whole);
        assert!(expected.len() > 3, "{text}");
        assert_eq!(rows, expected, "{text}");
        assert_eq!(stars > whole_stars, is_split, "{text}");
    }
    let (rows, _) = answer(
        &database,
        &format!("PREFIX : <http://e/> {}", queries[0].0),
        &QueryOptions::default(),
    );
    assert_eq!(rows.len(), both_like(&links));
}

#[test]
fn two_long_lists_with_one_object_meet_in_it() {
    let mut text = String::new();
    for motion in 0..100 {
        for vote in 0..150 {
            let (yes, no) = (motion * 7 + vote, motion * 13 + vote * 3 + 200);
            for (predicate, member) in [("yes", yes % 400), ("no", no % 400)] {
                let triple =
                    format!("<http://e/{motion}> <http://e/{predicate}> <http://e/m{member}> .");
                writeln!(text, "{triple}").expect("writes");
            }
        }
    }
    let database = Database::in_memory();
    let loaded = database.load_text(&text, GraphFormat::NTriples);
    loaded.expect("it loads");
    let options = |off: &[&str]| QueryOptions {
        disabled_rules: off.iter().map(|&rule| rule.to_owned()).collect(),
        ..QueryOptions::default()
    };
    for text in [
        "SELECT ?m ?x { ?m <http://e/yes> ?x ; <http://e/no> ?x }",
        "SELECT ?m ?x { ?m <http://e/yes> ?x , ?y ; <http://e/no> ?x FILTER(?y = <http://e/m7>) }",
    ] {
        let (rows, stars) = answer(&database, text, &options(&[]));
        let (expected, whole_stars) = answer(&database, text, &options(&["split_stars"]));
        assert!(expected.len() > 100, "{text}");
        assert_eq!(rows, expected, "{text}");
        assert!(stars > whole_stars, "{text}");
    }
}
