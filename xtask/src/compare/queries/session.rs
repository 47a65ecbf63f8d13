//! Asks the stores, one after the other, and says what came of it.
//!
//! Invariants: Basalt is asked first and the others are held against it; a store that fails ends
//! its own part only, and is a flaw of the report; answers whose hashes differ are compared one by
//! one, never taken for equal.
//!
//! Cost: that of the questions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::report::{Section, thousands};
use super::super::systems::duckdb::DuckDb;
use super::super::systems::endpoint::{Endpoint, Served};
use super::super::work_folder::WorkFolder;
use super::agreement::{Qualification, Verdict, unequal, verdict};
use super::driver::{Driver, Question, timed_out};
use super::figures::Figures;
use super::known;
use super::options::{Options, Setting, UseCase};
use super::tables::{self, Run};
use crate::error::XtaskError;

/// Numbers of threads that DuckDB is run with.
const DUCKDB_THREADS: [usize; 2] = [1, 2];
/// By how much the limit of a server is longer than the driver's, so that it is always the driver's
/// that ends a query; the driver pauses for longer than this.
const SERVER_GRACE: Duration = Duration::from_secs(1);
/// The highest number of an explore query.
const EXPLORE_LAST: u64 = 12;

/// Something to be asked.
pub enum Contender {
    /// A store behind a server.
    Server {
        /// The store.
        endpoint: Box<dyn Endpoint>,
        /// The folder that its data is in.
        folder: PathBuf,
    },
    /// Tables; only BI has SQL.
    Tables {
        /// The program.
        duckdb: DuckDb,
        /// The folder that its tables are in.
        folder: PathBuf,
    },
}

/// All contenders, with what asking them needs.
pub struct Session<'a> {
    options: &'a Options,
    work: &'a WorkFolder,
    driver: &'a Driver<'a>,
    /// Basalt.
    reference: Contender,
    /// The others.
    others: Vec<Contender>,
}

/// What came of asking one.
pub struct Asked {
    /// Its name in tables.
    name: String,
    /// The figures in each setting, if it can be asked so.
    runs: Vec<Option<Figures>>,
    /// All its answers, where they were recorded.
    recording: Option<PathBuf>,
    /// What ran out of time while answers were recorded.
    given_up: Vec<Question>,
}

/// What is said of the answers of one beside Basalt's.
pub struct Judged {
    /// Numbers of queries whose hashes differ.
    unequal: Vec<u64>,
    /// The answers themselves, compared; none if nothing differs.
    recorded: Option<Qualification>,
}

impl Contender {
    /// The name of the store.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Server { endpoint, .. } => endpoint.name(),
            Self::Tables { .. } => DuckDb::NAME,
        }
    }

    /// The folder of its data.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Server { folder, .. } | Self::Tables { folder, .. } => folder,
        }
    }
}

impl<'a> Session<'a> {
    /// A session that holds others against Basalt.
    pub fn new(
        options: &'a Options,
        work: &'a WorkFolder,
        driver: &'a Driver<'a>,
        reference: Contender,
    ) -> Self {
        Self {
            options,
            work,
            driver,
            reference,
            others: Vec::new(),
        }
    }

    /// Basalt.
    pub fn reference(&self) -> &Contender {
        &self.reference
    }

    /// Adds one to hold against Basalt.
    pub fn add(&mut self, contender: Contender) {
        self.others.push(contender);
    }

    /// Asks everybody a use case; a section for each setting.
    pub fn ask(&self, use_case: UseCase) -> Result<Vec<Section>, XtaskError> {
        let reference = self.ask_one(&self.reference, use_case, None)?;
        let mut all = vec![(reference, Judged::nothing())];
        let mut flaws = Vec::new();
        for contender in &self.others {
            let recording = all[0].0.recording.clone();
            match self.ask_and_judge(contender, use_case, recording.as_deref(), &all[0].0) {
                Ok(found) => all.extend(found),
                Err(error) => {
                    let name = contender.name();
                    eprintln!("compare: {}, {name}: {error}", use_case.name());
                    flaws.push(format!("{name} could not be asked to the end: {error}"));
                }
            }
        }
        flaws.extend(unexpected(self.options, use_case, &all));
        let mut sections = self.sections(use_case, &all);
        if let Some(last) = sections.last_mut() {
            last.flaws = flaws;
        }
        Ok(sections)
    }

