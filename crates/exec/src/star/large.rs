//! Changed subjects of which columns do not tell all, since they have too many values: they are looked up, one after the other.
//!
//! A pass over changed rows or new subjects first takes them out of its candidates ([`take_out_large`]), and what they give is added to
//! its solutions ([`one_after_the_other`]). There are few or none in most stores.
//!
//! Cost: a search for the chunks of each pattern; a look-up for each large subject. Memory: the values of one of them.

use super::changed::{Home, for_each_chunk};
use super::compiled::CompiledStar;
use super::general::GeneralPass;
use super::matches::Matches;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_rdf::TermId;

/// Takes candidates out, which ascend, of which columns do not tell what they have of some pattern: their input rows and subjects.
pub fn take_out_large(
    star: &CompiledStar,
    home: Home<'_>,
    rows: &mut Vec<u32>,
    origin: &mut Vec<u32>,
    cx: &Context,
) -> Result<Vec<(u32, TermId)>, ExecError> {
    let mut large = Vec::new();
    for pattern in &star.patterns {
        for_each_chunk(
            pattern.predicate,
            home,
            rows,
            cx,
            |chunk, [first, last], _| {
                let within = chunk.untold();
                large.extend(within.filter(|subject| (first..=last).contains(subject)));
            },
        )?;
    }
    let mut taken = Vec::new();
    if large.is_empty() {
        return Ok(taken);
    }
    large.sort_unstable();
    let mut kept = 0;
    for at in 0..rows.len() {
        let subject = home.subject(rows[at]);
        if large.binary_search(&subject.0).is_ok() {
            taken.push((origin[at], subject));
        } else {
            (rows[kept], origin[kept]) = (rows[at], origin[at]);
            kept += 1;
        }
    }
    rows.truncate(kept);
    origin.truncate(kept);
    Ok(taken)
}

/// The solutions of large subjects, each for one input row (0 for a scan). Those of one subject come together, as they were taken out.
pub fn one_after_the_other(
    star: &CompiledStar,
    input: Option<&Batch>,
    large: &[(u32, TermId)],
    cx: &Context,
) -> Result<Matches, ExecError> {
    cx.profile().read_one_by_one(current_node(), large.len());
    let mut all = Matches::new(star.new_slots.len());
    for of_subject in large.chunk_by(|one, other| one.1 == other.1) {
        // The values of one subject are held at a time, and its solutions before filters.
        let mut pass = GeneralPass::new(star, input, cx);
        pass.subjects(of_subject, cx)?;
        all.append(pass.finish(cx)?);
    }
    Ok(all)
}
