//! A group of literals: texts compressed with one FSST symbol table, each readable on its own.
//!
//! ```text
//! | count u32 | form u32: 0 plain, 1 FSST |
//! | 256 symbols u64, 256 symbol lengths u8 |                        (form 1 only)
//! | kinds: sequence of tag << 16 | qualifier, one per literal |
//! | offsets: sequence of count + 1 offsets into the texts |
//! | texts |
//! ```
//!
//! FSST replaces frequent strings of up to eight bytes by one-byte codes; code 255 says that the
//! next byte stands for itself (Boncz, Neumann, Leis: "FSST: fast random access string
//! compression", VLDB 2020). Texts with a zero byte stay plain: the symbol lookup pads with zeros
//! at the end of a text. Cost: reading a literal unpacks two offsets and its own codes.

use basalt_columns::ColumnError;
use basalt_columns::codec::{self, Sequence};
use fsst::Compressor;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes before everything else.
const HEADER_BYTES: usize = 8;
/// Bytes of the symbols.
const SYMBOL_BYTES: usize = 256 * 8;
/// Bytes of symbols and their lengths.
const TABLE_BYTES: usize = SYMBOL_BYTES + 256;
/// The code that says that the next byte stands for itself.
const ESCAPE: u8 = 255;
/// The longest symbol.
const SYMBOL_LENGTH_MAX: usize = 8;
/// Texts of fewer bytes in all are not worth a symbol table.
const COMPRESSED_BYTES_MIN: usize = 2 * TABLE_BYTES;

/// Codes of which all of a text has no more.
pub(super) const ALL_CODES: usize = usize::MAX;

/// The form word of a group.
mod form {
    pub(super) const PLAIN: u32 = 0;
    pub(super) const FSST: u32 = 1;
}

/// Tag and qualifier of a literal in one word.
#[inline]
pub(super) fn kind_word(tag: u8, qualifier: u16) -> u64 {
    u64::from(tag) << 16 | u64::from(qualifier)
}

/// The hash of a literal for the index.
#[inline]
pub(super) fn hash_literal(kind: u64, lexical: &[u8]) -> u64 {
    xxh3_64_with_seed(lexical, kind)
}

/// Literals before they are encoded.
#[derive(Debug, Default)]
pub(super) struct RawGroup {
    /// The texts, end to end.
    texts: Vec<u8>,
    /// Where each text begins, and the end of the last; empty if there are none.
    offsets: Vec<u64>,
    /// Tag and qualifier of each.
    kinds: Vec<u64>,
}

/// A group ready to be written.
#[derive(Debug)]
pub(super) struct EncodedGroup {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// The hash of each literal.
    pub(super) hashes: Vec<u64>,
}

