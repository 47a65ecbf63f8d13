//! Parts of a query that are joined by one thing or another, taken away by what may be unbound, or needed for some rows alone.

/// Disjunctions of equalities between parts that nothing else joins, and between a row and what is inside an EXISTS.
pub const DISJUNCTIONS: &[&str] = &[
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s = ?x || ?s = ?y) }",
    "SELECT * { ?s ?p ?o . ?x ?q ?y FILTER(?o = ?y || ?s = ?x) }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?o = ?y + 1 || ?o = ?y) }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(sameTerm(?o, ?y) || ?o = ?y * 2 || ?s = ?x) }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s IN (?x, ?y)) }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s NOT IN (?x, ?y)) }",
    "SELECT * { ?s ?p ?o . ?x ?q ?y FILTER(?o IN (?y, ?x)) }",
    "SELECT * { ?s :p ?o . ?x :p ?y FILTER(?o IN (?y, ?y + 1, 2)) }",
    "SELECT * { ?s :p ?o FILTER(?o IN (?nothing, 2)) }",
    "SELECT * { ?s :p ?o . ?x :r ?y FILTER(?o NOT IN (?y, 2)) }",
    "SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?x ?q ?y FILTER((?s = ?x && ?q = :q) || ?o = ?y || ?s = ?y) }",
    "SELECT * { ?s :p ?o . ?x :q ?y . ?z :r ?w FILTER(?s = ?x || ?z = ?y) }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s = ?x || ?s = ?y) FILTER(?o = 1 || ?o = 2) }",
    "SELECT * { ?s :p ?o . ?x :q ?y OPTIONAL { ?x :p ?z } FILTER(?s = ?x || ?z = ?o) }",
    "SELECT * { GRAPH :g1 { ?s :p ?o } ?x :q ?y FILTER(?s = ?x || ?s = ?y) }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s = ?x || ?s = ?y || EXISTS { ?x :r ?o }) }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?s = ?x || ?s = ?y) FILTER EXISTS { ?x :p ?z } }",
    "SELECT * { ?s :p ?o FILTER NOT EXISTS { ?x :q ?y FILTER(?x = ?s || ?y = ?s) } }",
    "SELECT * { ?s :p ?o FILTER EXISTS { ?x :q ?y FILTER(?x = ?s || ?y = ?s) } }",
    "SELECT * { ?s :p ?o FILTER EXISTS { ?x :q ?y FILTER(?s IN (?x, ?y)) } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?x :r ?y FILTER(?y = ?o || (?x = ?s && ?p != :r)) } }",
    "SELECT * { ?s :p ?o FILTER NOT EXISTS { ?x :q ?s FILTER(?x = ?o || ?x = ?s) } }",
    "SELECT * { ?s :p ?o BIND(EXISTS { ?x :q ?y FILTER(?x = ?s || ?y = ?s) } AS ?e) }",
    "SELECT * { ?s :p ?o OPTIONAL { ?x :q ?y FILTER(?x = ?s || ?y = ?s) } }",
    "SELECT * { VALUES ?a { 10 11 12 13 14 15 16 17 1 1.0 \"1\" UNDEF } VALUES ?b { 10 11 12 13 14 15 16 17 1.00 :a UNDEF } VALUES ?c { 10 11 12 13 14 15 16 17 1e0 \"1\" } FILTER(?a = ?b || ?a = ?c) }",
];

