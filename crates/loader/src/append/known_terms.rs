//! Which of the terms of a load the old version knows, and by what ordinal.
//!
//! Every distinct term is sought once. Terms are handed over in batches, so that several threads seek
//! while memory is a batch and 4 bytes for each term. Blank nodes are never known: their labels are of
//! their file.

use basalt_rdf::TermId;
use basalt_store::Dictionary;

use crate::encoder::literal_id;
use crate::error::LoadError;
use crate::numbering::{ResourceNumbers, UNNUMBERED};
use crate::parallel::parallel_map;
use crate::term_table::FrozenTerms;

/// Most terms of a batch. Each thread seeks its share in the order of the index of each layer: the more there are, the
/// nearer are neighbours there, and the fewer times every index is gone through.
const BATCH_TERMS: usize = 1 << 19;
/// Bytes of text that end a batch too.
const BATCH_BYTES: usize = 32 << 20;
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
        let find_resources = |terms: &[(u32, &str)]| {
            let iris: Vec<&str> = terms.iter().map(|&(_, text)| text).collect();
            let mut found = old.find_iris(&iris);
            for (found, &(kind, _)) in found.iter_mut().zip(terms) {
                // The label of a blank node may read like an IRI.
                if ResourceNumbers::is_blank(kind) {
                    *found = None;
                }
            }
            found
        };
        let find_literals = |terms: &[(u32, &str)]| {
            let literals: Vec<(u8, u16, &str)> = terms
                .iter()
                .map(|&(kind, text)| ((kind >> 16) as u8, kind as u16, text))
                .collect();
            old.find_dictionary_literals(&literals)
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

/// How the ordinals of terms of a kind and text are found.
type Find<'f> = &'f (dyn Fn(&[(u32, &str)]) -> Vec<Option<u64>> + Sync);

/// Terms to be sought together.
#[derive(Default)]
struct Batch {
    /// Provisional ordinal, kind, end of the text.
    terms: Vec<(u64, u32, usize)>,
    /// The texts, end to end.
    text: String,
}

impl Batch {
    fn push(&mut self, ordinal: u64, kind: u32, text: &str) {
        self.text.push_str(text);
        self.terms.push((ordinal, kind, self.text.len()));
    }

    /// Seeks the terms and empties the batch.
    fn find(&mut self, threads: usize, find: Find<'_>, known: &mut [u32]) {
        let portion = self.terms.len().div_ceil(threads).max(PORTION_TERMS_MIN);
        let starts: Vec<usize> = (0..self.terms.len()).step_by(portion).collect();
        let found = parallel_map(threads, &starts, |&start| {
            let end = self.terms.len().min(start + portion);
            let mut from = match start {
                0 => 0,
                _ => self.terms[start - 1].2,
            };
            let portion = self.terms[start..end].iter().map(|&(_, kind, to)| {
                let text = &self.text[from..to];
                from = to;
                (kind, text)
            });
            find(&portion.collect::<Vec<_>>())
        });
        for (&(ordinal, ..), found) in self.terms.iter().zip(found.into_iter().flatten()) {
            if let Some(found) = found {
                known[ordinal as usize] = found as u32;
            }
        }
        self.terms.clear();
        self.text.clear();
    }
}

fn find_all(terms: &FrozenTerms, threads: usize, find: Find<'_>) -> Result<Vec<u32>, LoadError> {
    let mut known = vec![UNNUMBERED; terms.ordinal_bound()];
    let mut batch = Batch::default();
    terms.for_each(&mut |ordinal, kind, text| {
        batch.push(ordinal, kind, text);
        if batch.terms.len() == BATCH_TERMS || batch.text.len() >= BATCH_BYTES {
            batch.find(threads, find, &mut known);
        }
        Ok(())
    })?;
    batch.find(threads, find, &mut known);
    Ok(known)
}
