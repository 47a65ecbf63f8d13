//! The triples of each resource: what a product, an offer or a review consists of.
//!
//! Every function writes one resource from its number alone, with streams keyed by that number.
//! Two points differ from the data of the original tools on purpose: reviews are of class
//! rev:Review in every format, and mailbox hashes always have 40 digits.

use crate::calendar::{Day, TODAY};
use crate::distribution::{COUNTRIES, bell};
use crate::emit::{Emitter, TextKind};
use crate::random::{Field, Stream};
use crate::vocabulary::{Class, Predicate, Publisher, Resource};
use crate::words::{given_names, title_words};
use crate::world::{Author, World};

const LABEL_WORDS: (u64, u64) = (1, 3);
const COMMENT_WORDS: (u64, u64) = (20, 50);
const PRODUCT_COMMENT_WORDS: (u64, u64) = (50, 150);
const TEXTUAL_WORDS: (u64, u64) = (3, 15);
const TITLE_WORDS: (u64, u64) = (4, 15);
const REVIEW_WORDS: (u64, u64) = (50, 200);

/// The institution that publishes both types and features, as in the original data.
const STANDARDS: Publisher = Publisher::Institution(1);

const NUMERIC: [Predicate; 6] = [
    Predicate::Numeric1,
    Predicate::Numeric2,
    Predicate::Numeric3,
    Predicate::Numeric4,
    Predicate::Numeric5,
    Predicate::Numeric6,
];
const TEXTUAL: [Predicate; 6] = [
    Predicate::Textual1,
    Predicate::Textual2,
    Predicate::Textual3,
    Predicate::Textual4,
    Predicate::Textual5,
    Predicate::Textual6,
];
const RATINGS: [Predicate; 4] = [
    Predicate::Rating1,
    Predicate::Rating2,
    Predicate::Rating3,
    Predicate::Rating4,
];

/// The presence, in percent, of properties 1 to 6 by property class, and the share of the class.
const PROPERTY_CLASSES: [(u64, [u64; 6]); 3] = [
    (40, [100, 100, 100, 100, 100, 0]),
    (20, [100, 100, 100, 50, 25, 0]),
    (40, [100, 100, 100, 0, 25, 50]),
];

/// A day in `from..to`.
fn day_between(stream: &mut Stream, from: Day, to: Day) -> Day {
    from.plus(stream.below(to.since(from) as u64) as i64)
}

fn standards_date(stream: &mut Stream) -> Day {
    day_between(stream, Day::new(2000, 6, 20), Day::new(2000, 7, 23))
}

/// A recent publication date: in the 97 days before today.
fn recent_date(stream: &mut Stream) -> Day {
    day_between(stream, TODAY.plus(-97), TODAY)
}

/// Writes a product type.
pub(crate) fn write_type(world: &World, number: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::TypeText, number);
    emitter.begin(Resource::ProductType(number), Class::ProductType, STANDARDS);
    match world.tree.parent(number) {
        None => {
            emitter.text(Predicate::Label, b"Thing", TextKind::Plain);
            let comment = b"The Product Type of all Products";
            emitter.text(Predicate::Comment, comment, TextKind::Plain);
        }
        Some(parent) => {
            write_label_and_comment(&mut stream, emitter);
            emitter.link(Predicate::SubClassOf, Resource::ProductType(parent));
        }
    }
    emitter.end(STANDARDS, standards_date(&mut stream));
}

/// Writes a product feature.
pub(crate) fn write_feature(world: &World, number: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::FeatureText, number);
    emitter.begin(
        Resource::ProductFeature(number),
        Class::ProductFeature,
        STANDARDS,
    );
    write_label_and_comment(&mut stream, emitter);
    emitter.end(STANDARDS, standards_date(&mut stream));
}

fn write_label_and_comment(stream: &mut Stream, emitter: &mut Emitter) {
    emitter.sentence(Predicate::Label, stream, LABEL_WORDS, TextKind::Plain);
    emitter.sentence(Predicate::Comment, stream, COMMENT_WORDS, TextKind::Plain);
}

