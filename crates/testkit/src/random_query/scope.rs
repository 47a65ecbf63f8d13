//! The variables that a group can see, and what they are likely to hold.

use crate::random_data::Range;

/// What a variable is likely to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A subject of the class with this index.
    Resource(usize),
    /// A literal of this range.
    Value(Range),
    /// An IRI of a predicate.
    Predicate,
    /// The name of a graph.
    Graph,
    /// Some number that was computed.
    Number,
    /// Some string that was computed.
    Text,
    /// Some result of an expression or unknown object.
    Any,
}

impl Kind {
    /// Whether arithmetic on it has a value.
    pub(super) fn is_number(self) -> bool {
        matches!(
            self,
            Self::Number
                | Self::Value(Range::Integer | Range::Decimal | Range::Double | Range::Float)
        )
    }

    /// Whether string functions of it have a value.
    pub(super) fn is_text(self) -> bool {
        matches!(
            self,
            Self::Text | Self::Value(Range::Text | Range::LangText)
        )
    }
}

/// The variables a group can see, in order of appearance.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// The variables.
    variables: Vec<Visible>,
}

/// A variable in a scope.
#[derive(Debug, Clone)]
pub(super) struct Visible {
    /// The name with question mark.
    pub(super) name: String,
    /// What it is likely to hold.
    pub(super) kind: Kind,
    /// Whether the group itself binds it; others are bound around the group only, where expressions of
    /// the group do not see them.
    is_local: bool,
}

impl Scope {
    /// Adds a variable that the group binds.
    pub(super) fn add(&mut self, name: &str, kind: Kind) {
        match self.variables.iter_mut().find(|known| known.name == name) {
            Some(known) => known.is_local = true,
            None => self.variables.push(Visible {
                name: name.to_owned(),
                kind,
                is_local: true,
            }),
        }
    }

    /// What a group inside can join with, but its expressions do not see.
    pub(super) fn inner(&self) -> Self {
        let mut inner = self.clone();
        for variable in &mut inner.variables {
            variable.is_local = false;
        }
        inner
    }

    /// Adds what a group inside has bound.
    pub(super) fn add_all(&mut self, other: &Self) {
        for known in other.variables.iter().filter(|known| known.is_local) {
            self.add(&known.name, known.kind);
        }
    }

    /// Whether the group binds nothing yet.
    pub(super) fn is_empty(&self) -> bool {
        self.local().next().is_none()
    }

    /// The variables that the group binds.
    pub(super) fn local(&self) -> impl Iterator<Item = &Visible> {
        self.variables.iter().filter(|known| known.is_local)
    }

    /// All variables, those of groups around included.
    pub(super) fn all(&self) -> &[Visible] {
        &self.variables
    }

    /// The names of the variables that the group binds.
    pub(super) fn names(&self) -> Vec<String> {
        self.of_kind(|_| true)
    }

    /// The names of variables of certain kinds that the group binds.
    pub(super) fn of_kind(&self, accept: impl Fn(Kind) -> bool) -> Vec<String> {
        self.local()
            .filter(|known| accept(known.kind))
            .map(|known| known.name.clone())
            .collect()
    }
}
