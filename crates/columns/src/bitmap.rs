//! Sets of rows as Roaring bitmaps: their bytes in the portable Roaring format.
//!
//! Used for dirty rows, bitmaps per value and blank-node ordinals. Reading is checked: damaged
//! bytes give [`ColumnError::Corrupt`]. Cost: one copy of the containers on reading.

pub use roaring::{RoaringBitmap, RoaringTreemap};

use crate::ColumnError;

/// Appends the portable serialisation of `bitmap` to `out`.
pub fn write(bitmap: &RoaringBitmap, out: &mut Vec<u8>) {
    out.reserve(bitmap.serialized_size());
    bitmap
        .serialize_into(out)
        .expect("writing to a vector cannot fail");
}

/// Reads a bitmap from the start of `bytes`; also tells how many bytes it took.
pub fn read(bytes: &[u8]) -> Result<(RoaringBitmap, usize), ColumnError> {
    let mut rest = bytes;
    let bitmap = RoaringBitmap::deserialize_from(&mut rest)
        .map_err(|error| ColumnError::corrupt(format!("bitmap: {error}")))?;
    Ok((bitmap, bytes.len() - rest.len()))
}

/// Appends the serialisation of a bitmap of 64-bit values to `out`.
pub fn write_treemap(bitmap: &RoaringTreemap, out: &mut Vec<u8>) {
    out.reserve(bitmap.serialized_size());
    bitmap
        .serialize_into(out)
        .expect("writing to a vector cannot fail");
}

/// Reads a bitmap of 64-bit values from the start of `bytes`; also tells how many bytes it took.
pub fn read_treemap(bytes: &[u8]) -> Result<(RoaringTreemap, usize), ColumnError> {
    let mut rest = bytes;
    let bitmap = RoaringTreemap::deserialize_from(&mut rest)
        .map_err(|error| ColumnError::corrupt(format!("bitmap of 64-bit values: {error}")))?;
    Ok((bitmap, bytes.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(values in proptest::collection::btree_set(any::<u32>(), 0..300)) {
            let bitmap: RoaringBitmap = values.iter().copied().collect();
            let mut bytes = Vec::new();
            write(&bitmap, &mut bytes);
            let length = bytes.len();
            bytes.extend_from_slice(b"tail");
            prop_assert_eq!(read(&bytes), Ok((bitmap, length)));
            prop_assert!(read(&bytes[..length - 1]).is_err());
        }

        #[test]
        fn round_trip_of_treemaps(values in proptest::collection::btree_set(any::<u64>(), 0..50)) {
            let bitmap: RoaringTreemap = values.iter().copied().collect();
            let mut bytes = Vec::new();
            write_treemap(&bitmap, &mut bytes);
            prop_assert_eq!(read_treemap(&bytes), Ok((bitmap, bytes.len())));
        }

        #[test]
        fn damaged_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((bitmap, used)) = read(&bytes) {
                prop_assert!(used <= bytes.len());
                prop_assert!(bitmap.iter().count() as u64 == bitmap.len());
            }
        }
    }
}
