//! Requests cut into operations, what is quoted of them, and what is refused.

use super::{Operation, Step, parse};
use crate::error::Error;
use crate::update::UpdateOptions;

fn steps(text: &str) -> Vec<Step<'_>> {
    parse(text, &UpdateOptions::default()).expect("the request parses")
}

fn names(text: &str) -> Vec<&'static str> {
    steps(text)
        .iter()
        .map(|step| step.operation.name())
        .collect()
}

fn message(text: &str, options: &UpdateOptions) -> String {
    match parse(text, options) {
        Err(Error::UpdateText { message }) => message,
        other => unreachable!("expected a refusal of {text}, got {other:?}"),
    }
}

#[test]
fn every_operation_is_one_step() {
    let text = "PREFIX e: <http://e/> INSERT DATA { e:a e:p 1 } ; DELETE DATA { e:a e:p TRUE } ; \
        COPY e:a TO e:b ; MOVE SILENT DEFAULT TO e:b ; ADD e:a TO e:a ; CLEAR ALL ; DROP GRAPH e:a ; \
        LOAD <http://e/x> INTO GRAPH e:a ; CREATE GRAPH e:a ; DELETE WHERE { ?s ?p ?o } ; \
        INSERT { ?s ?p 1 } WHERE { ?s ?p ?o } ; WITH e:a DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } WHERE { ?s ?p ?o } ;";
    assert_eq!(
        names(text),
        [
            "INSERT DATA",
            "DELETE DATA",
            "COPY",
            "MOVE",
            "ADD",
            "CLEAR",
            "DROP",
            "LOAD",
            "CREATE",
            "DELETE WHERE",
            "INSERT WHERE",
            "DELETE/INSERT WHERE"
        ]
    );
    let steps = steps(text);
    let ends = |idx: usize| match &steps[idx].operation {
        Operation::Transfer {
            is_silent, ends, ..
        } => (
            *is_silent,
            ends.as_ref().map(|(from, to)| format!("{from} {to}")),
        ),
        _ => (false, None),
    };
    assert_eq!(ends(2), (false, Some("<http://e/a> <http://e/b>".into())));
    assert_eq!(ends(3), (true, Some("DEFAULT <http://e/b>".into())));
    assert_eq!(ends(4), (false, None));
    assert_eq!(steps[2].text, "COPY e:a TO e:b");
    assert!(names("").is_empty());
    assert!(names("PREFIX e: <http://e/>").is_empty());
}

#[test]
fn operations_beside_codepoint_escapes_are_steps_too() {
    for literal in [
        r#""\u0041""#,
        r#""\U00000041""#,
        r#""C:\\Users\\me""#,
        r#""\\Users ; MOVE""#,
        r#""\\u0022 ; MOVE <e:a> TO <e:b>""#,
        r#""\\\" ; \u0041""#,
        r#""\u005Cu0022 ; MOVE""#,
        r#"\u0022x\u0022"#,
        r#""C:\\Users"@EN , TRUE"#,
    ] {
        let transfer = "COPY <e:a> TO <e:b>";
        let insert = format!("INSERT DATA {{ <e:s> <e:p> {literal} }}");
        assert_eq!(
            names(&format!("{transfer} ; {insert}")),
            ["COPY", "INSERT DATA"],
            "{literal}"
        );
        assert_eq!(
            names(&format!("{insert} ; {transfer}")),
            ["INSERT DATA", "COPY"],
            "{literal}"
        );
        assert_eq!(names(&insert), ["INSERT DATA"], "{literal}");
        let declared = format!("CLEAR ALL ; PREFIX e: <http://e/> {insert} ; ADD e:a TO e:b");
        assert_eq!(
            names(&declared),
            ["CLEAR", "INSERT DATA", "ADD"],
            "{literal}"
        );
    }
    let text = r"MOV\u0045 SILENT <e:\u0061> TO <e:b> \u003B # C:\Users ; COPY
        CLEAR ALL";
    let steps = steps(text);
    assert_eq!(steps[0].text, "MOVE SILENT <e:a> TO <e:b>");
    assert!(matches!(
        &steps[0].operation,
        Operation::Transfer {
            is_silent: true,
            ends: Some(_),
            ..
        }
    ));
    assert_eq!(names(text), ["MOVE", "CLEAR"]);
}

