//! The thresholds of discovery, each with its origin.
//!
//! The defaults suit every data set we know; tests change them to force odd schemas.

/// Thresholds of [`discover`](crate::discover()).
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A table has at least this many rows; the limit also grows with the data, see
    /// [`quads_per_row_min`](Self::quads_per_row_min). Below it, a table costs more in file
    /// headers than it saves in quads.
    pub table_rows_min: u64,
    /// The row limit is the number of quads divided by this, if that is more.
    pub quads_per_row_min: u64,
    /// A table below the row limit stays if it is referred to this many times the row limit
    /// (the factor of MonetDB's discovery, `HIGH_REFER_THRESHOLD`).
    pub reference_factor: u64,
    /// At most this many tables (MonetDB's `upperboundNumTables`).
    pub tables_max: usize,
    /// A predicate becomes a column if this share of the rows has it. A sparse column costs some
    /// 13 bytes per hundred absent rows (one presence bit each), an irregular quad some 16 bytes
    /// in its two orders: they break even near one row in a hundred.
    pub column_fill_min: f64,
    /// And if at least this many rows have it: fewer do not pay for the header of a segment.
    pub column_rows_min: u64,
    /// A second type class gets a column of its own from this share of the values on (the ten
    /// per cent of MonetDB's `infreqTypeThreshold`); below it, the values are irregular.
    pub type_share_min: f64,
    /// A column holds lists if values beyond the first are more than this share of its rows;
    /// fewer become irregular quads, so that one odd row does not turn a column into lists.
    pub extra_values_max: f64,
    /// A type whose subjects would fill a table to this degree is one kind of thing; the largest
    /// such type of a subject is its class.
    pub class_fill_min: f64,
    /// From so many rows on, a class has a table of its own however many others are like it. One more table costs a join by object some
    /// ns for each of its keys (measured: 2 to 6), so as many keys as rows, about, what scanning these takes.
    pub class_rows_min: u64,
    /// More smaller classes than these with the same predicates are categories of one kind of thing. Kinds that a vocabulary tells apart
    /// and whose things say the same are few.
    pub alike_classes_max: usize,
    /// A class is a category only if this share of what its things say is a column of the others too.
    pub category_share_min: f64,
    /// Predicates with at least this fill form the core that similarity is measured against.
    pub core_fill_min: f64,
    /// A predicate is discriminating, for merging by referrer, if its idf (natural logarithm) is
    /// at least this: fewer than one subject in seven has it.
    pub referrer_idf_min: f64,
    /// A set is merged by referrer if this share of its subjects is referred to in the same way.
    pub referrer_share_min: f64,
    /// A set without a table joins one that has columns for this share of its quads.
    pub adoption_share_min: f64,
    /// Similarity thresholds this close to the best coverage are candidates.
    pub coverage_slack: f64,
    /// How many of the largest characteristic sets the trials of the similarity threshold use: of those to be merged by similarity, and of
    /// those to be adopted.
    pub trial_charsets_max: usize,
    /// The most clusters that similarity opens; sets beyond may only join.
    pub clusters_max: usize,
    /// The similarity threshold, when it is not to be chosen by trials.
    pub threshold: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            table_rows_min: 8,
            quads_per_row_min: 200_000,
            reference_factor: 5,
            tables_max: 1_000,
            column_fill_min: 0.01,
            column_rows_min: 3,
            type_share_min: 0.10,
            extra_values_max: 0.01,
            class_fill_min: 0.40,
            class_rows_min: 16_384,
            alike_classes_max: 16,
            category_share_min: 0.95,
            core_fill_min: 0.05,
            referrer_idf_min: 2.0,
            referrer_share_min: 0.5,
            adoption_share_min: 0.5,
            coverage_slack: 0.03,
            trial_charsets_max: 3_000,
            clusters_max: 2_000,
            threshold: None,
        }
    }
}

impl Settings {
    /// The fewest rows of a table in a data set of so many quads.
    pub fn rows_min(&self, quads: u64) -> u64 {
        self.table_rows_min
            .max(quads / self.quads_per_row_min.max(1))
    }
}
