//! Content negotiation: `Accept` and `Accept-Encoding` against what can be offered (RFC 9110, sections
//! 12.5.1 and 12.5.3).
//!
//! The offer with the highest quality wins, the earlier one among equals; the quality of an offer
//! is that of the most specific range that matches it.

use basalt_engine::{Compression, GraphFormat, ResultsFormat};

/// Media types of solutions and booleans, the preferred ones first.
pub const SOLUTION_OFFERS: [(&str, ResultsFormat); 8] = [
    ("application/sparql-results+json", ResultsFormat::Json),
    ("application/json", ResultsFormat::Json),
    ("application/sparql-results+xml", ResultsFormat::Xml),
    ("text/csv", ResultsFormat::Csv),
    ("text/tab-separated-values", ResultsFormat::Tsv),
    ("application/xml", ResultsFormat::Xml),
    ("text/xml", ResultsFormat::Xml),
    ("application/vnd.apache.arrow.stream", ResultsFormat::Arrow),
];

/// Media types of graphs, the preferred ones first.
pub const GRAPH_OFFERS: [(&str, GraphFormat); 10] = [
    ("application/n-triples", GraphFormat::NTriples),
    ("text/turtle", GraphFormat::Turtle),
    ("application/n-quads", GraphFormat::NQuads),
    ("application/trig", GraphFormat::TriG),
    ("application/rdf+xml", GraphFormat::RdfXml),
    ("application/ld+json", GraphFormat::JsonLd),
    ("application/x-turtle", GraphFormat::Turtle),
    ("text/plain", GraphFormat::NTriples),
    ("application/xml", GraphFormat::RdfXml),
    ("text/xml", GraphFormat::RdfXml),
];

/// The media type as it is sent. Some clients read text that names no charset as ISO-8859-1.
pub fn with_charset(media_type: &'static str) -> &'static str {
    match media_type {
        "text/plain" => "text/plain; charset=utf-8",
        "text/turtle" => "text/turtle; charset=utf-8",
        "text/xml" => "text/xml; charset=utf-8",
        other => other,
    }
}

/// A parsed `Accept` header.
#[derive(Clone, Debug, Default)]
pub struct Accept {
    /// Type, subtype and quality in thousandths; empty if everything is welcome.
    ranges: Vec<(String, String, u32)>,
}

impl Accept {
    /// Parses the header; ranges that make no sense are skipped.
    pub fn parse(header: &str) -> Self {
        let ranges = header.split(',').filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let (main, sub) = parts.next()?.split_once('/')?;
            Some((
                main.to_ascii_lowercase(),
                sub.to_ascii_lowercase(),
                thousandths(parts),
            ))
        });
        Self {
            ranges: ranges.collect(),
        }
    }

    /// The best of the offers; nothing if none is acceptable.
    pub fn best<T: Copy>(&self, offers: &[(&'static str, T)]) -> Option<(&'static str, T)> {
        let mut best: Option<(u32, (&'static str, T))> = None;
        for &offer in offers {
            let quality = self.quality(offer.0);
            if quality > best.map_or(0, |(known, _)| known) {
                best = Some((quality, offer));
            }
        }
        best.map(|(_, offer)| offer)
    }

    /// How welcome a media type is, 0 to 1000.
    pub fn quality(&self, media_type: &str) -> u32 {
        if self.ranges.is_empty() {
            return 1000;
        }
        let (main, sub) = media_type.split_once('/').unwrap_or((media_type, ""));
        let specificity = |range: &(String, String, u32)| match (range.0.as_str(), range.1.as_str())
        {
            ("*", "*") => Some(1),
            (m, "*") if m == main => Some(2),
            (m, s) if m == main && s == sub => Some(3),
            _ => None,
        };
        let matching = self
            .ranges
            .iter()
            .filter_map(|range| Some((specificity(range)?, range.2)));
        matching.max().map_or(0, |(_, quality)| quality)
    }
}

/// The quality among the parameters of a range, 1 if there is none.
fn thousandths<'a>(mut parameters: impl Iterator<Item = &'a str>) -> u32 {
    let quality = parameters.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("q")
            .then(|| value.trim().parse::<f32>().ok())
    });
    let quality = quality.flatten().unwrap_or(1.0).clamp(0.0, 1.0);
    (quality * 1000.0).round() as u32
}

/// A content coding that answers can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Zstandard (RFC 8878).
    Zstd,
    /// gzip.
    Gzip,
}

impl Coding {
    /// The token in headers.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// How the bytes are packed.
    pub const fn compression(self) -> Compression {
        match self {
            Self::Zstd => Compression::Zstd,
            Self::Gzip => Compression::Gzip,
        }
    }

    /// The coding to answer with: the most welcome one that the header names, the faster one among equals;
    /// none where plain bytes are more welcome by name. An error if neither a coding nor plain bytes will do.
    pub fn choose(header: &str) -> Result<Option<Self>, &'static str> {
        let listed: Vec<(String, u32)> = header
            .split(',')
            .filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let token = parts.next().filter(|token| !token.is_empty())?;
                Some((token.to_ascii_lowercase(), thousandths(parts)))
            })
            .collect();
        let of = |token: &str| listed.iter().find(|(name, _)| name == token);
        let quality = |token: &str| of(token).or_else(|| of("*")).map(|(_, quality)| *quality);
        let gzip = quality("gzip").max(of("x-gzip").map(|(_, quality)| *quality));
        let best = [(quality("zstd"), Self::Zstd), (gzip, Self::Gzip)];
        let best = best.into_iter().rev().max_by_key(|(quality, _)| *quality);
        let (best, coding) = best.unwrap_or((None, Self::Gzip));
        match (best.unwrap_or(0), quality("identity")) {
            (0, Some(0)) => Err("the answer comes plain, as gzip or as zstd"),
            (0, _) => Ok(None),
            (best, _) if of("identity").is_some_and(|(_, plain)| *plain > best) => Ok(None),
            _ => Ok(Some(coding)),
        }
    }
}
