//! What the tests of Basalt hold its answers against (dev-only; no other crate ships it).
//!
//! Two oracles answer SPARQL queries over a plain set of quads: [`naive`] follows the SPARQL 1.1
//! algebra word by word with nested loops, [`oxigraph_oracle`] asks an in-memory Oxigraph.
//! [`random_data`] and [`random_query`] make seeded inputs for both and for the engine under test,
//! [`expectation`] and [`bag`] decide whether an answer is right, [`second_opinion`] why the oracles differ, [`shrink`] makes what failed small,
//! [`crash_disk`] makes up what a crash leaves of files, [`golden`] runs readable test scripts, [`w3c_sparql`] and
//! [`w3c_update`] read the manifests of the W3C suites.
//!
//! **Invariant:** nothing here looks at Basalt's own code for an answer; an oracle that shared the
//! engine's expressions or term ids would share its mistakes.

pub mod dataset;
pub mod folding;
pub mod naive;
pub mod oxigraph_deviations;
pub mod oxigraph_oracle;

pub mod bag;
pub mod expectation;
pub mod second_opinion;

pub mod crash_disk;

pub mod choices;
pub mod query_tree;
pub mod random_data;
pub mod random_query;
pub mod shrink;
pub mod split_mix;
pub mod walked_query;

pub mod golden;
pub mod w3c_sparql;
pub mod w3c_update;

pub use dataset::{Answer, Dataset};
