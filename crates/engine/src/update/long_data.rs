//! INSERT DATA whose text is long: parsed and stored part by part.
//!
//! A parsed quad takes several times its text, so the parts of a long text are parsed one after the other
//! ([`DataText`]). If one is not right, or the text is not cut as the parser sees it, the whole text is parsed as any other: it
//! gives the message with the place, or the quads.
//!
//! Invariant: nothing is changed before the last part was parsed. Memory: a part, as parsed, besides the quads and the terms; if the
//! text is parsed whole after all, all of it as parsed. The text is parsed in the writer's turn, since the ids of terms are those of the newest state.

use super::UpdateOptions;
use super::quad_set::QuadSet;
use super::request::{self, Operation};
use super::run::Run;
use super::sorted_quads::SortedQuads;
use crate::error::Error;
use crate::query_text::data_parts::DataText;
use crate::transactions::ChangeCounts;

/// Bytes of data in a part.
const PART_BYTES: usize = 1 << 20;

impl Run<'_, '_> {
    /// INSERT DATA with a long text.
    pub(super) fn insert_long_data(&mut self, text: &DataText<'_>) -> Result<ChangeCounts, Error> {
        let mut added = self.set();
        if !self.intern_parts(text, &mut added)? {
            self.give_back(added.reserved());
            drop(added);
            return self.insert_whole(text);
        }
        let added = added.finish(self)?;
        self.apply(SortedQuads::default(), added)
    }

    /// Adds the quads of all parts to a set; whether all parts are right.
    fn intern_parts(&mut self, text: &DataText<'_>, added: &mut QuadSet) -> Result<bool, Error> {
        let options: &UpdateOptions = self.options;
        for part in text.parts(PART_BYTES) {
            let Ok(steps) = request::parse_short(&part, options) else {
                return Ok(false);
            };
            drop(part);
            for step in steps {
                match step.operation {
                    Operation::InsertData(data) => self.intern_data(data, added)?,
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// The same without parts.
    fn insert_whole(&mut self, text: &DataText<'_>) -> Result<ChangeCounts, Error> {
        let mut counts = ChangeCounts::default();
        for step in request::parse_short(text.text(), self.options)? {
            let of_step = self.operation(step.operation)?;
            counts.removed += of_step.removed;
            counts.added += of_step.added;
        }
        Ok(counts)
    }
}
