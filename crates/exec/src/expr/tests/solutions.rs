//! What belongs to one solution or to one query: `BNODE` with a label, and the base of `IRI`.

use super::{context, evaluate, id_of, parse, show};
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::expr::CompiledExpr;
use basalt_plan::physical::Slot;
use basalt_store::Snapshot;

#[test]
fn a_label_names_one_node_in_each_solution() {
    let cx = context();
    let (x, y) = (id_of("\"x\"", &cx), id_of("\"y\"", &cx));
    let rows = vec![vec![x, x, y, x], vec![x, y, y, 0]];
    let same = evaluate("sameTerm(BNODE(?a), BNODE(?b))", rows.clone(), &cx);
    let shown: Vec<_> = same.into_iter().map(|id| show(id, &cx)).collect();
    let (yes, no) = ("\"true\"^^<xsd:boolean>", "\"false\"^^<xsd:boolean>");
    assert_eq!(shown, [yes, no, yes, "error"]);
    let mut nodes = evaluate("BNODE(?a)", rows, &cx);
    assert!(
        nodes
            .iter()
            .all(|&id| cx.terms().is_blank(basalt_rdf::TermId(id)))
    );
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 4, "other solutions have other nodes");
}

#[test]
fn a_solution_stays_one_while_rows_are_dropped_and_extended() {
    let cx = context();
    let x = id_of("\"x\"", &cx);
    let compiled = CompiledExpr::compile(&parse("BNODE(?a)"), &[Slot(0)], &cx).expect("compiles");
    let nodes = |batch: &Batch| compiled.evaluate(batch, &cx).expect("runs");
    let plain = Batch::from_vectors(vec![vec![x; 4]], 4);
    let batch = compiled.with_solutions(plain.clone(), &cx);
    let first = nodes(&batch);
    assert_eq!(nodes(&batch), first);
    assert_eq!(
        compiled.with_solutions(batch.clone(), &cx).solutions(),
        batch.solutions()
    );
    assert_eq!(nodes(&batch.keep(&[1, 3])), [first[1], first[3]]);
    assert_eq!(nodes(&batch.slice(1, 2)), first[1..3]);
    let extended = batch.clone().with_column(first.clone());
    assert_eq!(nodes(&extended.select_columns(&[Some(0), None])), first);
    // New rows are new solutions, even if there is one for one.
    let repeated = nodes(&batch.take(&[0, 0, 1]));
    assert!(repeated.iter().all(|node| !first.contains(node)));
    assert_ne!(repeated[0], repeated[1]);
    assert_eq!(plain.solutions(), None);
}

#[test]
fn what_computes_with_a_labelled_node_knows_its_solution() {
    let cx = context();
    let text = "IF(isBlank(BNODE(?a)), 1, 2) + ?b";
    let compiled = CompiledExpr::compile(&parse(text), &[Slot(0), Slot(1)], &cx);
    let compiled = compiled.expect("compiles");
    let columns = vec![
        vec![id_of("\"x\"", &cx); 2],
        vec![id_of("1", &cx), id_of("1e0", &cx)],
    ];
    let batch = compiled.with_solutions(Batch::from_vectors(columns, 2), &cx);
    assert!(batch.solutions().is_some());
    let sums = compiled.evaluate(&batch, &cx).expect("runs");
    assert_eq!(sums, [id_of("2", &cx), id_of("2e0 + 0", &cx)]);
}

#[test]
fn labels_may_be_any_text() {
    let cx = context();
    let label = |text: &str| show(id_of(&format!("BNODE(\"{text}\")"), &cx), &cx);
    for text in ["", "a b", "\u{e9}", "_:x"] {
        let node = label(text);
        let name = node.strip_prefix("_:").expect("a blank node");
        assert!(oxrdf::BlankNode::new(name).is_ok(), "{node}");
    }
    let cx = context();
    assert_eq!(show(id_of("BNODE(1)", &cx), &cx), "error");
    assert_eq!(show(id_of("BNODE(\"x\"@en)", &cx), &cx), "error");
}

#[test]
fn iris_are_resolved_against_the_base() {
    let options = ExecOptions {
        base_iri: Some("http://e/dir/doc?q".into()),
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, 0);
    for (reference, iri) in [
        ("x", "<http://e/dir/x>"),
        ("../x", "<http://e/x>"),
        ("/x", "<http://e/x>"),
        ("#x", "<http://e/dir/doc?q#x>"),
        ("", "<http://e/dir/doc?q>"),
        ("//other/x", "<http://other/x>"),
        ("urn:x:y", "<urn:x:y>"),
        ("\u{e9}", "<http://e/dir/\u{e9}>"),
        ("a b", "error"),
    ] {
        for name in ["IRI", "URI"] {
            let id = id_of(&format!("{name}(\"{reference}\")"), &cx);
            assert_eq!(show(id, &cx), iri, "{reference}");
        }
    }
    assert_eq!(
        show(id_of("IRI(<http://o/a/../b>)", &cx), &cx),
        "<http://o/a/../b>"
    );
    assert_eq!(show(id_of("IRI(\"x\"@en)", &cx), &cx), "error");
}
