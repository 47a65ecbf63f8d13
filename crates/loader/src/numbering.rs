//! New numbers: terms in the order in which the version uses them.
//!
//! Before anything is written, subjects, predicates and graphs are numbered: the rows of a table get
//! consecutive ordinals in row order. All other resources and the literals are numbered while
//! tables are written, in the order of their first use by table, segment, column and row. So a
//! column of unique texts or of pages that belong to one row each is an arithmetic sequence, which
//! costs nothing; neighbours in a column are neighbours in the dictionary; and the outcome does
//! not depend on which thread saw a term first.
//!
//! Cost: one random access for each cell that holds a resource or a text.

use basalt_rdf::TermId;
use basalt_shapes::TypeClass;
use basalt_store::QuadIds;

use crate::encoder::literal_id;
use crate::grouped::Gathered;
use crate::placement::Placement;
use crate::term_table::{FrozenTerms, IRI};

/// A term that has no new number yet.
pub(crate) const UNNUMBERED: u32 = u32::MAX;

/// The new numbers of resources.
pub(crate) struct ResourceNumbers {
    /// New ordinal by provisional ordinal.
    new: Vec<u32>,
    /// The first ordinal that is given out.
    first: u32,
    /// Provisional ordinals in the order of the ordinals given out.
    pub order: Vec<u32>,
}

/// Where the new numbers of one kind of terms are found.
pub(crate) trait NewNumbers {
    /// The place of a provisional ordinal in the order of the numbers given out, if it was given one.
    fn place(&self, provisional: u32) -> Option<u32>;
}

impl NewNumbers for ResourceNumbers {
    #[inline]
    fn place(&self, provisional: u32) -> Option<u32> {
        let number = Some(self.new[provisional as usize]).filter(|n| *n != UNNUMBERED)?;
        number.checked_sub(self.first)
    }
}

impl NewNumbers for LiteralNumbers {
    #[inline]
    fn place(&self, provisional: u32) -> Option<u32> {
        let number = Some(self.new[provisional as usize]).filter(|n| *n != UNNUMBERED)?;
        number.checked_sub(self.first)
    }
}

impl ResourceNumbers {
    /// Numbers of a load that adds to a store: by provisional ordinal the ordinals of the terms that
    /// the store knows, or [`UNNUMBERED`]; others get numbers from `first` on.
    pub(crate) fn with_known(known: Vec<u32>, first: u32) -> Self {
        Self {
            new: known,
            first,
            order: Vec::new(),
        }
    }

    /// Numbers rows first, then predicates, graphs and the subjects that are no rows.
    pub(crate) fn assign(
        resources: &FrozenTerms,
        gathered: &Gathered,
        placement: &Placement,
    ) -> Self {
        let mut numbers = Self {
            new: vec![UNNUMBERED; resources.ordinal_bound()],
            first: 0,
            order: Vec::with_capacity(resources.len()),
        };
        numbers.number_subjects(gathered, placement);
        numbers
    }

    /// Numbers rows, which are not numbered yet, then predicates, graphs and the subjects that are no
    /// rows.
    pub(crate) fn number_subjects(&mut self, gathered: &Gathered, placement: &Placement) {
        let numbers = self;
        for &rank in placement.tables.iter().flat_map(|t| &t.rows) {
            numbers.number(gathered.subjects[rank as usize]);
        }
        for &predicate in &gathered.predicates {
            numbers.number(predicate);
        }
        for &graph in gathered.graphs.iter().filter(|g| **g > 0) {
            numbers.number(graph - 1);
        }
        for &rank in &placement.loose {
            numbers.number(gathered.subjects[rank as usize]);
        }
    }

    /// The new ordinal of a resource, given now if it had none.
    #[inline]
    fn number(&mut self, provisional: u32) -> u32 {
        let number = &mut self.new[provisional as usize];
        if *number == UNNUMBERED {
            *number = self.first + self.order.len() as u32;
            self.order.push(provisional);
        }
        *number
    }

    /// The final id of a subject, predicate or graph.
    #[inline]
    pub(crate) fn id(&self, provisional: u32) -> TermId {
        let number = self.new[provisional as usize];
        debug_assert_ne!(number, UNNUMBERED);
        TermId::resource(u64::from(number))
    }