/// MINUS by slots that may be unbound on either side.
pub const MINUS: &[&str] = &[
    "SELECT * { ?s ?p ?o OPTIONAL { ?s :q ?v } MINUS { ?x :q ?v } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?x :p ?y OPTIONAL { ?x :q ?v } } }",
    "SELECT * { ?s ?p ?o OPTIONAL { ?s :q ?v } OPTIONAL { ?s :r ?w } MINUS { ?x ?p2 ?y OPTIONAL { ?x :q ?v } OPTIONAL { ?y :r ?w } } }",
    "SELECT * { VALUES (?a ?b) { (1 2) (1 UNDEF) (UNDEF 2) (UNDEF UNDEF) (3 4) } MINUS { VALUES (?a ?b) { (1 UNDEF) (UNDEF UNDEF) } } }",
    "SELECT * { VALUES (?a ?b) { (1 2) (1 UNDEF) (UNDEF 2) (UNDEF UNDEF) (3 4) } MINUS { VALUES (?a ?b) { (UNDEF 2) (3 5) } } }",
    "SELECT * { VALUES (?a ?b ?c) { (1 2 3) (1 UNDEF 3) (UNDEF 2 UNDEF) (UNDEF UNDEF 5) (3 4 UNDEF) } MINUS { VALUES (?a ?b ?c) { (1 UNDEF 4) (UNDEF 2 3) (UNDEF 4 6) (UNDEF UNDEF UNDEF) } } }",
    "SELECT * { GRAPH ?g { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?x :p ?y OPTIONAL { ?x :q ?v } } } }",
    "SELECT * { GRAPH ?g { ?s :p ?o OPTIONAL { ?s :q ?v } } }",
    "SELECT * { GRAPH ?g { ?s :q ?o OPTIONAL { ?s :p ?v } OPTIONAL { ?s :r ?w } } }",
    "SELECT * { ?x :in ?g GRAPH ?g { ?s :p ?o OPTIONAL { ?s :q ?v } } }",
    "SELECT * { ?s :p ?o ; :q ?v MINUS { ?s :p ?o ; :r ?w } }",
    "SELECT * { ?s :p ?o MINUS { ?s :p ?o . ?s :p ?x FILTER(?x > ?o) } }",
    "SELECT * { ?s :p ?o MINUS { ?s :p ?o . ?x :p ?y FILTER(?y > ?o) } }",
    "SELECT * { ?s ?p ?o MINUS { ?s ?p ?o } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?s :p ?o FILTER(!BOUND(?v) && ?o > 1) } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?s :p ?o OPTIONAL { ?s :r ?v } } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?s :p ?o . { ?s :r ?v } UNION { ?x :in ?g } FILTER(COALESCE(?v, ?o) != 2) } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?s :p ?o OPTIONAL { ?s :r ?v } FILTER(!BOUND(?v) || ?o > 1) } }",
    "SELECT * { ?s :p ?o MINUS { ?s :p ?o FILTER(?o > 1 && !BOUND(?none)) } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } MINUS { ?s :q ?v . ?s :p ?x FILTER(?x < 3) } }",
    "SELECT * { GRAPH ?g { ?s :p ?o MINUS { ?s :p ?o . ?x :q ?s } } }",
    "SELECT * { GRAPH ?g { ?s :p ?o } MINUS { GRAPH ?g { ?s :p ?o . ?x :q ?s } } }",
    "SELECT * { GRAPH ?g { ?s :p ?o } MINUS { GRAPH ?h { ?s :p ?o FILTER(?h != :g2) } } }",
    "SELECT * { ?s :p ?o MINUS { ?s :p ?o FILTER EXISTS { ?s :q ?z } } }",
];

/// Equalities of which a side is a value given before.
pub const GIVEN: &[&str] = &[
    "SELECT * { ?s :p ?o . ?x :p ?y BIND(STR(?o) AS ?k) FILTER(?k = STR(?y)) }",
    "SELECT * { ?s :p ?o BIND(STR(?o) AS ?k) BIND(CONCAT(?k, \"x\") AS ?l) ?x :p ?y BIND(CONCAT(STR(?y), \"x\") AS ?m) FILTER(?l = ?m) }",
    "SELECT * { ?s ?p ?o . ?x :q ?y BIND(STRBEFORE(STR(?o), \"/b\") AS ?k) FILTER(?k = STRBEFORE(STR(?y), \"/b\")) }",
    "SELECT * { ?s :p ?o . ?x :r ?y BIND(LCASE(?y) AS ?k) FILTER(?k = STR(?o)) }",
    "SELECT * { ?s :p ?o . ?x :r ?y BIND(LCASE(?y) AS ?k) FILTER(COALESCE(?k, \"5\") = STR(?o)) }",
    "SELECT * { ?s :p ?o . ?x :r ?y BIND(LCASE(?y) AS ?k) FILTER(!BOUND(?k) || ?k = STR(?o)) }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?v } ?x :q ?y BIND(STR(?v) AS ?k) FILTER(?k = STR(?y)) }",
    "SELECT * { ?s :p ?o ; :q ?v BIND(STR(?o) AS ?k) FILTER(?k = STR(?v)) }",
];

