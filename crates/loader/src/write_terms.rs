//! Writing the dictionary: resources and literals in the order of their new numbers.
//!
//! The two halves are independent files and are written at the same time.

use basalt_rdf::Qualifiers;
use basalt_store::StoreError;
use basalt_store::dictionary::{DictionaryWriter, LiteralWriter, ResourceWriter};

use crate::numbering::{LiteralNumbers, ResourceNumbers, TermNumbers};
use crate::progress::WorkCounter;
use crate::term_table::FrozenTerms;

/// Terms written between two words of progress.
const TERMS_TOLD: usize = 1 << 14;

/// Writes the dictionary.
pub(crate) fn write_terms(
    writer: DictionaryWriter,
    resources: &FrozenTerms,
    literals: &FrozenTerms,
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    work: &WorkCounter<'_>,
) -> Result<(), StoreError> {
    let (resource_writer, literal_writer) = writer.into_parts();
    std::thread::scope(|scope| {
        let thread =
            scope.spawn(|| write_resources(resource_writer, resources, &numbers.resources, work));
        let written = write_literals(
            literal_writer,
            literals,
            &numbers.literals,
            qualifiers,
            work,
        );
        match thread.join() {
            Ok(result) => result.and(written),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn write_resources(
    mut writer: ResourceWriter,
    terms: &FrozenTerms,
    numbers: &ResourceNumbers,
    work: &WorkCounter<'_>,
) -> Result<(), StoreError> {
    for (number, &provisional) in numbers.order.iter().enumerate() {
        if number % TERMS_TOLD == TERMS_TOLD - 1 {
            work.add(TERMS_TOLD as u64);
        }
        let (kind, text) = terms.get(u64::from(provisional));
        if ResourceNumbers::is_blank(kind) {
            writer.push_blank()?;
        } else {
            writer.push_iri(text)?;
        }
    }
    writer.finish()
}

fn write_literals(
    mut writer: LiteralWriter,
    terms: &FrozenTerms,
    numbers: &LiteralNumbers,
    qualifiers: &Qualifiers,
    work: &WorkCounter<'_>,
) -> Result<(), StoreError> {
    let mut run_ends = numbers.run_ends.iter().copied().peekable();
    for (number, &provisional) in numbers.order.iter().enumerate() {
        if number % TERMS_TOLD == TERMS_TOLD - 1 {
            work.add(TERMS_TOLD as u64);
        }
        while run_ends.next_if(|end| *end as usize <= number).is_some() {
            writer.end_run()?;
        }
        let (kind, text) = terms.get(u64::from(provisional));
        writer.push_literal((kind >> 16) as u8, kind as u16, text)?;
    }
    writer.finish(qualifiers)
}