impl RawGroup {
    /// Adds a literal.
    #[inline]
    pub(super) fn push(&mut self, kind: u64, lexical: &[u8]) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.texts.extend_from_slice(lexical);
        self.offsets.push(self.texts.len() as u64);
        self.kinds.push(kind);
    }

    /// Number of literals.
    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Compresses and lays out the group, which is not empty.
    pub(super) fn encode(&self) -> EncodedGroup {
        let texts: Vec<&[u8]> = self
            .offsets
            .windows(2)
            .map(|pair| &self.texts[pair[0] as usize..pair[1] as usize])
            .collect();
        let hashes = texts
            .iter()
            .zip(&self.kinds)
            .map(|(text, &kind)| hash_literal(kind, text))
            .collect();
        let bytes = self.compress(&texts).unwrap_or_else(|| {
            let mut bytes = self.start(form::PLAIN);
            self.finish(&self.offsets, &self.texts, &mut bytes);
            bytes
        });
        EncodedGroup { bytes, hashes }
    }

    /// The group in FSST form, if that is possible and pays.
    fn compress(&self, texts: &Vec<&[u8]>) -> Option<Vec<u8>> {
        if self.texts.len() < COMPRESSED_BYTES_MIN || self.texts.contains(&0) {
            return None;
        }
        let compressor = Compressor::train(texts);
        let mut codes = Vec::new();
        let mut offsets = Vec::with_capacity(texts.len() + 1);
        offsets.push(0);
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(
            texts,
            &mut codes,
            &mut offsets,
        );
        if codes.len() + TABLE_BYTES >= self.texts.len() {
            return None;
        }
        let mut bytes = self.start(form::FSST);
        let table = bytes.len();
        bytes.resize(table + TABLE_BYTES, 0);
        for (code, symbol) in compressor.symbol_table().iter().enumerate() {
            bytes[table + code * 8..table + code * 8 + 8]
                .copy_from_slice(&symbol.to_u64().to_le_bytes());
        }
        let lengths = compressor.symbol_lengths();
        bytes[table + SYMBOL_BYTES..][..lengths.len()].copy_from_slice(lengths);
        self.finish(&offsets, &codes, &mut bytes);
        Some(bytes)
    }

    fn start(&self, form: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(self.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&form.to_le_bytes());
        bytes
    }

    fn finish(&self, offsets: &[u64], texts: &[u8], bytes: &mut Vec<u8>) {
        codec::encode(&self.kinds, bytes);
        codec::encode(offsets, bytes);
        bytes.extend_from_slice(texts);
    }
}

/// An FSST symbol table in a mapped file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols<'a> {
    /// Eight bytes per code, padded with zeros.
    symbols: &'a [u8; SYMBOL_BYTES],
    /// The length of each symbol.
    lengths: &'a [u8; 256],
}

impl<'a> Symbols<'a> {
    /// Those at the beginning of some bytes, and the bytes behind them.
    pub(super) fn open(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (symbols, rest) = bytes.split_first_chunk::<SYMBOL_BYTES>()?;
        let (lengths, rest) = rest.split_first_chunk::<256>()?;
        Some((Self { symbols, lengths }, rest))
    }

    /// Writes a symbol, and zeros up to eight bytes, to the front of `out`; gives its length.
    #[inline]
    fn put(&self, code: u8, out: &mut [u8]) -> usize {
        let at = usize::from(code) * SYMBOL_LENGTH_MAX;
        let symbol = &self.symbols[at..at + SYMBOL_LENGTH_MAX];
        out[..SYMBOL_LENGTH_MAX].copy_from_slice(symbol);
        self.length(code)
    }

    /// A symbol with its first byte lowest and zeros behind it, and its length.
    #[inline]
    fn get(&self, code: u8) -> (u64, usize) {
        let at = usize::from(code) * SYMBOL_LENGTH_MAX;
        let mut symbol = [0; SYMBOL_LENGTH_MAX];
        symbol.copy_from_slice(&self.symbols[at..at + SYMBOL_LENGTH_MAX]);
        let length = self.length(code);
        // What a damaged file has behind it is no part of it.
        let unused = 8 * (SYMBOL_LENGTH_MAX - length) as u32;
        let mask = u64::MAX.checked_shr(unused).unwrap_or(0);
        (u64::from_le_bytes(symbol) & mask, length)
    }

    #[inline]
    fn length(&self, code: u8) -> usize {
        usize::from(self.lengths[usize::from(code)]).min(SYMBOL_LENGTH_MAX)
    }
}

/// An open group.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiteralGroup<'a> {
    /// The symbol table, if the texts are compressed.
    symbols: Option<Symbols<'a>>,
    /// Tag and qualifier of each literal.
    kinds: Sequence<'a>,
    /// Where each text begins, and the end.
    offsets: Sequence<'a>,
    /// The texts.
    texts: &'a [u8],
}

