//! `cargo xtask compare queries`: the Berlin benchmark asked of Basalt and of the stores that people
//! use, by the project's own driver, in one run on one machine.
//!
//! The way through: [`options`] says what is asked for; [`stores`] loads the same data into
//! every store, or finds it there; each store in turn is started, warmed up, measured by the
//! [`driver`] and stopped ([`session`]); [`agreement`] says whether the answers are the same, and
//! [`known`] which differences are no news; [`tables`] puts [`figures`] side by side.
//!
//! Invariants: one server runs at a time while anything is measured; all stores are asked the same
//! questions with the same limits; a difference between answers that is not known makes the
//! command fail, however fast they came.
//!
//! Cost: minutes for ten million triples and Virtuoso; hours with stores that let many queries run
//! out of time.

pub mod agreement;
pub mod driver;
pub mod figures;
mod known;
pub mod options;
mod session;
pub mod stores;
pub mod tables;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use self::driver::Driver;
use self::options::Options;
use self::session::{Contender, Session};
use self::stores::Data;
use super::measure;
use super::report::{Report, thousands};
use super::systems::basalt::Basalt;
use super::systems::duckdb::DuckDb;
use super::systems::endpoint::Endpoint;
use super::systems::{System, counted, endpoint};
use super::work_folder::{WorkFolder, cannot};
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// When a run of the driver is given up: far beyond what its own limits allow.
const DRIVER_MAX: Duration = Duration::from_secs(24 * 3600);
/// Counts what the number of products says.
const COUNT_PRODUCTS: &str = "SELECT (COUNT(*) AS ?c) { ?product a <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/Product> }";

/// Sets up, loads, asks, and writes the report.
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
    let parameters = parameters(&work, &with_driver, options.products)?;
    let driver = Driver::new(with_driver, &options, &work, parameters)?;
    let preparation = Preparation {
        options: &options,
        work: &work,
        data: data(&work, &basalt, &options)?,
    };
    let method = method(&options);
    let mut report = Report::new("Queries, compared", method, options.report.clone());
    let (reference, facts) = preparation.reference(&basalt)?;
    report.add_system("Basalt", &facts);
    let mut session = Session::new(&options, &work, &driver, reference);
    for name in options.stores.iter().filter(|name| **name != "basalt") {
        match preparation.contender(name, &basalt, &session) {
            Ok((contender, facts)) => {
                report.add_system(contender.name(), &facts);
                session.add(contender);
            }
            Err(error) => {
                eprintln!("compare: {name} cannot be asked: {error}");
                report.add_missing(name, &error);
            }
        }
    }
    for &use_case in &options.use_cases {
        for section in session.ask(use_case)? {
            report.add_section(section)?;
        }
    }
    match report.is_flawless() {
        true => Ok(()),
        false => Err(XtaskError::Reported),
    }
}

/// What setting up the stores needs.
struct Preparation<'a> {
    /// What was asked for.
    options: &'a Options,
    /// Where files go.
    work: &'a WorkFolder,
    /// What is loaded.
    data: Data,
}

