//! Which path goes where.

use crate::cors::cors;
use crate::pages;
use crate::problem::Problem;
use crate::protocol::{Requested, read_request};
use crate::query::answer_query;
use crate::state::AppState;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get};

/// Bytes of a request body; a query is text that people or programs write.
const BODY_BYTES_MAX: usize = 16 << 20;

/// The methods of the query address.
const QUERY_METHODS: &str = "GET, HEAD, POST, QUERY";

/// All paths.
pub fn router(state: AppState) -> Router {
    let is_cors_on = state.options.cors;
    Router::new()
        .route("/", get(pages::home))
        .route("/query", any(query))
        .route("/sparql", any(query))
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
        .with_state(state)
}

/// The query address.
async fn query(State(state): State<AppState>, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let takes_body = parts.method == Method::POST || parts.method.as_str() == "QUERY";
    if !takes_body && !matches!(parts.method, Method::GET | Method::HEAD) {
        let mut response = wrong_method(&parts.method, &parts.uri).into_response();
        let allowed = HeaderValue::from_static(QUERY_METHODS);
        response.headers_mut().insert(header::ALLOW, allowed);
        return Err(response);
    }
    let body = if takes_body { body } else { Body::empty() };
    let bytes = to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        let detail =
            format!("the body cannot be read, or is longer than {BODY_BYTES_MAX} bytes: {error}");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail).into_response()
    })?;
    let requested = read_request(&parts.method, &parts.uri, &parts.headers, &bytes);
    match requested.map_err(IntoResponse::into_response)? {
        Requested::Description => Ok(pages::description(state.options.union_default_graph)),
        Requested::Query(request) => answer_query(state, *request)
            .await
            .map_err(IntoResponse::into_response),
    }
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
