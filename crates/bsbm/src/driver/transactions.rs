//! The update transactions of a run, and which mix sends which.
//!
//! The file is read twice: once before the run, to count its blocks and to know the offers that
//! are not in the store yet, and once while it runs. Mix n sends the same blocks whatever the
//! number of clients. A run that needs more blocks than there are is refused, since an empty
//! insert would be measured as if it were one; one by the clock ends when they are used up.
//! Cost: memory for the numbers of the held-out offers; one block at a time otherwise.

use super::options::RunOptions;
use crate::error::BsbmError;
use crate::queries::{QueryForm, UseCase, mix};
use crate::update::UpdateBlocks;
use std::collections::HashSet;
use std::path::Path;

/// The blocks that are still to be sent.
pub(crate) struct Transactions {
    blocks: UpdateBlocks,
}

/// What the first reading found.
#[derive(Default)]
pub(crate) struct Survey {
    /// Numbers of the offers of the blocks that are still to be sent.
    pub(crate) held_out_offers: HashSet<u64>,
    /// The blocks that are still to be sent.
    pub(crate) blocks: u64,
}

impl Transactions {
    /// Opens the update file of a run, if the use case has updates, and checks that it suffices.
    pub(crate) fn open(
        use_case: UseCase,
        options: &RunOptions,
    ) -> Result<Option<(Transactions, Survey)>, BsbmError> {
        let per_mix = inserts_per_mix(use_case, &options.ignored);
        if use_case != UseCase::ExploreAndUpdate {
            return Ok(None);
        }
        let path = options
            .update_file
            .as_ref()
            .ok_or(BsbmError::NoUpdateInput)?;
        let survey = survey(path, options.first_transaction)?;
        // How many mixes the clock leaves time for is not known before.
        let runs = match options.duration {
            Some(_) => 1,
            None => options.runs,
        };
        let needed = runs.saturating_mul(per_mix);
        if survey.blocks < needed {
            return Err(BsbmError::TooFewTransactions {
                path: path.clone(),
                found: survey.blocks,
                first: options.first_transaction,
                needed,
                runs,
            });
        }
        let mut blocks = UpdateBlocks::open(path)?;
        for _ in 0..options.first_transaction {
            blocks.next_block()?;
        }
        Ok(Some((Transactions { blocks }, survey)))
    }

    /// The next block, or in words why there is none.
    pub(crate) fn take(&mut self) -> Result<String, String> {
        match self.blocks.next_block() {
            Ok(Some(block)) => Ok(block),
            Ok(None) => Err("the update file has no block left".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The blocks that a mix of a use case sends.
pub(crate) fn inserts_per_mix(use_case: UseCase, ignored: &[u8]) -> u64 {
    let inserts = mix(use_case)
        .iter()
        .filter(|number| is_insert(use_case, **number) && !ignored.contains(number));
    inserts.count() as u64
}

/// Whether a query number is the insert of a block.
pub(crate) fn is_insert(use_case: UseCase, number: u8) -> bool {
    let is_update = use_case.form(number) == Some(QueryForm::Update);
    is_update && crate::queries::slots(use_case, number).is_some_and(<[_]>::is_empty)
}

fn survey(path: &Path, first: u64) -> Result<Survey, BsbmError> {
    let mut blocks = UpdateBlocks::open(path)?;
    let mut survey = Survey::default();
    let mut before = 0;
    while let Some(block) = blocks.next_block()? {
        if before < first {
            before += 1;
            continue;
        }
        survey.blocks += 1;
        let offers = subjects(&block).filter_map(|(subject, _)| offer_number(subject));
        survey.held_out_offers.extend(offers);
    }
    Ok(survey)
}

/// The subjects of a block of N-Triples with their numbers of triples; triples of a subject stand
/// together.
pub(crate) fn subjects(block: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut lines = block.lines().filter_map(subject_of).peekable();
    std::iter::from_fn(move || {
        let subject = lines.next()?;
        let mut triples = 1;
        while lines.next_if_eq(&subject).is_some() {
            triples += 1;
        }
        Some((subject, triples))
    })
}

fn subject_of(line: &str) -> Option<&str> {
    let (subject, _) = line.strip_prefix('<')?.split_once('>')?;
    Some(subject)
}

/// The number of an offer, from its IRI.
pub(crate) fn offer_number(iri: &str) -> Option<u64> {
    let (_, number) = iri.rsplit_once("/Offer")?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_counted_in_runs() {
        let block =
            "<a:1> <p> \"<x>\" .\n<a:1> <q> <a:2> .\n\n<i/Offer7> <p> <a:1> .\n<a:1> <p> <z> .";
        let found: Vec<_> = subjects(block).collect();
        assert_eq!(found, [("a:1", 2), ("i/Offer7", 1), ("a:1", 1)]);
        assert_eq!(offer_number("i/Offer7"), Some(7));
        assert_eq!(offer_number("i/Offer7/x"), None);
        assert_eq!(offer_number("i/Product7"), None);
    }

    #[test]
    fn inserts_are_what_takes_a_block() {
        assert_eq!(inserts_per_mix(UseCase::ExploreAndUpdate, &[]), 2);
        assert_eq!(inserts_per_mix(UseCase::ExploreAndUpdate, &[1]), 0);
        assert_eq!(inserts_per_mix(UseCase::Explore, &[]), 0);
        assert!(!is_insert(UseCase::ExploreAndUpdate, 2));
    }
}
