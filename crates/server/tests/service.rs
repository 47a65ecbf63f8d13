//! SERVICE through the server: who may be asked, what failures look like, and a server that asks itself.

mod support;

use basalt_engine::ServicePolicy;
use basalt_server::{RunningServer, ServerOptions};
use std::time::Duration;
use support::{post, start};

const DATA: &str = "@prefix : <http://e/> . :a :p :b . :b :q \"found\" .";

fn with_services(services: ServicePolicy) -> RunningServer {
    let options = ServerOptions {
        services,
        service_timeout: Duration::from_secs(5),
        ..ServerOptions::default()
    };
    start(DATA, options)
}

fn iri(server: &RunningServer) -> String {
    format!("http://{}/query", server.address())
}

#[test]
fn a_server_asks_another_if_it_may() {
    let remote = start(DATA, ServerOptions::default());
    let query = format!(
        "SELECT ?v {{ ?s <http://e/p> ?o SERVICE <{}> {{ ?o <http://e/q> ?v }} }}",
        iri(&remote)
    );
    for (services, status) in [
        (ServicePolicy::None, 403),
        (ServicePolicy::All, 200),
        (ServicePolicy::List(vec![iri(&remote)]), 200),
        (ServicePolicy::List(vec!["http://e/".to_owned()]), 403),
    ] {
        let server = with_services(services);
        let answer = post(&server, "/query", "text/csv", &query);
        assert_eq!(answer.status, status, "{answer:?}");
        match status {
            200 => assert_eq!(answer.body, "v\r\nfound\r\n"),
            _ => assert!(answer.body.contains("may not be asked"), "{answer:?}"),
        }
    }
}

#[test]
fn failures_of_services_are_502_and_missing_ones_400() {
    let server = with_services(ServicePolicy::All);
    // Nothing listens on port 1; the path is one that this server does not have.
    let lost = format!("http://{}/nowhere", server.address());
    for endpoint in ["http://127.0.0.1:1/", &lost] {
        let query = format!("SELECT * {{ SERVICE <{endpoint}> {{ ?s ?p ?o }} }}");
        let answer = post(&server, "/query", "*/*", &query);
        assert_eq!(answer.status, 502, "{answer:?}");
        assert!(answer.body.contains(endpoint), "{answer:?}");
    }
    let unbound = "SELECT * { ?s ?p ?o SERVICE ?e { ?o ?q ?x } }";
    assert_eq!(post(&server, "/query", "*/*", unbound).status, 400);
}

#[test]
fn a_server_that_asks_itself_ends() {
    let server = with_services(ServicePolicy::All);
    let own = iri(&server);
    let query = format!(
        "SELECT * {{ SERVICE <{own}> {{ SERVICE <{own}> {{ SERVICE <{own}> {{ ?s <http://e/p> ?o }} }} }} }}"
    );
    let answer = post(&server, "/query", "text/csv", &query);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body.lines().count(), 2, "{answer:?}");
}
