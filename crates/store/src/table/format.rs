//! Reading and writing a table's metadata sections: definition, segment directory, statistics.
//!
//! The layouts stand in `docs/storage-format.md`. Everything read is checked against everything
//! else: extents that overflow, type classes that overlap, segments that do not add up to the
//! rows or lie outside the cells are corruption.

use super::definition::{
    CellStatistics, ColumnDefinition, ColumnKind, HomeGraph, TableDefinition, TypeClass,
};
use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use basalt_columns::segment::Zone;
use basalt_rdf::TermId;
use basalt_rdf::term_id::PAYLOAD_MASK;

/// A segment as the directory knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    /// Where it starts in the section of cells.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// Summary of its values.
    pub(crate) zone: Zone,
}

/// No table index.
const NO_TABLE: u64 = u64::MAX;

pub(crate) fn write_definition(definition: &TableDefinition) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.blob(definition.name.as_bytes());
    out.long(definition.first_ordinal);
    out.word(definition.rows);
    match definition.home_graph {
        HomeGraph::Constant(graph) => out.id(graph),
        HomeGraph::Column => out.long(0),
    }
    out.long(definition.classes.len() as u64);
    for &class in &definition.classes {
        out.id(class);
    }
    out.long(definition.columns.len() as u64);
    for column in &definition.columns {
        out.id(column.predicate);
        out.short(column.type_class.bits());
        out.byte(match column.kind {
            ColumnKind::Single => 0,
            ColumnKind::List => 1,
        });
        out.byte(u8::from(column.wants_inverse));
        out.long(column.link_target.map_or(NO_TABLE, |t| t as u64));
    }
    out.finish()
}

pub(crate) fn read_definition(bytes: &[u8], file: &str) -> Result<TableDefinition, StoreError> {
    let mut input = ByteReader::new(bytes, file, "definition");
    let name = input.text()?.to_owned();
    let first_ordinal = input.long()?;
    let rows = input.word()?;
    let home_graph = match input.id()? {
        TermId::UNBOUND => HomeGraph::Column,
        graph => HomeGraph::Constant(graph),
    };
    let classes = (0..input.count(8)?)
        .map(|_| input.id())
        .collect::<Result<Vec<_>, _>>()?;
    let columns = (0..input.count(20)?)
        .map(|_| read_column(&mut input))
        .collect::<Result<Vec<_>, _>>()?;
    let definition = TableDefinition {
        name,
        classes,
        first_ordinal,
        rows,
        columns,
        home_graph,
    };
    if let Err(what) = check_definition(&definition) {
        return Err(input.corrupt(&what));
    }
    input.finish()?;
    Ok(definition)
}

fn read_column(input: &mut ByteReader<'_>) -> Result<ColumnDefinition, StoreError> {
    let predicate = input.id()?;
    let type_class = TypeClass::from_bits(input.short()?)
        .ok_or_else(|| input.corrupt("a column has an unknown type class"))?;
    let kind = match input.byte()? {
        0 => ColumnKind::Single,
        1 => ColumnKind::List,
        _ => return Err(input.corrupt("a column is of unknown kind")),
    };
    let wants_inverse = input.byte()? != 0;
    let link_target = match input.long()? {
        NO_TABLE => None,
        table => Some(table as usize),
    };
    Ok(ColumnDefinition {
        predicate,
        type_class,
        kind,
        wants_inverse,
        link_target,
    })
}

/// Says what is wrong with a definition, whoever made it.
pub(crate) fn check_definition(definition: &TableDefinition) -> Result<(), String> {
    let end = definition
        .first_ordinal
        .checked_add(u64::from(definition.rows));
    if end.is_none_or(|end| end > PAYLOAD_MASK) {
        return Err("the extent exceeds the resource ordinals".to_owned());
    }
    if let HomeGraph::Constant(graph) = definition.home_graph
        && graph != TermId::DEFAULT_GRAPH
        && !graph.is_resource()
    {
        return Err(format!("the home graph {graph:?} is no resource"));
    }
    for (i, column) in definition.columns.iter().enumerate() {
        if !column.predicate.is_resource() {
            return Err(format!("predicate {:?} is no resource", column.predicate));
        }
        let clash = definition.columns[..i].iter().find(|other| {
            other.predicate == column.predicate && other.type_class.overlaps(column.type_class)
        });
        if clash.is_some() {
            return Err(format!(
                "two columns of predicate {:?} take the same terms",
                column.predicate
            ));
        }
    }
    Ok(())
}

pub(crate) fn write_segments(columns: &[Vec<SegmentEntry>]) -> Vec<u8> {
    let mut out = ByteWriter::new();
    for entry in columns.iter().flatten() {
        out.long(entry.offset);
        out.long(entry.bytes);
        out.long(entry.zone.min);
        out.long(entry.zone.max);
        out.word(entry.zone.rows_with_value);
        out.word(entry.zone.values);
    }
    out.finish()
}

/// Reads the directory of `columns` columns with `segments` segments each.
pub(crate) fn read_segments(
    bytes: &[u8],
    file: &str,
    columns: usize,
    segments: usize,
    cells_bytes: u64,
) -> Result<Vec<Vec<SegmentEntry>>, StoreError> {
    let mut input = ByteReader::new(bytes, file, "segments");
    let mut all = Vec::with_capacity(columns);
    for _ in 0..columns {
        let mut entries = Vec::new();
        for _ in 0..segments {
            let entry = SegmentEntry {
                offset: input.long()?,
                bytes: input.long()?,
                zone: Zone {
                    min: input.long()?,
                    max: input.long()?,
                    rows_with_value: input.word()?,
                    values: input.word()?,
                },
            };
            let end = entry.offset.checked_add(entry.bytes);
            if end.is_none_or(|end| end > cells_bytes) {
                return Err(input.corrupt("a segment lies outside the cells"));
            }
            entries.push(entry);
        }
        all.push(entries);
    }
    input.finish()?;
    Ok(all)
}

pub(crate) fn write_statistics(statistics: &[CellStatistics]) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(statistics.len() as u64);
    for cells in statistics {
        out.long(cells.rows_with_value);
        out.long(cells.values);
        out.long(cells.distinct);
        out.byte(u8::from(cells.distinct_is_exact));
        let (min, max) = cells.range.unwrap_or((TermId::UNBOUND, TermId::UNBOUND));
        out.id(min);
        out.id(max);
    }
    out.finish()
}

pub(crate) fn read_statistics(bytes: &[u8], file: &str) -> Result<Vec<CellStatistics>, StoreError> {
    let mut input = ByteReader::new(bytes, file, "statistics");
    let count = input.count(41)?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let rows_with_value = input.long()?;
        let values = input.long()?;
        let distinct = input.long()?;
        let distinct_is_exact = input.byte()? != 0;
        let (min, max) = (input.id()?, input.id()?);
        all.push(CellStatistics {
            rows_with_value,
            values,
            distinct,
            distinct_is_exact,
            range: (values > 0).then_some((min, max)),
            links: Vec::new(),
        });
    }
    input.finish()?;
    Ok(all)
}

/// Quads in cells for each home graph.
pub(crate) fn write_graph_totals(totals: &[(TermId, u64)]) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(totals.len() as u64);
    for &(graph, quads) in totals {
        out.id(graph);
        out.long(quads);
    }
    out.finish()
}

pub(crate) fn read_graph_totals(
    bytes: &[u8],
    file: &str,
    section: &str,
) -> Result<Vec<(TermId, u64)>, StoreError> {
    let mut input = ByteReader::new(bytes, file, section);
    let totals = input.counted_ids()?;
    input.finish()?;
    Ok(totals)
}
