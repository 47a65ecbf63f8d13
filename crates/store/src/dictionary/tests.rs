//! The dictionary against the terms that were pushed: round trips, finding, damage.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::section_file::FileKind;

/// Terms in the order of their ordinals; a resource of `None` is a blank node.
#[derive(Debug, Default)]
struct Terms {
    resources: Vec<Option<String>>,
    literals: Vec<(u8, u16, String)>,
}

fn qualifiers() -> Qualifiers {
    let qualifiers = Qualifiers::new();
    for name in ["http://example.org/type", "http://example.org/other"] {
        qualifiers.intern_datatype(name).expect("there is room");
    }
    for name in ["en", "de", "EN"] {
        qualifiers.intern_language(name).expect("there is room");
    }
    qualifiers.intern_numeric("http://example.org/money");
    qualifiers
}

impl Terms {
    fn write(&self) -> Folder {
        let folder = Folder::memory();
        let mut writer = DictionaryWriter::create(&folder).expect("memory takes files");
        for (i, resource) in self.resources.iter().enumerate() {
            let ordinal = match resource {
                Some(iri) => writer.push_iri(iri),
                None => writer.push_blank(),
            };
            assert_eq!(ordinal.expect("memory takes bytes"), i as u64);
        }
        for (i, (id_tag, qualifier, lexical)) in self.literals.iter().enumerate() {
            let ordinal = writer.push_literal(*id_tag, *qualifier, lexical);
            assert_eq!(ordinal.expect("memory takes bytes"), i as u64);
            if i % 1000 == 999 {
                writer.end_run().expect("memory takes bytes");
            }
        }
        writer.finish(&qualifiers()).expect("memory takes files");
        folder
    }

    fn id_of_literal(&self, i: usize) -> TermId {
        let (id_tag, qualifier, _) = self.literals[i];
        TermId::new(id_tag, u64::from(qualifier) << 40 | i as u64)
    }

    /// Every term decodes to exactly what was pushed and is found with exactly its id.
    fn check(&self, dictionary: &Dictionary) {
        assert_eq!(dictionary.resource_count(), self.resources.len() as u64);
        assert_eq!(dictionary.literal_count(), self.literals.len() as u64);
        let mut buf = TermBuf::new();
        for (ordinal, resource) in (0..).zip(&self.resources) {
            let id = TermId::resource(ordinal);
            let label = format!("b{ordinal}");
            let expected = match resource {
                Some(iri) => TermView::Iri(iri),
                None => TermView::Blank(&label),
            };
            dictionary
                .decode(id, &mut buf)
                .expect("a pushed resource decodes");
            assert_eq!(buf.view(), expected);
            assert_eq!(dictionary.find(expected), Some(id));
            assert_eq!(dictionary.is_blank(id), resource.is_none());
        }
        let qualifiers = qualifiers();
        for (i, (id_tag, qualifier, lexical)) in self.literals.iter().enumerate() {
            let id = self.id_of_literal(i);
            let name = |name: Option<&str>| name.expect("a registered code").to_owned();
            let (language, datatype) = match *id_tag {
                tag::LANGUAGE => (name(qualifiers.language(*qualifier)), String::new()),
                tag::TYPED => (String::new(), name(qualifiers.datatype(*qualifier))),
                _ => Default::default(),
            };
            let expected = match *id_tag {
                tag::LANGUAGE => TermView::language(lexical, &language),
                tag::TYPED => TermView::typed(lexical, &datatype),
                _ => TermView::simple(lexical),
            };
            dictionary
                .decode(id, &mut buf)
                .expect("a pushed literal decodes");
            assert_eq!(buf.view(), expected);
            assert_eq!(dictionary.find(expected), Some(id), "{expected}");
            assert!(dictionary.find_all_cases(expected).contains(&id));
            let same_text = dictionary.find_in_all_languages(lexical);
            assert_eq!(same_text.contains(&id), *id_tag != tag::TYPED);
            for id in same_text {
                dictionary.decode(id, &mut buf).expect("it is stored");
                assert!(
                    matches!(buf.view(), TermView::Literal(found) if found.lexical == *lexical)
                );
            }
            assert_eq!(dictionary.literal_id(i as u64).expect("it has an id"), id);
        }
        dictionary
            .check_deep()
            .expect("an intact dictionary passes the deep check");
    }
}

