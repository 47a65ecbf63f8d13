//! Statistics of a snapshot, as the planner asks for them. What looks at rows is in `samples`.

mod reached;
mod samples;

use basalt_plan::KnownStars;
use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{
    ColumnStatistics, IrregularStatistics, LinkOfWalk, Reached, SampleOf, Sampled, StarEstimate,
    Statistics,
};
use basalt_rdf::qualifiers::{FLOAT, XSD_NUMERIC};
use basalt_rdf::{TermId, TermView};
use basalt_store::{
    CellReader, Cells, GraphSet, KeptSet, PredicateQuads, RareSubjects, Snapshot, Table,
};
use samples::{
    Finding, SAMPLED_FROM_MAX, Tested, equal_pairs, sampled_cells, sampled_rows, spread_irregular,
    test_rows, together,
};
use std::collections::HashMap;

/// Characteristic sets whose values are looked at for one estimate, those with most subjects; more would cost more than a better plan saves.
const CHARACTERISTIC_SETS_READ: usize = 1024;
/// Objects that are read for the subjects of a sample; with more of them formulas are to say the rest.
const OBJECTS_READ_MAX: usize = 1 << 16;

/// The subjects of some characteristic sets by table, with the solutions of a star over them, and those of `rare` sets; see
/// [`Statistics::star`]. The predicates of a set ascend.
pub(crate) fn star_of_sets<'a>(
    sets: impl Iterator<Item = KeptSet<'a>>,
    rare: impl Iterator<Item = RareSubjects>,
    counted: &[TermId],
    optional: &[TermId],
) -> Vec<StarEstimate> {
    let mut groups = GroupsByTable::default();
    let mut unread: Vec<(Option<usize>, f64)> = Vec::new();
    let mut unread_places: HashMap<Option<usize>, usize> = HashMap::new();
    for (place, set) in sets.enumerate() {
        let subjects = set.subjects as f64;
        if place >= CHARACTERISTIC_SETS_READ {
            let at = *unread_places.entry(set.table).or_insert_with(|| {
                unread.push((set.table, 0.0));
                unread.len() - 1
            });
            unread[at].1 += subjects;
            continue;
        }
        let values = |predicate: &TermId| match set.predicates.binary_search(predicate) {
            Ok(place) => set.values[place] as f64 / subjects.max(1.0),
            Err(_) => 0.0,
        };
        let counted: f64 = counted.iter().map(values).product();
        let optional: f64 = optional.iter().map(|p| values(p).max(1.0)).product();
        let group = groups.of(set.table);
        group.subjects += subjects;
        group.solutions += subjects * counted * optional;
    }
    // Those are taken to have as many values as the subjects that were looked at.
    let all = groups
        .groups
        .iter()
        .fold((0.0, 0.0), |(subjects, solutions), group| {
            (subjects + group.subjects, solutions + group.solutions)
        });
    for (table, subjects) in unread {
        let group = groups.of(table);
        let (read, solutions) = match group.subjects > 0.0 {
            true => (group.subjects, group.solutions),
            false => all,
        };
        group.subjects += subjects;
        group.solutions += subjects * solutions / read.max(1.0);
    }
    for of_rare in rare {
        let group = groups.of(of_rare.table);
        group.subjects += of_rare.subjects;
        group.solutions += of_rare.solutions;
    }
    groups.groups
}

/// The groups of a star, in the order in which their tables came first; they may be as many as tables.
#[derive(Default)]
struct GroupsByTable {
    groups: Vec<StarEstimate>,
    places: HashMap<Option<usize>, usize>,
}

impl GroupsByTable {
    /// The group of a table, which is made if there is none.
    fn of(&mut self, table: Option<usize>) -> &mut StarEstimate {
        let place = *self.places.entry(table).or_insert_with(|| {
            self.groups.push(StarEstimate {
                table: table.map(|idx| TableIdx(idx as u32)),
                subjects: 0.0,
                solutions: 0.0,
            });
            self.groups.len() - 1
        });
        &mut self.groups[place]
    }
}

/// A snapshot's statistics.
pub struct SnapshotStatistics<'a> {
    snapshot: &'a Snapshot,
    known_stars: Option<&'a KnownStars>,
}

impl<'a> SnapshotStatistics<'a> {
    /// Those of a snapshot, without what queries before found out.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            known_stars: None,
        }
    }

    /// With what queries before found out about stars, on the same state of the data.
    pub fn with_known_stars(snapshot: &'a Snapshot, known_stars: &'a KnownStars) -> Self {
        Self {
            snapshot,
            known_stars: Some(known_stars),
        }
    }
}

