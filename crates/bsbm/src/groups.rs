//! Groups of consecutive numbers: which producer owns a product, which vendor an offer.
//!
//! Sizes are drawn group by group until the total is reached, the last group cut to fit. Only the
//! running totals are kept: one number per group, about a fiftieth of the products.

use crate::distribution::group_size;
use crate::random::{Field, Stream};

/// Owners numbered from 1 of members numbered from 1.
pub(crate) struct Groups {
    /// The last member of each owner; entry 0 belongs to no owner and is 0.
    last: Vec<u64>,
}

impl Groups {
    /// Draws group sizes of the given average until `total` members are placed.
    pub(crate) fn new(seed: u64, field: Field, average: u64, total: u64) -> Groups {
        let mut last = vec![0];
        let mut placed = 0;
        while placed < total {
            let mut stream = Stream::new(seed, field, last.len() as u64);
            placed = total.min(placed + group_size(&mut stream, average));
            last.push(placed);
        }
        Groups { last }
    }

    /// The number of owners.
    pub(crate) fn owners(&self) -> u64 {
        self.last.len() as u64 - 1
    }

    /// The owner of a member.
    pub(crate) fn owner(&self, member: u64) -> u64 {
        self.last.partition_point(|last| *last < member) as u64
    }

    /// The members of an owner.
    pub(crate) fn members(&self, owner: u64) -> std::ops::RangeInclusive<u64> {
        let owner = owner as usize;
        self.last[owner - 1] + 1..=self.last[owner]
    }

    /// The last member of each owner, after a leading 0.
    pub(crate) fn limits(&self) -> &[u64] {
        &self.last
    }
}