impl<'a> LiteralGroup<'a> {
    /// Opens a group of `count` literals that takes all of `bytes`. Constant time.
    pub(super) fn open(bytes: &'a [u8], count: usize) -> Result<Self, ColumnError> {
        let corrupt = |what: &str| ColumnError::Corrupt {
            what: format!("literal group: {what}"),
        };
        let (header, mut rest) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| corrupt("it is shorter than its header"))?;
        if header[..4] != (count as u32).to_le_bytes() {
            return Err(corrupt("its count is not that of the directory"));
        }
        let mut symbols = None;
        if header[4..] == form::FSST.to_le_bytes() {
            let table = Symbols::open(rest);
            let (table, after) = table.ok_or_else(|| corrupt("its symbol table is cut off"))?;
            symbols = Some(table);
            rest = after;
        } else if header[4..] != form::PLAIN.to_le_bytes() {
            return Err(corrupt("its form is unknown"));
        }
        let (kinds, used) = Sequence::open(rest)?;
        rest = &rest[used..];
        let (offsets, used) = Sequence::open(rest)?;
        let texts = &rest[used..];
        if kinds.len() != count || offsets.len() != count + 1 {
            return Err(corrupt(
                "it has another number of kinds or offsets than literals",
            ));
        }
        if offsets.get(count) != texts.len() as u64 {
            return Err(corrupt("its texts do not end where it ends"));
        }
        Ok(Self {
            symbols,
            kinds,
            offsets,
            texts,
        })
    }

    /// Tag and qualifier of literal `i`.
    #[inline]
    pub(super) fn kind(&self, i: usize) -> u64 {
        self.kinds.get(i)
    }

    /// Where the texts of some literals begin, from the start of [`Self::texts`], and the end of the last.
    pub(super) fn ends(&self, literals: Range<usize>) -> Vec<u64> {
        let mut ends = Vec::with_capacity(literals.len() + 1);
        self.offsets
            .decode(literals.start..literals.end + 1, &mut ends);
        ends
    }

    /// Bytes of all texts, with which the group ends.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Where the symbol table begins, if the texts are compressed.
    pub(super) fn symbols_start(&self) -> Option<usize> {
        self.symbols.map(|_| HEADER_BYTES)
    }

    /// Appends the text of literal `i`, or its beginning: see [`decode`].
    pub(super) fn text_into(&self, i: usize, codes: usize, out: &mut Vec<u8>) -> Option<()> {
        decode(self.text_bytes_of(i)?, self.symbols, codes, out)
    }

    /// The first bytes of literal `i` as a number: see [`start_word`].
    pub(super) fn text_word(&self, i: usize) -> Option<u128> {
        start_word(self.text_bytes_of(i)?, self.symbols)
    }

    fn text_bytes_of(&self, i: usize) -> Option<&'a [u8]> {
        let (start, end) = self.offsets.get_pair(i);
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        self.texts.get(start..end)
    }
}

/// Appends what the first `codes` codes of a text stand for, or all of it if it has no more or is not compressed; `None`, with anything
/// appended, if it is damaged.
#[inline]
pub(super) fn decode(
    mut bytes: &[u8],
    symbols: Option<Symbols<'_>>,
    codes: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let Some(symbols) = symbols else {
        out.extend_from_slice(bytes);
        return Some(());
    };
    if bytes.len() > codes {
        // An escape belongs to the byte after it.
        let mut at = 0;
        while at < codes {
            at += if bytes[at] == ESCAPE { 2 } else { 1 };
        }
        bytes = bytes.get(..at)?;
    }
    decompress(bytes, &symbols, out)
}

/// The first sixteen bytes of a text, with zeros behind a shorter one, as a number with the first byte highest; `None` if it is damaged.
#[inline]
pub(super) fn start_word(bytes: &[u8], symbols: Option<Symbols<'_>>) -> Option<u128> {
    let Some(symbols) = symbols else {
        return Some(first_word(bytes));
    };
    // The first byte lowest, until all are there.
    let (mut word, mut filled) = (0, 0);
    let mut codes = bytes.iter();
    while filled < size_of::<u128>()
        && let Some(&code) = codes.next()
    {
        let (symbol, length) = match code {
            ESCAPE => (u64::from(*codes.next()?), 1),
            code => symbols.get(code),
        };
        word |= u128::from(symbol) << (8 * filled);
        filled += length;
    }
    Some(word.swap_bytes())
}

