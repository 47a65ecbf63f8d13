//! Whole or nothing: a load of the real binary that is killed, stopped, refused or starved of disk leaves
//! exactly the data from before or exactly that plus its own, and nothing for people to clean up.
//!
//! `rounds` kills at random moments and stops by signal, `system_calls` dies and fails at chosen system
//! calls and looks at the order of syncs, `full_disk` runs out of space, `refusals` has loads that must not
//! succeed and loads that run at the same time. All use the verdict of `story`.

mod full_disk;
mod refusals;
mod rounds;
mod story;
#[path = "../support/mod.rs"]
mod support;
mod system_calls;
