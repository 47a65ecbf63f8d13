//! Stopping a server: whoever has sent a request gets its answer.

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use support::{parse, read_answer, send, start};

const DATA: &str = "<http://e/a> <http://e/p> 1 .";
const REQUEST: &str = "GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: x\r\n\r\n";
const CONNECTIONS: usize = 150;
/// Times that a server is stopped.
const STOPS: usize = 4;

fn server() -> RunningServer {
    start(DATA, ServerOptions::default())
}

/// Reads the last answers of connections, which end after them, and not by a reset.
fn check_last(streams: Vec<TcpStream>, what: &str) {
    for (number, mut stream) in streams.into_iter().enumerate() {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        assert!(read.is_ok(), "{what} {number}: {read:?}");
        let answer = parse(&bytes);
        assert_eq!(answer.status, 200, "{what} {number}: {answer:?}");
    }
}

#[test]
fn requests_on_new_connections_are_answered() {
    for _ in 0..STOPS {
        let server = server();
        let streams = (0..CONNECTIONS).map(|_| send(&server, REQUEST));
        let streams: Vec<TcpStream> = streams.collect();
        server.shutdown().expect("it stops");
        check_last(streams, "new connection");
    }
}

#[test]
fn requests_on_connections_that_were_used_are_answered() {
    for _ in 0..STOPS {
        let server = server();
        let streams = (0..CONNECTIONS).map(|_| send(&server, REQUEST));
        let mut streams: Vec<TcpStream> = streams.collect();
        for stream in &mut streams {
            read_answer(stream).expect("a first answer");
        }
        for stream in &mut streams {
            let sent = stream.write_all(REQUEST.as_bytes());
            sent.expect("the second request is sent");
        }
        server.shutdown().expect("it stops");
        check_last(streams, "used connection");
    }
}

#[test]
fn connections_without_a_request_do_not_hold_up_the_stop() {
    let server = server();
    let _silent = TcpStream::connect(server.address()).expect("the server listens");
    let mut used = send(&server, REQUEST);
    read_answer(&mut used).expect("an answer");
    let start = std::time::Instant::now();
    server.shutdown().expect("it stops");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

/// Asks again and again until nobody listens; requests that were sent and got no answer.
fn ask_until_refused(address: SocketAddr, is_stopping: &AtomicBool, keeps: bool) -> usize {
    let mut lost = 0;
    'connect: while let Ok(mut stream) = TcpStream::connect(address) {
        loop {
            if stream.write_all(REQUEST.as_bytes()).is_err() {
                continue 'connect;
            }
            match read_answer(&mut stream) {
                Ok(answer) if keeps && !answer.contains("connection: close") => {}
                Ok(_) => continue 'connect,
                Err(error) => {
                    assert!(is_stopping.load(Ordering::SeqCst), "{error}");
                    lost += 1;
                    continue 'connect;
                }
            }
        }
    }
    lost
}

/// Of connections that are made all the time some may be made while the listener is closed: one a stop is let pass.
#[test]
fn nearly_nothing_is_lost_under_load() {
    let mut lost = 0;
    for _ in 0..STOPS {
        let server = server();
        let address = server.address();
        let is_stopping = AtomicBool::new(false);
        lost += thread::scope(|scope| {
            let is_stopping = &is_stopping;
            let clients = [true, true, true, false]
                .map(|keeps| scope.spawn(move || ask_until_refused(address, is_stopping, keeps)));
            // Some hundred answers.
            for _ in 0..100 {
                read_answer(&mut send(&server, REQUEST)).expect("an answer");
            }
            is_stopping.store(true, Ordering::SeqCst);
            server.shutdown().expect("it stops");
            let lost = clients.map(|client| client.join().expect("the client ends"));
            lost.into_iter().sum::<usize>()
        });
    }
    assert!(lost <= STOPS, "{lost} requests were lost at {STOPS} stops");
}