/// The first sixteen bytes of a text that is not compressed, as a number that is ordered as texts are: the first byte highest, zeros behind a shorter one.
#[inline]
pub fn first_word(text: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    let length = text.len().min(first.len());
    first[..length].copy_from_slice(&text[..length]);
    u128::from_be_bytes(first)
}

/// Codes that are decompressed at once where none of them is an escape.
const CODES: usize = 8;

/// Appends what the codes stand for; `None` if the last one is an escape without its byte.
fn decompress(codes: &[u8], symbols: &Symbols<'_>, out: &mut Vec<u8>) -> Option<()> {
    let mut end = out.len();
    // Invariant: a code moves `end` by at most eight bytes, so that there is room for the symbols of all codes left, and one more.
    out.resize(end + (codes.len() + 1) * SYMBOL_LENGTH_MAX, 0);
    let mut rest = codes;
    while let Some(some) = rest.first_chunk::<CODES>() {
        let window = out[end..].first_chunk_mut::<{ CODES * SYMBOL_LENGTH_MAX }>()?;
        let mut at = 0;
        let plain = codes_before_escape(*some);
        if plain == CODES {
            for &code in some {
                at += symbols.put(code, &mut window[at..]);
            }
            rest = &rest[CODES..];
        } else {
            for &code in &some[..plain] {
                at += symbols.put(code, &mut window[at..]);
            }
            window[at] = *rest.get(plain + 1)?;
            at += 1;
            rest = &rest[plain + 2..];
        }
        end += at;
    }
    let mut rest = rest.iter();
    while let Some(&code) = rest.next() {
        if code == ESCAPE {
            out[end] = *rest.next()?;
            end += 1;
        } else {
            end += symbols.put(code, &mut out[end..]);
        }
    }
    out.truncate(end);
    Some(())
}

/// How many codes come before the first escape.
#[inline]
fn codes_before_escape(codes: [u8; CODES]) -> usize {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    // An escape has all bits set. Of the bytes without a bit the first is marked for certain.
    let others = !u64::from_le_bytes(codes);
    let marks = others.wrapping_sub(LOWEST) & !others & (LOWEST << 7);
    marks.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One code after the other.
    fn decompressed(codes: &[u8], symbols: &Symbols<'_>) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                text.push(*codes.next()?);
            } else {
                let start = usize::from(code) * SYMBOL_LENGTH_MAX;
                let length = usize::from(symbols.lengths[usize::from(code)]).min(8);
                text.extend_from_slice(&symbols.symbols[start..start + length]);
            }
        }
        Some(text)
    }

    proptest! {
        #[test]
        fn codes_become_what_they_stand_for(
            codes in proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(ESCAPE)], 0..60),
            lengths in proptest::collection::vec(0..10_u8, 256),
            seed in any::<u64>(),
        ) {
            let mut symbols = [0; SYMBOL_BYTES];
            for (i, byte) in symbols.iter_mut().enumerate() {
                *byte = (seed.wrapping_mul(i as u64 + 1) >> 40) as u8;
            }
            let lengths: [u8; 256] = lengths.try_into().expect("one for each code");
            let symbols = Symbols { symbols: &symbols, lengths: &lengths };
            let mut text = b"kept ".to_vec();
            let read = decompress(&codes, &symbols, &mut text);
            let expected = decompressed(&codes, &symbols);
            prop_assert_eq!(read.is_some(), expected.is_some());
            if let Some(expected) = expected {
                prop_assert_eq!(&text[..5], b"kept ");
                prop_assert_eq!(&text[5..], &expected);
                prop_assert_eq!(start_word(&codes, Some(symbols)), Some(first_word(&expected)));
                prop_assert_eq!(start_word(&expected, None), Some(first_word(&expected)));
            }
        }
    }
}
