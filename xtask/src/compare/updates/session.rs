//! Runs the stores by turns, each run on a copy of its own, and says what came of it.
//!
//! Invariants: every run begins with a fresh copy of the loaded store and a new server, and both are
//! gone before the next begins; stores that were to do the same are held against each
//! other, and what cannot be compared is said; a store that fails is a flaw of the report, and the
//! others go on.
//!
//! Cost: that of the questions; a copy of the store and three starts of a server for each run.

use std::path::PathBuf;
use std::time::Duration;

use super::super::measure;
use super::super::queries::agreement::unequal;
use super::super::queries::figures::Figures;
use super::super::queries::tables::{Run, raw};
use super::super::report::{Section, Table, median_index, thousands};
use super::super::systems::http;
use super::super::systems::updatable::{Updatable, UpdateServer};
use super::super::work_folder::{WorkFolder, remove};
use super::driver::{Driver, Updates};
use super::options::{Options, Setting};
use super::state::{self, State};
use super::tables::{self, Measured, is_update};
use crate::error::XtaskError;

/// By how much the limit of a server is longer than the driver's, so that it is always the driver's
/// that ends a query.
const SERVER_GRACE: Duration = Duration::from_secs(1);
/// Triples of an offer.
const OFFER_TRIPLES: u64 = 10;
/// Explore 9 in this mix: what DESCRIBE describes is open.
const OPEN: u64 = 11;

/// A store with its data.
pub struct Contender {
    /// The store.
    pub store: Box<dyn Updatable>,
    /// The folder that is copied for each run.
    pub folder: PathBuf,
}

/// All contenders, with what running them needs.
pub struct Session<'a> {
    options: &'a Options,
    work: &'a WorkFolder,
    driver: &'a Driver<'a>,
    /// Basalt first.
    contenders: Vec<Contender>,
    /// The products that are inserted.
    products: Vec<String>,
    /// Triples before the updates.
    loaded: u64,
}

/// What came of one run of a store.
pub struct Taken {
    /// The store.
    name: &'static str,
    /// Which round it was.
    round: u64,
    /// The queries without updates.
    alone: Figures,
    /// The queries with updates.
    beside: Figures,
    /// What the updates did.
    updates: Updates,
    /// What the store held afterwards.
    state: State,
}

impl<'a> Session<'a> {
    /// A session with Basalt alone, which has so many triples.
    pub fn new(
        options: &'a Options,
        work: &'a WorkFolder,
        driver: &'a Driver<'a>,
        basalt: Contender,
        (products, loaded): (Vec<String>, u64),
    ) -> Self {
        Self {
            options,
            work,
            driver,
            contenders: vec![basalt],
            products,
            loaded,
        }
    }

    /// Adds another store.
    pub fn add(&mut self, contender: Contender) {
        self.contenders.push(contender);
    }

    /// Runs everything; a section for each setting.
    pub fn run(&self) -> Vec<Section> {
        let settings = self.options.settings();
        let mut taken: Vec<Vec<Taken>> = settings.iter().map(|_| Vec::new()).collect();
        let mut flaws: Vec<Vec<String>> = settings.iter().map(|_| Vec::new()).collect();
        for round in 0..self.options.rounds {
            for (place, &setting) in settings.iter().enumerate() {
                let mut contenders: Vec<&Contender> = self.contenders.iter().collect();
                // Whoever is first finds a machine that is cooler, or busier.
                if round % 2 == 1 {
                    contenders.reverse();
                }
                for contender in contenders {
                    let (name, label) = (contender.store.name(), setting.label());
                    match self.take(contender, setting, round) {
                        Ok(found) => {
                            let rates = [found.alone.qmph, found.beside.qmph];
                            let [alone, beside] = rates.map(|rate| thousands(rate.round() as u64));
                            eprintln!(
                                "compare: {name}, {label}, round {}: {beside} mixes an hour with updates, {alone} without",
                                round + 1
                            );
                            taken[place].push(found);
                        }
                        Err(error) => {
                            eprintln!("compare: {name}, {label}: {error}");
                            let round = round + 1;
                            flaws[place]
                                .push(format!("{name}, round {round}, was not measured: {error}"));
                        }
                    }
                }
            }
        }
        let parts = settings.into_iter().zip(taken).zip(flaws);
        parts
            .map(|((setting, taken), mut flaws)| {
                flaws.extend(self.unexpected(setting, &taken));
                self.section(setting, &taken, flaws)
            })
            .collect()
    }

