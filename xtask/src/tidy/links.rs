//! Dead links in documents: every relative target of a Markdown link must be a
//! file or folder of the workspace.
//!
//! Knows inline links `[text](target)` and definitions `[name]: target`, and
//! leaves code alone. Addresses with a scheme are not visited: checking must not
//! depend on the network.
//!
//! Cost: one look at the file system per link.

use std::path::{Component, Path, PathBuf};

use super::Finding;
use crate::workspace::Workspace;

/// Checks the links of one document.
pub fn check(workspace: &Workspace, path: &str, text: &str, findings: &mut Vec<Finding>) {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    for (line, target) in targets(text) {
        let Some(file) = relative_file(&target) else {
            continue;
        };
        let resolved = resolve(folder, file);
        let exists =
            resolved.is_some_and(|resolved| workspace.path(&resolved.to_string_lossy()).exists());
        if !exists {
            findings.push(Finding::new(
                path,
                line,
                format!(
                    "the dead link `{target}` is banned, use a path that exists below the root"
                ),
            ));
        }
    }
}

/// The file part of a link that stays in the workspace.
fn relative_file(target: &str) -> Option<&str> {
    let file = target.split(['#', '?']).next().unwrap_or(target);
    let has_scheme = file.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    (!file.is_empty() && !has_scheme).then_some(file)
}

/// The path that a link from a document in `folder` means, relative to the root;
/// `None` if it leaves the workspace.
fn resolve(folder: &Path, file: &str) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir if resolved.pop() => {}
            _ => return None,
        }
    }
    Some(resolved)
}

/// The link targets of a document with their lines, from 1.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        let line = without_code(line);
        let definition = line
            .starts_with('[')
            .then(|| line.split_once("]: "))
            .flatten();
        if let Some((_, target)) = definition {
            found.push((index + 1, first_word(target)));
        }
        for (at, _) in line.match_indices("](") {
            let inside = &line[at + 2..];
            if let Some(end) = inside.find(')') {
                found.push((index + 1, first_word(&inside[..end])));
            }
        }
    }
    found
}

/// A link's target without its title and angle brackets.
fn first_word(target: &str) -> String {
    let word = target.split_whitespace().next().unwrap_or_default();
    word.trim_start_matches('<')
        .trim_end_matches('>')
        .to_owned()
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    // An odd number of backticks: the last one opens nothing.
    let parts: Vec<&str> = line.split('`').collect();
    let unpaired = parts.len().is_multiple_of(2);
    let last = parts.len() - 1;
    let kept = parts
        .iter()
        .enumerate()
        .filter(|(index, _)| index % 2 == 0 || (unpaired && *index == last));
    kept.map(|(_, part)| *part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text =
            "[a](b.md) `[c](d.md)` ![e](f.png \"title\")\n```\n[g](h.md)\n```\n[i]: j.md#k\n";
        let found = targets(text);
        let expected = [(1, "b.md"), (1, "f.png"), (5, "j.md#k")];
        assert_eq!(
            found,
            expected.map(|(line, target)| (line, target.to_owned()))
        );
    }

    #[test]
    fn an_unpaired_backtick_hides_nothing() {
        assert_eq!(targets("a ` [b](c.md)"), [(1, "c.md".to_owned())]);
    }

    #[test]
    fn only_files_of_the_workspace_are_looked_up() {
        assert_eq!(relative_file("https://example.org/a"), None);
        assert_eq!(relative_file("mailto:someone"), None);
        assert_eq!(relative_file("#section"), None);
        assert_eq!(relative_file("a.md#section"), Some("a.md"));
    }

    #[test]
    fn paths_resolve_from_the_document_and_stay_inside() {
        let resolved = |file| resolve(Path::new("docs/howto"), file);
        assert_eq!(resolved("../a.md"), Some(PathBuf::from("docs/a.md")));
        assert_eq!(resolved("./b.md"), Some(PathBuf::from("docs/howto/b.md")));
        assert_eq!(resolved("../../../c.md"), None);
        assert_eq!(resolved("/d.md"), None);
    }

    #[test]
    fn dead_links_name_their_line() {
        let workspace = Workspace::at(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let mut findings = Vec::new();
        let text = "[alive](../Cargo.toml)\n[dead](nowhere.md)\n";
        check(&workspace, "src/a.md", text, &mut findings);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }
}
