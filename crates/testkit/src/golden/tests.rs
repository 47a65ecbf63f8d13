//! Scripts run against the naive oracle.

use super::{GoldenError, Mode, ScriptEngine, run};
use crate::dataset::{Answer, Dataset};
use crate::naive;
use oxigraph::io::{RdfFormat, RdfParser};
use oxrdf::Quad;
use spargebra::SparqlParser;

/// An engine whose plan is the algebra.
#[derive(Default)]
struct NaiveEngine {
    /// What was loaded.
    quads: Vec<Quad>,
}

impl ScriptEngine for NaiveEngine {
    fn load(&mut self, trig: &str) -> Result<(), String> {
        for quad in RdfParser::from_format(RdfFormat::TriG).for_slice(trig.as_bytes()) {
            self.quads.push(quad.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn query(&mut self, text: &str) -> Result<Answer, String> {
        let query = SparqlParser::new()
            .parse_query(text)
            .map_err(|_| "not a query".to_owned())?;
        let data = Dataset::from_quads(self.quads.clone());
        naive::evaluate(&data, &query).map_err(|error| error.to_string())
    }

    fn explain(&mut self, text: &str) -> Result<String, String> {
        Ok(format!("plan of {} characters", text.trim().len()))
    }
}

const SCRIPT: &str = "# two people
[data trig]
@prefix : <http://a/> .
:x :age 2 ; :knows [] .
:y :age 1 .
----
[query]
SELECT ?p ?a ?no WHERE { ?p <http://a/age> ?a }
[rows]
?p\t?a\t?no
<http://a/y>\t\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>
<http://a/x>\t\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>

[plan]
plan of 47 characters
----
[query]
SELECT ?p WHERE { ?p <http://a/age> ?a } ORDER BY ?a
[rows ordered]
?p
<http://a/y>
<http://a/x>
----
[query]
ASK { ?p <http://a/age> 3 }
[rows]
false
----
[query]
SELECT (RAND() AS ?r) {}
[error]
function RAND is not supported by the naive oracle
";

fn check(script: &str, mode: Mode) -> Result<String, GoldenError> {
    run(script, &mut NaiveEngine::default(), mode)
}

#[test]
fn a_right_script_passes_and_blessing_keeps_it() {
    assert_eq!(check(SCRIPT, Mode::Check).expect("it passes"), SCRIPT);
    assert_eq!(check(SCRIPT, Mode::Bless).expect("it passes"), SCRIPT);
}

#[test]
fn a_wrong_line_fails_and_blessing_mends_it() {
    for (right, wrong) in [
        ("\"2\"^^", "\"3\"^^"),
        ("<http://a/y>\n<http://a/x>", "<http://a/x>\n<http://a/y>"),
        ("\nfalse", "\ntrue"),
        ("plan of 47", "plan of 8"),
        ("function RAND is", "function ROUND is"),
    ] {
        let broken = SCRIPT.replace(right, wrong);
        assert_ne!(broken, SCRIPT);
        let error = check(&broken, Mode::Check).expect_err("it differs");
        assert!(matches!(error, GoldenError::Differs { .. }), "{error}");
        let blessed = check(&broken, Mode::Bless).expect("blessing succeeds");
        assert!(check(&blessed, Mode::Check).is_ok(), "{blessed}");
    }
}

#[test]
fn mistakes_in_the_script_are_errors() {
    for (script, what) in [
        ("[rows]\ntrue\n", "without [query]"),
        ("[query]\nASK {}\n", "without an expected section"),
        ("[rwos]\n", "unknown section"),
        ("[query]\nASK {\n[rows]\ntrue\n", "not a query"),
        ("[query]\nASK {}\n[error]\nx\n", "an error is expected"),
        ("[data]\n<a\n", "line 1"),
    ] {
        let error = check(script, Mode::Check).expect_err(script).to_string();
        assert!(error.contains(what), "{error}");
    }
}
