//! The queries of a mix, in the order in which they are asked.
//!
//! Everything here is a pure function of (seed, mix, position) and of the blocks of the update
//! file that the mix was given: neither the number of clients nor timing changes what is asked.
//! A query that is drilled down becomes a flight of queries, which stay together.

use super::ledger::Effect;
use super::options::{MixOrder, RunOptions, UpdatesAt};
use super::transactions::is_insert;
use crate::draw::{Draw, Parameters, Value};
use crate::parameters::ParameterPool;
use crate::queries::{QueryForm, UseCase, mix, worded_text};
use crate::random::{Field, Stream};

/// What a run asks.
pub(crate) struct Workload<'a> {
    pub(crate) use_case: UseCase,
    pub(crate) pool: &'a ParameterPool,
    pub(crate) options: &'a RunOptions,
}

/// A place in the published mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) position: u32,
    pub(crate) number: u8,
    pub(crate) form: QueryForm,
}

/// A text to send.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The place in the flight; 0 if there is none.
    pub(crate) step: u32,
    /// The level of the product type in the tree, if it can be of several.
    pub(crate) level: Option<usize>,
    pub(crate) text: String,
    /// What an update changes.
    pub(crate) effect: Option<Effect>,
}

/// Whether updates are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    Sent,
    /// Updates are left out, so that warming up changes no data.
    LeftOut,
}

impl Workload<'_> {
    /// The places of a mix that are run, in the order of the run.
    pub(crate) fn slots(&self, mix_number: i64, writes: Writes) -> Vec<Slot> {
        let options = self.options;
        let slots = (0..)
            .zip(mix(self.use_case))
            .filter_map(|(position, number)| {
                let form = self.use_case.form(*number)?;
                let is_ignored = options.ignored.contains(number);
                (!is_ignored).then_some(Slot {
                    position,
                    number: *number,
                    form,
                })
            });
        let (updates, mut queries): (Vec<Slot>, Vec<Slot>) =
            slots.partition(|slot| slot.form == QueryForm::Update);
        if options.mix_order == MixOrder::Shuffled {
            shuffle(&mut queries, options.seed, mix_number);
        }
        if writes == Writes::LeftOut {
            return queries;
        }
        match options.updates_at {
            UpdatesAt::First => updates.into_iter().chain(queries).collect(),
            UpdatesAt::Last => queries.into_iter().chain(updates).collect(),
            UpdatesAt::Spread => interleave(updates, queries),
        }
    }

    /// The texts of a place, or in words why there are none. An insert takes one of the blocks.
    pub(crate) fn requests(
        &self,
        mix_number: i64,
        slot: Slot,
        blocks: &mut dyn Iterator<Item = Result<String, String>>,
    ) -> Result<Vec<Request>, String> {
        let draw = Draw {
            seed: self.options.seed,
            mix: mix_number,
            position: slot.position,
        };
        let missing = || "there is no such query".to_owned();
        let mut flight = match self.options.drill_down {
            Some(level) => {
                let flight = self
                    .pool
                    .drill_down(self.use_case, slot.number, draw, level);
                flight.ok_or_else(missing)?
            }
            None => {
                let single = self.pool.draw(self.use_case, slot.number, draw);
                vec![single.ok_or_else(missing)?]
            }
        };
        let mut block = None;
        if is_insert(self.use_case, slot.number) {
            let no_block = || Err("the mix has no block left".to_owned());
            let triples = blocks.next().unwrap_or_else(no_block)?;
            for parameters in &mut flight {
                parameters.set("Triples", Value::Triples(triples.clone()));
            }
            block = Some(triples);
        }
        let requests = (0..).zip(&flight).map(|(step, parameters)| {
            let wording = self.options.wording;
            let text = worded_text(self.use_case, slot.number, wording, parameters);
            Ok(Request {
                step,
                level: parameters.level(),
                text: text.ok_or_else(|| "a parameter is missing".to_owned())?,
                effect: effect_of(slot.form, &mut block, parameters),
            })
        });
        requests.collect()
    }
}

fn effect_of(
    form: QueryForm,
    block: &mut Option<String>,
    parameters: &Parameters,
) -> Option<Effect> {
    if form != QueryForm::Update {
        return None;
    }
    if let Some(triples) = block.take() {
        return Some(Effect::Insert(triples));
    }
    match parameters.get("Offer") {
        Some(Value::Iri(offer)) => Some(Effect::Delete(offer.clone())),
        _ => None,
    }
}

/// Permutes the queries of a mix (Fisher and Yates).
fn shuffle(slots: &mut [Slot], seed: u64, mix_number: i64) {
    let mut stream = Stream::new(seed, Field::MixOrder, mix_number as u64);
    for last in (1..slots.len()).rev() {
        let other = stream.below(last as u64 + 1) as usize;
        slots.swap(last, other);
    }
}

/// Puts updates among queries at equal distances, each before its share of the queries.
fn interleave(updates: Vec<Slot>, queries: Vec<Slot>) -> Vec<Slot> {
    let (update_count, query_count) = (updates.len(), queries.len());
    let mut queries = queries.into_iter();
    let mut taken = 0;
    let mut slots = Vec::with_capacity(update_count + query_count);
    for (before, update) in updates.into_iter().enumerate() {
        let due = before * query_count / update_count;
        slots.extend(queries.by_ref().take(due - taken));
        taken = due;
        slots.push(update);
    }
    slots.extend(queries);
    slots
}
