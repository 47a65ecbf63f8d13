//! A small HTTP/1.1 client over plain TCP, made for measuring.
//!
//! One kept-alive connection with `TCP_NODELAY` and `TCP_QUICKACK`; a request leaves in one write. The clock of a
//! request starts once the connection stands and stops with the last byte of the answer. The
//! deadline covers the whole request, not the pause between two bytes: before a read the
//! remaining time becomes the timeout of the socket. After any failure the connection is dropped,
//! which tells a server that watches its clients to stop working on the request.
//! Invariant: sizes named by the server are checked before they are used.
//! Cost: a write, a read and a socket option per request; both buffers are kept between requests.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

const HEAD_BYTES_MAX: usize = 64 << 10;
/// Larger answers are refused: no query of the benchmark comes near.
const BODY_BYTES_MAX: usize = 4 << 30;
const READ_BYTES: usize = 64 << 10;
/// A buffer that a large answer has made larger than this is not kept.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// The timeout of the socket is left as it is while it is so near to the time that remains.
const TIMEOUT_SLACK: Duration = Duration::from_millis(5);

/// Where requests go.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Host and port, as in the `Host` header.
    authority: String,
    host: String,
    port: u16,
    /// Path and query string, from the first slash on.
    target: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The deadline passed.
    Timeout,
    /// Anything else, in words.
    Other(String),
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media_type: String,
    pub(crate) body: Vec<u8>,
    /// From the start of sending to the last byte.
    pub(crate) seconds: f64,
}

/// A connection to one endpoint, opened when needed.
pub(crate) struct Client {
    endpoint: Endpoint,
    timeout: Duration,
    stream: Option<TcpStream>,
    /// The read timeout that the open connection has.
    socket_timeout: Duration,
    /// The last request; its memory is used again.
    request: String,
    /// What answers are read into.
    buffer: Vec<u8>,
}

impl Endpoint {
    /// Takes an `http://` URL apart; nothing if it is not one.
    pub(crate) fn parse(url: &str) -> Option<Endpoint> {
        let rest = url.strip_prefix("http://")?;
        let (authority, target) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/"),
        };
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if authority.is_empty() || !is_plain(authority) || !is_plain(target) {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (authority, 80),
        };
        Some(Endpoint {
            authority: authority.to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            target: target.to_owned(),
        })
    }
}

impl Client {
    /// A client that gives each request so much time.
    pub(crate) fn new(endpoint: Endpoint, timeout: Duration) -> Client {
        Client {
            endpoint,
            timeout,
            stream: None,
            socket_timeout: timeout,
            request: String::new(),
            buffer: Vec::new(),
        }
    }

    /// Posts a form.
    pub(crate) fn post(
        &mut self,
        fields: &[(&str, &str)],
        accept: &str,
    ) -> Result<Answer, Failure> {
        let mut body = String::new();
        for (name, value) in fields {
            if !body.is_empty() {
                body.push('&');
            }
            push_encoded(&mut body, name);
            body.push('=');
            push_encoded(&mut body, value);
        }
        let mut request = std::mem::take(&mut self.request);
        request.clear();
        // Writing to a string cannot fail.
        let _ = write!(
            request,
            "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nUser-Agent: basalt-bsbm/{}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            self.endpoint.target,
            self.endpoint.authority,
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        let was_open = self.stream.is_some();
        let outcome = match self.exchange(request.as_bytes()) {
            // The server may have closed an idle connection before the request came. If it did
            // work on it, asking again does no harm: the queries read, the updates insert given
            // triples or delete those of a given offer.
            Err(Broken::BeforeAnswer(_)) if was_open => self.exchange(request.as_bytes()),
            outcome => outcome,
        };
        self.request = request;
        outcome.map_err(|broken| match broken {
            Broken::BeforeAnswer(failure) | Broken::Later(failure) => failure,
        })
    }

    fn exchange(&mut self, request: &[u8]) -> Result<Answer, Broken> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                self.socket_timeout = self.timeout;
                self.connect().map_err(Broken::Later)?
            }
        };
        let start = Instant::now();
        let mut reader = AnswerReader {
            stream: &mut stream,
            deadline: start + self.timeout,
            socket_timeout: &mut self.socket_timeout,
            buffer: &mut self.buffer,
            at: 0,
            end: 0,
        };
        reader.send(request)?;
        let (answer, can_keep) = reader.read_answer(start)?;
        if can_keep {
            self.stream = Some(stream);
        }
        if self.buffer.len() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        match answer.seconds <= self.timeout.as_secs_f64() {
            true => Ok(answer),
            false => Err(Broken::Later(Failure::Timeout)),
        }
    }

    fn connect(&self) -> Result<TcpStream, Failure> {
        let address = (self.endpoint.host.as_str(), self.endpoint.port);
        let connect = || -> std::io::Result<TcpStream> {
            let mut last = std::io::Error::from(ErrorKind::AddrNotAvailable);
            for address in address.to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, self.timeout) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_write_timeout(Some(self.timeout))?;
                        stream.set_read_timeout(Some(self.timeout))?;
                        return Ok(stream);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        connect().map_err(|error| failure("connecting", &error))
    }
}

/// How far a request came before it failed.
enum Broken {
    /// Not one byte of the answer arrived.
    BeforeAnswer(Failure),
    Later(Failure),
}

fn failure(operation: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Failure::Timeout,
        _ => Failure::Other(format!("{operation}: {error}")),
    }
}

fn malformed(what: &str) -> Broken {
    Broken::Later(Failure::Other(format!("the answer has {what}")))
}

/// Reads one answer from a connection.
struct AnswerReader<'a> {
    stream: &'a mut TcpStream,
    deadline: Instant,
    socket_timeout: &'a mut Duration,
    /// Bytes read so far are those before `end`; those before `at` are used up.
    buffer: &'a mut Vec<u8>,
    at: usize,
    end: usize,
}

