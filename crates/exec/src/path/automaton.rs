//! `Automaton`: a path inside `?`, `*` or `+` as states and transitions without empty ones.
//!
//! Thompson's construction, then removal of empty transitions. States that go on alike are one: `p*`
//! and `p+` have a single state, `(a/b)*` has two. The number of states is that of the links
//! written in the path, at most one more.
//!
//! Invariant: a node is an end of the path iff a walk of at least one link that starts in
//! `start` reaches it in an accepting state, or the path [matches zero](Automaton::matches_zero)
//! links and the node is the start.

use super::graph::Label;
use super::step::Step;

/// One transition: over a link, followed or against its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Index into [`Automaton::labels`].
    pub label: usize,
    /// Whether the link is followed from object to subject.
    pub inverse: bool,
    /// The state after it.
    pub to: usize,
}

/// States over links.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// What links are followed.
    pub labels: Vec<Label>,
    /// The transitions of each state.
    pub states: Vec<Vec<Transition>>,
    /// Whether a walk may end in each state.
    pub accepting: Vec<bool>,
    /// Where walks start.
    pub start: usize,
    /// Whether the start is an end.
    pub matches_zero: bool,
}

/// States with empty transitions, under construction.
#[derive(Default)]
struct Builder {
    labels: Vec<Label>,
    links: Vec<Vec<Transition>>,
    empty: Vec<Vec<usize>>,
}

impl Builder {
    fn state(&mut self) -> usize {
        self.links.push(Vec::new());
        self.empty.push(Vec::new());
        self.links.len() - 1
    }

    fn label(&mut self, label: &Label) -> usize {
        let known = self.labels.iter().position(|l| l == label);
        known.unwrap_or_else(|| {
            self.labels.push(label.clone());
            self.labels.len() - 1
        })
    }

    /// Makes walks over the path lead from one state to another.
    fn add(&mut self, step: &Step, from: usize, to: usize) {
        match step {
            Step::Edge { label, inverse } => {
                let label = self.label(label);
                let inverse = *inverse;
                self.links[from].push(Transition { label, inverse, to });
            }
            Step::Sequence(parts) => {
                let mut at = from;
                for (idx, part) in parts.iter().enumerate() {
                    let next = if idx + 1 == parts.len() {
                        to
                    } else {
                        self.state()
                    };
                    self.add(part, at, next);
                    at = next;
                }
            }
            Step::Alternative(parts) => parts.iter().for_each(|part| self.add(part, from, to)),
            Step::ZeroOrOne(inner) => {
                self.add(inner, from, to);
                self.empty[from].push(to);
            }
            Step::ZeroOrMore(inner) => {
                let middle = self.state();
                self.add(inner, middle, middle);
                self.empty[from].push(middle);
                self.empty[middle].push(to);
            }
            Step::OneOrMore(inner) => {
                let (first, last) = (self.state(), self.state());
                self.add(inner, first, last);
                self.empty[from].push(first);
                self.empty[last].push(first);
                self.empty[last].push(to);
            }
        }
    }

    /// The states that are reached without a link.
    fn closure(&self, state: usize) -> Vec<usize> {
        let mut reached = vec![state];
        let mut next = 0;
        while next < reached.len() {
            for &to in &self.empty[reached[next]] {
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
            next += 1;
        }
        reached
    }
}

impl Automaton {
    /// Whether walks of one link or more are the same: `p+` and `p*` differ in those of none.
    pub fn walks_as(&self, other: &Self) -> bool {
        self.start == other.start
            && self.labels == other.labels
            && self.states == other.states
            && self.accepting == other.accepting
    }

    /// The automaton of a path.
    pub fn new(step: &Step) -> Self {
        let mut builder = Builder::default();
        let (start, end) = (builder.state(), builder.state());
        builder.add(step, start, end);
        let mut states = Vec::new();
        let mut accepting = Vec::new();
        for state in 0..builder.links.len() {
            let reached = builder.closure(state);
            accepting.push(reached.contains(&end));
            let links = reached.iter().flat_map(|&s| &builder.links[s]).copied();
            let mut links: Vec<Transition> = links.collect();
            links.sort_unstable();
            links.dedup();
            states.push(links);
        }
        let matches_zero = accepting[start];
        // A walk ends only where a link has led to, so any state that goes on alike can start it.
        let targets = || states.iter().flatten().map(|link| link.to);
        let start = targets()
            .find(|&to| states[to] == states[start])
            .unwrap_or(start);
        // Where no link leads to, no walk ends.
        if !targets().any(|to| to == start) {
            accepting[start] = false;
        }
        let mut automaton = Self {
            labels: builder.labels,
            states,
            accepting,
            start,
            matches_zero,
        };
        automaton.merge_equal_states();
        automaton.drop_unreachable_states();
        automaton
    }

