//! INSERT DATA whose text is long: parsed and stored part by part.
//!
//! A parsed quad takes several times its text, so the parts of a long text are parsed one after the other
//! ([`DataText`]). If one is not right, or the text is not cut as the parser sees it, the whole text is parsed as any other: it
//! gives the message with the place, or the quads.
//!
//! Invariant: nothing is changed before the last part was parsed. Memory: a part, as parsed, besides the quads and the terms. The text is parsed in the
//! writer's turn, since the ids of terms are those of the newest state.

use super::UpdateOptions;
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
        let options: &UpdateOptions = self.options;
        let mut added = self.set();
        for part in text.parts(PART_BYTES) {
            let Ok(steps) = request::parse_short(&part, options) else {
                return self.insert_whole(text);
            };
            drop(part);
            for step in steps {
                match step.operation {
                    Operation::InsertData(data) => self.intern_data(data, &mut added)?,
                    _ => return self.insert_whole(text),
                }
            }
        }
        self.apply(SortedQuads::default(), added.finish()?)
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
