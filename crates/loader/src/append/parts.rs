//! Where the quads of new subjects go: parts of the shapes that the store has, and new tables.
//!
//! A shape is all tables of one name. A new part has the shape's columns that it has values for, so that
//! parts of a shape look alike, and columns of its own if there is reason. Thresholds that grow with
//! the data set are those of the whole store, not of the load.

use basalt_rdf::TermId;
use basalt_shapes::{
    CharacteristicSets, FastMap, KnownColumn, KnownShape, Links, Schema, Settings, TypeClass,
    discover_parts, one_table,
};
use basalt_store::{ColumnKind, Snapshot, Table};

use super::decide;
use super::known_terms::KnownTerms;
use crate::collect::ProvisionalNames;
use crate::grouped::Gathered;
use crate::load::WritePlan;
use crate::options::Layout;
use crate::placement::{Placement, store_class};

/// What placing looks at.
pub(super) struct Context<'a> {
    pub(super) old: &'a Snapshot,
    pub(super) known: &'a KnownTerms,
    /// The quads of new subjects.
    pub(super) gathered: &'a Gathered,
    pub(super) names: &'a ProvisionalNames<'a>,
    pub(super) plan: &'a WritePlan,
}

impl Context<'_> {
    /// Gives every new subject its place; `new_quads` are all new quads.
    pub(super) fn place(
        &self,
        charsets: &CharacteristicSets,
        links: &Links,
        new_quads: u64,
    ) -> Placement {
        let layout = self.plan.layout;
        let discovers = decide::is_worth_tables(self.old.quad_count(), new_quads);
        let mut schema = match layout {
            Layout::OneTable => one_table(charsets),
            Layout::Discover | Layout::HalfDirty if discovers => {
                self.discover(charsets, links, new_quads)
            }
            _ => Schema {
                charset_to_table: vec![None; charsets.sets.len()],
                ..Schema::default()
            },
        };
        self.set_link_targets(&mut schema);
        let first_ordinal = self.old.dictionary().resource_count();
        Placement::of_schema(schema, charsets, first_ordinal, layout)
    }

    fn discover(&self, charsets: &CharacteristicSets, links: &Links, new_quads: u64) -> Schema {
        let settings = &self.plan.settings;
        let settings = Settings {
            table_rows_min: settings.rows_min(self.old.quad_count() + new_quads),
            ..settings.clone()
        };
        let is_known = |class: TermId| self.known.object(class).is_some();
        let shapes = self.known_shapes(charsets);
        discover_parts(charsets, links, &shapes, &settings, self.names, &is_known)
    }

    /// The shapes of the store in the numbers of this load.
    fn known_shapes(&self, charsets: &CharacteristicSets) -> Vec<KnownShape> {
        let mut predicates: FastMap<TermId, u32> = FastMap::default();
        for (at, &predicate) in self.gathered.predicates.iter().enumerate() {
            if let Some(id) = self.known.resource(predicate) {
                predicates.insert(id, at as u32);
            }
        }
        let mut classes: FastMap<TermId, u64> = FastMap::default();
        for class in charsets.sets.iter().filter_map(|set| set.class) {
            if let Some(id) = self.known.object(TermId(class)) {
                classes.insert(id, class);
            }
        }
        let mut shapes: Vec<KnownShape> = Vec::new();
        let mut by_name: FastMap<&str, usize> = FastMap::default();
        for table in self.old.tables() {
            let at = *by_name.entry(table.name()).or_insert_with(|| {
                let class = table.definition().classes.first();
                shapes.push(KnownShape {
                    name: table.name().to_owned(),
                    class: class.and_then(|class| classes.get(class)).copied(),
                    has_class: class.is_some(),
                    columns: Vec::new(),
                    predicate_count: table.predicates().count(),
                });
                shapes.len() - 1
            });
            add_columns(&mut shapes[at], table, &predicates);
        }
        shapes
    }

    /// Points columns at tables of the whole version: those of this load come after the old ones, and a
    /// column that leads nowhere in this load leads where the shape's older parts led.
    fn set_link_targets(&self, schema: &mut Schema) {
        let old = self.old.tables();
        for shape in &mut schema.tables {
            for column in &mut shape.columns {
                column.link_target = match column.link_target {
                    Some(target) => Some(old.len() + target),
                    None => {
                        let predicate = self.gathered.predicates[column.predicate as usize];
                        let parts = old.iter().filter(|table| table.name() == shape.name);
                        let known = self.known.resource(predicate);
                        let columns = parts.flat_map(|table| &table.definition().columns);
                        columns
                            .filter(|c| Some(c.predicate) == known)
                            .filter(|c| c.type_class == store_class(column.type_class))
                            .find_map(|c| c.link_target)
                    }
                };
            }
        }
    }
}

/// Adds the columns of a part to its shape.
fn add_columns(shape: &mut KnownShape, table: &Table, predicates: &FastMap<TermId, u32>) {
    for column in &table.definition().columns {
        let class = TypeClass::ALL
            .into_iter()
            .find(|&class| store_class(class) == column.type_class);
        let (Some(&predicate), Some(type_class)) = (predicates.get(&column.predicate), class)
        else {
            continue;
        };
        let is_list = column.kind == ColumnKind::List;
        let same = |c: &&mut KnownColumn| (c.predicate, c.type_class) == (predicate, type_class);
        match shape.columns.iter_mut().find(same) {
            Some(known) => known.multi_valued |= is_list,
            None => shape.columns.push(KnownColumn {
                predicate,
                type_class,
                multi_valued: is_list,
            }),
        }
    }
}
