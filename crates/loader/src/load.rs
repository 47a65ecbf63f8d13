//! One load from end to end.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::{GraphFormat, QuadView, Qualifiers, TermId};
use basalt_store::{Snapshot, Storage, StoreError, VersionWriter};

use crate::collect::{ProvisionalNames, collect};
use crate::encoder::Terms;
use crate::error::LoadError;
use crate::fill::Filling;
use crate::gather::gather;
use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::old_version::{OLD_SCOPE, read_old_version};
use crate::options::LoadOptions;
use crate::parse::{ParseContext, parse_input};
use crate::placement::Placement;
use crate::progress::{Phase, Progress, WorkCounter};
use crate::quad_blocks::QuadBlocks;
use crate::report::{LoadReport, Stopwatch, TableReport};
use crate::skipped_lines::SkippedLines;
use crate::statistics::statistics;
use crate::term_table::FrozenTerms;
use crate::write_terms::write_terms;

/// Loads the inputs into a store: a new one, or what the folder holds already plus the inputs.
pub fn load(
    options: LoadOptions,
    storage: Storage,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    let writer = VersionWriter::create(storage.clone())?;
    // The lock is held from here on, so the version read is the one that is replaced.
    let old = match &storage {
        Storage::Directory(dir) => open_if_there(dir)?,
        Storage::Memory => None,
    };
    load_with(writer, old.as_ref(), options, progress)
}

