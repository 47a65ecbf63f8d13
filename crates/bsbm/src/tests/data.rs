//! The content of data sets: counts, links and distributions.

use super::*;
use crate::{BsbmError, Manifest};
use std::collections::HashSet;

fn counts_only(options: &GenerateOptions) -> Manifest {
    generate_to(&mut std::io::sink(), options).expect("generating into nowhere works")
}

fn near(value: f64, expected: f64, tolerance: f64, what: &str) {
    let distance = (value - expected).abs();
    assert!(distance <= tolerance, "{what}: {value}, not {expected}");
}

#[test]
fn totals_follow_the_published_table() {
    for (products, total, tolerance) in [
        (100, 40_377, 0.025),
        (128, 50_241, 0.025),
        (500, 191_496, 0.015),
        (1_000, 374_911, 0.01),
        (2_848, 1_022_446, 0.01),
        (5_000, 1_809_874, 0.01),
    ] {
        let manifest = counts_only(&options(products));
        let share = manifest.triples() as f64 / f64::from(total);
        near(share, 1.0, tolerance, &format!("{products} products"));
        assert_eq!(manifest.offers, 20 * products);
        assert_eq!(manifest.reviews, 10 * products);
    }
}

#[test]
fn sizes_of_groups_follow_the_published_table() {
    let manifest = counts_only(&options(5_000));
    assert_eq!(manifest.product_types, 329);
    near(
        manifest.product_features as f64,
        10_519.0,
        320.0,
        "features",
    );
    near(manifest.producers as f64, 106.0, 12.0, "producers");
    near(manifest.vendors as f64, 48.0, 6.0, "vendors");
    near(manifest.rating_sites as f64, 5.0, 1.0, "rating sites");
    near(manifest.persons as f64, 2_553.0, 80.0, "persons");
}

#[test]
fn counts_are_exact_and_equal_the_text() {
    for products in [1, 10, 100, 1_000] {
        let options = options(products);
        let manifest = counts_only(&options);
        let text = text_of(&options);
        let triples = triples(&text);
        assert_eq!(triples.len() as u64, manifest.triples());
        assert_eq!(text.lines().count(), triples.len());
        for (predicate, count) in &manifest.main.predicates {
            let found = triples.iter().filter(|t| t.predicate == predicate);
            assert_eq!(found.count() as u64, *count, "{predicate}");
        }
        for (class, count) in &manifest.main.classes {
            let typed = |t: &&Triple<'_>| t.predicate == TYPE && t.object == class;
            assert_eq!(triples.iter().filter(typed).count() as u64, *count);
        }
        let of = |name: &str| manifest.main.classes[&format!("{BSBM}{name}")];
        assert_eq!(of("Offer"), 20 * products);
        assert_eq!(of("Product"), products);
        assert_eq!(of("ProductFeature"), manifest.product_features);
        assert_eq!(of("Vendor"), manifest.vendors);
        let reviews = manifest.main.classes["http://purl.org/stuff/rev#Review"];
        assert_eq!(reviews, 10 * products);
    }
}

#[test]
fn every_class_has_its_number_of_triples() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let mut per_subject: HashMap<&str, u32> = HashMap::new();
    for triple in &triples {
        *per_subject.entry(triple.subject).or_default() += 1;
    }
    let classes = objects(&triples, TYPE);
    for (subject, count) in per_subject {
        let class = classes[subject].rsplit(['/', '#']).next();
        let expected = match class.expect("a split has a part") {
            "Offer" => 10..=10,
            "Person" => 6..=6,
            "ProductFeature" => 5..=5,
            "Producer" | "Vendor" => 7..=7,
            "ProductType" => 5..=6,
            "Review" => 8..=12,
            // The last type written is the root for every product.
            _ => 17..=90,
        };
        assert!(expected.contains(&count), "{subject}: {count}");
    }
}

#[test]
fn forward_chaining_adds_one_triple_per_product_and_level() {
    for (products, depth) in [(10, 2), (1_000, 3)] {
        let with = counts_only(&options(products));
        let without = counts_only(&GenerateOptions {
            forward_chaining: false,
            ..options(products)
        });
        assert_eq!(with.triples() - without.triples(), depth * products);
        assert_eq!(without.main.product_type_links, products);
    }
}

