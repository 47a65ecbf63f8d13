//! What is loaded: a file with its syntax and compression, and the same lines in two files
//! for loaders that work on several files at once.
//!
//! Invariant: the parts of an input, one after the other, are the file.
//!
//! Cost: cutting a file copies it once.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::work_folder::{cannot, remove};
use crate::error::XtaskError;

/// How the quads are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// A triple a line.
    NTriples,
    /// A quad a line.
    NQuads,
    /// Turtle.
    Turtle,
}

/// How the file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstandard,
}

/// A file to load.
#[derive(Debug, Clone)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// What the file name says about the quads.
    pub syntax: Syntax,
    /// What the file name says about the bytes.
    pub compression: Compression,
    /// The same in several files, or nothing for a file that cannot be cut.
    pub parts: Vec<PathBuf>,
}

impl Input {
    /// The input that a file name tells.
    pub fn of_file(path: PathBuf) -> Result<Self, XtaskError> {
        let name = path.to_string_lossy().into_owned();
        let (inner, compression) = match name.rsplit_once('.') {
            Some((inner, "gz")) => (inner, Compression::Gzip),
            Some((inner, "zst")) => (inner, Compression::Zstandard),
            _ => (&*name, Compression::None),
        };
        let syntax = match inner.rsplit_once('.') {
            Some((_, "nt")) => Syntax::NTriples,
            Some((_, "nq")) => Syntax::NQuads,
            Some((_, "ttl")) => Syntax::Turtle,
            _ => {
                return Err(XtaskError::Usage {
                    message: format!("the name of `{name}` says no syntax: .nt, .nq or .ttl"),
                });
            }
        };
        Ok(Self {
            path,
            syntax,
            compression,
            parts: Vec::new(),
        })
    }

    /// Whether the file is lines of text that mean something each on its own.
    pub fn has_plain_lines(&self) -> bool {
        self.compression == Compression::None && self.syntax != Syntax::Turtle
    }

    /// Writes the lines to two files in `folder`, if there are lines.
    pub fn cut(&mut self, folder: &Path) -> Result<(), XtaskError> {
        if self.has_plain_lines() {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let halves = ["half-1", "half-2"].map(|half| folder.join(format!("{half}-{name}")));
            let file = File::open(&self.path);
            let cut = file.and_then(|file| cut(file, &halves));
            cut.map_err(|source| cannot("cut", &self.path, source))?;
            self.parts = halves.to_vec();
        }
        Ok(())
    }

    /// Removes what [`Input::cut`] wrote.
    pub fn remove_parts(&mut self) -> Result<(), XtaskError> {
        for part in self.parts.drain(..) {
            remove(&part)?;
        }
        Ok(())
    }
}

/// Writes the first half of a file, up to the next end of a line, to one file and the rest to
/// another.
fn cut(file: File, halves: &[PathBuf; 2]) -> io::Result<()> {
    let middle = file.metadata()?.len() / 2;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut first = File::create(&halves[0])?;
    io::copy(&mut (&mut reader).take(middle), &mut first)?;
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    first.write_all(&line)?;
    io::copy(&mut reader, &mut File::create(&halves[1])?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_say_syntax_and_compression() {
        let input = |name: &str| Input::of_file(PathBuf::from(name));
        let plain = input("/data/x.y.nq").expect("it has an ending");
        assert_eq!(
            (plain.syntax, plain.compression),
            (Syntax::NQuads, Compression::None)
        );
        let packed = input("x.ttl.zst").expect("it has two endings");
        assert_eq!(
            (packed.syntax, packed.compression),
            (Syntax::Turtle, Compression::Zstandard)
        );
        assert!(!packed.has_plain_lines());
        assert!(input("x.csv").is_err());
        assert!(input("nt").is_err());
    }

    #[test]
    fn halves_are_whole_lines_and_together_the_file() {
        let folder = std::env::temp_dir().join(format!("xtask-cut-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        for text in [
            "",
            "one",
            "a\nbb\nccc\n",
            "a\nbb\nccc",
            "long line\nb\n",
            "\n\n\n",
        ] {
            let path = folder.join("x.nt");
            fs::write(&path, text).expect("it can be written");
            let mut input = Input::of_file(path).expect("it has an ending");
            input.cut(&folder).expect("it can be cut");
            let halves: Vec<String> = input
                .parts
                .iter()
                .map(|part| fs::read_to_string(part).expect("it was written"))
                .collect();
            assert_eq!(halves.concat(), text);
            assert!(
                halves[1].is_empty() || halves[0].ends_with('\n'),
                "{text:?}"
            );
            input.remove_parts().expect("they are ours");
            assert!(input.parts.is_empty());
        }
        remove(&folder).expect("it is ours");
    }
}
