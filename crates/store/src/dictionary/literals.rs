//! Dictionary literals: the file `literals.dict`.
//!
//! | section | holds |
//! | --- | --- |
//! | `texts` | groups of literals in ordinal order, see [`literal_group`](super::literal_group) |
//! | `groups` | two sequences: the first ordinal of each group and the end; their offsets and the end |
//! | `index` | hash of kind and text to ordinal, see [`text_index`](super::text_index) |
//! | `qualifiers` | datatypes, languages, numeric datatypes in the order of their codes |
//! | `counts` | number of literals, u64 |
//!
//! Writing: a full group goes to a pool of encoder threads; encoded groups are written in the order
//! in which they were filled. Memory: a few groups per thread (raw and encoded), 12 bytes per
//! literal for the index.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::known_places::{self, Known, Part};
use super::literal_group::{
    ALL_CODES, EncodedGroup, LiteralGroup, RawGroup, Symbols, decode, kind_word, start_word,
};
use super::text_index::{ORDINALS_MAX, TextIndex, TextIndexWriter};
use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::section_file::{FileKind, SectionFile, SectionSlice, SectionWriter};
use basalt_columns::codec::{self, Sequence};
use basalt_rdf::term_id::{LITERAL_ORDINAL_MASK, tag};
use basalt_rdf::{InlineForms, QualifierLists, Qualifiers, TermId};

/// Name of the file.
pub(super) const FILE: &str = "literals.dict";
/// Most literals of a group: their offsets and kinds stay in the second-level cache.
const GROUP_LITERALS: usize = 1 << 16;
/// Text bytes that fill a group; compressing them takes some 10 ms, enough to pay for a hand-over.
const GROUP_BYTES: usize = 4 << 20;
/// A run that ends with at least this much text ends its group, so that the next run gets its own
/// symbol table (its 2 KiB are then under one percent).
const RUN_BYTES_MIN: usize = 1 << 18;
/// Groups in flight per encoder thread.
const GROUPS_PER_THREAD: usize = 2;
/// Most encoder threads: one fills groups about this many times as fast as another encodes them.
const THREADS_MAX: usize = 8;

const _: () = assert!(ORDINALS_MAX <= LITERAL_ORDINAL_MASK);

/// A group to encode and where to send it.
type Job = (RawGroup, mpsc::Sender<EncodedGroup>);

/// Threads that encode groups; they end when this is dropped.
#[derive(Debug)]
struct Encoders {
    /// Takes groups.
    jobs: mpsc::Sender<Job>,
    /// Most groups in flight.
    in_flight_max: usize,
}

impl Encoders {
    fn start() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = cores.min(THREADS_MAX);
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads {
            let waiting = Arc::clone(&waiting);
            std::thread::spawn(move || {
                // The lock is held while waiting, which makes the threads queue for groups.
                let next = || {
                    waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv()
                };
                while let Ok((group, done)) = next() {
                    // A writer that was dropped no longer listens.
                    let _no_listener = done.send(group.encode());
                }
            });
        }
        Self {
            jobs,
            in_flight_max: threads * GROUPS_PER_THREAD,
        }
    }

    /// Hands a group over; the encoded one comes through the receiver.
    fn encode(&self, group: RawGroup) -> mpsc::Receiver<EncodedGroup> {
        let (done, encoded) = mpsc::channel();
        let sent = self.jobs.send((group, done));
        sent.expect("encoder threads live as long as the sender of jobs");
        encoded
    }
}

/// Writes `literals.dict`; usable on a thread of its own.
#[derive(Debug)]
pub struct LiteralWriter {
    /// The file, in the section `texts`.
    writer: SectionWriter,
    /// The group being filled.
    group: RawGroup,
    /// Started with the first full group.
    encoders: Option<Encoders>,
    /// Groups that are being encoded, oldest first.
    in_flight: VecDeque<mpsc::Receiver<EncodedGroup>>,
    /// The first ordinal of each group written, and the end.
    firsts: Vec<u64>,
    /// Where each group written begins in `texts`, and the end.
    offsets: Vec<u64>,
    /// Hashes of the literals written.
    index: TextIndexWriter,
    /// Literals so far.
    count: u64,
}

impl LiteralWriter {
    /// Starts the file.
    pub(crate) fn create(folder: &Folder) -> Result<Self, StoreError> {
        let mut writer = folder.create(FILE, FileKind::Literals)?;
        writer.begin("texts")?;
        Ok(Self {
            writer,
            group: RawGroup::default(),
            encoders: None,
            in_flight: VecDeque::new(),
            firsts: vec![0],
            offsets: vec![0],
            index: TextIndexWriter::new(),
            count: 0,
        })
    }

