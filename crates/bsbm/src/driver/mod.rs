//! The driver: runs query mixes against an endpoint and measures them.
//!
//! Clients take whole mixes from one list ([`schedule`]), a number of them or until a time is over.
//! Parameters follow from (seed, mix, position), so every number of clients asks the same queries
//! ([`workload`]). Warm-up mixes, a given number or as many as a ramp-up takes, have no updates. All
//! clients finish the warm-up before the clock starts ([`start_line`]). Answers are read and checked
//! after the clock of their execution has stopped ([`client`]), updates are verified after the run
//! ([`verify`]). A failed execution never ends the run.

mod client;
mod connection;
mod floor;
mod give_up;
mod ledger;
mod options;
mod progress;
mod ramp_up;
mod schedule;
mod start_line;
mod transactions;
mod verify;
mod workload;

pub(crate) use connection::Connections;
pub(crate) use give_up::GivenUp;
pub use give_up::{Patience, Question};
pub use options::{MixOrder, RampUp, RunOptions, UpdatesAt};
pub use progress::{Phase, RunProgress};
pub(crate) use transactions::{Transactions, inserts_per_mix};
pub(crate) use workload::{Request, Slot, Workload, Writes};

use crate::error::BsbmError;
use crate::parameters::ParameterPool;
use crate::queries::UseCase;
use crate::report::{Report, RunFacts, Samples, UpdateReport};
use client::{Harvest, Shared, run_client};
use floor::measure_floor;
use ledger::Ledger;
use progress::Counters;
use schedule::Schedule;
use start_line::StartLine;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use verify::verify;

/// Runs a use case against an endpoint.
///
/// `progress` is called on the calling thread, now and then and when a phase begins.
pub fn run(
    use_case: UseCase,
    pool: &ParameterPool,
    options: &RunOptions,
    progress: &mut dyn FnMut(&RunProgress),
) -> Result<Report, BsbmError> {
    options.check(use_case, pool)?;
    let mut connections = Connections::new(options)?;
    let (transactions, survey) = Transactions::open(use_case, options)?.unzip();
    let survey = survey.unwrap_or_default();
    let floor_s = measure_floor(&mut connections);
    let clients = options.clients.max(1);
    let per_mix = inserts_per_mix(use_case, &options.ignored);
    let shared = Shared {
        workload: Workload {
            use_case,
            pool,
            options,
        },
        schedule: Schedule::new(options, transactions, survey.blocks, per_mix),
        start_line: StartLine::new(clients),
        ledger: Mutex::new(Ledger::new(survey.held_out_offers)),
        given_up: GivenUp::new(options.patience.as_ref()),
        warm: Counters::default(),
        measured: Counters::default(),
    };
    let harvests = run_clients(&shared, clients, progress)?;
    let started = shared.start_line.started().ok_or(BsbmError::WorkerLost)?;
    let ended = harvests.iter().map(|harvest| harvest.ended).max();
    let elapsed = ended.map_or(Default::default(), |end| {
        end.saturating_duration_since(started)
    });
    let updates = match use_case {
        UseCase::ExploreAndUpdate => Some(verify_updates(&shared, &mut connections, progress)),
        UseCase::Explore | UseCase::Bi => None,
    };
    let facts = RunFacts {
        use_case,
        products: pool.products(),
        options,
        clients,
        elapsed,
        floor_s,
        ramp_up: shared.schedule.ramp_up(),
        transactions_used_up: shared.schedule.has_run_out(),
        updates,
    };
    let (mut samples, mut mixes) = (Samples::default(), Vec::new());
    for harvest in harvests {
        samples.merge(harvest.samples);
        mixes.extend(harvest.mixes);
    }
    Ok(Report::new(&facts, &samples, &mixes))
}

/// Runs all clients to their end and shows what they do meanwhile.
fn run_clients(
    shared: &Shared<'_>,
    clients: usize,
    progress: &mut dyn FnMut(&RunProgress),
) -> Result<Vec<Harvest>, BsbmError> {
    let interval = shared.workload.options.progress_interval;
    let began = Instant::now();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            let sender = sender.clone();
            let place = shared.start_line.place();
            scope.spawn(move || {
                let harvest = run_client(shared, place);
                // The receiver waits for every client.
                let _ = sender.send(harvest);
            });
        }
        // From here on the channel ends when the last client does, however it does.
        drop(sender);
        progress(&look(shared, began));
        let mut harvests = Vec::with_capacity(clients);
        loop {
            match receiver.recv_timeout(interval) {
                Ok(harvest) => harvests.push(harvest?),
                Err(RecvTimeoutError::Timeout) => progress(&look(shared, began)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        progress(&look(shared, began));
        match harvests.len() == clients {
            true => Ok(harvests),
            false => Err(BsbmError::WorkerLost),
        }
    })
}

fn look(shared: &Shared<'_>, began: Instant) -> RunProgress {
    let options = shared.workload.options;
    match (shared.start_line.started(), options.ramp_up) {
        (Some(started), _) => {
            let elapsed = started.elapsed();
            let total = options.duration.is_none().then_some(options.runs);
            RunProgress {
                time_total: options.duration,
                supply: shared.schedule.supply().filter(|_| total.is_none()),
                ..shared.measured.look(Phase::Measuring, elapsed, total)
            }
        }
        (None, Some(_)) => shared.warm.look(Phase::RampUp, began.elapsed(), None),
        (None, None) => {
            let total = Some(options.warmup);
            shared.warm.look(Phase::WarmUp, began.elapsed(), total)
        }
    }
}

fn verify_updates(
    shared: &Shared<'_>,
    connections: &mut Connections<'_>,
    progress: &mut dyn FnMut(&RunProgress),
) -> UpdateReport {
    let counters = Counters::default();
    progress(&counters.look(Phase::Verifying, Default::default(), None));
    let ledger = &shared.ledger;
    let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let mut report = ledger.report();
    verify(connections, &ledger.expectations(), &mut report);
    report
}