impl Preparation<'_> {
    /// Basalt with its store, and what is to be said of it.
    fn reference(&self, basalt: &Basalt) -> Result<(Contender, String), XtaskError> {
        let (contender, facts) = self.endpoint(Box::new(basalt.clone()), None)?;
        let found = measure::output(&mut basalt.query(contender.folder(), COUNT_PRODUCTS))?;
        let found = counted("products", &found)?;
        if found == self.options.products {
            return Ok((contender, facts));
        }
        Err(XtaskError::Usage {
            message: format!(
                "the data has {} products, not {}: `--products` says what parameters are drawn from",
                thousands(found),
                thousands(self.options.products)
            ),
        })
    }

    /// Another store with the same data, and what is to be said of it.
    fn contender(
        &self,
        name: &str,
        basalt: &Basalt,
        session: &Session,
    ) -> Result<(Contender, String), XtaskError> {
        let reference = session.reference().folder();
        if let Some(endpoint) = endpoint(name, basalt) {
            let expected = basalt.count(reference)?;
            return self.endpoint(endpoint, Some(expected));
        }
        let (duckdb, version) = DuckDb::prepare(self.work)?;
        let kept = self
            .data
            .tables(self.work, &duckdb, &version, basalt, reference)?;
        let facts = format!("{version}; {}; {}", DuckDb::SETTINGS, kept.origin);
        let folder = kept.folder;
        Ok((Contender::Tables { duckdb, folder }, facts))
    }

    fn endpoint(
        &self,
        mut endpoint: Box<dyn Endpoint>,
        expected: Option<u64>,
    ) -> Result<(Contender, String), XtaskError> {
        let version = endpoint.prepare(self.work)?;
        let kept = self.data.store(self.work, &*endpoint, &version, expected)?;
        let facts = format!("{version}; {}; {}", endpoint.settings(), kept.origin);
        let folder = kept.folder;
        Ok((Contender::Server { endpoint, folder }, facts))
    }
}

/// The folder that the driver draws parameters from. The data is made again to make it, since a
/// file that is given comes without.
fn parameters(work: &WorkFolder, basalt: &Basalt, products: u64) -> Result<PathBuf, XtaskError> {
    work.data(&format!("parameters-{products}"), |folder| {
        let mut command = basalt.generate(products, Path::new("-"));
        command.arg("--data-dir").arg(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = measure::spawn(command.stderr(Stdio::null()))?;
        let status = child
            .wait()
            .map_err(|source| cannot("wait for", folder, source))?;
        match status.success() {
            true => Ok(()),
            false => Err(XtaskError::Command {
                command: measure::command_line(&command),
            }),
        }
    })
}

/// The file given, or generated data.
fn data(work: &WorkFolder, basalt: &Basalt, options: &Options) -> Result<Data, XtaskError> {
    if let Some(file) = &options.file {
        return Data::of_file(file, "given");
    }
    let products = options.products;
    let path = work.data(&format!("bsbm-{products}.nt"), |path| {
        measure::output(&mut basalt.generate(products, path)).map(drop)
    })?;
    Data::of_file(&path, &format!("bsbm-{products}"))
}

/// How it was measured.
fn method(options: &Options) -> String {
    let wording = match options.wording {
        "portable" => {
            " BI 5 is asked in its portable wording, without a variable that is never bound in a \
             subselect: it means the same, and Virtuoso answers the published wording without rows."
        }
        _ => "",
    };
    format!(
        "\
BSBM with forward chaining, {} products, the same file in every store. The project's driver asks over HTTP on the loopback address, on the same cores as the store, with kept-alive connections,
`TCP_NODELAY` and `TCP_QUICKACK`; the clock of a query stops with the last byte of its answer, which is then read and hashed. One store runs at a time: it is started, warmed up, measured in every
setting of a use case, and stopped; then the next one. All are asked the same questions (seed 808080). BI is drilled down: a query with a product type is asked of the root, then of a random type on
every level below it, down to a leaf.{wording}

Time limit {} s. A query that has run out of time {} is not asked again of that store, at that level of the product type; what was not answered is timed with the limit and counted. Before BI is
measured its questions are asked once to record the answers; a store that let some run out of time is started anew and not asked those again. Every store has a limit of its own a second beyond the
driver's, and the driver waits two seconds after a timeout, so that no store works on what nobody waits for.

`times` is the median divided by Basalt's (for mixes an hour: Basalt's divided by it), so above one Basalt is faster. `answers`: *equal* if hashes of all answers of all runs are (numbers to six digits,
blank nodes alike), or if all answers, recorded and held against Basalt's one by one, are (numbers with a fraction to five digits); *ties* are other choices among rows that tie at a LIMIT, *open* is
what the query leaves open. DuckDB answers the same questions in SQL, each once before it is measured; its values are held against Basalt's one by one.
",
        thousands(options.products),
        options.timeout.as_secs(),
        match options.give_up {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        }
    )
}
