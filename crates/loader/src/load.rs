//! One load from end to end.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::{GraphFormat, QuadView, Qualifiers};
use basalt_store::{Snapshot, Storage, VersionWriter};

use crate::append::{self, Decision, Facts, append, decide};
use crate::collect::{ProvisionalNames, RDF_TYPE, collect};
use crate::encoder::Terms;
use crate::error::LoadError;
use crate::fill::Filling;
use crate::gather::Grouping;
use crate::grouped::Gathered;
use crate::irregular::{sorter, write_irregular};
use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::old_version::{OLD_SCOPE, read_old_version};
use crate::options::LoadOptions;
use crate::parse::{self, ParseContext};
use crate::placement::Placement;
use crate::progress::{Phase, Progress, WorkCounter};
use crate::quad_blocks::QuadBlocks;
use crate::report::{LoadReport, Stopwatch, TableReport};
use crate::rows::RowSource;
use crate::skipped_lines::SkippedLines;
use crate::spill::LoadMemory;
use crate::statistics::statistics;
use crate::term_table::{FrozenTerms, IRI};
use crate::text_order::Ordering;
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

fn current_version(dir: &Path, open: Option<&Snapshot>) -> Result<Option<Snapshot>, LoadError> {
    match (Snapshot::current_version(dir)?, open) {
        (None, _) => Ok(None),
        (Some(_), Some(open)) => Ok(Some(open.newest_of(dir)?)),
        (Some(_), None) => Ok(Some(Snapshot::open_unverified(dir)?)),
    }
}

/// Loads the inputs, and the data of `old` if there is one, into the version of `writer`. In a store on disk
/// `old` is its newest state, commits in the log included.
pub fn load_with(
    mut writer: VersionWriter,
    old: Option<&Snapshot>,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    if let Some(iri) = &options.graph {
        check_graph(iri)?;
    }
    if let Some(old) = old {
        writer.takes_over(old);
    }
    let qualifiers = match old {
        Some(old) => Qualifiers::from_lists(&old.dictionary().qualifier_lists())?,
        None => Qualifiers::new(),
    };
    let memory = Arc::new(LoadMemory::new(
        options.memory,
        options.thread_count(),
        temp_folder(&options, &writer),
        options.spill.clone(),
    )?);
    let terms = Terms::new(Arc::new(qualifiers), &memory);
    let mut watch = Stopwatch::new(progress, options.cancel.clone());
    let mut report = LoadReport::default();
    let quads = QuadBlocks::new(Arc::clone(&memory));
    watch.begin(Phase::Parse)?;
    let addition = options.addition;
    let plan = parse_inputs(options, &terms, progress, &quads, &memory, &mut report)?;
    report.quads_read = quads.quad_count();
    if let Some(old) = old {
        // Reading the inputs keeps all threads busy, but not what comes now. The outcome is asked for before
        // anything is committed.
        old.begin_to_verify();
    }
    let snapshot = match old.filter(|o| o.quad_count() > 0) {
        None => write(writer, terms, quads, &plan, &mut watch, &mut report)?,
        Some(old) => {
            report.quads_before = old.quad_count();
            let fits = append::fits(&terms, &quads, &memory);
            match decide(addition, &Facts::of(old, report.quads_read, fits)) {
                Decision::Layer => {
                    append(writer, old, terms, quads, &plan, &mut watch, &mut report)?
                }
                Decision::Rewrite(reason) => {
                    report.rewritten = Some(reason);
                    watch.begin(Phase::ReadOldVersion)?;
                    old.verify()?;
                    let work = WorkCounter::new(progress, old.quad_count());
                    read_old_version(old, &terms, &quads, &work)?;
                    write(writer, terms, quads, &plan, &mut watch, &mut report)?
                }
            }
        }
    };
    report.spilled_bytes = memory.folder.written_bytes();
    report.phases = watch.finish();
    Ok((snapshot, report))
}

/// Where temporary files go: the folder given, or that of the new version, or the system's.
fn temp_folder(options: &LoadOptions, writer: &VersionWriter) -> PathBuf {
    let given = options.temp.clone();
    let own = || writer.folder_path().map(Path::to_path_buf);
    given.or_else(own).unwrap_or_else(std::env::temp_dir)
}

