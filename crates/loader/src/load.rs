//! One load from end to end.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::{GraphFormat, InlineForms, QuadView, QualifierLists, Qualifiers};
use basalt_store::{Snapshot, Storage, VersionReason, VersionWriter};

use crate::append::{self, Decision, Facts, append, decide};
use crate::collect::{ProvisionalNames, RDF_TYPE, collect};
use crate::encoder::Terms;
use crate::error::LoadError;
use crate::fill::Filling;
use crate::first_ordinals::FirstTerms;
use crate::gather::Grouping;
use crate::grouped::Gathered;
use crate::irregular::{sorter, write_irregular};
use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::old_version::{OLD_SCOPE, read_old_version};
use crate::options::{Input, LoadOptions};
use crate::parse::{self, ParseContext};
use crate::placement::Placement;
use crate::progress::{Phase, Progress, WorkCounter};
use crate::quad_blocks::QuadBlocks;
use crate::report::{LoadReport, Stopwatch, TableReport};
use crate::rewrite::NoEdits;
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
    let names: Vec<String> = options.inputs.iter().map(Input::name).collect();
    let addition = options.addition;
    let Loading {
        terms,
        quads,
        plan,
        mut watch,
        mut report,
    } = Loading::begin(&writer, old, options, progress)?;
    if let Some(old) = old {
        // Reading the inputs keeps all threads busy, but not what comes now. The outcome is asked for before
        // anything is committed.
        old.begin_to_verify();
    }
    let snapshot = match old.filter(|o| o.quad_count() > 0) {
        None => {
            if !names.is_empty() {
                writer.written_for(VersionReason::load(&names, report.quads_read));
            }
            write_and_commit(writer, terms, quads, &plan, &mut watch, &mut report)?
        }
        Some(old) => {
            report.quads_before = old.quad_count();
            let fits = append::fits(&terms, &quads, &plan.memory);
            let decision = decide(addition, &Facts::of(old, report.quads_read, fits));
            if !names.is_empty() {
                writer.written_for(reason(&names, report.quads_read, &decision));
            }
            match decision {
                Decision::Layer => {
                    append(writer, old, terms, quads, &plan, &mut watch, &mut report)?
                }
                Decision::Rewrite(reason) => {
                    report.rewritten = Some(reason);
                    watch.begin(Phase::ReadOldVersion)?;
                    old.verify()?;
                    let work = WorkCounter::new(progress, &plan.memory, old.quad_count());
                    read_old_version(old, &mut NoEdits, &terms, &quads, &work, None)?;
                    write_and_commit(writer, terms, quads, &plan, &mut watch, &mut report)?
                }
            }
        }
    };
    report.spilled_bytes = plan.memory.folder.written_bytes();
    report.phases = watch.finish();
    Ok((snapshot, report))
}

/// A load whose inputs were read.
pub(crate) struct Loading<'p> {
    /// The terms met.
    pub(crate) terms: Terms,
    /// The quads of the inputs.
    pub(crate) quads: QuadBlocks,
    /// How to go on.
    pub(crate) plan: WritePlan,
    /// Measures the phases.
    pub(crate) watch: Stopwatch<'p>,
    /// What is known so far.
    pub(crate) report: LoadReport,
}

impl<'p> Loading<'p> {
    /// Reads the inputs. Codes of datatypes and languages are those of the old state.
    pub(crate) fn begin(
        writer: &VersionWriter,
        old: Option<&Snapshot>,
        options: LoadOptions,
        progress: &'p dyn Progress,
    ) -> Result<Self, LoadError> {
        let qualifiers = match old {
            Some(old) => Qualifiers::from_lists(&lists_of(old, options.inline_forms))?,
            None => Qualifiers::of_forms(options.inline_forms),
        };
        let memory = LoadMemory::new(
            options.memory,
            options.thread_count(),
            temp_folder(&options, writer),
            options.spill.clone(),
        )?;
        let memory = Arc::new(memory.cancelled_by(options.cancel.clone()));
        let terms = Terms::new(Arc::new(qualifiers), &memory);
        let mut watch = Stopwatch::new(progress, Arc::clone(&memory));
        let mut report = LoadReport::default();
        let quads = QuadBlocks::new(Arc::clone(&memory));
        watch.begin(Phase::Parse)?;
        let plan = parse_inputs(options, &terms, progress, &quads, &memory, &mut report)?;
        report.quads_read = quads.quad_count();
        Ok(Self {
            terms,
            quads,
            plan,
            watch,
            report,
        })
    }
}

/// The codes of a state, and its forms unless it has no literal.
fn lists_of(old: &Snapshot, forms: InlineForms) -> QualifierLists {
    let lists = old.dictionary().qualifier_lists();
    match old.quad_count() == 0 && old.dictionary().literal_count() == 0 {
        true => QualifierLists { forms, ..lists },
        false => lists,
    }
}

