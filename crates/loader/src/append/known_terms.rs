//! Which of the terms of a load the old version knows, and by what ordinal.
//!
//! Every distinct term is sought once. Each thread seeks a portion of the terms at a time, where they lie if they are
//! in memory, so that this takes 40 bytes for each of them besides 4 for every term. Blank nodes are never known: their
//! labels are of their file.

use basalt_rdf::TermId;
use basalt_store::Dictionary;

use crate::encoder::literal_id;
use crate::error::LoadError;
use crate::numbering::{ResourceNumbers, UNNUMBERED};
use crate::parallel::parallel_map;
use crate::term_table::FrozenTerms;
use crate::texts::Record;

/// Most terms that are sought at a time, by all threads. Each thread seeks its share in the order of the index of each
/// layer: the more there are, the nearer are neighbours there, and the fewer times every index is gone through.
const TERMS_MAX: usize = 1 << 19;
/// Most bytes of text that are read for it where texts are in a file.
const BYTES_MAX: u64 = 32 << 20;
/// Fewer terms are sought sooner than a thread is started.
const PORTION_TERMS_MIN: usize = 1 << 10;
/// The largest ordinal that the numbers of a load hold.
const ORDINAL_MAX: u64 = UNNUMBERED as u64 - 1;

/// Old ordinals by provisional ordinal, or [`UNNUMBERED`].
pub(super) struct KnownTerms {
    /// Of IRIs and blank nodes.
    pub(super) resources: Vec<u32>,
    /// Of dictionary literals.
    pub(super) literals: Vec<u32>,
}

impl KnownTerms {
    /// Seeks all terms in a dictionary.
    pub(super) fn look_up(
        resources: &FrozenTerms,
        literals: &FrozenTerms,
        old: &Dictionary,
        threads: usize,
    ) -> Result<Self, LoadError> {
        check_room("resources", old.resource_count(), resources.len())?;
        check_room("literals", old.literal_count(), literals.len())?;
        let find_resources = |terms: &mut dyn Iterator<Item = Record<'_>>| {
            let mut asked = Vec::new();
            let found = old.find_iris(terms.map(|term| {
                // The label of a blank node may read like an IRI.
                asked.push((term.ordinal, !ResourceNumbers::is_blank(term.kind)));
                term.text
            }));
            let found = asked.into_iter().zip(found);
            let known = found.filter_map(|((ordinal, is_iri), found)| {
                Some((ordinal, found.filter(|_| is_iri)? as u32))
            });
            known.collect()
        };
        let find_literals = |terms: &mut dyn Iterator<Item = Record<'_>>| {
            let mut asked = Vec::new();
            let found = old.find_dictionary_literals(terms.map(|term| {
                asked.push(term.ordinal);
                ((term.kind >> 16) as u8, term.kind as u16, term.text)
            }));
            let found = asked.into_iter().zip(found);
            let known = found.filter_map(|(ordinal, found)| Some((ordinal, found? as u32)));
            known.collect()
        };
        Ok(Self {
            resources: find_all(resources, threads, &find_resources)?,
            literals: find_all(literals, threads, &find_literals)?,
        })
    }

    /// The ordinal of a resource that is known.
    #[inline]
    pub(super) fn resource(&self, provisional: u32) -> Option<TermId> {
        let known = self.resources[provisional as usize];
        (known != UNNUMBERED).then(|| TermId::resource(u64::from(known)))
    }

    /// The id of an object if the old version can have it.
    #[inline]
    pub(super) fn object(&self, provisional: TermId) -> Option<TermId> {
        if let Some(ordinal) = provisional.resource_ordinal() {
            return self.resource(ordinal as u32);
        }
        if !provisional.is_dictionary_literal() {
            return Some(provisional);
        }
        let known = self.literals[provisional.literal_ordinal() as usize];
        let kind = u32::from(provisional.tag()) << 16 | u32::from(provisional.qualifier());
        (known != UNNUMBERED).then(|| literal_id(kind, u64::from(known)))
    }
}

fn check_room(what: &'static str, old: u64, new: usize) -> Result<(), LoadError> {
    if old + new as u64 > ORDINAL_MAX {
        return Err(LoadError::Limit {
            what,
            limit: ORDINAL_MAX,
        });
    }
    Ok(())
}

/// Finds the terms that are known among some: provisional and old ordinals.
type Find<'f> = &'f (dyn Fn(&mut dyn Iterator<Item = Record<'_>>) -> Vec<(u32, u32)> + Sync);

fn find_all(terms: &FrozenTerms, threads: usize, find: Find<'_>) -> Result<Vec<u32>, LoadError> {
    let share = terms.ordinal_bound().div_ceil(threads);
    let share = share.min(TERMS_MAX / threads).max(PORTION_TERMS_MIN);
    let portions = terms.texts.portions(share, BYTES_MAX / threads as u64);
    let found = parallel_map(threads, &portions, |portion| {
        terms.texts.with_portion(portion, find)
    });
    let mut known = vec![UNNUMBERED; terms.ordinal_bound()];
    for portion in found {
        for (ordinal, found) in portion? {
            known[ordinal as usize] = found;
        }
    }
    Ok(known)
}
