//! Turns the triples of resources into text of one format and counts them.
//!
//! A resource is written as `begin`, its triples, `end`. The subject and the graph are spelled
//! once per resource and copied from then on; each triple is a handful of copies into one buffer.
//! Invariant: nothing that is written needs escapes, for words are ASCII letters and hyphens.

use crate::calendar::Day;
use crate::random::Stream;
use crate::vocabulary::{
    CLASSES, Class, Datatype, Format, PREDICATES, Predicate, Publisher, Resource, push_number,
};
use crate::words::title_words;

/// How many triples were written, in all and by kind.
#[derive(Clone)]
pub(crate) struct Counts {
    /// Triples per predicate, by the number of the predicate.
    pub(crate) predicates: [u64; PREDICATES],
    /// Instances per class, by the number of the class.
    pub(crate) classes: [u64; CLASSES],
    /// Triples that say that a product is of a product type.
    pub(crate) product_type_links: u64,
}

impl Counts {
    /// All zero.
    pub(crate) fn new() -> Counts {
        Counts {
            predicates: [0; PREDICATES],
            classes: [0; CLASSES],
            product_type_links: 0,
        }
    }

    /// The number of triples.
    pub(crate) fn triples(&self) -> u64 {
        self.predicates.iter().sum()
    }

    /// Adds the counts of another part.
    pub(crate) fn add(&mut self, other: &Counts) {
        for (sum, part) in self.predicates.iter_mut().zip(other.predicates) {
            *sum += part;
        }
        for (sum, part) in self.classes.iter_mut().zip(other.classes) {
            *sum += part;
        }
        self.product_type_links += other.product_type_links;
    }
}

/// What a text literal is.
#[derive(Clone, Copy)]
pub(crate) enum TextKind {
    /// Without language or written datatype.
    Plain,
    /// With the datatype xsd:string spelled out.
    Typed,
    /// With a language tag.
    Tagged(&'static str),
}

/// A buffer of serialised triples.
pub(crate) struct Emitter {
    format: Format,
    /// The text so far.
    pub(crate) out: Vec<u8>,
    /// What was written so far.
    pub(crate) counts: Counts,
    /// The subject of the current resource, as spelled.
    subject: Vec<u8>,
    /// What closes each triple of the current resource.
    tail: Vec<u8>,
    /// Whether the current resource has no triple yet.
    fresh: bool,
}

impl Emitter {
    /// An emitter that appends to `out`.
    pub(crate) fn new(format: Format, out: Vec<u8>) -> Emitter {
        Emitter {
            format,
            out,
            counts: Counts::new(),
            subject: Vec::new(),
            tail: Vec::new(),
            fresh: true,
        }
    }

    /// Starts a resource: its class and its publisher are given, the rest follows.
    pub(crate) fn begin(&mut self, subject: Resource, class: Class, publisher: Publisher) {
        self.subject.clear();
        self.tail.clear();
        self.fresh = true;
        match self.format {
            Format::NTriples => {
                subject.push_full(&mut self.subject);
                self.tail.extend_from_slice(b" .\n");
            }
            Format::NQuads => {
                subject.push_full(&mut self.subject);
                self.tail.push(b' ');
                Resource::Graph(publisher).push_full(&mut self.tail);
                self.tail.extend_from_slice(b" .\n");
            }
            Format::Turtle => subject.push_turtle(&mut self.subject),
        }
        self.counts.classes[class as usize] += 1;
        self.link(Predicate::Type, Resource::Class(class));
    }

    /// Ends a resource with its publisher and date.
    pub(crate) fn end(&mut self, publisher: Publisher, date: Day) {
        self.link(Predicate::Publisher, publisher.resource());
        self.date(Predicate::Date, date);
        if self.format == Format::Turtle {
            self.out.extend_from_slice(b" .\n");
        }
    }

    /// A triple whose object is an IRI.
    pub(crate) fn link(&mut self, predicate: Predicate, object: Resource) {
        self.open(predicate);
        match self.format {
            Format::Turtle => object.push_turtle(&mut self.out),
            Format::NTriples | Format::NQuads => object.push_full(&mut self.out),
        }
        self.close();
    }

