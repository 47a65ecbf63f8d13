//! `ConcatStates`: the texts of GROUP_CONCAT, by group.
//!
//! ```text
//! values -> texts of the groups, while there is room
//!        -> (group, value) pairs, when there is none -> runs by group in files
//! end:   group by group: its text, and behind it what the merged runs have of it
//! ```
//!
//! The texts of values come in the order in which they came to a thread; an argument without a text (unbound, a blank node)
//! makes the group's result an error. Memory: the texts up to where [`ConcatStates::spill`] is called; at the end the
//! text of one group more, counted. Cost beyond: 16 bytes written and read for each value, twice for those of other threads.

use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::merge::{ByNumber, Merge, add_run};
use crate::spill::row_file::{RowFile, RowWriter};
use crate::spill::share_bytes;
use crate::value::{KeptTexts, Reader, Value};

/// Texts are counted from these bytes on, and have room for as many before they take a value; what one takes more is counted with the next.
const COUNTED_BYTES: usize = 64 << 10;
/// Bytes that one batch of rows may always add to texts.
const BATCH_BYTES_MIN: usize = 64 << 20;
/// Fewest and most bytes of a run; there is a file for each.
const RUN_BYTES: (usize, usize) = (64 << 10, 8 << 20);

/// The text of one group.
#[derive(Clone, Default)]
struct Joined {
    text: String,
    /// Whether there is a first part, be it empty.
    begun: bool,
    failed: bool,
}

/// Values that found no room.
struct LateValues {
    /// Group and value, in the order in which they came.
    pairs: Vec<(u32, u64)>,
    pairs_max: usize,
    /// Such pairs by group.
    runs: Vec<RowFile>,
}

/// The states; see the [module documentation](self).
pub struct ConcatStates {
    separator: String,
    states: Vec<Joined>,
    /// Bytes of all texts.
    text_bytes: usize,
    late: Option<LateValues>,
    /// Texts of values that come again.
    kept: KeptTexts,
}

impl ConcatStates {
    /// No groups.
    pub fn new(separator: &str) -> Self {
        Self {
            separator: separator.to_owned(),
            states: Vec::new(),
            text_bytes: 0,
            late: None,
            kept: KeptTexts::default(),
        }
    }

    /// No groups, with the same separator.
    pub fn empty(&self) -> Self {
        Self::new(&self.separator)
    }

    /// Makes empty texts up to this number of groups.
    pub fn resize(&mut self, count: usize) {
        self.states.resize(count, Joined::default());
    }

    /// Adds the values of rows.
    pub fn update(&mut self, groups: &[u32], ids: &[u64], cx: &Context) -> Result<(), ExecError> {
        let rows = groups.iter().copied().zip(ids.iter().copied());
        if let Some(late) = &mut self.late {
            for (group, id) in rows {
                late.push(group, id, cx)?;
            }
            return Ok(());
        }
        let reader = &mut Reader::new(cx);
        // What a batch adds is counted after it; a batch that adds more than there is at all ends the query before.
        let bytes_max = self.text_bytes + cx.options().memory_bytes_max.max(BATCH_BYTES_MIN);
        for (group, id) in rows {
            let state = &mut self.states[group as usize];
            let text = self.kept.text(id, reader);
            self.text_bytes += state.add(text?, &self.separator);
            if self.text_bytes > bytes_max {
                return Err(ExecError::MemoryLimit {
                    limit_bytes: cx.options().memory_bytes_max,
                    operator: super::OPERATOR,
                });
            }
        }
        Ok(())
    }

    /// Adds another's texts, whose group `g` is `numbers[g]` here.
    pub fn merge(&mut self, other: Self, numbers: &[u32], cx: &Context) -> Result<(), ExecError> {
        for (&group, state) in numbers.iter().zip(other.states) {
            self.text_bytes += self.states[group as usize].merge(state, &self.separator);
        }
        let Some(more) = other.late else {
            return Ok(());
        };
        self.spill(cx);
        if let Some(late) = &mut self.late {
            more.visit(cx, |group, id| late.push(numbers[group as usize], id, cx))?;
        }
        Ok(())
    }

    /// Makes no text longer from now on before the end.
    pub fn spill(&mut self, cx: &Context) {
        self.late.get_or_insert_with(|| LateValues::new(cx));
    }

