//! Everything that is no query: health, metrics, shapes, running queries, the page, the description.

use crate::access::check_write;
use crate::options::ServerOptions;
use crate::problem::Problem;
use crate::protocol::accept;
use crate::registry::Work;
use crate::state::AppState;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use basalt_engine::SchemaReport;
use basalt_engine::html::schema_page;
use std::fmt::Write;

/// The page at the root.
pub async fn home() -> Html<&'static str> {
    Html(include_str!("page.html"))
}

/// Says that the server is there.
pub async fn health() -> &'static str {
    "ok\n"
}

/// Counters for Prometheus.
pub async fn metrics(State(state): State<AppState>) -> Response {
    let quads = state.database.snapshot().quad_count();
    let writing = state.database.write_status();
    let plans = state.database.plan_cache_status();
    let running = state.registry.len();
    let text = state.metrics.to_text(running, quads, &plans, &writing);
    typed("text/plain; version=0.0.4; charset=utf-8", text)
}

/// The shapes, as JSON or as a page.
pub async fn schema(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let offers = [("application/json", false), ("text/html", true)];
    let (_, is_page) = accept(&headers).best(&offers).ok_or_else(|| {
        let detail = "the shapes come as application/json and text/html";
        Problem::new(StatusCode::NOT_ACCEPTABLE, detail)
    })?;
    let report = SchemaReport::new(&state.database.snapshot())?;
    Ok(match is_page {
        true => Html(schema_page(&report)).into_response(),
        false => typed("application/json", format!("{}\n", report.to_json())),
    })
}

/// The running queries.
pub async fn running_queries(State(state): State<AppState>) -> Response {
    typed(
        "application/json",
        format!("{}\n", state.registry.to_json()),
    )
}

/// Cancels one query, or a write for those who may write.
pub async fn cancel_query(
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Response> {
    let number: Option<u64> = id.parse().ok();
    if number.and_then(|number| state.registry.work(number)) == Some(Work::Write) {
        check_write(&state.options, &headers).map_err(|refusal| *refusal)?;
    }
    // Numbers are given once, so this is still what was asked about above, or has ended.
    match number.is_some_and(|number| state.registry.cancel(number)) {
        true => Ok(StatusCode::NO_CONTENT),
        false => {
            let detail = format!("no query '{id}' is running");
            Err(Problem::new(StatusCode::NOT_FOUND, detail).into_response())
        }
    }
}

/// The service description (SPARQL 1.1 Service Description), in Turtle.
pub fn description(options: &ServerOptions) -> Response {
    const FORMATS: &str = "http://www.w3.org/ns/formats/";
    let mut out = String::from(
        "@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .\n\n\
         [] a sd:Service ;\n  sd:endpoint <> ;\n  sd:supportedLanguage sd:SPARQL11Query ;\n",
    );
    if !options.read_only {
        out.push_str("  sd:supportedLanguage sd:SPARQL11Update ;\n");
    }
    if options.union_default_graph {
        out.push_str("  sd:feature sd:UnionDefaultGraph ;\n");
    }
    for name in [
        "SPARQL_Results_JSON",
        "SPARQL_Results_XML",
        "SPARQL_Results_CSV",
        "SPARQL_Results_TSV",
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  sd:resultFormat <{FORMATS}{name}> ;");
    }
    out.push_str(
        "  sd:resultFormat <http://www.w3.org/ns/formats/N-Triples> ;\n  \
         sd:resultFormat <http://www.w3.org/ns/formats/RDF_XML> ;\n  \
         sd:resultFormat <http://www.w3.org/ns/formats/JSON-LD> ;\n  \
         sd:resultFormat <http://www.w3.org/ns/formats/Turtle> .\n",
    );
    typed("text/turtle; charset=utf-8", out)
}

fn typed(media_type: &'static str, text: String) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static(media_type))],
        text,
    )
        .into_response()
}
