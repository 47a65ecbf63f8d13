//! `KnownTexts`: texts that were read last, for comparisons of two columns of texts and for looking for one in the other.
//!
//! Of pairs of things of a group, each thing comes in many rows, and a dictionary has texts compressed: to read one takes as long as
//! dozens of comparisons. So the texts of ids met last are kept, by a table of which an id has one place:
//!
//! ```text
//! id -> place  [ id | where its text is ]     texts  a d a b o c y ...
//! ```
//!
//! Order is that of code points, as for two strings without a language (SPARQL 1.1, 17.3, `fn:compare`). Invariant: a text is that
//! which [`Reader::text`] gives. Cost: a look-up for each text, some nanoseconds; where hardly one is met again they are given up.
//! Memory: 384 KiB of places and at most 1 MiB of texts beside the last two, for each thread that compares.

use super::comparison::CompareOp;
use super::kernel::Kernel;
use super::value_table::place_among;
use super::vector::{Rows, Truth};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::Reader;
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use memchr::memmem;
use spargebra::algebra::Function;
use std::borrow::Cow;
use std::ops::Range;

/// Places of texts.
const PLACES: usize = 1 << 14;
/// Bytes of texts after which all are forgotten.
const BYTES_MAX: usize = 1 << 20;
/// Texts after which it is asked whether they repeat.
const TRIED: usize = 1 << 14;
/// Looked up texts for each that is read, below which they do not.
const LOOKED_UP_FOR_READ: usize = 2;

/// Texts that were read last, by id.
pub struct KnownTexts {
    places: Vec<Place>,
    texts: String,
    /// Texts looked up, and how many of them were read.
    looked_up: usize,
    read: usize,
}

#[derive(Clone)]
struct Place {
    /// Unbound where it is free.
    id: u64,
    text: Range<usize>,
}

impl Default for KnownTexts {
    /// None yet.
    fn default() -> Self {
        Self {
            places: vec![Place { id: 0, text: 0..0 }; PLACES],
            texts: String::new(),
            looked_up: 0,
            read: 0,
        }
    }
}

impl KnownTexts {
    /// Rows of a batch from which on room for texts is made.
    pub const ROWS_MIN: usize = 64;

    /// Whether texts hardly repeat.
    fn are_of_no_use(&self) -> bool {
        self.looked_up >= TRIED && self.read * LOOKED_UP_FOR_READ > self.looked_up
    }

    /// Forgets all if there are many.
    fn make_room(&mut self) {
        if self.texts.len() > BYTES_MAX {
            self.texts.clear();
            self.places.fill(Place { id: 0, text: 0..0 });
        }
    }

    /// Where the text of an id is, which has one.
    fn text(&mut self, id: u64, reader: &mut Reader<'_>) -> Result<Range<usize>, ExecError> {
        self.looked_up += 1;
        let place = &mut self.places[place_among(PLACES, id)];
        if place.id != id {
            self.read += 1;
            let start = self.texts.len();
            self.texts.push_str(reader.text(id)?.unwrap_or_default());
            let text = start..self.texts.len();
            *place = Place { id, text };
        }
        Ok(place.text.clone())
    }

    fn at(&self, text: &Range<usize>) -> &str {
        &self.texts[text.clone()]
    }
}

/// Whose text is compared.
enum TextOf {
    /// A string without a language is its own.
    String(usize),
    /// `STR` of a term.
    Term(usize),
}

impl TextOf {
    fn of(kernel: &Kernel) -> Option<Self> {
        match kernel {
            Kernel::Column(column) => Some(Self::String(*column)),
            Kernel::Call(Function::Str, arguments) => match arguments.as_slice() {
                [Kernel::Column(column)] => Some(Self::Term(*column)),
                _ => None,
            },
            Kernel::ByValue(by_value) => Self::of(by_value.kernel()),
            Kernel::ByKind(by_kind) => Self::of(by_kind.kernel()),
            _ => None,
        }
    }

