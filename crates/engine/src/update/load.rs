//! LOAD: a document into the store, within an update.
//!
//! `http:` and `https:` documents are fetched from the places that SERVICE may ask, `file:` ones read from the
//! folders that the options allow; both are none by default. A document with named graphs keeps them, and
//! cannot be loaded INTO a graph. Blank nodes are new ones.
//!
//! SILENT makes a document that cannot be had or read one without quads. That a place may not be asked is an
//! error all the same, as it is for SERVICE: whether this installation asks it is not for the request to say.
//!
//! Memory: the new terms of the document, and its quads within the limit of the request; the rest in temporary files.

use super::graph_store::GraphDocument;
use super::quad_set::QuadSet;
use super::run::Run;
use super::sorted_quads::SortedQuads;
use super::terms::graph_id;
use crate::error::Error;
use crate::federation::{FetchError, fetch};
use crate::transactions::ChangeCounts;
use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input::Input;
use basalt_rdf::{QuadView, ReadError, TermId, TermView};
use basalt_store::{QuadIds, Snapshot};
use oxrdf::NamedNode;
use spargebra::term::GraphName;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The longest time of a request where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Run<'_, '_> {
    /// LOAD.
    pub(super) fn load(
        &mut self,
        source: &NamedNode,
        destination: &GraphName,
    ) -> Result<ChangeCounts, Error> {
        let iri = source.as_str();
        let failed = |message: String| Error::Document {
            document: format!("<{iri}>"),
            message,
        };
        let document = self.open(iri, &failed)?;
        let target = graph_id(self.snapshot(), destination)?;
        let keeps_graphs = *destination == GraphName::DefaultGraph;
        let mut added = self.set();
        self.read_into(document, target, keeps_graphs, &mut added)?;
        let added = added.finish(self)?;
        self.apply(SortedQuads::default(), added)
    }

    /// Adds the quads of a document to a set: those without a graph in `target`, the others in their own, or they
    /// are an error.
    pub(super) fn read_into(
        &mut self,
        document: GraphDocument,
        target: TermId,
        keeps_graphs: bool,
        added: &mut QuadSet,
    ) -> Result<(), Error> {
        let failed = |message: String| Error::Document {
            document: document.name.clone(),
            message,
        };
        let input = Input::from_reader(&document.name, None, document.reader);
        let reader = input
            .map_err(|error| failed(error.to_string()))?
            .into_reader();
        let snapshot = self.snapshot().clone();
        let mut blanks = HashMap::new();
        let mut take = |quad: QuadView<'_>| -> Result<(), Error> {
            let graph = match quad.graph {
                None => target,
                Some(_) if !keeps_graphs => {
                    let message = "it names graphs, so it cannot be loaded into one";
                    return Err(failed(message.to_owned()));
                }
                Some(graph) => intern(&snapshot, graph, &mut blanks)?,
            };
            let quad = QuadIds {
                subject: intern(&snapshot, quad.subject, &mut blanks)?,
                predicate: intern(&snapshot, quad.predicate, &mut blanks)?,
                object: intern(&snapshot, quad.object, &mut blanks)?,
                graph,
            };
            self.put(added, quad)
        };
        let base = document.base.as_deref();
        let stop = &mut ControlFlow::Break;
        match read_document(reader, document.format, base, &mut take, stop) {
            Ok(_) => Ok(()),
            Err(ReadError::Sink(error)) => Err(error),
            // Reading ends with an error when the request does.
            Err(error) => self.check().and(Err(failed(error.to_string()))),
        }
    }

    fn open(&self, iri: &str, failed: &dyn Fn(String) -> Error) -> Result<GraphDocument, Error> {
        if let Some(rest) = iri.strip_prefix("file:") {
            return self.open_file(iri, rest, failed);
        }
        let is_http = iri.starts_with("http:") || iri.starts_with("https:");
        if !is_http {
            let message = "only http:, https: and file: IRIs can be loaded".to_owned();
            return Err(failed(message));
        }
        let options = &self.options.query;
        let own = options.service_timeout.unwrap_or(TIMEOUT);
        let timeout = self.time_left().map_or(own, |left| left.min(own));
        let fetched = fetch(&options.services, iri, timeout, &options.exec.cancel);
        let fetched = fetched.map_err(|error| match error {
            FetchError::Refused(message) => {
                Error::DocumentRefused(format!("the document <{iri}> may not be loaded: {message}"))
            }
            FetchError::Failed(message) => self.check().err().unwrap_or_else(|| failed(message)),
        })?;
        Ok(GraphDocument {
            name: format!("<{iri}>"),
            reader: fetched.body,
            format: fetched.format,
            base: Some(fetched.place),
        })
    }

    fn open_file(
        &self,
        iri: &str,
        rest: &str,
        failed: &dyn Fn(String) -> Error,
    ) -> Result<GraphDocument, Error> {
        let folders = &self.options.load_folders;
        let refused = |why: &str| {
            Error::DocumentRefused(format!("the document <{iri}> may not be loaded: {why}"))
        };
        if folders.is_empty() {
            return Err(refused("no folder is allowed to load files from"));
        }
        let path =
            path_of(rest).ok_or_else(|| failed("it names no file of this machine".into()))?;
        if !is_within(&path, folders) {
            return Err(refused(
                "it is in no folder that is allowed to load files from",
            ));
        }
        let input = Input::open(&path).map_err(|error| failed(error.to_string()))?;
        let Some(format) = input.format() else {
            return Err(failed("its name tells no RDF syntax".to_owned()));
        };
        Ok(GraphDocument {
            name: format!("<{iri}>"),
            reader: input.into_reader(),
            format,
            base: Some(iri.to_owned()),
        })
    }
}

