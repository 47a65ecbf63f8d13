//! Durable changes from end to end: what commits promise, with real folders, disks that fail, and crashes.
//!
//! `basics` has one writer and what readers see of it, `groups` many writers, `rewrites` loads and merges over
//! changes, `merges` merges while others commit, `merge_syncs` syncs that fail meanwhile, `failures` a disk that fails at each operation in turn, `crashes` the power cut at each of them,
//! `kills` a process that is killed, `large` transactions whose commit is a version, `full_disk` a file system without space, `backups` copies made
//! meanwhile, `histories` what many threads have read and written, `version_histories` what is remembered of all that, and `steady` the space that
//! changes without end take.

mod backups;
mod basics;
mod crashes;
mod data;
mod disks;
mod failures;
mod full_disk;
mod groups;
mod histories;
mod kills;
mod large;
#[path = "../merge_pauses/mod.rs"]
mod merge_pauses;
mod merge_syncs;
mod merges;
mod rewrites;
mod steady;
mod version_histories;
