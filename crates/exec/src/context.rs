//! `Context`: what every operator of one running query shares.
//!
//! Options, the term space, cancellation and the memory account. One context lives in an `Arc` from
//! the start of a query to its last batch.

use crate::attempt::Attempt;
use crate::error::ExecError;
use crate::expr::{KnownTexts, Patterns};
use crate::operators::dependent::Memo;
use crate::path::{KnownPathIndexes, PathAccess, PathEvaluator};
use crate::profile::{self, Profile};
use crate::service::ServiceClient;
use crate::spill::term_bytes_max;
use crate::star::{SharedKeys, Waves};
use crate::terms::{TermSpace, TermSpill};
use crate::turns::Turns;
use basalt_plan::physical::Slot;
use basalt_rdf::{TermBuf, TermId};
use basalt_store::Snapshot;
use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

/// How a query runs.
#[derive(Clone, Debug)]
pub struct ExecOptions {
    /// Rows that an operator aims to put into one batch.
    pub batch_rows: usize,
    /// Threads that may work on the query.
    pub threads: usize,
    /// Bytes that the operators may hold together.
    pub memory_bytes_max: usize,
    /// Gives free memory that the allocator keeps back to the system; called once, when the operators come to hold half of
    /// what they may, so that what others left free is not resident beside all of it. `None` where the allocator keeps little.
    pub give_back: Option<fn()>,
    /// Where operators that may not hold more put rows; `None` is the system's folder for temporary files.
    pub temp: Option<PathBuf>,
    /// Time the query may take.
    pub timeout: Option<Duration>,
    /// Time of an [attempt](crate::attempt), which ends with [`ExecError::AttemptOver`]: whoever runs the query where
    /// others wait for the thread starts it anew elsewhere. One thread only; `None` for as long as it takes.
    pub attempt: Option<Duration>,
    /// Set to true by whoever wants the query to stop.
    pub cancel: Arc<AtomicBool>,
    /// Whether to measure rows, time and memory of each node.
    pub profile: bool,
    /// The base that `IRI()` resolves relative references against.
    pub base_iri: Option<Arc<str>>,
    /// How closures of paths find links.
    pub path_access: PathAccess,
    /// The indexes of paths that queries before made of this store; `None` makes each query begin without.
    pub path_indexes: Option<Arc<KnownPathIndexes>>,
    /// Who asks remote endpoints; `None` refuses every SERVICE.
    pub services: Option<Arc<dyn ServiceClient>>,
    /// Changed rows and new subjects that are read as columns if so many are wanted at once; fewer are looked up one by one, all of
    /// them if this is the largest number. Answers do not depend on it.
    pub changed_columns_min: usize,
    /// Rows that a star join finds, at most, before it knows changed rows of tables by a bit for each row, unless these bits are there; with
    /// 0 at once, otherwise when there are not many changed rows for each that was found. Answers do not depend on it.
    pub searched_rows_max: usize,
    /// Whether the solutions of a star join of which nothing is read are counted by inverses where that can be. Answers do not depend on it.
    pub counted_solutions: bool,
    /// Whether the rows of two objects of a star that the input binds are found together. Answers do not depend on it.
    pub common_rows: bool,
    /// How many partners of each object a join looks at first, where one solution is enough. Answers do not depend on it.
    pub waves: Waves,
    /// Rows expected of an operator from which on they are work for all threads: a few rows that lead to them are dealt out, distinct ones are
    /// found in partitions; 0 takes any. Answers do not depend on it.
    pub dealt_rows_min: usize,
    /// How long the thread of a pipeline works on it alone before others join in, unless it is expected to take some times as long.
    /// Answers do not depend on it.
    pub alone_for: Duration,
    /// When star joins find the solutions of a key once for all rows of a batch that have it. Answers, and the order of their rows, do not
    /// depend on it.
    pub shared_keys: SharedKeys,
    /// Rows with the key of a build row of a hash join, on average, from which on those of each key are put in the order of what the
    /// condition bounds; without keys they always are. With the largest number they never are. Answers do not depend on it.
    pub ordered_partners_min: usize,
}