fn open(folder: &Folder) -> Dictionary {
    Dictionary::open(folder).expect("an intact dictionary opens")
}

/// Distinct terms from possibly repeated ones.
fn distinct(resources: Vec<Option<String>>, literals: Vec<(u8, u16, String)>) -> Terms {
    let mut seen = HashSet::new();
    let mut terms = Terms::default();
    for resource in resources {
        if resource.is_none() || seen.insert(resource.clone()) {
            terms.resources.push(resource);
        }
    }
    let mut seen = HashSet::new();
    for literal in literals {
        if seen.insert(literal.clone()) {
            terms.literals.push(literal);
        }
    }
    terms
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let iri = prop_oneof![
        8 => "http://example\\.org/(product|offer)[0-9]{1,4}".prop_map(Some),
        1 => ".{0,40}".prop_map(Some),
        2 => Just(None),
    ];
    let kind = prop_oneof![
        Just((tag::STRING, 0)),
        (0u16..3).prop_map(|q| (tag::LANGUAGE, q)),
        (0u16..2).prop_map(|q| (tag::TYPED, q)),
    ];
    let lexical = prop_oneof![4 => "([a-e]{1,9} ){0,6}", 1 => ".{0,60}", 1 => "\\PC{0,20}\0?"];
    let literal = (kind, lexical).prop_map(|((id_tag, q), lexical)| (id_tag, q, lexical));
    (
        proptest::collection::vec(iri, 0..150),
        proptest::collection::vec(literal, 0..150),
    )
        .prop_map(|(resources, literals)| distinct(resources, literals))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_pushed_term_is_found_and_decodes(terms in any_terms()) {
        terms.check(&open(&terms.write()));
    }

    #[test]
    fn absent_terms_are_not_found(terms in any_terms(), text in "[a-e]{0,3}[0-9]?") {
        let dictionary = open(&terms.write());
        if !terms.resources.contains(&Some(text.clone())) {
            prop_assert_eq!(dictionary.find(TermView::Iri(&text)), None);
        }
        for (view, id_tag, qualifier) in [
            (TermView::simple(&text), tag::STRING, 0),
            (TermView::language(&text, "de"), tag::LANGUAGE, 1),
            (TermView::typed(&text, "http://example.org/other"), tag::TYPED, 1),
        ] {
            let there = terms.literals.contains(&(id_tag, qualifier, text.clone()));
            prop_assert_eq!(dictionary.find(view).is_some(), there);
        }
        prop_assert_eq!(dictionary.find(TermView::language(&text, "fr")), None);
        prop_assert_eq!(dictionary.find(TermView::typed(&text, "http://example.org/no")), None);
    }

    #[test]
    fn strings_are_found_together_as_one_by_one(
        terms in any_terms(),
        more in proptest::collection::vec("[a-e]{0,3}", 0..80),
    ) {
        let dictionary = open(&terms.write());
        let texts = terms.literals.iter().map(|(_, _, lexical)| lexical).chain(&more);
        let kinds = [
            LiteralKind::Simple,
            LiteralKind::Language("en"),
            LiteralKind::Language("De"),
            LiteralKind::Language("fr"),
        ];
        let strings: Vec<LiteralView<'_>> = texts
            .flat_map(|lexical| kinds.map(|kind| LiteralView { lexical, kind }))
            .collect();
        let find = |string: &LiteralView<'_>| dictionary.find(TermView::Literal(*string));
        let one_by_one: Vec<Option<TermId>> = strings.iter().map(find).collect();
        prop_assert_eq!(dictionary.find_strings(&strings), one_by_one);
    }

    /// Whatever happens to the bytes: an error or some answer, and the deep check notices.
    #[test]
    fn damage_is_noticed_and_never_panics(
        terms in any_terms(),
        damage in proptest::collection::vec((any::<u32>(), 1u8..=255), 1..4),
        which in 0usize..2,
    ) {
        let intact = terms.write();
        let damaged = Folder::memory();
        for (i, (name, mut bytes)) in intact.memory_files().into_iter().enumerate() {
            if i == which {
                // Distinct places, so that two changes never cancel out.
                let mut places = HashSet::new();
                for (at, flip) in &damage {
                    let at = *at as usize % bytes.len();
                    if places.insert(at) {
                        bytes[at] ^= flip;
                    }
                }
            }
            damaged.store_memory(&name, &bytes);
        }
        let Ok(dictionary) = Dictionary::open(&damaged) else { return Ok(()) };
        let mut buf = TermBuf::new();
        for ordinal in 0..terms.resources.len() as u64 {
            if dictionary.decode(TermId::resource(ordinal), &mut buf).is_ok() {
                let _found_or_not = dictionary.find(buf.view());
            }
        }
        for (i, (_, _, lexical)) in terms.literals.iter().enumerate() {
            let _right_or_wrong = dictionary.decode(terms.id_of_literal(i), &mut buf);
            let _found_or_not = dictionary.find(TermView::simple(lexical));
        }
        // Padding between sections is in no section and carries nothing.
        if dictionary.check_deep().is_ok() {
            terms.check(&dictionary);
        }
    }
}

