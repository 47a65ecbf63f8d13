//! Whether a load adds a layer or rewrites the store, and the thresholds of it.
//!
//! Every layer costs queries a little: another part to look into for each shape, another place where a
//! term can be. Rewriting costs as much as loading everything at once. So the store is rewritten when the
//! layers have become many, but only after it has grown by enough: then each quad is rewritten a bounded
//! number of times, however many loads there are.

use std::fmt;

use crate::options::Addition;

/// With more layers of tables than this the store is rewritten if it has grown by half: sixteen parts
/// of a shape still plan in well under a millisecond.
const TABLE_LAYERS_MAX: usize = 16;
/// With more layers of tables than this it is rewritten anyhow. Loads too small for tables make none
/// ([`is_worth_tables`]), so it has grown by a third at least.
const TABLE_LAYERS_LIMIT: usize = 64;
/// More layers of the dictionary than this: seeking a term takes a cache miss in each.
const DICTIONARY_LAYERS_LIMIT: usize = 64;
/// A load makes tables if it has at least one quad for so many of the store: 64 layers of tables then
/// have a third of its quads.
const QUADS_PER_NEW_QUAD: u64 = 192;
/// The share of irregular quads that is borne, above what the data had when it was last written as a
/// whole: queries read irregular quads several times slower than cells.
const IRREGULAR_SHARE_MAX: f64 = 0.20;
/// Layers of fewer terms than this are merged with younger ones: rewriting them takes some 100 ms at most.
const TERMS_TAKEN_IN_MAX: u64 = 1 << 18;

/// Why a store was rewritten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RewriteReason {
    /// The caller asked for it.
    Asked,
    /// There are more new quads than old ones.
    NewDataIsLarger,
    /// There were this many layers of tables.
    TableLayers(usize),
    /// There were this many layers of the dictionary.
    DictionaryLayers(usize),
    /// The share of irregular quads has grown to this.
    Irregular(f64),
    /// The new quads do not fit in memory.
    Memory,
    /// There were changes in memory, which a layer cannot stand on.
    Changes,
}

impl fmt::Display for RewriteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => write!(f, "it was asked for"),
            Self::NewDataIsLarger => write!(f, "the new data is larger than the old"),
            Self::TableLayers(layers) => write!(f, "its tables came from {layers} loads"),
            Self::DictionaryLayers(layers) => {
                write!(f, "its dictionary had {layers} layers")
            }
            Self::Memory => write!(f, "the new data does not fit in memory"),
            Self::Changes => write!(f, "it had changes since it was written"),
            Self::Irregular(share) => {
                write!(f, "{:.0} % of its quads were irregular", share * 100.0)
            }
        }
    }
}

/// What the decision hangs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Quads of the store.
    pub(crate) quads: u64,
    /// Of these, irregular ones.
    pub(crate) irregular: u64,
    /// Quads of the store when it was last written as a whole.
    pub(crate) base_quads: u64,
    /// Of these, irregular ones.
    pub(crate) base_irregular: u64,
    /// Loads that have made tables.
    pub(crate) table_layers: usize,
    /// Layers of the dictionary.
    pub(crate) dictionary_layers: usize,
    /// Quads of the load, repeats included.
    pub(crate) new_quads: u64,
    /// Whether the load fits in memory; a layer is made there.
    pub(crate) fits: bool,
    /// Whether the store has changes that are in none of its files.
    pub(crate) has_changes: bool,
}

impl Facts {
    /// What is known of a version and a load.
    pub(crate) fn of(old: &basalt_store::Snapshot, new_quads: u64, fits: bool) -> Self {
        let base = old.base();
        Self {
            quads: old.quad_count(),
            irregular: old.quad_table().quad_count(),
            base_quads: base.quads,
            base_irregular: base.irregular,
            table_layers: old.table_layers(),
            dictionary_layers: old.dictionary().layer_terms().len(),
            new_quads,
            fits,
            has_changes: old.has_delta(),
        }
    }
}

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    /// It adds a layer.
    Layer,
    /// It rewrites the store.
    Rewrite(RewriteReason),
}

/// Decides what a load into a store that has data does.
pub(crate) fn decide(addition: Addition, facts: &Facts) -> Decision {
    let reason = match addition {
        Addition::Layer | Addition::Decide if facts.has_changes => Some(RewriteReason::Changes),
        Addition::Layer | Addition::Decide if !facts.fits => Some(RewriteReason::Memory),
        Addition::Layer => None,
        Addition::Rewrite => Some(RewriteReason::Asked),
        Addition::Decide => reason(facts),
    };
    reason.map_or(Decision::Layer, Decision::Rewrite)
}

