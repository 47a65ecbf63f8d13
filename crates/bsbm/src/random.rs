//! Counter-based random numbers: the source of everything that varies in a data set.
//!
//! A [`Stream`] is opened with (seed, field, entity) and needs no other state, so product 17's
//! label is the same whoever asks for it, in whatever order. This is what makes the output
//! independent of the number of threads and lets the update file and the query parameters be
//! recomputed instead of remembered.
//!
//! The sequence within a stream is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); the start is
//! the mixed key. Cost: two multiplications and a few shifts per number, three mixes per stream.
//! The numbers of [`Field`] are part of the meaning of a seed: never renumber them.

use crate::distribution::inverse_normal_cdf;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a stream is used for: the class of the entity (high byte) and the field (low byte).
#[derive(Clone, Copy)]
pub(crate) enum Field {
    WordList = 0x0001,
    NameList = 0x0002,
    TypeText = 0x0101,
    TypeFeatureCount = 0x0102,
    FeatureText = 0x0201,
    ProducerSize = 0x0301,
    ProducerText = 0x0302,
    ProducerCountry = 0x0303,
    ProductLabel = 0x0401,
    ProductLeaf = 0x0402,
    ProductComment = 0x0403,
    ProductProperties = 0x0404,
    ProductFeatures = 0x0405,
    VendorSize = 0x0501,
    VendorText = 0x0502,
    VendorCountry = 0x0503,
    OfferProduct = 0x0601,
    OfferValues = 0x0602,
    SiteSize = 0x0701,
    PersonSize = 0x0801,
    PersonValues = 0x0802,
    PersonCountry = 0x0803,
    ReviewProduct = 0x0901,
    ReviewValues = 0x0902,
    QueryParameters = 0x0A01,
    MixOrder = 0x0A02,
}

/// One sequence of random numbers.
#[derive(Clone)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    /// The stream of `field` of the entity numbered `entity`.
    pub(crate) fn new(seed: u64, field: Field, entity: u64) -> Stream {
        let key = scramble(seed.wrapping_add((field as u64).wrapping_mul(GOLDEN)));
        Stream {
            state: scramble(key ^ scramble(entity.wrapping_add(GOLDEN))),
        }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        scramble(self.state)
    }

    /// A uniform number in `0..bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        // The bias of multiply-and-shift is below bound / 2^64.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform number in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with the given probability in percent.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A uniform real number strictly between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A variate of Normal(`mean`, 1).
    pub(crate) fn normal(&mut self, mean: f64) -> f64 {
        mean + inverse_normal_cdf(self.unit())
    }
}

/// Spreads every bit of a number over all bits of the result.
pub(crate) fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
