//! Work that stands back: done on a thread of lower priority, so that queries and commits hardly notice it.
//!
//! On Linux a thread has a niceness of its own, and those that it starts take it over, as does what they read and write where the scheduler of
//! the disk has priorities. A thread cannot get back what it gave up, so the work has one of its own. Elsewhere the work
//! is done as it is.
//!
//! Cost: a thread.

use std::panic::resume_unwind;
use std::thread;

/// Does work on a thread that is nicer than this one by so much, 0 to 19, and waits for it.
pub(crate) fn standing_back<R: Send>(niceness: u8, work: impl FnOnce() -> R + Send) -> R {
    if niceness == 0 {
        return work();
    }
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stand_back(niceness);
            work()
        });
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Lowers the priority of this thread.
#[cfg(target_os = "linux")]
fn stand_back(niceness: u8) {
    // It is never refused to be nicer; if it were, the work would be done as it is.
    let _ = rustix::process::nice(i32::from(niceness));
}

/// Other systems know the niceness of processes only.
#[cfg(not(target_os = "linux"))]
fn stand_back(_niceness: u8) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The niceness of this thread, the nineteenth field of its line; the second, its name, ends with the last bracket.
    fn niceness() -> i64 {
        let line = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux has it");
        let (_, fields) = line.rsplit_once(") ").expect("a name in brackets");
        let field = fields.split(' ').nth(16).expect("there are more");
        field.parse().expect("a number")
    }

    #[test]
    fn the_work_and_its_threads_are_nicer_and_the_caller_is_not() {
        let before = niceness();
        let (of_work, of_thread) = standing_back(3, || {
            let of_thread = thread::scope(|scope| scope.spawn(niceness).join());
            (niceness(), of_thread.expect("it reads a file"))
        });
        let expected = (before + 3).min(19);
        assert_eq!((of_work, of_thread), (expected, expected));
        assert_eq!(niceness(), before);
        assert_eq!(standing_back(0, niceness), before);
    }
}
