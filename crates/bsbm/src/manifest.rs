//! What was generated, in numbers: the content of `manifest.json`.

use crate::emit::Counts;
use crate::vocabulary::{Class, Compression, Format, Predicate};
use crate::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the JSON layout.
pub(crate) const MANIFEST_VERSION: u32 = 1;

/// The exact content of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this layout.
    pub version: u32,
    /// The program and version that made the data.
    pub generator: String,
    /// The number of products, which is the scale factor.
    pub products: u64,
    /// The seed.
    pub seed: u64,
    /// Whether products have the types above their leaf type.
    pub forward_chaining: bool,
    /// The syntax.
    pub format: Format,
    /// The compression.
    pub compression: Compression,
    /// Children per product type, by level from the root.
    pub branching: Vec<u64>,
    /// The number of product types.
    pub product_types: u64,
    /// The number of product features.
    pub product_features: u64,
    /// The number of producers.
    pub producers: u64,
    /// The number of vendors.
    pub vendors: u64,
    /// The number of offers, in the data set and the update file together.
    pub offers: u64,
    /// The number of rating sites.
    pub rating_sites: u64,
    /// The number of persons.
    pub persons: u64,
    /// The number of reviews, in the data set and the update file together.
    pub reviews: u64,
    /// What is in the data set, without the update file.
    pub main: PartCounts,
    /// The files of the data set.
    pub files: Vec<OutputFile>,
    /// What is in the update file, if there is one.
    pub update: Option<UpdateSummary>,
}

/// Exact numbers of triples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartCounts {
    /// All triples.
    pub triples: u64,
    /// Instances by the IRI of their class.
    pub classes: BTreeMap<String, u64>,
    /// Triples that give a product one of the product types.
    pub product_type_links: u64,
    /// Triples by the IRI of their predicate.
    pub predicates: BTreeMap<String, u64>,
}

/// A file of the data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The path, or `-` for a stream.
    pub name: String,
    /// The size.
    pub bytes: u64,
    /// The size before compression.
    pub plain_bytes: u64,
    /// The triples in it.
    pub triples: u64,
}

/// The update file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateSummary {
    /// The path, or `-` for a stream.
    pub name: String,
    /// The number of blocks.
    pub transactions: u64,
    /// The products in each block.
    pub products_per_transaction: u64,
    /// The size before compression.
    pub plain_bytes: u64,
    /// What is in it.
    pub counts: PartCounts,
}

impl PartCounts {
    pub(crate) fn new(counts: &Counts) -> PartCounts {
        PartCounts {
            triples: counts.triples(),
            classes: by_iri(&Class::BRACKETED, &counts.classes),
            product_type_links: counts.product_type_links,
            predicates: by_iri(&Predicate::BRACKETED, &counts.predicates),
        }
    }
}

fn by_iri(bracketed: &[&str], counts: &[u64]) -> BTreeMap<String, u64> {
    let iris = bracketed
        .iter()
        .map(|text| text[1..text.len() - 1].to_owned());
    iris.zip(counts.iter().copied()).collect()
}

impl Manifest {
    /// A manifest with the counts that follow from the world; the rest is given.
    pub(crate) fn new(
        world: &World,
        forward_chaining: bool,
        format: Format,
        compression: Compression,
        main: &Counts,
    ) -> Manifest {
        Manifest {
            version: MANIFEST_VERSION,
            generator: concat!("basalt-bsbm ", env!("CARGO_PKG_VERSION")).to_owned(),
            products: world.products,
            seed: world.seed,
            forward_chaining,
            format,
            compression,
            branching: world.tree.branching.clone(),
            product_types: world.tree.types(),
            product_features: world.tree.features(),
            producers: world.producers.owners(),
            vendors: world.vendors.owners(),
            offers: world.offers(),
            rating_sites: world.sites.owners(),
            persons: world.persons(),
            reviews: world.reviews(),
            main: PartCounts::new(main),
            files: Vec::new(),
            update: None,
        }
    }

    /// The number of triples of the data set, without those of the update file.
    pub fn triples(&self) -> u64 {
        self.main.triples
    }
}
