//! The command line of `compare updates`.
//!
//! Invariants: Basalt is always among the stores, as the first one; paths are absolute; no list has
//! anything twice, and every number is at least one but that of warm-up mixes; the products suffice for
//! the transactions.
//!
//! Cost: nothing.

use std::path::PathBuf;
use std::time::Duration;

use super::super::options::{
    absolute, at_least_one, basalt_first, clients_label, number, usage, with_values,
};
use super::super::queries::options::{chosen, numbers};
use super::super::systems::updatable::Commits;
use crate::error::XtaskError;

/// Names of the stores that can be updated, as the command line takes them.
const STORES: [&str; 2] = ["basalt", "virtuoso"];
/// Transactions that a mix sends.
const TRANSACTIONS_PER_MIX: u64 = 2;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Names of the stores, Basalt first.
    pub stores: Vec<&'static str>,
    /// Numbers of concurrent clients, each a run of its own.
    pub clients: Vec<u64>,
    /// What commits survive, each a run of its own.
    pub commits: Vec<Commits>,
    /// Mixes before measuring.
    pub warmup: u64,
    /// Mixes that are measured.
    pub runs: u64,
    /// How often all is done.
    pub rounds: u64,
    /// The time limit of a query or update.
    pub timeout: Duration,
    /// Products of the data, with those that are inserted.
    pub products: u64,
    /// The basalt program; built if there is none.
    pub basalt: Option<PathBuf>,
    /// The program with the driver and the generator, if it is another one.
    pub driver: Option<PathBuf>,
    /// The work folder, if not the default.
    pub work: Option<PathBuf>,
    /// A file for the report.
    pub report: Option<PathBuf>,
}

/// A kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Concurrent clients.
    pub clients: u64,
    /// What commits survive.
    pub commits: Commits,
}

impl Options {
    /// Reads options with their values.
    pub fn parse(arguments: &[String]) -> Result<Self, XtaskError> {
        let mut options = Self {
            stores: STORES.to_vec(),
            clients: vec![1, 4],
            commits: vec![Commits::Synced],
            warmup: 30,
            runs: 100,
            rounds: 2,
            timeout: Duration::from_secs(30),
            products: 28_480,
            basalt: None,
            driver: None,
            work: None,
            report: None,
        };
        for (option, value) in with_values("updates", arguments)? {
            options.set(option, value)?;
        }
        basalt_first(&mut options.stores);
        let (products, transactions) = (options.products, options.transactions());
        if transactions >= products {
            return Err(usage(format!(
                "`--runs {}` needs {transactions} products to insert, and there are {products}",
                options.runs
            )));
        }
        Ok(options)
    }

    /// Takes one option.
    fn set(&mut self, name: &str, value: &str) -> Result<(), XtaskError> {
        match name {
            "--systems" => self.stores = chosen("system", value, &STORES.map(|s| (s, s)))?,
            "--clients" => self.clients = numbers(name, value)?,
            "--commits" => {
                let known = Commits::ALL.map(|commits| (commits.name(), commits));
                self.commits = chosen("kind of commit", value, &known)?;
            }
            "--warmup" => self.warmup = number(name, value)?,
            "--runs" => self.runs = at_least_one(name, value)?,
            "--rounds" => self.rounds = at_least_one(name, value)?,
            "--timeout" => self.timeout = Duration::from_secs(at_least_one(name, value)?),
            "--products" => self.products = at_least_one(name, value)?,
            "--basalt" => self.basalt = Some(absolute(value)?),
            "--driver" => self.driver = Some(absolute(value)?),
            "--work" => self.work = Some(absolute(value)?),
            "--report" => self.report = Some(absolute(value)?),
            _ => return Err(usage(format!("`updates` does not take `{name}`"))),
        }
        Ok(())
    }

    /// Update transactions that a run sends, of a product each. Each run begins with a fresh copy, so
    /// all of them send the same.
    pub fn transactions(&self) -> u64 {
        self.runs.saturating_mul(TRANSACTIONS_PER_MIX)
    }

    /// The kinds of runs.
    pub fn settings(&self) -> Vec<Setting> {
        let of = |&commits: &Commits| {
            let clients = self.clients.iter();
            clients.map(move |&clients| Setting { clients, commits })
        };
        self.commits.iter().flat_map(of).collect()
    }
}

impl Setting {
    /// In words, for a heading.
    pub fn label(self) -> String {
        let clients = clients_label(self.clients);
        format!("{clients}, commits {}", self.commits.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, XtaskError> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn without_arguments_one_and_four_clients_sync_what_they_commit() {
        let options = parse("").expect("nothing is well formed");
        assert_eq!(options.stores, STORES);
        let settings = options.settings().into_iter();
        let labels: Vec<String> = settings.map(Setting::label).collect();
        assert_eq!(
            labels,
            ["1 client, commits synced", "4 clients, commits synced"]
        );
        assert_eq!(options.transactions(), 200);
    }

    #[test]
    fn options_are_taken() {
        let text = "--systems virtuoso --clients 2,2 --commits written,synced --warmup 0 --runs 5 \
                    --rounds 3 --timeout 9 --products 500 --work here --report r.md --driver d";
        let options = parse(text).expect("it is well formed");
        assert_eq!(options.stores, ["basalt", "virtuoso"]);
        assert_eq!((options.warmup, options.runs, options.rounds), (0, 5, 3));
        assert_eq!(options.timeout, Duration::from_secs(9));
        let commits = [Commits::Written, Commits::Synced];
        let settings = commits.map(|commits| Setting {
            clients: 2,
            commits,
        });
        assert_eq!(options.settings(), settings);
        assert!(options.work.is_some_and(|work| work.is_absolute()));
    }

    #[test]
    fn what_is_not_known_is_quoted() {
        for (text, quoted) in [
            ("explore", "`explore`"),
            ("--systems basalt,oxigraph", "`oxigraph`"),
            ("--commits lost", "`lost`"),
            ("--clients 0", "`--clients`"),
            ("--runs", "`--runs`"),
            ("--rounds 0", "`--rounds`"),
            ("--file x.nt", "`--file`"),
            ("--products 200 --runs 100", "needs 200 products"),
        ] {
            let error = parse(text).expect_err("it is not well formed");
            assert!(error.to_string().contains(quoted), "{text}: {error}");
        }
    }
}