    /// A triple that says that a product is of a product type.
    pub(crate) fn product_type(&mut self, number: u64) {
        self.counts.product_type_links += 1;
        self.link(Predicate::Type, Resource::ProductType(number));
    }

    /// A triple whose object is a given text, which must need no escapes.
    pub(crate) fn text(&mut self, predicate: Predicate, text: &[u8], kind: TextKind) {
        self.open(predicate);
        self.out.push(b'"');
        self.out.extend_from_slice(text);
        self.close_text(kind);
    }

    /// A triple whose object is a sentence of `least` to `greatest` words.
    pub(crate) fn sentence(
        &mut self,
        predicate: Predicate,
        stream: &mut Stream,
        (least, greatest): (u64, u64),
        kind: TextKind,
    ) {
        self.open(predicate);
        self.out.push(b'"');
        let count = stream.between(least, greatest);
        title_words().push_sentence(&mut self.out, stream, count);
        self.close_text(kind);
    }

    /// A triple whose object is an xsd:integer.
    pub(crate) fn integer(&mut self, predicate: Predicate, value: u64) {
        self.open(predicate);
        if self.format == Format::Turtle {
            push_number(&mut self.out, value);
        } else {
            self.out.push(b'"');
            push_number(&mut self.out, value);
            self.close_datatype(Datatype::Integer);
        }
        self.close();
    }

    /// A triple whose object is a price in US dollars, given in cents.
    pub(crate) fn price(&mut self, predicate: Predicate, cents: u64) {
        self.open(predicate);
        self.out.push(b'"');
        push_number(&mut self.out, cents / 100);
        self.out.push(b'.');
        self.out.push(b'0' + (cents / 10 % 10) as u8);
        self.out.push(b'0' + (cents % 10) as u8);
        self.close_datatype(Datatype::Usd);
        self.close();
    }

    /// A triple whose object is an xsd:date.
    pub(crate) fn date(&mut self, predicate: Predicate, day: Day) {
        self.open(predicate);
        self.out.push(b'"');
        day.push_to(&mut self.out);
        self.close_datatype(Datatype::Date);
        self.close();
    }

    /// A triple whose object is an xsd:dateTime at midnight, without zone.
    pub(crate) fn date_time(&mut self, predicate: Predicate, day: Day) {
        self.open(predicate);
        self.out.push(b'"');
        day.push_to(&mut self.out);
        self.out.extend_from_slice(b"T00:00:00");
        self.close_datatype(Datatype::DateTime);
        self.close();
    }

    fn open(&mut self, predicate: Predicate) {
        self.counts.predicates[predicate as usize] += 1;
        if self.format == Format::Turtle {
            if self.fresh {
                self.out.extend_from_slice(&self.subject);
                self.out.push(b' ');
            } else {
                self.out.extend_from_slice(b" ;\n    ");
            }
            self.fresh = false;
            self.out.extend_from_slice(predicate.prefixed().as_bytes());
        } else {
            self.out.extend_from_slice(&self.subject);
            self.out.push(b' ');
            self.out.extend_from_slice(predicate.bracketed().as_bytes());
        }
        self.out.push(b' ');
    }

    fn close(&mut self) {
        self.out.extend_from_slice(&self.tail);
    }

    fn close_text(&mut self, kind: TextKind) {
        match kind {
            TextKind::Plain => self.out.push(b'"'),
            TextKind::Typed => self.close_datatype(Datatype::String),
            TextKind::Tagged(tag) => {
                self.out.extend_from_slice(b"\"@");
                self.out.extend_from_slice(tag.as_bytes());
            }
        }
        self.close();
    }

    fn close_datatype(&mut self, datatype: Datatype) {
        let text = match self.format {
            Format::Turtle => datatype.prefixed(),
            Format::NTriples | Format::NQuads => datatype.bracketed(),
        };
        self.out.extend_from_slice(b"\"^^");
        self.out.extend_from_slice(text.as_bytes());
    }
}