/// Why the version of a load into a store with data is written.
fn reason(names: &[String], quads: u64, decision: &Decision) -> VersionReason {
    let mut reason = VersionReason::load(names, quads);
    if let VersionReason::Load {
        layer, rewritten, ..
    } = &mut reason
    {
        match decision {
            Decision::Layer => *layer = true,
            Decision::Rewrite(why) => *rewritten = Some(why.to_string()),
        }
    }
    reason
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
fn write_and_commit(
    mut writer: VersionWriter,
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
    watch: &mut Stopwatch<'_>,
    report: &mut LoadReport,
) -> Result<Snapshot, LoadError> {
    write(&mut writer, terms, quads, plan, watch, report)?;
    watch.begin(Phase::Commit)?;
    Ok(writer.commit()?)
}

/// From parsed quads to a version that only wants to be committed; gives the numbers of its terms.
pub(crate) fn write(
    writer: &mut VersionWriter,
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
    watch: &mut Stopwatch<'_>,
    report: &mut LoadReport,
) -> Result<TermNumbers, LoadError> {
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
        work: WorkCounter::new(watch.progress(), memory, placement.row_count()),
    };
    let mut irregular = sorter(memory, resident);
    filling.write_tables(writer, &mut numbers, &mut irregular)?;

    watch.begin(Phase::WriteIrregular)?;
    filling.loose_quads(&gathered, &numbers.resources, &mut irregular)?;
    report.irregular_quads = irregular.len();
    report.quads_in_cells = report.quads_stored - report.irregular_quads;
    writer.statistics(statistics(&charsets, &placement.schema, &predicates));
    drop(rows);
    let grouped = gathered.held_bytes();
    drop((gathered, charsets, placement));
    memory.release(grouped);
    write_irregular(irregular, &mut numbers, writer, memory, resident)?;

    let terms = (resources, literals);
    let ordering = (memory, resident);
    write_dictionary(writer, terms, &numbers, &qualifiers, ordering, watch)?;
    Ok(numbers)
}

/// Writes the dictionary; `terms` are resources and literals.
fn write_dictionary(
    writer: &mut VersionWriter,
    terms: (FrozenTerms, FrozenTerms),
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    (memory, resident): (&LoadMemory, u64),
    watch: &mut Stopwatch<'_>,
) -> Result<(), LoadError> {
    watch.begin(Phase::WriteTerms)?;
    let count = (terms.0.len() + terms.1.len()) as u64;
    let work = WorkCounter::new(watch.progress(), memory, count);
    let ordering = Ordering::new(memory, resident, &work);
    let dictionary = writer.dictionary()?;
    write_terms(dictionary, terms, numbers, qualifiers, &ordering)
}

/// Ends interning and groups the quads; also returns the bytes that numbers of terms and subjects will take.
pub(crate) fn group(
    terms: Terms,
    quads: QuadBlocks,
    plan: &WritePlan,
) -> Result<(Gathered, FrozenTerms, FrozenTerms, u64), LoadError> {
    let bounds = terms.bounds();
    let places = 8 * (bounds.0 + bounds.1) as u64;
    // Where terms have several ordinals the load spills already, so that these bounds are too large decides nothing.
    let most = number_bytes(bounds, bounds);
    plan.memory.decide(quads.quad_count(), most + places);
    let Terms {
        resources,
        literals,
        ..
    } = terms;
    if plan.memory.is_spilling() {
        let (count, held) = (quads.quad_count(), quads.held_bytes());
        let room = plan.memory.room_for_groups(count, held, most);
        literals.make_room(room)?;
        resources.make_room(room)?;
    }
    let (resources, literals) = plan.memory.join(
        || resources.freeze(Some((IRI, RDF_TYPE))),
        || literals.freeze(None),
    );
    let (resources, literals) = (resources?, literals?);
    let type_predicate = resources.sought;
    let firsts = FirstTerms {
        resources: resources.firsts,
        literals: literals.firsts,
    };
    let (resources, literals) = (resources.terms, literals.terms);
    let counts = (resources.len(), literals.len());
    let resident = number_bytes(bounds, counts) + firsts.bytes();
    plan.memory.check_numbers(resident)?;
    let grouping = Grouping {
        resource_bound: bounds.0,
        type_predicate,
        threads: plan.threads,
        memory: &plan.memory,
        resident,
    };
    let gathered = grouping.gather(quads.into_ordered(firsts)?)?;
    Ok((gathered, resources, literals, resident))
}

/// Bytes of what stays in memory for resources and literals, by the bounds of ordinals and by how many distinct ones there
/// are. By ordinals: ranks of subjects and new numbers. By terms: counts, sets, graphs and rows of subjects, the order of the new
/// numbers, at last the index that finds a term by its text.
pub(crate) fn number_bytes(bounds: (usize, usize), terms: (usize, usize)) -> u64 {
    let by_ordinal = 8 * bounds.0 as u64 + 4 * bounds.1 as u64;
    by_ordinal + 32 * terms.0 as u64 + 16 * terms.1 as u64
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
