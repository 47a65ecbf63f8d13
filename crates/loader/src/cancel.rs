//! `CancelFlag`: telling a load to give up.
//!
//! The flag is looked at between blocks of quads, segments and terms, so a load ends within a fraction of a second,
//! with [`LoadError::Cancelled`](crate::LoadError::Cancelled) and without leaving files. Reading inputs goes on to the
//! end of the input; rewriting a store, which has none, stops at any stage.

use crate::error::LoadError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the load and those who may cancel it; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl From<Arc<AtomicBool>> for CancelFlag {
    /// A flag that others have too; true cancels.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl CancelFlag {
    /// Asks the load to give up.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails if it was asked to.
    #[inline]
    pub fn go_on(&self) -> Result<(), LoadError> {
        match self.is_cancelled() {
            true => Err(LoadError::Cancelled),
            false => Ok(()),
        }
    }

    /// Whether it was asked to.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
