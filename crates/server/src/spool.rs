//! Bodies that are taken in before work on them begins: of any length, small ones in memory and others in a temporary
//! file, or of a limited length, in memory, unpacked where that is asked for.
//!
//! The file is gone when its reader is, whatever happens.

use crate::problem::{Problem, is_full_disk};
use crate::protocol::joined;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use basalt_engine::{TemporaryFile, TextInput};
use http_body_util::LengthLimitError;
use std::error::Error;
use std::io::{self, Cursor, Read};
use std::iter::successors;
use tokio_stream::StreamExt;

/// Bytes that stay in memory.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// Takes in a body of so many bytes at most.
pub async fn take_in(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let taken = to_bytes(body, bytes_max).await;
    taken.map_err(|error| not_taken_in(&error, bytes_max))
}

/// As [`take_in`], of a body that is packed if the headers say so; it is no longer than that when it is unpacked, either.
pub async fn take_in_unpacked(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let is_packed = is_packed(headers)?;
    let bytes = take_in(body, bytes_max).await?;
    match is_packed {
        true => tokio::task::block_in_place(|| unpack(bytes, bytes_max)),
        false => Ok(bytes),
    }
}

/// Whether the headers of a request say that its body is packed. How is told by its first bytes.
pub fn is_packed(headers: &HeaderMap) -> Result<bool, Problem> {
    let name = joined(headers, &header::CONTENT_ENCODING);
    match name.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" | "zstd" | "bzip2" => Ok(true),
        _ => {
            let detail = format!("the body is packed as '{name}', expected gzip, zstd or bzip2");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
        }
    }
}

/// Unpacks a body; so many bytes of it are read at most, whatever it would become.
fn unpack(packed: Bytes, bytes_max: usize) -> Result<Bytes, Problem> {
    let name = "the body";
    let text = TextInput::from_reader(name, None, Cursor::new(packed));
    let text = text.map_err(|error| Problem::bad_request(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut limited = text.into_reader().take(bytes_max as u64 + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| Problem::bad_request(format!("{name} cannot be unpacked: {error}")))?;
    match bytes.len() <= bytes_max {
        true => Ok(bytes.into()),
        false => {
            let detail = format!("{name} is longer than {bytes_max} bytes when it is unpacked");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
    }
}

fn not_taken_in(error: &(dyn Error + 'static), bytes_max: usize) -> Problem {
    let causes = || successors(Some(error), |&error| error.source());
    if causes().any(|cause| cause.is::<LengthLimitError>()) {
        let detail = format!("the body is longer than {bytes_max} bytes");
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail);
    }
    // What stands around the first cause says only that a body was read.
    let cause = causes().last().unwrap_or(error);
    Problem::bad_request(format!("the body cannot be read to its end: {cause}"))
}

/// Takes in a body.
pub async fn spool(body: Body) -> Result<Box<dyn Read + Send>, Problem> {
    let mut held: Vec<u8> = Vec::new();
    let mut file: Option<TemporaryFile> = None;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            Problem::bad_request(format!("the body cannot be read to its end: {error}"))
        })?;
        held.extend_from_slice(&chunk);
        if held.len() > MEMORY_BYTES_MAX {
            tokio::task::block_in_place(|| write(&mut file, &held)).map_err(of_disk)?;
            held.clear();
        }
    }
    let Some(file) = file else {
        return Ok(Box::new(Cursor::new(held)));
    };
    let written = tokio::task::block_in_place(|| file.append(&held));
    written.map_err(|error| of_disk(error.source))?;
    Ok(Box::new(file.into_reader()))
}

fn write(file: &mut Option<TemporaryFile>, bytes: &[u8]) -> io::Result<()> {
    let file = match file {
        Some(file) => file,
        none => {
            let made = TemporaryFile::create(None, "body");
            none.insert(made.map_err(|error| error.source)?)
        }
    };
    let written = file.append(bytes);
    written.map(|_| ()).map_err(|error| error.source)
}

/// The problem of a server that cannot keep what a client sends.
pub fn of_disk(error: io::Error) -> Problem {
    let status = match is_full_disk(&error) {
        true => StatusCode::INSUFFICIENT_STORAGE,
        false => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Problem::new(status, format!("the body cannot be kept: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn a_body_is_too_long_or_cannot_be_read() {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let taken = |body: Body| runtime.block_on(take_in(body, 3));
        assert_eq!(taken(Body::from("abc")).ok(), Some(Bytes::from("abc")));
        let long = taken(Body::from("abcd")).expect_err("it is too long");
        assert_eq!(long.status, StatusCode::PAYLOAD_TOO_LARGE);
        let broken = tokio_stream::once(Err::<Bytes, _>(io::Error::other("the wire broke")));
        let broken = taken(Body::from_stream(broken)).expect_err("it breaks off");
        assert_eq!(broken.status, StatusCode::BAD_REQUEST);
        assert!(broken.detail.contains("the wire broke"), "{broken:?}");
    }
}
