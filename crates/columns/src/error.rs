//! The one error type of the crate: bytes that are not what a writer of this crate makes.

/// Why encoded bytes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// The bytes contradict themselves: a size, a kind or an order that no encoder writes.
    #[error("corrupt column data: {what}")]
    Corrupt {
        /// What is wrong, with the values found.
        what: String,
    },
}

impl ColumnError {
    /// A [`ColumnError::Corrupt`] with this explanation.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}
