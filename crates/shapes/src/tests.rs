//! Discovery on hand-made and random sets.

use std::collections::BTreeMap;

use basalt_rdf::TermId;
use proptest::prelude::*;

use crate::{
    Collector, ColumnShape, KnownColumn, KnownShape, LinkCounter, Names, Schema, Settings,
    TypeClass, TypeCounter, discover, discover_parts,
};

/// Predicates are `http://v/pN`, except 0, which is `rdf:type`; resource N is `http://v/CN` for
/// even and `http://data/CN` for odd numbers.
struct TestNames;

impl Names for TestNames {
    fn predicate(&self, predicate: u32) -> String {
        match predicate {
            0 => "http://www.w3.org/1999/02/22-rdf-syntax-ns#type".to_owned(),
            n => format!("http://v/p{n}"),
        }
    }

    fn term(&self, id: TermId) -> String {
        let n = id.payload();
        let home = if n.is_multiple_of(2) {
            "http://v/"
        } else {
            "http://data/"
        };
        format!("{home}C{n}")
    }
}

const TYPE: u32 = 0;

fn resource(n: u64) -> TermId {
    TermId::resource(n)
}

fn number(n: i64) -> TermId {
    TermId::numeric(0, n, 0).expect("small numbers are inline")
}

type Quad = (u32, TermId, u32);
/// Subject ordinal with its quads.
type Subject = (u64, Vec<Quad>);

fn run(subjects: &[Subject], settings: &Settings) -> (crate::CharacteristicSets, Schema) {
    let mut types = TypeCounter::default();
    for (_, quads) in subjects {
        for quad in quads.iter().filter(|q| q.0 == TYPE) {
            types.add(quad.1);
        }
    }
    let mut collector = Collector::new(Some(TYPE), types, &TestNames);
    for (_, quads) in subjects {
        collector.add_subject(quads.iter().copied());
    }
    let sets = collector.finish(&TestNames, settings);
    let of: BTreeMap<u64, u32> = subjects
        .iter()
        .map(|s| s.0)
        .zip(sets.of_subject.iter().copied())
        .collect();
    let mut links = LinkCounter::default();
    for (i, (_, quads)) in subjects.iter().enumerate() {
        for &(predicate, object, graph) in quads {
            let target = object.resource_ordinal().and_then(|o| of.get(&o));
            if let (Some(&target), true) = (target, graph == sets.home_graphs[i]) {
                links.add(sets.of_subject[i], predicate, target);
            }
        }
    }
    let schema = discover(&sets, &links.finish(), settings, &TestNames);
    (sets, schema)
}

fn column(schema: &Schema, table: usize, predicate: u32) -> &ColumnShape {
    schema.tables[table]
        .columns
        .iter()
        .find(|c| c.predicate == predicate)
        .expect("the column exists")
}

#[test]
fn a_class_with_leaf_and_root_types_is_one_table_named_by_the_vocabulary() {
    // Every subject has the class 1000 (vocabulary), a root 1001 (data) and one of ten leaves.
    let subjects: Vec<Subject> = (0..200)
        .map(|i| {
            let mut quads = vec![
                (TYPE, resource(1000), 0),
                (TYPE, resource(1001), 0),
                (TYPE, resource(2001 + 2 * (i % 10)), 0),
                (1, number(i as i64), 0),
            ];
            if i % 3 == 0 {
                quads.push((2, number(1), 0));
            }
            (i, quads)
        })
        .collect();
    let (sets, schema) = run(&subjects, &Settings::default());
    assert_eq!(sets.sets.len(), 2, "leaf types do not split the sets");
    assert_eq!(schema.tables.len(), 1);
    assert_eq!(schema.tables[0].name, "C1000");
    assert_eq!(schema.tables[0].rows, 200);
    assert!(column(&schema, 0, TYPE).multi_valued);
    assert!(!column(&schema, 0, 1).multi_valued);
    assert!((column(&schema, 0, 2).fill - 67.0 / 200.0).abs() < 1e-9);
}

#[test]
fn classes_with_equal_predicates_stay_two_tables() {
    let subjects: Vec<Subject> = (0..40)
        .map(|i| {
            (
                i,
                vec![(TYPE, resource(1000 + 2 * (i % 2)), 0), (1, number(1), 0)],
            )
        })
        .collect();
    let (_, schema) = run(&subjects, &Settings::default());
    let names: Vec<&str> = schema.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["C1000", "C1002"]);
}

