//! What to load and how.

use std::io::Read;
use std::path::PathBuf;

use basalt_rdf::{GraphFormat, InlineForms};
use basalt_shapes::Settings;

use crate::cancel::CancelFlag;
use crate::spill::LoadMemory;

/// One input.
pub struct Input {
    /// Where the bytes are.
    pub source: InputSource,
    /// The format; `None` to tell it by the name.
    pub format: Option<GraphFormat>,
}

/// Where the bytes of an input are.
pub enum InputSource {
    /// A file; `-` is standard input. Compression is told by the first bytes.
    Path(PathBuf),
    /// Any stream.
    Reader {
        /// The name for messages.
        name: String,
        /// The bytes, compressed or not.
        reader: Box<dyn Read + Send>,
    },
}

impl Input {
    /// A file whose name tells the format.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self {
            source: InputSource::Path(path.into()),
            format: None,
        }
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        match &self.source {
            InputSource::Path(path) if path.as_os_str() == "-" => "standard input".to_owned(),
            InputSource::Path(path) => path.display().to_string(),
            InputSource::Reader { name, .. } => name.clone(),
        }
    }

    /// A stream.
    pub fn reader(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
        format: GraphFormat,
    ) -> Self {
        let source = InputSource::Reader {
            name: name.into(),
            reader: Box::new(reader),
        };
        Self {
            source,
            format: Some(format),
        }
    }
}

/// Where quads are put. All layouts answer every query alike; tests use them to prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Tables as discovered.
    #[default]
    Discover,
    /// No table: every quad is irregular.
    AllIrregular,
    /// Every subject is a row of one table with a column for every predicate and type class.
    OneTable,
    /// Tables as discovered, but every other cell is moved to the irregular quads.
    HalfDirty,
}

/// How a load adds to a store that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Addition {
    /// By a layer of new files, or by rewriting the store when that has become better.
    #[default]
    Decide,
    /// Always by a layer.
    Layer,
    /// Always by rewriting the store.
    Rewrite,
}

/// Options of one load.
pub struct LoadOptions {
    /// The inputs, loaded in this order.
    pub inputs: Vec<Input>,
    /// The graph for triples that name none; `None` is the default graph.
    pub graph: Option<String>,
    /// The IRI that resolves relative IRIs of Turtle and TriG.
    pub base: Option<String>,
    /// Whether to skip bad lines of N-Triples and N-Quads.
    pub lenient: bool,
    /// With `lenient`, the bad lines to bear before giving up.
    pub errors_max: u64,
    /// With `lenient`, the file to write all bad lines to.
    pub errors: Option<PathBuf>,
    /// Worker threads; 0 for as many as the machine has cores.
    pub threads: usize,
    /// Where quads are put.
    pub layout: Layout,
    /// Thresholds of discovery.
    pub settings: Settings,
    /// Bytes of memory that the load may take; `None` for three quarters of what the system has available. What
    /// does not fit goes to temporary files.
    pub memory: Option<u64>,
    /// The folder for temporary files; `None` for that of the store.
    pub temp: Option<PathBuf>,
    /// How to add to a store that has data.
    pub addition: Addition,
    /// Which literals are inline in a store without any; others keep what they have. Programs that know no manifest of format 6 read
    /// those of fewer forms alone: [`InlineForms::Doubles`] has format 5, [`InlineForms::Fractions`] has format 4, [`InlineForms::WholeSeconds`] 3.
    pub inline_forms: InlineForms,
    /// Makes the load give up; see [`CancelFlag`].
    pub cancel: CancelFlag,
    /// Makes tests spill.
    #[doc(hidden)]
    pub spill: SpillSettings,
}

/// Limits that otherwise follow from the budget, so that tests can spill at every stage; `None` for the real ones.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct SpillSettings {
    /// Bytes of text, quads and index with which parsing begins to spill.
    pub parse_bytes: Option<u64>,
    /// Bytes that grouping may take before everything is spilled.
    pub group_bytes: Option<u64>,
    /// Bytes of the index of terms with which parts of it are spilled.
    pub index_bytes: Option<u64>,
    /// Bytes that numbers of terms and subjects may take.
    pub number_bytes: Option<u64>,
    /// Bytes of a slab of text.
    pub slab_bytes: Option<usize>,
    /// Quads of a window of subjects; with a value nothing is grouped in memory when parsing spilled.
    pub window_quads: Option<usize>,
    /// Quads read at a time after grouping.
    pub batch_quads: Option<usize>,
    /// Irregular quads sorted in memory.
    pub sort_quads: Option<usize>,
    /// Bytes of text put in order in memory.
    pub text_bytes: Option<usize>,
    /// How often spilled text may be read to put it in order before it is dealt out to buckets instead.
    pub text_reads: Option<u64>,
    /// The same for quads that are read table by table.
    pub row_reads: Option<u64>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            graph: None,
            base: None,
            lenient: false,
            errors_max: u64::MAX,
            errors: None,
            threads: 0,
            layout: Layout::Discover,
            settings: Settings::default(),
            memory: None,
            temp: None,
            cancel: CancelFlag::default(),
            spill: SpillSettings::default(),
            addition: Addition::Decide,
            inline_forms: InlineForms::default(),
        }
    }
}

impl LoadOptions {
    /// The least budget with which a load with so many threads can number so many distinct terms.
    pub fn memory_min(threads: usize, terms: u64) -> u64 {
        LoadMemory::minimum(threads, terms)
    }

    /// The number of threads to use.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}
