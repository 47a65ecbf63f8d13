//! What to load and how.

use std::io::Read;
use std::path::PathBuf;

use basalt_rdf::GraphFormat;
use basalt_shapes::Settings;

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
    /// Worker threads; 0 for as many as the machine has cores.
    pub threads: usize,
    /// Where quads are put.
    pub layout: Layout,
    /// Thresholds of discovery.
    pub settings: Settings,
    /// How to add to a store that has data.
    pub addition: Addition,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            graph: None,
            base: None,
            lenient: false,
            errors_max: u64::MAX,
            threads: 0,
            layout: Layout::Discover,
            settings: Settings::default(),
            addition: Addition::Decide,
        }
    }
}

impl LoadOptions {
    /// The number of threads to use.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}