impl SnapshotStatistics<'_> {
    /// Distinct objects of irregular quads. Of added ones it is only known that they are not more than the quads; that their values
    /// repeat as those in cells do is a better guess: the offers of today name the vendors of yesterday, each with a web page of its own.
    fn irregular_objects(&self, predicate: TermId, known: PredicateQuads) -> u64 {
        let of_version = self.snapshot.irregular_of_version(predicate);
        let added = known.quads.saturating_sub(of_version);
        if added == 0 {
            return known.objects;
        }
        let cells = self.snapshot.cells_of(predicate);
        let (values, distinct) = cells.fold((0, 0), |(values, distinct), cells| {
            let known = cells.statistics();
            (values + known.values, distinct + known.distinct)
        });
        if values == 0 {
            return known.objects;
        }
        let anew = added as f64 * (distinct as f64 / values as f64).min(1.0);
        known.objects - added.min(known.objects) + anew.ceil() as u64
    }

    fn table(&self, table: TableIdx) -> &Table {
        &self.snapshot.tables()[table.0 as usize]
    }

    /// The subjects that no file knows and that may have all of these predicates: as many as have the rarest, with one value
    /// of each.
    fn new_subjects(&self, required: &[TermId]) -> Option<StarEstimate> {
        let counts = required.iter().map(|p| self.snapshot.change_places(*p).new);
        let rarest = counts.min().filter(|&count| count > 0)?;
        Some(StarEstimate {
            table: None,
            subjects: rarest as f64,
            solutions: rarest as f64,
        })
    }

    /// The partners of sampled values; see [`Statistics::partners`].
    fn work_out_partners(
        &self,
        from: (&[TableIdx], TermId),
        into: (&[TableIdx], TermId),
    ) -> Option<f64> {
        let cells_of = |(tables, predicate): (&[TableIdx], TermId)| {
            let cells = tables.iter().map(|t| {
                let table = self.table(*t);
                Some((*t, table.rows(), table.cells(predicate)?))
            });
            cells.collect::<Option<Vec<_>>>()
        };
        let (from, into) = (cells_of(from)?, cells_of(into)?);
        if from.is_empty() || into.is_empty() {
            return None;
        }
        if !into.iter().all(|(_, _, cells)| cells.has_inverse()) {
            return equal_pairs(&sampled_cells(&from, 0), &sampled_cells(&into, 1));
        }
        let looked_at = sampled_cells(&from, 0);
        let partners = |value: u64| {
            let counts = into.iter().map(|(_, _, c)| c.count_object(TermId(value)));
            counts.map(Option::unwrap_or_default).sum::<u64>()
        };
        let found: u64 = looked_at
            .values
            .iter()
            .map(|(_, value)| partners(*value))
            .sum();
        (!looked_at.values.is_empty()).then(|| found as f64 / looked_at.values.len() as f64)
    }
}

