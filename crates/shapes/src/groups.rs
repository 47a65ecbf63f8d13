//! Groups that are merged whatever their predicates: sets of one class, and sets that one class
//! refers to in one way.

use crate::fast_map::FastMap;

use crate::charsets::CharacteristicSets;
use crate::links::Links;
use crate::settings::Settings;
use crate::similarity::Weights;

/// Why sets belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// Their subjects have this class.
    Class(u64),
    /// Subjects of this class refer to them by this predicate.
    Referrer(u64, u32),
}

/// The label of every set that has one.
pub(crate) fn labels(
    charsets: &CharacteristicSets,
    links: &Links,
    weights: &Weights,
    settings: &Settings,
) -> Vec<Option<Label>> {
    let referrers = referrers(charsets, links, weights, settings);
    charsets
        .sets
        .iter()
        .zip(referrers)
        .map(|(set, referrer)| set.class.map(Label::Class).or(referrer))
        .collect()
}

/// For each set without a class, the (class, predicate) that refers to most of its subjects.
fn referrers(
    charsets: &CharacteristicSets,
    links: &Links,
    weights: &Weights,
    settings: &Settings,
) -> Vec<Option<Label>> {
    let mut references: FastMap<(u32, u64, u32), u64> = FastMap::default();
    for (source, predicate, target, count) in links.iter() {
        let untyped = charsets.sets[target as usize].class.is_none();
        let class = charsets.sets[source as usize].class;
        if let (true, Some(class)) = (untyped, class) {
            *references.entry((target, class, predicate)).or_insert(0) += count;
        }
    }
    // A class is named in the key by its first set, so that ties do not hang on term numbers.
    let mut first_set: FastMap<u64, u32> = FastMap::default();
    for (at, set) in charsets.sets.iter().enumerate() {
        if let Some(class) = set.class {
            first_set.entry(class).or_insert(at as u32);
        }
    }
    let mut best: Vec<Option<Candidate>> = vec![None; charsets.sets.len()];
    for ((target, class, predicate), count) in references {
        let subjects = charsets.sets[target as usize].subjects as f64;
        let telling = weights.idf(predicate) >= settings.referrer_idf_min;
        if !telling || (count as f64) < settings.referrer_share_min * subjects {
            continue;
        }
        let tie = (first_set[&class], predicate);
        let entry = &mut best[target as usize];
        let better = entry
            .as_ref()
            .is_none_or(|b| count > b.references || count == b.references && tie < b.tie);
        if better {
            let label = Label::Referrer(class, predicate);
            *entry = Some(Candidate {
                references: count,
                tie,
                label,
            });
        }
    }
    best.into_iter().map(|b| b.map(|b| b.label)).collect()
}

/// The best referrer of a set so far.
#[derive(Clone)]
struct Candidate {
    /// How often it refers to the set.
    references: u64,
    /// First set of the class and predicate: the smaller wins among equals.
    tie: (u32, u32),
    /// The label it would give.
    label: Label,
}
