//! Query parameters: what they are drawn from, and the draws.
//!
//! A [`ParameterPool`] holds the facts about a data set that parameters need: the tree of types
//! with its features, the owners of products, offers and reviews, the words of product labels. It
//! is read from the data directory of the generator, or made again from the number of products
//! and the seed. Each draw depends on (seed, mix, position) alone, so clients, warm-up and
//! left-out queries do not disturb one another.
//! Invariant: after [`ParameterPool::open`] every draw succeeds; the file is checked for that.

use crate::BsbmError;
use crate::calendar::TODAY;
use crate::distribution::country;
use crate::draw::{Draw, Parameters, Value};
use crate::outputs::io_error;
use crate::queries::{Kind, UseCase, slots};
use crate::random::{Field, Stream};
use crate::resources::visit_label_words;
use crate::vocabulary::Resource;
use crate::words::title_words;
use crate::world::World;
use serde::{Deserialize, Serialize};
use std::path::Path;

const FILE_NAME: &str = "parameters.json";
const FILE_VERSION: u32 = 1;
/// Numeric properties are compared with a number up to this one.
const NUMBER_MAX: u64 = 500;
/// Months of four weeks start up to this many days after the first day of reviews.
const MONTH_START_DAYS_MAX: u64 = 309;
const MONTH_DAYS: i64 = 28;
/// The most features that a query takes.
const FEATURES_MAX: usize = 3;
/// No feature has a number beyond this one, so sums of counts cannot overflow.
const NUMBERS_MAX: u64 = 1 << 40;