/// Making the order of some rows takes as long as comparing each with some others.
const ORDERED_PARTNERS_MIN: usize = 8;

/// Some tenths of a millisecond of work, for which waking a thread pays (a fourth of it was tried: the small batches that each thread gets
/// cost as much as the second one saves).
const DEALT_ROWS_MIN: usize = 16_384;

/// To wake a thread, to start its operators and to put together what two have found takes about as long.
const ALONE_FOR: Duration = Duration::from_micros(150);

/// Looking up a subject takes as long as starting a pass for some of them, and one that is looked up needs no others of its chunk.
const CHANGED_COLUMNS_MIN: usize = 8;

/// A search in the sets of changed rows takes 10 to 20 ns, and clearing bits for a million rows as long as a thousand of them.
const SEARCHED_ROWS_MAX: usize = 1024;

/// Terms read or computed between two looks at whether the query goes on: of long literals, with a regular expression on each, a millisecond.
const CHECKED_TERMS: u32 = 64;

thread_local! {
    /// Terms that this thread has read or computed for queries.
    static TERMS: Cell<u32> = const { Cell::new(0) };
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            batch_rows: 2048,
            threads: core_count(),
            memory_bytes_max: 2 << 30,
            give_back: None,
            temp: None,
            timeout: None,
            attempt: None,
            cancel: Arc::default(),
            profile: false,
            base_iri: None,
            path_access: PathAccess::default(),
            path_indexes: None,
            services: None,
            changed_columns_min: CHANGED_COLUMNS_MIN,
            searched_rows_max: SEARCHED_ROWS_MAX,
            counted_solutions: true,
            common_rows: true,
            waves: Waves::default(),
            dealt_rows_min: DEALT_ROWS_MIN,
            alone_for: ALONE_FOR,
            shared_keys: SharedKeys::WhereItPays,
            ordered_partners_min: ORDERED_PARTNERS_MIN,
        }
    }
}

impl ExecOptions {
    /// Whether so many rows, which are expected, are work for all threads.
    pub fn are_many(&self, rows: f64) -> bool {
        rows >= self.dealt_rows_min as f64
    }

    /// When what begins now has to end; a time limit longer than the clock can tell is none.
    pub fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.timeout?)
    }
}

/// The cores that this process may use, asked for once: the system looks into files to tell.
pub fn core_count() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Counts bytes written to temporary files: those of the query, and of the operator if it is profiled.
#[derive(Clone, Debug)]
pub struct SpillCount {
    all: Arc<AtomicU64>,
    node: Option<Arc<AtomicU64>>,
}

