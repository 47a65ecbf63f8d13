//! The pace of queries: how long those of a shape took lately.
//!
//! Tells whether the next one is likely to be quick; where nothing is known the planner's estimate does. A fixed table, each
//! shape at the place of its hash with the rest of the hash beside it; of two shapes with one place the later stays.
//! A place is one atomic word, so nobody waits, and what two threads write at once is worth a measurement, not a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Places of the table: 32 KiB.
const PLACES: usize = 4096;
/// Bits of a word that hold microseconds, up to 16 s; the others hold the hash.
const MICROS_BITS: u32 = 24;
const MICROS_MAX: u64 = (1 << MICROS_BITS) - 1;
/// A slow run counts at once, and each quick one takes this share of the distance back: an attempt that fails costs some
/// ten times what a hand-over does.
const DECAY: u64 = 16;

/// See the [module documentation](self).
#[derive(Debug)]
pub struct Pace {
    places: Vec<AtomicU64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Pace {
    /// How long queries of a shape take, as far as that is known.
    pub fn of(&self, shape: u64) -> Option<Duration> {
        let word = self.place(shape).load(Ordering::Relaxed);
        (word != 0 && word & !MICROS_MAX == shape & !MICROS_MAX)
            .then(|| Duration::from_micros(word & MICROS_MAX))
    }

    /// Notes how long a query of a shape has worked.
    pub fn note(&self, shape: u64, time: Duration) {
        // One at least, so that a word that was written is not 0.
        let micros = (time.as_micros() as u64).clamp(1, MICROS_MAX);
        let micros = match self.of(shape).map(|known| known.as_micros() as u64) {
            Some(known) if known > micros => known - (known - micros).div_ceil(DECAY),
            _ => micros,
        };
        let word = shape & !MICROS_MAX | micros;
        self.place(shape).store(word, Ordering::Relaxed);
    }

    fn place(&self, shape: u64) -> &AtomicU64 {
        &self.places[shape as usize % PLACES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_runs_count_at_once_and_quick_ones_in_time() {
        let pace = Pace::default();
        let (shape, micros) = (0x1234_5678_9abc_def0, Duration::from_micros);
        assert_eq!(pace.of(shape), None);
        pace.note(shape, micros(100));
        assert_eq!(pace.of(shape), Some(micros(100)));
        pace.note(shape, micros(5000));
        assert_eq!(pace.of(shape), Some(micros(5000)));
        let runs = (0..).take_while(|_| {
            pace.note(shape, micros(100));
            pace.of(shape) > Some(micros(500))
        });
        assert!((30..60).contains(&runs.count()));
        // Another shape at the same place takes it.
        let other = shape ^ 1 << 60;
        assert_eq!(pace.of(other), None);
        pace.note(other, micros(7));
        assert_eq!((pace.of(other), pace.of(shape)), (Some(micros(7)), None));
        pace.note(other, Duration::from_secs(3600));
        assert_eq!(pace.of(other), Some(micros(MICROS_MAX)));
    }
}
