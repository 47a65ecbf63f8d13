//! Arrow results, read back with the reader of arrow-ipc: every term must come out as the JSON results
//! have it, and values must be what the lexical forms mean.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Field, SchemaRef};
use basalt_engine::results::{write_boolean, write_solutions};
use basalt_engine::{Answer, Database, GraphFormat, QueryOptions, ResultsFormat};
use basalt_testkit::split_mix::SplitMix;
use std::io::Cursor;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

fn answer(database: &Database, query: &str, format: ResultsFormat) -> Vec<u8> {
    let answer = database
        .query(query, &QueryOptions::default())
        .expect("it runs");
    let mut out = Vec::new();
    match answer {
        Answer::Solutions(mut solutions) => {
            write_solutions(&mut solutions, format, &mut out).expect("memory takes all");
        }
        Answer::Boolean(value) => write_boolean(value, format, &mut out).expect("memory"),
        Answer::Graph(_) => unreachable!("no graphs here"),
    }
    out
}

fn batches(bytes: &[u8]) -> (SchemaRef, Vec<RecordBatch>) {
    let reader = StreamReader::try_new(Cursor::new(bytes), None).expect("a schema");
    let schema = reader.schema();
    (
        schema,
        reader.map(|batch| batch.expect("a batch")).collect(),
    )
}

/// A column without a separate term, back in N-Triples form, by the rules of `docs/arrow-results.md`.
fn term_of_value(field: &Field, column: &dyn Array, row: usize) -> String {
    let note = |key: &str| {
        field
            .metadata()
            .get(key)
            .map(String::as_str)
            .unwrap_or_default()
    };
    let lexical = lexical_form(note("rdf.lexical"), column, row);
    match (note("rdf.kind"), note("rdf.datatype"), note("rdf.language")) {
        ("iri", ..) => format!("<{lexical}>"),
        ("bnode", ..) => format!("_:{lexical}"),
        (_, datatype, "") => literal(&lexical, &format!("^^<{datatype}>")),
        (_, _, tag) => literal(&lexical, &format!("@{tag}")),
    }
}

fn literal(lexical: &str, suffix: &str) -> String {
    let escaped = lexical.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = escaped.replace('\n', "\\n").replace('\r', "\\r");
    let suffix = if suffix == format!("^^<{XSD}string>") {
        ""
    } else {
        suffix
    };
    format!("\"{escaped}\"{suffix}")
}

fn float_form(style: &str, plain: String, exponent: String) -> String {
    match (plain.as_str(), style, exponent.split_once('E')) {
        ("inf", ..) => "INF".to_owned(),
        ("-inf", ..) => "-INF".to_owned(),
        ("NaN", ..) | (_, "plain", _) | (_, _, None) => plain,
        (_, _, Some((mantissa, power))) if mantissa.contains('.') => format!("{mantissa}E{power}"),
        (_, _, Some((mantissa, power))) => format!("{mantissa}.0E{power}"),
    }
}

fn lexical_form(style: &str, column: &dyn Array, row: usize) -> String {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            float_form(style, value.to_string(), format!("{value:E}"))
        }
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            float_form(style, value.to_string(), format!("{value:E}"))
        }
        DataType::Decimal128(_, scale) => {
            let value = column.as_primitive::<Decimal128Type>().value(row);
            let scale = usize::try_from(*scale).expect("never negative");
            let digits = format!("{:0>1$}", value.unsigned_abs(), scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let fraction = if style == "fixed" {
                fraction
            } else {
                fraction.trim_end_matches('0')
            };
            let point = if fraction.is_empty() { "" } else { "." };
            format!(
                "{}{whole}{point}{fraction}",
                if value < 0 { "-" } else { "" }
            )
        }
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>().value(row);
            let time = Date32Type::to_naive_date_opt(days).expect("in range");
            time.to_string()
        }
        DataType::Timestamp(_, zone) => {
            let micros = column
                .as_primitive::<TimestampMicrosecondType>()
                .value_as_datetime(row);
            let text = micros
                .expect("in range")
                .format("%Y-%m-%dT%H:%M:%S%.6f")
                .to_string();
            let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
            if zone.is_some() { text + "Z" } else { text }
        }
        other => unreachable!("no column is {other}"),
    }
}

/// All rows as N-Triples terms, empty where unbound.
fn terms(bytes: &[u8]) -> Vec<Vec<String>> {
    let (schema, batches) = batches(bytes);
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let term = |position: usize| {
                let (value, term) = (batch.column(2 * position), batch.column(2 * position + 1));
                match (term.is_valid(row), value.is_valid(row)) {
                    (true, _) => term.as_string::<i32>().value(row).to_owned(),
                    (false, true) => term_of_value(schema.field(2 * position), value, row),
                    (false, false) => String::new(),
                }
            };
            rows.push((0..batch.num_columns() / 2).map(term).collect());
        }
    }
    rows
}

