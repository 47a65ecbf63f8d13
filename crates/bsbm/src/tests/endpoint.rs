//! A server that answers as told, for tests of the driver.

use crate::{ParameterPool, RunOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub const ROWS: &str = r#"{"head":{"vars":["a"]},"results":{"bindings":[
    {"a":{"type":"literal","value":"1.50","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}},
    {"a":{"type":"uri","value":"http://x/"}}]}}"#;
pub const ROWS_TURNED: &str = r#"{"head":{"vars":["a"]},"results":{"bindings":[
    {"a":{"type":"uri","value":"http://x/"}},
    {"a":{"type":"literal","value":"1.5E0","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}}]}}"#;
/// Terms of every kind, in JSON.
pub const MANY_KINDS: &str = r#"{"head":{"vars":["a","b"]},"results":{"bindings":[
    {"a":{"type":"literal","value":"1.50","datatype":"http://www.w3.org/2001/XMLSchema#float"},
     "b":{"type":"literal","value":"x & <y>","datatype":"http://www.w3.org/2001/XMLSchema#string"}},
    {"a":{"type":"uri","value":"http://x/?a&b"},"b":{"type":"literal","value":"y  z","xml:lang":"en-GB"}},
    {"a":{"type":"bnode","value":"n"}}]}}"#;
/// The same in XML, in another order.
pub const MANY_KINDS_XML: &str = r#"<?xml version="1.0"?>
<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="a"/><variable name="b"/></head>
<results>
 <result><binding name="a"><bnode>other</bnode></binding></result>
 <result><binding name="b"><literal xml:lang="en-gb">y  z</literal></binding><binding name="a"><uri>http://x/?a&amp;b</uri></binding></result>
 <result><binding name="a"><literal datatype="http://www.w3.org/2001/XMLSchema#float">1.5E0</literal></binding><binding name="b"><literal>x &amp; &lt;y&gt;</literal></binding></result>
</results></sparql>"#;
/// The answer to a question without rows, in XML.
pub const ASKED_XML: &str = r#"<?xml version="1.0"?>
<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head></head><boolean>true</boolean></sparql>"#;
pub const TRIPLES: &str = "<http://x/> <http://y/> \"z\" .\n";

/// A request as the server saw it.
pub struct Request {
    pub accept: String,
    pub body: String,
}

impl Request {
    /// The text of the query or update, decoded.
    pub fn text(&self) -> String {
        let field = self.body.split('&').next().unwrap_or_default();
        let (_, encoded) = field.split_once('=').unwrap_or_default();
        let mut bytes = Vec::new();
        let mut rest = encoded.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                bytes.push(byte);
                continue;
            }
            let digits = [rest.next(), rest.next()].map(|d| char::from(d.expect("two digits")));
            let value = digits
                .iter()
                .fold(0, |sum, d| sum * 16 + d.to_digit(16).expect("hex"));
            bytes.push(value as u8);
        }
        String::from_utf8(bytes).expect("the request is text")
    }
}

pub type Respond = fn(&Request) -> Vec<u8>;

type Responder = dyn Fn(&Request) -> Vec<u8> + Send + Sync;

/// Serves on a free port until the process ends; answers with what `respond` returns.
pub fn serve(
    respond: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Receiver<Request>) {
    let respond: Arc<Responder> = Arc::new(respond);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (respond, sender) = (Arc::clone(&respond), sender.clone());
            std::thread::spawn(move || serve_connection(stream, &*respond, &sender));
        }
    });
    (format!("http://{address}/sparql"), receiver)
}

fn serve_connection(
    stream: TcpStream,
    respond: &dyn Fn(&Request) -> Vec<u8>,
    sender: &Sender<Request>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        let mut accept = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().ok()?;
            }
            if let Some(value) = line.strip_prefix("Accept: ") {
                accept = value.trim().to_owned();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let request = Request { accept, body };
        let answer = respond(&request);
        // The test may have stopped listening.
        let _ = sender.send(request);
        writer.write_all(&answer).ok()?;
        if answer.is_empty() {
            return None;
        }
    }
}

pub fn answer(media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type};charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

pub fn good(request: &Request) -> Vec<u8> {
    match request.accept.as_str() {
        _ if request.text() == "ASK {}" => answer(&request.accept, r#"{"head":{},"boolean":true}"#),
        "application/n-triples" => answer("application/n-triples", TRIPLES),
        "*/*" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        media_type => answer(media_type, ROWS),
    }
}

/// The same answers in another order, in another spelling and in chunks.
pub fn good_turned(request: &Request) -> Vec<u8> {
    let (media_type, body) = match request.accept.as_str() {
        "application/n-triples" => ("text/plain", TRIPLES),
        media_type => (media_type, ROWS_TURNED),
    };
    let (first, second) = body.split_at(10);
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{first}\r\n{:X};note\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    )
    .into_bytes()
}

pub fn pool() -> ParameterPool {
    ParameterPool::from_options(100, 1).expect("valid options")
}

pub fn options(endpoint: &str) -> RunOptions {
    RunOptions {
        warmup: 1,
        runs: 2,
        timeout: Duration::from_secs(20),
        ..RunOptions::new(endpoint)
    }
}

/// All requests so far but those of the latency floor.
pub fn asked(requests: &Receiver<Request>) -> Vec<Request> {
    let all = requests.try_iter();
    all.filter(|request| request.text() != "ASK {}").collect()
}