#[test]
fn a_hundred_thousand_terms() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        seed >> 33
    };
    let resources = (0..100_000)
        .map(|i| (random() % 10 != 0).then(|| format!("http://example.org/set{}/item{i}", i / 999)))
        .collect();
    let literals = (0..100_000)
        .map(|i| match random() % 4 {
            0 => (
                tag::LANGUAGE,
                (random() % 3) as u16,
                format!("text {:x} of {i}", random()),
            ),
            1 => (tag::TYPED, (random() % 2) as u16, format!("{:b}", i)),
            _ => (
                tag::STRING,
                0,
                format!("a somewhat longer plain text with number {i} in it"),
            ),
        })
        .collect();
    let terms = distinct(resources, literals);
    let folder = terms.write();
    let dictionary = open(&folder);
    terms.check(&dictionary);
    // In any order, where a block is read from for the first time, the second, or again after others.
    let mut text = Vec::new();
    for _ in 0..100_000 {
        let near = (random() % 1000 * 97) as usize;
        for i in [near, near + 3, near + 1, random() as usize % 100_000] {
            text.clear();
            let read = dictionary.lexical_into(terms.id_of_literal(i), &mut text);
            read.expect("it is there");
            assert_eq!(text, terms.literals[i].2.as_bytes());
        }
    }
    let bytes: usize = folder
        .memory_files()
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum();
    // Two indexes of ten bytes per term included; the texts alone have about 8 MB.
    assert!(bytes < 6_000_000, "{bytes} bytes");
}

#[test]
fn starts_of_texts_have_the_characters_that_were_asked_for() {
    let text = |i: usize| format!("ä{i} {} ende", "wörter ohne Sinn, ß ".repeat(i % 7));
    // As many as are compressed.
    let literals = (0..600).map(|i| (tag::STRING, 0, text(i))).collect();
    let terms = Terms {
        literals,
        ..Terms::default()
    };
    let dictionary = open(&terms.write());
    let mut buffer = Vec::new();
    let mut shorter = 0;
    for (i, (_, _, lexical)) in terms.literals.iter().enumerate() {
        let characters = i % 40;
        let start = dictionary.text_start(terms.id_of_literal(i), characters, &mut buffer);
        let start = start.expect("an intact text");
        assert!(lexical.starts_with(start), "{start:?} of {lexical:?}");
        let is_whole = start == lexical;
        assert!(is_whole || start.chars().count() >= characters, "{start:?}");
        shorter += usize::from(!is_whole);
    }
    assert!(shorter > 100, "{shorter}");
}

