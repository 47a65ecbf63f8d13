//! The driver: runs query mixes against an endpoint and measures them.
//!
//! Clients take whole mixes from one counter. Parameters follow from (seed, mix, position), so
//! every number of clients asks the same queries; warm-up mixes have negative numbers and no
//! updates. All clients finish the warm-up before the clock starts. Answers are read and checked
//! after the clock of their execution has stopped. A failed execution never ends the run.

use crate::answer::{Fnv, accepted, digest};
use crate::draw::{Draw, Value};
use crate::error::BsbmError;
use crate::http::{Client, Endpoint, Failure};
use crate::parameters::ParameterPool;
use crate::queries::{QueryForm, UseCase, mix, query_text};
use crate::report::{Execution, QueryReport, Report};
use crate::update::UpdateBlocks;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// How long a client waits after a failed execution, so that a dead endpoint is not stormed.
const BACK_OFF: Duration = Duration::from_millis(50);

/// How to run the driver.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The URL that queries are posted to.
    pub endpoint: String,
    /// The URL that updates are posted to, if it is another one.
    pub update_endpoint: Option<String>,
    /// The update file; needed for updates.
    pub update_file: Option<PathBuf>,
    /// Concurrent clients.
    pub clients: usize,
    /// Mixes to run before measuring, over all clients.
    pub warmup: u64,
    /// Mixes to measure, over all clients.
    pub runs: u64,
    /// The seed of the parameters.
    pub seed: u64,
    /// The time limit of one execution.
    pub timeout: Duration,
    /// The graph that queries are asked of.
    pub default_graph: Option<String>,
    /// Numbers of queries to leave out.
    pub ignored: Vec<u8>,
}

impl RunOptions {
    /// The usual options: one client, 50 mixes of warm-up, 500 measured, a minute per query.
    pub fn new(endpoint: &str) -> RunOptions {
        RunOptions {
            endpoint: endpoint.to_owned(),
            update_endpoint: None,
            update_file: None,
            clients: 1,
            warmup: 50,
            runs: 500,
            seed: 808_080,
            timeout: Duration::from_secs(60),
            default_graph: None,
            ignored: Vec::new(),
        }
    }
}

/// What the clients of a run share.
struct Shared<'a> {
    use_case: UseCase,
    pool: &'a ParameterPool,
    options: &'a RunOptions,
    query_endpoint: Endpoint,
    update_endpoint: Endpoint,
    blocks: Mutex<Option<UpdateBlocks>>,
    next_mix: AtomicI64,
    /// Passed by the clients when the warm-up is over; the calling thread waits here too.
    barrier: Barrier,
}

/// Runs a use case against an endpoint.
///
/// `progress` is called on the calling thread when measuring begins.
pub fn run(
    use_case: UseCase,
    pool: &ParameterPool,
    options: &RunOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, BsbmError> {
    let clients = options.clients.max(1);
    let update_url = options
        .update_endpoint
        .as_ref()
        .unwrap_or(&options.endpoint);
    let blocks = match (&options.update_file, use_case) {
        (Some(path), UseCase::ExploreAndUpdate) => Some(UpdateBlocks::open(path)?),
        (None, UseCase::ExploreAndUpdate) => return Err(BsbmError::NoUpdateInput),
        _ => None,
    };
    let shared = Shared {
        use_case,
        pool,
        options,
        query_endpoint: parse_endpoint(&options.endpoint)?,
        update_endpoint: parse_endpoint(update_url)?,
        blocks: Mutex::new(blocks),
        next_mix: AtomicI64::new(-(options.warmup as i64)),
        barrier: Barrier::new(clients + 1),
    };
    let mut executions = Vec::new();
    let elapsed = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..clients)
            .map(|_| scope.spawn(|| run_client(&shared)))
            .collect();
        shared.barrier.wait();
        progress("measuring");
        let start = Instant::now();
        for handle in handles {
            executions.extend(handle.join().map_err(|_| BsbmError::WorkerLost)?);
        }
        Ok(start.elapsed())
    })?;
    Ok(summarise(&shared, clients, &executions, elapsed))
}

fn parse_endpoint(url: &str) -> Result<Endpoint, BsbmError> {
    Endpoint::parse(url).ok_or_else(|| BsbmError::BadEndpoint {
        url: url.to_owned(),
    })
}