    /// The results by group, 0 for unbound.
    pub fn finish(self, cx: &Context) -> Result<Vec<u64>, ExecError> {
        let mut late = self.late.map(|late| late.merged(cx)).transpose()?;
        let (reader, mut row) = (&mut Reader::new(cx), Vec::new());
        let mut kept = self.kept;
        let mut next = |row: &mut Vec<u64>| match &mut late {
            Some(late) => late.next_row(row, cx),
            None => Ok(false),
        };
        let mut has_row = next(&mut row)?;
        let mut held = HeldMemory::default();
        let room_min = COUNTED_BYTES.min(share_bytes(cx) / 4);
        let mut ids = Vec::with_capacity(self.states.len());
        for (group, mut state) in (0_u64..).zip(self.states) {
            while has_row && row[0] == group {
                state.make_room(room_min, &mut held, cx)?;
                state.add(kept.text(row[1], reader)?, &self.separator);
                has_row = next(&mut row)?;
            }
            ids.push(state.finish(cx));
        }
        debug_assert!(!has_row, "every pair is of a group");
        Ok(ids)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Joined>() + self.text_bytes
    }
}

impl LateValues {
    fn new(cx: &Context) -> Self {
        let run_bytes = (share_bytes(cx) / 4).clamp(RUN_BYTES.0, RUN_BYTES.1);
        Self {
            pairs: Vec::new(),
            pairs_max: run_bytes / size_of::<(u32, u64)>(),
            runs: Vec::new(),
        }
    }

    fn push(&mut self, group: u32, id: u64, cx: &Context) -> Result<(), ExecError> {
        self.pairs.push((group, id));
        if self.pairs.len() >= self.pairs_max {
            self.write_run(cx)?;
        }
        Ok(())
    }

    /// Moves the pairs to a file.
    fn write_run(&mut self, cx: &Context) -> Result<(), ExecError> {
        cx.check()?;
        self.pairs.sort_by_key(|&(group, _)| group);
        let mut run = RowWriter::create(2, 1, cx)?;
        for (group, id) in self.pairs.drain(..) {
            run.push([u64::from(group), id])?;
        }
        add_run(&mut self.runs, run.finish()?, &ByNumber, cx)
    }

    /// All pairs by group, those of a group in the order in which they came.
    fn merged(mut self, cx: &Context) -> Result<Merge<ByNumber>, ExecError> {
        if !self.pairs.is_empty() {
            self.write_run(cx)?;
        }
        Merge::new(self.runs, ByNumber, cx)
    }

    /// All pairs, those of a group in the order in which they came.
    fn visit(
        self,
        cx: &Context,
        mut each: impl FnMut(u32, u64) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        for run in self.runs {
            cx.check()?;
            let mut rows = run.reader(1, cx);
            while let Some(row) = rows.next_row()? {
                each(row[0] as u32, row[1])?;
            }
        }
        self.pairs
            .iter()
            .try_for_each(|&(group, id)| each(group, id))
    }
}

impl Joined {
    /// Adds the text of one value, which fails if it has none; gives back the bytes that the text takes more.
    fn add(&mut self, text: Option<&str>, separator: &str) -> usize {
        match text {
            Some(text) if !self.failed => self.push(text, separator),
            _ => {
                self.failed |= text.is_none();
                0
            }
        }
    }

    /// Makes room for this many bytes in a text of as many or more, counted before the text moves there: while it moves it is there twice.
    fn make_room(
        &mut self,
        bytes_min: usize,
        held: &mut HeldMemory,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let bytes = self.text.capacity();
        if bytes < bytes_min {
            return Ok(());
        }
        if bytes - self.text.len() >= bytes_min {
            return held.grow_to(bytes, super::OPERATOR, cx);
        }
        let grown = bytes + bytes_min.max(bytes / 2);
        held.grow_to(bytes + grown, super::OPERATOR, cx)?;
        self.text.reserve_exact(grown - self.text.len());
        held.release();
        held.grow_to(grown, super::OPERATOR, cx)
    }

    fn push(&mut self, text: &str, separator: &str) -> usize {
        let before = self.text.capacity();
        if std::mem::replace(&mut self.begun, true) {
            self.text.push_str(separator);
        }
        self.text.push_str(text);
        self.text.capacity() - before
    }

    fn merge(&mut self, other: Self, separator: &str) -> usize {
        self.failed |= other.failed;
        if other.begun && !self.failed {
            self.push(&other.text, separator)
        } else {
            0
        }
    }

    /// The text, without a language even if all parts have the same.
    fn finish(self, cx: &Context) -> u64 {
        if self.failed {
            return 0;
        }
        Value::String(self.text).to_id(cx)
    }
}