    /// Adds a literal that is not there yet and returns its ordinal. `id_tag` is the tag of its id
    /// ([`tag::STRING`], [`tag::LANGUAGE`] or [`tag::TYPED`]), `qualifier` the code of its language
    /// or datatype, 0 for a string.
    pub fn push_literal(
        &mut self,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
    ) -> Result<u64, StoreError> {
        let ordinal = self.count;
        if ordinal > ORDINALS_MAX {
            return Err(StoreError::Limit {
                what: "literals",
                limit: ORDINALS_MAX,
            });
        }
        if !matches!(id_tag, tag::STRING | tag::LANGUAGE | tag::TYPED) {
            let what =
                format!("`{lexical}` has tag {id_tag:#04x}, which no dictionary literal has");
            return Err(StoreError::invalid(what));
        }
        self.group
            .push(kind_word(id_tag, qualifier), lexical.as_bytes());
        self.count += 1;
        if self.group.len() >= GROUP_LITERALS || self.group.text_bytes() >= GROUP_BYTES {
            self.end_group()?;
        }
        Ok(ordinal)
    }

    /// Tells that the literals to come are of another kind than those before (another column), so
    /// that they get their own compression if there are enough of them.
    pub fn end_run(&mut self) -> Result<(), StoreError> {
        if self.group.text_bytes() >= RUN_BYTES_MIN {
            self.end_group()?;
        }
        Ok(())
    }

    /// Literals added so far: the next ordinal.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn end_group(&mut self) -> Result<(), StoreError> {
        let encoders = self.encoders.get_or_insert_with(Encoders::start);
        let in_flight_max = encoders.in_flight_max;
        let group = std::mem::take(&mut self.group);
        self.in_flight.push_back(encoders.encode(group));
        while self.in_flight.len() > in_flight_max {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Writes the group that was filled first of those in flight.
    fn write_oldest(&mut self) -> Result<(), StoreError> {
        if let Some(encoded) = self.in_flight.pop_front() {
            let group = encoded.recv().expect("encoding a group does not panic");
            self.write_group(&group)?;
        }
        Ok(())
    }

    fn write_group(&mut self, group: &EncodedGroup) -> Result<(), StoreError> {
        let first = self.firsts[self.firsts.len() - 1];
        for (ordinal, &hash) in (first..).zip(&group.hashes) {
            self.index.push(hash, ordinal);
        }
        self.writer.write(&group.bytes)?;
        self.firsts.push(first + group.hashes.len() as u64);
        self.offsets
            .push(self.offsets[self.offsets.len() - 1] + group.bytes.len() as u64);
        Ok(())
    }

    /// Writes what is left and the qualifiers and makes the file durable.
    pub fn finish(mut self, qualifiers: &Qualifiers) -> Result<(), StoreError> {
        while !self.in_flight.is_empty() {
            self.write_oldest()?;
        }
        if self.group.len() > 0 {
            let group = std::mem::take(&mut self.group).encode();
            self.write_group(&group)?;
        }
        let mut groups = Vec::new();
        codec::encode(&self.firsts, &mut groups);
        codec::encode(&self.offsets, &mut groups);
        self.writer.section("groups", &groups)?;
        self.index.finish(&mut self.writer, "index")?;
        self.writer
            .section("qualifiers", &qualifier_bytes(qualifiers))?;
        if let Some(number) = forms_number(qualifiers.forms()) {
            self.writer.section(FORMS_SECTION, &[number])?;
        }
        self.writer.section("counts", &self.count.to_le_bytes())?;
        self.writer.finish()
    }
}

/// The section that says which literals are inline.
const FORMS_SECTION: &str = "forms";

/// The number that stands for forms; none of the first, of which files say nothing.
fn forms_number(forms: InlineForms) -> Option<u8> {
    match forms {
        InlineForms::WholeSeconds => None,
        InlineForms::Fractions => Some(2),
        InlineForms::Doubles => Some(3),
        InlineForms::Times => Some(4),
        InlineForms::Durations => Some(5),
    }
}

/// Which literals are inline in the dictionary whose youngest layer is in a folder.
pub(crate) fn forms_in(folder: &Folder) -> Result<InlineForms, StoreError> {
    read_forms(&folder.open(FILE, FileKind::Literals)?)
}

/// Which literals are inline.
fn read_forms(file: &SectionFile) -> Result<InlineForms, StoreError> {
    if !file.has_section(FORMS_SECTION) {
        return Ok(InlineForms::WholeSeconds);
    }
    let number = file.verified_section(FORMS_SECTION)?;
    let known = [
        InlineForms::Fractions,
        InlineForms::Doubles,
        InlineForms::Times,
        InlineForms::Durations,
    ];
    let mut named = known.into_iter().filter(|&forms| {
        let of_forms = forms_number(forms);
        of_forms.is_some_and(|of_forms| number == [of_forms])
    });
    named.next().ok_or_else(|| {
        file.corrupt(
            file.section_offset(FORMS_SECTION),
            "it does not say which literals are inline",
        )
    })
}

fn qualifier_bytes(qualifiers: &Qualifiers) -> Vec<u8> {
    let lists = qualifiers.to_lists();
    let mut bytes = ByteWriter::new();
    for list in [&lists.datatypes, &lists.languages, &lists.numerics] {
        bytes.long(list.len() as u64);
        for name in list {
            bytes.blob(name.as_bytes());
        }
    }
    bytes.finish()
}

fn read_qualifiers(file: &SectionFile) -> Result<Qualifiers, StoreError> {
    let mut bytes = ByteReader::new(
        file.verified_section("qualifiers")?,
        file.name(),
        "qualifiers",
    );
    let mut lists = QualifierLists {
        forms: read_forms(file)?,
        ..QualifierLists::default()
    };
    for list in [
        &mut lists.datatypes,
        &mut lists.languages,
        &mut lists.numerics,
    ] {
        // A name takes at least the eight bytes of its length.
        for _ in 0..bytes.count(8)? {
            list.push(bytes.text()?.to_owned());
        }
    }
    bytes.finish()?;
    Qualifiers::from_lists(&lists)
        .map_err(|error| file.corrupt(file.section_offset("qualifiers"), error.to_string()))
}

/// Where a group lies.
#[derive(Clone, Copy, Debug)]
struct GroupPlace {
    /// Its first ordinal.
    first: u64,
    /// Number of literals.
    count: usize,
    /// Its start in `texts`.
    start: usize,
    /// Its end in `texts`.
    end: usize,
}

/// The open file.
#[derive(Clone, Debug)]
pub(super) struct Literals {
    /// For checking it.
    pub(super) file: SectionFile,
    /// The groups, end to end.
    texts: SectionSlice,
    /// Where the groups lie, by first ordinal.
    groups: Box<[GroupPlace]>,
    /// Hash to ordinal.
    index: TextIndex,
    /// Number of literals.
    count: u64,
    /// What tells the file from every other that is or was open.
    number: u64,
}

impl Literals {
    /// Opens the file; reads the directory of groups and the qualifiers.
    pub(super) fn open(folder: &Folder) -> Result<(Self, Qualifiers), StoreError> {
        let file = folder.open(FILE, FileKind::Literals)?;
        let count = super::read_count(&file)?;
        let qualifiers = read_qualifiers(&file)?;
        let texts = file.slice("texts")?;
        let groups = read_groups(&file, count, texts.bytes().len())?;
        let index = TextIndex::open(&file, "index")?;
        Ok((
            Self {
                file,
                texts,
                groups,
                index,
                count,
                number: known_places::next_file(),
            },
            qualifiers,
        ))
    }