    /// One run of one store.
    fn take(
        &self,
        contender: &Contender,
        setting: Setting,
        round: u64,
    ) -> Result<Taken, XtaskError> {
        let store = &contender.store;
        let name = store.name();
        let slug = format!("{}-{}", name.to_lowercase(), round + 1);
        let limit = self.options.timeout + SERVER_GRACE;
        let copy = self.work.copy(&contender.folder, "updated")?;
        // What a copy leaves to be written is not the next run's to pay.
        measure::seconds_to_sync(&copy);
        let server = store.serve(&copy, limit)?;
        let alone = self.driver.alone(&slug, &server, setting)?;
        drop(server);
        let server = store.serve_updates(&copy, limit, setting.commits)?;
        let (beside, updates) = self.driver.beside(&slug, &server, setting)?;
        if setting.clients > 1 {
            settle(&server, &updates.contested)?;
        }
        // It is killed: what the next one finds is what commits left.
        drop(server);
        let server = store.serve(&copy, state::QUESTION_MAX)?;
        let state = State::read(&server, &self.products)?;
        drop(server);
        remove(&copy)?;
        Ok(Taken {
            name,
            round,
            alone,
            beside,
            updates,
            state,
        })
    }

    /// What is not as it should be.
    fn unexpected(&self, setting: Setting, taken: &[Taken]) -> Vec<String> {
        let mut flaws = Vec::new();
        for found in taken {
            let (name, round) = (found.name, found.round + 1);
            let mut flaw = |what: String| flaws.push(format!("{name}, round {round}: {what}"));
            for figures in [&found.alone, &found.beside] {
                let failed = figures
                    .queries
                    .iter()
                    .filter(|query| query.unanswered() > 0);
                for query in failed {
                    let reason = query.first_error.as_deref().unwrap_or("out of time");
                    let (count, kind) = (query.unanswered(), tables::name(query.number));
                    flaw(format!(
                        "{kind}: {count} of {} failed: {reason}",
                        query.count
                    ));
                }
            }
            if let Some(wrong) = &found.updates.wrong {
                flaw(format!("confirmed updates are not there: {wrong}"));
            }
            if has_lost_updates(found) {
                flaw(
                    "updates failed, so that what it holds cannot be held against anything"
                        .to_owned(),
                );
                continue;
            }
            let expected = self.expected(setting, &found.updates);
            if found.state.triples != expected {
                let counted = thousands(found.state.triples);
                let expected = thousands(expected);
                flaw(format!(
                    "{counted} triples are there, {expected} were to be"
                ));
            }
        }
        flaws.extend(differences(setting, taken));
        flaws
    }

    /// The triples that confirmed updates leave: with one client they are done in order. With
    /// several every offer that any of them deleted is gone, since contested ones are settled so.
    fn expected(&self, setting: Setting, updates: &Updates) -> u64 {
        let deleted = match setting.clients {
            1 => updates.deletes_that_hit,
            _ => updates.offers_deleted,
        };
        (self.loaded + updates.inserted_triples).saturating_sub(OFFER_TRIPLES * deleted)
    }

    fn section(&self, setting: Setting, taken: &[Taken], flaws: Vec<String>) -> Section {
        let names = self
            .contenders
            .iter()
            .map(|contender| contender.store.name());
        let medians: Vec<Measured> = names.filter_map(|name| median(name, taken)).collect();
        let mut text = format!(
            "`{}`\n\n{}",
            self.driver.command_line(setting),
            tables::rates(&medians).markdown()
        );
        text.push_str("\nThe updates:\n\n");
        text.push_str(&tables::updates(&medians).markdown());
        for figure in tables::FIGURES {
            text.push_str(&format!("\nThe queries, {}:\n\n", figure.0));
            text.push_str(&tables::slowdowns(&medians, figure).markdown());
        }
        text.push_str(&self.agreement(setting, taken));
        text.push_str("\nAll figures of the median runs:\n\n");
        text.push_str(&raw_figures(&medians).markdown());
        Section {
            title: setting.label(),
            text,
            flaws,
        }
    }

