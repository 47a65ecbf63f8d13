//! What the planner may know of the data: statistics and term lookup behind one trait.
//!
//! The store implements it for a snapshot; tests implement it over a handful of numbers. Counts are
//! exact unless said otherwise, but where the store was changed in memory those of cells are as before
//! and those of irregular quads at least as large as they are. No method does more than a few binary searches.

use crate::known_stars::KnownStars;
use crate::physical::{Constant, TableIdx};
use basalt_rdf::TermId;

/// What is known of one predicate inside one table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Rows with at least one value in cells.
    pub rows_with_value: u64,
    /// Values in cells.
    pub values: u64,
    /// Distinct values in cells (an estimate where `distinct_is_exact` is false).
    pub distinct: u64,
    /// Whether `distinct` was counted.
    pub distinct_is_exact: bool,
    /// Smallest and largest id in cells, if any.
    pub range: Option<(TermId, TermId)>,
    /// Whether a row can have several values.
    pub multi_valued: bool,
    /// Whether an inverse (adjacency, bitmap or sorted permutation) exists.
    pub has_inverse: bool,
    /// How many rows further on the next row with the same value is, on average: 1 where they lie beside each other, and where nobody
    /// knows.
    pub rows_apart: u32,
    /// Rows whose irregular quads carry this predicate, or that were changed; 0 exactly if there are none.
    pub dirty_rows: u64,
    /// Values that are rows of a table, by table.
    pub links: Vec<(TableIdx, u64)>,
}

/// What is known of the irregular quads of one predicate. No quads means that cells tell all of the
/// predicate: nothing is irregular, no row was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IrregularStatistics {
    /// Quads.
    pub quads: u64,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
}

/// The subjects of one table, or of none, that have all of some predicates, from characteristic sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StarEstimate {
    /// The table whose rows they are.
    pub table: Option<TableIdx>,
    /// Subjects.
    pub subjects: f64,
    /// Solutions of the star over them: for each subject the product of the numbers of its values.
    pub solutions: f64,
}

/// A test of the cells that a row has of a predicate.
#[derive(Clone, Copy)]
pub struct RowTest<'a> {
    /// The predicate.
    pub predicate: TermId,
    /// How likely a value passes, from 0 to 1; a row passes as its best value does.
    pub passes: &'a dyn Fn(TermId) -> f64,
}

/// Which rows of a table are looked at, and what for.
pub struct SampleOf<'a> {
    /// The table.
    pub table: TableIdx,
    /// Rows with this object of a predicate only; `None` is any, spread evenly.
    pub having: Option<(TermId, TermId)>,
    /// What they are tested for, one after the other.
    pub tests: &'a [RowTest<'a>],
    /// The predicates whose numbers of values are multiplied.
    pub counted: &'a [TermId],
    /// Rows looked at.
    pub rows_max: usize,
}

/// How rows that were looked at did.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The rows that they were taken from.
    pub population: f64,
    /// The rows looked at.
    pub tested: usize,
    /// How many passed the tests up to each of them.
    pub passed: Vec<f64>,
    /// The mean product of the numbers of values of the counted predicates over the rows that passed, divided by
    /// the product of the means: 1 if they do not depend on each other.
    pub together: f64,
}

/// A link that a walk may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOfWalk {
    /// The predicate.
    pub predicate: TermId,
    /// Whether it is followed from objects to subjects.
    pub is_inverse: bool,
}

/// What walks from a node reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Nodes met, and the links that lead on from the last of them where these were too many to follow.
    pub nodes: f64,
    /// Whether these are all.
    pub is_all: bool,
}