/// The id of a term of a document; a label of a blank node stands for one new node.
fn intern(
    snapshot: &Snapshot,
    term: TermView<'_>,
    blanks: &mut HashMap<Arc<str>, TermId>,
) -> Result<TermId, Error> {
    let TermView::Blank(label) = term else {
        return Ok(snapshot.intern(term)?);
    };
    if let Some(&known) = blanks.get(label) {
        return Ok(known);
    }
    let id = snapshot.new_blank()?;
    blanks.insert(label.into(), id);
    Ok(id)
}

/// The path of a `file:` IRI, from what follows the colon; `None` for other machines, and for relative paths.
fn path_of(rest: &str) -> Option<PathBuf> {
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            if !host.is_empty() && host != "localhost" {
                return None;
            }
            &rest[host.len()..]
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    // Termination: each round takes at least a byte from the rest.
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).ok()?);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Whether a file is in one of the folders once all links are followed. A file that is not there is judged by
/// the folder that it would be in.
fn is_within(path: &Path, folders: &[PathBuf]) -> bool {
    let real = path.canonicalize().ok().or_else(|| {
        let name = path.file_name()?;
        Some(path.parent()?.canonicalize().ok()?.join(name))
    });
    let Some(real) = real else { return false };
    let mut allowed = folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok());
    allowed.any(|folder| real.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::{is_within, path_of};
    use std::path::{Path, PathBuf};

    #[test]
    fn file_iris_name_files_of_this_machine() {
        let path = |text: &str| path_of(text).map(|path| path.display().to_string());
        assert_eq!(path("///a/b.ttl"), Some("/a/b.ttl".into()));
        assert_eq!(path("//localhost/a%20b.ttl#x"), Some("/a b.ttl".into()));
        assert_eq!(path("/a/%e4"), None);
        assert_eq!(path("//other/a"), None);
        assert_eq!(path("a/b"), None);
        assert_eq!(path("//"), None);
    }

    #[test]
    fn a_folder_allows_what_is_in_it_and_nothing_beside() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        std::fs::write(folder.path().join("a.nt"), "").expect("a file");
        let allowed: Vec<PathBuf> = vec![inner.clone()];
        assert!(is_within(&inner.join("b.nt"), &allowed));
        assert!(!is_within(&inner.join("../a.nt"), &allowed));
        assert!(!is_within(&folder.path().join("a.nt"), &allowed));
        assert!(!is_within(Path::new("/nowhere/at/all.nt"), &allowed));
        assert!(!is_within(&inner.join("b.nt"), &[]));
    }
}