    /// The ids of a column, if all have a text, strings `with_language` too.
    fn ids<'a>(
        &self,
        rows: &Rows<'a>,
        with_language: bool,
        reader: &Reader<'_>,
    ) -> Option<Cow<'a, [u64]>> {
        let (Self::String(column) | Self::Term(column)) = self;
        if rows.numbers(*column).is_some() {
            return None;
        }
        let ids = rows.column(*column);
        let have_texts = match self {
            Self::String(_) => {
                let made = reader.context().terms().made();
                ids.iter().all(|&id| match TermId(id).tag() {
                    tag::STRING => true,
                    tag::LANGUAGE => with_language,
                    tag::LOCAL => made.simple(id).is_some(),
                    _ => false,
                })
            }
            Self::Term(_) => ids.iter().all(|&id| reader.has_stored_text(id)),
        };
        have_texts.then_some(ids)
    }
}

/// The operator between two texts of each row; `None` where it is not found in this way.
pub fn compare_texts(
    op: CompareOp,
    (a, b): (&Kernel, &Kernel),
    rows: &Rows<'_>,
    cx: &Context,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let (Some(a), Some(b)) = (TextOf::of(a), TextOf::of(b)) else {
        return Ok(None);
    };
    // Strings that are stored are equal if their ids are.
    let are_strings = matches!((&a, &b), (TextOf::String(_), TextOf::String(_)));
    if are_strings && op == CompareOp::Equal {
        return Ok(None);
    }
    tested((a, b), rows, cx, None, |a, b| op.accepts(a.cmp(b)))
}

/// `CONTAINS`, `STRSTARTS` and `STRENDS` of two texts of each row; `None` of other functions, and where it is not found in this way.
pub fn find_in_texts(
    function: &Function,
    arguments: &[Kernel],
    rows: &Rows<'_>,
    cx: &Context,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let test: fn(&str, &str) -> bool = match function {
        Function::Contains => |text, part| memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
        Function::StrStarts => |text, part| text.starts_with(part),
        Function::StrEnds => |text, part| text.ends_with(part),
        _ => return Ok(None),
    };
    let [text, part] = arguments else {
        return Ok(None);
    };
    let (Some(text), Some(part)) = (TextOf::of(text), TextOf::of(part)) else {
        return Ok(None);
    };
    let is_string = |of: &TextOf| matches!(of, TextOf::String(_));
    let (has_language, must_fit) = (is_string(&text), is_string(&part));
    // `STR` has no language, and fits any text.
    let fits = |text: u64, part: u64, reader: &Reader<'_>| {
        let language = |id: u64| reader.stored_language(id);
        match (language(text), language(part)) {
            (_, None) => true,
            _ if !must_fit => true,
            (Some(text), Some(part)) => has_language && text.eq_ignore_ascii_case(part),
            (None, Some(_)) => false,
        }
    };
    tested((text, part), rows, cx, Some(&fits), test)
}

/// Whether a part may be looked for in a text, which is an error otherwise (SPARQL 1.1, 17.4.3.1.2).
type Fits<'f> = &'f dyn Fn(u64, u64, &Reader<'_>) -> bool;

/// What a test says of two texts of each row, an error where they do not fit, strings with a language among them if it is said which do; `None` if one of a row
/// has no text, or texts hardly repeat.
fn tested(
    (a, b): (TextOf, TextOf),
    rows: &Rows<'_>,
    cx: &Context,
    fits: Option<Fits<'_>>,
    test: impl Fn(&str, &str) -> bool,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let reader = &mut Reader::new(cx);
    let ids = |of: &TextOf| of.ids(rows, fits.is_some(), reader);
    let (Some(a), Some(b)) = (ids(&a), ids(&b)) else {
        return Ok(None);
    };
    let Some(mut texts) = cx.take_texts(rows.len()) else {
        return Ok(None);
    };
    let truths = match texts.are_of_no_use() {
        true => None,
        false => {
            let mut truths = Vec::with_capacity(a.len());
            for (&a, &b) in a.iter().zip(&*b) {
                if fits.is_some_and(|fits| !fits(a, b, reader)) {
                    truths.push(Truth::Error);
                    continue;
                }
                texts.make_room();
                let (a, b) = (texts.text(a, reader)?, texts.text(b, reader)?);
                truths.push(Some(test(texts.at(&a), texts.at(&b))).into());
            }
            Some(truths)
        }
    };
    cx.put_texts(texts);
    Ok(truths)
}