/// Writes a producer.
pub(crate) fn write_producer(world: &World, number: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::ProducerText, number);
    let publisher = Publisher::Producer(number);
    emitter.begin(Resource::Producer(number), Class::Producer, publisher);
    write_label_and_comment(&mut stream, emitter);
    emitter.link(Predicate::Homepage, Resource::ProducerHomepage(number));
    let country = world.country(Field::ProducerCountry, number);
    emitter.link(Predicate::Country, Resource::Country(country));
    let date = day_between(&mut stream, Day::new(2000, 8, 20), Day::new(2005, 7, 23));
    emitter.end(publisher, date);
}

/// Writes a product, with the ancestors of its type if `all_types`.
pub(crate) fn write_product(
    world: &World,
    producer: u64,
    product: u64,
    all_types: bool,
    emitter: &mut Emitter,
) {
    let publisher = Publisher::Producer(producer);
    let subject = Resource::Product { producer, product };
    emitter.begin(subject, Class::Product, publisher);
    let leaf = world.leaf_of_product(product);
    let types_written = if all_types { usize::MAX } else { 1 };
    for number in world.tree.lineage(leaf).take(types_written) {
        emitter.product_type(number);
    }
    let mut label = Stream::new(world.seed, Field::ProductLabel, product);
    emitter.sentence(Predicate::Label, &mut label, LABEL_WORDS, TextKind::Plain);
    let mut stream = Stream::new(world.seed, Field::ProductComment, product);
    emitter.sentence(
        Predicate::Comment,
        &mut stream,
        PRODUCT_COMMENT_WORDS,
        TextKind::Plain,
    );
    emitter.link(Predicate::Producer, Resource::Producer(producer));
    write_properties(world, product, emitter);
    write_features(world, product, leaf, emitter);
    let date = day_between(&mut stream, Day::new(2000, 10, 20), Day::new(2007, 1, 23));
    emitter.end(publisher, date);
}

/// Visits the words of a product's label, by their index in the list of title words.
pub(crate) fn visit_label_words(world: &World, product: u64, visit: impl FnMut(usize)) {
    let mut stream = Stream::new(world.seed, Field::ProductLabel, product);
    let count = stream.between(LABEL_WORDS.0, LABEL_WORDS.1);
    title_words().sentence(&mut stream, count, visit);
}

fn write_properties(world: &World, product: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::ProductProperties, product);
    let mut percentile = stream.below(100);
    let mut presence = PROPERTY_CLASSES[0].1;
    for (share, of_class) in PROPERTY_CLASSES {
        presence = of_class;
        if percentile < share {
            break;
        }
        percentile -= share;
    }
    for (idx, percent) in presence.into_iter().enumerate() {
        if stream.percent(percent) {
            let value = bell(&mut stream, 0.0, 2.0, 2_000);
            emitter.integer(NUMERIC[idx], value);
        }
        if stream.percent(percent) {
            emitter.sentence(TEXTUAL[idx], &mut stream, TEXTUAL_WORDS, TextKind::Typed);
        }
    }
}

/// Each feature of the leaf and of its ancestors with a probability of a quarter.
fn write_features(world: &World, product: u64, leaf: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::ProductFeatures, product);
    let mut bits = 0;
    let mut pairs_left = 0;
    for number in world.tree.lineage(leaf) {
        for feature in world.tree.features_of(number) {
            if pairs_left == 0 {
                bits = stream.bits();
                pairs_left = 32;
            }
            if bits & 3 == 0 {
                emitter.link(Predicate::ProductFeature, Resource::ProductFeature(feature));
            }
            bits >>= 2;
            pairs_left -= 1;
        }
    }
}

/// Writes a vendor.
pub(crate) fn write_vendor(world: &World, number: u64, emitter: &mut Emitter) {
    let mut stream = Stream::new(world.seed, Field::VendorText, number);
    let publisher = Publisher::Vendor(number);
    emitter.begin(Resource::Vendor(number), Class::Vendor, publisher);
    write_label_and_comment(&mut stream, emitter);
    emitter.link(Predicate::Homepage, Resource::VendorHomepage(number));
    let country = world.country(Field::VendorCountry, number);
    emitter.link(Predicate::Country, Resource::Country(country));
    emitter.end(publisher, recent_date(&mut stream));
}