    /// What the stores held after the last round, and what of it could be compared.
    fn agreement(&self, setting: Setting, taken: &[Taken]) -> String {
        let last = taken.iter().map(|found| found.round).max();
        let last: Vec<&Taken> = taken.iter().filter(|f| Some(f.round) == last).collect();
        let mut header = vec!["after the last round, in a new process"];
        header.extend(last.iter().map(|found| found.name));
        let mut table = Table::new(&header);
        let columns: Vec<_> = last.iter().map(|found| found.state.parts()).collect();
        let names = columns.first().into_iter().flatten();
        for (place, (name, _)) in names.enumerate() {
            let mut cells = vec![(*name).to_owned()];
            cells.extend(columns.iter().map(|column| column[place].1.clone()));
            table.add(cells);
        }
        let mut expected = vec!["triples that the confirmed updates leave".to_owned()];
        let leave = |found: &&Taken| self.expected(setting, &found.updates).to_string();
        expected.extend(last.iter().map(leave));
        table.add(expected);
        let contested = last.iter().map(|found| found.updates.contested.len()).max();
        let note = match setting.clients {
            1 => "One client does everything in the same order in every store, so the answers during the run are compared too (explore 9 is open)."
                .to_owned(),
            _ => format!(
                "Several clients do not do everything in the same order: answers during the run are not compared, and offers that were both inserted and deleted (at most {} here) were deleted before counting.",
                contested.unwrap_or_default()
            ),
        };
        format!("\n{}\n{note}\n", table.markdown())
    }
}

/// Deletes offers of which it depends on the order of clients whether they are there.
fn settle(server: &UpdateServer, offers: &[String]) -> Result<(), XtaskError> {
    for offer in offers {
        let update = format!("DELETE WHERE {{ <{offer}> ?p ?o }}");
        let mut fields = vec![("update", update.as_str())];
        fields.extend(&server.parameters);
        http::post(&server.update_url, &fields, "*/*", state::QUESTION_MAX)?;
    }
    Ok(())
}

/// Whether an update was not confirmed.
fn has_lost_updates(found: &Taken) -> bool {
    let queries = found.beside.queries.iter();
    let mut updates = queries.filter(|query| is_update(query.number));
    updates.any(|query| query.unanswered() > 0)
}

/// Where others differ from Basalt in the same round: in what they hold afterwards, and in answers.
fn differences(setting: Setting, taken: &[Taken]) -> Vec<String> {
    let mut flaws = Vec::new();
    let Some(reference) = taken
        .iter()
        .map(|found| found.name)
        .min_by_key(|name| *name != "Basalt")
    else {
        return flaws;
    };
    for trusted in taken.iter().filter(|found| found.name == reference) {
        let others = taken.iter().filter(|found| found.name != reference);
        for found in others.filter(|found| found.round == trusted.round) {
            let (name, round) = (found.name, found.round + 1);
            if !has_lost_updates(trusted) && !has_lost_updates(found) {
                for difference in found.state.differences(&trusted.state) {
                    flaws.push(format!(
                        "{name} and {reference}, round {round}, hold different things: {difference}"
                    ));
                }
            }
            let mut pairs = vec![("alone", &trusted.alone, &found.alone)];
            if setting.clients == 1 {
                pairs.push(("beside updates", &trusted.beside, &found.beside));
            }
            for (when, trusted, found) in pairs {
                let mut numbers = unequal(&[(trusted, found)]);
                numbers.retain(|&number| number != OPEN && !is_update(number));
                for number in numbers {
                    flaws.push(format!(
                        "{name} and {reference}, round {round}, {when}: answers to {} differ",
                        tables::name(number)
                    ));
                }
            }
        }
    }
    flaws
}