#[test]
fn no_triple_comes_twice() {
    for products in [100, 1_000] {
        let text = text_of(&options(products));
        let distinct: HashSet<&str> = text.lines().collect();
        assert_eq!(distinct.len(), text.lines().count());
    }
}

#[test]
fn links_lead_to_resources_of_the_right_class() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let typed: HashSet<(&str, &str)> = triples
        .iter()
        .filter(|t| t.predicate == TYPE)
        .map(|t| (t.subject, t.object))
        .collect();
    let person = "http://xmlns.com/foaf/0.1/Person";
    for (predicate, class) in [
        (format!("{BSBM}product"), format!("{BSBM}Product")),
        (format!("{BSBM}reviewFor"), format!("{BSBM}Product")),
        (format!("{BSBM}vendor"), format!("{BSBM}Vendor")),
        (format!("{BSBM}producer"), format!("{BSBM}Producer")),
        (
            format!("{BSBM}productFeature"),
            format!("{BSBM}ProductFeature"),
        ),
        ("http://purl.org/stuff/rev#reviewer".into(), person.into()),
    ] {
        let mut links = 0;
        for triple in triples.iter().filter(|t| t.predicate == predicate) {
            assert!(
                typed.contains(&(triple.object, &class)),
                "{}",
                triple.object
            );
            links += 1;
        }
        assert!(links >= 1_000, "{predicate}");
    }
}

#[test]
fn publishers_match_the_namespaces() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let publishers = objects(&triples, &format!("{DC}publisher"));
    let producers = objects(&triples, &format!("{BSBM}producer"));
    let vendors = objects(&triples, &format!("{BSBM}vendor"));
    for (subject, publisher) in &publishers {
        let local = subject.strip_prefix(INSTANCES).expect("an instance");
        match local.split_once('/') {
            None => assert!(publisher.ends_with("/StandardizationInstitution1")),
            Some((namespace, _)) => {
                let rest = publisher.strip_prefix(INSTANCES).expect("an instance");
                assert_eq!(rest.split('/').next(), Some(namespace));
            }
        }
    }
    for (subject, owner) in producers.iter().chain(&vendors) {
        assert_eq!(publishers[subject], *owner);
    }
}

#[test]
fn features_come_from_the_lineage_of_the_leaf() {
    let world = crate::world::World::new(1_000, options(1).seed).expect("valid options");
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let mut checked = 0;
    for triple in &triples {
        if triple.predicate != format!("{BSBM}productFeature") {
            continue;
        }
        let number = |iri: &str, name: &str| -> u64 {
            let digits = iri.rsplit(name).next().expect("a split has a part");
            digits.parse().expect("a number")
        };
        let leaf = world.leaf_of_product(number(triple.subject, "/Product"));
        let feature = number(triple.object, "/ProductFeature");
        let mut lineage = world.tree.lineage(leaf);
        assert!(lineage.any(|of| world.tree.features_of(of).contains(&feature)));
        checked += 1;
    }
    near(
        f64::from(checked) / 1_000.0,
        21.5,
        2.0,
        "features per product",
    );
}

#[test]
fn popularity_of_products_has_the_published_deciles() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let expected = [6.7, 12.6, 20.3, 27.8, 32.6, 32.6, 27.8, 20.3, 12.6, 6.7];
    for (predicate, scale) in [("product", 1.0), ("reviewFor", 0.5)] {
        let mut deciles = [0u32; 10];
        for (_, product) in objects(&triples, &format!("{BSBM}{predicate}")) {
            let number = product.rsplit("/Product").next().expect("a part");
            let number: usize = number.parse().expect("a number");
            deciles[(number - 1) / 100] += 1;
        }
        for (found, mean) in deciles.iter().zip(expected) {
            near(f64::from(*found) / 100.0, mean * scale, 1.3, predicate);
        }
    }
}

#[test]
fn optional_properties_have_their_shares() {
    let manifest = counts_only(&options(2_848));
    let share =
        |name: &str, of: u64| manifest.main.predicates[&format!("{BSBM}{name}")] as f64 / of as f64;
    for (number, expected) in [(3, 1.0), (4, 0.5), (5, 0.55), (6, 0.2)] {
        for kind in ["Numeric", "Textual"] {
            let name = format!("productProperty{kind}{number}");
            near(share(&name, manifest.products), expected, 0.03, &name);
        }
        if number < 5 {
            let name = format!("rating{number}");
            near(share(&name, manifest.reviews), 0.7, 0.01, &name);
        }
    }
}

