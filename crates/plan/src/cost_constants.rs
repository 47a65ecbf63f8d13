//! The constants of the cost model, in nanoseconds of one core unless the name says otherwise.
//!
//! All of them are initial estimates from the memory behaviour of each step (see
//! `docs/cost-model.md`); measurements replace them one by one, keeping the names.

/// Reading one cell of a column in row order (decode and compare).
pub(crate) const SCAN_CELL: f64 = 1.0;
/// Reading one cell at a random row (one or two cache misses, partly overlapped).
pub(crate) const GATHER_CELL: f64 = 8.0;
/// Finding the row of a subject id through the extent directory.
pub(crate) const POSITION: f64 = 6.0;
/// Starting an operator: opening columns, first batch.
pub(crate) const START: f64 = 2_000.0;
/// One look-up in an inverse: adjacency slice, bitmap or binary search.
pub(crate) const INVERSE_PROBE: f64 = 60.0;
/// The same in each further table of a star in whose range of values the object is: mostly a search that finds nothing (measured: 39 ns for each of
/// 130,000; codex-m, fifty tables).
pub(crate) const INVERSE_TABLE: f64 = 40.0;
/// The same in a table where it is out of range: a comparison or two.
pub(crate) const TABLE_OUT_OF_RANGE: f64 = 2.0;
/// Beginning to read one column of a further table for the rows of a batch that are in it (measured: 6 µs for two columns of some fifty tables,
/// four batches; `bench plans`, codex-m).
pub(crate) const TABLE_COLUMN: f64 = 3_000.0;
/// Taking one row that an inverse gave, and putting it where the input's order wants it (measured: 11 to 18 ns for each of
/// 56,960 and 59,896 rows in ascending order with no other cell or one, [`EMIT_ROW`] included; `bench plans`, BSBM).
pub(crate) const INVERSE_ROW: f64 = 8.0;
/// Share (not ns) of that, and of reading the cells, which a row of a long list costs: rows of a list ascend, and near ones are in one segment
/// (measured: 2.6 ns a row with a cell, 3.5 with two, for 282 lists of 2,020 rows; 15.8 and 20.5 for 3,143 lists of 20, which are
/// nearly 200 for each list and 2 to 5 for each row and cell; BSBM, 28,480 products. Less than measured, as probes of small hash tables take less
/// than [`HASH_PROBE`] too).
pub(crate) const LONG_LIST: f64 = 0.4;
/// Looking for a value among those of one row, per doubling of their number (measured with the rest of the join: 107 ns for 1.5 million rows whose lists have
/// 30 values on average and up to 4,749, 68 for 2.2 million whose lists have 6; made-up friends, likes and interests).
pub(crate) const LIST_HALF: f64 = 10.0;
/// Going through one row of two lists whose rows in common are wanted, its decoding included (measured with two probes: 215 ns for 3.0 million pairs of lists of a
/// row or two, some 600 ns for 125,711 pairs of which one has 18 and the other 74 on average).
pub(crate) const COMMON_ROW: f64 = 3.0;
/// Rows (not ns) of the shorter of two lists up to which these are gone through together; the store's limit.
pub(crate) const COMMON_ROWS_MAX: f64 = 1_024.0;
/// How many times as long (not ns) the longer one may be to be decoded, and as many rows more; the store's limits.
pub(crate) const COMMON_ROWS_TIMES: f64 = 16.0;
pub(crate) const COMMON_ROWS_MORE: f64 = 64.0;
/// Rows (not ns) of a list from which on each costs less.
pub(crate) const LONG_LIST_ROWS: f64 = 64.0;
/// Comparing one encoded cell of a column with one value (measured: 2.5 ms for 2,848 values in 2,848 cells;
/// `bench plans`, BSBM).
pub(crate) const SEARCH_CELL: f64 = 0.3;
/// Comparing one decoded value of a column with a constant whose id tells (measured with [`SCAN_CELL`]: 1.1 to 2.4 ns for 28,480 values and 3 ns for 569,600 of
/// which half pass, BSBM).
pub(crate) const COMPARE_CELL: f64 = 1.0;
/// Taking one of the rows that a scan begins with, if these are the rows of a constant in an inverse or those with a value in a column where most
/// have none.
pub(crate) const FOUND_ROW: f64 = 2.0;
/// Testing one row for a constant of which all rows are known: a bit of each (measured with [`POSITION`] and [`EMIT_ROW`]: 5.6 ns for 569,600 rows of
/// 28,480 subjects, BSBM).
pub(crate) const ROW_BIT: f64 = 1.0;
/// Rows of a table for each with a value (not ns) from which on a scan begins with those that have one; the executor's limit.
pub(crate) const ROWS_FOR_VALUE: f64 = 3.0;
/// Rows of a table for each whose values pass comparisons (not ns) from which on a scan finds these among encoded cells; the executor's limit.
pub(crate) const VALUES_FOR_PASSING: f64 = 5.0;
/// Decoding one cell of a column without inverse and looking it up among all values of a batch.
pub(crate) const SEARCH_CELL_TOGETHER: f64 = 5.0;
/// Searches (not ns) of a large column after which the store makes its inverse; as in the store.
pub(crate) const SEARCHES_BEFORE_BUILD: f64 = 64.0;
/// Sorting one value to make an inverse that does not exist yet.
pub(crate) const INVERSE_BUILD: f64 = 40.0;
/// One look-up in the irregular quads (binary search over compressed blocks).
pub(crate) const QUAD_PROBE: f64 = 400.0;
/// One of many look-ups by object together in the quads that were added in memory: a sort, and steps along their order.
pub(crate) const ADDED_PROBE: f64 = 40.0;
/// Reading one irregular quad in order.
pub(crate) const QUAD_SCAN: f64 = 5.0;
/// One general look-up of a pattern in all tables and the irregular quads.
pub(crate) const PATTERN_PROBE: f64 = 1_500.0;
/// One general look-up by subject and predicate (measured: 2,848 in 0.78 ms; `bench plans`, BSBM).
pub(crate) const PATTERN_PROBE_CELL: f64 = 300.0;
/// One general look-up by subject among those of a batch, whose rows are read column by column.
pub(crate) const PATTERN_PROBE_SUBJECT: f64 = 500.0;
/// Visiting one quad of a scan of all tables and the irregular quads (measured: 10 million in 0.35 s).
pub(crate) const PATTERN_SCAN: f64 = 35.0;
/// One look-up of the rows and the irregular quads of a graph.
pub(crate) const GRAPH_PROBE: f64 = 400.0;
/// What it takes more for each table: a search among the graphs that it has rows of, and the inverse where it has this one.
pub(crate) const GRAPH_PROBE_TABLE: f64 = 100.0;
/// A graph with so few quads (not ns) is looked up and not scanned, whatever else there is; as in the executor.
pub(crate) const GRAPH_QUADS_MIN: u64 = 1 << 10;
/// A graph with more quads (not ns) is scanned; as in the executor.
pub(crate) const LOOKED_UP_QUADS_MAX: u64 = 1 << 15;
/// A star in a graph with one of so many quads (not ns) reads what has quads there; as in the executor.
pub(crate) const RARE_GRAPH: f64 = 64.0;
/// Visiting one quad that is found by its graph.
pub(crate) const GRAPH_QUAD: f64 = 100.0;
/// What a general look-up by object alone takes more for each table: some of its columns can hold the object.
pub(crate) const PATTERN_PROBE_TABLE: f64 = 150.0;
/// Putting one row into a hash table that fits the caches (measured: 16 ns for 71,596 and for 94,776 rows, 25 ns for 2,848; `bench plans`,
/// codex-m and BSBM). More than [`HASH_PROBE`], so that the smaller side is built.
pub(crate) const HASH_BUILD: f64 = 16.0;
/// What it takes more where each row is a miss or two.
pub(crate) const HASH_BUILD_MISS: f64 = 40.0;
/// Looking one row up in a hash table that fits the caches (measured with [`HASH_PAIR`] and [`EMIT_ROW`]: 11 ns for 569,600 rows that find one
/// of 28,480 each; BSBM).
pub(crate) const HASH_PROBE: f64 = 8.0;
/// What it takes more where each row is a miss: look-ups are asked for ahead, so less than when it is built.
pub(crate) const HASH_PROBE_MISS: f64 = 15.0;
/// Looking one row up by id, where the keys of a hash table are near each other (measured as [`HASH_PROBE`]: 5 ns).
pub(crate) const HASH_PROBE_BY_ID: f64 = 2.0;
/// Ids (not ns) for each row of the build side up to which keys go by id; the executor's limit.
pub(crate) const IDS_FOR_ROW: f64 = 4.0;
/// Setting the bit of one key, or looking one up, in a semi or anti join by one key alone (measured with [`EMIT_ROW`]: 2 ns for 569,600
/// rows and 13,772 keys; 4 ns for 1,000 rows and 26,794 keys, BSBM).
pub(crate) const KEY_BIT: f64 = 2.0;
/// Rows (not ns) of a table that no longer fits the caches at all, at some 50 bytes a row.
pub(crate) const HASH_ROWS_CACHED: f64 = 1_000_000.0;
/// Putting one pair of a hash join together, without [`EMIT_ROW`]: a gather from the build side for each of its columns (measured with
/// it: 5 to 8 ns for 163,000 to 31 million rows of 3 to 7 columns; `bench plans`, codex-m, qudt and BSBM).
pub(crate) const HASH_PAIR: f64 = 3.0;
/// Numbering the key of one row among those of its batch.
pub(crate) const KEY_NUMBER: f64 = 4.0;
/// Beginning to copy the solutions that a row shares with others of its key (measured with [`KEY_NUMBER`]: 7 ns for 6 million rows of 22
/// solutions; `bench plans`, codex-m).
pub(crate) const STRETCH: f64 = 5.0;
/// Writing one row of such solutions, in place of [`EMIT_ROW`], and one cell of it that the star makes (measured: 0.75 to 0.95 ns for 3 to 134
/// million rows with one such cell, 1.7 ns with three and 2 with four).
pub(crate) const COPIED_ROW: f64 = 0.35;
pub(crate) const COPIED_CELL: f64 = 0.4;
/// One more row of a solution that a star join finds for a key that rows share, and one cell of it that the star makes (measured: 4.6 and 9 ns for 530,000
/// and 207,000 rows with one cell, 10 ns for 156,000 to 6 million with four, two orders of the same rows compared; `bench plans`, codex-m).
pub(crate) const SHARED_SOLUTION: f64 = 3.0;
pub(crate) const SHARED_SOLUTION_CELL: f64 = 2.0;
/// Distinct keys for each row (not ns) up to which a star join by subject, or by an object, finds solutions once for each key; the
/// executor's limits.
pub(crate) const SHARED_SUBJECTS_MAX: f64 = 0.5;
pub(crate) const SHARED_OBJECTS_MAX: f64 = 0.75;
/// One more row of a solution that a star join finds for a row that came in, where keys are not shared: positions are repeated and all columns
/// made so far copied by them (measured with [`EMIT_ROW`]: 14 to 17 ns for 421,000 to 31 million rows; `bench plans`, codex-m).
pub(crate) const REPEATED_ROW: f64 = 12.0;
/// Rows of a batch (not ns); the executor's default.
pub(crate) const BATCH_ROWS: f64 = 2_048.0;
/// Starting a thread that scans for a pattern, and waiting for its first batch (measured: 27 µs for a scan of 3 quads; `bench plans`, qudt).
pub(crate) const THREAD_START: f64 = 20_000.0;
/// Putting one key into a key filter: a hash, and a write that mostly misses the first cache.
pub(crate) const KEY_FILTER_PUT: f64 = 4.0;
/// Testing one id with a key filter: a hash or a subtraction, and one cache line.
pub(crate) const KEY_FILTER_TEST: f64 = 2.0;
/// Passing one row of a merge join.
pub(crate) const MERGE_ROW: f64 = 3.0;
/// Comparing one pair of rows where a join has no key.
pub(crate) const PAIR: f64 = 4.0;
/// Putting one row of a join without keys in the order of what its condition bounds, or finding its range there.
pub(crate) const RANGE_ROW: f64 = 60.0;
/// Writing one row of output.
pub(crate) const EMIT_ROW: f64 = 3.0;
/// Evaluating one simple condition or expression for one row, casts of numbers included (measured: 1 to 6 ns for 569,600 rows, BSBM; more where numbers differ
/// in type or scale, or have many digits).
pub(crate) const EXPRESSION: f64 = 8.0;
/// Evaluating an expression that needs the text of a term.
pub(crate) const TEXT_EXPRESSION: f64 = 150.0;
/// The same of a stored term that is not near the one before: its text is unpacked alone (measured: 1.1 to 1.3 µs for 150,000 texts of 50 characters, TPC-H).
pub(crate) const TEXT_APART: f64 = 1_000.0;
/// Starting the inner plan of an EXISTS for one row.
pub(crate) const EXISTS_START: f64 = 3_000.0;
/// Numbering, sorting and remembering the key of one row of an EXISTS that runs for many (measured: 55 to 82 ns for 48,981 rows, BSBM).
pub(crate) const EXISTS_KEY: f64 = 60.0;
/// Sorting one row, per doubling of the row count.
pub(crate) const SORT_COMPARE: f64 = 6.0;
/// Keeping one value of a row and reading it again.
pub(crate) const SPOOL_VALUE: f64 = 2.0;
/// Rows under a LIMIT that are kept to be read twice, at most; chosen: a megabyte or two.
pub(crate) const KEPT_ROWS_MAX: usize = 10_000;
/// Grouping one row, or making it distinct (measured on BSBM with ten million triples: 5 ns for distinct keys, 9 for counts by 585 keys, 16 for means of
/// prices by some hundred, their cast included; more where groups do not fit the cache).
pub(crate) const GROUP_ROW: f64 = 12.0;
/// Reading one key of an inverse, or one count of the statistics.
pub(crate) const COUNT_KEY: f64 = 8.0;
/// Counting the quads of one object by an inverse, for each row of an input (measured: 8.5 ns for 28,480 objects next to each other, 39 for each of
/// 4,927 far ones whose offsets were decoded one by one; BSBM).
pub(crate) const COUNT_PROBE: f64 = 12.0;
/// Finding the links of one node of a path in the store.
pub(crate) const PATH_LOOKUP: f64 = 400.0;
/// Reading one link into the index of a path.
pub(crate) const PATH_LINK: f64 = 50.0;
/// Meeting one node in a walk over the index.
pub(crate) const PATH_VISIT: f64 = 12.0;
/// One request to a remote endpoint: the way there and back, and its planning.
pub(crate) const SERVICE_REQUEST: f64 = 50_000_000.0;
/// Writing one binding into a request, and the endpoint's work for it.
pub(crate) const SERVICE_SEND: f64 = 20_000.0;
/// Reading one row of a remote answer.
pub(crate) const SERVICE_ROW: f64 = 5_000.0;
/// Rows (not ns) of a remote pattern nothing is known of: large, since fetching what is not needed
/// also burdens others.
pub(crate) const SERVICE_ROWS: f64 = 100_000.0;
/// Rows (not ns) of a remote pattern that names a subject or an object.
pub(crate) const SERVICE_ROWS_SELECTIVE: f64 = 1_000.0;
/// Bindings (not ns) that go with one request; the executor's limit.
pub(crate) const SERVICE_BINDINGS: f64 = 512.0;

