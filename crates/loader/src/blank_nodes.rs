//! Where the blank nodes of an old version are in the one that replaces it.
//!
//! IRIs and literals are found in the new version by their texts. Blank nodes have none, so who must say in ids of the new
//! version what was said in ids of the old one asks here.
//!
//! Cost: 8 bytes for each blank node of the quads of the old version, counted in the budget while the version is
//! written; a look-up is a binary search.

use basalt_rdf::TermId;

use crate::error::LoadError;
use crate::numbering::{NewNumbers, ResourceNumbers};

/// Ordinals of blank nodes, old and new.
#[derive(Debug, Default)]
pub struct BlankNodes {
    /// Old ordinal, and the new one (until the version is written the provisional one); at last ascending.
    pairs: Vec<(u32, u32)>,
}

impl BlankNodes {
    /// Notes the provisional ordinal of a blank node that was not noted yet.
    pub(crate) fn note(&mut self, old: TermId, provisional: u32) -> Result<(), LoadError> {
        let ordinal = u32::try_from(old.payload()).map_err(|_| LoadError::Limit {
            what: "IRIs and blank nodes",
            limit: u64::from(u32::MAX),
        })?;
        self.pairs.push((ordinal, provisional));
        Ok(())
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<(u32, u32)>()
    }

    /// Replaces provisional ordinals by those of the new version.
    pub(crate) fn finish(&mut self, numbers: &ResourceNumbers) {
        self.pairs.retain_mut(|(_, number)| {
            let place = numbers.place(*number);
            *number = place.unwrap_or(*number);
            place.is_some()
        });
        self.pairs.sort_unstable();
    }

    /// The id in the new version of a blank node of the old one; `None` if no quad had it.
    pub fn new_id(&self, old: TermId) -> Option<TermId> {
        let ordinal = u32::try_from(old.resource_ordinal()?).ok()?;
        let at = self.pairs.binary_search_by_key(&ordinal, |pair| pair.0);
        let (_, new) = self.pairs.get(at.ok()?)?;
        Some(TermId::resource(u64::from(*new)))
    }
}
