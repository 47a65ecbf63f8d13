//! What is known of characteristic sets that are not kept: by table the subjects, and how many of them have each predicate.
//!
//! A version keeps its most frequent sets only. Of data in which attributes are missing at random there are more than are kept, and
//! tables all of whose subjects have rare ones. Their sums follow from what is kept anyway: rows and values of columns, and irregular quads, less those
//! of the sets that are kept. Which of the predicates occur together is lost, so a star over them takes predicates as independent.
//!
//! Made on first use, once for a version, in the time of a walk over all sets. Memory: 24 bytes for each column of tables with such subjects, and for each
//! predicate with irregular quads.

use crate::snapshot::Snapshot;
use crate::statistics::CharacteristicSet;
use basalt_rdf::TermId;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// Subjects and values of a predicate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Had {
    subjects: f64,
    values: f64,
}

/// A table as the sums are made from it.
#[derive(Clone, Debug, Default)]
pub struct TableSums {
    /// Its rows.
    pub rows: u64,
    /// Its predicates, with the rows that have a value and the values.
    pub columns: Vec<(TermId, u64, u64)>,
}

/// A characteristic set that is kept.
pub struct KeptSet<'a> {
    /// The table of its subjects.
    pub table: Option<usize>,
    /// Its subjects.
    pub subjects: u64,
    /// Its predicates.
    pub predicates: &'a [TermId],
    /// The number of values of each, over all subjects.
    pub values: &'a [u64],
}

impl<'a> KeptSet<'a> {
    /// A set of a version.
    pub fn of(set: &'a CharacteristicSet) -> Self {
        Self {
            table: set.table,
            subjects: set.subjects,
            predicates: &set.predicates,
            values: &set.values,
        }
    }
}

/// The subjects of rare sets in one table, or in none.
#[derive(Clone, Debug, Default)]
struct Group {
    subjects: f64,
    had: HashMap<TermId, Had>,
}

/// The subjects of characteristic sets that a version does not keep: sums by table, less those of the sets that are kept.
#[derive(Clone, Debug, Default)]
pub struct RareSets {
    /// Those of a table, or of none, where there are any.
    groups: Vec<(Option<usize>, Group)>,
    /// Of predicates with irregular quads that are in no column: what each subject has on average, where its table has no column.
    apart: HashMap<TermId, Had>,
}

/// Subjects of rare sets that a star may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RareSubjects {
    /// Their table.
    pub table: Option<usize>,
    /// How many have all predicates that are required.
    pub subjects: f64,
    /// Solutions over them: for each the product of the numbers of its values.
    pub solutions: f64,
}

impl RareSets {
    /// The sums of `subjects` subjects less what the sets have that are kept; `irregular` has predicates with the subjects and
    /// number of their irregular quads. Nothing if all sets are kept.
    pub fn of<'a>(
        subjects: u64,
        tables: &[TableSums],
        irregular: &[(TermId, u64, u64)],
        sets: impl Iterator<Item = KeptSet<'a>> + Clone,
    ) -> Self {
        let known: u64 = sets.clone().map(|set| set.subjects).sum();
        if known >= subjects {
            return Self::default();
        }
        let mut kept = vec![Group::default(); tables.len() + 1];
        let mut kept_apart: HashMap<TermId, Had> = HashMap::new();
        let has_column: Vec<HashSet<TermId>> = tables
            .iter()
            .map(|table| table.columns.iter().map(|(p, ..)| *p).collect())
            .collect();
        for set in sets {
            let place = set.table.unwrap_or(tables.len()).min(tables.len());
            let group = &mut kept[place];
            group.subjects += set.subjects as f64;
            for (predicate, values) in set.predicates.iter().zip(set.values) {
                let is_in_cells = has_column
                    .get(place)
                    .is_some_and(|all| all.contains(predicate));
                let sums = match is_in_cells {
                    true => &mut group.had,
                    false => &mut kept_apart,
                };
                let had = sums.entry(*predicate).or_default();
                had.subjects += set.subjects as f64;
                had.values += *values as f64;
            }
        }
        let groups = tables.iter().zip(&kept).map(|(t, k)| in_cells(t, k));
        let mut groups: Vec<_> = groups.enumerate().map(|(idx, g)| (Some(idx), g)).collect();
        let in_tables: f64 = groups.iter().map(|(_, group)| group.subjects).sum();
        let outside = Group {
            subjects: ((subjects - known) as f64 - in_tables).max(0.0),
            had: HashMap::new(),
        };
        groups.push((None, outside));
        groups.retain(|(_, group)| group.subjects > 0.0);
        let apart = apart(irregular, &kept_apart, &groups);
        Self { groups, apart }
    }

    /// The subjects that have all of `required`, with the solutions over the `counted` ones of them and the `optional` ones, by table.
    pub fn star<'a>(
        &'a self,
        required: &'a [TermId],
        counted: &'a [TermId],
        optional: &'a [TermId],
    ) -> impl Iterator<Item = RareSubjects> + 'a {
        self.groups.iter().filter_map(move |(table, group)| {
            let had = |predicate: &TermId| self.had(group, *predicate);
            let mut subjects = group.subjects;
            for predicate in required {
                subjects *= (had(predicate)?.subjects / group.subjects).min(1.0);
            }
            let several =
                |predicate: &TermId| had(predicate).map_or(0.0, |had| had.values / had.subjects);
            let nullable = |predicate: &TermId| {
                had(predicate).map_or(1.0, |had| (had.values / group.subjects).max(1.0))
            };
            let counted: f64 = counted.iter().map(several).product();
            let optional: f64 = optional.iter().map(nullable).product();
            (subjects > 0.0).then_some(RareSubjects {
                table: *table,
                subjects,
                solutions: subjects * counted * optional,
            })
        })
    }

    /// What the subjects of a group have of a predicate, if they have it.
    fn had(&self, group: &Group, predicate: TermId) -> Option<Had> {
        let had = match group.had.get(&predicate) {
            Some(had) => *had,
            None => {
                let each = self.apart.get(&predicate)?;
                Had {
                    subjects: each.subjects * group.subjects,
                    values: each.values * group.subjects,
                }
            }
        };
        (had.subjects > 0.0).then_some(had)
    }
}

