//! `WithoutRoom`: what a sort does where the texts of its keys find no room, and `TextRoom`: how much they may take.

use crate::error::ExecError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens where there is no room for the texts of keys.
#[derive(Clone, Debug)]
pub enum WithoutRoom {
    /// Terms are decoded for each comparison.
    Compare,
    /// The sort ends with the error, to be done again with fewer rows.
    Refuse(TextRoom),
}

/// What the texts of a key may take, whatever the limit leaves.
#[derive(Clone, Debug)]
pub struct TextRoom {
    bytes_max: usize,
    /// What those of one key took at most.
    most: Arc<AtomicUsize>,
}

impl TextRoom {
    /// So many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            most: Arc::default(),
        }
    }

    /// Whether twice as many rows would have found room.
    pub fn has_for_twice(&self) -> bool {
        self.most.load(Ordering::Relaxed) <= self.bytes_max / 2
    }

    /// Notes what the texts of a key take by now.
    pub fn take(&self, bytes: usize) -> Result<(), ExecError> {
        self.most.fetch_max(bytes, Ordering::Relaxed);
        match bytes > self.bytes_max {
            true => Err(ExecError::MemoryLimit {
                limit_bytes: self.bytes_max,
                operator: "OrderBy",
            }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_at_most_tells_whether_twice_as_much_fits() {
        let room = TextRoom::new(100);
        assert!(room.take(50).is_ok() && room.has_for_twice());
        assert!(room.take(10).is_ok() && room.has_for_twice());
        assert!(room.clone().take(51).is_ok() && !room.has_for_twice());
        assert!(room.take(100).is_ok());
        assert!(room.take(101).is_err());
    }
}
