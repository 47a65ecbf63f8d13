//! Discovery beside tables that exist: new subjects become parts of known shapes where they fit.
//!
//! A set fits the known shape of its class if the shape's columns take most of its quads. A set of a class
//! that is known but has no shape (the choice among the types of a subject hangs on the data seen, and
//! categories have none, see `categories.rs`), fits the most similar shape that takes most of its quads, one
//! without a class the most similar of those without. What fits nowhere is
//! discovered as if it came alone. Cost: characteristic sets times shapes that share a predicate.

use crate::charsets::{CharacteristicSets, Charset};
use crate::columns::{self, Totals};
use crate::discover::discover;
use crate::fast_map::FastMap;
use crate::links::Links;
use crate::naming::{Names, UniqueNames};
use crate::schema::{ColumnShape, Schema, TableShape};
use crate::settings::Settings;
use crate::type_class::TypeClass;
use basalt_rdf::TermId;

/// The least similarity (cosine of the sets of predicates) to a shape that is not of the set's class.
/// Half, because sets of one kind of thing that lack half of its predicates are seldom of another kind.
const SIMILARITY_MIN: f64 = 0.5;

/// A shape that has tables already.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownShape {
    /// Its name.
    pub name: String,
    /// The class of its rows, if it has one and the new data mentions it.
    pub class: Option<u64>,
    /// Whether its rows have a class, mentioned or not.
    pub has_class: bool,
    /// The columns whose predicate occurs in the new data.
    pub columns: Vec<KnownColumn>,
    /// All its predicates, also those that do not occur in the new data.
    pub predicate_count: usize,
}

/// A column of a known shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownColumn {
    /// The predicate, as the index that the collector saw.
    pub predicate: u32,
    /// The class of the values.
    pub type_class: TypeClass,
    /// Whether a cell holds a list.
    pub multi_valued: bool,
}

/// Finds tables for new subjects. Tables of known shapes have their names. `is_known` tells whether a
/// class was there before the new data.
pub fn discover_parts(
    charsets: &CharacteristicSets,
    links: &Links,
    known: &[KnownShape],
    settings: &Settings,
    names: &dyn Names,
    is_known: &dyn Fn(TermId) -> bool,
) -> Schema {
    let fitting = Fitting::new(known, settings, is_known);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); known.len()];
    let mut rest = Vec::new();
    for (at, set) in charsets.sets.iter().enumerate() {
        match fitting.shape_of(set) {
            Some(shape) => members[shape].push(at as u32),
            None => rest.push(at as u32),
        }
    }
    let mut schema = Schema {
        charset_to_table: vec![None; charsets.sets.len()],
        ..Schema::default()
    };
    for (shape, members) in known.iter().zip(members) {
        match part_of(shape, &members, charsets, settings) {
            Some(part) => {
                for &member in &members {
                    schema.charset_to_table[member as usize] = Some(schema.tables.len());
                }
                schema.tables.push(part);
            }
            None => rest.extend(members),
        }
    }
    rest.sort_unstable();
    let parts = schema.tables.len();
    add_discovered(&mut schema, &rest, charsets, links, settings, names);
    name_apart(&mut schema, known, parts);
    schema
}

/// Gives the tables from `first` on names that no known shape has, but for those of a shape's class: tables of one name are parts of one shape.
fn name_apart(schema: &mut Schema, known: &[KnownShape], first: usize) {
    let mut unique = UniqueNames::default();
    for shape in known {
        unique.take(shape.name.clone());
    }
    for table in &mut schema.tables[first..] {
        let is_part = known.iter().any(|shape| {
            let of_class = shape.class == table.class && shape.has_class == table.class.is_some();
            of_class && shape.name == table.name
        });
        if !is_part {
            table.name = unique.take(std::mem::take(&mut table.name));
        }
    }
}

/// Which shape a set fits.
struct Fitting<'a> {
    known: &'a [KnownShape],
    settings: &'a Settings,
    is_known: &'a dyn Fn(TermId) -> bool,
    /// Shapes by class.
    by_class: FastMap<u64, usize>,
    /// Shapes that have a column of a predicate and type class.
    takers: FastMap<(u32, TypeClass), Vec<usize>>,
}

impl<'a> Fitting<'a> {
    fn new(
        known: &'a [KnownShape],
        settings: &'a Settings,
        is_known: &'a dyn Fn(TermId) -> bool,
    ) -> Self {
        let mut by_class = FastMap::default();
        let mut takers: FastMap<(u32, TypeClass), Vec<usize>> = FastMap::default();
        for (at, shape) in known.iter().enumerate() {
            if let Some(class) = shape.class {
                by_class.entry(class).or_insert(at);
            }
            for column in &shape.columns {
                let key = (column.predicate, column.type_class);
                takers.entry(key).or_default().push(at);
            }
        }
        Self {
            known,
            settings,
            is_known,
            by_class,
            takers,
        }
    }

