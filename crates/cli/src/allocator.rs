//! The allocator of the program: jemalloc, which gives pages back to the system when they are free.
//!
//! glibc's allocator parts the heap by thread and gives back little of it: a server that had merged all of its
//! large updates kept what they had needed (`docs/decisions/0021-allocator.md`).

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;
