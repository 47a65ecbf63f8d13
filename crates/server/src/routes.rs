//! Which path goes where.

use crate::access::check_write;
use crate::cors::cors;
use crate::load::load;
use crate::messages::messages;
use crate::pages;
use crate::problem::Problem;
use crate::protocol::{Requested, Takes, is_of_graph_store, is_update_body, read_request};
use crate::query::answer_query;
use crate::spool::take_in_unpacked;
use crate::state::AppState;
use crate::store::store;
use crate::update::answer_update;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get};

/// Bytes of the body of a query, which is text that people or programs write.
const QUERY_BYTES_MAX: usize = 16 << 20;
/// Bytes of the body of an update at least, which may hold data. The text is in memory while it is parsed, so more is taken only as
/// [`UPDATE_SHARE`] of the memory that the request may use; more data than that is for the Graph Store Protocol or a load.
const UPDATE_BYTES_MIN: usize = 64 << 20;
/// The part of a request's memory that its text may take.
const UPDATE_SHARE: usize = 4;
/// Bytes of a body that takes more than a moment to decode.
const LONG_BODY_BYTES: usize = 64 << 10;

/// The methods of an address that takes queries.
const QUERY_METHODS: &str = "GET, HEAD, POST, QUERY";
/// The methods of an address that takes updates only.
const UPDATE_METHODS: &str = "POST";

/// All paths.
pub fn router(state: AppState) -> Router {
    let is_cors_on = state.options.cors;
    Router::new()
        .route("/", get(pages::home))
        .route("/query", any(query))
        .route("/update", any(update))
        .route("/sparql", any(sparql))
        .route("/load", any(load))
        .route("/store", any(store))
        .route("/store/{*name}", any(store))
        .route("/data", any(store))
        .route("/data/{*name}", any(store))
        .route("/schema", get(pages::schema))
        .route("/health", get(pages::health))
        .route("/ping", get(pages::health))
        .route("/$/ping", get(pages::health))
        .route("/metrics", get(pages::metrics))
        .route("/queries", get(pages::running_queries))
        .route("/queries/{id}", delete(pages::cancel_query))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(is_cors_on, cors))
        .layer(from_fn(messages))
        .with_state(state)
}

/// The address of queries.
async fn query(state: State<AppState>, request: Request) -> Result<Response, Response> {
    answer(state, Takes::Queries, request).await
}

/// The address of updates.
async fn update(state: State<AppState>, request: Request) -> Result<Response, Response> {
    answer(state, Takes::Updates, request).await
}

/// The address of both, and of graphs for clients that know one address only.
async fn sparql(state: State<AppState>, request: Request) -> Result<Response, Response> {
    match is_of_graph_store(request.method(), request.uri(), request.headers()) {
        true => store(state, request).await,
        false => answer(state, Takes::Both, request).await,
    }
}

async fn answer(
    State(state): State<AppState>,
    takes: Takes,
    request: Request,
) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let takes_body = takes_body(takes, &parts).map_err(|refused| *refused)?;
    let refusal = match takes {
        Takes::Queries => None,
        Takes::Updates | Takes::Both => check_write(&state.options, &parts.headers).err(),
    };
    let is_update = match takes {
        Takes::Updates => true,
        Takes::Both => takes_body && is_update_body(&parts.headers),
        Takes::Queries => false,
    };
    let (bytes_max, refusal) = match refusal {
        Some(refusal) if is_update => return Err(*refusal),
        None if takes != Takes::Queries => {
            let share = state.options.query_memory_bytes / UPDATE_SHARE;
            (UPDATE_BYTES_MIN.max(share), None)
        }
        // Whether a form is a query is known when it is read; who may not write sends no more than a query takes.
        refusal => (QUERY_BYTES_MAX, refusal),
    };
    let body = if takes_body { body } else { Body::empty() };
    let told = IntoResponse::into_response;
    let bytes = take_in_unpacked(&parts.headers, body, bytes_max)
        .await
        .map_err(told)?;
    let read = || read_request(takes, &parts.method, &parts.uri, &parts.headers, &bytes);
    let requested = match bytes.len() > LONG_BODY_BYTES {
        // Decoding it would hold up the other connections of this thread.
        true => tokio::task::block_in_place(read),
        false => read(),
    };
    // The text of an update can be long, and is in the request now.
    drop(bytes);
    match requested.map_err(told)? {
        Requested::Description => Ok(pages::description(&state.options)),
        Requested::Query(request) => answer_query(state, *request).await.map_err(told),
        Requested::Update(request) => {
            if let Some(refusal) = refusal {
                return Err(*refusal);
            }
            answer_update(state, *request).await.map_err(told)
        }
    }
}

/// Whether a request to an address has a body that counts; the answer to it if the address does not take its method.
fn takes_body(takes: Takes, parts: &Parts) -> Result<bool, Box<Response>> {
    let is_get = matches!(parts.method, Method::GET | Method::HEAD);
    let is_post = parts.method == Method::POST;
    let is_query = parts.method.as_str() == "QUERY";
    let (is_known, takes_body, methods) = match takes {
        Takes::Updates => (is_post, is_post, UPDATE_METHODS),
        Takes::Queries | Takes::Both => {
            let takes_body = is_post || is_query;
            (is_get || takes_body, takes_body, QUERY_METHODS)
        }
    };
    match is_known {
        true => Ok(takes_body),
        false => {
            let refused = refused_method(&parts.method, &parts.uri, methods);
            Err(Box::new(refused))
        }
    }
}

/// The answer to a method that an address does not take.
pub fn refused_method(method: &Method, uri: &Uri, methods: &'static str) -> Response {
    let mut response = wrong_method(method, uri).into_response();
    let allowed = HeaderValue::from_static(methods);
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("there is nothing at '{}'", uri.path()),
    )
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    wrong_method(&method, &uri)
}

fn wrong_method(method: &Method, uri: &Uri) -> Problem {
    let detail = format!("'{}' does not take {method}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
