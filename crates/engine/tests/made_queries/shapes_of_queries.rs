//! One function for each kind of query that a [`Maker`] makes.
//!
//! Each returns text, or nothing where the data drawn does not suit; then another kind gets its turn.

use super::joined_parts::joined_parts;
use super::{
    Maker, TYPE, is_blank, is_exact_number, is_iri, is_literal, is_ordered_value, xsd_type,
};

/// A kind of query.
type Kind = fn(&mut Maker<'_>) -> Option<String>;

const KINDS: [Kind; 25] = [
    plain_star,
    star_with_options,
    nested_options,
    chain,
    backward_chain,
    two_stars,
    text_filter,
    language_filter,
    range_filter,
    counts,
    counts_of_distinct,
    numbers,
    not_exists,
    minus,
    union,
    any_predicate,
    distinct_predicates,
    first_rows,
    subselect,
    values,
    path,
    expressions,
    arithmetic,
    equal_values,
    other_forms,
];

/// How many of a hundred queries are put together of parts.
const PARTS_PERCENT: usize = 25;

impl Maker<'_> {
    /// The text of the query.
    pub(super) fn text(&mut self) -> String {
        loop {
            if self.random.chance(PARTS_PERCENT)
                && let Some(text) = joined_parts(self)
            {
                return text;
            }
            let kind = self.random.below(KINDS.len());
            if let Some(text) = KINDS[kind](self) {
                return text;
            }
        }
    }
}

fn plain_star(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let constants = 20 + maker.random.below(50);
    let star = maker.star("?s", "o", from, constants).join(" ");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&star)))
}

fn star_with_options(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let patterns = maker.star("?s", "o", from, 30);
    let kept = 1 + maker.random.below(patterns.len());
    let mut body = patterns[..kept].join(" ");
    for pattern in &patterns[kept..] {
        body.push_str(&format!(" OPTIONAL {{ {pattern} }}"));
    }
    // An optional predicate of another subject is mostly absent.
    let other = maker.random.below(maker.world.by_predicate.len());
    let other = &maker.world.by_predicate[other].0;
    body.push_str(&format!(" OPTIONAL {{ ?s {other} ?other }}"));
    if maker.random.chance(40) {
        let test = [
            "FILTER(!bound(?other))",
            "FILTER(bound(?o1) || bound(?other))",
        ];
        body.push_str(test[maker.random.below(2)]);
    }
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn nested_options(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| !is_literal(&quad[2]))?;
    let [_, predicate, object, _] = maker.quad(from);
    let next = maker.onward(object)?;
    let [_, onward, _, _] = maker.quad(next);
    let outer = maker.star_of("?s", "o", from, 3, 50);
    let inner = maker.star_of("?x", "i", next, 3, 10);
    let last = inner.last()?;
    let filter = [
        "",
        "FILTER(bound(?o0) || ?x != ?s)",
        "FILTER(isIRI(?x))",
        "FILTER(?y != ?s)",
    ];
    let filter = filter[maker.random.below(4)];
    let first = outer.last()?;
    let body = format!(
        "{first} OPTIONAL {{ ?s {predicate} ?x . OPTIONAL {{ ?x {onward} ?y . {filter} }} OPTIONAL {{ {last} }} }}"
    );
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn chain(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| !is_literal(&quad[2]))?;
    let mut patterns = maker.star_of("?n0", "a", from, 2, 60);
    let mut at = from;
    let hops = 2 + maker.random.below(2);
    for hop in 0..hops {
        let [_, predicate, object, _] = maker.quad(at);
        let is_last = hop + 1 == hops;
        let end = format!("?n{}", hop + 1);
        let end = if is_last && maker.random.chance(40) {
            maker.constant_or(object, &end)
        } else {
            end
        };
        patterns.push(format!("?n{hop} {predicate} {end} ."));
        if is_last {
            break;
        }
        at = maker.onward(object)?;
    }
    let distinct = ["", "DISTINCT "][maker.random.below(2)];
    let body = patterns.join(" ");
    Some(format!("SELECT {distinct}* {{ {} }}", maker.scoped(&body)))
}

