//! Where every quad goes: the schema in force, the rows of each table, the columns of each predicate.

use basalt_shapes::{
    CharacteristicSets, ColumnShape, FastMap, Links, Schema, Settings, TypeClass, discover,
    one_table,
};

use crate::collect::ProvisionalNames;
use crate::error::LoadError;
use crate::options::Layout;

/// One table to be.
pub(crate) struct PlacedTable {
    /// Ranks of the subjects that are its rows, in row order.
    pub rows: Vec<u32>,
    /// Resource ordinal of row 0.
    pub first_ordinal: u64,
    /// Its columns, sorted by predicate and type class.
    pub columns: Vec<ColumnShape>,
    /// The run of columns of each predicate: first and count.
    by_predicate: FastMap<u32, (u32, u32)>,
}

impl PlacedTable {
    /// The columns of a predicate with the index of the first.
    #[inline]
    pub(crate) fn columns_of(&self, predicate: u32) -> (usize, &[ColumnShape]) {
        match self.by_predicate.get(&predicate) {
            None => (0, &[]),
            Some(&(first, count)) => {
                let first = first as usize;
                (first, &self.columns[first..first + count as usize])
            }
        }
    }
}

/// Where every subject goes.
pub(crate) struct Placement {
    /// The schema in force.
    pub schema: Schema,
    /// The tables of the schema with their rows.
    pub tables: Vec<PlacedTable>,
    /// Ranks of the subjects that are no rows.
    pub loose: Vec<u32>,
    /// Whether to move every other cell to the irregular quads.
    pub half_dirty: bool,
}

impl Placement {
    /// Chooses the schema for a layout and gives every subject its place.
    pub(crate) fn choose(
        layout: Layout,
        charsets: &CharacteristicSets,
        links: &Links,
        settings: &Settings,
        names: &ProvisionalNames<'_>,
    ) -> Result<Self, LoadError> {
        let schema = match layout {
            Layout::Discover | Layout::HalfDirty => discover(charsets, links, settings, names),
            Layout::OneTable => one_table(charsets),
            Layout::AllIrregular => Schema {
                charset_to_table: vec![None; charsets.sets.len()],
                ..Schema::default()
            },
        };
        Ok(Self::of_schema(schema, charsets, 0, layout))
    }

    /// Gives every subject its place in a schema; the rows of the first table begin with this ordinal.
    pub(crate) fn of_schema(
        schema: Schema,
        charsets: &CharacteristicSets,
        mut first_ordinal: u64,
        layout: Layout,
    ) -> Self {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); schema.tables.len()];
        let mut loose = Vec::new();
        for (rank, &charset) in charsets.of_subject.iter().enumerate() {
            match schema.charset_to_table[charset as usize] {
                Some(table) => rows[table].push(rank as u32),
                None => loose.push(rank as u32),
            }
        }
        let mut tables = Vec::with_capacity(rows.len());
        for (shape, rows) in schema.tables.iter().zip(rows) {
            let row_count = rows.len() as u64;
            tables.push(PlacedTable {
                rows,
                first_ordinal,
                columns: shape.columns.clone(),
                by_predicate: runs_of_predicates(&shape.columns),
            });
            first_ordinal += row_count;
        }
        Self {
            schema,
            tables,
            loose,
            half_dirty: layout == Layout::HalfDirty,
        }
    }

    /// Rows of all tables.
    pub(crate) fn row_count(&self) -> u64 {
        self.tables.iter().map(|t| t.rows.len() as u64).sum()
    }

    /// The ranks of the rows of each table, then those of the subjects that are no rows; all ascending.
    pub(crate) fn ranks(&self) -> Vec<&[u32]> {
        let tables = self.tables.iter().map(|t| t.rows.as_slice());
        tables.chain([self.loose.as_slice()]).collect()
    }

    /// Whether the cell is one of those that the half-dirty layout moves away.
    #[inline]
    pub(crate) fn is_moved(&self, row: u32, column_idx: usize) -> bool {
        // An odd multiplier spreads rows and columns over the top bit.
        let mixed = (u64::from(row) << 16 ^ column_idx as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.half_dirty && mixed >> 63 == 1
    }
}

fn runs_of_predicates(columns: &[ColumnShape]) -> FastMap<u32, (u32, u32)> {
    let mut runs = FastMap::default();
    for (at, column) in columns.iter().enumerate() {
        runs.entry(column.predicate).or_insert((at as u32, 0)).1 += 1;
    }
    runs
}

/// The type class of a store column.
pub(crate) fn store_class(class: TypeClass) -> basalt_store::TypeClass {
    use basalt_store::TypeClass as Store;
    match class {
        TypeClass::Resource => Store::RESOURCE,
        TypeClass::Boolean => Store::BOOLEAN,
        TypeClass::Temporal => {
            Store::DATE
                | Store::DATE_TIME
                | Store::TIME
                | Store::DURATION
                | Store::G_YEAR
                | Store::G_YEAR_MONTH
        }
        TypeClass::Text => Store::STRING | Store::LANGUAGE | Store::TYPED,
        TypeClass::Number => Store::NUMERIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basalt_rdf::TermId;
    use basalt_rdf::term_id::tag;

    #[test]
    fn shapes_and_store_agree_on_type_classes() {
        let mut ids = vec![TermId::numeric(0, 1, 0).expect("small numbers are inline")];
        ids.extend((tag::RESOURCE..=tag::DATE_TIME_MICROS).map(|t| TermId::new(t, 1)));
        ids.extend((tag::STRING..=tag::TYPED).map(|t| TermId::new(t, 1)));
        for id in ids {
            for class in TypeClass::ALL {
                assert_eq!(
                    store_class(class).takes(id),
                    TypeClass::of(id) == class,
                    "{id:?}"
                );
            }
        }
    }
}
