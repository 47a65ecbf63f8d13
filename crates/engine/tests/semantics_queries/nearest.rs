//! The next one, the latest before, what NOT EXISTS asks of computed values, and NOT EXISTS within NOT EXISTS.

/// Partners of which only those at an end of a range are joined, since a NOT EXISTS drops the others.
pub const NEAREST: &[&str] = &[
    "SELECT * { ?s ?p ?o . ?x ?p ?y FILTER(?y > ?o) FILTER NOT EXISTS { ?z ?p ?w FILTER(?w > ?o && ?w < ?y) } }",
    "SELECT * { ?s ?p ?o . ?x ?p ?y FILTER(?y <= ?o && ISNUMERIC(?y)) FILTER NOT EXISTS { ?z ?p ?w FILTER(?w > ?y && ?w <= ?o) } }",
    "SELECT * { ?s ?p ?o . ?x ?p ?y FILTER(?y < ?o && ?x != ?s) FILTER NOT EXISTS { ?z ?p ?w FILTER(?y < ?w && ?o > ?w) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y >= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w >= ?o && ?w < ?y) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y >= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w >= ?o && ?w > ?y) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y ; :q ?v FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w <= ?o) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w ; :q ?v FILTER(?w > ?y && ?w <= ?o) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w < ?o) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER((?w > ?y || (?w = ?y && STR(?z) > STR(?x))) && ?w <= ?o) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o && ?y > ?o - 2) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w <= ?o) } }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w <= ?o && ?w > ?o - 2) } }",
    "SELECT * { GRAPH :g1 { ?s :p ?o } ?x :p ?y FILTER(?y <= ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w <= ?o) } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?x :p ?y FILTER(?y < ?o) FILTER NOT EXISTS { ?z :p ?w FILTER(?w > ?y && ?w < ?o) } } }",
    "SELECT ?s (COUNT(*) AS ?n) (MAX(?y) AS ?m) { ?s ?p ?o . ?x ?p ?y FILTER(?y > ?o) FILTER NOT EXISTS { ?z ?p ?w FILTER(?w > ?o && ?w < ?y) } } GROUP BY ?s",
    "SELECT * { VALUES ?a { 1 2.0 3e0 \"3\" 5 } ?x ?p ?y FILTER(?y >= ?a) FILTER NOT EXISTS { ?z ?p ?w FILTER(?w >= ?a && ?w < ?y) } }",
];

/// What is asked of rows inside an EXISTS whose computed values the rows around have, too: these are joined, and not put in the place of what is computed.
pub const INSIDE: &[&str] = &[
    "SELECT * { ?s :p ?o BIND(?o + 1 AS ?m) FILTER NOT EXISTS { ?x :p ?y BIND(?y * 2 AS ?m) } }",
    "SELECT * { ?s :p ?o BIND(?o + 1 AS ?m) FILTER EXISTS { ?x :p ?y BIND(?y * 2 AS ?m) FILTER(?x != ?s) } }",
    "SELECT * { ?s ?p ?o BIND(STRLEN(STR(?o)) AS ?m) FILTER NOT EXISTS { ?x ?p ?y BIND(STRLEN(STR(?y)) AS ?m) FILTER(?y > ?o) } }",
    "SELECT * { ?s ?p ?o BIND(STRLEN(?o) AS ?m) FILTER(BOUND(?m)) FILTER NOT EXISTS { ?x ?p ?y BIND(STRLEN(?y) AS ?m) FILTER(?x != ?s) } }",
    "SELECT * { ?s ?p ?o BIND(ABS(?o) AS ?m) FILTER(BOUND(?m)) FILTER EXISTS { ?x :p ?y BIND(ABS(?y) AS ?m) FILTER(?x != ?s) } }",
    "SELECT * { ?s :p ?o BIND(?o + 1 AS ?m) OPTIONAL { ?x :p ?y BIND(?y * 2 AS ?m) FILTER(?y > ?o) } FILTER(!BOUND(?x)) }",
    "SELECT * { ?s :p ?o FILTER NOT EXISTS { ?s :q ?d { ?x :p ?e BIND(1 AS ?z) FILTER(?e > ?d) } } }",
    "SELECT * { ?s :p ?o FILTER EXISTS { ?s :p ?d { ?x :p ?e BIND(1 AS ?z) FILTER(?e > ?d) } } }",
    "SELECT * { ?s :p ?d FILTER NOT EXISTS { ?s :q ?y { ?x :p ?e BIND(1 AS ?z) FILTER(?e > ?d) } } }",
    "SELECT * { ?s :p ?d FILTER NOT EXISTS { ?s :p ?d { ?x :p ?e BIND(1 AS ?z) FILTER(?e > ?d) } } }",
    "SELECT * { ?s :p ?o BIND(?o + 1 AS ?m) FILTER EXISTS { ?x :p ?y BIND(IF(?y > 1, ?y, 1/0) AS ?m) FILTER(?m > 2) } }",
    "SELECT * { ?s :p ?o BIND(STR(?o) AS ?m) FILTER EXISTS { ?x :p ?y . ?z :q ?w BIND(IF(?y > 1, STR(?y), 1/0) AS ?m) FILTER(STRLEN(?m) = 1) } }",
    "SELECT * { ?s :p ?o BIND(?o + 1 AS ?m) MINUS { ?x :p ?y BIND(?y * 2 AS ?m) } }",
];

