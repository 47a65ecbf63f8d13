//! Writing the dictionary: resources and literals in the order of their new numbers.
//!
//! The two halves are independent files and are written at the same time. Texts in memory are fetched one by
//! one. Texts in a file are dealt out to buckets, each for a range of new numbers, in one pass; a bucket whose texts
//! fit in memory is read, put in order and written, a larger one is dealt out again.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use basalt_rdf::Qualifiers;
use basalt_store::StoreError;
use basalt_store::dictionary::{DictionaryWriter, LiteralWriter, ResourceWriter};

use crate::error::LoadError;
use crate::numbering::{LiteralNumbers, NewNumbers, ResourceNumbers, TermNumbers};
use crate::progress::WorkCounter;
use crate::spill::{Buckets, LoadMemory};
use crate::term_table::FrozenTerms;
use crate::text_slabs::{HEADER_BYTES, Record, SpilledTexts, Texts, read_records};

/// Most buckets that texts are dealt out to at a time.
const BUCKETS_MAX: usize = 256;
/// Least text to be put in order in memory.
const TEXT_BYTES_MIN: usize = 4 << 20;
/// Larger pieces would gain nothing.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// Terms written between two words of progress.
const TERMS_TOLD: usize = 1 << 14;

/// Writes the dictionary.
pub(crate) fn write_terms(
    writer: DictionaryWriter,
    (resources, literals): (FrozenTerms, FrozenTerms),
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    let (resource_writer, literal_writer) = writer.into_parts();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let writer = Resources(resource_writer);
            write_resources(writer, resources, &numbers.resources, ordering)
        });
        let ends = numbers.literals.run_ends.iter();
        let writer = Literals {
            writer: literal_writer,
            run_ends: ends.peekable(),
        };
        let written = write_literals(writer, literals, &numbers.literals, ordering);
        let written = written.and_then(|w| Ok(w.finish(qualifiers)?));
        match thread.join() {
            Ok(result) => result.and(written),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn write_resources(
    mut writer: Resources,
    terms: FrozenTerms,
    numbers: &ResourceNumbers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    write_in_order(&mut writer, terms, &numbers.order, numbers, ordering)?;
    Ok(writer.0.finish()?)
}

fn write_literals(
    mut writer: Literals<'_>,
    terms: FrozenTerms,
    numbers: &LiteralNumbers,
    ordering: &Ordering<'_>,
) -> Result<LiteralWriter, LoadError> {
    write_in_order(&mut writer, terms, &numbers.order, numbers, ordering)?;
    Ok(writer.writer)
}

/// Takes terms in the order of their new numbers.
trait TermWriter {
    fn write(&mut self, number: usize, term: &Record<'_>) -> Result<(), StoreError>;
}

struct Resources(ResourceWriter);

impl TermWriter for Resources {
    #[inline]
    fn write(&mut self, _number: usize, term: &Record<'_>) -> Result<(), StoreError> {
        if ResourceNumbers::is_blank(term.kind) {
            self.0.push_blank()?;
        } else {
            self.0.push_iri(term.str())?;
        }
        Ok(())
    }
}

struct Literals<'a> {
    writer: LiteralWriter,
    /// Numbers at which another column begins.
    run_ends: Peekable<Iter<'a, u32>>,
}

impl TermWriter for Literals<'_> {
    #[inline]
    fn write(&mut self, number: usize, term: &Record<'_>) -> Result<(), StoreError> {
        while self
            .run_ends
            .next_if(|end| **end as usize <= number)
            .is_some()
        {
            self.writer.end_run()?;
        }
        let kind = term.kind;
        self.writer
            .push_literal((kind >> 16) as u8, kind as u16, term.str())?;
        Ok(())
    }
}

fn write_in_order(
    writer: &mut dyn TermWriter,
    terms: FrozenTerms,
    order: &[u32],
    numbers: &dyn NewNumbers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    match terms.texts {
        Texts::Memory(texts) => {
            for (number, &provisional) in order.iter().enumerate() {
                writer.write(number, &texts.get(provisional))?;
                ordering.told(number);
            }
            Ok(())
        }
        Texts::Spilled(texts) => ordering.write(texts, order.len(), numbers, writer),
    }
}

/// Puts texts of files in order.
pub(crate) struct Ordering<'m> {
    memory: &'m LoadMemory,
    /// Bytes of records that are put in order in memory.
    text_bytes: usize,
    /// Hears of terms written.
    work: &'m WorkCounter<'m>,
}