fn run_client(shared: &Shared<'_>) -> Vec<Execution> {
    let timeout = shared.options.timeout;
    let mut queries = Client::new(shared.query_endpoint.clone(), timeout);
    let mut updates = Client::new(shared.update_endpoint.clone(), timeout);
    let mut executions = Vec::new();
    let mut is_warm = false;
    // Termination: the counter of mixes grows in every round.
    loop {
        let mix_number = shared.next_mix.fetch_add(1, Ordering::Relaxed);
        if mix_number >= 0 && !is_warm {
            is_warm = true;
            shared.barrier.wait();
        }
        if mix_number >= shared.options.runs as i64 {
            return executions;
        }
        for (position, number) in (0..).zip(mix(shared.use_case)) {
            if shared.options.ignored.contains(number) {
                continue;
            }
            let Some(form) = shared.use_case.form(*number) else {
                continue;
            };
            let client = match form {
                QueryForm::Update if mix_number < 0 => continue,
                QueryForm::Update => &mut updates,
                QueryForm::Select | QueryForm::Graph => &mut queries,
            };
            let draw = Draw {
                seed: shared.options.seed,
                mix: mix_number,
                position,
            };
            let execution = execute(shared, client, *number, form, draw);
            if execution.error.is_some() {
                std::thread::sleep(BACK_OFF);
            }
            if mix_number >= 0 {
                executions.push(execution);
            }
        }
    }
}

/// Runs one query or update.
fn execute(
    shared: &Shared<'_>,
    client: &mut Client,
    number: u8,
    form: QueryForm,
    draw: Draw,
) -> Execution {
    let mut execution = Execution {
        number,
        seconds: None,
        rows: 0,
        hash: 0,
        is_timeout: false,
        error: None,
        form,
    };
    let outcome = text_of(shared, number, form, draw)
        .map_err(Failure::Other)
        .and_then(|text| post(shared, client, form, &text));
    let answer = match outcome {
        Ok(answer) => answer,
        Err(Failure::Timeout) => {
            execution.is_timeout = true;
            execution.seconds = Some(shared.options.timeout.as_secs_f64());
            return execution;
        }
        Err(Failure::Other(error)) => {
            execution.error = Some(error);
            return execution;
        }
    };
    match digest(form, &answer) {
        Ok(digest) => {
            execution.seconds = Some(answer.seconds);
            execution.rows = digest.rows;
            let mut hash = Fnv::new();
            hash.add(&format!("{} {} {:x}", draw.mix, draw.position, digest.hash));
            execution.hash = hash.finish();
        }
        Err(error) => execution.error = Some(error),
    }
    execution
}

fn text_of(shared: &Shared<'_>, number: u8, form: QueryForm, draw: Draw) -> Result<String, String> {
    let drawn = shared.pool.draw(shared.use_case, number, draw);
    let mut parameters = drawn.ok_or("there is no such query")?;
    let takes_block = form == QueryForm::Update && parameters.iter().next().is_none();
    if takes_block {
        let mut blocks = shared.blocks.lock().map_err(|error| error.to_string())?;
        let block = match &mut *blocks {
            Some(blocks) => blocks.next_block().map_err(|error| error.to_string())?,
            None => None,
        };
        let triples = block.ok_or("the update file has no block left")?;
        parameters.set("Triples", Value::Triples(triples));
    }
    let text = query_text(shared.use_case, number, &parameters);
    text.ok_or_else(|| "a parameter is missing".to_owned())
}

fn post(
    shared: &Shared<'_>,
    client: &mut Client,
    form: QueryForm,
    text: &str,
) -> Result<crate::http::Answer, Failure> {
    let mut fields = Vec::new();
    if form == QueryForm::Update {
        // The updates name no graph and change the default graph, whatever is queried.
        fields.push(("update", text));
    } else {
        fields.push(("query", text));
        if let Some(graph) = &shared.options.default_graph {
            fields.push(("default-graph-uri", graph));
        }
    }
    client.post(&fields, accepted(form))
}

fn summarise(
    shared: &Shared<'_>,
    clients: usize,
    executions: &[Execution],
    elapsed: Duration,
) -> Report {
    let options = shared.options;
    let queries: Vec<QueryReport> = (1..=shared.use_case.queries())
        .filter_map(|number| QueryReport::new(number, executions))
        .collect();
    let query_time_s: f64 = executions.iter().filter_map(|e| e.seconds).sum();
    let per_hour = |seconds: f64| match seconds > 0.0 {
        true => 3_600.0 * options.runs as f64 / seconds,
        false => 0.0,
    };
    let qmph_wall = per_hour(elapsed.as_secs_f64());
    Report {
        driver: concat!("basalt-bsbm ", env!("CARGO_PKG_VERSION")).to_owned(),
        use_case: shared.use_case.name().to_owned(),
        endpoint: options.endpoint.clone(),
        products: shared.pool.products(),
        seed: options.seed,
        clients,
        warmup: options.warmup,
        runs: options.runs,
        timeout_s: options.timeout.as_secs_f64(),
        elapsed_s: elapsed.as_secs_f64(),
        query_time_s,
        qmph: if clients == 1 {
            per_hour(query_time_s)
        } else {
            qmph_wall
        },
        qmph_wall,
        cqet_s: query_time_s / options.runs.max(1) as f64,
        timeouts: queries.iter().map(|query| query.timeouts).sum(),
        errors: queries.iter().map(|query| query.errors).sum(),
        queries,
    }
}
