//! Terms that are added to an open version: the same id for the same term, back to the same text, and in the
//! same order when they are put back.

use super::splitter::{LITERALS, RESOURCES, load, number, resource, string};
use crate::{
    CheckDepth, NewLiteral, NewResource, NewTerms, QuadIds, Snapshot, Storage, TermCounts,
};
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermId, TermView};
use std::collections::BTreeSet;

fn base() -> Snapshot {
    load(&BTreeSet::new(), Storage::Memory)
}

fn terms() -> Vec<TermView<'static>> {
    const XSD: &str = "http://www.w3.org/2001/XMLSchema#integer";
    const PRICE: &str = "http://example.org/price";
    vec![
        TermView::Iri("http://example.org/new"),
        TermView::simple("new"),
        TermView::simple("http://example.org/new"),
        TermView::language("new", "en"),
        TermView::language("new", "EN"),
        TermView::typed("new", "http://example.org/type"),
        TermView::typed("new", XSD),
        TermView::typed("007", XSD),
        TermView::typed("7", XSD),
        TermView::typed("7.50", PRICE),
        TermView::typed("cheap", PRICE),
        TermView::typed("+7", PRICE),
        TermView::simple(""),
    ]
}

fn intern(snapshot: &Snapshot, term: TermView<'_>) -> TermId {
    snapshot.intern(term).expect("there is room")
}

/// A view that finds all terms.
fn refreshed(snapshot: &Snapshot) -> Snapshot {
    snapshot.with_changes(&[], &[]).expect("nothing changes").0
}

#[test]
fn equal_terms_have_equal_ids_and_decode() {
    let snapshot = base();
    let ids: Vec<TermId> = terms().iter().map(|&t| intern(&snapshot, t)).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let again: Vec<TermId> = terms().iter().map(|&t| intern(&snapshot, t)).collect();
    assert_eq!(ids, again);
    assert_eq!(ids[8], number(7));
    assert!(ids[9].is_numeric() && !ids[11].is_numeric());
    let dictionary = snapshot.dictionary();
    for (&id, term) in ids.iter().zip(terms()) {
        assert_eq!(dictionary.term(id).expect("it decodes").view(), term);
        let mut start = Vec::new();
        let read = dictionary.lexical_start_into(id, 1000, &mut start);
        read.expect("it decodes");
        let mut whole = Vec::new();
        dictionary.lexical_into(id, &mut whole).expect("it decodes");
        assert_eq!(start, whole);
    }
    let old = TermView::Iri("http://example.org/17");
    assert_eq!(intern(&snapshot, old), resource(17));
    assert_eq!(intern(&snapshot, TermView::simple("text 3")), string(3));
    let past = dictionary.term(TermId::resource(RESOURCES + 1));
    assert!(past.is_err(), "nobody has this id");
}

#[test]
fn a_view_finds_the_terms_that_there_were_when_it_was_made() {
    let snapshot = base();
    for term in terms() {
        intern(&snapshot, term);
    }
    let inline = [Some(number(7)), None];
    for term in terms() {
        let found = snapshot.dictionary().find(term);
        assert!(inline.contains(&found), "{term:?} came later");
    }
    assert_eq!(snapshot.dictionary().resource_count(), RESOURCES);
    let lists = snapshot.dictionary().qualifier_lists();
    assert!(lists.datatypes.is_empty() && lists.languages.is_empty() && lists.numerics.is_empty());
    let later = refreshed(&snapshot);
    let lists = later.dictionary().qualifier_lists();
    assert_eq!(lists.numerics, ["http://example.org/price"]);
    assert_eq!(lists.languages, ["en", "EN"]);
    assert!(later.has_delta() && later.delta_size().terms > 0);
    assert_eq!(later.dictionary().resource_count(), RESOURCES + 1);
    for term in terms() {
        let found = later.dictionary().find(term);
        assert_eq!(found, Some(intern(&later, term)));
    }
    assert_eq!(
        later
            .dictionary()
            .find_all_cases(TermView::language("new", "eN"))
            .len(),
        2
    );
    assert_eq!(later.dictionary().find_in_all_languages("new").len(), 3);
    later.check(CheckDepth::Deep).expect("all is found");
}

