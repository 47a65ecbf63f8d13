//! The names of BSBM: namespaces, predicates, classes and the IRIs of instances.
//!
//! Every token that the serialisers write often is a constant here, ready with its brackets and
//! spaces, in both spellings (full IRI and prefixed name). Turtle names instances relative to the
//! instance namespace, which is the base IRI of every Turtle file: no prefix per publisher.

use crate::BsbmError;
use crate::distribution::COUNTRIES;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The syntax of a data set; all three hold the same triples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// One triple a line.
    NTriples,
    /// The same triples, each in the graph of its publisher.
    NQuads,
    /// Grouped by subject, with prefixes and a base IRI.
    Turtle,
}

/// How the output is compressed: as a sequence of independent members or frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip members.
    Gzip,
    /// Zstandard frames.
    Zstd,
}

impl Format {
    /// The format and compression that a file name says, as in `data.nt.gz`.
    pub fn from_path(path: &Path) -> Result<(Format, Compression), BsbmError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (stem, compression) = if let Some(stem) = name.strip_suffix(".gz") {
            (stem, Compression::Gzip)
        } else if let Some(stem) = name.strip_suffix(".zst") {
            (stem, Compression::Zstd)
        } else {
            (&*name, Compression::None)
        };
        let format = match stem.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("nt") => Format::NTriples,
            Some("nq") => Format::NQuads,
            Some("ttl") => Format::Turtle,
            _ => {
                return Err(BsbmError::UnknownFormat {
                    name: name.into_owned(),
                });
            }
        };
        Ok((format, compression))
    }
}

macro_rules! namespace {
    (bsbm) => {
        "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/"
    };
    (inst) => {
        "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/"
    };
    (rdf) => {
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    };
    (rdfs) => {
        "http://www.w3.org/2000/01/rdf-schema#"
    };
    (xsd) => {
        "http://www.w3.org/2001/XMLSchema#"
    };
    (dc) => {
        "http://purl.org/dc/elements/1.1/"
    };
    (foaf) => {
        "http://xmlns.com/foaf/0.1/"
    };
    (rev) => {
        "http://purl.org/stuff/rev#"
    };
    (countries) => {
        "http://downlode.org/rdf/iso-3166/countries#"
    };
}

/// The namespace of instances.
pub(crate) const INSTANCES: &str = namespace!(inst);

const COUNTRY_NAMESPACE: &str = namespace!(countries);

macro_rules! prefix_line {
    ($name:ident) => {
        concat!(
            "@prefix ",
            stringify!($name),
            ": <",
            namespace!($name),
            "> .\n"
        )
    };
}

/// The first lines of every Turtle file.
pub(crate) const TURTLE_HEAD: &str = concat!(
    "@base <",
    namespace!(inst),
    "> .\n",
    prefix_line!(bsbm),
    prefix_line!(rdf),
    prefix_line!(rdfs),
    prefix_line!(xsd),
    prefix_line!(dc),
    prefix_line!(foaf),
    prefix_line!(rev),
    prefix_line!(countries),
    "\n"
);

macro_rules! names {
    ($(#[$doc:meta])* $kind:ident, $count:ident: $($variant:ident = $prefix:ident $name:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind { $($variant,)* }

        impl $kind {
            /// The full IRIs in brackets, by the number of the variant.
            pub(crate) const BRACKETED: [&str; $count] =
                [$(concat!("<", namespace!($prefix), $name, ">"),)*];

            /// The full IRI, in brackets.
            pub(crate) const fn bracketed(self) -> &'static str {
                Self::BRACKETED[self as usize]
            }

            /// The prefixed name.
            pub(crate) const fn prefixed(self) -> &'static str {
                const TEXTS: [&str; $count] = [$(concat!(stringify!($prefix), ":", $name),)*];
                TEXTS[self as usize]
            }
        }
    };
}