fn backward_chain(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_iri(&quad[0]))?;
    let [subject, predicate, _, _] = maker.quad(from);
    let back = maker.backward(subject)?;
    let [before, link, _, _] = maker.quad(back);
    let mut body = format!("?x {link} ?s . ?s {predicate} ?o .");
    body.push_str(&maker.star_of("?x", "x", back, 3, 60).join(" "));
    if let Some(further) = maker.backward(before) {
        let link = &maker.quad(further)[1];
        body.push_str(&format!(" OPTIONAL {{ ?w {link} ?x }}"));
    }
    Some(format!("SELECT ?x ?s ?o {{ {} }}", maker.scoped(&body)))
}

fn two_stars(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| !is_literal(&quad[2]))?;
    let [_, predicate, object, _] = maker.quad(from);
    let next = maker.onward(object)?;
    let first = maker.star_of("?a", "p", from, 3, 50).join(" ");
    let second = maker.star_of("?b", "q", next, 4, 30).join(" ");
    let body = format!("{first} ?a {predicate} ?b . {second}");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn text_filter(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_literal(&quad[2]) && xsd_type(&quad[2]).is_none())?;
    let [_, predicate, object, _] = maker.quad(from);
    let piece = maker.piece(object);
    let test = match maker.random.below(7) {
        0 => format!("contains(?t, \"{piece}\")"),
        1 => format!("contains(lcase(str(?t)), lcase(\"{piece}\"))"),
        2 => format!("strstarts(?t, \"{piece}\")"),
        3 => format!("strends(str(?t), \"{piece}\")"),
        4 => format!("regex(?t, \"{piece}\", \"i\")"),
        5 => format!("regex(str(?t), \"^.?{piece}[a-z]*\")"),
        _ => format!(
            "?t >= \"{piece}\" && strlen(str(?t)) < {}",
            5 + maker.random.below(30)
        ),
    };
    let star = maker.star_of("?s", "o", from, 2, 20);
    let more = star.get(1).map_or("", String::as_str);
    let body = format!("?s {predicate} ?t . {more} FILTER({test})");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn language_filter(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_literal(&quad[2]) && quad[2].contains("\"@"))?;
    let [subject, predicate, object, _] = maker.quad(from);
    let language = object.rsplit('@').next()?;
    let test = match maker.random.below(5) {
        0 => format!("lcase(lang(?t)) = \"{language}\""),
        1 => format!("langMatches(lang(?t), \"{language}\")"),
        2 => "lang(?t) != \"\" && lang(?t) != \"en\"".to_owned(),
        3 => "langMatches(lang(?t), \"*\")".to_owned(),
        _ => format!("lcase(lang(?t)) IN (\"{language}\", \"xx\")"),
    };
    let subject = maker.constant_or(subject, "?s");
    let subject = if maker.random.chance(30) {
        subject
    } else {
        "?s".to_owned()
    };
    let star = maker.star_of(&subject, "o", from, 3, 60);
    let more = star[1..].join(" ");
    let body = format!("{subject} {predicate} ?t . {more} FILTER({test})");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn range_filter(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_ordered_value(&quad[2]))?;
    let [_, predicate, low, _] = maker.quad(from);
    let same = maker.same_predicate(from)?;
    let high = maker.random.pick(same).copied()?;
    let high = &maker.quad(high)[2];
    if !is_ordered_value(high) {
        return None;
    }
    let test = match maker.random.below(6) {
        0 => format!("?v >= {low} && ?v < {high}"),
        1 => format!("?v > {low}"),
        2 => format!("{high} > ?v && ?v != {low}"),
        3 => format!("?v = {low} || ?v = {high}"),
        4 => format!("?v IN ({low}, {high}, 1, 2.0)"),
        _ => format!("!(?v <= {low})"),
    };
    let star = maker.star_of("?s", "o", from, 3, 20);
    let more = star[1..].join(" ");
    let body = format!("?s {predicate} ?v . {more} FILTER({test})");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn counts(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 3, 15);
    let key = ["?o0", "?s", "?o1", "?o0 ?o1"][maker.random.below(4)];
    let having = ["", " HAVING (COUNT(*) > 1)", " HAVING (COUNT(?o0) < 5)"];
    let having = having[maker.random.below(3)];
    let body = star.join(" ");
    let body = maker.scoped(&body);
    let key = if star.len() == 1 { "?o0" } else { key };
    Some(format!(
        "SELECT {key} (COUNT(*) AS ?n) (COUNT(?o2) AS ?m) {{ {body} }} GROUP BY {key}{having}"
    ))
}