/// Things of 40 classes with two predicates, of which the class 1000 has one more, and a small vendor and producer.
fn things_of_many_classes(of_each: u64) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for class in 0..40 {
        for _ in 0..of_each {
            let mut quads = vec![
                (TYPE, resource(1000 + 2 * class), 0),
                (1, number(1), 0),
                (2, number(1), 0),
            ];
            if class == 0 {
                quads.extend((20..23).map(|p| (p, number(1), 0)));
            }
            subjects.push((subjects.len() as u64, quads));
        }
    }
    for class in [500, 502] {
        for _ in 0..20 {
            let quads = vec![(TYPE, resource(class), 0), (9, number(1), 0)];
            subjects.push((subjects.len() as u64, quads));
        }
    }
    subjects
}

#[test]
fn many_small_classes_with_equal_predicates_are_categories_of_one_table() {
    let (sets, schema) = run(&things_of_many_classes(20), &Settings::default());
    let mut names: Vec<&str> = schema.tables.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["C1000", "C500", "C502", "things with p1"]);
    let merged = schema.tables.iter().find(|t| t.class.is_none());
    assert_eq!(merged.map(|t| t.rows), Some(39 * 20));
    assert_eq!(schema.charset_to_table.len(), sets.sets.len());
}

#[test]
fn categories_with_many_rows_and_few_of_them_stay_tables() {
    let subjects = things_of_many_classes(20);
    let tables = |settings: Settings| run(&subjects, &settings).1.tables.len();
    assert_eq!(tables(Settings::default()), 4);
    let rows = Settings {
        class_rows_min: 20,
        ..Settings::default()
    };
    assert_eq!(tables(rows), 42);
    let few = Settings {
        alike_classes_max: 39,
        ..Settings::default()
    };
    assert_eq!(tables(few), 42);
}

#[test]
fn a_root_type_over_different_things_is_passed_over() {
    // All have the type 1000, but the three kinds share no other predicate.
    let subjects: Vec<Subject> = (0..60)
        .map(|i| {
            let kind = i % 3;
            let mut quads = vec![
                (TYPE, resource(1000), 0),
                (TYPE, resource(1002 + 2 * kind), 0),
            ];
            quads.extend((0..9).map(|p| (1 + 10 * kind as u32 + p, number(1), 0)));
            (i, quads)
        })
        .collect();
    let (_, schema) = run(&subjects, &Settings::default());
    assert_eq!(schema.tables.len(), 3);
}

#[test]
fn untyped_sets_merge_by_similarity_and_strangers_do_not() {
    let mut subjects: Vec<Subject> = Vec::new();
    for i in 0..50u64 {
        let mut quads: Vec<Quad> = (1..8).map(|p| (p, number(1), 0)).collect();
        quads.remove((i % 7) as usize);
        subjects.push((i, quads));
        subjects.push((100 + i, (20..24).map(|p| (p, number(1), 0)).collect()));
    }
    let (_, schema) = run(&subjects, &Settings::default());
    assert_eq!(schema.tables.len(), 2, "{:?}", schema.tables);
    assert_eq!(schema.trials.len(), 10);
    assert!(schema.tables.iter().all(|t| t.rows == 50));
    assert!(schema.tables[0].name.starts_with("things with p"));
}

#[test]
fn links_and_small_but_referenced_tables() {
    // Two vendors (few rows) that a hundred offers refer to; two orphans that nobody refers to.
    let mut subjects: Vec<Subject> = (0..100)
        .map(|i| {
            (
                i,
                vec![(TYPE, resource(1000), 0), (1, resource(500 + i % 2), 0)],
            )
        })
        .collect();
    for i in 0..2 {
        subjects.push((500 + i, vec![(TYPE, resource(1002), 0), (2, number(7), 0)]));
        subjects.push((
            600 + i,
            vec![
                (TYPE, resource(1004), 0),
                (3, number(7), 0),
                (4, number(7), 0),
            ],
        ));
    }
    let (_, schema) = run(&subjects, &Settings::default());
    let names: Vec<&str> = schema.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["C1000", "C1002"]);
    assert_eq!(column(&schema, 0, 1).link_target, Some(1));
}

#[test]
fn a_referrer_makes_a_table_of_untyped_subjects() {
    let mut subjects: Vec<Subject> = Vec::new();
    for i in 0..20 {
        subjects.push((
            i,
            vec![(TYPE, resource(1000), 0), (9, resource(500 + i), 0)],
        ));
        let own = if i % 2 == 0 { 10 } else { 11 };
        subjects.push((500 + i, vec![(own, number(1), 0)]));
    }
    for i in 0..200 {
        subjects.push((
            1_000 + i,
            vec![(TYPE, resource(1002), 0), (12, number(1), 0)],
        ));
    }
    let (_, schema) = run(&subjects, &Settings::default());
    let table = schema
        .tables
        .iter()
        .find(|t| t.name == "p9 of C1000")
        .expect("merged by referrer");
    assert_eq!((table.rows, table.columns.len()), (20, 2));
}