    /// Replaces a provisional resource by its final id; other ids stay.
    #[inline]
    pub(crate) fn finalise(&mut self, id: u64) -> u64 {
        match TermId(id).resource_ordinal() {
            Some(provisional) => TermId::resource(u64::from(self.number(provisional as u32))).0,
            None => id,
        }
    }

    /// The final ids of the graphs.
    pub(crate) fn graphs(&self, gathered: &Gathered) -> Vec<TermId> {
        let id = |graph: &u32| match graph {
            0 => TermId::DEFAULT_GRAPH,
            named => self.id(named - 1),
        };
        gathered.graphs.iter().map(id).collect()
    }

    /// The final ids of the predicates.
    pub(crate) fn predicates(&self, gathered: &Gathered) -> Vec<TermId> {
        gathered.predicates.iter().map(|p| self.id(*p)).collect()
    }

    /// Whether a kind in the resource table is that of a blank node.
    pub(crate) fn is_blank(kind: u32) -> bool {
        kind != IRI
    }
}

/// The new numbers of literals, given out at first use.
pub(crate) struct LiteralNumbers {
    /// New ordinal by provisional ordinal, or the mark for none yet.
    new: Vec<u32>,
    /// The first ordinal that is given out.
    first: u32,
    /// Provisional ordinals in the order of the ordinals given out.
    pub order: Vec<u32>,
    /// Places in this order at which the literals of another column begin.
    pub run_ends: Vec<u32>,
}

impl LiteralNumbers {
    /// No literal has a number yet.
    pub(crate) fn new(literals: &FrozenTerms) -> Self {
        Self {
            new: vec![UNNUMBERED; literals.ordinal_bound()],
            first: 0,
            order: Vec::with_capacity(literals.len()),
            run_ends: Vec::new(),
        }
    }

    /// Numbers of a load that adds to a store; see [`ResourceNumbers::with_known`].
    pub(crate) fn with_known(known: Vec<u32>, first: u32) -> Self {
        Self {
            new: known,
            first,
            order: Vec::new(),
            run_ends: Vec::new(),
        }
    }

    /// Marks that literals of another column follow, which compress better by themselves.
    pub(crate) fn end_run(&mut self) {
        let end = self.order.len() as u32;
        if self.run_ends.last() != Some(&end) {
            self.run_ends.push(end);
        }
    }

    /// Replaces a provisional literal of the dictionary by its final id; other ids stay.
    #[inline]
    pub(crate) fn finalise(&mut self, id: u64) -> u64 {
        let term = TermId(id);
        if !term.is_dictionary_literal() {
            return id;
        }
        let provisional = term.literal_ordinal();
        let number = &mut self.new[provisional as usize];
        if *number == UNNUMBERED {
            *number = self.first + self.order.len() as u32;
            self.order.push(provisional as u32);
        }
        let kind = u32::from(term.tag()) << 16 | u32::from(term.qualifier());
        literal_id(kind, u64::from(*number)).0
    }
}

/// The new numbers of all terms.
pub(crate) struct TermNumbers {
    /// IRIs and blank nodes.
    pub resources: ResourceNumbers,
    /// Literals of the dictionary.
    pub literals: LiteralNumbers,
}

impl TermNumbers {
    /// Replaces the provisional ids of one column by final ones.
    pub(crate) fn finalise(&mut self, class: TypeClass, ids: &mut [u64]) {
        match class {
            TypeClass::Resource => {
                for id in ids {
                    *id = self.resources.finalise(*id);
                }
            }
            TypeClass::Text => {
                for id in ids {
                    *id = self.literals.finalise(*id);
                }
                self.literals.end_run();
            }
            TypeClass::Boolean | TypeClass::Temporal | TypeClass::Number => {}
        }
    }

    /// Numbers the objects of irregular quads by predicate and subject, the order in which they
    /// are read.
    pub(crate) fn finalise_irregular(&mut self, quads: &mut [QuadIds]) {
        quads.sort_by_key(|q| (q.predicate, q.subject));
        self.literals.end_run();
        for quad in quads {
            self.finalise_object(quad);
        }
    }

    /// Replaces the object of an irregular quad by its final id.
    #[inline]
    pub(crate) fn finalise_object(&mut self, quad: &mut QuadIds) {
        quad.object.0 = self
            .literals
            .finalise(self.resources.finalise(quad.object.0));
    }
}