/// The rows of a table, and what stands in its cells, less what sets have that are kept.
fn in_cells(table: &TableSums, kept: &Group) -> Group {
    let subjects = (table.rows as f64 - kept.subjects).max(0.0);
    let of_column = |&(predicate, rows, values): &(TermId, u64, u64)| {
        let of_kept = kept.had.get(&predicate).copied().unwrap_or_default();
        let rows = (rows as f64 - of_kept.subjects).clamp(0.0, subjects);
        let values = (values as f64 - of_kept.values).max(rows);
        (
            predicate,
            Had {
                subjects: rows,
                values,
            },
        )
    };
    Group {
        subjects,
        had: table.columns.iter().map(of_column).collect(),
    }
}

/// Of predicates with irregular quads what each subject of the groups without a column for them has of these, less those of sets that are
/// kept.
fn apart(
    irregular: &[(TermId, u64, u64)],
    kept: &HashMap<TermId, Had>,
    groups: &[(Option<usize>, Group)],
) -> HashMap<TermId, Had> {
    let in_all: f64 = groups.iter().map(|(_, group)| group.subjects).sum();
    let mut with_column: HashMap<TermId, f64> = HashMap::new();
    for (_, group) in groups {
        for predicate in group.had.keys() {
            *with_column.entry(*predicate).or_default() += group.subjects;
        }
    }
    let each = irregular
        .iter()
        .filter_map(|&(predicate, subjects, quads)| {
            let of_kept = kept.get(&predicate).copied().unwrap_or_default();
            let among = in_all - with_column.get(&predicate).copied().unwrap_or_default();
            let rows = (subjects as f64 - of_kept.subjects).min(among);
            let values = (quads as f64 - of_kept.values).max(rows);
            let had = Had {
                subjects: rows / among,
                values: values / among,
            };
            (rows > 0.0).then_some((predicate, had))
        });
    each.collect()
}

/// The sums of a version, once they are made.
#[derive(Debug, Default)]
pub(crate) struct KnownRareSets(OnceLock<RareSets>);