#[test]
fn a_second_type_class_needs_a_tenth_of_the_values() {
    let subjects: Vec<Subject> = (0..100)
        .map(|i| {
            let mixed = if i % 5 == 0 { resource(9) } else { number(1) };
            let rare = if i % 50 == 0 { resource(9) } else { number(1) };
            (i, vec![(1, mixed, 0), (2, rare, 0)])
        })
        .collect();
    let (_, schema) = run(&subjects, &Settings::default());
    let kinds: Vec<(u32, TypeClass)> = schema.tables[0]
        .columns
        .iter()
        .map(|c| (c.predicate, c.type_class))
        .collect();
    assert_eq!(
        kinds,
        [
            (1, TypeClass::Resource),
            (1, TypeClass::Number),
            (2, TypeClass::Number)
        ]
    );
}

#[test]
fn the_home_graph_holds_most_quads_and_others_do_not_count() {
    let subjects: Vec<Subject> = (0..20)
        .map(|i| {
            (
                i,
                vec![(1, number(1), 5), (2, number(1), 7), (3, number(1), 7)],
            )
        })
        .collect();
    let (sets, schema) = run(&subjects, &Settings::default());
    assert!(sets.home_graphs.iter().all(|g| *g == 7));
    assert_eq!(schema.tables[0].columns.len(), 2);
}

#[test]
fn few_extra_values_do_not_make_lists() {
    let subjects: Vec<Subject> = (0..1_000)
        .map(|i| {
            let mut quads = vec![(1, number(1), 0), (2, number(1), 0)];
            if i < 2 {
                quads.push((1, number(2), 0));
            }
            if i < 200 {
                quads.push((2, number(2), 0));
            }
            (i, quads)
        })
        .collect();
    let (_, schema) = run(&subjects, &Settings::default());
    assert!(!column(&schema, 0, 1).multi_valued);
    assert!(column(&schema, 0, 2).multi_valued);
}

#[test]
fn no_data_no_tables() {
    let (sets, schema) = run(&[], &Settings::default());
    assert!(sets.sets.is_empty() && schema.tables.is_empty());
}

fn random_subjects() -> impl Strategy<Value = Vec<Subject>> {
    let object = prop_oneof![
        (0u64..60).prop_map(resource),
        (0i64..9).prop_map(number),
        (0u64..9).prop_map(|n| TermId::new(basalt_rdf::term_id::tag::STRING, n)),
    ];
    let quad = (0u32..9, object, 0u32..3);
    let quads = prop::collection::vec(quad, 1..12);
    prop::collection::vec(quads, 0..60).prop_map(|all| {
        let distinct = |mut q: Vec<Quad>| {
            q.sort_unstable();
            q.dedup();
            q
        };
        all.into_iter()
            .enumerate()
            .map(|(i, q)| (i as u64, distinct(q)))
            .collect()
    })
}

proptest! {
    #[test]
    fn every_set_is_in_at_most_one_table(subjects in random_subjects()) {
        let (sets, schema) = run(&subjects, &Settings { table_rows_min: 3, ..Settings::default() });
        prop_assert_eq!(schema.charset_to_table.len(), sets.sets.len());
        let mut listed = vec![None; sets.sets.len()];
        for (at, table) in schema.tables.iter().enumerate() {
            let rows: u64 = table.charsets.iter().map(|&c| sets.sets[c as usize].subjects).sum();
            prop_assert_eq!(rows, table.rows);
            for &charset in &table.charsets {
                prop_assert_eq!(listed[charset as usize].replace(at), None);
            }
            let keys: Vec<_> = table.columns.iter().map(|c| (c.predicate, c.type_class)).collect();
            prop_assert!(keys.is_sorted_by(|a, b| a < b));
            prop_assert!(table.columns.iter().all(|c| c.fill > 0.0 && c.fill <= 1.0));
        }
        prop_assert_eq!(listed, schema.charset_to_table);
        let mut names: Vec<_> = schema.tables.iter().map(|t| &t.name).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), schema.tables.len());
    }

    #[test]
    fn the_order_of_quads_does_not_matter_and_runs_agree(subjects in random_subjects()) {
        let settings = Settings { table_rows_min: 3, ..Settings::default() };
        let one_graph: Vec<Subject> = subjects
            .into_iter()
            .map(|(s, mut quads)| {
                quads.iter_mut().for_each(|q| q.2 = 0);
                quads.sort_unstable();
                quads.dedup();
                (s, quads)
            })
            .collect();
        let mut reversed = one_graph.clone();
        reversed.iter_mut().for_each(|s| s.1.reverse());
        let (_, first) = run(&one_graph, &settings);
        let (_, second) = run(&reversed, &settings);
        prop_assert_eq!(first, second);
    }
}

