//! `ByOrdinal`: from ordinals of resources to numbers, without hashing.
//!
//! ```text
//! directory   [ page | none | page | ... ]      from the first page used to the last
//! page        number + 1 of 256 neighbouring ordinals, 0 for none
//! ```
//!
//! Rows of one table have neighbouring ordinals, so most of them lie in few pages. Ordinals that lie too
//! far apart are refused, and the caller hashes them.
//!
//! Invariant: what is held stays within the caller's limit. Cost: two dependent reads.

/// Ordinals in a page: a few that lie far apart should not have to clear much (a KiB each), and the directory be small beside the pages.
const PAGE: usize = 1 << PAGE_BITS;
/// The same as a power of two.
pub const PAGE_BITS: u32 = 8;

/// Numbers by ordinal; see the [module documentation](self).
#[derive(Default)]
pub struct ByOrdinal {
    /// The number of the first page of the directory.
    first: usize,
    directory: Vec<Option<Box<[u32; PAGE]>>>,
    /// Pages that are there.
    pages: usize,
}

impl ByOrdinal {
    /// The number of an ordinal, if it has one.
    #[inline]
    pub fn find(&self, ordinal: u64) -> Option<u32> {
        let page = (ordinal as usize / PAGE).checked_sub(self.first)?;
        let page = self.directory.get(page)?.as_ref()?;
        page[ordinal as usize % PAGE].checked_sub(1)
    }

    /// Where the number of an ordinal is noted, plus one; 0 if it has none. `None` if its page is not there.
    #[inline]
    pub fn place(&mut self, ordinal: u64) -> Option<&mut u32> {
        let page = (ordinal as usize / PAGE).checked_sub(self.first)?;
        let page = self.directory.get_mut(page)?.as_mut()?;
        Some(&mut page[ordinal as usize % PAGE])
    }

    /// Adds the page of an ordinal; `None` if more than this many bytes would be held then.
    pub fn add_page(&mut self, ordinal: u64, bytes_max: usize) -> Option<()> {
        let number = ordinal as usize / PAGE;
        let (first, end) = match self.directory.len() {
            0 => (number, number + 1),
            len => (self.first.min(number), (self.first + len).max(number + 1)),
        };
        let directory_bytes = (end - first) * size_of::<Option<Box<[u32; PAGE]>>>();
        let page_bytes = (self.pages + 1) * size_of::<[u32; PAGE]>();
        if directory_bytes + page_bytes > bytes_max {
            return None;
        }
        if !self.directory.is_empty() {
            let before = std::iter::repeat_with(|| None).take(self.first - first);
            self.directory.splice(0..0, before);
        }
        self.first = first;
        self.directory.resize_with(end - first, || None);
        self.directory[number - first] = Some(Box::new([0; PAGE]));
        self.pages += 1;
        Some(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.directory.capacity() * size_of::<Option<Box<[u32; PAGE]>>>()
            + self.pages * size_of::<[u32; PAGE]>()
    }
}