names! {
    /// The predicates of a data set.
    Predicate, PREDICATES:
    Type = rdf "type",
    Label = rdfs "label",
    Comment = rdfs "comment",
    SubClassOf = rdfs "subClassOf",
    Publisher = dc "publisher",
    Date = dc "date",
    Title = dc "title",
    Homepage = foaf "homepage",
    Name = foaf "name",
    MailboxHash = foaf "mbox_sha1sum",
    Country = bsbm "country",
    Producer = bsbm "producer",
    ProductFeature = bsbm "productFeature",
    Numeric1 = bsbm "productPropertyNumeric1",
    Numeric2 = bsbm "productPropertyNumeric2",
    Numeric3 = bsbm "productPropertyNumeric3",
    Numeric4 = bsbm "productPropertyNumeric4",
    Numeric5 = bsbm "productPropertyNumeric5",
    Numeric6 = bsbm "productPropertyNumeric6",
    Textual1 = bsbm "productPropertyTextual1",
    Textual2 = bsbm "productPropertyTextual2",
    Textual3 = bsbm "productPropertyTextual3",
    Textual4 = bsbm "productPropertyTextual4",
    Textual5 = bsbm "productPropertyTextual5",
    Textual6 = bsbm "productPropertyTextual6",
    Product = bsbm "product",
    Vendor = bsbm "vendor",
    Price = bsbm "price",
    ValidFrom = bsbm "validFrom",
    ValidTo = bsbm "validTo",
    DeliveryDays = bsbm "deliveryDays",
    OfferWebpage = bsbm "offerWebpage",
    ReviewFor = bsbm "reviewFor",
    Reviewer = rev "reviewer",
    ReviewDate = bsbm "reviewDate",
    Text = rev "text",
    Rating1 = bsbm "rating1",
    Rating2 = bsbm "rating2",
    Rating3 = bsbm "rating3",
    Rating4 = bsbm "rating4",
}

/// The number of predicates.
pub(crate) const PREDICATES: usize = 40;

names! {
    /// The classes of a data set.
    Class, CLASSES:
    ProductType = bsbm "ProductType",
    ProductFeature = bsbm "ProductFeature",
    Producer = bsbm "Producer",
    Product = bsbm "Product",
    Vendor = bsbm "Vendor",
    Offer = bsbm "Offer",
    Person = foaf "Person",
    Review = rev "Review",
}

/// The number of classes, product types as classes of products not counted.
pub(crate) const CLASSES: usize = 8;

names! {
    /// The datatypes of a data set.
    Datatype, DATATYPES:
    Integer = xsd "integer",
    String = xsd "string",
    Date = xsd "date",
    DateTime = xsd "dateTime",
    Usd = bsbm "USD",
}

const DATATYPES: usize = 5;

/// An IRI that is the subject or object of a triple, by its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    Class(Class),
    ProductType(u64),
    ProductFeature(u64),
    Institution(u64),
    Producer(u64),
    ProducerHomepage(u64),
    Product {
        producer: u64,
        product: u64,
    },
    Vendor(u64),
    VendorHomepage(u64),
    Offer {
        vendor: u64,
        offer: u64,
    },
    OfferWebpage {
        vendor: u64,
        offer: u64,
    },
    RatingSite(u64),
    Person {
        site: u64,
        person: u64,
    },
    Review {
        site: u64,
        review: u64,
    },
    Country(usize),
    /// The graph of a publisher, named after the publisher's namespace.
    Graph(Publisher),
}

/// Who publishes a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publisher {
    Institution(u64),
    Producer(u64),
    Vendor(u64),
    RatingSite(u64),
}

impl Publisher {
    /// The resource that stands for the publisher.
    pub(crate) fn resource(self) -> Resource {
        match self {
            Publisher::Institution(number) => Resource::Institution(number),
            Publisher::Producer(number) => Resource::Producer(number),
            Publisher::Vendor(number) => Resource::Vendor(number),
            Publisher::RatingSite(number) => Resource::RatingSite(number),
        }
    }
}

