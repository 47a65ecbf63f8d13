//! `Texts`: computed strings of some rows, end to end in one buffer.
//!
//! ```text
//! buffer  c a t d o g ...          ends  3  3  6
//! marks   1 0 3                    1: no language, 0: an error, 3: the second of `languages`
//! ```
//!
//! A text is appended to the buffer and then ended, or given up. Buffers are used again by the thread: the texts of a batch may take
//! a megabyte, whose pages would be new each time. Cost: no allocation for a text.

use crate::context::Context;
use basalt_rdf::{LiteralKind, LiteralView};
use std::cell::RefCell;

/// The mark of an error.
const ERROR: u32 = 0;
/// That of a string without a language.
const SIMPLE: u32 = 1;
/// That of a string with the first language.
const FIRST_LANGUAGE: u32 = 2;
/// Strings that become ids together.
const CHUNK: usize = 64;

/// Buffers that a thread keeps: as many functions are mostly called one of the other.
const SPARE_BUFFERS: usize = 3;
/// Bytes of a buffer that is kept.
const SPARE_BYTES_MAX: usize = 2 << 20;

thread_local! {
    /// Empty buffers.
    static SPARE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The strings; see the [module documentation](self).
pub struct Texts {
    buffer: String,
    /// Where each text ends.
    ends: Vec<usize>,
    marks: Vec<u32>,
    languages: Vec<String>,
    /// The ids of the first rows, 0 where they are not known yet.
    known: Vec<u64>,
}

impl Texts {
    /// No rows yet, and room for so many.
    pub fn for_rows(count: usize) -> Self {
        Self {
            buffer: SPARE.with_borrow_mut(Vec::pop).unwrap_or_default(),
            ends: Vec::with_capacity(count),
            marks: Vec::with_capacity(count),
            languages: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Where the text of the next row begins.
    fn start(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The buffer, to append the text of the next row to.
    pub fn buffer(&mut self) -> &mut String {
        &mut self.buffer
    }

    /// Ends the row whose text was appended.
    #[inline]
    pub fn end(&mut self, kind: LiteralKind<'_>) {
        let mark = match kind {
            LiteralKind::Language(name) => self.mark_of(name),
            _ => SIMPLE,
        };
        self.marks.push(mark);
        self.ends.push(self.buffer.len());
    }

    /// The same of a row that is a term with this id, 0 if that is not known.
    #[inline]
    pub fn end_as(&mut self, kind: LiteralKind<'_>, id: u64) {
        if id != 0 {
            self.known.resize(self.ends.len(), 0);
            self.known.push(id);
        }
        self.end(kind);
    }

    /// The id of a row, 0 if it is not known yet.
    fn known_id(&self, row: usize) -> u64 {
        self.known.get(row).copied().unwrap_or_default()
    }

    /// The next row is this string.
    #[inline]
    pub fn push(&mut self, text: &str, kind: LiteralKind<'_>) {
        self.buffer.push_str(text);
        self.end(kind);
    }

    /// The next row is an error, whatever was appended.
    pub fn fail(&mut self) {
        self.buffer.truncate(self.start());
        self.marks.push(ERROR);
        self.ends.push(self.buffer.len());
    }

    /// The mark of strings in a language. Rows mostly have that of the row before, and a column has few.
    fn mark_of(&mut self, name: &str) -> u32 {
        let is_it = |mark: u32| {
            let at = mark.checked_sub(FIRST_LANGUAGE);
            at.is_some_and(|at| self.languages[at as usize] == name)
        };
        match self.marks.last() {
            Some(&last) if is_it(last) => return last,
            _ => {}
        }
        let known = self.languages.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.languages.push(name.to_owned());
            self.languages.len() - 1
        });
        FIRST_LANGUAGE + at as u32
    }

    /// The string of a row; `None` for an error.
    #[inline]
    pub fn get(&self, row: usize) -> Option<LiteralView<'_>> {
        let start = match row.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        let lexical = &self.buffer[start..self.ends[row]];
        match self.marks[row] {
            ERROR => None,
            SIMPLE => Some(LiteralView::simple(lexical)),
            mark => {
                let language = &self.languages[(mark - FIRST_LANGUAGE) as usize];
                Some(LiteralView::language(lexical, language))
            }
        }
    }

    /// The ids of the rows, 0 for an error.
    pub fn ids(&self, cx: &Context) -> Vec<u64> {
        let rows = self.ends.len();
        let mut ids = Vec::with_capacity(rows);
        let mut strings = Vec::with_capacity(CHUNK);
        let mut interned = Vec::with_capacity(CHUNK);
        for first in (0..rows).step_by(CHUNK) {
            let chunk = first..rows.min(first + CHUNK);
            strings.clear();
            let unknown = chunk.clone().filter(|&row| self.known_id(row) == 0);
            strings.extend(unknown.filter_map(|row| self.get(row)));
            interned.clear();
            cx.terms().intern_strings(&strings, &mut interned);
            let mut interned = interned.iter();
            ids.extend(
                chunk.map(|row| match (self.marks[row], self.known_id(row)) {
                    (ERROR, _) => 0,
                    (_, 0) => interned.next().copied().unwrap_or_default(),
                    (_, known) => known,
                }),
            );
        }
        ids
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() > SPARE_BYTES_MAX {
            return;
        }
        buffer.clear();
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < SPARE_BUFFERS {
                spare.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_and_have_the_ids_of_their_terms(
            rows in prop::collection::vec(("[a-cä]{0,3}", prop::option::of(0..4_usize)), 0..300),
        ) {
            let kinds = [
                LiteralKind::Simple,
                LiteralKind::Language("en"),
                LiteralKind::Language("de"),
                LiteralKind::Language("de-AT"),
            ];
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let view = |(text, kind): &(String, Option<usize>)| {
                let kind = kinds[(*kind)?];
                let lexical: &str = text;
                // The texts live as long as the rows.
                Some((lexical.to_owned(), kind))
            };
            let mut texts = Texts::for_rows(rows.len());
            for row in &rows {
                match view(row) {
                    Some((text, kind)) if text.starts_with('c') => {
                        let literal = LiteralView { lexical: &text, kind };
                        let id = cx.terms().intern(TermView::Literal(literal)).0;
                        texts.buffer().push_str(&text);
                        texts.end_as(kind, id);
                    }
                    Some((text, kind)) => texts.push(&text, kind),
                    None => {
                        texts.buffer().push_str(&row.0);
                        texts.fail();
                    }
                }
            }
            let ids = texts.ids(&cx);
            prop_assert_eq!(ids.len(), rows.len());
            for (i, row) in rows.iter().enumerate() {
                let expected = view(row);
                let expected = expected.as_ref().map(|(lexical, kind)| LiteralView { lexical, kind: *kind });
                prop_assert_eq!(texts.get(i), expected);
                let id = expected.map_or(0, |literal| cx.terms().intern(TermView::Literal(literal)).0);
                prop_assert_eq!(ids[i], id);
            }
        }
    }
}
