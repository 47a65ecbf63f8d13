//! Content negotiation: an `Accept` header against what can be offered (RFC 9110, section 12.5.1).
//!
//! The offer with the highest quality wins, the earlier one among equals; the quality of an offer
//! is that of the most specific range that matches it.

use basalt_engine::{GraphFormat, ResultsFormat};

/// Media types of solutions and booleans, the preferred ones first.
pub const SOLUTION_OFFERS: [(&str, ResultsFormat); 7] = [
    ("application/sparql-results+json", ResultsFormat::Json),
    ("application/json", ResultsFormat::Json),
    ("application/sparql-results+xml", ResultsFormat::Xml),
    ("text/csv", ResultsFormat::Csv),
    ("text/tab-separated-values", ResultsFormat::Tsv),
    ("application/xml", ResultsFormat::Xml),
    ("text/xml", ResultsFormat::Xml),
];

/// Media types of graphs, the preferred ones first.
pub const GRAPH_OFFERS: [(&str, GraphFormat); 6] = [
    ("application/n-triples", GraphFormat::NTriples),
    ("text/turtle", GraphFormat::Turtle),
    ("application/n-quads", GraphFormat::NQuads),
    ("application/trig", GraphFormat::TriG),
    ("application/x-turtle", GraphFormat::Turtle),
    ("text/plain", GraphFormat::NTriples),
];

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
            let quality = parts.find_map(|part| {
                let (name, value) = part.split_once('=')?;
                name.trim()
                    .eq_ignore_ascii_case("q")
                    .then(|| value.trim().parse::<f32>().ok())
            });
            let quality = quality.flatten().unwrap_or(1.0).clamp(0.0, 1.0);
            let thousandths = (quality * 1000.0).round() as u32;
            Some((
                main.to_ascii_lowercase(),
                sub.to_ascii_lowercase(),
                thousandths,
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
