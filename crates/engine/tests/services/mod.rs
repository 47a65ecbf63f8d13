//! Endpoints for tests: databases behind a client without a network, and a small HTTP server.

#![allow(dead_code, reason = "each test program uses its own part")]

use basalt_engine::results::{write_boolean, write_solutions};
use basalt_engine::{
    Answer, Database, GraphFormat, QueryOptions, ResultsFormat, ServiceClient, ServiceError,
    ServiceRequest, ServiceRows,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

/// Databases by endpoint, asked without a network. They can ask each other.
#[derive(Debug)]
pub struct FakeServices {
    this: Weak<FakeServices>,
    databases: BTreeMap<String, Named>,
    /// Endpoint and text of each request.
    log: Mutex<Vec<(String, String)>>,
}

struct Named(Database);

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("database")
    }
}

impl FakeServices {
    /// Endpoints with Turtle data.
    pub fn new(data: &[(&str, &str)]) -> Arc<Self> {
        let load = |(endpoint, text): &(&str, &str)| {
            let database = Database::in_memory();
            database
                .load_text(text, GraphFormat::Turtle)
                .expect("the data loads");
            ((*endpoint).to_owned(), Named(database))
        };
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            databases: data.iter().map(load).collect(),
            log: Mutex::default(),
        })
    }

    /// The requests so far, which are then forgotten.
    pub fn take_log(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.log.lock().expect("no holder panics"))
    }

    /// These options, with this client.
    pub fn with(self: &Arc<Self>, mut options: QueryOptions) -> QueryOptions {
        options.exec.services = Some(Arc::clone(self) as Arc<dyn ServiceClient>);
        options
    }
}

impl ServiceClient for FakeServices {
    fn select<'a>(&'a self, request: &ServiceRequest<'a>) -> Result<ServiceRows<'a>, ServiceError> {
        let entry = (request.endpoint.to_owned(), request.query.to_owned());
        self.log.lock().expect("no holder panics").push(entry);
        let failed = |error: basalt_engine::Error| ServiceError::Failed(error.to_string());
        let Some(Named(database)) = self.databases.get(request.endpoint) else {
            return Err(ServiceError::Failed("its host is not known".to_owned()));
        };
        let this = self.this.upgrade().expect("the client lives in an Arc");
        let options = this.with(QueryOptions::default());
        match database.query(request.query, &options).map_err(failed)? {
            Answer::Solutions(solutions) => Ok(ServiceRows {
                variables: solutions.variables().to_vec(),
                rows: Box::new(solutions.into_rows().map_err(failed)?.into_iter().map(Ok)),
            }),
            _ => Err(ServiceError::Failed("not solutions".to_owned())),
        }
    }
}

/// What a server does with a request.
pub enum Behaviour {
    /// Answers the query from this database in this format.
    Answer(Database, ResultsFormat),
    /// Sends these bytes, head and all.
    Raw(String),
    /// Reads the request and then says nothing until it is stopped.
    Silence,
}

/// A small HTTP server on loopback.
pub struct TinyServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// The queries asked, in order.
    queries: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl TinyServer {
    /// Starts it on a free port.
    pub fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let queries = Arc::<Mutex<Vec<String>>>::default();
        let (is_stopped, log) = (Arc::clone(&stop), Arc::clone(&queries));
        let thread = std::thread::spawn(move || {
            // Held open so that a client waits.
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(mut stream) = stream else { continue };
                let Some(query) = read_query(&mut stream) else {
                    continue;
                };
                log.lock().expect("no holder panics").push(query.clone());
                match &behaviour {
                    Behaviour::Silence => silent.push(stream),
                    Behaviour::Raw(text) => {
                        // The client may have gone.
                        let _ = stream.write_all(text.as_bytes());
                    }
                    Behaviour::Answer(database, format) => {
                        let _ = stream.write_all(&respond(database, *format, &query));
                    }
                }
            }
        });
        Self {
            address,
            stop,
            queries,
            thread: Some(thread),
        }
    }

    /// A server that answers from Turtle data.
    pub fn with_data(text: &str, format: ResultsFormat) -> Self {
        let database = Database::in_memory();
        database
            .load_text(text, GraphFormat::Turtle)
            .expect("the data loads");
        Self::start(Behaviour::Answer(database, format))
    }

    /// A server that sends a body with this status line and media type.
    pub fn with_body(status: &str, media_type: &str, body: &str) -> Self {
        let length = body.len();
        Self::start(Behaviour::Raw(format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )))
    }

    /// The IRI of its endpoint.
    pub fn iri(&self) -> String {
        format!("http://{}/sparql", self.address)
    }

    /// The queries it was asked.
    pub fn queries(&self) -> Vec<String> {
        self.queries.lock().expect("no holder panics").clone()
    }
}

impl Drop for TinyServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread up.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

/// The query in the form that a request carries.
fn read_query(stream: &mut TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(decode(body.strip_prefix("query=")?))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
                let digits = std::str::from_utf8(&digits).expect("digits");
                u8::from_str_radix(digits, 16).expect("digits")
            }
            other => other,
        });
    }
    String::from_utf8(bytes).expect("UTF-8")
}

fn respond(database: &Database, format: ResultsFormat, query: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let status = match database.query(query, &QueryOptions::default()) {
        Ok(Answer::Solutions(mut solutions)) => {
            write_solutions(&mut solutions, format, &mut body).expect("the results are written");
            "200 OK"
        }
        Ok(Answer::Boolean(value)) => {
            write_boolean(value, format, &mut body).expect("the result is written");
            "200 OK"
        }
        Ok(Answer::Graph(_)) => "500 Graph",
        Err(error) => {
            body.extend_from_slice(error.to_string().as_bytes());
            "400 Bad Request"
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        format.media_type(),
        body.len()
    );
    [head.into_bytes(), body].concat()
}
