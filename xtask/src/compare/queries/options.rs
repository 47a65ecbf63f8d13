//! The command line of `compare queries`.
//!
//! Invariants: Basalt is always among the stores, as the first one, since the others are held
//! against it; paths are absolute; no list has anything twice, and every number is at least one
//! but those of warm-up mixes.
//!
//! Cost: nothing.

use std::path::PathBuf;
use std::time::Duration;

use super::super::options::{
    absolute, at_least_one, basalt_first, clients_label, number, usage, with_values,
};
use crate::error::XtaskError;

/// Names of the stores that can be asked, as the command line takes them.
pub const STORES: [&str; 5] = ["basalt", "virtuoso", "oxigraph", "fuseki", "duckdb"];

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseCase {
    /// Lookups.
    Explore,
    /// Analytic queries, with types of products of every level.
    Bi,
}

impl UseCase {
    /// The name that the command line and the driver take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Bi => "bi",
        }
    }
}

/// How much is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// Mixes before measuring.
    pub warmup: u64,
    /// Mixes that are measured.
    pub runs: u64,
    /// Numbers of concurrent clients, each a run of its own.
    pub clients: Vec<u64>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Names of the stores, Basalt first.
    pub stores: Vec<&'static str>,
    /// What is asked, in the order given.
    pub use_cases: Vec<UseCase>,
    /// Of explore.
    pub explore: Amount,
    /// Of BI.
    pub bi: Amount,
    /// Formats of rows, each a run of its own; BI is asked in the first one.
    pub formats: Vec<&'static str>,
    /// The wording of queries that have two.
    pub wording: &'static str,
    /// The time limit of a query.
    pub timeout: Duration,
    /// Timeouts after which a query is not asked again.
    pub give_up: u64,
    /// Products of the data.
    pub products: u64,
    /// An N-Triples file in place of the generated one.
    pub file: Option<PathBuf>,
    /// The basalt program; built if there is none.
    pub basalt: Option<PathBuf>,
    /// The program with the driver, if it is another one.
    pub driver: Option<PathBuf>,
    /// The work folder, if not the default.
    pub work: Option<PathBuf>,
    /// A file for the report.
    pub report: Option<PathBuf>,
}

impl Options {
    /// Reads options with their values.
    pub fn parse(arguments: &[String]) -> Result<Self, XtaskError> {
        let mut options = Self {
            stores: STORES.to_vec(),
            use_cases: vec![UseCase::Explore, UseCase::Bi],
            explore: Amount {
                warmup: 50,
                runs: 500,
                clients: vec![1, 4],
            },
            bi: Amount {
                warmup: 5,
                runs: 15,
                clients: vec![1],
            },
            formats: vec!["json", "xml"],
            wording: "portable",
            timeout: Duration::from_secs(60),
            give_up: 1,
            products: 28_480,
            file: None,
            basalt: None,
            driver: None,
            work: None,
            report: None,
        };
        for (option, value) in with_values("queries", arguments)? {
            options.set(option, value)?;
        }
        basalt_first(&mut options.stores);
        Ok(options)
    }

    /// Takes one option.
    fn set(&mut self, name: &str, value: &str) -> Result<(), XtaskError> {
        match name {
            "--systems" => self.stores = chosen("system", value, &STORES.map(|s| (s, s)))?,
            "--use-cases" => {
                let known = [UseCase::Explore, UseCase::Bi].map(|u| (u.name(), u));
                self.use_cases = chosen("use case", value, &known)?;
            }
            "--clients" => self.explore.clients = numbers(name, value)?,
            "--bi-clients" => self.bi.clients = numbers(name, value)?,
            "--formats" => {
                let known = ["json", "xml"].map(|format| (format, format));
                self.formats = chosen("format", value, &known)?;
            }
            "--wording" => {
                let known = ["portable", "published"].map(|wording| (wording, wording));
                self.wording = chosen("wording", value, &known)?[0];
            }
            "--warmup" => self.explore.warmup = number(name, value)?,
            "--runs" => self.explore.runs = at_least_one(name, value)?,
            "--bi-warmup" => self.bi.warmup = number(name, value)?,
            "--bi-runs" => self.bi.runs = at_least_one(name, value)?,
            "--timeout" => self.timeout = Duration::from_secs(at_least_one(name, value)?),
            "--give-up" => self.give_up = at_least_one(name, value)?,
            "--products" => self.products = at_least_one(name, value)?,
            "--file" => self.file = Some(absolute(value)?),
            "--basalt" => self.basalt = Some(absolute(value)?),
            "--driver" => self.driver = Some(absolute(value)?),
            "--work" => self.work = Some(absolute(value)?),
            "--report" => self.report = Some(absolute(value)?),
            _ => return Err(usage(format!("`queries` does not take `{name}`"))),
        }
        Ok(())
    }