/// The median runs of a store, each kind for itself.
fn median<'t>(name: &'static str, taken: &'t [Taken]) -> Option<Measured<'t>> {
    let of_store: Vec<&Taken> = taken.iter().filter(|found| found.name == name).collect();
    if of_store.is_empty() {
        return None;
    }
    let rates: Vec<f64> = of_store.iter().map(|found| found.beside.qmph).collect();
    let rates_alone: Vec<f64> = of_store.iter().map(|found| found.alone.qmph).collect();
    Some(Measured {
        name,
        alone: &of_store[median_index(&rates_alone)].alone,
        beside: &of_store[median_index(&rates)].beside,
        rates,
        rates_alone,
    })
}

/// Everything of the median runs.
fn raw_figures(medians: &[Measured]) -> Table {
    let mut named = Vec::new();
    for store in medians {
        named.push((format!("{}, with updates", store.name), store.beside));
        named.push((format!("{}, alone", store.name), store.alone));
    }
    let runs: Vec<Run> = named
        .iter()
        .map(|(name, figures)| Run { name, figures })
        .collect();
    raw(&runs)
}

#[cfg(test)]
mod tests {
    use super::super::super::queries::figures::tests::run;
    use super::super::super::systems::updatable::Commits;
    use super::super::state::tests::state;
    use super::*;

    const ONE: Setting = Setting {
        clients: 1,
        commits: Commits::Synced,
    };
    const FOUR: Setting = Setting {
        clients: 4,
        commits: Commits::Synced,
    };

    fn taken(name: &'static str, round: u64, triples: u64, hash: &str) -> Taken {
        Taken {
            name,
            round,
            alone: run(&[(3, 1.0, "a"), (OPEN, 1.0, name)]),
            beside: run(&[
                (1, 1.0, name),
                (2, 1.0, name),
                (3, 1.0, hash),
                (OPEN, 1.0, name),
            ]),
            updates: Updates::default(),
            state: state(triples),
        }
    }

    #[test]
    fn stores_that_hold_or_answer_something_else_are_flaws() {
        let equal = [taken("Virtuoso", 0, 7, "b"), taken("Basalt", 0, 7, "b")];
        assert_eq!(differences(ONE, &equal), [""; 0]);
        let held = [taken("Basalt", 0, 7, "b"), taken("Virtuoso", 0, 8, "b")];
        assert_eq!(
            differences(FOUR, &held),
            ["Virtuoso and Basalt, round 1, hold different things: triples: 8, not 7"]
        );
        let answered = [taken("Basalt", 1, 7, "b"), taken("Virtuoso", 1, 7, "c")];
        assert_eq!(
            differences(ONE, &answered),
            ["Virtuoso and Basalt, round 2, beside updates: answers to explore 1 differ"]
        );
        assert_eq!(differences(FOUR, &answered), [""; 0]);
        let mut alone = [taken("Basalt", 1, 7, "b"), taken("Virtuoso", 1, 7, "b")];
        alone[1].alone = run(&[(3, 1.0, "c")]);
        assert_eq!(differences(FOUR, &alone).len(), 1);
        // Other rounds are other runs, and with several clients may leave something else.
        let rounds = [taken("Basalt", 0, 7, "b"), taken("Virtuoso", 1, 8, "c")];
        assert_eq!(differences(ONE, &rounds), [""; 0]);
        let mut lost = held;
        lost[1].beside.queries[0].errors = 1;
        assert_eq!(differences(FOUR, &lost), [""; 0]);
        assert!(has_lost_updates(&lost[1]) && !has_lost_updates(&lost[0]));
        assert_eq!(differences(ONE, &[]), [""; 0]);
    }

    #[test]
    fn medians_are_of_each_kind_for_itself() {
        let mut all = [0, 1, 2].map(|round| taken("Basalt", round, 7, "b"));
        for (found, (alone, beside)) in all.iter_mut().zip([(5.0, 1.0), (6.0, 3.0), (4.0, 2.0)]) {
            (found.alone.qmph, found.beside.qmph) = (alone, beside);
        }
        let median = median("Basalt", &all).expect("it was measured");
        assert_eq!((median.alone.qmph, median.beside.qmph), (5.0, 2.0));
        assert_eq!(median.rates, [1.0, 3.0, 2.0]);
        assert_eq!(raw_figures(&[median]).markdown().lines().count(), 2 + 4 + 2);
        assert!(super::median("Virtuoso", &all).is_none());
    }
}