impl Resource {
    /// Appends the IRI in brackets, in full.
    pub(crate) fn push_full(self, out: &mut Vec<u8>) {
        match self {
            Resource::Class(class) => out.extend_from_slice(class.bracketed().as_bytes()),
            Resource::Country(country) => {
                out.push(b'<');
                out.extend_from_slice(COUNTRY_NAMESPACE.as_bytes());
                out.extend_from_slice(COUNTRIES[country].0.as_bytes());
                out.push(b'>');
            }
            Resource::ProducerHomepage(_) | Resource::VendorHomepage(_) => self.push_homepage(out),
            _ => {
                out.push(b'<');
                out.extend_from_slice(INSTANCES.as_bytes());
                self.push_local(out);
                out.push(b'>');
            }
        }
    }

    /// Appends the shortest Turtle spelling.
    pub(crate) fn push_turtle(self, out: &mut Vec<u8>) {
        match self {
            Resource::Class(class) => out.extend_from_slice(class.prefixed().as_bytes()),
            Resource::Country(country) => {
                out.extend_from_slice(b"countries:");
                out.extend_from_slice(COUNTRIES[country].0.as_bytes());
            }
            Resource::ProducerHomepage(_) | Resource::VendorHomepage(_) => self.push_homepage(out),
            _ => {
                out.push(b'<');
                self.push_local(out);
                out.push(b'>');
            }
        }
    }

    /// The IRI as text, without brackets.
    pub(crate) fn text(self) -> String {
        let mut out = Vec::new();
        self.push_full(&mut out);
        String::from_utf8_lossy(&out[1..out.len() - 1]).into_owned()
    }

    fn push_homepage(self, out: &mut Vec<u8>) {
        let (name, number) = match self {
            Resource::ProducerHomepage(number) => ("<http://www.Producer", number),
            Resource::VendorHomepage(number) => ("<http://www.vendor", number),
            _ => return,
        };
        push_named(out, name, number);
        out.extend_from_slice(b".com/>");
    }

    /// Appends the part after the instance namespace.
    fn push_local(self, out: &mut Vec<u8>) {
        match self {
            Resource::ProductType(number) => push_named(out, "ProductType", number),
            Resource::ProductFeature(number) => push_named(out, "ProductFeature", number),
            Resource::Institution(number) => push_named(out, "StandardizationInstitution", number),
            Resource::Producer(number) => {
                push_owned(out, "dataFromProducer", number, "/Producer", number);
            }
            Resource::Product { producer, product } => {
                push_owned(out, "dataFromProducer", producer, "/Product", product);
            }
            Resource::Vendor(number) => {
                push_owned(out, "dataFromVendor", number, "/Vendor", number);
            }
            Resource::Offer { vendor, offer } => {
                push_owned(out, "dataFromVendor", vendor, "/Offer", offer);
            }
            Resource::OfferWebpage { vendor, offer } => {
                push_owned(out, "dataFromVendor", vendor, "/Offer", offer);
                out.push(b'/');
            }
            Resource::RatingSite(number) => {
                push_owned(out, "dataFromRatingSite", number, "/RatingSite", number);
            }
            Resource::Person { site, person } => {
                push_owned(out, "dataFromRatingSite", site, "/Reviewer", person);
            }
            Resource::Review { site, review } => {
                push_owned(out, "dataFromRatingSite", site, "/Review", review);
            }
            Resource::Graph(publisher) => {
                match publisher {
                    Publisher::Institution(number) => {
                        push_named(out, "StandardizationInstitution", number);
                    }
                    Publisher::Producer(number) => push_named(out, "dataFromProducer", number),
                    Publisher::Vendor(number) => push_named(out, "dataFromVendor", number),
                    Publisher::RatingSite(number) => push_named(out, "dataFromRatingSite", number),
                }
                out.extend_from_slice(b"/Graph");
            }
            Resource::Class(_)
            | Resource::Country(_)
            | Resource::ProducerHomepage(_)
            | Resource::VendorHomepage(_) => {}
        }
    }
}

fn push_named(out: &mut Vec<u8>, name: &str, number: u64) {
    out.extend_from_slice(name.as_bytes());
    push_number(out, number);
}

fn push_owned(out: &mut Vec<u8>, owner: &str, owner_number: u64, name: &str, number: u64) {
    push_named(out, owner, owner_number);
    push_named(out, name, number);
}

/// Appends a number in decimal.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
