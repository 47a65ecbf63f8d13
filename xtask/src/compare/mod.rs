//! `cargo xtask compare`: Basalt beside the stores that people use, in one run on one
//! machine, as tables. `load` loads the same files, [`queries`] asks the same questions, [`updates`]
//! asks them while it changes the data.
//!
//! The way through a comparison of loads: [`options`] says what is asked for, [`systems`] sets the stores
//! up in the [`work_folder`] and loads with them, [`workload`] makes the files,
//! [`measure`] watches the programs, [`load_table`] runs and [`report`] writes.
//! [`series`] holds the two measurements of Basalt alone.
//!
//! Invariants: every load begins with an empty folder and counts as done only when
//! a new process has opened the store and counted its quads; nothing is written outside the
//! work folder but the report. A figure that could not be taken is missing in the
//! table, never guessed, and a store that cannot read an input has a row that says so.
//!
//! Cost: the loads, which are minutes for ten million triples; some gigabytes in the
//! work folder.

mod copies;
mod input;
mod load_table;
mod machine;
mod measure;
mod options;
mod queries;
mod report;
mod series;
mod shuffle;
mod systems;
mod updates;
mod work_folder;
mod workload;

use std::path::{Path, PathBuf};

use self::options::Options;
use self::report::Report;
use self::systems::System;
use self::systems::basalt::Basalt;
use self::work_folder::WorkFolder;
use self::workload::Workload;
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// The text that `cargo xtask compare help` prints.
const HELP: &str = "\
usage: cargo xtask compare load [WORKLOADS] [OPTIONS]
       cargo xtask compare setup [OPTIONS]
       cargo xtask compare queries [OPTIONS]
       cargo xtask compare updates [OPTIONS]

  load     load with every system and print a Markdown table
  setup    only fetch the other systems and build Basalt
  queries  ask every system the Berlin benchmark and print Markdown tables
  updates  the same queries beside updates, and alone, in Basalt and Virtuoso

Workloads of load: bsbm (default) bsbm-gz bsbm-zst bsbm-nq bsbm-ttl shuffled codex
vocabularies codex40; of Basalt alone: scale ten

Options of load:
  --systems LIST   of basalt,virtuoso,oxigraph,pyoxigraph,jena [all]
  --runs N         loads of each kind, of which the median counts [3]
  --basalt PATH    the basalt program [build the release]
  --work DIR       where everything is kept [target/compare]
  --report FILE    write the tables there too
  --file PATH      N-Triples file in place of the generated one (bsbm, shuffled)
  --products N     products of the generated data [28480]
  --seed N         seed of the shuffling [1]
  --max M          largest data set of `scale`, in millions of triples [100]
  --memory SIZE    memory that `scale` gives the load [4G]
  --timeout S      seconds after which a load is given up [3600]

Of queries:
  --systems LIST    of basalt,virtuoso,oxigraph,fuseki,duckdb; Basalt always [all]
  --use-cases LIST  of explore,bi [both]
  --clients LIST    concurrent clients of explore, a run for each [1,4]
  --bi-clients LIST the same of BI [1]
  --formats LIST    of json,xml, a run for each; BI takes the first [json,xml]
  --warmup N, --runs N        mixes of explore, before and while measuring [50, 500]
  --bi-warmup N, --bi-runs N  the same of BI [5, 15]
  --timeout S       seconds that a query may take [60]
  --give-up N       timeouts after which a query is not asked again [1]
  --wording NAME    portable, or published, which Virtuoso misreads [portable]
  --products N      products of the data [28480]
  --file PATH       N-Triples file of so many products, with forward chaining
  --basalt PATH     the basalt program [build the release]
  --driver PATH     the program whose driver asks [the same]
  --work DIR, --report FILE   as for load

Of updates:
  --systems LIST    of basalt,virtuoso; Basalt always [both]
  --clients LIST    concurrent clients, a run for each [1,4]
  --commits LIST    of synced,written: what a commit survives, a run for each [synced]
  --warmup N, --runs N        mixes before and while measuring [30, 100]
  --rounds N        how often all is done, by turns [2]
  --timeout S       seconds that a query or update may take [30]
  --products N      products of the data, with the 2 that each mix inserts [28480]
  --basalt PATH, --driver PATH   as for queries
  --work DIR, --report FILE      as for load

See docs/howto/compare-loads.md, compare-queries.md and compare-updates.md there.
";