/// What of the options is needed after the inputs were read.
pub(crate) struct WritePlan {
    /// Worker threads.
    pub(crate) threads: usize,
    /// The budget.
    pub(crate) memory: Arc<LoadMemory>,
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
    memory: &Arc<LoadMemory>,
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
    let parsed = parse::parse_inputs(&context, options.inputs, OLD_SCOPE + 1);
    report.bytes_read = skipped.finish(parsed, report)?;
    Ok(WritePlan {
        threads,
        memory: Arc::clone(memory),
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
    watch.begin(Phase::Group)?;
    let memory = &*plan.memory;
    let qualifiers = Arc::clone(&terms.qualifiers);
    let (gathered, resources, literals, resident) = group(terms, quads, plan)?;
    report.quads_stored = gathered.quad_count();
    report.duplicates = report.quads_read + report.quads_before - report.quads_stored;

    watch.begin(Phase::Discover)?;
    let names = ProvisionalNames::read(&gathered, &resources)?;
    let (charsets, links) = collect(&gathered, &names, &plan.settings, plan.threads, memory)?;
    let placement = Placement::choose(plan.layout, &charsets, &links, &plan.settings, &names)?;
    drop((links, names));
    describe_tables(&placement, report);

    watch.begin(Phase::Number)?;
    let numbers = ResourceNumbers::assign(&resources, &gathered, &placement);
    let predicates = numbers.predicates(&gathered);
    let graphs = numbers.graphs(&gathered);
    let mut numbers = TermNumbers {
        resources: numbers,
        literals: LiteralNumbers::new(&literals),
    };

    watch.begin(Phase::WriteTables)?;
    let table_count = placement.tables.len();
    let table_of = |rank: usize| {
        let table = placement.schema.charset_to_table[charsets.of_subject[rank] as usize];
        table.unwrap_or(table_count)
    };
    let rows = RowSource::new(&gathered, &placement.ranks(), &table_of, memory, resident)?;
    let filling = Filling {
        rows: &rows,
        charsets: &charsets,
        placement: &placement,
        predicates: &predicates,
        graphs: &graphs,
        threads: plan.threads,
        work: WorkCounter::new(watch.progress(), placement.row_count()),
    };
    let mut irregular = sorter(memory, resident);
    filling.write_tables(&mut writer, &mut numbers, &mut irregular)?;

    watch.begin(Phase::WriteIrregular)?;
    filling.loose_quads(&gathered, &numbers.resources, &mut irregular)?;
    report.irregular_quads = irregular.len();
    report.quads_in_cells = report.quads_stored - report.irregular_quads;
    writer.statistics(statistics(&charsets, &placement.schema, &predicates));
    drop(rows);
    drop((gathered, charsets, placement));
    write_irregular(irregular, &mut numbers, &mut writer, memory, resident)?;

    let terms = (resources, literals);
    let ordering = (memory, resident);
    write_terms_and_commit(writer, terms, &numbers, &qualifiers, ordering, watch)
}

/// From finished tables to a committed version; `terms` are resources and literals.
fn write_terms_and_commit(
    mut writer: VersionWriter,
    terms: (FrozenTerms, FrozenTerms),
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    (memory, resident): (&LoadMemory, u64),
    watch: &mut Stopwatch<'_>,
) -> Result<Snapshot, LoadError> {
    watch.begin(Phase::WriteTerms)?;
    let count = (terms.0.len() + terms.1.len()) as u64;
    let work = WorkCounter::new(watch.progress(), count);
    let ordering = Ordering::new(memory, resident, &work);
    let dictionary = writer.dictionary()?;
    write_terms(dictionary, terms, numbers, qualifiers, &ordering)?;
    watch.begin(Phase::Commit)?;
    Ok(writer.commit()?)
}

/// Ends interning and groups the quads; also returns the bytes that numbers of terms and subjects will take.
pub(crate) fn group(
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
) -> Result<(Gathered, FrozenTerms, FrozenTerms, u64), LoadError> {
    let Terms {
        resources,
        literals,
        ..
    } = terms;
    let type_predicate = resources.find(IRI, RDF_TYPE).map(|ordinal| ordinal as u32);
    let bounds = (resources.ordinal_bound(), literals.ordinal_bound());
    let resident = resident_bytes(bounds);
    let places = 8 * (bounds.0 + bounds.1) as u64;
    plan.memory.decide(quads.quad_count(), resident + places);
    let (resources, literals) = std::thread::scope(|scope| {
        let literals = scope.spawn(|| literals.freeze());
        let resources = resources.freeze();
        match literals.join() {
            Ok(literals) => (resources, literals),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let (resources, literals) = (resources?, literals?);
    let grouping = Grouping {
        resource_bound: bounds.0,
        type_predicate,
        threads: plan.threads,
        memory: &plan.memory,
        resident,
    };
    let gathered = grouping.gather(quads.into_ordered()?)?;
    Ok((gathered, resources, literals, resident))
}

/// Bytes of what stays in memory by the bounds of ordinals: ranks, counts, sets, graphs and rows of subjects; new
/// numbers and their order; at last the index that finds a term by its text.
pub(crate) fn resident_bytes((resources, literals): (usize, usize)) -> u64 {
    40 * resources as u64 + 20 * literals as u64
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