    /// Asks one that is not Basalt, and compares.
    fn ask_and_judge(
        &self,
        contender: &Contender,
        use_case: UseCase,
        recording: Option<&Path>,
        reference: &Asked,
    ) -> Result<Vec<(Asked, Judged)>, XtaskError> {
        let mut found = Vec::new();
        match (contender, recording) {
            (Contender::Server { .. }, _) => {
                found.push(self.ask_one(contender, use_case, None)?);
            }
            (Contender::Tables { .. }, Some(recording)) => {
                for threads in DUCKDB_THREADS {
                    let questions = Some((recording, threads));
                    found.push(self.ask_one(contender, use_case, questions)?);
                }
            }
            (Contender::Tables { .. }, None) => {}
        }
        let judge = |asked: Asked| {
            let judged = self.judge(contender, use_case, &asked, reference)?;
            Ok((asked, judged))
        };
        found.into_iter().map(judge).collect()
    }

    /// Asks one store. Tables are asked the questions of a recording with so many threads.
    fn ask_one(
        &self,
        contender: &Contender,
        use_case: UseCase,
        questions: Option<(&Path, usize)>,
    ) -> Result<Asked, XtaskError> {
        match (contender, questions) {
            (Contender::Tables { duckdb, folder }, Some((recording, threads))) => {
                let answers = self.work.answer(&format!("bi-duckdb-{threads}.jsonl"))?;
                let report = self.work.answer(&format!("bi-duckdb-{threads}.json"))?;
                eprintln!("compare: bi, DuckDB, {threads} threads");
                duckdb.run(folder, recording, threads, &answers, &report)?;
                let figures = Figures::read(&report)?;
                let settings = self.options.settings(use_case).into_iter();
                // In process there is one client, and no format.
                let of_setting = |setting: Setting| (setting.clients == 1).then(|| figures.clone());
                let plural = if threads == 1 { "" } else { "s" };
                Ok(Asked {
                    name: format!("{}, {threads} thread{plural}", DuckDb::NAME),
                    runs: settings.map(of_setting).collect(),
                    recording: Some(answers),
                    given_up: Vec::new(),
                })
            }
            _ => self.ask_server(contender, use_case),
        }
    }

    /// Starts a server, asks it in every setting, and stops it.
    fn ask_server(&self, contender: &Contender, use_case: UseCase) -> Result<Asked, XtaskError> {
        let name = contender.name();
        let slug = name.to_lowercase();
        let mut served = self.serve(contender)?;
        let mut recording = None;
        let mut given_up = Vec::new();
        if use_case == UseCase::Bi {
            eprintln!("compare: bi, {name}, recording answers");
            let recorded = self.driver.record(&slug, &served, use_case, &[])?;
            given_up = timed_out(&recorded)?;
            recording = Some(recorded);
            if !given_up.is_empty() {
                eprintln!(
                    "compare: bi, {name}: {} ran out of time",
                    given_up.join(", ")
                );
                // It may still be working on what nobody waits for.
                drop(served);
                served = self.serve(contender)?;
            }
        }
        let mut runs = Vec::new();
        for setting in self.options.settings(use_case) {
            let label = setting.label();
            let figures = self
                .driver
                .run(&slug, &served, use_case, setting, &given_up)?;
            let rate = thousands(figures.qmph.round() as u64);
            eprintln!(
                "compare: {}, {name}, {label}: {rate} mixes an hour",
                use_case.name()
            );
            runs.push(Some(figures));
        }
        Ok(Asked {
            name: name.to_owned(),
            runs,
            recording,
            given_up,
        })
    }

    /// Starts a server.
    fn serve(&self, contender: &Contender) -> Result<Served, XtaskError> {
        match contender {
            Contender::Server { endpoint, folder } => {
                endpoint.serve(folder, self.options.timeout + SERVER_GRACE)
            }
            Contender::Tables { .. } => Err(XtaskError::Usage {
                message: "DuckDB has no server".to_owned(),
            }),
        }
    }