impl Snapshot {
    /// What is known of the characteristic sets that the version does not keep.
    pub fn rare_sets(&self) -> &RareSets {
        let version = self.parts();
        version.rare_sets.0.get_or_init(|| {
            let tables = version.tables.iter().map(|table| TableSums {
                rows: u64::from(table.rows()),
                columns: table
                    .all_cells()
                    .map(|cells| (cells.predicate(), cells.statistics()))
                    .map(|(p, known)| (p, known.rows_with_value, known.values))
                    .collect(),
            });
            let irregular = version.quad_table.predicates();
            let irregular: Vec<_> = irregular
                .map(|(p, known)| (p, known.subjects, known.quads))
                .collect();
            let statistics = &version.statistics;
            RareSets::of(
                statistics.subject_count,
                &tables.collect::<Vec<_>>(),
                &irregular,
                statistics.characteristic_sets.iter().map(KeptSet::of),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject of each combination of five predicates, as often as its number says, in two tables and in none; those of the
    /// first table have two values of each predicate. The last predicate has no column.
    fn sets() -> Vec<CharacteristicSet> {
        let set = |bits: u64| {
            let table = [Some(0), Some(1), None][bits as usize % 3];
            let each = if table == Some(0) { 2 } else { 1 };
            let predicates: Vec<TermId> = (0..5)
                .filter(|p| bits & 1 << p != 0)
                .map(TermId::resource)
                .collect();
            CharacteristicSet {
                values: vec![bits * each; predicates.len()],
                predicates,
                subjects: bits,
                table,
            }
        };
        (1..32).map(set).collect()
    }

    fn had(sets: &[CharacteristicSet], table: Option<usize>, predicate: TermId) -> (u64, u64) {
        let of_table = sets.iter().filter(|set| set.table == table);
        let having = of_table.filter(|set| set.predicates.contains(&predicate));
        having.fold((0, 0), |(subjects, values), set| {
            (subjects + set.subjects, values + set.values[0])
        })
    }

    fn rare(sets: &[CharacteristicSet], kept: usize) -> RareSets {
        let tables: Vec<TableSums> = (0..2)
            .map(|table| TableSums {
                rows: sets
                    .iter()
                    .filter(|s| s.table == Some(table))
                    .map(|s| s.subjects)
                    .sum(),
                columns: (0..4)
                    .map(TermId::resource)
                    .map(|p| (p, had(sets, Some(table), p)))
                    .map(|(p, (rows, values))| (p, rows, values))
                    .collect(),
            })
            .collect();
        let irregular: Vec<_> = (0..5)
            .map(TermId::resource)
            .map(|p| {
                let tables = [Some(0), Some(1), None].into_iter();
                let outside = tables.filter(|t| t.is_none() || p == TermId::resource(4));
                let (subjects, quads) = outside.fold((0, 0), |(subjects, quads), table| {
                    let (more, values) = had(sets, table, p);
                    (subjects + more, quads + values)
                });
                (p, subjects, quads)
            })
            .collect();
        let subjects = sets.iter().map(|set| set.subjects).sum();
        RareSets::of(
            subjects,
            &tables,
            &irregular,
            sets[..kept].iter().map(KeptSet::of),
        )
    }

    #[test]
    fn what_is_not_kept_follows_from_what_is() {
        let sets = sets();
        for kept in [0, 7, 20, 30] {
            let (known, dropped) = sets.split_at(kept);
            let rare = rare(&sets, kept);
            for predicate in (0..4).map(TermId::resource) {
                let asked = [predicate];
                let found: Vec<RareSubjects> = rare.star(&asked, &asked, &[]).collect();
                for table in [Some(0), Some(1), None] {
                    let (subjects, solutions) = had(dropped, table, predicate);
                    let of_table = found.iter().find(|of| of.table == table);
                    let of_table = of_table.map_or((0.0, 0.0), |of| (of.subjects, of.solutions));
                    assert!(
                        (of_table.0 - subjects as f64).abs() < 1e-6,
                        "{kept} {table:?}"
                    );
                    assert!(
                        (of_table.1 - solutions as f64).abs() < 1e-6,
                        "{kept} {table:?}"
                    );
                }
            }
            // In no column, so it is only known how many there are in all.
            let last = [TermId::resource(4)];
            let found: f64 = rare.star(&last, &[], &[]).map(|of| of.subjects).sum();
            let all = |sets: &[CharacteristicSet]| -> u64 {
                [Some(0), Some(1), None]
                    .iter()
                    .map(|t| had(sets, *t, last[0]).0)
                    .sum()
            };
            assert_eq!(all(known) + all(dropped), all(&sets));
            assert!((found - all(dropped) as f64).abs() < 1e-6, "{kept} {found}");
        }
    }

    #[test]
    fn predicates_of_rare_sets_are_taken_as_independent() {
        let sets = sets();
        let rare = rare(&sets, 10);
        let asked = [TermId::resource(0), TermId::resource(3)];
        let of_table = |asked: &[TermId], table| {
            let all: Vec<RareSubjects> = rare.star(asked, &[], &[]).collect();
            all.into_iter()
                .find(|of| of.table == table)
                .map_or(0.0, |of| of.subjects)
        };
        for table in [Some(0), Some(1), None] {
            let all = of_table(&[], table);
            let shares = asked.map(|p| of_table(&[p], table) / all);
            let both = of_table(&asked, table);
            assert!(
                (both - all * shares[0] * shares[1]).abs() < 1e-6,
                "{table:?}"
            );
        }
        assert_eq!(rare.star(&[TermId::resource(9)], &[], &[]).count(), 0);
    }

    #[test]
    fn nothing_is_rare_where_all_sets_are_kept() {
        let sets = sets();
        let rare = rare(&sets, sets.len());
        assert_eq!(rare.star(&[], &[], &[]).count(), 0);
    }
}