/// OPTIONAL, MINUS and NOT EXISTS of groups, distinct rows and unions, of which the rows before need some.
pub const GROUPS: &[&str] = &[
    "SELECT * { ?s :r ?o OPTIONAL { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?v } GROUP BY ?s } }",
    "SELECT * { ?s :r ?o OPTIONAL { SELECT ?s (COUNT(*) AS ?n) (MIN(?v) AS ?m) { ?s :q ?v OPTIONAL { ?v :p ?w } } GROUP BY ?s HAVING(COUNT(*) > 0) } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT DISTINCT ?s ?v { { ?s :p ?v } UNION { ?s :r ?v } } } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT ?s ?c (COUNT(?v) AS ?n) { { ?s :p ?v BIND(1 AS ?c) } UNION { ?s :r ?v BIND(2 AS ?c) } } GROUP BY ?s ?c } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT ?s (SUM(?w) AS ?n) { ?s :q ?v . ?v :p ?w FILTER NOT EXISTS { ?s :in ?g } } GROUP BY ?s } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT (COUNT(*) AS ?n) { ?s ?p ?v } } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT ?v (COUNT(*) AS ?n) { ?s ?p ?v } GROUP BY ?v } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s } }",
    "SELECT * { ?s :q ?o OPTIONAL { SELECT ?s ?o (COUNT(*) AS ?n) { ?s ?p ?v . ?o ?r ?w } GROUP BY ?s ?o } }",
    "SELECT * { ?s :q ?o FILTER NOT EXISTS { SELECT ?s { ?s ?p ?v } GROUP BY ?s HAVING(COUNT(*) > 2) } }",
    "SELECT * { ?s :q ?o MINUS { SELECT ?s { ?s ?p ?v } GROUP BY ?s HAVING(COUNT(*) > 2) } }",
    "SELECT * { ?s :q ?o MINUS { { ?s :p ?v } UNION { ?s :r ?v FILTER NOT EXISTS { ?s :in ?g } } } }",
];