/// Everything that preparing inputs and loading need to know.
pub struct Comparison<'a> {
    /// The checkout.
    workspace: &'a Workspace,
    /// What was asked for.
    options: Options,
    /// Where files go.
    work: WorkFolder,
    /// The program under test, which also generates the data.
    basalt: Basalt,
}

/// Runs the command that the arguments name.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), XtaskError> {
    let Some((command, arguments)) = arguments.split_first() else {
        return Err(XtaskError::Usage {
            message: "`compare` needs a command: load, setup, queries, updates or help".to_owned(),
        });
    };
    match command.as_str() {
        "help" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        "load" => load(workspace, Options::parse(arguments)?),
        "queries" => queries::run(workspace, arguments),
        "updates" => updates::run(workspace, arguments),
        "setup" => setup(workspace, Options::parse(arguments)?),
        _ => Err(XtaskError::Usage {
            message: format!("`compare` has no command `{command}`"),
        }),
    }
}

/// Sets the systems up and says what is there.
fn setup(workspace: &Workspace, options: Options) -> Result<(), XtaskError> {
    let comparison = Comparison::begin(workspace, options)?;
    let mut systems = systems::chosen(&comparison);
    let mut complete = true;
    for system in &mut systems {
        match system.prepare(&comparison.work) {
            Ok(version) => println!("{}: {version}", system.label()),
            Err(error) => {
                complete = false;
                println!("{}: not set up: {error}", system.label());
            }
        }
    }
    if complete {
        Ok(())
    } else {
        Err(XtaskError::Reported)
    }
}

/// Measures every workload that was asked for.
fn load(workspace: &Workspace, options: Options) -> Result<(), XtaskError> {
    let comparison = Comparison::begin(workspace, options)?;
    let mut systems = systems::chosen(&comparison);
    for workload in &comparison.options.workloads {
        workload.check(&comparison)?;
    }
    let mut report = Report::new(
        "Loading, compared",
        load_table::METHOD.to_owned(),
        comparison.options.report.clone(),
    );
    let mut ready: Vec<&dyn System> = Vec::new();
    for system in &mut systems {
        let label = system.label();
        match system.prepare(&comparison.work) {
            Ok(version) => {
                let facts = format!("{version}; durable by: {}", system.durable());
                report.add_system(&label, &facts);
                ready.push(&**system);
            }
            Err(error) => {
                eprintln!("compare: {label} is not set up: {error}");
                report.add_missing(&label, &error);
            }
        }
    }
    for &workload in &comparison.options.workloads {
        let section = match workload {
            Workload::Scale => series::scale(&comparison)?,
            Workload::Ten => series::ten(&comparison)?,
            _ => load_table::measure(&comparison, workload, &ready)?,
        };
        report.add_section(section)?;
    }
    if report.is_flawless() {
        Ok(())
    } else {
        Err(XtaskError::Reported)
    }
}

impl<'a> Comparison<'a> {
    /// Opens the work folder and finds or builds Basalt.
    fn begin(workspace: &'a Workspace, options: Options) -> Result<Self, XtaskError> {
        let folder = match &options.work {
            Some(folder) => folder.clone(),
            None => workspace.path("target/compare"),
        };
        let work = WorkFolder::open(&folder)?;
        let basalt = Basalt::find_or_build(workspace, options.basalt.as_deref())?;
        Ok(Self {
            workspace,
            options,
            work,
            basalt,
        })
    }

    /// The folder of the real data sets.
    fn real_data(&self) -> PathBuf {
        match std::env::var_os("BASALT_REAL_DATA_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => self.workspace.path("../shared/data/real"),
        }
    }

    /// A command line that tells nothing of this machine's folders.
    fn shorten(&self, command: &str) -> String {
        let given = self.options.file.as_deref();
        let real_data = self.real_data();
        shorten(
            command,
            &[
                (Some(self.work.root()), "WORK"),
                (Some(&*real_data), "REAL_DATA"),
                (given.and_then(Path::parent), "GIVEN"),
            ],
        )
    }
}

/// A text with names in place of folders.
fn shorten(text: &str, folders: &[(Option<&Path>, &str)]) -> String {
    let mut text = text.to_owned();
    for (folder, name) in folders {
        if let Some(folder) = folder {
            text = text.replace(&*folder.to_string_lossy(), name);
        }
    }
    text
}
