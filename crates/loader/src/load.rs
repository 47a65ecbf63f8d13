//! One load from end to end.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::{GraphFormat, QuadView, Qualifiers, TermId};
use basalt_store::{Snapshot, Storage, VersionWriter};

use crate::append::{Decision, Facts, append, decide};
use crate::collect::{ProvisionalNames, collect};
use crate::encoder::Terms;
use crate::error::LoadError;
use crate::fill::Filling;
use crate::gather::gather;
use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::old_version::{OLD_SCOPE, read_old_version};
use crate::options::{Addition, LoadOptions};
use crate::parse::{ParseContext, parse_input};
use crate::placement::Placement;
use crate::progress::{Phase, Progress};
use crate::quad_blocks::QuadBlocks;
use crate::report::{LoadReport, Stopwatch, TableReport};
use crate::skipped_lines::SkippedLines;
use crate::statistics::statistics;
use crate::write_terms::write_terms;

/// Loads the inputs into a store: a new one, or what the folder holds already plus the inputs.
pub fn load(
    options: LoadOptions,
    storage: Storage,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    load_into(options, storage, None, progress)
}

/// As [`load()`], for a caller who has a snapshot open: if it is the current version, its files are not
/// verified again. In memory, the snapshot is what is added to.
pub fn load_into(
    options: LoadOptions,
    storage: Storage,
    open: Option<&Snapshot>,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    let writer = VersionWriter::create(storage.clone())?;
    // The lock is held from here on, so the version read is the one that is replaced.
    let old = match &storage {
        Storage::Directory(dir) => current_version(dir, open)?,
        Storage::Memory => open.cloned(),
    };
    load_with(writer, old.as_ref(), options, progress)
}

/// Rewrites a store as if all of it had been loaded at once.
pub fn optimize(
    storage: Storage,
    open: Option<&Snapshot>,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    let options = LoadOptions {
        addition: Addition::Rewrite,
        ..LoadOptions::default()
    };
    load_into(options, storage, open, progress)
}

fn current_version(dir: &Path, open: Option<&Snapshot>) -> Result<Option<Snapshot>, LoadError> {
    match (Snapshot::current_version(dir)?, open) {
        (None, _) => Ok(None),
        (Some(number), Some(open)) if open.version() == number && open.is_in(dir) => {
            Ok(Some(open.clone()))
        }
        _ => Ok(Some(Snapshot::open(dir)?)),
    }
}

/// Loads the inputs, and the data of `old` if there is one, into the version of `writer`.
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
    watch.begin(Phase::Parse);
    let addition = options.addition;
    let plan = parse_inputs(options, &terms, progress, &quads, &mut report)?;
    report.quads_read = quads.quad_count();
    let snapshot = match old.filter(|o| o.quad_count() > 0) {
        None => write(writer, terms, quads, &plan, &mut watch, &mut report)?,
        Some(old) => {
            report.quads_before = old.quad_count();
            match decide(addition, &Facts::of(old, report.quads_read)) {
                Decision::Layer => {
                    append(writer, old, terms, quads, &plan, &mut watch, &mut report)?
                }
                Decision::Rewrite(reason) => {
                    report.rewritten = Some(reason);
                    watch.begin(Phase::ReadOldVersion);
                    read_old_version(old, &terms, &quads)?;
                    write(writer, terms, quads, &plan, &mut watch, &mut report)?
                }
            }
        }
    };
    report.phases = watch.finish();
    Ok((snapshot, report))
}

/// What of the options is needed after the inputs were read.
pub(crate) struct WritePlan {
    /// Worker threads.
    pub(crate) threads: usize,
    /// Where quads are put.
    pub(crate) layout: crate::options::Layout,
    /// Thresholds of discovery.
    pub(crate) settings: basalt_shapes::Settings,
}

fn parse_inputs(
    options: LoadOptions,
    terms: &Terms,
    progress: &dyn Progress,
    quads: &QuadBlocks,
    report: &mut LoadReport,
) -> Result<WritePlan, LoadError> {
    let threads = options.thread_count();
    let skipped = SkippedLines::new(options.errors_max);
    let context = ParseContext {
        terms,
        graph: options.graph.as_deref(),
        base: options.base.as_deref(),
        skipped: options.lenient.then_some(&skipped),
        quads,
        threads,
        progress,
    };
    for (input, scope) in options.inputs.into_iter().zip(OLD_SCOPE + 1..) {
        report.bytes_read += parse_input(&context, input, scope)?;
    }
    (report.skipped_lines, report.skipped) = skipped.into_report();
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
    let names = ProvisionalNames::new(&gathered, &resources);
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

    watch.begin(Phase::WriteTerms);
    let dictionary = writer.dictionary()?;
    write_terms(dictionary, &resources, &literals, &numbers, &qualifiers)?;

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