/// Statistics of one snapshot.
pub trait Statistics {
    /// All quads.
    fn quad_count(&self) -> u64;
    /// The id of a term, if the store can hold it: inline kinds always, others if the dictionary has them.
    fn term_id(&self, term: &oxrdf::Term) -> Option<TermId>;
    /// The ids of every stored term that is the same but for the case of its language tag; of a term
    /// without a tag the one that it has.
    fn term_ids(&self, term: &oxrdf::Term) -> Vec<TermId> {
        self.term_id(term).into_iter().collect()
    }
    /// What queries before worked out about stars of the same state, if that is kept.
    fn known_stars(&self) -> Option<&KnownStars> {
        None
    }
    /// Number of tables.
    fn table_count(&self) -> usize;
    /// Name of a table, for EXPLAIN.
    fn table_name(&self, table: TableIdx) -> String;
    /// Rows of a table.
    fn table_rows(&self, table: TableIdx) -> u64;
    /// If all rows of the table have the same home graph, that graph.
    fn table_graph(&self, table: TableIdx) -> Option<TermId>;
    /// The share of the quads in the cells of a table that are in this graph.
    fn graph_share(&self, _table: TableIdx, _graph: TermId) -> f64 {
        1.0
    }
    /// Quads of a graph, wherever they are; `None` where they are not counted.
    fn graph_quads(&self, _graph: TermId) -> Option<u64> {
        None
    }
    /// The only one of these graphs, or of all, that has quads, if there is one.
    fn only_graph(&self, among: Option<&[TermId]>) -> Option<TermId> {
        let no_names = among.is_none() && self.named_graph_count() == 0;
        no_names.then_some(TermId::DEFAULT_GRAPH)
    }
    /// Statistics of a predicate's cells in a table; `None` if the table has no column for it.
    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics>;
    /// Exact number of cell values equal to `object`, where an inverse can tell it cheaply.
    fn object_count(&self, table: TableIdx, predicate: TermId, object: TermId) -> Option<u64>;
    /// Irregular quads of a predicate; zeros if none.
    fn irregular(&self, predicate: TermId) -> IrregularStatistics;
    /// Irregular quads of all predicates.
    fn irregular_quad_count(&self) -> u64 {
        0
    }
    /// Irregular quads of a predicate that are no changes in memory. If there are none, values of the predicate are
    /// in cells, or are objects of added quads.
    fn irregular_in_files(&self, predicate: TermId) -> u64 {
        self.irregular(predicate).quads
    }
    /// The tables whose rows are objects of the added quads of a predicate, with the number of these quads; exact.
    fn added_links(&self, _predicate: TermId) -> Vec<(TableIdx, u64)> {
        Vec::new()
    }
    /// Irregular quads of a predicate whose subjects are looked up one by one: all but those that changes read as columns
    /// tell of.
    fn looked_up_quads(&self, predicate: TermId) -> u64 {
        self.irregular(predicate).quads
    }
    /// Bounds of the objects of the irregular quads of a predicate, those that changes removed included or not; `None` if there
    /// are none.
    fn irregular_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        let has_some = self.irregular(predicate).quads > 0;
        has_some.then_some((TermId(0), TermId(u64::MAX)))
    }
    /// Whether some `xsd:float` may be a term of the dictionary, and not its own id.
    fn has_written_floats(&self) -> bool {
        true
    }
    /// Irregular quads with this predicate and object.
    fn irregular_object_count(&self, predicate: TermId, object: TermId) -> u64;
    /// The table that has this resource as a row.
    fn table_of(&self, resource: TermId) -> Option<TableIdx>;
    /// Quads of a predicate wherever they are (cells and irregular).
    fn predicate_quads(&self, predicate: TermId) -> u64;
    /// Named graphs of the store.
    fn named_graph_count(&self) -> u64;
    /// Subjects that have all `required` predicates, and the solutions over the `counted` ones of them and the
    /// `optional` ones, by table; `None` where no characteristic sets are kept.
    fn star(
        &self,
        required: &[TermId],
        counted: &[TermId],
        optional: &[TermId],
    ) -> Option<Vec<StarEstimate>>;
    /// Looks at some rows; `None` where rows cannot be looked at, or those wanted not be found cheaply.
    fn sample(&self, _wanted: &SampleOf<'_>) -> Option<Sampled> {
        None
    }
    /// The mean number of quads in cells that a row of a table has as their subject; `None` where that is not known.
    fn quads_of_row(&self, _table: TableIdx) -> Option<f64> {
        None
    }
    /// The mean number of quads in cells that a row of a table has as their object; `None` as above.
    fn links_to_row(&self, _table: TableIdx) -> Option<f64> {
        None
    }
    /// Distinct predicates of the store.
    fn predicate_count(&self) -> u64;
    /// The mean number of cells of `into` with a value, over values of the cells of `from`: how many partners each of them
    /// has. Both are a predicate in some tables; `None` where that cannot be counted cheaply.
    fn partners(&self, _from: (&[TableIdx], TermId), _into: (&[TableIdx], TermId)) -> Option<f64> {
        None
    }
    /// Up to so many rows of a table, spread evenly over all or over those with an object of a predicate, as subjects; and how many
    /// they were taken from. `None` as for a sample.
    fn spread_rows(
        &self,
        _table: TableIdx,
        _having: Option<(TermId, TermId)>,
        _rows_max: usize,
    ) -> Option<(Vec<TermId>, f64)> {
        None
    }
    /// Subjects of irregular quads of a predicate, with this object if one is given, each once where there are few, and for how many
    /// subjects each of them stands.
    fn spread_irregular(
        &self,
        _predicate: TermId,
        _object: Option<TermId>,
        _subjects_max: usize,
    ) -> Vec<(TermId, f64)> {
        Vec::new()
    }
    /// Shows the objects that each of these subjects has of a predicate, wherever the quads are, one subject after the other; returns whether
    /// that can be done.
    fn objects_of(
        &self,
        _predicate: TermId,
        _subjects: &[TermId],
        _visit: &mut dyn FnMut(&[TermId]),
    ) -> bool {
        false
    }
    /// For objects and numbers below what [`Self::quads_with_objects`] counts for them: the subject of the quad with the number. `None`
    /// where that cannot be found cheaply.
    fn subjects_with(
        &self,
        _tables: &[TableIdx],
        _predicate: TermId,
        _wanted: &[(TermId, u64)],
    ) -> Option<Vec<TermId>> {
        None
    }
    /// How many quads of a predicate, in cells of some tables or irregular, have each of these objects; `None` where that cannot be
    /// counted cheaply.
    fn quads_with_objects(
        &self,
        _tables: &[TableIdx],
        _predicate: TermId,
        _objects: &[TermId],
    ) -> Option<Vec<f64>> {
        None
    }
    /// The nodes that walks of one link or more reach from a node, in whatever graphs, as far as a walk of some tenths of a millisecond
    /// comes; `None` where nobody can walk.
    fn reached(&self, _links: &[LinkOfWalk], _start: TermId) -> Option<Reached> {
        None
    }
    /// Subjects in the store (all characteristic sets together).
    fn subject_count(&self) -> u64;
}

/// The constants that a literal of the query stands for, if they are several: stored terms that differ
/// from it in the case of the language tag alone.
pub(crate) fn spellings(statistics: &dyn Statistics, term: &oxrdf::Term) -> Option<Vec<Constant>> {
    let oxrdf::Term::Literal(literal) = term else {
        return None;
    };
    literal.language()?;
    let ids = statistics.term_ids(term);
    let spelled = |id| Constant {
        term: term.clone(),
        id: Some(id),
    };
    (ids.len() > 1).then(|| ids.into_iter().map(spelled).collect())
}

/// Makes the [`Constant`] for a term of the query.
pub fn constant(statistics: &dyn Statistics, term: &oxrdf::Term) -> Constant {
    Constant {
        term: term.clone(),
        id: statistics.term_id(term),
    }
}
