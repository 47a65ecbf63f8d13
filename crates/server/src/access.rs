//! Who may write: not anybody if the server is read-only, those with the token if there is one, and no page of
//! another origin unless CORS is on.
//!
//! Who may not write is told so before the body is read: gigabytes that nobody asked for are not taken in. What becomes of the
//! connection is the business of [`messages`](crate::messages).
//!
//! A browser sends a form to any address without asking, also to a server that listens on loopback only; it says
//! in `Origin` whose page that was. So a write with an `Origin` that is not the server itself is refused.

use crate::options::ServerOptions;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The body of a request if that may write; else the answer, which does not wait for the body.
pub fn body_to_write(
    options: &ServerOptions,
    headers: &HeaderMap,
    body: Body,
) -> Result<Body, Box<Response>> {
    check_write(options, headers).map(|()| body)
}

/// Whether a request may write; else the answer to it.
pub fn check_write(options: &ServerOptions, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let refuse = |status, detail: &str| Box::new(Problem::new(status, detail).into_response());
    if options.read_only {
        return Err(refuse(StatusCode::FORBIDDEN, "this server is read-only"));
    }
    if !options.cors && is_of_another_page(headers) {
        let detail = "pages of other origins may not write to this server";
        return Err(refuse(StatusCode::FORBIDDEN, detail));
    }
    let Some(token) = &options.token else {
        return Ok(());
    };
    let (detail, challenge) = match given_token(headers) {
        Some(given) if is_same(given.as_bytes(), token.as_bytes()) => return Ok(()),
        Some(_) => (
            "the token is not the one of this server",
            "Bearer realm=\"basalt\", error=\"invalid_token\"",
        ),
        None => (
            "writing needs the header 'Authorization: Bearer TOKEN'",
            "Bearer realm=\"basalt\"",
        ),
    };
    let mut response = refuse(StatusCode::UNAUTHORIZED, detail);
    let challenge = HeaderValue::from_static(challenge);
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    Err(response)
}

/// The token of `Authorization: Bearer TOKEN`.
fn given_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("Bearer")
        .then_some(token.trim())
}

/// Compares without ending at the first difference, so that the time tells nothing of the token.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let different = given.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && different == 0
}

/// Whether a browser says that the request comes from a page of another host.
fn is_of_another_page(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    match (origin, host) {
        (Some((_, origin)), Some(host)) => !origin.eq_ignore_ascii_case(host),
        _ => true,
    }
}
