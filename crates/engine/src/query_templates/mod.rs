//! `QueryTemplates`: texts that differ in constants only are parsed once.
//!
//! A text is taken apart into its template and its constants ([`lift`]). Of a template that came before the algebra is known, with
//! places for constants; they are put there, and nothing is parsed. See `docs/decisions/0024-algebra-by-template.md`.
//!
//! Admission: when a template comes the second time; its text is parsed once more with placeholders, and the template kept if the
//! algebra with the constants put back is what the parser made of the text itself. What is not a template stays so: it is known
//! too, so that nobody tries again.
//!
//! Invariant: what comes out is what the parser would have made, but for names that it makes up. Cost: one pass over the text, a hash, a
//! lock, and a copy of the algebra; some 5 to 10 µs where parsing takes 20 to 80.

mod same;
mod template;
mod terms;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::query::parse;
use crate::query_text::lift::{Lifted, lift};
use crate::query_text::nesting::is_usual;
use crate::two_generations::{Counted, TwoGenerations};
use spargebra::{Query, SparqlParser};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use template::Template;

/// Bytes of all templates, as they are counted.
const BYTES_MAX: usize = 4 << 20;
/// Bytes counted for each byte of a template: the text and its algebra.
const TEXT_FACTOR: usize = 8;

#[derive(Debug)]
struct Entry {
    text: String,
    /// `None` where constants cannot be put into the algebra.
    template: Option<Arc<Template>>,
}

impl Counted for Entry {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Template>() + self.text.len() * TEXT_FACTOR
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub struct QueryTemplates {
    hasher: RandomState,
    kept: Mutex<TwoGenerations<Entry>>,
    hits: AtomicU64,
}

impl QueryTemplates {
    /// Without any.
    pub fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            kept: Mutex::new(TwoGenerations::new(BYTES_MAX)),
            hits: AtomicU64::new(0),
        }
    }

    /// The algebra of a text, which has no base beside it.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(&self, text: &str) -> Result<Query, Error> {
        let parser = SparqlParser::new();
        let Some(lifted) = lift(text) else {
            return parse(&parser, text);
        };
        let hash = self.hasher.hash_one(&lifted.template);
        let (is_known, template) = self.find(hash, &lifted.template);
        if let Some(query) = template.and_then(|template| template.with(&lifted.constants)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(query);
        }
        let query = parse(&parser, text)?;
        if !is_known {
            self.tell(hash, lifted, text, &query);
        }
        Ok(query)
    }

    /// Texts that were not parsed.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Whether a template is known, and its algebra.
    fn find(&self, hash: u64, text: &str) -> (bool, Option<Arc<Template>>) {
        let mut kept = self.lock();
        let (found, gone) = kept.find(hash);
        let found = found.filter(|entry| entry.text == text);
        let known = (
            found.is_some(),
            found.and_then(|entry| entry.template.clone()),
        );
        drop(kept);
        drop(gone);
        known
    }

    /// Tells the algebra of a text, whose template is kept unless it has come for the first time.
    fn tell(&self, hash: u64, lifted: Lifted<'_>, text: &str, parsed: &Query) {
        if !self.lock().has_come(hash) {
            return;
        }
        // What is nested deep is neither copied nor walked on the stack of the caller.
        let parse = |text: &str| parse(&SparqlParser::new(), text).ok();
        let template = is_usual(text)
            .then(|| Template::new(&lifted, parsed, parse))
            .flatten();
        let entry = Entry {
            text: lifted.template,
            template: template.map(Arc::new),
        };
        let mut kept = self.lock();
        let gone = kept.put(hash, entry);
        drop(kept);
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, TwoGenerations<Entry>> {
        // Whatever a panic left half done, entries are compared before they are used.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
