//! `cargo xtask compare updates`: the Berlin benchmark's explore-and-update mix on Basalt and on other
//! stores that take updates, and the same queries alone, by turns, in one run on one machine.
//!
//! The way through: [`options`] says what is asked for; the data is generated with as many update
//! transactions as a run needs, and loaded into every store, or found there; in each round
//! and setting every store has its turn ([`session`]): a fresh copy, the queries alone, the queries with
//! updates ([`driver`]), the server killed, and what a new process finds ([`state`]); [`tables`]
//! puts the figures side by side.
//!
//! Invariants: one server runs at a time; all stores are asked the same, with commits that promise
//! the same; stores that hold or answer different things afterwards make the command fail.
//!
//! Cost: about three minutes a round for ten million triples, and the loads the first time.

mod driver;
mod options;
mod session;
mod state;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use self::driver::{Driver, Made};
use self::options::Options;
use self::session::{Contender, Session};
use super::measure;
use super::queries::stores::Data;
use super::report::{Report, thousands};
use super::systems::basalt::Basalt;
use super::systems::updatable::Updatable;
use super::systems::{System, updatable};
use super::work_folder::{WorkFolder, cannot};
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// Sets up, loads, runs, and writes the report.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), XtaskError> {
    let options = Options::parse(arguments)?;
    let folder = match &options.work {
        Some(folder) => folder.clone(),
        None => workspace.path("target/compare"),
    };
    let work = WorkFolder::open(&folder)?;
    let basalt = Basalt::find_or_build(workspace, options.basalt.as_deref())?;
    let with_driver = match &options.driver {
        Some(program) => Basalt::find_or_build(workspace, Some(program))?,
        None => basalt.clone(),
    };
    let made = make(&work, &with_driver, &options)?;
    let data = Data::of_file(&made.triples, &format!("updates-{}", options.products))?;
    let driver = Driver::new(with_driver, &options, &work, &made)?;
    let mut report = Report::new(
        "Updates, compared",
        method(&options, &made)?,
        options.report.clone(),
    );
    let preparation = Preparation {
        options: &options,
        work: &work,
        data,
    };
    let (reference, facts) = preparation.contender(Box::new(basalt.clone()), None)?;
    report.add_system("Basalt", &facts);
    let loaded = basalt.count(&reference.folder)?;
    let products = state::products(&made.update_file)?;
    let mut session = Session::new(&options, &work, &driver, reference, (products, loaded));
    for name in options.stores.iter().filter(|name| **name != "basalt") {
        let Some(store) = updatable(name, &basalt) else {
            continue;
        };
        match preparation.contender(store, Some(loaded)) {
            Ok((contender, facts)) => {
                report.add_system(contender.store.name(), &facts);
                session.add(contender);
            }
            Err(error) => {
                eprintln!("compare: {name} cannot be updated: {error}");
                report.add_missing(name, &error);
            }
        }
    }
    for section in session.run() {
        report.add_section(section)?;
    }
    match report.is_flawless() {
        true => Ok(()),
        false => Err(XtaskError::Reported),
    }
}

/// What setting up a store needs.
struct Preparation<'a> {
    options: &'a Options,
    work: &'a WorkFolder,
    data: Data,
}

impl Preparation<'_> {
    /// A store with its data, and what is to be said of it.
    fn contender(
        &self,
        mut store: Box<dyn Updatable>,
        expected: Option<u64>,
    ) -> Result<(Contender, String), XtaskError> {
        let version = store.prepare(self.work)?;
        let kept = self.data.store(self.work, &*store, &version, expected)?;
        let mut facts = format!("{version}; {}; {}", store.settings(), kept.origin);
        for commits in &self.options.commits {
            let (name, by) = (commits.name(), store.by(*commits));
            facts.push_str(&format!("; commits *{name}* by {by}"));
        }
        let folder = kept.folder;
        Ok((Contender { store, folder }, facts))
    }
}

/// The data without what is inserted, the transactions, and the parameters.
fn make(work: &WorkFolder, generator: &Basalt, options: &Options) -> Result<Made, XtaskError> {
    let (products, transactions) = (options.products, options.transactions());
    let name = format!("updates-{products}-{transactions}");
    let folder = work.data(&name, |folder| {
        fs::create_dir_all(folder).map_err(|source| cannot("make", folder, source))?;
        let made = Made::in_folder(folder);
        let mut command = generator.generate(products, &made.triples);
        command.arg("--data-dir").arg(&made.parameters);
        command.args(["--update-transactions", &transactions.to_string()]);
        command.arg("--update-output").arg(&made.update_file);
        measure::output(&mut command).map(drop)
    })?;
    Ok(Made::in_folder(&folder))
}

impl Made {
    fn in_folder(folder: &Path) -> Self {
        let place = |name: &str| -> PathBuf { folder.join(name) };
        Self {
            triples: place("data.nt"),
            update_file: place("update.nt"),
            parameters: place("parameters"),
        }
    }
}

/// How it was measured.
fn method(options: &Options, made: &Made) -> Result<String, XtaskError> {
    let file = &made.update_file;
    let text = fs::read_to_string(file).map_err(|source| cannot("read", file, source))?;
    let inserted = text.lines().filter(|line| line.starts_with('<')).count() as u64;
    let transactions = options.transactions();
    Ok(format!(
        "\
BSBM with forward chaining, {} products, of which the last {} are not in the data but in as many update transactions, {} triples on average. A mix is 2 inserts and 3 deletes of an offer (10 triples, or
none if it is gone), then the 25 explore queries; {} mixes are measured after {} without updates; rounds: {}, stores by turns. Every run begins with a fresh copy of the loaded store. A server is started on it and asked the
queries alone, the same questions as later; it is killed, another one is started and asked the queries with the updates, and is killed too; a third one is asked what there is. The project's driver asks over HTTP on the loopback
address, on the same cores as the store, with kept-alive connections, `TCP_NODELAY` and `TCP_QUICKACK`. Time limit {} s.

Commits are *synced* (on the disk before the answer, so that they survive a power cut) or *written* (they survive the end of the process), in both stores alike; how is said above. That they survive the end of the process is
seen: servers are killed. Checkpoints and merges happen when the stores' own thresholds say so, which may be not at all in a run this short: `basalt bsbm run --duration` is for that.

`times` above one means that Basalt is faster; `slower` is a time beside updates divided by the same store's alone. Medians of the rounds, of an even number the slower. Stores are held against each other in every round: counts and
hashes of what they hold afterwards, answers to the queries alone, and with one client also beside updates.
",
        thousands(options.products),
        thousands(transactions),
        thousands(inserted / transactions.max(1)),
        thousands(options.runs),
        thousands(options.warmup),
        options.rounds,
        options.timeout.as_secs()
    ))
}
