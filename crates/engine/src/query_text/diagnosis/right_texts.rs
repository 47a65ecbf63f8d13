//! Right texts, in which nothing may be found, whatever the parser says. A text in which a mistake was seen that is none is
//! added here.

use super::Wanted;
use super::Wanted::{Query, Update};

/// Right texts, in which nothing is found.
pub(super) const RIGHT: &[(&str, Wanted)] = &[
    (
        "select distinct ?s where { ?s a ?c filter(?s<?c && ?s <= 1) } order by desc(?s) limit 1",
        Query,
    ),
    (
        "ASK { FILTER(?x<?y) FILTER(?x<5&&?y>3) FILTER(?a <?b) }",
        Query,
    ),
    (
        "PREFIX foo: <e:> ASK { FILTER foo:bar(?x) FILTER(foo:bar (?x) || <e:f>(1)) }",
        Query,
    ),
    (
        "ASK { ?s ?p '# {{ ((' , \"\"\"\"it's\" \\\" }} \"\"\" , '''a'b''c''' }",
        Query,
    ),
    (
        "ASK { <http://a/#b> <#c> <> . ?s ?p \"\\u0041\\n\\t\\\\\" }",
        Query,
    ),
    (
        "ASK { ?s ?p 'a'@en-GB , 'b'@prefix , \"x\"^^<e:t> . }",
        Query,
    ),
    (
        "ASK { ?s ?p 1.e5 , 1.5 , .5 , -2 , +3e7 . ?s ?p 1. ?s ?p true }",
        Query,
    ),
    (
        "prefix ex: <e:> Prefix : <e:> ASK { ex:a.b ex:%41-c :d\\'e . ex: : _:b.c . :1 ex:a:b ?x. }",
        Query,
    ),
    ("# it's \"a { comment\nASK { # more ' (\n}", Query),
    ("ASK { ?s ?p 'a'.?s ?q \"b\"OPTIONAL{?s ?p 1} }", Query),
    (
        "ASK { VALUES (?x ?y) { (1 2) (UNDEF 'a') } VALUES ?z { 1 2 3 4 5 } }",
        Query,
    ),
    (
        "ASK { ?s ?p (1 ?x 2 3 4 5) ; ?q [ ?a ?b ; ?c ?d ] , [] . [] ?p () . }",
        Query,
    ),
    (
        "PREFIX : <e:> ASK { ?s :a/:b*|^:c+ ?o . ?s !(:a|^:b) ?o ; a :C , :D ; }",
        Query,
    ),
    (
        "ASK { GRAPH ?g { ?s ?p ?o } ?s ?p ?o . SERVICE SILENT <e:s> { ?a ?b ?c } ?s ?p ?v }",
        Query,
    ),
    (
        "SELECT (COUNT(DISTINCT *) AS ?n) (GROUP_CONCAT(?x ; separator=', ') AS ?t) { ?s ?p ?x } GROUP BY (STR(?s) AS ?n2) HAVING (COUNT(*) > 1) ORDER BY ?n LIMIT10 OFFSET 5 VALUES ?x { 1 }",
        Query,
    ),
    (
        "SELECT (EXISTS { ?s ?p ?o } AS ?e) ?s { { SELECT (MAX(?x) AS ?m) { ?s ?p ?x } } LATERAL { ?s ?p ?m } }",
        Query,
    ),
    (
        "ASK { FILTER NOT EXISTS { ?s ?p ?v } FILTER(?x NOT IN (1, 2)) BIND(IF(?x, 1, 2) AS ?v) }",
        Query,
    ),
    (
        "ASK { << ?s ?p ?o >> ?q <<( ?s ?p 1 )>> . ?s ?p ?o ~ ?r {| ?a ?b ; ?c ?d |} . BIND(isTRIPLE(?t) AS ?u) }",
        Query,
    ),
    (
        "PREFIX a: <e:> INSERT DATA { a:a a:b 1 . GRAPH a:g { a:a a:b 2 } } ; PREFIX b: <e:> DELETE { ?s b:p ?o } INSERT { ?s a:q ?o } USING a:g WHERE { ?s b:p ?o } ; DELETE WHERE { ?s ?p ?o } ;",
        Update,
    ),
    (
        "LOAD SILENT <e:f> INTO GRAPH <e:g> ; COPY DEFAULT TO <e:g> ; WITH <e:g> DELETE {} WHERE {}",
        Update,
    ),
    ("CONSTRUCT WHERE { ?s ?p ?o } LIMIT 1", Query),
    (
        "CONSTRUCT { ?s ?p ?v } WHERE { ?s ?p ?o BIND(1 AS ?v) }",
        Query,
    ),
    ("ASK { { ?s ?p ?v } UNION { BIND(1 AS ?v) } }", Query),
    (
        "PREFIX : <e:> ASK { _:b:p :o . _:c :p _:d.:e :p _:f. ?s ?p.0 . ?s ?p .5e3 }",
        Query,
    ),
    ("\\u0041SK {}", Query),
];