impl Statistics for SnapshotStatistics<'_> {
    fn known_stars(&self) -> Option<&KnownStars> {
        self.known_stars
    }

    fn quad_count(&self) -> u64 {
        self.snapshot.quad_count()
    }

    fn term_id(&self, term: &oxrdf::Term) -> Option<TermId> {
        let dictionary = self.snapshot.dictionary();
        match TermView::from(term.as_ref()) {
            // A label of a query never names a stored blank node.
            TermView::Blank(_) => None,
            view => dictionary.find(view),
        }
    }

    fn term_ids(&self, term: &oxrdf::Term) -> Vec<TermId> {
        match TermView::from(term.as_ref()) {
            TermView::Blank(_) => Vec::new(),
            view => self.snapshot.dictionary().find_all_cases(view),
        }
    }

    fn table_count(&self) -> usize {
        self.snapshot.tables().len()
    }

    fn table_name(&self, table: TableIdx) -> String {
        self.table(table).name().to_owned()
    }

    fn table_rows(&self, table: TableIdx) -> u64 {
        u64::from(self.table(table).rows())
    }

    fn table_graph(&self, table: TableIdx) -> Option<TermId> {
        self.table(table).constant_graph()
    }

    fn graph_share(&self, table: TableIdx, graph: TermId) -> f64 {
        let table = self.table(table);
        if let Some(home) = table.constant_graph() {
            return f64::from(u8::from(home == graph));
        }
        table.quads_in_graph(graph) as f64 / table.quads_in_cells().max(1) as f64
    }

    fn graph_quads(&self, graph: TermId) -> Option<u64> {
        // Those of the default graph are not counted by themselves, and graphs may be very many.
        if graph == TermId::DEFAULT_GRAPH {
            return None;
        }
        Some(self.snapshot.quads_in(&GraphSet::One(graph)))
    }

    fn only_graph(&self, among: Option<&[TermId]>) -> Option<TermId> {
        if let Some(among) = among {
            let may_have_quads = |graph: &&TermId| self.graph_quads(**graph) != Some(0);
            let mut left = among.iter().filter(may_have_quads);
            return left.next().filter(|_| left.next().is_none()).copied();
        }
        // With changes a list of the graphs must be made.
        match self.snapshot.named_graph_count() {
            0 => Some(TermId::DEFAULT_GRAPH),
            1 => match self.snapshot.named_graphs() {
                [(graph, quads)] if *quads == self.quad_count() => Some(*graph),
                _ => None,
            },
            _ => None,
        }
    }

    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics> {
        let table_idx = table.0 as usize;
        let cells = self.table(table).cells(predicate)?;
        let known = cells.statistics();
        Some(ColumnStatistics {
            rows_with_value: known.rows_with_value,
            values: known.values,
            distinct: known.distinct,
            distinct_is_exact: known.distinct_is_exact,
            range: known.range,
            multi_valued: cells.multi_valued(),
            has_inverse: cells.has_inverse(),
            rows_apart: cells.rows_apart(),
            dirty_rows: self.snapshot.dirty_row_count(table_idx, predicate),
            links: known
                .links
                .iter()
                .map(|&(idx, count)| (TableIdx(idx as u32), count))
                .collect(),
        })
    }

    fn object_count(&self, table: TableIdx, predicate: TermId, object: TermId) -> Option<u64> {
        self.table(table).cells(predicate)?.count_object(object)
    }

    fn irregular(&self, predicate: TermId) -> IrregularStatistics {
        let known = self
            .snapshot
            .quad_table()
            .predicate(predicate)
            .unwrap_or_default();
        // Rows that lost a quad go the general way as well, so "none" is said of untouched predicates only.
        let quads = match self.snapshot.changed_quads(predicate) {
            0 => known.quads,
            changed => known.quads.max(changed),
        };
        IrregularStatistics {
            quads,
            subjects: known.subjects,
            objects: self.irregular_objects(predicate, known),
        }
    }

    fn irregular_quad_count(&self) -> u64 {
        let predicates = self.snapshot.quad_table().predicates();
        predicates.map(|(_, known)| known.quads).sum()
    }

    fn irregular_in_files(&self, predicate: TermId) -> u64 {
        self.snapshot.irregular_of_version(predicate)
    }

    fn added_links(&self, predicate: TermId) -> Vec<(TableIdx, u64)> {
        let links = self.snapshot.added_links(predicate).into_iter();
        links
            .map(|(idx, count)| (TableIdx(idx as u32), count))
            .collect()
    }

    fn looked_up_quads(&self, predicate: TermId) -> u64 {
        let places = self.snapshot.change_places(predicate);
        let new = match places.new_graph {
            Some(_) => 0,
            None => places.new,
        };
        let changed = match places.foreign {
            0 => 0,
            _ => self.snapshot.changed_quads(predicate),
        };
        self.snapshot.irregular_of_version(predicate) + places.loose + new + changed
    }

    fn irregular_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        self.snapshot.quad_table().object_range(predicate)
    }

    fn has_written_floats(&self) -> bool {
        let qualifiers = self.snapshot.dictionary().qualifiers();
        qualifiers
            .find_datatype(XSD_NUMERIC[usize::from(FLOAT)])
            .is_some()
    }

    fn irregular_object_count(&self, predicate: TermId, object: TermId) -> u64 {
        // An unreadable block costs a good plan, not the answer: the query will meet it and report it.
        self.snapshot
            .quad_table()
            .count_object(predicate, object)
            .unwrap_or(0)
    }

    fn table_of(&self, resource: TermId) -> Option<TableIdx> {
        self.snapshot
            .row_of(resource)
            .map(|(table_idx, _)| TableIdx(table_idx as u32))
    }

    fn predicate_quads(&self, predicate: TermId) -> u64 {
        self.snapshot.predicate_quads(predicate)
    }

    fn named_graph_count(&self) -> u64 {
        self.snapshot.named_graph_count()
    }

    fn star(
        &self,
        required: &[TermId],
        counted: &[TermId],
        optional: &[TermId],
    ) -> Option<Vec<StarEstimate>> {
        if self.snapshot.statistics().characteristic_sets.is_empty() {
            return None;
        }
        let sets = self.snapshot.sets_with(required).into_iter();
        let rare = self.snapshot.rare_sets().star(required, counted, optional);
        let mut groups = star_of_sets(sets.map(KeptSet::of), rare, counted, optional);
        groups.extend(self.new_subjects(required));
        Some(groups)
    }

    fn sample(&self, wanted: &SampleOf<'_>) -> Option<Sampled> {
        let table = self.table(wanted.table);
        let (rows, population) =
            sampled_rows(table, wanted.having, wanted.rows_max, Finding::Inverse)?;
        let tested = rows.len();
        let Tested { rows, passed } = test_rows(table, wanted.tests, rows);
        let counted = wanted.counted.iter();
        let counted = counted.filter_map(|p| table.cells(*p)).collect();
        Some(Sampled {
            population: population as f64,
            tested,
            passed,
            together: together(counted, &rows),
        })
    }

    fn partners(&self, from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> Option<f64> {
        let cells = |(tables, predicate): (&[TableIdx], TermId)| {
            let tables = tables.iter().map(|table| table.0 as usize);
            (tables.collect(), predicate)
        };
        let work_out = || self.work_out_partners(from, into);
        self.snapshot.partners(cells(from), cells(into), work_out)
    }

    fn quads_of_row(&self, table: TableIdx) -> Option<f64> {
        let table = self.table(table);
        Some(table.quads_in_cells() as f64 / f64::from(table.rows()).max(1.0))
    }

    fn links_to_row(&self, table: TableIdx) -> Option<f64> {
        let links = self.snapshot.links_to_table(table.0 as usize);
        Some(links as f64 / f64::from(self.table(table).rows()).max(1.0))
    }

    fn spread_rows(
        &self,
        table: TableIdx,
        having: Option<(TermId, TermId)>,
        rows_max: usize,
    ) -> Option<(Vec<TermId>, f64)> {
        let table = self.table(table);
        let (rows, population) = sampled_rows(table, having, rows_max, Finding::Search)?;
        let subjects = rows.into_iter().map(|row| table.subject(row));
        Some((subjects.collect(), population as f64))
    }

    fn spread_irregular(
        &self,
        predicate: TermId,
        object: Option<TermId>,
        subjects_max: usize,
    ) -> Vec<(TermId, f64)> {
        spread_irregular(self.snapshot, predicate, object, subjects_max).unwrap_or_default()
    }

    fn objects_of(
        &self,
        predicate: TermId,
        subjects: &[TermId],
        visit: &mut dyn FnMut(&[TermId]),
    ) -> bool {
        let (mut objects, mut read) = (Vec::new(), 0);
        let mut reader = self.snapshot.object_reader(predicate);
        for subject in subjects {
            objects.clear();
            // An unreadable block costs a good plan, not the answer, as above.
            if reader.read(*subject, &mut objects).is_err() {
                return false;
            }
            read += objects.len();
            if read > OBJECTS_READ_MAX {
                return false;
            }
            visit(&objects);
        }
        true
    }

    fn subjects_with(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        wanted: &[(TermId, u64)],
    ) -> Option<Vec<TermId>> {
        let columns = tables.iter().filter_map(|t| {
            let table = self.table(*t);
            Some((table, table.cells(predicate)?.reader()))
        });
        let mut columns: Vec<(&Table, CellReader<'_>)> = columns.collect();
        let subject = |&(object, number): &(TermId, u64)| {
            let mut number = number;
            for (table, cells) in &mut columns {
                let count = cells.count_object(object)?;
                if number < count {
                    return Some(table.subject(cells.nth_with(object, number)?));
                }
                number -= count;
            }
            let irregular = self.snapshot.quad_table();
            let is_few = irregular.count_object(predicate, object).ok()? <= SAMPLED_FROM_MAX;
            is_few.then_some(())?;
            irregular.nth_with(predicate, object, number).ok()?
        };
        wanted.iter().map(subject).collect()
    }

    fn quads_with_objects(
        &self,
        tables: &[TableIdx],
        predicate: TermId,
        objects: &[TermId],
    ) -> Option<Vec<f64>> {
        let columns = tables.iter().map(|t| self.table(*t).cells(predicate));
        let columns = columns.flatten().map(Cells::reader);
        let mut columns: Vec<CellReader<'_>> = columns.collect();
        let is_irregular = self.irregular(predicate).quads > 0;
        let count = |object: &TermId| {
            let mut count = match is_irregular {
                true => self.irregular_object_count(predicate, *object),
                false => 0,
            };
            for cells in &mut columns {
                count += cells.count_object(*object)?;
            }
            Some(count as f64)
        };
        objects.iter().map(count).collect()
    }

    fn reached(&self, links: &[LinkOfWalk], start: TermId) -> Option<Reached> {
        reached::reached(self, links, start)
    }

    fn predicate_count(&self) -> u64 {
        self.snapshot.statistics().predicates.len() as u64
    }

    fn subject_count(&self) -> u64 {
        self.snapshot.statistics().subject_count
    }
}
