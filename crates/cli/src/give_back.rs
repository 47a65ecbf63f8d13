//! Free memory that jemalloc keeps, given back to the system (`docs/decisions/0021-allocator.md`).
//!
//! The [allocator](crate::allocator) keeps free pages for some seconds, for whoever wants memory next. A query that comes to hold much of
//! what it may would have them resident beside its own.

use std::sync::Mutex;
use tikv_jemalloc_ctl::{Access, AsName, arenas};

/// Gives back the free pages of all arenas now.
///
/// An arena whose pages may stay for no time gives them back at once, and keeps them again afterwards. One that no
/// thread has used yet cannot be told so, and has none. While one thread does that, others leave it to it: they would
/// read that pages stay for no time, and keep it at that.
pub fn give_back() {
    static GIVING_BACK: Mutex<()> = Mutex::new(());
    let Ok(_alone) = GIVING_BACK.try_lock() else {
        return;
    };
    for arena in 0..arenas::narenas::read().unwrap_or(0) {
        let name = format!("arena.{arena}.dirty_decay_ms\0");
        let decay = name.as_bytes().name();
        let kept: Result<isize, _> = decay.update(0);
        if let Ok(kept_ms) = kept {
            let restored = decay.write(kept_ms);
            debug_assert!(
                restored.is_ok(),
                "an arena that was told so once can be told again"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::resident_bytes;

    fn kept_ms() -> isize {
        let decay = b"arena.0.dirty_decay_ms\0"[..].name();
        decay.read().expect("the first arena is always there")
    }

    #[test]
    fn free_pages_go_back_and_arenas_keep_them_as_before() {
        let (kept, pieces) = (kept_ms(), 1 << 12);
        let held: Vec<Vec<u8>> = (0..pieces).map(|_| vec![1; 1 << 14]).collect();
        drop(held);
        let before = resident_bytes();
        give_back();
        assert_eq!(kept_ms(), kept, "pages stay as long as before");
        // 64 MiB were free; other tests may take some meanwhile.
        if let (Some(before), Some(after)) = (before, resident_bytes()) {
            assert!(after + (32 << 20) < before, "{before} bytes, then {after}");
        }
    }
}