/// Share of rows (not ns) that pass a condition nothing is known of.
pub(crate) const SELECTIVITY_DEFAULT: f64 = 1.0 / 3.0;
/// Share of rows that pass a regular expression or text search.
pub(crate) const SELECTIVITY_TEXT: f64 = 0.1;
/// Share of rows that pass an equality of values nothing is known of.
pub(crate) const SELECTIVITY_EQUAL: f64 = 0.05;
/// Share of rows in which two slots hold the same term where the query asks for it.
pub(crate) const SELECTIVITY_SAME: f64 = 0.5;
/// Share of rows that pass EXISTS or NOT EXISTS.
pub(crate) const SELECTIVITY_EXISTS: f64 = 0.5;
/// Share of rows (not ns) that may be expected to pass a key filter that is worth making: estimates of values are seldom wrong by more than a
/// factor of two (`docs/cost-model.md`), so that a filter nearly always turns something away.
pub(crate) const KEY_FILTER_SHARE_MAX: f64 = 0.5;
/// Most levels (not ns) that a closure is taken to have: hierarchies are shallow, whatever their size.
pub(crate) const PATH_LEVELS_MAX: f64 = 16.0;
/// A quad of a predicate that a condition lists, as a join by the predicate gives it; measured: 20 to 40 ns.
pub(crate) const LISTED_QUAD: f64 = 40.0;
/// A row of which a path has both ends, to be looked for in the ends of one; measured: 170 to 400 ns where rows differ in both.
pub(crate) const PATH_PAIR: f64 = 170.0;
/// Walks that tell how many nodes a closure leads to; chosen: the mean of so many is right within a half where nodes differ twofold.
pub(crate) const PATH_WALKS: usize = 8;
/// So many at least, if they end.
pub(crate) const PATH_WALKS_MIN: usize = 3;
/// Nodes that they meet together, from which on no more walks begin; chosen: some tenths of a millisecond.
pub(crate) const PATH_WALKS_NODES: f64 = 256.0;
/// A group whose plan takes less is not planned again with stars in parts: that takes up to a millisecond.
pub(crate) const SPLIT_COST_MIN: f64 = 5e6;
/// A subselect that takes less is not planned again for what the rest of its group needs: that takes some tenths of a millisecond.
pub(crate) const SEED_COST_MIN: f64 = 5e6;
/// Share (not ns) of the cost that a group with such a subselect may have: how many values the rest of it has is known less well than what a scan costs.
pub(crate) const SEED_COST_FACTOR: f64 = 0.6;
/// Rows that such a subselect has for each row of the rest, at least: rows of the rest are pairs of keys where nothing else joins these.
pub(crate) const SEED_ROWS_MIN: f64 = 4.0;
/// An EXISTS that takes less for all rows is not planned again with joins that build tables for all of them: that takes some tenths of a millisecond.
pub(crate) const KEEP_COST_MIN: f64 = 2e6;
/// Share (not ns) of the cost that such a plan may have: how many partners a row has is known less well than what a look-up costs.
pub(crate) const KEEP_COST_FACTOR: f64 = 0.8;
/// A group whose plan takes less is not planned again in parts: that takes some tenths of a millisecond.
pub(crate) const AGGREGATE_PARTS_MIN: f64 = 2e6;
/// The same in parts that are grouped by keys of the whole, too: as many plans more as there are keys.
pub(crate) const AGGREGATE_CARRIED_MIN: f64 = 1e7;
/// The same with equal values taken off, which takes some plans more.
pub(crate) const COUNT_UNEQUAL_MIN: f64 = 4e6;
/// Share (not ns) of the cost that such a plan may have of that with the condition, which leaves fewer rows than are counted without it.
pub(crate) const COUNT_UNEQUAL_FACTOR: f64 = 0.5;
/// Share (not ns) of the cost with whole stars that a plan with stars in parts may have: it knows less of values that occur together.
pub(crate) const SPLIT_COST_FACTOR: f64 = 0.5;
