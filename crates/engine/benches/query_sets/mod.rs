//! The queries that plans and estimates are measured with: the benchmark's own, and walks over generated and real data.

use crate::estimate_errors::{bsbm, bsbm_queries, walked_queries};
use crate::real_sets::{QUDT, files_of, loaded};
use basalt_engine::{Database, Layout};
use std::io;

/// Products of the benchmark's data, a million triples.
const PRODUCTS: u64 = 2_848;

/// How many queries there are.
pub struct Sizes {
    /// Parameters drawn for each query of the benchmark.
    pub draws: i64,
    /// Generated queries of each set.
    pub walked: u64,
}

/// Visits the sets with their names and data. `cargo bench -- NAME` takes one only; sets that are not there are said to be
/// skipped. `BASALT_WALK_SEED` is the first seed of the generated queries.
pub fn for_each_set(
    sizes: Sizes,
    mut visit: impl FnMut(&str, &Database, &[String]) -> io::Result<()>,
) -> io::Result<()> {
    // Other options of benchmark programs mean nothing here.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let first = std::env::var("BASALT_WALK_SEED").ok();
    let first: u64 = match first.map(|text| text.parse()) {
        None => 0,
        Some(Ok(seed)) => seed,
        Some(Err(_)) => return Err(io::Error::other("BASALT_WALK_SEED is no number")),
    };
    let seeds = first..first + sizes.walked;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if is_wanted("bsbm") {
        let database = bsbm(PRODUCTS);
        let queries = bsbm_queries(PRODUCTS, sizes.draws);
        visit("BSBM, its queries", &database, &queries)?;
        let queries = walked_queries(&database, seeds.clone());
        visit("BSBM, walks", &database, &queries)?;
    }
    let sets: [(&str, &[&str]); 2] = [("codex-m", &["codex-m.nt.gz"]), ("qudt", QUDT)];
    for (name, files) in sets {
        if is_wanted(name)
            && let Some(files) = files_of(files)
        {
            let database = loaded(&files, Layout::Discover);
            let queries = walked_queries(&database, seeds.clone());
            visit(&format!("{name}, walks"), &database, &queries)?;
        }
    }
    Ok(())
}
