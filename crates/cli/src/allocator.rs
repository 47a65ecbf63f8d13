//! The allocator of the program: jemalloc, which gives pages back to the system when they are free.
//!
//! glibc's allocator parts the heap by thread and gives back little of it: a server that had merged all of its
//! large updates kept what they had needed (`docs/decisions/0021-allocator.md`).

use std::sync::Mutex;
use tikv_jemalloc_ctl::{Access, AsName, arenas};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Gives back the free pages of all arenas now, which otherwise stay for some seconds.
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
            debug_assert!(restored.is_ok(), "an arena that was told so once can be told again");
        }
    }
}
