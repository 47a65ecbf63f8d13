//! Statistics that an empty store keeps for EXPLAIN: a file in its folder that no version knows.
//!
//! It is written whole and then renamed. Nothing but EXPLAIN reads it, and only while the store has no quads, so that a store with
//! data never answers or plans by it; it is in no backup, and a load leaves it alone.

use super::PlannerStatistics;
use crate::database::Database;
use crate::error::Error;
use basalt_store::StoreError;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Its name in the folder of the store.
const FILE_NAME: &str = "planner-statistics.json";

impl PlannerStatistics {
    /// Keeps these in the empty store in a folder, which is made if there is none, instead of those that it has.
    pub fn keep_in(&self, location: &Path) -> Result<(), Error> {
        let database = Database::open_or_empty(location)?;
        let turn = database.begin()?;
        let quads = turn.snapshot().quad_count();
        if quads > 0 {
            return Err(Error::PlannerStatistics {
                message: format!(
                    "the store has {quads} quads, and only an empty one plans by imported statistics"
                ),
            });
        }
        let text = self.to_json()?;
        let (path, part) = (
            location.join(FILE_NAME),
            location.join(format!("{FILE_NAME}.part")),
        );
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let written = written.and_then(|()| fs::rename(&part, &path));
        written.map_err(failed("write", &path))?;
        drop(turn);
        Ok(())
    }

    /// Those that an empty store in a folder keeps, if there are any.
    pub fn kept_in(location: &Path) -> Result<Option<Self>, Error> {
        let path = location.join(FILE_NAME);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed("read", &path)(source)),
        }
    }

    /// Removes those that the store in a folder keeps; whether there were any.
    pub fn remove_from(location: &Path) -> Result<bool, Error> {
        let path = location.join(FILE_NAME);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(failed("remove", &path)(source)),
        }
    }
}

/// Makes a function for `map_err` on results of file operations.
fn failed(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| StoreError::Io { op, path, source }.into()
}
