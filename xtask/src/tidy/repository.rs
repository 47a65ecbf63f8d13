//! What lies in the repository: the top level, the size of files, and text
//! that belongs to one person's machine.
//!
//! Invariant: the rules hold for every file under version control, and for new
//! files before they are added.
//!
//! Cost: the size of the text files.

use std::collections::BTreeSet;

use super::Finding;
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// Everything that may and must be at the top level.
const TOP_LEVEL: [&str; 14] = [
    ".cargo",
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "crates",
    "datasets",
    "docs",
];
/// The rest of the top level: the program that checks it.
const XTASK: &str = "xtask";

/// Largest file, in bytes: larger ones are data, and data is made or fetched.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// First folders of absolute paths that exist on one machine only.
const MACHINE_FOLDERS: [&str; 4] = ["home", "root", "work", "Users"];

/// Checks that the top level is what it should be.
pub fn check_layout(files: &[String], findings: &mut Vec<Finding>) {
    let present: BTreeSet<&str> = files
        .iter()
        .map(|path| path.split('/').next().unwrap_or(path))
        .collect();
    let expected: BTreeSet<&str> = TOP_LEVEL.into_iter().chain([XTASK]).collect();
    for name in present.difference(&expected) {
        let message = "another entry at the top level is banned, use one of the folders there";
        findings.push(Finding::new(name, 1, message));
    }
    for name in expected.difference(&present) {
        findings.push(Finding::new(
            name,
            1,
            "this must be at the top level, add it",
        ));
    }
}

/// Finds files that are too large.
pub fn check_size(
    workspace: &Workspace,
    path: &str,
    findings: &mut Vec<Finding>,
) -> Result<(), XtaskError> {
    let metadata = std::fs::metadata(workspace.path(path)).map_err(|source| XtaskError::Io {
        operation: "read",
        path: workspace.path(path),
        source,
    })?;
    if metadata.len() > FILE_BYTES_MAX {
        let size = metadata.len();
        findings.push(Finding::new(
            path,
            1,
            format!("a file of {size} bytes is banned, use a generator or an ignored folder"),
        ));
    }
    Ok(())
}

/// Finds absolute paths of one person's machine.
pub fn check_text(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = machine_path(line) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("the machine's path `{found}` is banned, use a relative path"),
            ));
        }
    }
}

/// The first absolute path in a line that begins with a machine's folder.
///
/// The same words inside a longer path or an IRI are none.
fn machine_path(line: &str) -> Option<&str> {
    for folder in MACHINE_FOLDERS {
        for (start, _) in line.match_indices(&format!("/{folder}/")) {
            let before = &line[..start];
            let is_start = before.ends_with("file://")
                || !before.ends_with(|c: char| c.is_alphanumeric() || "_.-~/}$)>".contains(c));
            let rest = &line[start + folder.len() + 2..];
            let word = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
                .unwrap_or(rest.len());
            if is_start && word > 0 {
                return Some(&line[start..start + folder.len() + 2 + word]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(files: &[&str]) -> Vec<Finding> {
        let files: Vec<String> = files.iter().map(|path| (*path).to_owned()).collect();
        let mut findings = Vec::new();
        check_layout(&files, &mut findings);
        findings
    }

    #[test]
    fn the_top_level_is_closed() {
        let mut files: Vec<&str> = TOP_LEVEL.to_vec();
        files.extend(["xtask/src/main.rs", "docs/STYLE.md"]);
        assert_eq!(layout(&files), []);
        files.push("notes.txt");
        let findings = layout(&files);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "notes.txt");
        assert_eq!(layout(&files[1..]).len(), 2);
    }

    #[test]
    fn paths_of_a_machine_are_found_and_iris_are_not() {
        for folder in MACHINE_FOLDERS {
            let path = format!("/{folder}/someone");
            assert_eq!(machine_path(&format!("see {path}/x")), Some(path.as_str()));
            assert_eq!(machine_path(&format!("file://{path}")), Some(path.as_str()));
            assert_eq!(machine_path(&format!("http://example.org{path}")), None);
            assert_eq!(machine_path(&format!("../shared{path}")), None);
            assert_eq!(machine_path(&format!("`/{folder}/`")), None);
        }
    }

    #[test]
    fn large_files_are_found() {
        let root = std::env::temp_dir().join(format!("basalt-tidy-{}", std::process::id()));
        std::fs::create_dir_all(&root).expect("the temporary folder takes a folder");
        let workspace = Workspace::at(root.clone());
        let mut findings = Vec::new();
        for (name, size) in [("small", FILE_BYTES_MAX), ("large", FILE_BYTES_MAX + 1)] {
            let file = std::fs::File::create(root.join(name)).expect("the folder takes a file");
            file.set_len(size).expect("the file takes a size");
            check_size(&workspace, name, &mut findings).expect("the file is there");
        }
        std::fs::remove_dir_all(&root).expect("the folder can be removed");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "large");
    }
}