impl AnswerReader<'_> {
    fn send(&mut self, request: &[u8]) -> Result<(), Broken> {
        let sent = self.stream.write_all(request);
        sent.map_err(|error| match failure("sending", &error) {
            Failure::Timeout => Broken::Later(Failure::Timeout),
            other => Broken::BeforeAnswer(other),
        })
    }

    fn remaining(&self) -> Result<Duration, Failure> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        match remaining.is_zero() {
            true => Err(Failure::Timeout),
            false => Ok(remaining),
        }
    }

    /// Reads some more bytes; false at the end of the stream.
    fn fill(&mut self) -> Result<bool, Broken> {
        if self.end > BODY_BYTES_MAX {
            return Err(malformed("too many bytes"));
        }
        let remaining = self.remaining().map_err(Broken::Later)?;
        if self.buffer.len() < self.end + READ_BYTES {
            self.buffer.resize(self.end + READ_BYTES, 0);
        }
        let outcome = self
            .limit_next_read(remaining)
            .and_then(|()| acknowledge_quickly(self.stream))
            .and_then(|()| self.stream.read(&mut self.buffer[self.end..]));
        match outcome {
            Ok(bytes) => {
                self.end += bytes;
                Ok(bytes > 0)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) => match failure("reading", &error) {
                Failure::Other(text) if self.end == 0 => {
                    Err(Broken::BeforeAnswer(Failure::Other(text)))
                }
                other => Err(Broken::Later(other)),
            },
        }
    }

    /// Gives the next read the time that remains.
    fn limit_next_read(&mut self, remaining: Duration) -> std::io::Result<()> {
        let slack = TIMEOUT_SLACK.min(remaining / 16);
        if self.socket_timeout.abs_diff(remaining) > slack {
            self.stream.set_read_timeout(Some(remaining))?;
            *self.socket_timeout = remaining;
        }
        Ok(())
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String, Broken> {
        let mut searched = self.at;
        loop {
            let unsearched = &self.buffer[searched..self.end];
            if let Some(length) = unsearched.iter().position(|b| *b == b'\n') {
                let line = &self.buffer[self.at..searched + length];
                let text = String::from_utf8_lossy(line).trim_end().to_owned();
                self.at = searched + length + 1;
                return Ok(text);
            }
            searched = self.end;
            if searched - self.at > HEAD_BYTES_MAX {
                return Err(malformed("a line that does not end"));
            }
            if !self.fill()? {
                let cut = Failure::Other("the connection was closed early".to_owned());
                return Err(match self.end {
                    0 => Broken::BeforeAnswer(cut),
                    _ => Broken::Later(cut),
                });
            }
        }
    }

    /// Appends the next `count` bytes to `out`.
    fn take(&mut self, count: usize, out: &mut Vec<u8>) -> Result<(), Broken> {
        if count > BODY_BYTES_MAX {
            return Err(malformed("too many bytes"));
        }
        while self.end - self.at < count {
            if !self.fill()? {
                return Err(malformed("fewer bytes than announced"));
            }
        }
        out.extend_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(())
    }

    fn read_answer(&mut self, start: Instant) -> Result<(Answer, bool), Broken> {
        let status_line = self.line()?;
        let status = status_line
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1)?.parse().ok())
            .ok_or_else(|| malformed("no status"))?;
        let mut can_keep = status_line.starts_with("HTTP/1.1");
        let mut length = None;
        let mut is_chunked = false;
        let mut media_type = String::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| malformed("a bad header"))?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    length = Some(value.parse().map_err(|_| malformed("a bad length"))?);
                }
                "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
                "connection" => can_keep &= !value.eq_ignore_ascii_case("close"),
                "content-type" => {
                    let essence = value.split(';').next().unwrap_or_default();
                    media_type = essence.trim().to_ascii_lowercase();
                }
                _ => {}
            }
        }
        let mut body = Vec::new();
        match length {
            _ if is_chunked => self.read_chunks(&mut body)?,
            Some(length) => self.take(length, &mut body)?,
            None if status == 204 => {}
            None => {
                can_keep = false;
                while self.fill()? {}
                body.extend_from_slice(&self.buffer[self.at..self.end]);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let answer = Answer {
            status,
            media_type,
            body,
            seconds,
        };
        Ok((answer, can_keep))
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Result<(), Broken> {
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16).map_err(|_| malformed("a bad chunk"))?;
            if size == 0 {
                break;
            }
            self.take(size, body)?;
            if !self.line()?.is_empty() {
                return Err(malformed("a chunk that is too long"));
            }
            // What is used up is dropped, so that the buffer holds little more than a chunk.
            if self.at >= READ_BYTES {
                self.buffer.copy_within(self.at..self.end, 0);
                self.end -= std::mem::take(&mut self.at);
            }
            if body.len() > BODY_BYTES_MAX {
                return Err(malformed("too many bytes"));
            }
        }
        while !self.line()?.is_empty() {}
        Ok(())
    }
}

/// Makes the kernel acknowledge the next bytes at once, where it can be told so. A server that
/// answers in two packets waits for the acknowledgement of the first, which otherwise comes 40 ms
/// later: that would be measured instead of the store. The kernel forgets it after a while, so it
/// is said before each read.
fn acknowledge_quickly(stream: &TcpStream) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    std::os::linux::net::TcpStreamExt::set_quickack(stream, true)?;
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
    Ok(())
}

fn push_encoded(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(text.len() + text.len() / 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let digits = [byte >> 4, byte & 15].map(|d| char::from(DIGITS[usize::from(d)]));
            out.push('%');
            out.extend(digits);
        }
    }
}