#[test]
fn values_are_distributed_as_published() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    let numeric = objects(&triples, &format!("{BSBM}productPropertyNumeric1"));
    let sum: u64 = numeric.values().map(|literal| integer(literal)).sum();
    near(sum as f64 / 1_000.0, 723.0, 50.0, "numeric property");
    assert!(numeric.values().all(|v| (1..=2_000).contains(&integer(v))));

    let mut days = [0u32; 22];
    for (_, literal) in objects(&triples, &format!("{BSBM}deliveryDays")) {
        days[integer(literal) as usize] += 1;
    }
    for (day, percent) in [
        (1, 7.2),
        (2, 17.0),
        (3, 25.9),
        (4, 25.4),
        (5, 16.1),
        (6, 6.5),
    ] {
        near(f64::from(days[day]) / 200.0, percent, 1.0, "delivery days");
    }

    let prices = objects(&triples, &format!("{BSBM}price"));
    let price = |literal: &str| -> f64 {
        let text = literal[1..].split('"').next().expect("a part");
        assert_eq!(text.rsplit('.').next().map(str::len), Some(2));
        text.parse().expect("a price")
    };
    let sum: f64 = prices.values().map(|literal| price(literal)).sum();
    near(sum / 20_000.0, 5_002.0, 60.0, "price");

    let texts = objects(&triples, "http://purl.org/stuff/rev#text");
    let english = texts.values().filter(|text| text.ends_with("\"@en"));
    near(
        english.count() as f64 / 10_000.0,
        0.5,
        0.06,
        "english texts",
    );
    let words: usize = texts.values().map(|text| text.split(' ').count()).sum();
    near(words as f64 / 10_000.0, 125.0, 2.0, "words per text");

    let persons = objects(&triples, "http://xmlns.com/foaf/0.1/mbox_sha1sum");
    assert!(persons.values().all(|hash| hash.len() == 42));
}

#[test]
fn dates_stay_in_their_ranges() {
    let text = text_of(&options(1_000));
    let triples = triples(&text);
    for (name, first, last) in [
        ("validFrom", "2007-12-16", "2008-06-19"),
        ("validTo", "2008-03-22", "2008-09-17"),
        ("reviewDate", "2007-06-21", "2008-06-19"),
    ] {
        for (_, literal) in objects(&triples, &format!("{BSBM}{name}")) {
            let date = &literal[1..11];
            assert!((first..=last).contains(&date), "{name}: {date}");
        }
    }
    let dates = objects(&triples, &format!("{DC}date"));
    for (review, literal) in objects(&triples, &format!("{BSBM}reviewDate")) {
        let published = &dates[review][1..11];
        assert!((&literal[1..11]..="2008-06-19").contains(&published));
    }
}

#[test]
fn countries_have_their_weights() {
    let world = crate::world::World::new(20_000, 11).expect("valid options");
    let mut shares = [0u32; 10];
    for person in 1..=world.persons() {
        shares[world.country(crate::random::Field::PersonCountry, person)] += 1;
    }
    let persons = world.persons() as f64;
    for (idx, percent) in [40, 10, 10, 10, 5, 5, 5, 5, 5, 5].into_iter().enumerate() {
        let found = f64::from(shares[idx]) * 100.0 / persons;
        near(found, f64::from(percent), 1.5, "country");
    }
}

#[test]
fn seeds_make_different_data() {
    let other = GenerateOptions {
        seed: 1,
        ..options(10)
    };
    assert_ne!(text_of(&options(10)), text_of(&other));
}

#[test]
fn impossible_options_are_refused() {
    let refused = |options: &GenerateOptions| {
        let mut out = Vec::new();
        generate_to(&mut out, options).expect_err("the options are impossible")
    };
    let none = refused(&options(0));
    assert!(matches!(none, BsbmError::NoProducts), "{none}");
    let many = refused(&options(u64::MAX));
    assert!(matches!(many, BsbmError::TooManyProducts { .. }), "{many}");
    for (update_transactions, products_per_transaction) in [(11, 1), (6, 2), (u64::MAX, 2)] {
        let error = refused(&GenerateOptions {
            update_transactions,
            products_per_transaction,
            ..options(10)
        });
        assert!(
            matches!(error, BsbmError::HoldOutTooLarge { .. }),
            "{error}"
        );
    }
}