#[test]
fn literals_beside_codepoint_escapes_are_as_written() {
    let text = r#"ADD <e:a> TO <e:b> ; INSERT DATA { <e:s> <e:p> "C:\\Users\\me" , "\u005Cu0022" , "\u0041"@EN }"#;
    let steps = steps(text);
    let Operation::InsertData(data) = &steps[1].operation else {
        unreachable!("{steps:?}");
    };
    let mut objects: Vec<String> = data.iter().map(|quad| quad.object.to_string()).collect();
    objects.sort();
    assert_eq!(objects, [r#""A"@EN"#, r#""C:\\Users\\me""#, r#""\"""#]);
}

#[test]
fn transfers_that_are_not_told_apart_are_refused() {
    let options = UpdateOptions::default();
    for text in [
        // Two empty strings, or the start of a long one.
        "INSERT DATA { <e:s> <e:p> (\"\"\"\") } ; MOVE <e:a> TO <e:b>",
        "ADD <e:a> TO <e:b> ; INSERT DATA { <e:s> <e:p> (\"\"\"\") } ; CLEAR ALL",
        "MOVEDEFAULT TO <e:b>",
        "CLEARALL ; COPYDEFAULT TO <e:b>",
    ] {
        let message = message(text, &options);
        assert!(message.contains("not told apart"), "{text}: {message}");
    }
    assert_eq!(
        names("CLEARALL ; DROPALL ; COPY <e:a> TO <e:b>"),
        ["CLEAR", "DROP", "COPY"]
    );
    let address = "INSERTDATA { <e:s> <http://schema.org/address> 1 }";
    assert_eq!(names(address), ["INSERT DATA"]);
    let wrong = "COPY <e:a> TO <e:b> ;\nINSERT DATA { <e:s> <e:p> \"\\u0041\" , ?x }";
    let message = message(wrong, &options);
    let said = "ariables are not allowed in INSERT DATA";
    assert!(message.contains(said), "{message}");
}

#[test]
fn declarations_between_operations_count_from_there_on() {
    let text = "CLEAR DEFAULT ;\nPREFIX e: <http://e/> CLEAR GRAPH e:a ;\nBASE <http://b/> PREFIX e: <http://f/>\n\
        INSERT DATA { <x> e:p e:o } ; COPY e:a TO <g>";
    let steps = steps(text);
    assert_eq!(steps.len(), 4);
    let Operation::InsertData(data) = &steps[2].operation else {
        unreachable!("{steps:?}");
    };
    assert_eq!(
        data[0].to_string(),
        "<http://b/x> <http://f/p> <http://f/o>"
    );
    let wrong = message(
        "CLEAR ALL ;\nPREFIX e: <http://e/>\nINSERT DATA { e:a e:p ?x }",
        &UpdateOptions::default(),
    );
    let said = "ariables are not allowed in INSERT DATA: «?x», at line 3, column 23";
    assert!(wrong.contains(said), "{wrong}");
    let wrong = "CLEAR ALL ;\nPREFIX e: <http://e/>\nINSERT DATA { e:a f:p 1 }";
    let wrong = message(wrong, &UpdateOptions::default());
    assert!(wrong.contains("«f:p», at line 3, column 19"), "{wrong}");
    let shared = "INSERT DATA { _:a <p:p> 1 } ; PREFIX e: <http://e/> INSERT DATA { _:a e:p 2 }";
    assert!(message(shared, &UpdateOptions::default()).contains("'_:a'"));
}

#[test]
fn what_is_no_update_is_quoted() {
    let options = UpdateOptions::default();
    let cases = [
        ("SELECT * { ?s ?p ?o }", "SELECT"),
        ("INSERT DATA { ?s <p:p> 1 }", "INSERT DATA"),
        ("DELETE DATA { _:a <p:p> 1 }", "DELETE DATA"),
        ("DELETE { _:a <p:p> 1 } WHERE {}", "DELETE"),
        ("COPY <p:a> <p:b>", "COPY"),
        (
            "INSERT DATA { _:a <p:p> 1 } ; INSERT DATA { _:a <p:p> 2 }",
            "a",
        ),
    ];
    for (text, quoted) in cases {
        let message = message(text, &options);
        assert!(message.contains(quoted), "{text}: {message}");
    }
}

#[test]
fn graphs_are_given_in_one_place_only() {
    let mut options = UpdateOptions::default();
    options.query.default_graphs.push("http://e/g".into());
    for text in [
        "WITH <p:g> INSERT { ?s ?p 1 } WHERE { ?s ?p 2 }",
        "INSERT { ?s ?p 1 } USING <p:g> WHERE { ?s ?p 2 }",
        "CLEAR ALL ; INSERT { ?s ?p 1 } USING NAMED <p:g> WHERE { ?s ?p 2 }",
    ] {
        assert!(message(text, &options).contains("beside"), "{text}");
    }
    assert!(
        parse(
            "INSERT { ?s ?p 1 } WHERE { ?s ?p 2 } ; COPY <p:a> TO <p:b>",
            &options
        )
        .is_ok()
    );
    options.query.default_graphs[0] = "relative".into();
    assert!(message("CLEAR ALL", &options).contains("'relative'"));
}
