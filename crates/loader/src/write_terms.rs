//! Writing the dictionary: resources and literals in the order of their new numbers.
//!
//! The two halves are independent files and are written at the same time, unless the load has one thread. Texts in memory are fetched one by
//! one; those in a file are put in order by [`Ordering`].

use std::iter::Peekable;
use std::slice::Iter;

use basalt_rdf::Qualifiers;
use basalt_store::StoreError;
use basalt_store::dictionary::{DictionaryWriter, LiteralWriter, ResourceWriter};

use crate::error::LoadError;
use crate::numbering::{LiteralNumbers, NewNumbers, ResourceNumbers, TermNumbers};
use crate::term_table::FrozenTerms;
use crate::text_order::{Ordering, TermWriter};
use crate::texts::{Record, Texts};

/// Writes the dictionary.
pub(crate) fn write_terms(
    writer: DictionaryWriter,
    (resources, literals): (FrozenTerms, FrozenTerms),
    numbers: &TermNumbers,
    qualifiers: &Qualifiers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    let (resource_writer, literal_writer) = writer.into_parts();
    let write_resources = || {
        let writer = Resources(resource_writer);
        write_resources(writer, resources, &numbers.resources, ordering)
    };
    let write_literals = || {
        let ends = numbers.literals.run_ends.iter();
        let writer = Literals {
            writer: literal_writer,
            run_ends: ends.peekable(),
        };
        let writer = write_literals(writer, literals, &numbers.literals, ordering)?;
        Ok(writer.finish(qualifiers)?)
    };
    let (literals, resources) = ordering.memory().join(write_literals, write_resources);
    resources.and(literals)
}

fn write_resources(
    mut writer: Resources,
    terms: FrozenTerms,
    numbers: &ResourceNumbers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    write_in_order(&mut writer, terms, &numbers.order, numbers, ordering)?;
    Ok(writer.0.finish()?)
}

fn write_literals(
    mut writer: Literals<'_>,
    terms: FrozenTerms,
    numbers: &LiteralNumbers,
    ordering: &Ordering<'_>,
) -> Result<LiteralWriter, LoadError> {
    write_in_order(&mut writer, terms, &numbers.order, numbers, ordering)?;
    Ok(writer.writer)
}

struct Resources(ResourceWriter);

impl TermWriter for Resources {
    #[inline]
    fn write(&mut self, _number: usize, term: &Record<'_>) -> Result<(), StoreError> {
        if ResourceNumbers::is_blank(term.kind) {
            self.0.push_blank()?;
        } else {
            self.0.push_iri(term.str())?;
        }
        Ok(())
    }
}

struct Literals<'a> {
    writer: LiteralWriter,
    /// Numbers at which another column begins.
    run_ends: Peekable<Iter<'a, u32>>,
}

impl TermWriter for Literals<'_> {
    #[inline]
    fn write(&mut self, number: usize, term: &Record<'_>) -> Result<(), StoreError> {
        while self
            .run_ends
            .next_if(|end| **end as usize <= number)
            .is_some()
        {
            self.writer.end_run()?;
        }
        let kind = term.kind;
        self.writer
            .push_literal((kind >> 16) as u8, kind as u16, term.str())?;
        Ok(())
    }
}

fn write_in_order(
    writer: &mut dyn TermWriter,
    terms: FrozenTerms,
    order: &[u32],
    numbers: &dyn NewNumbers,
    ordering: &Ordering<'_>,
) -> Result<(), LoadError> {
    match terms.texts {
        Texts::Memory(texts) => {
            for (number, &provisional) in order.iter().enumerate() {
                writer.write(number, &texts.get(provisional))?;
                ordering.told(number)?;
            }
            Ok(())
        }
        Texts::Spilled(texts) => ordering.write(texts, order, numbers, writer),
    }
}
