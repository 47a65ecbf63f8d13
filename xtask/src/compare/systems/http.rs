//! Single requests to a server on this machine: an update, or a question whose answer is looked at.
//!
//! A request has a connection of its own, which the server closes. That is enough for what is asked
//! after a run; what is measured is asked by the driver.
//!
//! Invariant: an answer is whole, or it is an error: a length that the server names is checked, and
//! chunks have their end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::error::XtaskError;

/// Answers that are longer are refused: no question here comes near.
const ANSWER_BYTES_MAX: u64 = 1 << 30;
/// How much of an answer an error shows.
const SHOWN_CHARS_MAX: usize = 300;

/// Posts a form, and gives the body of an answer that is a success.
pub fn post(
    url: &str,
    fields: &[(&str, &str)],
    accept: &str,
    time_max: Duration,
) -> Result<Vec<u8>, XtaskError> {
    let wrong = |what: String| XtaskError::Answer {
        command: format!("POST {url}"),
        what,
    };
    let answer = exchange(url, fields, accept, time_max);
    let answer = answer.map_err(|error| wrong(error.to_string()))?;
    let (status, body) = parse(&answer).map_err(wrong)?;
    match status {
        200..300 => Ok(body),
        _ => {
            let text = String::from_utf8_lossy(&body);
            let shown: String = text.trim().chars().take(SHOWN_CHARS_MAX).collect();
            Err(wrong(format!("status {status}: {shown}")))
        }
    }
}

/// Asks for rows, as the JSON of the SPARQL results.
pub fn rows(
    url: &str,
    graph: Option<&str>,
    query: &str,
    time_max: Duration,
) -> Result<Vec<Value>, XtaskError> {
    let mut fields = vec![("query", query)];
    fields.extend(graph.map(|graph| ("default-graph-uri", graph)));
    let body = post(url, &fields, "application/sparql-results+json", time_max)?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let rows = answer["results"]["bindings"].as_array();
    rows.cloned().ok_or_else(|| XtaskError::Answer {
        command: format!("POST {url}"),
        what: format!("no rows to `{query}`"),
    })
}

fn exchange(
    url: &str,
    fields: &[(&str, &str)],
    accept: &str,
    time_max: Duration,
) -> std::io::Result<Vec<u8>> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let fields = fields.iter();
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let body = fields.join("&");
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(time_max))?;
    stream.set_write_timeout(Some(time_max))?;
    let request = format!(
        "POST /{path} HTTP/1.0\r\nHost: {authority}\r\nAccept: {accept}\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// A text as a value of a form.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Status and body of an answer, or what is wrong with it.
fn parse(answer: &[u8]) -> Result<(u16, Vec<u8>), String> {
    let gap = b"\r\n\r\n";
    let end = answer.windows(gap.len()).position(|bytes| bytes == gap);
    let end = end.ok_or("the answer has no head")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let body = &answer[end + gap.len()..];
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or("the answer has no status")?;
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut lines = lines.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
        lines.next().map(|(_, value)| value.trim().to_owned())
    };
    if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return Ok((status, unchunked(body).ok_or("a chunk is cut")?));
    }
    match header("content-length").map(|length| length.parse::<usize>()) {
        Some(Ok(length)) if length <= body.len() => Ok((status, body[..length].to_vec())),
        Some(_) => Err("the answer is cut".to_owned()),
        None => Ok((status, body.to_vec())),
    }
}

/// The content of chunks; nothing if one of them or the last is missing.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    // Termination: every round takes a line at least.
    loop {
        let end = rest.windows(2).position(|bytes| bytes == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(content);
        }
        let chunk = rest.get(..size)?;
        content.extend_from_slice(chunk);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn answers_are_whole_or_errors() {
        let parsed = |text: &str| parse(text.as_bytes());
        let whole = parsed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        assert_eq!(whole, Ok((200, b"hi".to_vec())));
        let open = parsed("HTTP/1.1 404 Not Found\r\n\r\nno");
        assert_eq!(open, Ok((404, b"no".to_vec())));
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nA;x\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(parsed(chunked), Ok((200, b"hi0123456789".to_vec())));
        for cut in [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\n",
            "hello\r\n\r\n",
            &chunked[..chunked.len() - 7],
            &chunked[..chunked.len() - 12],
        ] {
            assert!(parsed(cut).is_err(), "{cut}");
        }
        assert_eq!(encoded("a b<é>"), "a%20b%3C%C3%A9%3E");
    }

    #[test]
    fn a_form_is_posted_and_rows_come_back() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has one");
        let server = thread::spawn(move || {
            let mut requests = Vec::new();
            for status in ["200 OK", "500 Oops"] {
                let (mut stream, _) = listener.accept().expect("somebody asks");
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).expect("it can be read");
                requests.push(String::from_utf8_lossy(&bytes[..count]).into_owned());
                let body = r#"{"results":{"bindings":[{"n":{"value":"7"}}]}}"#;
                let answer = format!("HTTP/1.0 {status}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).expect("it is read");
            }
            requests
        });
        let url = format!("http://{address}/sparql");
        let minute = Duration::from_secs(60);
        let found = rows(&url, Some("http://g/"), "ASK {}", minute).expect("it answers");
        assert_eq!(found[0]["n"]["value"], "7");
        let error = rows(&url, None, "ASK {}", minute).expect_err("it fails");
        assert!(error.to_string().contains("status 500: {"), "{error}");
        let requests = server.join().expect("it ends");
        assert!(requests[0].starts_with("POST /sparql HTTP/1.0\r\n"));
        assert!(
            requests[0].ends_with("\r\n\r\nquery=ASK%20%7B%7D&default-graph-uri=http%3A%2F%2Fg%2F")
        );
        assert!(requests[1].ends_with("\r\n\r\nquery=ASK%20%7B%7D"));
    }
}
