//! Function calls, row by row over evaluated arguments: dispatch, and the functions on terms and numbers
//! (SPARQL 1.1, sections 17.4.2, 17.4.4 and 17.4.6).
//!
//! `LANG` and `DATATYPE` are in [`annotation`](super::annotation), `isIRI` and the like in [`kind_test`](super::kind_test), functions on strings in [`string_function`], on dates in [`date_function`], casts in [`cast`].

use super::kind_test::KindTest;
use super::number_operators::Change;
use super::patterns::Patterns;
use super::texts::Texts;
use super::vector::{Argument, Item, Rows, Vector, each_row};
use super::{cast, date_function, string_function};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::value::{Number, Reader, Value};
use basalt_rdf::term_view::XSD;
use basalt_rdf::{LiteralKind, LiteralView, TermView};
use md5::Md5;
use oxiri::Iri;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use spargebra::algebra::Function;
use std::borrow::Cow;
use uuid::Uuid;

/// Bits of a double's significand, for random numbers in [0, 1).
const SIGNIFICAND_BITS: u32 = 53;

/// Bytes of texts that need no look at the memory.
pub const UNCOUNTED_BYTES: usize = 1 << 20;
/// What texts are counted for.
const OPERATOR: &str = "computed texts";

/// Why a call has no value.
pub enum Fault {
    /// A SPARQL error.
    Error,
    /// The query ends.
    Stop(ExecError),
}

impl From<ExecError> for Fault {
    fn from(error: ExecError) -> Self {
        Self::Stop(error)
    }
}

/// What a call gives.
pub type Outcome = Result<Item, Fault>;

/// The absence of a value as a SPARQL error.
pub fn or_error<T>(value: Option<T>) -> Result<T, Fault> {
    value.ok_or(Fault::Error)
}

/// A simple literal.
pub fn simple(text: impl Into<String>) -> Item {
    Item::Value(Value::String(text.into()))
}

/// A boolean.
pub fn boolean(value: bool) -> Item {
    Item::Value(Value::Boolean(value))
}

/// An integer.
pub fn integer(value: i64) -> Item {
    Item::Value(Value::Number(Number::Integer(value.into())))
}

/// The evaluated arguments of one row.
pub struct Arguments<'a, 'c> {
    vectors: &'a [Vector<'a>],
    row: usize,
    /// Reads values of ids.
    pub reader: &'a mut Reader<'c>,
    /// Reads the second of two strings.
    pub other: &'a mut Reader<'c>,
}

impl<'a, 'c> Arguments<'a, 'c> {
    /// Number of arguments.
    pub fn count(&self) -> usize {
        self.vectors.len()
    }

    /// An argument that must be there and no error.
    pub fn get(&self, idx: usize) -> Result<Argument<'a>, Fault> {
        match self.vectors.get(idx).map(|vector| vector.get(self.row)) {
            None | Some(Argument::Error) => Err(Fault::Error),
            Some(argument) => Ok(argument),
        }
    }

    /// The value of an argument.
    pub fn value(&mut self, idx: usize) -> Result<Cow<'a, Value>, Fault> {
        or_error(self.get(idx)?.value(self.reader)?)
    }

    /// A plain string argument.
    pub fn plain(&mut self, idx: usize) -> Result<Cow<'a, str>, Fault> {
        let argument = self.get(idx)?;
        if let Some(string) = argument.known_string() {
            return plain_text(string).map(Cow::Borrowed);
        }
        let string = or_error(argument.string(self.reader)?)?;
        plain_text(string).map(|text| Cow::Owned(text.to_owned()))
    }

    /// A string argument, with or without a language.
    #[inline]
    pub fn string(&mut self, idx: usize) -> Result<LiteralView<'_>, Fault> {
        or_error(self.get(idx)?.string(self.reader)?)
    }

    /// The same, or a beginning of it with at least so many characters.
    pub fn string_start(&mut self, idx: usize, characters: i128) -> Result<LiteralView<'_>, Fault> {
        let characters = usize::try_from(characters).unwrap_or(usize::MAX);
        or_error(match self.get(idx)? {
            Argument::Id(id) => self.reader.string_start(id, characters)?,
            other => other.known_string(),
        })
    }

    /// The first two arguments, both strings.
    pub fn two_strings(&mut self) -> Result<(LiteralView<'_>, LiteralView<'_>), Fault> {
        let (first, second) = (self.get(0)?, self.get(1)?);
        let first = or_error(first.string(self.reader)?)?;
        let second = or_error(second.string(self.other)?)?;
        Ok((first, second))
    }

    /// A number.
    pub fn number(&mut self, idx: usize) -> Result<Number, Fault> {
        or_error(self.value(idx)?.number())
    }

    /// The query.
    pub fn context(&self) -> &'c Context {
        self.reader.context()
    }

    /// A literal in its exact form, as an item.
    pub fn literal(&self, text: &str, datatype: &str) -> Item {
        Item::Id(
            self.context()
                .terms()
                .intern(TermView::typed(text, datatype))
                .0,
        )
    }
}