impl<'m> Ordering<'m> {
    /// With what `resident` bytes, which are taken by numbers, leave.
    pub(crate) fn new(memory: &'m LoadMemory, resident: u64, work: &'m WorkCounter<'m>) -> Self {
        let usual = memory.left(resident) / 6;
        let usual = usual.clamp(TEXT_BYTES_MIN, TEXT_BYTES_MAX);
        Self {
            memory,
            text_bytes: memory.settings.text_bytes.unwrap_or(usual),
            work,
        }
    }

    /// Says that a term was written.
    #[inline]
    fn told(&self, number: usize) {
        if number % TERMS_TOLD == TERMS_TOLD - 1 {
            self.work.add(TERMS_TOLD as u64);
        }
    }

    /// Writes `count` texts.
    fn write(
        &self,
        texts: SpilledTexts,
        count: usize,
        numbers: &dyn NewNumbers,
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        let mut ranges = self.cut(0..count as u32, texts.bytes());
        let mut buckets = self.buckets(ranges.len())?;
        let width = ranges[0].len().max(1) as u32;
        texts.for_each(&mut |record| match numbers.place(record.ordinal) {
            Some(place) => put(&mut buckets, (place / width) as usize, place, &record),
            // A term that stands in no quad, such as the graph of an empty input, or an old one.
            None => Ok(()),
        })?;
        drop(texts);
        buckets.flush()?;
        for (i, range) in ranges.drain(..).enumerate() {
            self.write_bucket(&buckets, i, range, writer)?;
        }
        Ok(())
    }

    /// Cuts a range of numbers into equal ones whose texts probably fit.
    fn cut(&self, range: Range<u32>, bytes: u64) -> Vec<Range<u32>> {
        let wanted = bytes.div_ceil(self.text_bytes as u64).max(1) * 5 / 4;
        let count = wanted.clamp(1, BUCKETS_MAX as u64) as usize;
        let width = range.len().div_ceil(count).max(1);
        let starts = range.clone().step_by(width);
        let mut ranges: Vec<_> = starts
            .map(|start| start..range.end.min(start.saturating_add(width as u32)))
            .collect();
        if ranges.is_empty() {
            ranges.push(range);
        }
        ranges
    }

    fn buckets(&self, count: usize) -> Result<Buckets, LoadError> {
        Buckets::create(&self.memory.folder, count, self.text_bytes / 2)
    }

    /// Writes the texts of one bucket, which holds this range of numbers.
    fn write_bucket(
        &self,
        buckets: &Buckets,
        bucket: usize,
        range: Range<u32>,
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        let bytes = buckets.bytes(bucket);
        if bytes <= self.text_bytes as u64 || range.len() < 2 {
            return self.write_fitting(buckets, bucket, range, writer);
        }
        let ranges = self.cut(range.clone(), bytes.max(2 * self.text_bytes as u64));
        let mut parts = self.buckets(ranges.len())?;
        let width = ranges[0].len() as u32;
        read_records(&mut buckets.reader(bucket), &mut |record| {
            let part = (record.ordinal - range.start) / width;
            put(&mut parts, part as usize, record.ordinal, &record)
        })?;
        parts.flush()?;
        for (i, range) in ranges.into_iter().enumerate() {
            // Termination: the range is smaller.
            self.write_bucket(&parts, i, range, writer)?;
        }
        Ok(())
    }

    fn write_fitting(
        &self,
        buckets: &Buckets,
        bucket: usize,
        range: Range<u32>,
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        let mut reader = buckets.reader(bucket);
        let mut records = Vec::with_capacity(buckets.bytes(bucket) as usize);
        while reader.read(&mut records)? > 0 {}
        let mut places = vec![0; range.len()];
        let mut at = 0;
        while let Some(record) = Record::at(&records, at) {
            places[(record.ordinal - range.start) as usize] = at;
            at = record.end;
        }
        for (number, place) in range.zip(places) {
            let record = Record::at(&records, place).expect("every number has a text");
            debug_assert_eq!(record.ordinal, number);
            writer.write(number as usize, &record)?;
            self.told(number as usize);
        }
        Ok(())
    }
}

/// Puts a record under a new number into a bucket.
fn put(
    buckets: &mut Buckets,
    bucket: usize,
    number: u32,
    record: &Record<'_>,
) -> Result<(), LoadError> {
    let mut head = [0; HEADER_BYTES];
    head[..4].copy_from_slice(&number.to_le_bytes());
    head[4..8].copy_from_slice(&record.kind.to_le_bytes());
    head[8..].copy_from_slice(&(record.text.len() as u32).to_le_bytes());
    buckets.push(bucket, &head, record.text)
}
