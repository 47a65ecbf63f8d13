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
use crate::query::{QueryOptions, parse};
use crate::query_text::lift::lift;
use crate::query_text::nesting::is_usual;
use crate::two_generations::{Counted, TwoGenerations};
use basalt_plan::TemplateInstance;
use spargebra::Query;
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
    /// What IRIs are relative to that are part of the template.
    base: Option<String>,
    /// `None` where constants cannot be put into the algebra.
    template: Option<Arc<Template>>,
}

impl Counted for Entry {
    fn bytes(&self) -> usize {
        let base = self.base.as_ref().map_or(0, String::len);
        size_of::<Self>() + size_of::<Template>() + base + self.text.len() * TEXT_FACTOR
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

    /// The algebra of a text; and if the template is known, what a plan may be shared with.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, or with the base.
    pub fn parse(
        &self,
        text: &str,
        options: &QueryOptions,
    ) -> Result<(Query, Option<TemplateInstance>), Error> {
        let Some(lifted) = lift(text) else {
            return Ok((parse(&options.parser()?, text)?, None));
        };
        let asked = (lifted.template.as_str(), options.base.as_deref());
        let hash = self.hasher.hash_one(asked);
        let (is_known, template) = self.find(hash, asked);
        let found = template.and_then(|template| template.with(&lifted.constants));
        if let Some((query, instance)) = found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok((query, Some(instance)));
        }
        let parser = options.parser()?;
        let query = parse(&parser, text)?;
        if !is_known && self.lock().has_come(hash) {
            // What is nested deep is neither copied nor walked on the stack of the caller.
            let parse = |text: &str| parse(&parser, text).ok();
            let template = is_usual(text)
                .then(|| Template::new(&lifted, &query, parse))
                .flatten();
            let entry = Entry {
                text: lifted.template,
                base: options.base.clone(),
                template: template.map(Arc::new),
            };
            let mut kept = self.lock();
            let gone = kept.put(hash, entry);
            drop(kept);
            drop(gone);
        }
        Ok((query, None))
    }

    /// Texts that were not parsed.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Whether a template is known, and its algebra.
    fn find(&self, hash: u64, (text, base): (&str, Option<&str>)) -> (bool, Option<Arc<Template>>) {
        let mut kept = self.lock();
        let (found, gone) = kept.find(hash);
        let found = found.filter(|entry| entry.text == text && entry.base.as_deref() == base);
        let known = (
            found.is_some(),
            found.and_then(|entry| entry.template.clone()),
        );
        drop(kept);
        drop(gone);
        known
    }

    fn lock(&self) -> MutexGuard<'_, TwoGenerations<Entry>> {
        // Whatever a panic left half done, entries are compared before they are used.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
