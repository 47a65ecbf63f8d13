//! Bodies of any length, taken in before work on them begins: small ones in memory, others in a temporary file.
//!
//! The file is gone when its reader is, whatever happens.

use crate::problem::{Problem, is_full_disk};
use axum::body::Body;
use axum::http::StatusCode;
use basalt_engine::TemporaryFile;
use std::io::{self, Cursor, Read};
use tokio_stream::StreamExt;

/// Bytes that stay in memory.
const MEMORY_BYTES_MAX: usize = 4 << 20;

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
