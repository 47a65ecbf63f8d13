//! CORS: lets pages of other origins use the endpoint, where the options say so.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

const ALLOWED_METHODS: &str = "GET, HEAD, POST, QUERY, PUT, DELETE, OPTIONS";
const ANY: HeaderValue = HeaderValue::from_static("*");

/// Answers preflights and marks answers; does nothing unless CORS is on.
pub async fn cors(State(is_on): State<bool>, request: Request, next: Next) -> Response {
    if !is_on {
        return next.run(request).await;
    }
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if is_preflight {
        let asked = request
            .headers()
            .get(header::ACCESS_CONTROL_REQUEST_HEADERS)
            .cloned();
        let headers: [(HeaderName, HeaderValue); 4] = [
            (header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY),
            (
                header::ACCESS_CONTROL_ALLOW_METHODS,
                HeaderValue::from_static(ALLOWED_METHODS),
            ),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or(ANY)),
            (
                header::ACCESS_CONTROL_MAX_AGE,
                HeaderValue::from_static("86400"),
            ),
        ];
        return (StatusCode::NO_CONTENT, headers).into_response();
    }
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    response
}