    /// Number of literals.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Where the group of a literal lies.
    fn place(&self, ordinal: u64) -> GroupPlace {
        let after = self.groups.partition_point(|group| group.first <= ordinal);
        // The first group begins at ordinal 0, so one lies before.
        self.groups[after - 1]
    }

    /// The group of a literal and its place there.
    fn locate(&self, ordinal: u64) -> Result<(LiteralGroup<'_>, usize, GroupPlace), StoreError> {
        if ordinal >= self.count {
            return Err(super::unknown_ordinal("literal", ordinal));
        }
        let place = self.place(ordinal);
        let group = LiteralGroup::open(&self.texts.bytes()[place.start..place.end], place.count)
            .map_err(|error| self.texts.corrupt(place.start as u64, error.to_string()))?;
        Ok((group, (ordinal - place.first) as usize, place))
    }

    /// Appends the lexical form of a literal, or its beginning: what this many codes stand for.
    pub(super) fn lexical_into(
        &self,
        ordinal: u64,
        codes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let read = match self.known_text(ordinal) {
            Some((bytes, symbols)) => decode(bytes, symbols, codes, out),
            None => {
                let (group, i, _) = self.locate(ordinal)?;
                group.text_into(i, codes, out)
            }
        };
        read.ok_or_else(|| self.damaged(ordinal))
    }

    /// The first bytes of the lexical form of a literal as a number: see [`start_word`].
    pub(super) fn text_word(&self, ordinal: u64) -> Result<u128, StoreError> {
        let word = match self.known_text(ordinal) {
            Some((bytes, symbols)) => start_word(bytes, symbols),
            None => {
                let (group, i, _) = self.locate(ordinal)?;
                group.text_word(i)
            }
        };
        word.ok_or_else(|| self.damaged(ordinal))
    }