/// Writes an offer of `product`, which is [`World::product_of_offer`].
pub(crate) fn write_offer(
    world: &World,
    vendor: u64,
    offer: u64,
    product: u64,
    emitter: &mut Emitter,
) {
    let mut stream = Stream::new(world.seed, Field::OfferValues, offer);
    let publisher = Publisher::Vendor(vendor);
    let producer = world.producers.owner(product);
    let published = recent_date(&mut stream);
    emitter.begin(Resource::Offer { vendor, offer }, Class::Offer, publisher);
    emitter.link(Predicate::Product, Resource::Product { producer, product });
    emitter.link(Predicate::Vendor, Resource::Vendor(vendor));
    emitter.price(Predicate::Price, stream.between(500, 999_999));
    let before = stream.between(0, 90) as i64;
    emitter.date_time(Predicate::ValidFrom, published.plus(-before));
    let after = stream.between(7, 90) as i64;
    emitter.date_time(Predicate::ValidTo, published.plus(after));
    let days = bell(&mut stream, 2.0, 14.2, 21);
    emitter.integer(Predicate::DeliveryDays, days);
    emitter.link(
        Predicate::OfferWebpage,
        Resource::OfferWebpage { vendor, offer },
    );
    emitter.end(publisher, published);
}

/// Writes a person.
pub(crate) fn write_person(world: &World, author: Author, emitter: &mut Emitter) {
    let Author { site, person, .. } = author;
    let mut stream = Stream::new(world.seed, Field::PersonValues, person);
    let publisher = Publisher::RatingSite(site);
    emitter.begin(Resource::Person { site, person }, Class::Person, publisher);
    let name = given_names().pick(&mut stream);
    emitter.text(Predicate::Name, name.as_bytes(), TextKind::Plain);
    emitter.text(
        Predicate::MailboxHash,
        &mailbox_hash(&mut stream),
        TextKind::Plain,
    );
    let country = world.country(Field::PersonCountry, person);
    emitter.link(Predicate::Country, Resource::Country(country));
    // After today, as in the original data.
    let date = day_between(&mut stream, TODAY, Day::new(2008, 9, 23));
    emitter.end(publisher, date);
}

fn mailbox_hash(stream: &mut Stream) -> [u8; 40] {
    let mut digits = [0; 40];
    for chunk in digits.chunks_mut(16) {
        let mut bits = stream.bits();
        for digit in chunk {
            *digit = b"0123456789abcdef"[(bits & 15) as usize];
            bits >>= 4;
        }
    }
    digits
}

/// Writes a review of `product`, which is [`World::product_of_review`], by `author`.
pub(crate) fn write_review(
    world: &World,
    author: Author,
    review: u64,
    product: u64,
    emitter: &mut Emitter,
) {
    let Author { site, person, .. } = author;
    let mut stream = Stream::new(world.seed, Field::ReviewValues, review);
    let publisher = Publisher::RatingSite(site);
    let producer = world.producers.owner(product);
    emitter.begin(Resource::Review { site, review }, Class::Review, publisher);
    emitter.link(
        Predicate::ReviewFor,
        Resource::Product { producer, product },
    );
    emitter.link(Predicate::Reviewer, Resource::Person { site, person });
    let written = day_between(&mut stream, TODAY.plus(-365), TODAY);
    emitter.date_time(Predicate::ReviewDate, written);
    emitter.sentence(Predicate::Title, &mut stream, TITLE_WORDS, TextKind::Plain);
    let (_, _, language) = COUNTRIES[world.country(Field::PersonCountry, person)];
    emitter.sentence(
        Predicate::Text,
        &mut stream,
        REVIEW_WORDS,
        TextKind::Tagged(language),
    );
    for rating in RATINGS {
        if stream.percent(70) {
            emitter.integer(rating, stream.between(1, 10));
        }
    }
    let published = day_between(&mut stream, written, TODAY);
    emitter.end(publisher, published);
}