    /// Replaces states that behave alike by the first of them, until none do.
    ///
    /// Termination: each turn makes one more state unreachable.
    fn merge_equal_states(&mut self) {
        let mut gone = vec![false; self.states.len()];
        let alike = |automaton: &Self, gone: &[bool]| {
            let left = (0..gone.len()).filter(|&state| !gone[state]);
            let left: Vec<usize> = left.collect();
            left.iter().enumerate().find_map(|(idx, &kept)| {
                let same = |&&other: &&usize| {
                    automaton.states[other] == automaton.states[kept]
                        && automaton.accepting[other] == automaton.accepting[kept]
                };
                left[idx + 1..]
                    .iter()
                    .find(same)
                    .map(|&other| (kept, other))
            })
        };
        while let Some((kept, other)) = alike(self, &gone) {
            gone[other] = true;
            for links in &mut self.states {
                for link in links.iter_mut().filter(|link| link.to == other) {
                    link.to = kept;
                }
                links.sort_unstable();
                links.dedup();
            }
            if self.start == other {
                self.start = kept;
            }
        }
    }

    fn drop_unreachable_states(&mut self) {
        let mut reached = vec![self.start];
        let mut next = 0;
        while next < reached.len() {
            for link in &self.states[reached[next]] {
                if !reached.contains(&link.to) {
                    reached.push(link.to);
                }
            }
            next += 1;
        }
        let number = |state: usize| reached.iter().position(|&s| s == state).unwrap_or(0);
        let states = reached.iter().map(|&state| {
            let links = self.states[state].iter().map(|link| Transition {
                to: number(link.to),
                ..*link
            });
            links.collect()
        });
        self.states = states.collect();
        self.accepting = reached.iter().map(|&s| self.accepting[s]).collect();
        self.start = 0;
    }

    /// Whether every walk of at least one link ends at an end of the path: then forward and
    /// backward walks that meet make a path.
    pub fn has_one_state(&self) -> bool {
        self.states.len() == 1
    }

    /// The states that accept, and whether there are several (then ends can be met twice).
    pub fn accepts_in_several(&self) -> bool {
        self.accepting.iter().filter(|a| **a).count() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basalt_rdf::TermId;

    fn edge(id: u64) -> Step {
        Step::Edge {
            label: Label::Link(TermId(id)),
            inverse: false,
        }
    }

    #[test]
    fn closures_of_links_have_one_state() {
        let plus = Automaton::new(&Step::OneOrMore(Box::new(edge(1))));
        let star = Automaton::new(&Step::ZeroOrMore(Box::new(edge(1))));
        let either = Step::Alternative(vec![edge(1), edge(2)]);
        let either = Automaton::new(&Step::ZeroOrMore(Box::new(either)));
        for automaton in [&plus, &star, &either] {
            assert!(automaton.has_one_state(), "{automaton:?}");
            assert_eq!(automaton.accepting, [true]);
        }
        assert_eq!(
            (plus.matches_zero, star.matches_zero, either.states[0].len()),
            (false, true, 2)
        );
    }

    #[test]
    fn nested_closures_collapse() {
        let nested = Step::OneOrMore(Box::new(Step::ZeroOrMore(Box::new(edge(1)))));
        let nested = Automaton::new(&nested);
        assert!(nested.has_one_state() && nested.matches_zero);
    }

    #[test]
    fn sequences_have_a_state_for_each_link() {
        let pair = Step::Sequence(vec![edge(1), edge(2)]);
        let pair = Automaton::new(&Step::ZeroOrMore(Box::new(pair)));
        assert_eq!(pair.states.len(), 2, "{pair:?}");
        assert_eq!(pair.accepting, [true, false]);
        let optional = Automaton::new(&Step::ZeroOrOne(Box::new(edge(1))));
        assert_eq!(optional.states.len(), 2);
        assert_eq!(optional.accepting, [false, true]);
        assert!(optional.matches_zero);
    }
}