/// Booleans that are compared by their ids, and cast to numbers as columns.
pub const BOOLEANS: &[&str] = &[
    "SELECT (MAX(?b) AS ?x) (MIN(?b) AS ?y) { VALUES ?b { true false true } }",
    "SELECT ?k (MAX(?b) AS ?x) (MIN(?b) AS ?y) { VALUES (?k ?b) { (1 true) (1 false) (2 true) (3 false) } } GROUP BY ?k",
    "SELECT (SUM(xsd:integer(?b)) AS ?n) (SUM(xsd:decimal(?b)) AS ?m) (SUM(xsd:double(?b)) AS ?d) (AVG(xsd:float(?b)) AS ?f) { VALUES ?b { true false true } }",
    "SELECT ?b (xsd:integer(?b) + 1 AS ?n) (xsd:decimal(?b) * 2 AS ?m) (xsd:double(?b) AS ?d) { VALUES ?b { true UNDEF false \"1\"^^xsd:boolean 3 \"x\" } }",
    "SELECT * { VALUES ?a { true false 1 } VALUES ?b { true false \"false\" } FILTER(?a < ?b) }",
];

/// NOT EXISTS within NOT EXISTS, and conditions on what is computed of one part of a group.
pub const WITHIN: &[&str] = &[
    "SELECT * { ?s :q ?o FILTER NOT EXISTS { ?x :q ?y FILTER NOT EXISTS { ?s :q ?y } } }",
    "SELECT ?s ?x { ?s :q ?o . ?x ?p ?v FILTER NOT EXISTS { ?s :q ?y FILTER NOT EXISTS { ?x :q ?y } } }",
    "SELECT ?s ?x { ?s :q ?o . ?x ?p ?v FILTER NOT EXISTS { ?z :q ?s ; ?r ?y FILTER NOT EXISTS { ?w :q ?x ; ?r ?y } } }",
    "SELECT * { ?s ?p ?o FILTER EXISTS { ?x ?q ?s FILTER NOT EXISTS { ?x :p ?o } FILTER EXISTS { ?y ?q ?o } } }",
    "SELECT * { ?s :p ?o . ?x :p ?y BIND(STR(?y) AS ?w) FILTER(STRLEN(?w) > 1) FILTER(?o <= ?y) }",
    "SELECT * { ?s :p ?o . ?x :q ?y BIND(STRAFTER(STR(?y), \"e/\") AS ?w) FILTER(STRSTARTS(?w, \"b\") || ?o = 2) }",
    "SELECT * { ?s :p ?o . ?x :q ?y BIND(STRAFTER(STR(?y), \"e/\") AS ?w) FILTER(STRSTARTS(?w, \"b\")) }",
];
