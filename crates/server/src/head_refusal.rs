//! Words for the two refusals that come before a request is one: an address or a head that is too long.
//!
//! The HTTP library answers these by itself, with a status and an empty body, and offers no place to say more. So what a
//! connection writes right after it has read is looked at, and such an answer gets a problem document as its body. No other part of the server
//! answers with these statuses.
//!
//! Cost: a comparison of some bytes for each answer.

use crate::problem::Problem;
use axum::http::StatusCode;

/// Bytes of an address, by the library.
const ADDRESS_BYTES_MAX: usize = 65_534;
/// Bytes of a request before its body, by the library, which looks at them when it has read more: one that ends in the same
/// read is served.
const HEAD_BYTES_MAX: usize = 417_792;
/// Header lines of a request, by the library.
const HEADERS_MAX: usize = 100;

/// The header that is there because the body is empty.
const EMPTY: &str = "content-length: 0\r\n";

/// The refusal with words, if these bytes are one without.
pub fn with_words(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let problem = if rest.starts_with(b"414 ") {
        let detail = format!(
            "the address is longer than {ADDRESS_BYTES_MAX} bytes; long queries go by POST"
        );
        Problem::new(StatusCode::URI_TOO_LONG, detail)
    } else if rest.starts_with(b"431 ") {
        let detail = format!(
            "the request has more than {HEADERS_MAX} headers, or more than {HEAD_BYTES_MAX} bytes before its body; \
             long queries go by POST"
        );
        Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail)
    } else {
        return None;
    };
    let head = std::str::from_utf8(bytes).ok()?;
    let is_whole = head.ends_with("\r\n\r\n") && head.contains(EMPTY);
    let body = problem.to_json();
    let headers = format!(
        "content-type: application/problem+json\r\ncontent-length: {}\r\n",
        body.len()
    );
    is_whole.then(|| (head.replacen(EMPTY, &headers, 1) + &body).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::with_words;

    #[test]
    fn only_empty_refusals_get_words() {
        let head = "HTTP/1.1 414 URI Too Long\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let told = with_words(head.as_bytes()).expect("a refusal");
        let told = String::from_utf8(told).expect("it is text");
        let (head, body) = told.split_once("\r\n\r\n").expect("a body");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())));
        assert!(body.contains("65534 bytes"), "{body}");
        for other in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 414 URI Too Long\r\ncontent-length: 5\r\n\r\nwords",
            "HTTP/1.1 431 x\r\ncontent-length: 0\r\n",
            "",
        ] {
            assert_eq!(with_words(other.as_bytes()), None, "{other}");
        }
    }
}
