//! Shuffles the lines of a file that may be larger than memory: a line goes to one of some
//! buckets by chance, then each bucket is shuffled in memory.
//!
//! Invariants: every line is in the output once, with an end; every order is equally
//! likely (a random bucket for each line, then Fisher and Yates inside); the same seed gives
//! the same order.
//!
//! Cost: the file is written twice; memory for one bucket and its line numbers.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Bytes that a bucket should have, about.
const BUCKET_BYTES: u64 = 256 << 20;

/// Writes the lines of `from` to `to` in an order that the seed gives; the buckets are
/// beside `to` meanwhile.
pub fn shuffle_lines(from: &Path, to: &Path, seed: u64) -> io::Result<()> {
    let buckets = fs::metadata(from)?.len().div_ceil(BUCKET_BYTES).max(1);
    shuffle_by_buckets(from, to, seed, buckets)
}

/// The same with a number of buckets.
fn shuffle_by_buckets(from: &Path, to: &Path, seed: u64, buckets: u64) -> io::Result<()> {
    let mut random = Random(seed);
    let paths: Vec<_> = (0..buckets)
        .map(|bucket| to.with_extension(format!("bucket{bucket}")))
        .collect();
    let mut writers = Vec::new();
    for path in &paths {
        writers.push(BufWriter::with_capacity(1 << 18, File::create(path)?));
    }
    let mut reader = BufReader::with_capacity(1 << 20, File::open(from)?);
    let mut line = Vec::new();
    // Termination: each turn consumes at least one byte or ends.
    while reader.read_until(b'\n', &mut line)? > 0 {
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        writers[random.below(buckets) as usize].write_all(&line)?;
        line.clear();
    }
    for writer in writers {
        writer.into_inner()?;
    }

    let mut output = BufWriter::with_capacity(1 << 20, File::create(to)?);
    for path in &paths {
        let text = fs::read(path)?;
        fs::remove_file(path)?;
        let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        // Invariant: the places after `last` are drawn already.
        for last in (1..lines.len()).rev() {
            lines.swap(last, random.below(last as u64 + 1) as usize);
        }
        for line in lines {
            output.write_all(line)?;
        }
    }
    output.flush()
}

/// SplitMix64: G. Steele et al., "Fast splittable pseudorandom number generators" (2014).
struct Random(u64);

impl Random {
    /// The next 64 bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`: the high half of a product, whose bias is below one in 2^32
    /// for any number of lines that a disk holds.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// The text shuffled in a folder of its own, which must end up with the two files only.
    fn shuffled(name: &str, text: &str, seed: u64, buckets: u64) -> String {
        let folder: PathBuf =
            std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        let (from, to) = (folder.join("from.nt"), folder.join("to.nt"));
        fs::write(&from, text).expect("it can be written");
        shuffle_by_buckets(&from, &to, seed, buckets).expect("it can be shuffled");
        let text = fs::read_to_string(&to).expect("it was written");
        let files = fs::read_dir(&folder).expect("it is a folder").count();
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(files, 2);
        text
    }

    #[test]
    fn every_line_comes_out_once_in_another_order() {
        let text: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        for buckets in [1, 7] {
            let other = shuffled("shuffle", text.trim_end(), 42, buckets);
            let sorted = |text: &str| -> Vec<String> {
                let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
                lines.sort_unstable();
                lines
            };
            assert_ne!(other, text);
            assert_eq!(sorted(&other), sorted(&text));
            assert!(other.ends_with('\n'));
            assert_eq!(other, shuffled("shuffle", &text, 42, buckets));
            assert_ne!(other, shuffled("shuffle", &text, 43, buckets));
        }
        assert_eq!(shuffled("shuffle", "", 1, 3), "");
    }

    #[test]
    fn every_order_occurs() {
        let orders: BTreeSet<String> = (0..300)
            .map(|seed| shuffled("orders", "a\nb\nc\nd\n", seed, 2))
            .collect();
        assert_eq!(orders.len(), 24);
    }
}
