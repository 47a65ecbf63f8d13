//! Asking for memory before it is needed.
//!
//! Cost: an instruction for each request. What is in the caches already is not asked for again; a core has some ten
//! requests under way at a time, so a distance of that many rows hides most of a wait.

/// Rows to look ahead: far enough that the memory has come by then, near enough that it is still there.
pub const PREFETCH_ROWS: usize = 12;

/// Asks for the cache line of an element; nothing happens where there is none.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither reads nor writes for the program, and the address is that of an element.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_an_element_are_passed_over() {
        prefetch(&[1_u64, 2], 1);
        prefetch(&[1_u64, 2], 2);
        prefetch::<u64>(&[], usize::MAX);
    }
}