/// Groups over partners in range, of which sets are enough: counts, sums, means and extremes, with the rows that have none and without.
pub const SETS: &[&str] = &[
    "SELECT ?s ?o (MAX(?y) AS ?m) (MIN(?y) AS ?l) { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) } GROUP BY ?s ?o",
    "SELECT ?s (COUNT(*) AS ?n) (AVG(?y) AS ?m) { ?s :p ?o . ?x :r ?y FILTER(?y > ?o) } GROUP BY ?s",
    "SELECT ?p (COUNT(?x) AS ?n) (MAX(?o) AS ?m) { ?s ?p ?o . ?x ?p ?y FILTER(?y < ?o) } GROUP BY ?p",
    "SELECT ?s ?o (COUNT(?y) AS ?n) (COUNT(*) AS ?k) (MIN(?y) AS ?l) { ?s ?p ?o OPTIONAL { ?x ?p ?y FILTER(?y > ?o) } } GROUP BY ?s ?o",
    "SELECT ?s ?o (SUM(?y) AS ?n) (AVG(?y) AS ?m) { ?s :p ?o OPTIONAL { ?x :r ?y FILTER(?y < ?o) } } GROUP BY ?s ?o",
    "SELECT (COUNT(*) AS ?n) (SUM(?y) AS ?t) (MAX(?y) AS ?m) { ?s :p ?o . ?x ?q ?y FILTER(?y < ?o) }",
    "SELECT (COUNT(*) AS ?n) (AVG(?y) AS ?t) { ?s :nothing ?o . ?x ?q ?y FILTER(?y < ?o) }",
    "SELECT ?m (SUM(?y) AS ?t) (SAMPLE(?m) AS ?k) { ?s :p ?o . ?x :p ?y FILTER(?y <= ?o) } GROUP BY (?o * 2 AS ?m)",
    "SELECT ?s (COUNT(DISTINCT ?o) AS ?n) (COUNT(?y) AS ?k) { ?s :p ?o . ?x :p ?y FILTER(ABS(?y - ?o) <= 1) } GROUP BY ?s HAVING(COUNT(?y) > 1)",
    "SELECT ?o (COUNT(*) AS ?n) { { SELECT DISTINCT ?o { ?s :p ?o } } ?x :q ?z . ?z :p ?y FILTER(?y <= ?o) } GROUP BY ?o",
    "SELECT ?g ?o (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o . ?x ?p ?y FILTER(?y <= ?o) } } GROUP BY ?g ?o",
    "SELECT ?a (COUNT(*) AS ?n) (MAX(?b) AS ?m) { VALUES ?a { 16777217 16777216.5 0.1 0.2e0 \"0.3\"^^xsd:float 3 \"x\" UNDEF } VALUES ?b { 16777216 0.3 0.3e0 \"0.1\"^^xsd:float -1e300 \"NaN\"^^xsd:double 2.9 UNDEF } FILTER(?b < ?a) } GROUP BY ?a",
    "SELECT ?s (MAX(?b) AS ?m) (COUNT(*) AS ?n) { ?s :p ?o BIND(IF(?o > 1, \"2000-01-01T00:00:00Z\"^^xsd:dateTime, \"2000-01-01T09:00:00\"^^xsd:dateTime) AS ?a) { SELECT ?b { ?x :p ?y BIND(IF(?y > 1, \"1999-12-31T00:00:00\"^^xsd:dateTime, \"2000-01-01T06:00:00Z\"^^xsd:dateTime) AS ?b) } } FILTER(?b <= ?a) } GROUP BY ?s",
];

/// `GRAPH ?g` inside EXISTS and LATERAL, whose `?g` has its value from the row around.
pub const GIVEN_GRAPHS: &[&str] = &[
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g { ?s :q ?w FILTER(?g = :g1) } } }",
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER NOT EXISTS { GRAPH ?g { ?s ?q ?w FILTER(?g = :g1) } } }",
    "SELECT * { VALUES ?g { :g1 :g2 :nothing } FILTER EXISTS { GRAPH ?g { ?s ?q ?w FILTER(?g = :g1) } } }",
    "SELECT * { VALUES ?g { :g1 :g2 } FILTER EXISTS { GRAPH ?g { FILTER(?g = :g1) } } }",
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g { { ?s :q ?w FILTER(?g = :g2) } UNION { ?x :q ?s FILTER(STRENDS(STR(?g), \"1\")) } } } }",
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g { ?s ?q ?w BIND(STR(?g) AS ?t) FILTER(STRENDS(?t, \"2\")) } } }",
    "SELECT * { GRAPH ?g { ?s ?p ?v } FILTER EXISTS { GRAPH ?g { ?s ?q ?w OPTIONAL { ?w :p ?x FILTER(?g = :g1) } FILTER(BOUND(?x)) } } }",
    "SELECT * { GRAPH ?g { ?s ?p ?v } FILTER EXISTS { GRAPH ?g { ?s ?q ?w FILTER NOT EXISTS { ?w :p ?x FILTER(?g = :g1) } } } }",
    "SELECT * { GRAPH ?g { ?s :p ?v } BIND(EXISTS { GRAPH ?g { ?s ?q ?w FILTER(?g != :g1) } } AS ?e) }",
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?h { ?s :q ?w FILTER(?g = :g1) } } }",
    "SELECT * { GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g { ?s ?q ?w } FILTER(?g = :g2) } }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s :p ?v } } GROUP BY ?g HAVING(EXISTS { GRAPH ?g { ?x :q ?w FILTER(?g = :g1) } })",
];
