//! The skeleton of a data set: how many of everything there is, and who belongs to whom.
//!
//! A [`World`] follows from (products, seed) alone and is small: one entry per type, producer,
//! vendor and rating site. With it, any resource can be written without looking at another one
//! (see `resources`). Building it walks over the persons once, at some tens of nanoseconds each.

use crate::BsbmError;
use crate::distribution::{bell, country, group_size_from_zero};
use crate::groups::Groups;
use crate::random::{Field, Stream};
use crate::tree::TypeTree;

const PRODUCTS_PER_PRODUCER: u64 = 50;
const OFFERS_PER_PRODUCT: u64 = 20;
const OFFERS_PER_VENDOR: u64 = 2_000;
const REVIEWS_PER_PRODUCT: u64 = 10;
const REVIEWS_PER_SITE: u64 = 10_000;
const REVIEWS_PER_PERSON: u64 = 20;
/// Keeps every product of counts and weights far inside 64 bits.
const PRODUCTS_MAX: u64 = 1 << 40;

/// The counts and owners of a data set.
pub(crate) struct World {
    /// The number of products.
    pub(crate) products: u64,
    /// The seed of all random numbers.
    pub(crate) seed: u64,
    /// Product types and features.
    pub(crate) tree: TypeTree,
    /// Which producer owns which products.
    pub(crate) producers: Groups,
    /// Which vendor owns which offers.
    pub(crate) vendors: Groups,
    /// Which rating site owns which reviews.
    pub(crate) sites: Groups,
    /// The last person of each rating site; entry 0 belongs to no site and is 0.
    site_last_person: Vec<u64>,
}

/// A person and the reviews that she wrote, `review_first..review_end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    pub(crate) site: u64,
    pub(crate) person: u64,
    pub(crate) review_first: u64,
    pub(crate) review_end: u64,
}

impl World {
    /// The world of `products` products.
    pub(crate) fn new(products: u64, seed: u64) -> Result<World, BsbmError> {
        if products == 0 {
            return Err(BsbmError::NoProducts);
        }
        if products > PRODUCTS_MAX {
            return Err(BsbmError::TooManyProducts {
                products,
                max: PRODUCTS_MAX,
            });
        }
        let offers = products * OFFERS_PER_PRODUCT;
        let reviews = products * REVIEWS_PER_PRODUCT;
        let mut world = World {
            products,
            seed,
            tree: TypeTree::new(products, seed),
            producers: Groups::new(seed, Field::ProducerSize, PRODUCTS_PER_PRODUCER, products),
            vendors: Groups::new(seed, Field::VendorSize, OFFERS_PER_VENDOR, offers),
            sites: Groups::new(seed, Field::SiteSize, REVIEWS_PER_SITE, reviews),
            site_last_person: vec![0],
        };
        for site in 1..=world.sites.owners() {
            let last = world.authors(site).last().map_or(0, |author| author.person);
            world.site_last_person.push(last);
        }
        Ok(world)
    }

    /// The number of offers.
    pub(crate) fn offers(&self) -> u64 {
        self.products * OFFERS_PER_PRODUCT
    }

    /// The number of reviews.
    pub(crate) fn reviews(&self) -> u64 {
        self.products * REVIEWS_PER_PRODUCT
    }

    /// The number of persons.
    pub(crate) fn persons(&self) -> u64 {
        self.site_last_person[self.site_last_person.len() - 1]
    }

    /// The persons of a rating site with their reviews, in order. The persons of all sites before
    /// it must be known.
    pub(crate) fn authors(&self, site: u64) -> impl Iterator<Item = Author> {
        let reviews = self.sites.members(site);
        let end = reviews.end() + 1;
        let mut review = *reviews.start();
        let mut person = self.site_last_person[site as usize - 1];
        std::iter::from_fn(move || {
            if review == end {
                return None;
            }
            person += 1;
            let mut stream = Stream::new(self.seed, Field::PersonSize, person);
            let review_first = review;
            review = end.min(review + group_size_from_zero(&mut stream, REVIEWS_PER_PERSON));
            Some(Author {
                site,
                person,
                review_first,
                review_end: review,
            })
        })
    }

    /// The leaf type of a product.
    pub(crate) fn leaf_of_product(&self, product: u64) -> u64 {
        let mut stream = Stream::new(self.seed, Field::ProductLeaf, product);
        self.tree
            .leaf(bell(&mut stream, 0.0, 2.0, self.tree.leaves()))
    }

    /// The product that an offer offers.
    pub(crate) fn product_of_offer(&self, offer: u64) -> u64 {
        let mut stream = Stream::new(self.seed, Field::OfferProduct, offer);
        bell(&mut stream, 2.0, 4.0, self.products)
    }

    /// The product that a review is about.
    pub(crate) fn product_of_review(&self, review: u64) -> u64 {
        let mut stream = Stream::new(self.seed, Field::ReviewProduct, review);
        bell(&mut stream, 2.0, 4.0, self.products)
    }

    /// The country of a producer, vendor or person.
    pub(crate) fn country(&self, field: Field, number: u64) -> usize {
        country(&mut Stream::new(self.seed, field, number))
    }
}
