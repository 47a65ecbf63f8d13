//! The update file: held-out products with their offers and reviews, in blocks.
//!
//! The last products are left out of the data set and written here as N-Triples, a block per
//! transaction, each closed by an empty line and a separator line (a comment, so the file is valid
//! N-Triples). Offers and reviews are found by drawing the product of every offer and review
//! again, once per batch of products; so memory is bounded by the batch. Data set and update file
//! together are exactly the data set without updates.

use crate::BsbmError;
use crate::compress::{compress, decompress};
use crate::emit::{Counts, Emitter};
use crate::outputs::io_error;
use crate::resources::{write_offer, write_product, write_review};
use crate::vocabulary::{Compression, Format};
use crate::world::{Author, World};
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// The line that ends a block.
const SEPARATOR: &str = "#__SEP__";
/// Held-out products per pass over the offers and reviews.
const PRODUCTS_PER_PASS: u64 = 1 << 17;
const BUFFER_BYTES: usize = 4 << 20;

/// What to hold out.
#[derive(Clone, Copy)]
pub(crate) struct HoldOut {
    pub(crate) transactions: u64,
    pub(crate) products_per_transaction: u64,
    /// Whether products are said to be of all ancestors of their type.
    pub(crate) all_types: bool,
    pub(crate) compression: Compression,
}

impl HoldOut {
    /// The last product that stays in the data set.
    pub(crate) fn last_product_kept(&self, products: u64) -> Result<u64, BsbmError> {
        self.transactions
            .checked_mul(self.products_per_transaction)
            .and_then(|held| products.checked_sub(held))
            .ok_or(BsbmError::HoldOutTooLarge {
                transactions: self.transactions,
                products_per_transaction: self.products_per_transaction,
                products,
            })
    }
}

/// Writes the update file to a stream; returns its counts and bytes before compression.
pub(crate) fn write_update(
    world: &World,
    hold_out: HoldOut,
    writer: &mut dyn Write,
    path: &Path,
) -> Result<(Counts, u64), BsbmError> {
    let kept = hold_out.last_product_kept(world.products)?;
    let mut emitter = Emitter::new(Format::NTriples, Vec::new());
    let mut plain_bytes = 0;
    let mut flush = |out: &mut Vec<u8>| {
        let mut packed = Vec::new();
        plain_bytes += out.len() as u64;
        compress(hold_out.compression, out, &mut packed)?;
        out.clear();
        writer.write_all(&packed)
    };
    let mut first = kept + 1;
    while first <= world.products {
        let last = world.products.min(first + PRODUCTS_PER_PASS - 1);
        let batch = Batch::collect(world, first, last);
        for product in first..=last {
            batch.write_product(world, product, hold_out.all_types, &mut emitter);
            if (product - kept).is_multiple_of(hold_out.products_per_transaction) {
                emitter.out.push(b'\n');
                emitter.out.extend_from_slice(SEPARATOR.as_bytes());
                emitter.out.push(b'\n');
            }
            if emitter.out.len() >= BUFFER_BYTES {
                flush(&mut emitter.out).map_err(io_error("writing", path))?;
            }
        }
        first = last + 1;
    }
    if !emitter.out.is_empty() {
        flush(&mut emitter.out).map_err(io_error("writing", path))?;
    }
    writer.flush().map_err(io_error("writing", path))?;
    Ok((emitter.counts, plain_bytes))
}

/// The offers and reviews of a run of products, sorted by product and then by number.
struct Batch {
    offers: Vec<(u64, u64)>,
    reviews: Vec<(u64, u64, Author)>,
}

impl Batch {
    fn collect(world: &World, first: u64, last: u64) -> Batch {
        let mut offers: Vec<(u64, u64)> = (1..=world.offers())
            .map(|offer| (world.product_of_offer(offer), offer))
            .filter(|(product, _)| (first..=last).contains(product))
            .collect();
        offers.sort_unstable();
        let mut reviews = Vec::new();
        for author in (1..=world.sites.owners()).flat_map(|site| world.authors(site)) {
            for review in author.review_first..author.review_end {
                let product = world.product_of_review(review);
                if (first..=last).contains(&product) {
                    reviews.push((product, review, author));
                }
            }
        }
        reviews.sort_unstable_by_key(|(product, review, _)| (*product, *review));
        Batch { offers, reviews }
    }

    fn write_product(&self, world: &World, product: u64, all_types: bool, emitter: &mut Emitter) {
        let producer = world.producers.owner(product);
        write_product(world, producer, product, all_types, emitter);
        let start = self.offers.partition_point(|(of, _)| *of < product);
        for (_, offer) in self.offers[start..].iter().take_while(|o| o.0 == product) {
            let vendor = world.vendors.owner(*offer);
            write_offer(world, vendor, *offer, product, emitter);
        }
        let start = self.reviews.partition_point(|(of, ..)| *of < product);
        for (_, review, author) in self.reviews[start..].iter().take_while(|r| r.0 == product) {
            write_review(world, *author, *review, product, emitter);
        }
    }
}

/// Reads an update file block by block.
pub struct UpdateBlocks {
    reader: Box<dyn BufRead + Send>,
    path: PathBuf,
}

impl UpdateBlocks {
    /// Opens an update file, compressed or not as its name says.
    pub fn open(path: &Path) -> Result<UpdateBlocks, BsbmError> {
        let (_, compression) = Format::from_path(path)?;
        let file = File::open(path).map_err(io_error("opening", path))?;
        let reader = decompress(compression, file).map_err(io_error("opening", path))?;
        Ok(UpdateBlocks {
            reader,
            path: path.to_path_buf(),
        })
    }

    /// The triples of the next block, or nothing after the last one.
    pub fn next_block(&mut self) -> Result<Option<String>, BsbmError> {
        let mut block = String::new();
        loop {
            let start = block.len();
            let bytes = self
                .reader
                .read_line(&mut block)
                .map_err(io_error("reading", &self.path))?;
            let is_end = bytes == 0;
            if is_end || block[start..].trim_end() == SEPARATOR {
                block.truncate(start);
                let text = block.trim_end();
                block.truncate(text.len());
                return Ok((!is_end || !block.is_empty()).then_some(block));
            }
        }
    }
}
