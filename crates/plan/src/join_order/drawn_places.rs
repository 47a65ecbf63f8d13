//! `Places`: some members of weighted groups, drawn so that each part of the weight is met as often as it is large.

use super::draw::mix;
use super::join_sample::WALKS;

/// What was drawn from groups: the group and a number within it, and for how many each stands.
pub(super) struct Places {
    pub(super) places: Vec<(usize, u64)>,
    pub(super) weights: Vec<f64>,
    pub(super) is_all: bool,
}

/// Draws up to [`WALKS`] members of groups, each of which has a weight and so many members: all if there are no more, else one from
/// each of as many equal parts of their weight.
pub(super) fn draw(groups: &[(f64, f64)], seed: u64) -> Places {
    let groups = || groups.iter().enumerate();
    let members: f64 = groups().map(|(_, (_, count))| count).sum();
    if members <= WALKS as f64 {
        let all = groups().flat_map(|(group, &(weight, count))| {
            (0..count as u64).map(move |number| ((group, number), weight))
        });
        let all = all.filter(|(_, weight)| *weight > 0.0);
        let (places, weights) = all.unzip();
        return Places {
            places,
            weights,
            is_all: true,
        };
    }
    let total: f64 = groups().map(|(_, (weight, count))| weight * count).sum();
    let part = total / WALKS as f64;
    let mut places = Vec::with_capacity(WALKS);
    let mut before = 0.0;
    for (group, &(weight, count)) in groups() {
        let after = before + weight * count;
        // Termination: each turn adds a place, and there are so many at most.
        while places.len() < WALKS {
            let at = (places.len() as f64 + fraction(seed, places.len())) * part;
            if at >= after {
                break;
            }
            let number = ((at - before) / weight).clamp(0.0, (count - 1.0).max(0.0));
            places.push((group, number as u64));
        }
        before = after;
    }
    Places {
        weights: vec![part; places.len()],
        places,
        is_all: false,
    }
}

/// From 0 to 1, for each seed and place another.
fn fraction(seed: u64, place: usize) -> f64 {
    (mix(mix(seed) ^ place as u64) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_members_are_all_drawn_and_many_by_their_weight() {
        let few = draw(&[(2.0, 3.0), (0.0, 5.0), (1.0, 1.0)], 7);
        assert!(few.is_all);
        assert_eq!(few.places, [(0, 0), (0, 1), (0, 2), (2, 0)]);
        assert_eq!(few.weights, [2.0, 2.0, 2.0, 1.0]);
        // Three quarters of the weight are in the second group.
        let many = draw(&[(1.0, 500.0), (0.0, 9.0), (3.0, 500.0)], 7);
        assert!(!many.is_all);
        assert_eq!(many.places.len(), WALKS);
        let second = many.places.iter().filter(|(group, _)| *group == 2);
        assert_eq!(second.count(), WALKS / 4 * 3);
        assert!(many.places.iter().all(|(group, n)| *group != 1 && *n < 500));
        let all: f64 = many.weights.iter().sum();
        assert!((all - 2_000.0).abs() < 1e-6, "{all}");
        let again = draw(&[(1.0, 500.0), (0.0, 9.0), (3.0, 500.0)], 7);
        assert_eq!(many.places, again.places);
    }
}
