//! Tests of the registry and its per-thread cache.

use super::*;

#[test]
fn fixed_codes_are_positions() {
    let qualifiers = Qualifiers::new();
    for (code, iri) in XSD_NUMERIC.iter().enumerate() {
        assert_eq!(qualifiers.find_numeric(iri), Some(code as u8));
        assert_eq!(qualifiers.numeric_datatype(code as u8), Some(*iri));
    }
    assert_eq!(qualifiers.numeric_datatype(16), None);
    assert_eq!(qualifiers.numeric_datatype(255), None);
}

#[test]
fn codes_are_dense_and_found_again() {
    let qualifiers = Qualifiers::new();
    assert_eq!(qualifiers.find_language("en"), None);
    assert_eq!(qualifiers.intern_language("en"), Ok(0));
    assert_eq!(qualifiers.intern_language("EN"), Ok(1));
    assert_eq!(qualifiers.intern_language("en"), Ok(0));
    assert_eq!(qualifiers.find_language("EN"), Some(1));
    assert_eq!(qualifiers.language(1), Some("EN"));
    assert_eq!(qualifiers.language(2), None);
    assert_eq!(qualifiers.language(u16::MAX), None);
}

#[test]
fn late_custom_numbers_never_get_a_code() {
    let shared = Arc::new(Qualifiers::new());
    let mut cache = QualifierCache::new(Arc::clone(&shared));
    for i in 0..CUSTOM_NUMERIC_MAX {
        assert_eq!(cache.numeric(&format!("http://e/{i}")), Some(16 + i as u8));
    }
    assert_eq!(cache.numeric("http://e/late"), None);
    assert_eq!(cache.numeric("http://e/late"), None);
    assert_eq!(shared.intern_numeric("http://e/late"), None);
    assert_eq!(cache.numeric("http://e/47"), Some(63));
    assert_eq!(shared.numeric_datatype(63), Some("http://e/47"));
}

#[test]
fn xsd_and_rdf_are_not_custom() {
    let qualifiers = Qualifiers::new();
    assert_eq!(
        qualifiers.intern_numeric("http://www.w3.org/2001/XMLSchema#gDay"),
        None
    );
    let html = "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML";
    assert_eq!(qualifiers.intern_numeric(html), None);
    assert!(qualifiers.to_lists().numerics.is_empty());
}

#[test]
fn lists_restore_the_same_codes() {
    let qualifiers = Qualifiers::new();
    for i in 0..3000 {
        qualifiers
            .intern_datatype(&format!("http://d/{i}"))
            .expect("room");
    }
    qualifiers.intern_language("de").expect("room");
    qualifiers.intern_numeric("http://e/usd").expect("room");
    let lists = qualifiers.to_lists();
    let restored = Qualifiers::from_lists(&lists).expect("valid lists");
    assert_eq!(restored.to_lists(), lists);
    assert_eq!(restored.find_datatype("http://d/2999"), Some(2999));
    assert_eq!(restored.find_numeric("http://e/usd"), Some(16));
}

#[test]
fn repeated_names_in_lists_are_refused() {
    let languages = vec!["en".to_owned(), "en".to_owned()];
    let lists = QualifierLists {
        languages,
        ..QualifierLists::default()
    };
    let error = Qualifiers::from_lists(&lists).expect_err("a repeated name");
    assert_eq!(
        error.to_string(),
        "the stored list of languages holds 'en' twice"
    );
}

#[test]
fn overflow_is_an_error() {
    let table = NameTable::new("languages", 2);
    table.intern("a").expect("room");
    table.intern("b").expect("room");
    let error = table.intern("c").expect_err("full");
    assert_eq!(
        error.to_string(),
        "too many different languages: no code is left for 'c'"
    );
    assert_eq!(table.intern("a"), Ok(0));
}

#[test]
fn threads_agree_on_codes() {
    let shared = Arc::new(Qualifiers::new());
    let codes: Vec<Vec<u16>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let mut cache = QualifierCache::new(Arc::clone(&shared));
                scope.spawn(move || {
                    (0..500)
                        .map(|i| cache.datatype(&format!("http://d/{i}")).expect("room"))
                        .collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    });
    assert!(codes.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(shared.to_lists().datatypes.len(), 500);
}
