//! The sizes of a file's sections, for reports.

use super::SectionFile;

impl SectionFile {
    /// Name and length of every section, in the order of the file.
    pub(crate) fn section_sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        let sections = self.opened.sections.iter();
        sections.map(|section| (section.name.as_str(), section.range.len() as u64))
    }
}
