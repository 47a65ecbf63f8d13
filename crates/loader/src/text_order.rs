//! Texts in a file to the order of their new numbers, in one of two ways.
//!
//! **Near**: the numbers are cut into ranges whose texts fit in memory; for each range the pieces of the file in which
//! its texts can lie are read, and what belongs to other ranges is passed over. Terms get provisional and
//! new numbers in much the same order where the inputs have one subject after the other, as dumps do: then each piece is
//! read once or twice, and nothing is written a second time.
//!
//! **Dealt out**: all texts are read once and dealt out to buckets, each for a range of new numbers; a bucket whose
//! texts fit in memory is read, put in order and written, a larger one is dealt out again. That is the way for
//! inputs in any other order, where each range has texts in every piece.
//!
//! Which is better is known before anything is read: from the order, the bounds of the sizes of all records, and the
//! range of ordinals of each piece. Both ways write the same.
//!
//! Memory: the texts of a range or bucket, 8 bytes for each of them; buffers of buckets.

use std::ops::Range;

use basalt_store::StoreError;

use crate::error::LoadError;
use crate::numbering::NewNumbers;
use crate::progress::WorkCounter;
use crate::spill::{Buckets, LoadMemory};
use crate::texts::{Piece, Record, SpilledTexts, read_records, record_head, write_record};

/// Most buckets that texts are dealt out to at a time.
const BUCKETS_MAX: usize = 256;
/// Least text to be put in order in memory.
const TEXT_BYTES_MIN: usize = 4 << 20;
/// Larger pieces would gain nothing.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// Terms written between two words of progress.
const TERMS_TOLD: usize = 1 << 14;
/// How often texts may be read near before dealing them out is cheaper: that reads them twice and writes them
/// once, which takes the processor as long as two or three reads do, and the disk longer.
const READS_MAX: u64 = 3;
/// Bits of a provisional ordinal that do not matter when it is told which pieces are near.
const CHUNK_BITS: u32 = 8;

/// Takes terms in the order of their new numbers.
pub(crate) trait TermWriter {
    /// Takes the next term.
    fn write(&mut self, number: usize, term: &Record<'_>) -> Result<(), StoreError>;
}

/// Puts texts of files in order.
pub(crate) struct Ordering<'m> {
    memory: &'m LoadMemory,
    /// Bytes of records that are put in order in memory, beside buffers of half as many.
    text_bytes: usize,
    /// Hears of terms written.
    work: &'m WorkCounter<'m>,
}

/// Numbers whose texts fit in memory.
struct NearRange {
    /// The numbers.
    numbers: Range<u32>,
    /// Upper bound of the bytes of their records.
    bytes: u64,
    /// The pieces that may have records of them, ascending.
    pieces: Vec<u32>,
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

    /// The budget.
    pub(crate) fn memory(&self) -> &'m LoadMemory {
        self.memory
    }

    /// Says that a term was written; fails if the load was cancelled.
    #[inline]
    pub(crate) fn told(&self, number: usize) -> Result<(), LoadError> {
        match number % TERMS_TOLD == TERMS_TOLD - 1 {
            true => self.work.add(TERMS_TOLD as u64),
            false => Ok(()),
        }
    }

    /// Writes the texts of `order`: provisional ordinals in the order of their numbers.
    pub(crate) fn write(
        &self,
        texts: SpilledTexts,
        order: &[u32],
        numbers: &dyn NewNumbers,
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        // No buckets, so their buffers can be texts.
        let range_bytes = (self.text_bytes / 2 * 3) as u64;
        let reads_max = self.memory.settings.text_reads.unwrap_or(READS_MAX);
        let read_max = texts.bytes().saturating_mul(reads_max);
        match near_ranges(&texts, order, range_bytes, read_max) {
            Some(ranges) => self.write_near(&texts, &ranges, numbers, writer),
            None => self.write_dealt(texts, order.len(), numbers, writer),
        }
    }

    /// Reads what is near each range.
    fn write_near(
        &self,
        texts: &SpilledTexts,
        ranges: &[NearRange],
        numbers: &dyn NewNumbers,
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        let (mut records, mut places, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        for range in ranges {
            records.clear();
            records.reserve_exact(usize::try_from(range.bytes).unwrap_or(0));
            places.clear();
            places.resize(range.numbers.len(), usize::MAX);
            let near = range.pieces.iter().map(|p| &texts.pieces[*p as usize]);
            texts.for_each_in(near, &mut scratch, &mut |record| {
                // A term that stands in no quad, such as the graph of an empty input, or an old one, has no place.
                let place = numbers.place(record.ordinal);
                if let Some(place) = place.filter(|p| range.numbers.contains(p)) {
                    places[(place - range.numbers.start) as usize] = records.len();
                    write_record(place, record.kind, record.text, &mut records);
                }
                Ok(())
            })?;
            self.write_records(range.numbers.clone(), &records, &places, writer)?;
        }
        Ok(())
    }

    /// Writes records of memory in the order of their numbers; `places` has the offset of each.
    fn write_records(
        &self,
        numbers: Range<u32>,
        records: &[u8],
        places: &[usize],
        writer: &mut dyn TermWriter,
    ) -> Result<(), LoadError> {
        for (number, &place) in numbers.zip(places) {
            let record = Record::at(records, place).expect("every number has a text");
            debug_assert_eq!(record.ordinal, number);
            writer.write(number as usize, &record)?;
            self.told(number as usize)?;
        }
        Ok(())
    }

    /// Deals out to buckets.
    fn write_dealt(
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
            // As above.
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
        self.write_records(range, &records, &places, writer)
    }
}