#[test]
fn groups_are_written_in_order_whatever_thread_is_first() {
    // Long texts fill many groups; random ones take longer to encode than repeated ones.
    let literals = (0..600u64)
        .map(|i| {
            let word = if i % 100 < 50 {
                "same ".repeat(9000)
            } else {
                format!("{i} ").repeat(9000)
            };
            (tag::STRING, 0, format!("{i}:{word}"))
        })
        .collect();
    let terms = distinct(Vec::new(), literals);
    terms.check(&open(&terms.write()));
}

#[test]
fn an_empty_dictionary_knows_inline_terms_only() {
    let dictionary = open(&Terms::default().write());
    assert_eq!(dictionary.resource_count(), 0);
    assert_eq!(dictionary.find(TermView::Iri("http://example.org/")), None);
    assert_eq!(dictionary.find(TermView::simple("")), None);
    for (lexical, datatype) in [
        ("12.50", "http://www.w3.org/2001/XMLSchema#decimal"),
        ("5", "http://example.org/money"),
        ("true", "http://www.w3.org/2001/XMLSchema#boolean"),
    ] {
        let view = TermView::typed(lexical, datatype);
        let id = dictionary
            .find(view)
            .expect("an inline form needs no dictionary");
        let mut buf = TermBuf::new();
        dictionary
            .decode(id, &mut buf)
            .expect("an inline id decodes");
        assert_eq!(buf.view(), view);
        let mut text = Vec::new();
        dictionary
            .lexical_into(id, &mut text)
            .expect("an inline id has a lexical form");
        assert_eq!(text, lexical.as_bytes());
    }
}

#[test]
fn unknown_ids_are_errors() {
    let terms = distinct(
        vec![Some("http://a/".to_owned()), None],
        vec![(tag::STRING, 0, "x".to_owned())],
    );
    let dictionary = open(&terms.write());
    for id in [
        TermId::UNBOUND,
        TermId::DEFAULT_GRAPH,
        TermId::resource(2),
        TermId::new(tag::STRING, 1),
        TermId::new(tag::LANGUAGE, 999 << 40),
        TermId::new(tag::LOCAL, 0),
    ] {
        assert!(dictionary.term(id).is_err(), "{id:?}");
    }
    for label in ["b0", "b01", "b", "1", "b2", "b+1", "b99999999999999999999"] {
        assert_eq!(dictionary.find(TermView::Blank(label)), None, "{label}");
    }
    assert_eq!(
        dictionary.find(TermView::Blank("b1")),
        Some(TermId::resource(1))
    );
    assert_eq!(dictionary.find(TermView::Iri("")), None);
}

#[test]
fn a_tag_that_no_dictionary_literal_has_is_refused() {
    let mut writer = DictionaryWriter::create(&Folder::memory()).expect("memory takes files");
    let error = writer
        .push_literal(tag::BOOLEAN, 0, "true")
        .expect_err("booleans are inline");
    assert!(error.to_string().contains("`true`"), "{error}");
}

#[test]
fn the_writers_work_on_threads_of_their_own() {
    let folder = Folder::memory();
    let (mut resources, mut literals) = DictionaryWriter::create(&folder)
        .expect("memory takes files")
        .into_parts();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            resources
                .push_iri("http://example.org/a")
                .expect("memory takes bytes");
            resources.finish().expect("memory takes files");
        });
        scope.spawn(move || {
            literals
                .push_literal(tag::STRING, 0, "a")
                .expect("memory takes bytes");
            literals
                .finish(&Qualifiers::new())
                .expect("memory takes files");
        });
    });
    let dictionary = open(&folder);
    assert_eq!(
        dictionary.find(TermView::simple("a")),
        Some(TermId::new(tag::STRING, 0))
    );
    assert_eq!(
        dictionary.find(TermView::Iri("http://example.org/a")),
        Some(TermId::resource(0))
    );
}

#[test]
fn a_missing_section_names_the_file() {
    let folder = Folder::memory();
    let writer = folder
        .create(resources::FILE, FileKind::Resources)
        .expect("memory takes files");
    writer.finish().expect("memory takes files");
    let error = Dictionary::open(&folder).expect_err("sections are missing");
    assert!(error.to_string().contains("resources.dict"), "{error}");
}