    fn damaged(&self, ordinal: u64) -> StoreError {
        let what = format!("the text of literal {ordinal} is damaged");
        self.texts.corrupt(self.place(ordinal).start as u64, what)
    }

    /// The bytes of a text whose place this thread knows.
    #[inline]
    fn known_text(&self, ordinal: u64) -> Option<(&[u8], Option<Symbols<'_>>)> {
        let mut known = known_places::find(self.number, ordinal);
        if known == Known::Block {
            known_places::learn(self.number, &self.part(ordinal).ok()?);
            known = known_places::find(self.number, ordinal);
        }
        let Known::Place(place) = known else {
            return None;
        };
        let texts = self.texts.bytes();
        let symbols = match place.symbols {
            Some(start) => Some(Symbols::open(texts.get(start..)?)?.0),
            None => None,
        };
        Some((texts.get(place.bytes)?, symbols))
    }

    /// Where the texts lie that have the block of a literal, and its group.
    fn part(&self, ordinal: u64) -> Result<Part, StoreError> {
        let (group, _, place) = self.locate(ordinal)?;
        let block = known_places::block_of(ordinal);
        let first = block.start.max(place.first);
        let end = block.end.min(place.first + place.count as u64);
        let literals = (first - place.first) as usize..(end - place.first) as usize;
        Ok(Part {
            first,
            texts: place.end - group.text_bytes(),
            symbols: group.symbols_start().map(|start| place.start + start),
            ends: group.ends(literals),
        })
    }

    /// Tag and qualifier of the literal with this ordinal.
    pub(super) fn kind(&self, ordinal: u64) -> Result<(u8, u16), StoreError> {
        let (group, i, place) = self.locate(ordinal)?;
        let kind = group.kind(i);
        let (id_tag, qualifier) = ((kind >> 16) as u8, kind as u16);
        if kind >> 24 == 0 && literal_id(id_tag, qualifier, ordinal).is_dictionary_literal() {
            Ok((id_tag, qualifier))
        } else {
            let what = format!("literal {ordinal} has the unknown kind {kind:#x}");
            Err(self.texts.corrupt(place.start as u64, what))
        }
    }

    /// Asks for where [`Self::find`] begins.
    pub(super) fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// The ordinal of the literal with this hash, tag and qualifier, and lexical form.
    pub(super) fn find<'t>(
        &self,
        hash: u64,
        kind: u64,
        lexical: impl Fn() -> &'t [u8],
    ) -> Option<u64> {
        super::with_scratch(|scratch| {
            self.index.find(hash, |ordinal| {
                scratch.clear();
                let Ok((group, i, _)) = self.locate(ordinal) else {
                    return false;
                };
                group.kind(i) == kind
                    && group.text_into(i, ALL_CODES, scratch).is_some()
                    && scratch == lexical()
            })
        })
    }
}

/// The id of a dictionary literal from its parts.
pub(super) fn literal_id(id_tag: u8, qualifier: u16, ordinal: u64) -> TermId {
    let qualifier = u64::from(qualifier) << basalt_rdf::term_id::LITERAL_ORDINAL_BITS;
    TermId::new(id_tag, qualifier | ordinal)
}

fn read_groups(
    file: &SectionFile,
    count: u64,
    text_bytes: usize,
) -> Result<Box<[GroupPlace]>, StoreError> {
    let bytes = file.verified_section("groups")?;
    let corrupt = |what: String| file.corrupt(file.section_offset("groups"), what);
    let (firsts, used) = Sequence::open(bytes).map_err(|error| corrupt(error.to_string()))?;
    let (offsets, _) =
        Sequence::open(&bytes[used..]).map_err(|error| corrupt(error.to_string()))?;
    if firsts.is_empty() || firsts.len() != offsets.len() {
        let what = format!("{} first literals, {} offsets", firsts.len(), offsets.len());
        return Err(corrupt(what));
    }
    let (mut first_values, mut offset_values) = (Vec::new(), Vec::new());
    firsts.decode(0..firsts.len(), &mut first_values);
    offsets.decode(0..offsets.len(), &mut offset_values);
    let last = firsts.len() - 1;
    let spans = |values: &[u64], end: u64| {
        values[0] == 0 && values[last] == end && values.is_sorted_by(|a, b| a < b)
    };
    if !spans(&first_values, count) || !spans(&offset_values, text_bytes as u64) {
        return Err(corrupt(
            "the groups do not span the literals and their texts".to_owned(),
        ));
    }
    let places = first_values.windows(2).zip(offset_values.windows(2));
    Ok(places
        .map(|(firsts, offsets)| GroupPlace {
            first: firsts[0],
            count: (firsts[1] - firsts[0]) as usize,
            start: offsets[0] as usize,
            end: offsets[1] as usize,
        })
        .collect())
}