/// The text of a string without a language.
pub fn plain_text(string: LiteralView<'_>) -> Result<&str, Fault> {
    match string.kind {
        LiteralKind::Simple => Ok(string.lexical),
        _ => Err(Fault::Error),
    }
}

/// Refuses functions that are not there, by name.
pub fn check_supported(function: &Function) -> Result<(), ExecError> {
    match function {
        Function::Custom(name) => match name.as_str().strip_prefix(XSD) {
            Some(local) if cast::is_supported(local) => Ok(()),
            _ => Err(ExecError::Unsupported(format!("function {name}"))),
        },
        _ => Ok(()),
    }
}

/// Whether a function gives the same for the same arguments.
pub fn is_deterministic(function: &Function) -> bool {
    !matches!(
        function,
        Function::Rand | Function::Uuid | Function::StrUuid | Function::BNode
    )
}

/// Errors if there is no room for a text of so many bytes, before it is made.
pub fn check_text(bytes: usize, cx: &Context) -> Result<(), ExecError> {
    match bytes > UNCOUNTED_BYTES {
        true => cx.check_room(bytes, OPERATOR),
        false => Ok(()),
    }
}

/// A call in each of `count` rows.
pub fn column(
    function: &Function,
    vectors: &[Vector<'_>],
    count: usize,
    cx: &Context,
) -> Result<Vector<'static>, ExecError> {
    let (mut reader, mut other) = (Reader::new(cx), Reader::new(cx));
    let mut patterns = cx.take_patterns();
    let mut arguments = Arguments {
        vectors,
        row: 0,
        reader: &mut reader,
        other: &mut other,
    };
    let results = if string_function::makes_texts(function) {
        Vector::Texts(texts(function, &mut arguments, &mut patterns, count)?)
    } else {
        Vector::Items(each_row(count, |row| {
            cx.check_for_term()?;
            arguments.row = row;
            match call(function, &mut arguments, &mut patterns) {
                Ok(item) => Ok(item),
                Err(Fault::Error) => Ok(Item::Error),
                Err(Fault::Stop(error)) => Err(error),
            }
        })?)
    };
    cx.put_patterns(patterns);
    Ok(results)
}

/// A call that makes a string, in each of `count` rows: of few bytes mostly, but of any number.
fn texts(
    function: &Function,
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
    count: usize,
) -> Result<Texts, ExecError> {
    let cx = arguments.context();
    let (mut texts, mut held) = (Texts::for_rows(count), HeldMemory::default());
    for row in 0..count {
        cx.check_for_term()?;
        arguments.row = row;
        match string_function::write(function, arguments, patterns, &mut texts) {
            Ok(()) => {}
            Err(Fault::Error) => texts.fail(),
            Err(Fault::Stop(error)) => return Err(error),
        }
        if texts.bytes() > held.bytes() + UNCOUNTED_BYTES {
            held.grow_to(texts.bytes(), OPERATOR, cx)?;
        }
    }
    Ok(texts)
}

