//! The word lists: about as many words, as long, as those of the original benchmark.
//!
//! Words are strung together from syllables by a fixed stream, so the lists are the same in every
//! data set and nothing has to be shipped. They are made once per process (some tens of
//! milliseconds) and kept as one text with offsets, small enough for a second-level cache.
//! Invariant: the words of a list are distinct and hold only ASCII letters and hyphens.

use crate::random::{Field, Stream};
use std::collections::HashSet;
use std::sync::OnceLock;

const TITLE_WORDS: usize = 89_500;
const GIVEN_NAMES: usize = 88_800;
/// The share of given names that are single; the others are two joined by a hyphen.
const SINGLE_NAMES: usize = GIVEN_NAMES * 16 / 100;
const WORD_BYTES_MAX: usize = 28;

const ONSETS: [&str; 30] = [
    "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br",
    "ch", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr", "",
];
const NUCLEI: [&str; 12] = [
    "a", "e", "i", "o", "u", "a", "e", "i", "o", "ea", "ou", "ai",
];
const CODAS: [&str; 20] = [
    "", "", "", "", "", "", "", "", "", "", "", "n", "r", "s", "l", "t", "m", "nd", "rk", "st",
];

/// A list of distinct words.
pub(crate) struct WordList {
    /// All words, one after the other.
    text: String,
    /// Where each word starts, and after the last word the length of the text.
    starts: Vec<u32>,
}

/// The words of labels, comments, titles and texts.
pub(crate) fn title_words() -> &'static WordList {
    static LIST: OnceLock<WordList> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut stream = Stream::new(0, Field::WordList, 0);
        WordList::distinct(TITLE_WORDS, || word(&mut stream, &[3, 38, 42, 15, 2]))
    })
}

/// The names of persons.
pub(crate) fn given_names() -> &'static WordList {
    static LIST: OnceLock<WordList> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut stream = Stream::new(0, Field::NameList, 0);
        let singles = WordList::distinct(SINGLE_NAMES, || {
            let lower = word(&mut stream, &[6, 86, 8, 0, 0]);
            lower[..1].to_ascii_uppercase() + &lower[1..]
        });
        let mut stream = Stream::new(0, Field::NameList, 1);
        let mut made = 0;
        WordList::distinct(GIVEN_NAMES, || {
            made += 1;
            if made <= SINGLE_NAMES {
                return singles.get(made - 1).to_owned();
            }
            let first = singles.pick(&mut stream);
            format!("{first}-{}", singles.pick(&mut stream))
        })
    })
}

/// A word of one to five syllables; `weights` are the percentages of these lengths.
fn word(stream: &mut Stream, weights: &[u64; 5]) -> String {
    let mut percentile = stream.below(100);
    let mut syllables = 1;
    for weight in weights {
        if percentile < *weight {
            break;
        }
        percentile -= weight;
        syllables += 1;
    }
    let mut word = String::new();
    for _ in 0..syllables {
        for parts in [&ONSETS[..], &NUCLEI[..], &CODAS[..]] {
            word.push_str(parts[stream.below(parts.len() as u64) as usize]);
        }
    }
    word
}

impl WordList {
    /// Draws words until `count` different ones have come.
    fn distinct(count: usize, mut draw: impl FnMut() -> String) -> WordList {
        let mut seen = HashSet::with_capacity(count);
        let mut text = String::new();
        let mut starts = vec![0];
        // Termination: the words that can be drawn outnumber `count` many times.
        while seen.len() < count {
            let word = draw();
            if (2..=WORD_BYTES_MAX).contains(&word.len()) && !seen.contains(&word) {
                text.push_str(&word);
                starts.push(text.len() as u32);
                seen.insert(word);
            }
        }
        WordList { text, starts }
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The word at an index below [`WordList::len`].
    pub(crate) fn get(&self, idx: usize) -> &str {
        &self.text[self.starts[idx] as usize..self.starts[idx + 1] as usize]
    }

    /// A word, each equally likely.
    pub(crate) fn pick(&self, stream: &mut Stream) -> &str {
        self.get(stream.below(self.len() as u64) as usize)
    }

    /// The indexes of `count` words, each equally likely, given to `visit` one by one.
    pub(crate) fn sentence(&self, stream: &mut Stream, count: u64, mut visit: impl FnMut(usize)) {
        let words = self.len() as u64;
        let mut visit_half = |half: u64| visit(((half * words) >> 32) as usize);
        // One draw is good for two words: the list is far shorter than 2^32.
        for _ in 0..count / 2 {
            let bits = stream.bits();
            visit_half(bits >> 32);
            visit_half(bits & 0xFFFF_FFFF);
        }
        if count % 2 == 1 {
            visit_half(stream.bits() >> 32);
        }
    }

    /// Appends `count` words joined by spaces.
    pub(crate) fn push_sentence(&self, out: &mut Vec<u8>, stream: &mut Stream, count: u64) {
        self.sentence(stream, count, |idx| {
            out.extend_from_slice(self.get(idx).as_bytes());
            out.push(b' ');
        });
        if count > 0 {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_bytes(list: &WordList) -> f64 {
        list.text.len() as f64 / list.len() as f64
    }

    #[test]
    fn title_words_have_the_size_and_length_of_the_original() {
        let list = title_words();
        assert_eq!(list.len(), TITLE_WORDS);
        let mean = mean_bytes(list);
        assert!((8.6..=9.0).contains(&mean), "mean length {mean}");
        assert!(list.text.bytes().all(|byte| byte.is_ascii_lowercase()));
    }

    #[test]
    fn most_given_names_are_double() {
        let list = given_names();
        assert_eq!(list.len(), GIVEN_NAMES);
        let mean = mean_bytes(list);
        assert!((12.4..=13.0).contains(&mean), "mean length {mean}");
        let double = (0..list.len()).filter(|i| list.get(*i).contains('-'));
        let share = double.count() as f64 / list.len() as f64;
        assert!((0.83..=0.85).contains(&share), "share {share}");
    }
}