fn counts_of_distinct(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let mut star = maker.star_of("?s", "o", from, 3, 15);
    if star.len() > 2 && maker.random.chance(50) {
        let last = star.pop()?;
        star.push(format!("OPTIONAL {{ {last} }}"));
    }
    let body = star.join(" ");
    let body = maker.scoped(&body);
    Some(match maker.random.below(3) {
        0 => format!(
            "SELECT (COUNT(DISTINCT ?s) AS ?a) (COUNT(DISTINCT ?o0) AS ?b) (COUNT(?o1) AS ?c) (COUNT(*) AS ?d) {{ {body} }}"
        ),
        1 => format!(
            "SELECT ?o0 (COUNT(DISTINCT ?o1) AS ?b) (COUNT(DISTINCT *) AS ?d) {{ {body} }} GROUP BY ?o0"
        ),
        _ => format!("SELECT (COUNT(*) AS ?n) {{ SELECT DISTINCT ?o0 ?o1 {{ {body} }} }}"),
    })
}

fn numbers(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_exact_number(&quad[2]))?;
    let [_, predicate, _, _] = maker.quad(from);
    let same = maker.same_predicate(from)?;
    if !same.iter().all(|idx| is_exact_number(&maker.quad(*idx)[2])) {
        return None;
    }
    let star = maker.star_of("?s", "o", from, 2, 10);
    let more = star[1..].join(" ");
    let body = maker.scoped(&format!("?s {predicate} ?v . {more}"));
    let some = "(MIN(?v) AS ?a) (MAX(?v) AS ?b) (SUM(?v) AS ?c) (AVG(?v) AS ?d) (COUNT(?v) AS ?e)";
    Some(match maker.random.below(4) {
        0 => format!("SELECT {some} {{ {body} }}"),
        1 => format!("SELECT ?o1 {some} {{ {body} }} GROUP BY ?o1"),
        2 => format!("SELECT (SUM(DISTINCT ?v) AS ?n) (AVG(?v * 2 + 1) AS ?m) {{ {body} }}"),
        _ => format!("SELECT ?s {some} {{ {body} }} GROUP BY ?s HAVING (MAX(?v) > AVG(?v))"),
    })
}