fn call(
    function: &Function,
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
) -> Outcome {
    match function {
        Function::Iri => iri(arguments),
        // With a label it is a kernel of its own.
        Function::BNode => Ok(blank_node(arguments.context())),
        Function::StrDt => {
            let text = arguments.plain(0)?;
            let datatype = arguments.get(1)?;
            if !KindTest::Iri.holds(datatype, arguments.reader)? {
                return Err(Fault::Error);
            }
            let datatype = or_error(arguments.reader.text(datatype.known_id())?)?.to_owned();
            Ok(arguments.literal(&text, &datatype))
        }
        Function::Abs | Function::Ceil | Function::Floor | Function::Round => {
            let number = arguments.number(0)?;
            let changed = Change::of(function).and_then(|change| change.apply(&number));
            Ok(Item::Value(Value::Number(or_error(changed)?)))
        }
        Function::Uuid => {
            let iri = format!("urn:uuid:{}", Uuid::new_v4());
            Ok(Item::Id(
                arguments.context().terms().intern(TermView::Iri(&iri)).0,
            ))
        }
        Function::StrUuid => Ok(simple(Uuid::new_v4().to_string())),
        Function::Md5 => Ok(digest::<Md5>(&arguments.plain(0)?)),
        Function::Sha1 => Ok(digest::<Sha1>(&arguments.plain(0)?)),
        Function::Sha256 => Ok(digest::<Sha256>(&arguments.plain(0)?)),
        Function::Sha384 => Ok(digest::<Sha384>(&arguments.plain(0)?)),
        Function::Sha512 => Ok(digest::<Sha512>(&arguments.plain(0)?)),
        Function::Custom(name) => cast::cast(
            name.as_str().strip_prefix(XSD).unwrap_or_default(),
            arguments,
        ),
        Function::Now
        | Function::Year
        | Function::Month
        | Function::Day
        | Function::Hours
        | Function::Minutes
        | Function::Seconds
        | Function::Timezone
        | Function::Tz
        | Function::Adjust => date_function::call(function, arguments),
        other => string_function::call(other, arguments, patterns),
    }
}

/// `IRI` and `URI`: a string is resolved against the base of the query, and must be an absolute IRI
/// if there is none.
fn iri(arguments: &mut Arguments<'_, '_>) -> Outcome {
    let argument = arguments.get(0)?;
    if KindTest::Iri.holds(argument, arguments.reader)? {
        return Ok(Item::Id(argument.known_id()));
    }
    let text = arguments.plain(0)?;
    let cx = arguments.context();
    let iri = match &cx.options().base_iri {
        Some(base) => {
            let base = or_error(Iri::parse(base.as_ref()).ok())?;
            or_error(base.resolve(&text).ok())?.into_inner()
        }
        None => or_error(Iri::parse(text.into_owned()).ok())?.into_inner(),
    };
    Ok(Item::Id(cx.terms().intern(TermView::Iri(&iri)).0))
}

/// `BNODE()`: a new one for each call.
fn blank_node(cx: &Context) -> Item {
    let label = Uuid::new_v4().simple().to_string();
    Item::Id(cx.terms().intern(TermView::Blank(&label)).0)
}

/// `BNODE(label)` in each row: the one node of this label and solution.
pub fn labelled_blanks(
    labels: &Vector<'_>,
    rows: &Rows<'_>,
    reader: &mut Reader<'_>,
) -> Result<Vec<Item>, ExecError> {
    let mut name = String::new();
    each_row(rows.len(), |row| {
        let value = labels.get(row).value(reader)?;
        let Some(Value::String(label)) = value.as_deref() else {
            return Ok(Item::Error);
        };
        // Any text may be given; in hexadecimal it is a valid label. A stored node has `b` and a
        // number as its label, one of a template has a hyphen.
        name.clear();
        name.push_str("made");
        name.push_str(&rows.solution(row).to_string());
        name.push('x');
        hexadecimal(label.as_bytes(), &mut name);
        let terms = reader.context().terms();
        Ok(Item::Id(terms.intern(TermView::Blank(&name)).0))
    })
}

/// Random doubles in [0, 1), for each of `count` rows: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) from
/// a seed of the system's random source.
pub fn random_doubles(count: usize) -> Vec<f64> {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    // The high half of a version 4 UUID has fixed bits, and so has its low half; 122 of all are random.
    let (high, low) = Uuid::new_v4().as_u64_pair();
    let mut state = high ^ low.rotate_left(32);
    let next = |_| {
        state = state.wrapping_add(GOLDEN_GAMMA);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> (u64::BITS - SIGNIFICAND_BITS)) as f64 / (1_u64 << SIGNIFICAND_BITS) as f64
    };
    (0..count).map(next).collect()
}

fn digest<D: Digest>(text: &str) -> Item {
    let mut digits = String::new();
    hexadecimal(&D::digest(text.as_bytes()), &mut digits);
    simple(digits)
}

/// Appends two digits for each byte.
fn hexadecimal(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