/// The same rows out of JSON results.
fn json_terms(bytes: &[u8]) -> Vec<Vec<String>> {
    let json: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = json["head"]["vars"]
        .as_array()
        .expect("names")
        .iter()
        .map(text)
        .collect();
    let term = |value: &serde_json::Value| match text(&value["type"]).as_str() {
        "" => String::new(),
        "uri" => format!("<{}>", text(&value["value"])),
        "bnode" => format!("_:{}", text(&value["value"])),
        _ if value["xml:lang"].is_string() => literal(
            &text(&value["value"]),
            &format!("@{}", text(&value["xml:lang"])),
        ),
        _ if value["datatype"].is_string() => literal(
            &text(&value["value"]),
            &format!("^^<{}>", text(&value["datatype"])),
        ),
        _ => literal(&text(&value["value"]), ""),
    };
    let rows = json["results"]["bindings"].as_array().expect("rows").iter();
    rows.map(|row| names.iter().map(|name| term(&row[name])).collect())
        .collect()
}

/// Loads objects of one predicate, in order by a number beside them, and compares the two formats.
fn round_trip(objects: &[String]) -> (SchemaRef, Vec<RecordBatch>) {
    let mut data = String::new();
    for (i, object) in objects.iter().enumerate() {
        data.push_str(&format!(
            "<http://e/s{i}> <http://e/n> \"{i}\"^^<{XSD}integer> .\n"
        ));
        if !object.is_empty() {
            data.push_str(&format!("<http://e/s{i}> <http://e/p> {object} .\n"));
        }
    }
    let database = Database::in_memory();
    database
        .load_text(&data, GraphFormat::NTriples)
        .expect("good data");
    let query = "SELECT ?o ?s { ?s <http://e/n> ?n OPTIONAL { ?s <http://e/p> ?o } } ORDER BY ?n";
    let arrow = answer(&database, query, ResultsFormat::Arrow);
    let expected = json_terms(&answer(&database, query, ResultsFormat::Json));
    assert_eq!(expected.len(), objects.len());
    assert_eq!(terms(&arrow), expected);
    batches(&arrow)
}

fn typed(lexicals: &[&str], datatype: &str) -> Vec<String> {
    let one = |lexical: &&str| format!("\"{lexical}\"^^<{XSD}{datatype}>");
    lexicals.iter().map(one).collect()
}

/// Lexical forms, their datatype, the type of their column, and how many need their terms.
type TypedCase = (&'static [&'static str], &'static str, DataType, usize);

fn typed_cases() -> [TypedCase; 13] {
    let utc = DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()));
    let naive = DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None);
    [
        (
            &["1", "-7", "01", "99999999999999999999"],
            "integer",
            DataType::Int64,
            2,
        ),
        (&["1", "2"], "unsignedByte", DataType::Int64, 0),
        (
            &["99999999999999999999", "99999999999999999998", "1"],
            "integer",
            DataType::Utf8,
            0,
        ),
        (
            &["1.50", "2.25", "-0.10", "3"],
            "decimal",
            DataType::Decimal128(38, 2),
            1,
        ),
        (
            &["1.5", "2.25", "-0.1", "3", "1.50"],
            "decimal",
            DataType::Decimal128(38, 2),
            1,
        ),
        (
            &["1.5", "2", "1e3", "INF", "NaN", "-0"],
            "double",
            DataType::Float64,
            1,
        ),
        (&["1.5E0", "2.0E-7", "1.5"], "double", DataType::Float64, 1),
        (&["0.1", "-INF", "1.10"], "float", DataType::Float32, 1),
        (&["true", "false", "1"], "boolean", DataType::Boolean, 1),
        (
            &["2020-02-29", "0001-01-01", "2020-01-01Z"],
            "date",
            DataType::Date32,
            1,
        ),
        (
            &[
                "2020-01-01T00:00:00Z",
                "1960-01-01T00:00:00.25Z",
                "2020-01-01T02:00:00+02:00",
            ],
            "dateTime",
            utc,
            1,
        ),
        (
            &[
                "2020-01-01T00:00:00",
                "2020-01-01T24:00:00",
                "2020-01-01T01:01:01.5",
            ],
            "dateTime",
            naive,
            1,
        ),
        (&["2020", "2021"], "gYear", DataType::Utf8, 0),
    ]
}