/// Offers (class 2) with two predicates, things of class 4, and things without class.
fn mixed_subjects(offers: u64) -> Vec<Subject> {
    let typed = |n: u64, class: u64, predicate: u32| {
        let quads = vec![
            (TYPE, resource(class), 0),
            (predicate, number(n as i64), 0),
            (predicate + 1, resource(900), 0),
        ];
        (n, quads)
    };
    let mut subjects: Vec<Subject> = (0..offers).map(|n| typed(n, 2, 1)).collect();
    subjects.extend((100..120).map(|n| typed(n, 4, 5)));
    subjects.extend((200..220).map(|n| (n, vec![(8, number(1), 0), (9, number(2), 0)])));
    subjects
}

/// The shape of the offers of [`mixed_subjects`], with a list where they have one value.
fn offer_shape() -> KnownShape {
    let column = |predicate, type_class, multi_valued| KnownColumn {
        predicate,
        type_class,
        multi_valued,
    };
    KnownShape {
        name: "Offer".to_owned(),
        class: Some(resource(2).0),
        has_class: true,
        columns: vec![
            column(TYPE, TypeClass::Resource, false),
            column(1, TypeClass::Number, true),
            column(7, TypeClass::Text, false),
        ],
        predicate_count: 3,
    }
}

fn parts(subjects: &[Subject], known: &[KnownShape], classes: &[u64]) -> Schema {
    let settings = Settings::default();
    let (sets, _) = run(subjects, &settings);
    let is_known = |id: TermId| classes.contains(&id.payload());
    let links = LinkCounter::default().finish();
    discover_parts(&sets, &links, known, &settings, &TestNames, &is_known)
}

#[test]
fn sets_of_a_known_class_become_a_part_of_its_shape() {
    let schema = parts(&mixed_subjects(30), &[offer_shape()], &[2, 4]);
    let names: Vec<&str> = schema.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["Offer", "C4", "things with p8"]);
    let columns: Vec<(u32, TypeClass, bool)> = schema.tables[0]
        .columns
        .iter()
        .map(|c| (c.predicate, c.type_class, c.multi_valued))
        .collect();
    let expected = [
        (TYPE, TypeClass::Resource, false),
        (1, TypeClass::Number, true),
        (2, TypeClass::Resource, false),
    ];
    assert_eq!(columns, expected);
    assert_eq!(schema.charset_to_table, [Some(0), Some(1), Some(2)]);
    assert_eq!(schema.tables[1].charsets, [1]);
}

#[test]
fn too_few_rows_make_no_part() {
    let schema = parts(&mixed_subjects(3), &[offer_shape()], &[2, 4]);
    assert_eq!(schema.charset_to_table[0], None);
}

#[test]
fn without_known_shapes_parts_are_what_is_discovered() {
    let subjects = mixed_subjects(30);
    let settings = Settings::default();
    let (sets, _) = run(&subjects, &settings);
    let links = LinkCounter::default().finish();
    let alone = discover(&sets, &links, &settings, &TestNames);
    assert_eq!(parts(&subjects, &[], &[]), alone);
}

#[test]
fn a_class_that_was_known_without_a_shape_joins_a_similar_one_and_a_new_class_does_not() {
    let mut shape = offer_shape();
    shape.class = Some(resource(6).0);
    let joined = parts(
        &mixed_subjects(30),
        std::slice::from_ref(&shape),
        &[2, 4, 6],
    );
    assert_eq!(joined.tables[0].name, "Offer");
    let apart = parts(&mixed_subjects(30), std::slice::from_ref(&shape), &[4, 6]);
    assert_eq!(apart.tables[0].name, "C2");
    // A shape of categories has no class.
    shape.class = None;
    shape.has_class = false;
    let joined = parts(&mixed_subjects(30), &[shape], &[2, 4]);
    assert_eq!(joined.tables[0].name, "Offer");
}