#[test]
fn blank_nodes_are_new_and_found_by_their_labels() {
    let snapshot = base();
    let (one, two) = (snapshot.new_blank(), snapshot.new_blank());
    let (one, two) = (one.expect("there is room"), two.expect("there is room"));
    assert_eq!((one, two), (resource(RESOURCES), resource(RESOURCES + 1)));
    let dictionary = snapshot.dictionary();
    assert!(dictionary.is_blank(one) && !dictionary.is_blank(resource(3)));
    let label = format!("b{RESOURCES}");
    let term = dictionary.term(one).expect("it decodes");
    assert_eq!(term.view(), TermView::Blank(&label));
    assert_eq!(intern(&snapshot, TermView::Blank(&label)), one);
    for unknown in ["b3", "b999", "x", "b007"] {
        let refused = snapshot.intern(TermView::Blank(unknown));
        assert!(refused.is_err_and(|e| e.to_string().contains(unknown)));
    }
}

#[test]
fn terms_are_taken_out_and_put_back() {
    let one = base();
    let from = one.term_counts();
    assert_eq!((from.resources, from.literals), (RESOURCES, LITERALS));
    assert!(one.terms_since(from).is_empty());
    for term in terms().into_iter().take(7) {
        intern(&one, term);
    }
    one.new_blank().expect("there is room");
    let middle = one.term_counts();
    for term in terms() {
        intern(&one, term);
    }
    let (first, all) = (one.terms_since(from), one.terms_since(from));
    let second = one.terms_since(middle);
    let new = NewResource::Iri("http://example.org/new".to_owned());
    assert_eq!(first.resources, [new, NewResource::Blank]);
    assert_eq!(second.numerics, ["http://example.org/price"]);
    assert!(second.resources.is_empty());

    let two = base();
    let mut part = all.clone();
    part.resources
        .truncate((middle.resources - from.resources) as usize);
    part.literals
        .truncate((middle.literals - from.literals) as usize);
    part.datatypes
        .truncate((middle.datatypes - from.datatypes) as usize);
    part.languages
        .truncate((middle.languages - from.languages) as usize);
    part.numerics
        .truncate((middle.numerics - from.numerics) as usize);
    two.restore_terms(from, &part).expect("they follow");
    assert!(two.restore_terms(from, &part).is_err(), "they are there");
    two.restore_terms(middle, &second).expect("they follow");
    assert_eq!(two.term_counts(), one.term_counts());
    let (one, two) = (refreshed(&one), refreshed(&two));
    for term in terms() {
        let id = one.dictionary().find(term);
        assert!(
            id.is_some() && id == two.dictionary().find(term),
            "{term:?}"
        );
    }
    two.check(CheckDepth::Deep).expect("all is found");
}

#[test]
fn terms_that_do_not_fit_are_refused() {
    let from = base().term_counts();
    let literal = |id_tag, qualifier, lexical: &str| NewTerms {
        literals: vec![NewLiteral {
            id_tag,
            qualifier,
            lexical: lexical.to_owned(),
        }],
        ..NewTerms::default()
    };
    let iri = |iri: &str| NewResource::Iri(iri.to_owned());
    let resources = |resources| NewTerms {
        resources,
        ..NewTerms::default()
    };
    for terms in [
        literal(tag::STRING, 0, "text 3"),
        literal(tag::STRING, 1, "new"),
        literal(tag::LANGUAGE, 0, "new"),
        literal(tag::TYPED, 3, "new"),
        literal(tag::RESOURCE, 0, "new"),
        resources(vec![iri("http://example.org/3")]),
        resources(vec![iri("a:b"), iri("a:b")]),
    ] {
        assert!(base().restore_terms(from, &terms).is_err(), "{terms:?}");
    }
    let later = TermCounts {
        literals: from.literals + 1,
        ..from
    };
    let good = literal(tag::STRING, 0, "new");
    assert!(base().restore_terms(later, &good).is_err());
    base().restore_terms(from, &good).expect("it is new");
}

#[test]
fn quads_of_new_terms_are_found_by_them() {
    let snapshot = base();
    let quad = QuadIds {
        subject: snapshot.new_blank().expect("there is room"),
        predicate: intern(&snapshot, TermView::Iri("http://example.org/p")),
        object: intern(&snapshot, TermView::typed("3", "http://example.org/price")),
        graph: intern(&snapshot, TermView::Iri("http://example.org/g")),
    };
    let (changed, _) = snapshot.with_changes(&[], &[quad]).expect("it is valid");
    assert_eq!(changed.named_graphs(), [(quad.graph, 1)]);
    assert_eq!(changed.predicate_quads(quad.predicate), 1);
    let found = changed
        .dictionary()
        .find(TermView::Iri("http://example.org/g"));
    assert_eq!(found, Some(quad.graph));
    let size = changed.delta_size();
    // Three resources, and the datatype of the number.
    assert_eq!((size.added, size.removed, size.terms), (1, 0, 4));
    assert!(size.bytes > 100);
}