fn open_if_there(dir: &Path) -> Result<Option<Snapshot>, LoadError> {
    match Snapshot::open(dir) {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(StoreError::NotAStore { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Loads the inputs, and the quads of `old` if there is one, into the version of `writer`.
pub fn load_with(
    writer: VersionWriter,
    old: Option<&Snapshot>,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    if let Some(iri) = &options.graph {
        check_graph(iri)?;
    }
    let qualifiers = match old {
        Some(old) => Qualifiers::from_lists(&old.dictionary().qualifiers().to_lists())?,
        None => Qualifiers::new(),
    };
    let terms = Terms::new(Arc::new(qualifiers));
    let mut watch = Stopwatch::new(progress);
    let mut report = LoadReport::default();
    let quads = QuadBlocks::default();
    if let Some(old) = old.filter(|o| o.quad_count() > 0) {
        watch.begin(Phase::ReadOldVersion);
        let work = WorkCounter::new(progress, old.quad_count());
        read_old_version(old, &terms, &quads, &work)?;
        report.quads_before = old.quad_count();
    }
    watch.begin(Phase::Parse);
    let plan = parse_inputs(options, &terms, progress, &quads, &mut report)?;
    report.quads_read = quads.quad_count() - report.quads_before;
    let snapshot = write(writer, terms, quads, &plan, &mut watch, &mut report)?;
    report.phases = watch.finish();
    Ok((snapshot, report))
}

/// What of the options is needed after the inputs were read.
struct WritePlan {
    threads: usize,
    layout: crate::options::Layout,
    settings: basalt_shapes::Settings,
}

fn parse_inputs(
    options: LoadOptions,
    terms: &Terms,
    progress: &dyn Progress,
    quads: &QuadBlocks,
    report: &mut LoadReport,
) -> Result<WritePlan, LoadError> {
    let threads = options.thread_count();
    let skipped = SkippedLines::create(&options)?;
    let context = ParseContext {
        terms,
        graph: options.graph.as_deref(),
        base: options.base.as_deref(),
        skipped: options.lenient.then_some(&skipped),
        quads,
        threads,
        progress,
    };
    let inputs = options.inputs.into_iter().zip(OLD_SCOPE + 1..);
    let parsed = inputs
        .map(|(input, scope)| parse_input(&context, input, scope))
        .sum();
    report.bytes_read = skipped.finish(parsed, report)?;
    Ok(WritePlan {
        threads,
        layout: options.layout,
        settings: options.settings,
    })
}

/// From parsed quads to a committed version.
fn write(
    mut writer: VersionWriter,
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
    watch: &mut Stopwatch<'_>,
    report: &mut LoadReport,
) -> Result<Snapshot, LoadError> {
    let Terms {
        resources,
        literals,
        qualifiers,
    } = terms;
    let (resources, literals) = (resources.freeze(), literals.freeze());
    watch.begin(Phase::Group);
    let gathered = gather(
        quads.into_ordered(),
        resources.ordinal_bound(),
        plan.threads,
    );
    report.quads_stored = gathered.quads.len() as u64;
    report.duplicates = report.quads_read + report.quads_before - report.quads_stored;

    watch.begin(Phase::Discover);
    let names = ProvisionalNames {
        predicates: &gathered.predicates,
        resources: &resources,
    };
    let (charsets, links) = collect(&gathered, &names, &plan.settings, plan.threads);
    let placement = Placement::choose(plan.layout, &charsets, &links, &plan.settings, &names)?;
    drop(links);
    describe_tables(&placement, report);

    watch.begin(Phase::Number);
    let numbers = ResourceNumbers::assign(&resources, &gathered, &placement);
    let predicates = numbers.predicates(&gathered);
    let graphs = numbers.graphs(&gathered);
    let subjects: Vec<TermId> = gathered.subjects.iter().map(|s| numbers.id(*s)).collect();
    let mut numbers = TermNumbers {
        resources: numbers,
        literals: LiteralNumbers::new(&literals),
    };

    watch.begin(Phase::WriteTables);
    let filling = Filling {
        gathered: &gathered,
        charsets: &charsets,
        placement: &placement,
        subjects: &subjects,
        predicates: &predicates,
        graphs: &graphs,
        threads: plan.threads,
        work: WorkCounter::new(watch.progress(), placement.row_count()),
    };
    let mut irregular = filling.write_tables(&mut writer, &mut numbers)?;

    watch.begin(Phase::WriteIrregular);
    filling.loose_quads(&mut irregular);
    report.irregular_quads = irregular.len() as u64;
    report.quads_in_cells = report.quads_stored - report.irregular_quads;
    writer.statistics(statistics(&charsets, &placement.schema, &predicates));
    drop((gathered, charsets, placement));
    numbers.finalise_irregular(&mut irregular);
    writer.irregular_quads(irregular)?;

    let terms = (&resources, &literals);
    write_terms_and_commit(writer, terms, &numbers, &qualifiers, watch)
}

/// From finished tables to a committed version; `terms` are resources and literals.
fn write_terms_and_commit(
    mut writer: VersionWriter,
    terms: (&FrozenTerms, &FrozenTerms),
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    watch: &mut Stopwatch<'_>,
) -> Result<Snapshot, LoadError> {
    watch.begin(Phase::WriteTerms);
    let (resources, literals) = terms;
    let count = (resources.len() + literals.len()) as u64;
    let work = WorkCounter::new(watch.progress(), count);
    let dictionary = writer.dictionary()?;
    write_terms(dictionary, resources, literals, numbers, qualifiers, &work)?;
    watch.begin(Phase::Commit);
    Ok(writer.commit()?)
}

fn describe_tables(placement: &Placement, report: &mut LoadReport) {
    report.threshold = placement.schema.threshold;
    report.trials.clone_from(&placement.schema.trials);
    for (shape, table) in placement.schema.tables.iter().zip(&placement.tables) {
        report.tables.push(TableReport {
            name: shape.name.clone(),
            rows: table.rows.len() as u64,
            columns: table.columns.len(),
        });
    }
}

/// Lets the reader of N-Triples judge whether this is an absolute IRI.
fn check_graph(iri: &str) -> Result<(), LoadError> {
    let invalid = |message: &str| LoadError::InvalidGraph {
        iri: iri.to_owned(),
        message: message.to_owned(),
    };
    if iri.contains(['<', '>', ' ', '\n', '\r']) {
        return Err(invalid("it holds a character that no IRI may hold"));
    }
    let triple = format!("<{iri}> <{iri}> <{iri}> .\n");
    let mut ignore = |_: QuadView<'_>| Ok::<(), LoadError>(());
    let mut stop = ControlFlow::Break;
    match read_document(
        Cursor::new(triple),
        GraphFormat::NTriples,
        None,
        &mut ignore,
        &mut stop,
    ) {
        Ok(_) => Ok(()),
        Err(basalt_rdf::ReadError::Syntax(error)) => Err(invalid(&error.message)),
        Err(error) => Err(LoadError::from_read(error, iri)),
    }
}