fn not_exists(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 2, 60).join(" ");
    let other = maker.any_quad();
    let [_, predicate, object, _] = maker.quad(other);
    maker.graph.clone_from(&maker.quad(from)[3]);
    let object = match maker.random.below(3) {
        0 => maker.constant_or(object, "?z"),
        1 => "?o0".to_owned(),
        _ => "?z".to_owned(),
    };
    let not = ["NOT EXISTS", "EXISTS"][usize::from(maker.random.chance(25))];
    let inner = match maker.random.below(3) {
        0 => format!("?s {predicate} {object}"),
        1 => "?o0 ?p ?z . FILTER(?z != ?s)".to_owned(),
        _ => format!("?y {predicate} ?s"),
    };
    let body = format!("{star} FILTER {not} {{ {inner} }}");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn minus(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 3, 50);
    let other = maker.any_quad();
    let [_, predicate, _, _] = maker.quad(other);
    maker.graph.clone_from(&maker.quad(from)[3]);
    let last = star.last()?;
    let taken = match maker.random.below(3) {
        0 => format!("?s {predicate} ?z"),
        1 => format!("{last} ?s {predicate} ?z"),
        _ => format!("?z {predicate} ?s"),
    };
    let body = format!("{} MINUS {{ {taken} }}", star.join(" "));
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn union(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 4, 40);
    let other = maker.any_quad();
    let [_, predicate, _, _] = maker.quad(other);
    maker.graph.clone_from(&maker.quad(from)[3]);
    let last = star.last()?;
    let first = star.first()?;
    let body = match maker.random.below(3) {
        0 => format!("{first} {{ {last} }} UNION {{ ?s {predicate} ?o9 }}"),
        1 => format!(
            "{{ {first} }} UNION {{ {last} }} UNION {{ ?o0 {predicate} ?s }} {}",
            star[star.len() / 2]
        ),
        _ => format!(
            "{{ {first} BIND(1 AS ?branch) }} UNION {{ {last} BIND(2 AS ?branch) }} FILTER(?branch > 0) {last}"
        ),
    };
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn any_predicate(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let [subject, predicate, object, _] = maker.quad(from);
    let subject = maker.constant_or(subject, "?s");
    let object = maker.constant_or(object, "?o");
    let body = match maker.random.below(6) {
        0 => format!("{subject} ?p ?v"),
        1 => format!("?v ?p {object}"),
        2 => format!("{subject} ?p {object}"),
        3 => format!("?v {predicate} {object} . ?v ?p ?w"),
        4 => format!("{subject} ?p ?v . OPTIONAL {{ ?v ?q ?w }}"),
        _ => format!("{subject} ?p ?v . ?w ?p ?v . FILTER(?w != {subject})"),
    };
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn distinct_predicates(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 2, 70).join(" ");
    let body = maker.scoped(&format!("{star} ?s ?p ?v"));
    Some(match maker.random.below(4) {
        0 => format!("SELECT DISTINCT ?p {{ {body} }}"),
        1 => format!("SELECT ?p (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) {{ {body} }} GROUP BY ?p"),
        2 => format!("SELECT DISTINCT ?p (isLiteral(?v) AS ?l) {{ {body} }}"),
        _ => "SELECT ?g ?p (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?v } } GROUP BY ?g ?p HAVING (COUNT(*) < 3)".to_owned(),
    })
}

fn first_rows(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_of_plain_text(|quad| is_iri(&quad[0]))?;
    let [_, predicate, _, _] = maker.quad(from);
    let star = maker.star_of("?s", "o", from, 2, 50);
    let more = star[1..].join(" ");
    let body = format!("?s {predicate} ?v . {more} FILTER(isIRI(?s) && !isBlank(?v))");
    let body = maker.scoped(&body);
    maker.is_ordered = true;
    let first = ["?s", "DESC(str(?v))", "DESC(?s)", "strlen(str(?v))"][maker.random.below(4)];
    let offset = [0, 0, 1, 7, 500][maker.random.below(5)];
    let limit = 1 + maker.random.below(40);
    Some(format!(
        "SELECT DISTINCT ?s ?v {{ {body} }} ORDER BY {first} ?s str(?v) lcase(lang(?v)) str(datatype(?v)) LIMIT {limit} OFFSET {offset}"
    ))
}

fn subselect(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| !is_literal(&quad[2]))?;
    let [_, predicate, object, _] = maker.quad(from);
    let next = maker.onward(object).unwrap_or(from);
    let [_, onward, _, _] = maker.quad(next);
    let star = maker.star_of("?s", "o", from, 2, 70).join(" ");
    let least = 1 + maker.random.below(3);
    let body = match maker.random.below(3) {
        0 => format!(
            "{{ SELECT ?x (COUNT(*) AS ?n) {{ ?s {predicate} ?x }} GROUP BY ?x HAVING (COUNT(*) > {least}) }} ?x {onward} ?y"
        ),
        1 => {
            format!("{star} {{ SELECT DISTINCT ?s ?x {{ ?s {predicate} ?x . ?x {onward} ?o0 }} }}")
        }
        _ => format!(
            "{star} OPTIONAL {{ SELECT ?s (COUNT(DISTINCT ?v) AS ?m) {{ ?s {predicate} ?v }} GROUP BY ?s }}"
        ),
    };
    Some(format!("SELECT * {{ {} }}", maker.scoped_to_one(&body)))
}

