//! `cargo xtask compare load`: the same files loaded by Basalt and by the stores
//! that people use, in one run on one machine, as a table.
//!
//! The way through: [`options`] says what is asked for, [`systems`] sets the stores
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
mod report;
mod series;
mod shuffle;
mod systems;
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

  load   load with every system and print a Markdown table
  setup  only fetch the other systems and build Basalt

Workloads: bsbm (default) bsbm-gz bsbm-zst bsbm-nq bsbm-ttl shuffled codex
vocabularies codex40; of Basalt alone: scale ten

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

See docs/howto/compare-loads.md.
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
            message: "`compare` needs a command: load, setup or help".to_owned(),
        });
    };
    match command.as_str() {
        "help" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        "load" => load(workspace, Options::parse(arguments)?),
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
        match system.prepare(&comparison) {
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
    let mut report = Report::new(&comparison);
    let mut ready: Vec<&dyn System> = Vec::new();
    for system in &mut systems {
        let version = system.prepare(&comparison);
        if let Err(error) = &version {
            eprintln!("compare: {} is not set up: {error}", system.label());
        }
        if report.add_system(&**system, version) {
            ready.push(&**system);
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
        let given = self.options.file.as_deref().and_then(Path::parent);
        let folders = [
            (Some(self.work.root()), "WORK"),
            (Some(&*self.real_data()), "REAL_DATA"),
            (given, "GIVEN"),
        ];
        let mut text = command.to_owned();
        for (folder, name) in folders {
            if let Some(folder) = folder {
                text = text.replace(&*folder.to_string_lossy(), name);
            }
        }
        text
    }
}