#[test]
fn columns_get_the_type_of_their_values() {
    for (lexicals, datatype, expected, terms) in typed_cases() {
        let (schema, batches) = round_trip(&typed(lexicals, datatype));
        assert_eq!(*schema.field(0).data_type(), expected, "{lexicals:?}");
        let note = schema.field(0).metadata().get("rdf.datatype");
        assert_eq!(note, Some(&format!("{XSD}{datatype}")), "{lexicals:?}");
        let kept = batches[0].column(1);
        assert_eq!(
            kept.len() - kept.null_count(),
            terms,
            "{lexicals:?}: {kept:?}"
        );
    }
}

#[test]
fn values_that_are_not_canonical_are_values_all_the_same() {
    let (_, batches) = round_trip(&typed(
        &["1", "007", "+3", "99999999999999999999"],
        "integer",
    ));
    let values = batches[0].column(0).as_primitive::<Int64Type>();
    assert_eq!(
        values.iter().collect::<Vec<_>>(),
        [Some(1), Some(7), Some(3), None]
    );
    let mixed = [typed(&["1.25", "2.5"], "decimal"), typed(&["4"], "integer")].concat();
    let (_, batches) = round_trip(&mixed);
    let values = batches[0].column(0).as_primitive::<Decimal128Type>();
    assert_eq!(
        values.iter().collect::<Vec<_>>(),
        [Some(125), Some(250), Some(400)]
    );
}

#[test]
fn later_rows_that_do_not_fit_keep_their_terms() {
    let mut objects = vec!["<http://e/o>".to_owned(); 9000];
    objects.extend(
        [
            "\"x\"@en-GB",
            "_:b",
            "",
            "\"7\"",
            "\"a\\\"\\n\"^^<http://e/d>",
        ]
        .map(str::to_owned),
    );
    let (schema, batches) = round_trip(&objects);
    assert_eq!(schema.field(0).metadata()["rdf.kind"], "iri");
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [8192, 813]);
    assert_eq!(batches[0].column(1).null_count(), 8192);
    assert_eq!(batches[1].column(1).null_count(), 809);
}

#[test]
fn answers_without_rows_columns_or_values_are_streams_too() {
    let database = Database::in_memory();
    let (schema, none) = batches(&answer(
        &database,
        "SELECT ?a ?b { ?a ?b 1 }",
        ResultsFormat::Arrow,
    ));
    assert_eq!((schema.fields().len(), none.len()), (4, 0));
    let (schema, one) = batches(&answer(&database, "SELECT * {}", ResultsFormat::Arrow));
    assert_eq!((schema.fields().len(), one[0].num_rows()), (0, 1));
    for (query, expected) in [("ASK {}", true), ("ASK { ?s ?p ?o }", false)] {
        let (schema, batch) = batches(&answer(&database, query, ResultsFormat::Arrow));
        assert_eq!(schema.metadata()["sparql.answer"], "boolean");
        assert_eq!(batch[0].column(0).as_boolean().value(0), expected);
    }
}

/// A random term in N-Triples form; empty for none.
fn random_term(random: &mut SplitMix) -> String {
    let pick = |random: &mut SplitMix, list: &[&str]| list[random.below(list.len())].to_owned();
    let lexicals = [
        "1",
        "-1",
        "01",
        "1.5",
        "1.50",
        "1e5",
        "1.5E0",
        "true",
        "0",
        "INF",
        "NaN",
        "2020-02-29",
        "2020-02-30",
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00.123456789Z",
        "-0001-01-01",
        "",
        " 1 ",
        "9223372036854775808",
        "0.000000000000000000001",
        "é\\n\\\"",
        "x",
        "-0",
        "1.",
        ".5",
        "1E400",
    ];
    let datatypes = [
        "integer",
        "int",
        "decimal",
        "double",
        "float",
        "boolean",
        "date",
        "dateTime",
        "string",
        "gYear",
        "unsignedByte",
    ];
    match random.below(6) {
        0 => String::new(),
        1 => pick(random, &["<http://e/a>", "<urn:x>", "_:b0", "_:b1"]),
        2 => format!(
            "\"{}\"@{}",
            pick(random, &lexicals),
            pick(random, &["en", "de-AT", "EN"])
        ),
        _ => {
            let lexical = pick(random, &lexicals);
            format!("\"{lexical}\"^^<{XSD}{}>", pick(random, &datatypes))
        }
    }
}

#[test]
fn random_terms_survive() {
    for seed in 0..150 {
        let mut random = SplitMix::new(seed);
        // Few different terms in some rounds, so that every type is chosen at times.
        let pool: Vec<String> = (0..1 + random.below(12))
            .map(|_| random_term(&mut random))
            .collect();
        let count = 1 + random.below(40);
        let objects: Vec<String> = (0..count)
            .map(|_| pool[random.below(pool.len())].clone())
            .collect();
        round_trip(&objects);
    }
}