fn values(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let star = maker.star_of("?s", "o", from, 3, 0);
    let [subject, predicate, object, _] = maker.quad(from);
    let other = maker.any_quad();
    let [other_subject, _, other_object, _] = maker.quad(other);
    maker.graph.clone_from(&maker.quad(from)[3]);
    let term = |term: &str| {
        if is_blank(term) {
            "UNDEF".to_owned()
        } else {
            term.to_owned()
        }
    };
    let (subject, other_subject) = (term(subject), term(other_subject));
    let (object, other_object) = (term(object), term(other_object));
    let star = star.join(" ");
    let body = match maker.random.below(4) {
        0 => format!("VALUES ?s {{ {subject} {other_subject} <urn:nowhere> }} {star}"),
        1 => format!(
            "{star} VALUES (?s ?o0) {{ ({subject} UNDEF) (UNDEF {object}) ({other_subject} {other_object}) }}"
        ),
        2 => format!(
            "VALUES ?p {{ {predicate} <urn:nowhere> {TYPE} }} VALUES ?s {{ {subject} {other_subject} }} ?s ?p ?v"
        ),
        _ => format!("{star} VALUES ?o0 {{ {object} {object} {other_object} \"nowhere\" 17 }}"),
    };
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn path(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_iri(&quad[0]) && is_iri(&quad[2]))?;
    let [subject, predicate, object, _] = maker.quad(from);
    let next = maker.onward(object).unwrap_or(from);
    let [_, onward, _, _] = maker.quad(next);
    let form = maker.random.below(10);
    let (start, path, end) = match form {
        0 => (subject.as_str(), format!("{predicate}*"), "?x"),
        1 => ("?x", format!("{predicate}+"), object.as_str()),
        2 => (subject.as_str(), format!("({predicate}|{onward})+"), "?x"),
        3 => (subject.as_str(), format!("{predicate}/{onward}"), "?x"),
        4 => ("?x", format!("{predicate}/{onward}?"), object.as_str()),
        5 => (object.as_str(), format!("^{predicate}/{onward}"), "?x"),
        6 => (subject.as_str(), format!("!({predicate}|^{onward})"), "?x"),
        7 => ("?x", format!("({predicate}/{onward})*"), object.as_str()),
        8 => (subject.as_str(), format!("{predicate}*"), object.as_str()),
        _ => (object.as_str(), format!("(^{predicate})*"), "?x"),
    };
    let mut body = format!("{start} {path} {end} .");
    if maker.random.chance(40) {
        body.push_str(&format!(" ?x {onward} ?y ."));
    }
    // The oracle gives the union of both directions as a set.
    let is_distinct = form == 6 || maker.random.chance(50);
    let distinct = if is_distinct { "DISTINCT " } else { "" };
    Some(format!(
        "SELECT {distinct}* {{ {} }}",
        maker.scoped_to_one(&body)
    ))
}