    /// How much is asked of a use case.
    pub fn amount(&self, use_case: UseCase) -> &Amount {
        match use_case {
            UseCase::Explore => &self.explore,
            UseCase::Bi => &self.bi,
        }
    }

    /// The runs of a use case: a number of clients and a format each.
    pub fn settings(&self, use_case: UseCase) -> Vec<Setting> {
        let formats = match use_case {
            UseCase::Explore => &self.formats[..],
            UseCase::Bi => &self.formats[..1],
        };
        let mut settings = Vec::new();
        for &clients in &self.amount(use_case).clients {
            for &format in formats {
                settings.push(Setting { clients, format });
            }
        }
        settings
    }
}

/// How a run asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Concurrent clients.
    pub clients: u64,
    /// The format of rows.
    pub format: &'static str,
}

impl Setting {
    /// In words, for a heading.
    pub fn label(self) -> String {
        let clients = clients_label(self.clients);
        format!("{clients}, {}", self.format.to_uppercase())
    }
}

/// The known things that a list with commas names, each once.
pub fn chosen<T: Copy + PartialEq>(
    kind: &str,
    list: &str,
    known: &[(&str, T)],
) -> Result<Vec<T>, XtaskError> {
    let mut found = Vec::new();
    for name in list.split(',') {
        let thing = known.iter().find(|(known, _)| *known == name);
        let (_, thing) =
            thing.ok_or_else(|| usage(format!("there is no {kind} `{name}` in `{list}`")))?;
        if !found.contains(thing) {
            found.push(*thing);
        }
    }
    Ok(found)
}

/// The numbers of a list with commas, each once.
pub fn numbers(name: &str, list: &str) -> Result<Vec<u64>, XtaskError> {
    let mut found = Vec::new();
    for value in list.split(',') {
        let number = at_least_one(name, value)?;
        if !found.contains(&number) {
            found.push(number);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, XtaskError> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn without_arguments_everybody_is_asked_everything() {
        let options = parse("").expect("nothing is well formed");
        assert_eq!(options.stores, STORES);
        assert_eq!(options.use_cases, [UseCase::Explore, UseCase::Bi]);
        assert_eq!((options.explore.runs, options.explore.warmup), (500, 50));
        assert_eq!((options.bi.runs, options.bi.warmup), (15, 5));
        let settings = options.settings(UseCase::Explore);
        let labels: Vec<String> = settings.into_iter().map(Setting::label).collect();
        assert_eq!(
            labels,
            [
                "1 client, JSON",
                "1 client, XML",
                "4 clients, JSON",
                "4 clients, XML"
            ]
        );
        assert_eq!(options.settings(UseCase::Bi).len(), 1);
    }

    #[test]
    fn basalt_comes_first_whether_named_or_not() {
        let stores = |text| parse(text).expect("it is well formed").stores;
        assert_eq!(stores("--systems duckdb,basalt"), ["basalt", "duckdb"]);
        assert_eq!(
            stores("--systems virtuoso,virtuoso"),
            ["basalt", "virtuoso"]
        );
    }

    #[test]
    fn options_are_taken() {
        let text = "--use-cases bi --clients 2,8,2 --bi-clients 3 --formats xml --runs 7 \
                    --warmup 0 --bi-runs 3 --bi-warmup 0 --timeout 9 --give-up 2 --products 500 \
                    --wording published --work here --file x.nt --driver d --report r.md";
        let options = parse(text).expect("it is well formed");
        assert_eq!(options.use_cases, [UseCase::Bi]);
        assert_eq!(options.explore.clients, [2, 8]);
        assert_eq!(
            options.settings(UseCase::Bi),
            [Setting {
                clients: 3,
                format: "xml"
            }]
        );
        assert_eq!((options.explore.runs, options.explore.warmup), (7, 0));
        assert_eq!((options.bi.runs, options.bi.warmup), (3, 0));
        assert_eq!(options.timeout, Duration::from_secs(9));
        assert_eq!((options.give_up, options.products), (2, 500));
        assert_eq!(options.wording, "published");
        assert!(options.work.is_some_and(|work| work.is_absolute()));
    }

    #[test]
    fn what_is_not_known_is_quoted() {
        for (text, quoted) in [
            ("bsbm", "`bsbm`"),
            ("--systems basalt,qlever", "`qlever`"),
            ("--use-cases explore,bim", "`bim`"),
            ("--formats json,", "``"),
            ("--clients 1,0", "`--clients`"),
            ("--runs", "`--runs`"),
            ("--give-up 0", "`--give-up`"),
            ("--speed 3", "`--speed`"),
        ] {
            let error = parse(text).expect_err("it is not well formed");
            assert!(error.to_string().contains(quoted), "{text}: {error}");
        }
    }
}
