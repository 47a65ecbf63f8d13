//! Stores that take updates over HTTP: what a comparison beside updates needs besides asking.
//!
//! A commit costs what it promises, so the promise is chosen and not left to the store's
//! own default: both kinds can be had of every store here, and the report says by what.

use std::path::Path;
use std::time::Duration;

use super::endpoint::{Endpoint, Served};
use crate::error::XtaskError;

/// What a commit that was answered survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// A power cut: the log is on the disk before the answer.
    Synced,
    /// The end of the process: the log is written, and the system syncs it when it likes.
    Written,
}

impl Commits {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Synced, Self::Written];

    /// The name that the command line takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Written => "written",
        }
    }
}

/// A store that can be updated.
pub trait Updatable: Endpoint {
    /// Starts a server on the store of a folder that takes updates; called once for a store.
    fn serve_updates(
        &self,
        folder: &Path,
        query_time_max: Duration,
        commits: Commits,
    ) -> Result<UpdateServer, XtaskError>;

    /// By what a commit is what it is asked to be.
    fn by(&self, commits: Commits) -> &'static str;
}

/// A server that takes updates.
pub struct UpdateServer {
    /// The server, and where queries are posted to.
    pub served: Served,
    /// Where updates are posted to, in the field `update`.
    pub update_url: String,
    /// More fields of an update, with their values.
    pub parameters: Vec<(&'static str, &'static str)>,
}