/// Cuts numbers into ranges whose records have at most so many bytes, and finds the pieces near each; `None`
/// if reading them all takes more than `read_max` bytes.
fn near_ranges(
    texts: &SpilledTexts,
    order: &[u32],
    range_bytes: u64,
    read_max: u64,
) -> Option<Vec<NearRange>> {
    let of_pieces = texts.pieces.iter().map(|p| p.ordinals.1);
    let ordinal_max = of_pieces.chain(order.iter().copied()).max().unwrap_or(0);
    let mut near = NearPieces::new(&texts.pieces, ordinal_max);
    let mut ranges = Vec::new();
    let (mut start, mut bytes, mut read) = (0, 0, 0_u64);
    for at in 0..=order.len() {
        let next = order.get(at).map(|&ordinal| texts.record_bytes(ordinal));
        if at > start && next.is_none_or(|next| bytes + next > range_bytes) {
            let pieces = near.of(&order[start..at]);
            let of_range = pieces.iter().map(|p| texts.pieces[*p as usize].bytes());
            read += of_range.sum::<u64>();
            if read > read_max {
                return None;
            }
            ranges.push(NearRange {
                numbers: start as u32..at as u32,
                bytes,
                pieces,
            });
            (start, bytes) = (at, 0);
        }
        bytes += next.unwrap_or(0);
    }
    Some(ranges)
}

/// Finds the pieces in which texts can be.
struct NearPieces<'p> {
    pieces: &'p [Piece],
    /// Whether a text is sought in each chunk of ordinals.
    sought: Vec<bool>,
    /// Chunks with such texts before each chunk, and all.
    before: Vec<u32>,
}

impl<'p> NearPieces<'p> {
    fn new(pieces: &'p [Piece], ordinal_max: u32) -> Self {
        let chunks = (ordinal_max >> CHUNK_BITS) as usize + 1;
        Self {
            pieces,
            sought: vec![false; chunks],
            before: Vec::with_capacity(chunks + 1),
        }
    }

    /// The pieces that can have texts of these ordinals.
    fn of(&mut self, ordinals: &[u32]) -> Vec<u32> {
        self.sought.fill(false);
        for ordinal in ordinals {
            self.sought[(ordinal >> CHUNK_BITS) as usize] = true;
        }
        self.before.clear();
        self.before.push(0);
        let mut sum = 0;
        for &sought in &self.sought {
            sum += u32::from(sought);
            self.before.push(sum);
        }
        let is_near = |piece: &Piece| {
            let (first, last) = piece.ordinals;
            let first = self.before[(first >> CHUNK_BITS) as usize];
            first < self.before[(last >> CHUNK_BITS) as usize + 1]
        };
        let pieces = (0..).zip(self.pieces);
        pieces.filter(|(_, p)| is_near(p)).map(|(i, _)| i).collect()
    }
}