impl SpillCount {
    /// Counts some more.
    pub fn add(&self, bytes: u64) {
        for counter in std::iter::once(&self.all).chain(&self.node) {
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// The node id of a path, and the graphs that `GRAPH ?g` is narrowed to.
type PathKey = (usize, Option<Vec<TermId>>);

/// The node id of a dependent plan, and the slots of its key.
type MemoKey = (usize, Vec<Slot>);

/// What the operators of one query share.
pub struct Context {
    options: ExecOptions,
    terms: TermSpace,
    /// When the query must have ended.
    deadline: Option<Instant>,
    /// The attempt, if it is one.
    attempt: Option<Attempt>,
    /// Who else may work meanwhile.
    turns: Turns,
    /// Requests sent to remote endpoints so far.
    service_requests: AtomicU64,
    /// Bytes held by operators now.
    memory_bytes: AtomicUsize,
    /// Whether free memory was given back for this query.
    gave_back: AtomicBool,
    /// Bytes written to temporary files so far.
    spilled_bytes: Arc<AtomicU64>,
    /// The instant that `NOW()` answers with.
    now: SystemTime,
    /// Solutions that have a number, see [`Batch::solutions`](crate::Batch::solutions).
    solutions: AtomicU64,
    /// What each node took.
    profile: Profile,
    /// The paths of the query by node and graphs, shared by threads and evaluations of an EXISTS.
    paths: Mutex<HashMap<PathKey, Arc<PathEvaluator>>>,
    /// What the evaluations of each dependent plan share, by node id and slots of the key.
    memos: Mutex<HashMap<MemoKey, Arc<Memo>>>,
    /// Texts that were read last, which no thread compares now.
    texts: Mutex<Vec<KnownTexts>>,
    /// Patterns that were compiled, with which no thread looks for something now.
    patterns: Mutex<Vec<Patterns>>,
    /// The `Arc` that this context lives in.
    this: Weak<Self>,
}

impl Context {
    /// The context of a query that starts now, with a plan of `node_count` nodes.
    pub fn new(snapshot: Snapshot, options: ExecOptions, node_count: usize) -> Arc<Self> {
        let deadline = options.deadline();
        let attempt = options.attempt.map(Attempt::begin);
        let profile = if options.profile {
            Profile::new(node_count)
        } else {
            Profile::default()
        };
        let spilled_bytes = Arc::<AtomicU64>::default();
        let spill = TermSpill {
            folder: options.temp.clone(),
            bytes_max: term_bytes_max(&options),
            spilled: SpillCount {
                all: Arc::clone(&spilled_bytes),
                node: None,
            },
        };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            profile,
            paths: Mutex::default(),
            options,
            terms: TermSpace::new(snapshot, spill),
            deadline,
            attempt,
            turns: Turns::begin(),
            memory_bytes: AtomicUsize::new(0),
            gave_back: AtomicBool::new(false),
            spilled_bytes,
            memos: Mutex::default(),
            texts: Mutex::default(),
            patterns: Mutex::default(),
            service_requests: AtomicU64::new(0),
            now: SystemTime::now(),
            solutions: AtomicU64::new(0),
        })
    }

    /// Another handle of this context.
    pub fn shared(&self) -> Arc<Self> {
        self.this.upgrade().expect("a context lives in an Arc")
    }

    /// Another handle of this context that does not keep it.
    pub fn handle(&self) -> Weak<Self> {
        self.this.clone()
    }

    /// What all evaluations share of the dependent plan with this node id and these slots as its key.
    pub fn memo(&self, node_id: usize, slots: &[Slot]) -> Arc<Memo> {
        let mut memos = self.memos.lock().expect("no holder panics");
        Arc::clone(memos.entry((node_id, slots.to_vec())).or_default())
    }

    /// Texts that were read last, for one thread that compares so many rows; they are given back by [`Self::put_texts`]. `None` where making
    /// room for them does not pay.
    pub fn take_texts(&self, rows: usize) -> Option<KnownTexts> {
        let known = self.texts.lock().expect("no holder panics").pop();
        known.or_else(|| (rows >= KnownTexts::ROWS_MIN).then(KnownTexts::default))
    }

    /// Gives texts back.
    pub fn put_texts(&self, texts: KnownTexts) {
        self.texts.lock().expect("no holder panics").push(texts);
    }

    /// Patterns that were compiled before, to be given back.
    pub fn take_patterns(&self) -> Patterns {
        let known = self.patterns.lock().expect("no holder panics").pop();
        known.unwrap_or_default()
    }

    /// Gives patterns back.
    pub fn put_patterns(&self, patterns: Patterns) {
        self.patterns
            .lock()
            .expect("no holder panics")
            .push(patterns);
    }

    /// What each node took.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The options.
    pub fn options(&self) -> &ExecOptions {
        &self.options
    }

    /// The path of a node, made at its first use; an evaluation of a dependent plan may see fewer graphs
    /// than the next.
    pub fn path(&self, key: PathKey, make: impl FnOnce() -> PathEvaluator) -> Arc<PathEvaluator> {
        let mut paths = self.paths.lock().expect("no holder panics");
        Arc::clone(paths.entry(key).or_insert_with(|| Arc::new(make())))
    }

    /// Terms to ids and back.
    pub fn terms(&self) -> &TermSpace {
        &self.terms
    }

    /// The term of an id, into a buffer that is used again and again.
    pub fn decode(&self, id: TermId, out: &mut TermBuf) -> Result<(), ExecError> {
        self.check_for_term()?;
        self.terms.decode(id, out)
    }

    /// Looks now and then at whether the query goes on; call for each term that is read or computed. They come one after another, for
    /// microseconds each, wherever texts are compared, tested or made.
    pub fn check_for_term(&self) -> Result<(), ExecError> {
        let terms = TERMS.get().wrapping_add(1);
        TERMS.set(terms);
        match terms.is_multiple_of(CHECKED_TERMS) {
            true => self.check(),
            false => Ok(()),
        }
    }

    /// The data.
    pub fn snapshot(&self) -> &Snapshot {
        self.terms.snapshot()
    }

    /// The instant that `NOW()` answers with, the same through the whole query.
    pub fn now(&self) -> SystemTime {
        self.now
    }

    /// Gives numbers to solutions: the first of `count` that nobody else has.
    pub fn number_solutions(&self, count: usize) -> u64 {
        self.solutions.fetch_add(count as u64, Ordering::Relaxed)
    }

    /// Errors if the query was cancelled, its time or that of the attempt is over, or what it computed has no room; call at
    /// least once a batch. A long query gives way to short ones here.
    pub fn check(&self) -> Result<(), ExecError> {
        if self.options.cancel.load(Ordering::Relaxed) {
            return Err(ExecError::Cancelled);
        }
        self.check_terms()?;
        let now = Instant::now();
        self.turns.give_way(now);
        if let (Some(deadline), Some(timeout)) = (self.deadline, self.options.timeout)
            && now >= deadline
        {
            return Err(ExecError::Timeout {
                limit_ms: timeout.as_millis(),
            });
        }
        match &self.attempt {
            Some(attempt) if attempt.is_over(now) => Err(ExecError::AttemptOver),
            _ => Ok(()),
        }
    }

    /// Errors if computed terms take more than all the memory, or could not be told apart.
    pub fn check_terms(&self) -> Result<(), ExecError> {
        let limit_bytes = self.options.memory_bytes_max;
        if self.terms.local_bytes() > limit_bytes {
            let limit = ExecError::MemoryLimit {
                limit_bytes,
                operator: "computed terms",
            };
            return Err(self.terms.spill_error().unwrap_or(limit));
        }
        self.terms.check()
    }

    /// When the query must have ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The number of the next request to a remote endpoint, another one each time.
    pub fn next_service_request(&self) -> u64 {
        self.service_requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts bytes that `operator` is going to hold.
    pub fn reserve(&self, bytes: usize, operator: &'static str) -> Result<(), ExecError> {
        let held = self.memory_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if held + self.terms.local_bytes() > self.options.memory_bytes_max {
            self.memory_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(ExecError::MemoryLimit {
                limit_bytes: self.options.memory_bytes_max,
                operator,
            });
        }
        if held > self.options.memory_bytes_max / 2 {
            self.give_back();
        }
        if self.profile.is_on() {
            self.profile.hold(bytes, held);
        }
        Ok(())
    }

    /// Has the allocator give back what it keeps, unless that was done for this query.
    #[cold]
    fn give_back(&self) {
        if !self.gave_back.swap(true, Ordering::Relaxed) {
            self.give_back_freed();
        }
    }

    /// Has the allocator give back what it keeps: for whoever has freed much that no one will ask for in the same sizes.
    pub fn give_back_freed(&self) {
        if let Some(give_back) = self.options.give_back {
            give_back();
        }
    }

    /// Errors if there is no room for so many bytes, which are not counted.
    pub fn check_room(&self, bytes: usize, operator: &'static str) -> Result<(), ExecError> {
        self.reserve(bytes, operator)?;
        self.release(bytes);
        Ok(())
    }

    /// Bytes written to temporary files so far.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Ordering::Relaxed)
    }

    /// What bytes written to a temporary file are counted with.
    pub fn spill_count(&self) -> SpillCount {
        SpillCount {
            all: Arc::clone(&self.spilled_bytes),
            node: self.profile.spilled_bytes(),
        }
    }

    /// Gives back what [`Context::reserve`] counted.
    pub fn release(&self, bytes: usize) {
        self.release_of(profile::current_node(), bytes);
    }

    /// Gives back what [`Context::reserve`] counted while this thread or another worked for a node of the plan.
    pub fn release_of(&self, node_id: Option<usize>, bytes: usize) {
        self.memory_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if self.profile.is_on() {
            self.profile.give_back(node_id, bytes);
        }
    }
}
