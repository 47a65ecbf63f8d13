//! Closes temporary files where nobody waits: the system gives the space of a file without a name back before it returns.
//!
//! One thread for the process, begun by the first large file, ends with it. Files that wait for it are a part of those that the process may
//! have open; whoever drops one more closes it.

use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Files that are smaller are closed in less time than it takes to wake a thread twice.
const LENGTH_MIN: u64 = 1 << 20;
/// One of so many files that the process may have open can wait to be closed.
const OPEN_PER_WAITING: u64 = 4;
/// Files that wait at most: those of several large sorts.
const WAITING_MAX: u64 = 4096;

/// Closes a file without a name, of so many bytes, now or soon.
pub(super) fn close(file: File, length: u64) {
    static WAITING: OnceLock<Option<SyncSender<File>>> = OnceLock::new();
    if length < LENGTH_MIN {
        return;
    }
    let Some(waiting) = WAITING.get_or_init(begin) else {
        return;
    };
    // What finds no room comes back and is closed here.
    drop(waiting.try_send(file));
}

/// The way to the thread; nothing if the system gives none.
fn begin() -> Option<SyncSender<File>> {
    let open_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let waiting_max = (open_max / OPEN_PER_WAITING).min(WAITING_MAX);
    let (waiting, files): (_, Receiver<File>) = sync_channel(waiting_max as usize);
    let thread = thread::Builder::new().name("close".to_owned());
    let begun = thread.spawn(move || files.into_iter().for_each(drop));
    begun.ok().map(|_| waiting)
}
