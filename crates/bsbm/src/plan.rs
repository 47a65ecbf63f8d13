//! Cuts a data set into work units, in the order in which their text is written.
//!
//! A unit is a run of resources that takes a few megabytes as N-Triples: large enough to hide the
//! hand-over between threads, small enough that a dozen of them in flight stay cheap. Units
//! depend on the world alone, never on the number of threads; so do the borders of the output
//! files, which fall between units at equal estimated weight.

use crate::emit::Emitter;
use crate::resources::{
    write_feature, write_offer, write_person, write_producer, write_product, write_review,
    write_type, write_vendor,
};
use crate::world::{Author, World};
use std::ops::RangeInclusive;

const STANDARDS_PER_UNIT: u64 = 3_000;
const PRODUCTS_PER_UNIT: u64 = 400;
const OFFERS_PER_UNIT: u64 = 1_200;
const REVIEWS_PER_UNIT: u64 = 800;

/// Typical bytes of a type or feature, a product, an offer, a review with its share of the
/// person, as N-Triples.
const WEIGHTS: [u64; 4] = [1_150, 7_700, 2_750, 3_600];

/// A run of resources, written by one thread in one go.
pub(crate) enum Unit {
    /// Product types.
    Types(RangeInclusive<u64>),
    /// Product features.
    Features(RangeInclusive<u64>),
    /// Producers, each with its products.
    Producers(RangeInclusive<u64>),
    /// Offers of one vendor, with the vendor before its first offer.
    Offers(u64, RangeInclusive<u64>),
    /// Persons of one rating site, each with her reviews.
    Authors(Vec<Author>),
}

/// What to leave out or add, besides the world itself.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    /// Whether products are said to be of all ancestors of their type.
    pub(crate) all_types: bool,
    /// The last product that is written; later ones are left out with their offers and reviews.
    pub(crate) last_product: u64,
}

/// All units of a world, in order.
pub(crate) fn units(world: &World) -> impl Iterator<Item = Unit> {
    let types = chunks(1..=world.tree.types(), STANDARDS_PER_UNIT).map(Unit::Types);
    let features = chunks(1..=world.tree.features(), STANDARDS_PER_UNIT).map(Unit::Features);
    let offers = (1..=world.vendors.owners()).flat_map(move |vendor| {
        chunks(world.vendors.members(vendor), OFFERS_PER_UNIT)
            .map(move |range| Unit::Offers(vendor, range))
    });
    let authors = (1..=world.sites.owners()).flat_map(move |site| author_runs(world, site));
    types
        .chain(features)
        .chain(producer_runs(world))
        .chain(offers)
        .chain(authors.map(Unit::Authors))
}

fn chunks(range: RangeInclusive<u64>, size: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let (first, last) = range.into_inner();
    (first..=last)
        .step_by(size as usize)
        .map(move |start| start..=last.min(start + size - 1))
}

fn producer_runs(world: &World) -> impl Iterator<Item = Unit> {
    let mut next = 1;
    std::iter::from_fn(move || {
        let first = next;
        let mut products = 0;
        while next <= world.producers.owners() && products < PRODUCTS_PER_UNIT {
            let members = world.producers.members(next);
            products += members.end() - members.start() + 1;
            next += 1;
        }
        (next > first).then(|| Unit::Producers(first..=next - 1))
    })
}

fn author_runs(world: &World, site: u64) -> impl Iterator<Item = Vec<Author>> {
    let mut authors = world.authors(site);
    std::iter::from_fn(move || {
        let mut run = Vec::new();
        let mut reviews = 0;
        while reviews < REVIEWS_PER_UNIT {
            let Some(author) = authors.next() else { break };
            reviews += author.review_end - author.review_first;
            run.push(author);
        }
        (!run.is_empty()).then_some(run)
    })
}

fn count(range: &RangeInclusive<u64>) -> u64 {
    range.end() - range.start() + 1
}

impl Unit {
    /// The estimated bytes of the unit.
    fn weight(&self, world: &World) -> u64 {
        match self {
            Unit::Types(range) | Unit::Features(range) => WEIGHTS[0] * count(range),
            Unit::Producers(range) => {
                let first = *world.producers.members(*range.start()).start();
                let last = *world.producers.members(*range.end()).end();
                WEIGHTS[1] * (last - first + 1)
            }
            Unit::Offers(_, range) => WEIGHTS[2] * count(range),
            Unit::Authors(run) => {
                let reviews: u64 = run.iter().map(|a| a.review_end - a.review_first).sum();
                WEIGHTS[3] * reviews
            }
        }
    }

    /// Writes the resources of the unit.
    pub(crate) fn write(&self, world: &World, content: Content, emitter: &mut Emitter) {
        match self {
            Unit::Types(range) => {
                range.clone().for_each(|n| write_type(world, n, emitter));
            }
            Unit::Features(range) => {
                range.clone().for_each(|n| write_feature(world, n, emitter));
            }
            Unit::Producers(range) => {
                for producer in range.clone() {
                    write_producer(world, producer, emitter);
                    for product in world.producers.members(producer) {
                        if product <= content.last_product {
                            write_product(world, producer, product, content.all_types, emitter);
                        }
                    }
                }
            }
            Unit::Offers(vendor, range) => {
                if range.start() == world.vendors.members(*vendor).start() {
                    write_vendor(world, *vendor, emitter);
                }
                for offer in range.clone() {
                    let product = world.product_of_offer(offer);
                    if product <= content.last_product {
                        write_offer(world, *vendor, offer, product, emitter);
                    }
                }
            }
            Unit::Authors(run) => {
                for author in run {
                    write_person(world, *author, emitter);
                    for review in author.review_first..author.review_end {
                        let product = world.product_of_review(review);
                        if product <= content.last_product {
                            write_review(world, *author, review, product, emitter);
                        }
                    }
                }
            }
        }
    }
}

/// Assigns units, taken in order, to files of about equal size.
pub(crate) struct FileCutter {
    files: usize,
    weight_total: u64,
    weight_before: u64,
}

impl FileCutter {
    /// A cutter for `files` files.
    pub(crate) fn new(world: &World, files: usize) -> FileCutter {
        let standards = world.tree.types() + world.tree.features();
        let weight_total = WEIGHTS[0] * standards
            + WEIGHTS[1] * world.products
            + WEIGHTS[2] * world.offers()
            + WEIGHTS[3] * world.reviews();
        FileCutter {
            files,
            weight_total,
            weight_before: 0,
        }
    }

    /// The index of the file that the next unit belongs to; it never decreases.
    pub(crate) fn file_of(&mut self, world: &World, unit: &Unit) -> usize {
        let share = u128::from(self.weight_before) * self.files as u128;
        let file = (share / u128::from(self.weight_total)) as usize;
        self.weight_before += unit.weight(world);
        file.min(self.files - 1)
    }
}