    /// Compares the answers of one with Basalt's; those whose hashes differ are looked at.
    fn judge(
        &self,
        contender: &Contender,
        use_case: UseCase,
        asked: &Asked,
        reference: &Asked,
    ) -> Result<Judged, XtaskError> {
        let pairs = reference.runs.iter().zip(&asked.runs);
        let pairs: Vec<(&Figures, &Figures)> = pairs
            .filter_map(|(reference, tested)| Some((reference.as_ref()?, tested.as_ref()?)))
            .collect();
        let unequal = unequal(&pairs);
        if unequal.is_empty() {
            return Ok(Judged::nothing());
        }
        let slug = asked.name.to_lowercase().replace([' ', ','], "-");
        let (trusted, tested) = match (&reference.recording, &asked.recording) {
            (Some(trusted), Some(tested)) => (trusted.clone(), tested.clone()),
            _ => {
                let left_out: Vec<u64> = (1..=EXPLORE_LAST)
                    .filter(|number| !unequal.contains(number))
                    .collect();
                let record = |contender: &Contender, name: &str| {
                    eprintln!(
                        "compare: {}, {}: recording answers to {unequal:?}",
                        use_case.name(),
                        contender.name()
                    );
                    let served = self.serve(contender)?;
                    self.driver.record(name, &served, use_case, &left_out)
                };
                let trusted = record(&self.reference, &format!("{slug}-trusted"))?;
                (trusted, record(contender, &slug)?)
            }
        };
        let recorded = self.driver.qualify(&slug, use_case, &trusted, &tested)?;
        Ok(Judged {
            unequal,
            recorded: Some(recorded),
        })
    }

    /// A section for each setting.
    fn sections(&self, use_case: UseCase, all: &[(Asked, Judged)]) -> Vec<Section> {
        let settings = self.options.settings(use_case).into_iter().enumerate();
        let section = |(place, setting): (usize, Setting)| {
            let of_setting = |(asked, _): &'_ (Asked, Judged)| {
                let figures = asked.runs.get(place)?.as_ref()?;
                Some((asked.name.clone(), figures.clone()))
            };
            let found: Vec<(String, Figures)> = all.iter().filter_map(of_setting).collect();
            let runs: Vec<Run> = found
                .iter()
                .map(|(name, figures)| Run { name, figures })
                .collect();
            let answers = |number| answers(all, number);
            let mut text = format!(
                "`{} --clients {} --results-format {}`\n\n{}",
                self.driver.command_line(use_case),
                setting.clients,
                setting.format,
                tables::by_query(&runs, &answers).markdown()
            );
            if let Some(levels) = tables::by_level(&runs) {
                text.push_str("\nBy level of the product type, the root is 0:\n\n");
                text.push_str(&levels.markdown());
            }
            text.push_str(&self.notes(use_case, all, &runs));
            text.push_str("\nAll figures:\n\n");
            text.push_str(&tables::raw(&runs).markdown());
            Section {
                title: format!("{}, {}", use_case.name(), setting.label()),
                text,
                flaws: Vec::new(),
            }
        };
        settings.map(section).collect()
    }

    /// What a reader has to know of the figures.
    fn notes(&self, use_case: UseCase, all: &[(Asked, Judged)], runs: &[Run]) -> String {
        let mut notes = Vec::new();
        for (asked, judged) in all {
            if !asked.given_up.is_empty() {
                notes.push(format!(
                    "{}: not asked while measuring, since it had run out of time before (query@level): {}",
                    asked.name,
                    asked.given_up.join(", ")
                ));
            }
            for &number in &judged.unequal {
                let wording = self.options.wording;
                if let Some(reason) = known::reason(&asked.name, use_case, number, wording) {
                    notes.push(format!("{}, query {number}, known: {reason}", asked.name));
                }
            }
        }
        for run in runs {
            for warning in &run.figures.warnings {
                notes.push(format!("{}: {warning}", run.name));
            }
        }
        let lines: String = notes.iter().map(|note| format!("- {note}\n")).collect();
        match notes.is_empty() {
            true => String::new(),
            false => format!("\n{lines}"),
        }
    }
}

impl Judged {
    /// Nothing differs.
    fn nothing() -> Self {
        Self {
            unequal: Vec::new(),
            recorded: None,
        }
    }

    fn verdict(&self, number: u64) -> Verdict {
        verdict(number, &self.unequal, self.recorded.as_ref())
    }
}

/// What is not as it should be: failures, and differences that are not known.
fn unexpected(options: &Options, use_case: UseCase, all: &[(Asked, Judged)]) -> Vec<String> {
    let mut flaws = Vec::new();
    for (asked, judged) in all {
        let known =
            |number| known::reason(&asked.name, use_case, number, options.wording).is_some();
        for (setting, run) in options.settings(use_case).iter().zip(&asked.runs) {
            for query in run.iter().flat_map(|run| &run.queries) {
                if let Some(error) = query.first_error.as_ref().filter(|_| !known(query.number)) {
                    flaws.push(format!(
                        "{}, {}, query {}: {} failed: {error}",
                        asked.name,
                        setting.label(),
                        query.number,
                        query.errors
                    ));
                }
            }
        }
        for &number in judged.unequal.iter().filter(|number| !known(**number)) {
            match judged.verdict(number) {
                Verdict::Wrong(tally, reason) => flaws.push(format!(
                    "{}, query {number}: {} answers differ from Basalt's, the first: {reason}",
                    asked.name, tally.different
                )),
                Verdict::Unknown => flaws.push(format!(
                    "{}, query {number}: answers differ from Basalt's and were not compared",
                    asked.name
                )),
                Verdict::Equal | Verdict::Allowed(_) | Verdict::Incomplete(_) => {}
            }
        }
    }
    flaws
}