fn expressions(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_of_plain_text(|_| true)?;
    let [_, predicate, _, _] = maker.quad(from);
    let star = maker.star_of("?s", "o", from, 2, 70);
    let more = star[1..].join(" ");
    let bind = [
        "BIND(coalesce(?v + 1, strlen(str(?v)), 0) AS ?e)",
        "BIND(if(isLiteral(?v), datatype(?v), ?v) AS ?e)",
        "BIND(concat(str(?v), \"|\", lcase(lang(?v))) AS ?e)",
        "BIND(substr(str(?v), 2, 5) AS ?e) FILTER(?e != \"\")",
        "BIND(strafter(str(?v), \"e\") AS ?e) BIND(ucase(?e) AS ?f)",
        "BIND(year(?v) AS ?e) BIND(?v * 2 AS ?f) BIND(-?v / 3 AS ?h)",
        "BIND(iri(concat(\"urn:x:\", encode_for_uri(str(?v)))) AS ?e)",
        "BIND(isIRI(?v) && ?v != ?s AS ?e) BIND(isNumeric(?v) AS ?f)",
        "FILTER(?v = ?v) BIND(sameTerm(?v, ?s) AS ?e)",
        "BIND(replace(str(?v), \"[aeiou]+\", \"-$0-\") AS ?e) BIND(md5(str(?v)) AS ?f)",
    ];
    let bind = bind[maker.random.below(bind.len())];
    let body = format!("?s {predicate} ?v . {more} {bind}");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn arithmetic(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_where(|quad| is_ordered_value(&quad[2]))?;
    maker.same_predicate(from)?;
    let [_, predicate, _, _] = maker.quad(from);
    let star = maker.star_of("?s", "o", from, 2, 30);
    let more = star[1..].join(" ");
    let bind = [
        "BIND(?v + 1 AS ?e) BIND(?v * 2 AS ?f) BIND(-?v AS ?h)",
        "BIND(year(?v) AS ?e) BIND(month(?v) + day(?v) AS ?f)",
        "BIND(floor(?v) AS ?e) BIND(abs(?v - 3) AS ?f) BIND(round(?v) AS ?h)",
        "BIND(if(?v > 5, \"more\", \"less\") AS ?e) FILTER(?v + 1 > ?v)",
        "BIND(isNumeric(?v) AS ?e) BIND(?v = 1 || ?v = 1.0e0 AS ?f)",
        "BIND(coalesce(?v / 0, \"no\") AS ?e) BIND(datatype(?v) AS ?f)",
    ];
    let bind = bind[maker.random.below(bind.len())];
    let body = format!("?s {predicate} ?v . {more} {bind}");
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn equal_values(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.quad_of_plain_text(|_| true)?;
    let [_, predicate, object, _] = maker.quad(from);
    let star = maker.star_of("?a", "o", from, 3, 60);
    let other = maker.backward(object).unwrap_or(from);
    let [_, other, _, _] = maker.quad(other);
    let more = star[1..].join(" ");
    let body = match maker.random.below(4) {
        0 => format!("{more} ?a {predicate} ?v . ?b {other} ?v . FILTER(?a != ?b)"),
        1 => format!(
            "{more} ?a {predicate} ?v . ?b {predicate} ?w . {} FILTER(?v = ?w)",
            more.replace("?a", "?b")
        ),
        2 => format!("{more} ?a {predicate} ?v ; {predicate} ?w . FILTER(str(?v) < str(?w))"),
        _ => format!("{more} ?a {predicate} ?v . ?v ?p ?a"),
    };
    Some(format!("SELECT * {{ {} }}", maker.scoped(&body)))
}

fn other_forms(maker: &mut Maker<'_>) -> Option<String> {
    let from = maker.any_quad();
    let [subject, predicate, _, graph] = maker.quad(from);
    let star = maker.star_of("?s", "o", from, 3, 60).join(" ");
    let body = maker.scoped(&star);
    Some(match maker.random.below(4) {
        0 => format!("ASK {{ {body} }}"),
        1 => format!(
            "CONSTRUCT {{ ?s <urn:made> ?o0 . ?o0 {predicate} ?s . ?s <urn:n> 1 }} {{ {body} }}"
        ),
        2 if is_iri(subject) && !maker.is_union && !graph.is_empty() => {
            format!(
                "SELECT * FROM {graph} FROM NAMED {graph} {{ {subject} ?p ?o . OPTIONAL {{ GRAPH ?g {{ ?o ?q ?s }} }} }}"
            )
        }
        _ => format!(
            "SELECT (COUNT(*) AS ?n) (SAMPLE(?nowhere) AS ?m) {{ {body} FILTER(?o0 = ?nowhere || true) }}"
        ),
    })
}
