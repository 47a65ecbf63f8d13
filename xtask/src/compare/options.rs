//! The command line of `compare load` and `compare setup`.
//!
//! Invariants: paths are absolute, since programs are started in other folders; no
//! workload and no family of systems is in its list twice; there is at least one run.
//!
//! Cost: nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::systems::Family;
use super::workload::Workload;
use crate::error::XtaskError;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// What to load, in the order given.
    pub workloads: Vec<Workload>,
    /// Whose systems to load with.
    pub families: Vec<Family>,
    /// Loads of each kind.
    pub runs: usize,
    /// The basalt program; built if there is none.
    pub basalt: Option<PathBuf>,
    /// The work folder, if not the default.
    pub work: Option<PathBuf>,
    /// A file for the tables.
    pub report: Option<PathBuf>,
    /// An N-Triples file in place of the generated one.
    pub file: Option<PathBuf>,
    /// Products of the generated data.
    pub products: u64,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Largest data set of `scale`, in millions of triples.
    pub millions_max: u64,
    /// Memory for the loads of `scale`, as the load command takes it.
    pub memory: String,
    /// When a load is given up.
    pub time_max: Duration,
}

impl Options {
    /// Reads names of workloads and options with their values, in any order.
    pub fn parse(arguments: &[String]) -> Result<Self, XtaskError> {
        let mut options = Self {
            workloads: Vec::new(),
            families: Family::ALL.to_vec(),
            runs: 3,
            basalt: None,
            work: None,
            report: None,
            file: None,
            products: 28_480,
            seed: 1,
            millions_max: 100,
            memory: "4G".to_owned(),
            time_max: Duration::from_secs(3600),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument.starts_with("--") {
                let Some(value) = arguments.next() else {
                    return Err(usage(format!("`{argument}` needs a value")));
                };
                options.set(argument, value)?;
            } else {
                let workload = Workload::named(argument)
                    .ok_or_else(|| usage(format!("there is no workload `{argument}`")))?;
                if !options.workloads.contains(&workload) {
                    options.workloads.push(workload);
                }
            }
        }
        if options.workloads.is_empty() {
            options.workloads.push(Workload::Bsbm);
        }
        Ok(options)
    }

    /// Takes one option.
    fn set(&mut self, name: &str, value: &str) -> Result<(), XtaskError> {
        match name {
            "--systems" => self.families = families(value)?,
            "--runs" => self.runs = at_least_one(name, value)? as usize,
            "--basalt" => self.basalt = Some(absolute(value)?),
            "--work" => self.work = Some(absolute(value)?),
            "--report" => self.report = Some(absolute(value)?),
            "--file" => self.file = Some(absolute(value)?),
            "--products" => self.products = at_least_one(name, value)?,
            "--seed" => self.seed = number(name, value)?,
            "--max" => self.millions_max = at_least_one(name, value)?,
            "--memory" => value.clone_into(&mut self.memory),
            "--timeout" => self.time_max = Duration::from_secs(at_least_one(name, value)?),
            _ => return Err(usage(format!("`compare` does not take `{name}`"))),
        }
        Ok(())
    }
}

/// The families that a list with commas names.
fn families(list: &str) -> Result<Vec<Family>, XtaskError> {
    let mut families = Vec::new();
    for name in list.split(',') {
        let family = Family::named(name)
            .ok_or_else(|| usage(format!("there is no system `{name}` in `{list}`")))?;
        if !families.contains(&family) {
            families.push(family);
        }
    }
    Ok(families)
}

/// The options of a command that takes nothing else, each with its value.
pub fn with_values<'a>(
    command: &str,
    arguments: &'a [String],
) -> Result<Vec<(&'a str, &'a str)>, XtaskError> {
    let pair = |pair: &'a [String]| match pair {
        [name, ..] if !name.starts_with("--") => {
            Err(usage(format!("`{command}` does not take `{name}`")))
        }
        [name, value] => Ok((name.as_str(), value.as_str())),
        _ => Err(usage(format!("`{}` needs a value", pair[0]))),
    };
    arguments.chunks(2).map(pair).collect()
}

/// The names of stores with Basalt as the first, whether it was named or not.
pub fn basalt_first(stores: &mut Vec<&'static str>) {
    stores.retain(|store| *store != "basalt");
    stores.insert(0, "basalt");
}

/// So many concurrent clients, in words.
pub fn clients_label(clients: u64) -> String {
    match clients {
        1 => "1 client".to_owned(),
        clients => format!("{clients} clients"),
    }
}

/// The number that an option has.
pub fn number(name: &str, value: &str) -> Result<u64, XtaskError> {
    let number = value.parse();
    number.map_err(|_| usage(format!("`{name}` needs a number, not `{value}`")))
}

/// The same, if it is not 0.
pub fn at_least_one(name: &str, value: &str) -> Result<u64, XtaskError> {
    match number(name, value)? {
        0 => Err(usage(format!("`{name}` needs a number above 0"))),
        number => Ok(number),
    }
}

/// A path that means the same in every folder.
pub fn absolute(path: &str) -> Result<PathBuf, XtaskError> {
    std::path::absolute(path).map_err(|source| XtaskError::Io {
        operation: "find",
        path: Path::new(path).to_path_buf(),
        source,
    })
}

/// The error of a command line that is not well formed.
pub fn usage(message: String) -> XtaskError {
    XtaskError::Usage { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, XtaskError> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn without_arguments_it_is_bsbm_with_everybody() {
        let options = parse("").expect("nothing is well formed");
        assert_eq!(options.workloads, [Workload::Bsbm]);
        assert_eq!(options.families, Family::ALL);
        assert_eq!((options.runs, options.products), (3, 28_480));
    }

    #[test]
    fn workloads_and_options_mix_and_repeat_harmlessly() {
        let text =
            "codex --runs 5 bsbm-gz --systems jena,basalt,jena codex --work here --timeout 9";
        let options = parse(text).expect("it is well formed");
        assert_eq!(options.workloads, [Workload::Codex, Workload::BsbmGz]);
        assert_eq!(options.families, [Family::Jena, Family::Basalt]);
        assert_eq!(options.runs, 5);
        assert_eq!(options.time_max, Duration::from_secs(9));
        let work = options.work.expect("it was given");
        assert!(work.is_absolute() && work.ends_with("here"));
    }

    #[test]
    fn what_is_not_known_is_quoted() {
        for (text, quoted) in [
            ("bsbm-xz", "`bsbm-xz`"),
            ("--systems basalt,qlever", "`qlever`"),
            ("--runs", "`--runs`"),
            ("--runs 0", "`--runs`"),
            ("--seed many", "`many`"),
            ("--speed 3", "`--speed`"),
        ] {
            let error = parse(text).expect_err("it is not well formed");
            assert!(error.to_string().contains(quoted), "{text}: {error}");
        }
    }
}