/// Puts a record under a new number into a bucket.
fn put(
    buckets: &mut Buckets,
    bucket: usize,
    number: u32,
    record: &Record<'_>,
) -> Result<(), LoadError> {
    let head = record_head(number, record.kind, record.text);
    buckets.push(bucket, &head, record.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SpillSettings;
    use crate::progress::NoProgress;
    use crate::text_slabs::TextSlabs;
    use crate::texts::Texts;
    use std::sync::Arc;

    /// Numbers by provisional ordinal; the last number stands for none.
    struct Numbers(Vec<Option<u32>>);

    impl NewNumbers for Numbers {
        fn place(&self, provisional: u32) -> Option<u32> {
            self.0[provisional as usize]
        }
    }

    #[derive(Default)]
    struct Written(Vec<(usize, u32, String)>);

    impl TermWriter for Written {
        fn write(&mut self, number: usize, term: &Record<'_>) -> Result<(), StoreError> {
            self.0.push((number, term.kind, term.str().to_owned()));
            Ok(())
        }
    }

    fn text(ordinal: u32) -> String {
        let long = if ordinal.is_multiple_of(97) { 4_000 } else { 0 };
        format!("text {ordinal}{}", "!".repeat(long + ordinal as usize % 40))
    }

    fn memory(text_reads: Option<u64>) -> Arc<LoadMemory> {
        let settings = SpillSettings {
            parse_bytes: Some(0),
            slab_bytes: Some(2_000),
            text_bytes: Some(90_000),
            text_reads,
            ..SpillSettings::default()
        };
        let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
        Arc::new(memory.expect("the budget is large enough"))
    }

    fn spilled(memory: &Arc<LoadMemory>, count: u32) -> SpilledTexts {
        let slabs = TextSlabs::new(Arc::clone(memory));
        memory.hold(1);
        // Two threads, each with every other term.
        let mut of_threads = [slabs.take(), slabs.take()];
        for ordinal in 0..count {
            let slab = &mut of_threads[ordinal as usize % 2];
            let pushed = slab.push(&slabs, ordinal, ordinal % 3, text(ordinal).as_bytes());
            pushed.expect("the folder can be written to");
        }
        of_threads.into_iter().for_each(|s| slabs.give_back(s));
        match slabs.freeze(count as usize).expect("written") {
            Texts::Spilled(texts) => texts,
            Texts::Memory(_) => unreachable!("everything spills"),
        }
    }

    /// Orders the texts; returns the bytes that this wrote.
    fn check(order: &[u32], count: u32, text_reads: Option<u64>) -> u64 {
        let memory = memory(text_reads);
        let texts = spilled(&memory, count);
        let before = memory.folder.written_bytes();
        let mut numbers = Numbers(vec![None; count as usize]);
        for (number, &ordinal) in (0..).zip(order) {
            numbers.0[ordinal as usize] = Some(number);
        }
        let work = WorkCounter::new(&NoProgress, &memory, u64::from(count));
        let mut written = Written::default();
        let ordering = Ordering::new(&memory, 0, &work);
        let done = ordering.write(texts, order, &numbers, &mut written);
        done.expect("the files can be read");
        let expected = order.iter().enumerate();
        let expected: Vec<_> = expected.map(|(n, &o)| (n, o % 3, text(o))).collect();
        assert!(written.0 == expected, "{text_reads:?}");
        memory.folder.written_bytes() - before
    }

    #[test]
    fn both_ways_write_the_same() {
        let count = 10_000;
        let in_order: Vec<u32> = (0..count).collect();
        let mut shuffled = in_order.clone();
        shuffled.sort_by_key(|o| o.wrapping_mul(0x9E37_79B9));
        let some: Vec<u32> = in_order.iter().copied().filter(|o| o % 5 > 0).collect();
        for order in [&in_order, &shuffled, &some, &Vec::new()] {
            assert_eq!(check(order, count, Some(u64::MAX)), 0);
            let dealt = check(order, count, Some(0));
            assert_eq!(dealt > 0, !order.is_empty());
        }
    }

    #[test]
    fn the_order_decides() {
        let count = 50_000;
        // Three columns, 100 rows of each at a time.
        let mut columns: Vec<u32> = (0..count).collect();
        columns.sort_by_key(|o| (o / 300, o % 3, *o));
        assert_eq!(check(&columns, count, None), 0);
        let mut shuffled = columns;
        shuffled.sort_by_key(|o| o.wrapping_mul(0x9E37_79B9));
        assert!(check(&shuffled, count, None) > 0);
    }
}