fn reason(facts: &Facts) -> Option<RewriteReason> {
    if facts.new_quads > facts.quads {
        return Some(RewriteReason::NewDataIsLarger);
    }
    let grown_by_half = facts.quads - facts.quads.min(facts.base_quads) >= facts.base_quads / 2;
    let layers = facts.table_layers;
    if layers > TABLE_LAYERS_LIMIT || layers > TABLE_LAYERS_MAX && grown_by_half {
        return Some(RewriteReason::TableLayers(layers));
    }
    if facts.dictionary_layers > DICTIONARY_LAYERS_LIMIT {
        return Some(RewriteReason::DictionaryLayers(facts.dictionary_layers));
    }
    let share = |irregular: u64, quads: u64| irregular as f64 / quads.max(1) as f64;
    let now = share(facts.irregular, facts.quads);
    let then = share(facts.base_irregular, facts.base_quads);
    // What is irregular by nature stays so however often it is rewritten.
    let borne = (then + IRREGULAR_SHARE_MAX)
        .max(2.0 * then)
        .min((1.0 + then) / 2.0);
    (now > borne).then_some(RewriteReason::Irregular(now))
}

/// Whether a load of so many new quads into a store of so many makes tables.
pub(crate) fn is_worth_tables(old_quads: u64, new_quads: u64) -> bool {
    new_quads.saturating_mul(QUADS_PER_NEW_QUAD) >= old_quads
}

/// How many of the youngest layers of a dictionary, given as terms of each, a layer of so many new
/// terms takes in: those that are not much larger than all that comes after them. So their number grows
/// with the logarithm of the number of loads, and each term is rewritten as often.
pub(crate) fn layers_to_take_in(layers: &[(u64, u64)], new_terms: u64) -> usize {
    let mut terms = new_terms;
    let mut taken_in = 0;
    for (resources, literals) in layers.iter().rev() {
        let layer = resources + literals;
        if layer > 2 * terms || terms + layer > TERMS_TAKEN_IN_MAX {
            break;
        }
        terms += layer;
        taken_in += 1;
    }
    taken_in
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Facts = Facts {
        quads: 10_000_000,
        irregular: 100_000,
        base_quads: 9_000_000,
        base_irregular: 80_000,
        table_layers: 3,
        dictionary_layers: 3,
        new_quads: 1_000_000,
        fits: true,
        has_changes: false,
    };

    #[test]
    fn each_reason_has_its_limit() {
        let decided = |facts: Facts| decide(Addition::Decide, &facts);
        assert_eq!(decided(STEADY), Decision::Layer);
        let cases = [
            (
                Facts {
                    new_quads: 10_000_001,
                    ..STEADY
                },
                RewriteReason::NewDataIsLarger,
            ),
            (
                Facts {
                    table_layers: 65,
                    ..STEADY
                },
                RewriteReason::TableLayers(65),
            ),
            (
                Facts {
                    table_layers: 17,
                    base_quads: 6_000_000,
                    ..STEADY
                },
                RewriteReason::TableLayers(17),
            ),
            (
                Facts {
                    dictionary_layers: 65,
                    ..STEADY
                },
                RewriteReason::DictionaryLayers(65),
            ),
            (
                Facts {
                    irregular: 2_500_000,
                    ..STEADY
                },
                RewriteReason::Irregular(0.25),
            ),
        ];
        for (facts, reason) in cases {
            assert_eq!(decided(facts), Decision::Rewrite(reason));
            assert_eq!(decide(Addition::Layer, &facts), Decision::Layer);
        }
        let large = Facts {
            fits: false,
            ..STEADY
        };
        let decision = Decision::Rewrite(RewriteReason::Memory);
        assert_eq!(decided(large), decision);
        assert_eq!(decide(Addition::Layer, &large), decision);
        let many_layers = Facts {
            table_layers: 17,
            ..STEADY
        };
        assert_eq!(decided(many_layers), Decision::Layer, "it has not grown");
        let asked = decide(Addition::Rewrite, &STEADY);
        assert_eq!(asked, Decision::Rewrite(RewriteReason::Asked));
    }

    #[test]
    fn data_that_is_irregular_by_nature_is_left_alone() {
        for share in [0, 5, 20, 60, 95, 100] {
            let facts = Facts {
                irregular: STEADY.quads * share / 100,
                base_irregular: STEADY.base_quads * share / 100,
                ..STEADY
            };
            let expected = Decision::Layer;
            assert_eq!(decide(Addition::Decide, &facts), expected, "{share} %");
        }
    }

    #[test]
    fn small_layers_are_taken_in_and_their_number_stays_small() {
        assert_eq!(layers_to_take_in(&[(3_000_000, 1_000_000)], 1_000), 0);
        let mut layers = vec![(2_000_000, 0)];
        let (mut most, mut written) = (0, 0);
        for _ in 0..1_000 {
            let taken = layers_to_take_in(&layers, 100);
            let kept = layers.len() - taken;
            let terms = layers[kept..].iter().map(|l| l.0).sum::<u64>() + 100;
            layers.truncate(kept);
            layers.push((terms, 0));
            most = most.max(layers.len());
            written += terms;
        }
        assert!(most <= 9, "{most} layers");
        assert!(written <= 10 * 100_000, "{written} terms written");
    }
}