/// The facts that query parameters are drawn from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterPool {
    version: u32,
    /// The number of products, which is the scale factor.
    products: u64,
    /// The seed of the data set.
    seed: u64,
    /// The date on which the queries are asked.
    today: String,
    /// The highest type number of each level.
    level_last_type: Vec<u64>,
    /// The types, by number from 1.
    types: Vec<TypeEntry>,
    /// The last product of each producer, after a leading 0.
    producer_last_product: Vec<u64>,
    /// The last offer of each vendor, after a leading 0.
    vendor_last_offer: Vec<u64>,
    /// The last review of each rating site, after a leading 0.
    site_last_review: Vec<u64>,
    /// The words of product labels with the number of times they are used.
    label_words: Vec<(String, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeEntry {
    /// The number of the parent; 0 for the root.
    parent: u64,
    /// The first feature that the type owns.
    first_feature: u64,
    /// The last one, less than the first if there is none.
    last_feature: u64,
}

impl ParameterPool {
    /// Reads the parameters from a data directory.
    pub fn open(data_dir: &Path) -> Result<ParameterPool, BsbmError> {
        let path = data_dir.join(FILE_NAME);
        let text = std::fs::read(&path).map_err(io_error("reading", &path))?;
        let bad = |reason: String| BsbmError::BadParameters {
            path: path.clone(),
            reason,
        };
        let pool: ParameterPool =
            serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        pool.check().map_err(|reason| bad(reason.to_owned()))?;
        Ok(pool)
    }

    /// Makes the parameters of a data set again, without any file.
    pub fn from_options(products: u64, seed: u64) -> Result<ParameterPool, BsbmError> {
        World::new(products, seed).map(|world| ParameterPool::of_world(&world))
    }

    pub(crate) fn of_world(world: &World) -> ParameterPool {
        let types = (1..=world.tree.types()).map(|number| {
            let features = world.tree.features_of(number);
            TypeEntry {
                parent: world.tree.parent(number).unwrap_or(0),
                first_feature: *features.start(),
                last_feature: *features.end(),
            }
        });
        ParameterPool {
            version: FILE_VERSION,
            products: world.products,
            seed: world.seed,
            today: TODAY.text(),
            level_last_type: world.tree.level_last.clone(),
            types: types.collect(),
            producer_last_product: world.producers.limits().to_vec(),
            vendor_last_offer: world.vendors.limits().to_vec(),
            site_last_review: world.sites.limits().to_vec(),
            label_words: label_words(world),
        }
    }

    /// Writes the parameters to a data directory.
    pub(crate) fn save(&self, data_dir: &Path) -> Result<(), BsbmError> {
        let path = data_dir.join(FILE_NAME);
        let text = serde_json::to_vec(self).map_err(|source| BsbmError::Json {
            path: path.clone(),
            source,
        })?;
        std::fs::write(&path, text).map_err(io_error("writing", &path))
    }

    /// The number of products, which is the scale factor.
    pub fn products(&self) -> u64 {
        self.products
    }

    /// The seed of the data set.
    pub fn data_seed(&self) -> u64 {
        self.seed
    }

    /// The number of levels below the root of the tree of types.
    pub fn depth(&self) -> usize {
        self.level_last_type.len() - 1
    }

    /// Draws the parameters of a query; nothing if there is no such number.
    pub fn draw(&self, use_case: UseCase, number: u8, draw: Draw) -> Option<Parameters> {
        self.draw_values(use_case, number, draw, None)
    }

    /// Draws the parameters of a query, with the product type from the given level (the root is
    /// 0, the leaves are [`ParameterPool::depth`]) if the query takes one of any level.
    pub fn draw_at_level(
        &self,
        use_case: UseCase,
        number: u8,
        draw: Draw,
        level: usize,
    ) -> Option<Parameters> {
        self.draw_values(use_case, number, draw, Some(level))
    }

    /// Draws a flight of parameters: a product type of the given level, then a random child of it,
    /// and so on down to a leaf; all else stays. A single element if the query takes no such type.
    pub fn drill_down(
        &self,
        use_case: UseCase,
        number: u8,
        draw: Draw,
        level: usize,
    ) -> Option<Vec<Parameters>> {
        let first = self.draw_at_level(use_case, number, draw, level)?;
        let mut flight = vec![first.clone()];
        if let Some((mut level, mut number)) = first.product_type() {
            let mut stream = parameter_stream(draw, Purpose::Flight);
            while level < self.depth() {
                // The parents ascend with the type numbers, so children are consecutive.
                let start = self.types.partition_point(|entry| entry.parent < number);
                let end = self.types.partition_point(|entry| entry.parent <= number);
                number = stream.between(start as u64 + 1, end as u64);
                level += 1;
                let mut next = first.clone();
                next.set_product_type(level, number);
                flight.push(next);
            }
        }
        Some(flight)
    }

    fn draw_values(
        &self,
        use_case: UseCase,
        number: u8,
        draw: Draw,
        wanted_level: Option<usize>,
    ) -> Option<Parameters> {
        let mut stream = parameter_stream(draw, Purpose::Query);
        let mut parameters = Parameters::default();
        let mut leaf = 0;
        let mut features = Vec::new();
        let month_start = TODAY.plus(-365 - 1);
        let month_offset = stream.between(0, MONTH_START_DAYS_MAX) as i64;
        for (name, kind) in slots(use_case, number)? {
            let value = match kind {
                Kind::LeafType => {
                    let depth = self.depth();
                    leaf = stream.between(self.level_last_type[depth - 1] + 1, self.type_count());
                    iri(Resource::ProductType(leaf))
                }
                Kind::TypeFromLevel(lowest) => {
                    let drawn = stream.between(*lowest as u64, self.depth() as u64) as usize;
                    let level = wanted_level.unwrap_or(drawn).min(self.depth());
                    let number = self.type_of_level(&mut stream, level);
                    parameters.set_product_type(level, number);
                    continue;
                }
                Kind::Feature => {
                    let feature = self.new_feature(&mut stream, leaf, &features);
                    features.push(feature);
                    iri(Resource::ProductFeature(feature))
                }
                Kind::Number => Value::Integer(stream.between(1, NUMBER_MAX)),
                Kind::Country => iri(Resource::Country(country(&mut stream))),
                Kind::Today => Value::DateTime(format!("{}T00:00:00", self.today)),
                Kind::Month(months) => {
                    let days = month_offset + MONTH_DAYS * *months as i64;
                    Value::Date(month_start.plus(days).text())
                }
                Kind::Word => {
                    let idx = stream.below(self.label_words.len() as u64);
                    Value::Text(self.label_words[idx as usize].0.clone())
                }
                Kind::Product | Kind::Offer | Kind::Review | Kind::Producer => {
                    self.instance(*kind, &mut stream)
                }
            };
            parameters.set(name, value);
        }
        Some(parameters)
    }

    fn type_count(&self) -> u64 {
        self.types.len() as u64
    }

    fn instance(&self, kind: Kind, stream: &mut Stream) -> Value {
        let mut pick = |limits: &[u64]| {
            let number = stream.between(1, limits[limits.len() - 1]);
            let owner = limits.partition_point(|last| *last < number) as u64;
            (owner, number)
        };
        iri(match kind {
            Kind::Offer => {
                let (vendor, offer) = pick(&self.vendor_last_offer);
                Resource::Offer { vendor, offer }
            }
            Kind::Review => {
                let (site, review) = pick(&self.site_last_review);
                Resource::Review { site, review }
            }
            Kind::Producer => {
                let producers = self.producer_last_product.len() as u64 - 1;
                Resource::Producer(stream.between(1, producers))
            }
            _ => {
                let (producer, product) = pick(&self.producer_last_product);
                Resource::Product { producer, product }
            }
        })
    }

    fn type_of_level(&self, stream: &mut Stream, level: usize) -> u64 {
        let before = match level {
            0 => 0,
            _ => self.level_last_type[level - 1],
        };
        stream.between(before + 1, self.level_last_type[level])
    }

    /// A feature of a type or its ancestors that is not among those already drawn.
    fn new_feature(&self, stream: &mut Stream, leaf: u64, drawn: &[u64]) -> u64 {
        let count: u64 = self.lineage(leaf).map(TypeEntry::feature_count).sum();
        // Termination: every leaf has more features than a query takes.
        loop {
            let idx = stream.below(count);
            let mut features = self
                .lineage(leaf)
                .flat_map(|entry| entry.first_feature..=entry.last_feature);
            match features.nth(idx as usize) {
                Some(feature) if !drawn.contains(&feature) => return feature,
                _ => {}
            }
        }
    }

    fn lineage(&self, number: u64) -> impl Iterator<Item = &TypeEntry> {
        let entry = |number: u64| number.checked_sub(1).map(|idx| &self.types[idx as usize]);
        std::iter::successors(entry(number), move |below| entry(below.parent))
    }

    /// Checks all that the draws rely on; returns what is wrong.
    fn check(&self) -> Result<(), &'static str> {
        if self.version != FILE_VERSION {
            return Err("the version is not known");
        }
        if self.today != TODAY.text() {
            return Err("the date of today differs from the one of the queries");
        }
        if self.label_words.is_empty() {
            return Err("there are no label words");
        }
        for limits in [
            &self.producer_last_product,
            &self.vendor_last_offer,
            &self.site_last_review,
        ] {
            if limits.first() != Some(&0) || limits.len() < 2 || !is_ascending(limits) {
                return Err("the last numbers of the owners do not ascend from 0");
            }
        }
        if self.producer_last_product.last() != Some(&self.products) {
            return Err("the producers do not own all products");
        }
        let levels = &self.level_last_type;
        let types = self.type_count();
        if levels.first() != Some(&1) || levels.len() < 2 || !is_ascending(levels) {
            return Err("the levels do not ascend from 1");
        }
        if levels.last() != Some(&types) {
            return Err("the levels do not hold all types");
        }
        self.check_types()
    }

    fn check_types(&self) -> Result<(), &'static str> {
        let mut parent_before = 0;
        for (idx, entry) in self.types.iter().enumerate() {
            let is_root = idx == 0;
            if (entry.parent == 0) != is_root || entry.parent > idx as u64 {
                return Err("a type has no parent before it");
            }
            if entry.parent < parent_before {
                return Err("the parents of the types do not ascend");
            }
            parent_before = entry.parent;
            let is_empty = entry.last_feature < entry.first_feature;
            if is_empty != is_root || entry.last_feature > NUMBERS_MAX {
                return Err("a type has no features of its own");
            }
        }
        let depth = self.depth();
        for level in 0..depth {
            let first_child = self.level_last_type[level] + 1;
            let last_child = self.level_last_type[level + 1];
            let first_parent = if level == 0 {
                1
            } else {
                self.level_last_type[level - 1] + 1
            };
            for parent in first_parent..first_child {
                let start = self.types.partition_point(|entry| entry.parent < parent);
                let end = self.types.partition_point(|entry| entry.parent <= parent);
                if start == end || (start as u64) < first_child - 1 || end as u64 > last_child {
                    return Err("a type above the leaves has no children on the next level");
                }
            }
        }
        let leaves = self.level_last_type[depth - 1] + 1..=self.type_count();
        for leaf in leaves {
            let count: u64 = self.lineage(leaf).map(TypeEntry::feature_count).sum();
            if count <= FEATURES_MAX as u64 {
                return Err("a leaf has too few features");
            }
        }
        Ok(())
    }
}

impl TypeEntry {
    fn feature_count(&self) -> u64 {
        (self.last_feature + 1).saturating_sub(self.first_feature)
    }
}

/// What random numbers of an execution are for, besides its own parameters.
enum Purpose {
    Query = 0,
    Flight = 1,
}

fn parameter_stream(draw: Draw, purpose: Purpose) -> Stream {
    let position = u64::from(draw.position) << 1 | purpose as u64;
    let entity = (draw.mix as u64)
        .wrapping_mul(1 << 33)
        .wrapping_add(position);
    Stream::new(draw.seed, Field::QueryParameters, entity)
}

fn is_ascending(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

fn label_words(world: &World) -> Vec<(String, u64)> {
    let words = title_words();
    let mut uses = vec![0u64; words.len()];
    for product in 1..=world.products {
        visit_label_words(world, product, |idx| uses[idx] += 1);
    }
    let used = uses.into_iter().enumerate().filter(|(_, uses)| *uses > 0);
    used.map(|(idx, uses)| (words.get(idx).to_owned(), uses))
        .collect()
}

fn iri(resource: Resource) -> Value {
    Value::Iri(resource.text())
}