/// How the answers of all others to a query compare with Basalt's, in a few words.
fn answers(all: &[(Asked, Judged)], number: u64) -> String {
    let others = all.get(1..).unwrap_or_default();
    let differing: Vec<String> = others
        .iter()
        .map(|(asked, judged)| (asked, judged.verdict(number)))
        .filter(|(_, verdict)| !verdict.is_equal())
        .map(|(asked, verdict)| format!("{}: {}", asked.name, verdict.words()))
        .collect();
    match (others.is_empty(), differing.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "equal".to_owned(),
        (false, false) => differing.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::Tally;
    use super::super::figures::tests::run;
    use super::*;

    fn asked(name: &str, runs: &[(u64, f64, &str)]) -> Asked {
        Asked {
            name: name.to_owned(),
            runs: vec![Some(run(runs))],
            recording: None,
            given_up: Vec::new(),
        }
    }

    fn judged(number: u64, tally: Tally) -> Judged {
        let mut recorded = Qualification::default();
        recorded.tallies.insert(number, tally);
        recorded
            .reasons
            .insert(number, "3 rows instead of 4".to_owned());
        Judged {
            unequal: vec![number],
            recorded: Some(recorded),
        }
    }

    fn options(wording: &str) -> Options {
        let arguments = ["--clients", "1", "--formats", "json", "--wording", wording];
        Options::parse(&arguments.map(str::to_owned)).expect("it is well formed")
    }

    fn wrong() -> Tally {
        Tally {
            different: 2,
            ..Tally::default()
        }
    }

    #[test]
    fn a_difference_is_a_flaw_unless_it_is_known() {
        let queries = [(4, 1.0, "a"), (5, 1.0, "b")];
        let all = |judged| {
            vec![
                (asked("Basalt", &queries), Judged::nothing()),
                (asked("Virtuoso", &queries), judged),
            ]
        };
        let flaws = |wording, number, tally| {
            unexpected(&options(wording), UseCase::Bi, &all(judged(number, tally)))
        };
        let found = flaws("portable", 5, wrong());
        assert_eq!(
            found,
            ["Virtuoso, query 5: 2 answers differ from Basalt's, the first: 3 rows instead of 4"]
        );
        assert_eq!(flaws("published", 5, wrong()), [""; 0]);
        assert_eq!(flaws("published", 4, wrong()).len(), 1);
        let unanswered = Tally {
            missing: 3,
            equal: 1,
            ..Tally::default()
        };
        assert_eq!(flaws("portable", 4, unanswered), [""; 0]);
        let mut not_compared = judged(4, wrong());
        not_compared.recorded = None;
        let found = unexpected(&options("portable"), UseCase::Bi, &all(not_compared));
        assert!(found[0].contains("were not compared"), "{found:?}");
    }

    #[test]
    fn an_execution_that_failed_is_a_flaw() {
        let mut failing = asked("Oxigraph", &[(4, 1.0, "a")]);
        let figures = failing.runs[0].as_mut().expect("it was run");
        figures.queries[0].errors = 7;
        figures.queries[0].first_error = Some("status 500".to_owned());
        let all = [(failing, Judged::nothing())];
        assert_eq!(
            unexpected(&options("portable"), UseCase::Bi, &all),
            ["Oxigraph, 1 client, JSON, query 4: 7 failed: status 500"]
        );
    }

    #[test]
    fn answers_are_told_store_by_store_where_they_differ() {
        let queries = [(4, 1.0, "a"), (5, 1.0, "b")];
        let mut all = vec![(asked("Basalt", &queries), Judged::nothing())];
        assert_eq!(answers(&all, 4), "");
        all.push((asked("Virtuoso", &queries), judged(4, wrong())));
        let ties = Tally {
            ties: 1,
            ..Tally::default()
        };
        all.push((asked("Oxigraph", &queries), judged(4, ties)));
        assert_eq!(
            answers(&all, 4),
            "Virtuoso: **2 differ**; Oxigraph: equal but 1 ties"
        );
        assert_eq!(answers(&all, 5), "equal");
    }
}