    fn shape_of(&self, set: &Charset) -> Option<usize> {
        let own = set.class.and_then(|class| self.by_class.get(&class));
        let new_class = |class: u64| !(self.is_known)(TermId(class));
        if own.is_none() && set.class.is_some_and(new_class) {
            return None;
        }
        // Values taken and predicates in common by shape.
        let mut taken: FastMap<usize, (u64, u32, Option<u32>)> = FastMap::default();
        for count in &set.counts {
            let key = (count.predicate, count.class);
            for &shape in self.takers.get(&key).map_or(&[][..], Vec::as_slice) {
                let (values, predicates, last) = taken.entry(shape).or_default();
                *values += count.values;
                *predicates += u32::from(last.replace(count.predicate) != Some(count.predicate));
            }
        }
        let quads = set.quads().max(1) as f64;
        let predicates = set.predicates().count().max(1) as f64;
        let mut best: Option<(f64, usize)> = None;
        for (shape, (values, common, _)) in taken {
            let share = values as f64 / quads;
            let width = self.known[shape].predicate_count.max(1) as f64;
            let similarity = f64::from(common) / (predicates * width).sqrt();
            let fits = match own {
                Some(own) => *own == shape,
                None => {
                    similarity >= SIMILARITY_MIN
                        && (set.class.is_some() || !self.known[shape].has_class)
                }
            };
            let score = share * similarity;
            // Ties go to the first shape, so that the order of the map is not seen.
            let better = best.is_none_or(|(s, at)| score > s || score == s && shape < at);
            if fits && share >= self.settings.adoption_share_min && better {
                best = Some((score, shape));
            }
        }
        best.map(|(_, shape)| shape)
    }
}

/// The part of a shape that these sets make, if they have enough rows and columns.
fn part_of(
    shape: &KnownShape,
    members: &[u32],
    charsets: &CharacteristicSets,
    settings: &Settings,
) -> Option<TableShape> {
    let sets = members.iter().map(|&m| &charsets.sets[m as usize]);
    let totals = Totals::of(sets);
    if totals.rows < settings.table_rows_min {
        return None;
    }
    let worth = columns::predicates(&totals, settings);
    let mut shapes = columns::shapes(&totals, &worth, settings);
    for column in &shape.columns {
        let key = (column.predicate, column.type_class);
        let counts = totals.counts_of(column.predicate).iter();
        let Some(count) = counts.clone().find(|c| c.class == column.type_class) else {
            continue;
        };
        match shapes
            .iter_mut()
            .find(|c| (c.predicate, c.type_class) == key)
        {
            Some(same) => same.multi_valued |= column.multi_valued,
            None => shapes.push(ColumnShape {
                predicate: column.predicate,
                type_class: column.type_class,
                multi_valued: column.multi_valued,
                fill: count.rows as f64 / totals.rows as f64,
                link_target: None,
            }),
        }
    }
    shapes.sort_unstable_by_key(|c| (c.predicate, c.type_class));
    (!shapes.is_empty()).then(|| TableShape {
        name: shape.name.clone(),
        class: shape.class,
        columns: shapes,
        rows: totals.rows,
        charsets: members.to_vec(),
    })
}

/// Discovers the tables of the sets that fit no known shape.
fn add_discovered(
    schema: &mut Schema,
    rest: &[u32],
    charsets: &CharacteristicSets,
    links: &Links,
    settings: &Settings,
    names: &dyn Names,
) {
    let mut place = vec![None; charsets.sets.len()];
    let mut alone = CharacteristicSets {
        type_predicate: charsets.type_predicate,
        ..CharacteristicSets::default()
    };
    for (at, &old) in rest.iter().enumerate() {
        place[old as usize] = Some(at as u32);
        let set = charsets.sets[old as usize].clone();
        alone.quads += set.quads();
        alone.sets.push(set);
    }
    let found = discover(&alone, &links.among(&place), settings, names);
    let first = schema.tables.len();
    for (&old, table) in rest.iter().zip(&found.charset_to_table) {
        schema.charset_to_table[old as usize] = table.map(|table| first + table);
    }
    for mut table in found.tables {
        for charset in &mut table.charsets {
            *charset = rest[*charset as usize];
        }
        for column in &mut table.columns {
            column.link_target = column.link_target.map(|target| first + target);
        }
        schema.tables.push(table);
    }
    schema.threshold = found.threshold;
    schema.trials = found.trials;
}
