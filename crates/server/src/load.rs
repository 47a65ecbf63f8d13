//! Bulk loads over HTTP: the inputs of a request become one new version of the store, whole or not at all.
//!
//! The load runs on a blocking thread and reads the body as it comes ([`load_inputs`](crate::load_inputs)). A client that
//! accepts `application/x-ndjson` hears of the progress: the answer begins at once, a JSON object on each line, and the last one
//! tells how it ended. Any other client gets one object, or a problem with its status, when all is over.
//!
//! Invariant: a client that goes away before the commit begins has loaded nothing.

use crate::access::body_to_write;
use crate::form::decode_form;
use crate::load_inputs::{Described, Framing, INPUTS, PieceReader, RequestBody, channels, feed};
use crate::problem::Problem;
use crate::protocol::{accept, essence};
use crate::routes::refused_method;
use crate::spool::of_disk;
use crate::state::AppState;
use crate::store::known_syntaxes;
use crate::update::{json_answer, run_write_until};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::core_count;
use basalt_engine::{
    Error, GraphFormat, Input, InputSource, LoadCounters, LoadError, LoadOptions, LoadState,
    StorageReport, available_bytes, load_summary,
};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// The media type of an answer that tells the progress.
pub const LINES: &str = "application/x-ndjson";
/// Between two lines of progress.
const TELL: Duration = Duration::from_secs(1);
/// Bytes of the file for bad lines in one line of the answer.
const BAD_LINES_BYTES: usize = 64 << 10;
/// The least memory of a load where nobody says how much: with less it might not begin on a machine of many cores.
const DEFAULT_BYTES_MIN: u64 = 1 << 30;
/// Numbers tried for the folder of a file for bad lines: a killed server with the same process id may have left some.
const FOLDER_TRIES_MAX: u32 = 1000;
/// Numbers of files for bad lines.
static FILES: AtomicU64 = AtomicU64::new(0);

/// What a request asks for besides its inputs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    graph: Option<String>,
    base: Option<String>,
    lenient: bool,
    max_errors: Option<u64>,
    /// Whether all bad lines are to be sent back.
    errors: bool,
    memory: Option<u64>,
    threads: usize,
    /// The key of the lock that the client has found.
    lock: Option<String>,
}

/// A load that has ended well.
struct Loaded {
    summary: Value,
    /// The first bad lines.
    skipped: Vec<String>,
}

/// The address of loads.
pub async fn load(State(state): State<AppState>, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Err(refused_method(&parts.method, &parts.uri, "POST"));
    }
    let body = body_to_write(&state.options, &parts.headers, body);
    let body = body.map_err(|refusal| *refusal)?;
    let answer = answer(state, &parts, body).await;
    answer.map_err(IntoResponse::into_response)
}

async fn answer(state: AppState, parts: &Parts, body: Body) -> Result<Response, Problem> {
    let asked = Asked::read(parts.uri.query().unwrap_or_default())?;
    if asked.lock.is_some() && asked.lock != state.key {
        let detail = "this server does not hold the lock of that store";
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    let mut body = RequestBody::new(body);
    let (inputs, framing) = described(parts, &mut body).await?;
    let offers = [("application/json", false), (LINES, true)];
    let is_told = accept(&parts.headers).best(&offers).is_some_and(|o| o.1);
    let (senders, receivers) = channels(inputs.len());
    let cancel = Arc::<AtomicBool>::default();
    tokio::spawn(feed(body, framing, senders, Arc::clone(&cancel)));
    let inputs = inputs.into_iter().zip(receivers);
    let inputs = inputs.map(|(described, pieces)| Input {
        format: described
            .format
            .or_else(|| GraphFormat::from_path(Path::new(&described.name))),
        source: InputSource::Reader {
            name: described.name,
            reader: Box::new(PieceReader::new(pieces, Arc::clone(&cancel))),
        },
    });
    let bad_lines = (asked.errors && asked.lenient && is_told).then(BadLines::new);
    let bad_lines = bad_lines.transpose().map_err(of_disk)?;
    let mut options = asked.options(&state, inputs.collect(), &cancel);
    options.errors = bad_lines.as_ref().map(|lines| lines.file.clone());
    let running = Running {
        text: format!("{} {}", parts.method, parts.uri.path()),
        options,
        progress: Arc::default(),
        cancel,
    };
    match is_told {
        true => Ok(running.tell(state, bad_lines)),
        false => {
            let loaded = running.run(state).await?;
            let mut summary = loaded.summary;
            summary["skipped"] = loaded.skipped.into();
            Ok(json_answer(&summary))
        }
    }
}

/// The inputs of a request, and how they stand in its body.
async fn described(
    parts: &Parts,
    body: &mut RequestBody,
) -> Result<(Vec<Described>, Framing), Problem> {
    let media_type = essence(&parts.headers).unwrap_or_default();
    if media_type == INPUTS {
        return Ok((body.described().await?, Framing::Pieces));
    }
    let format = GraphFormat::from_media_type(&media_type).ok_or_else(|| {
        let detail = format!(
            "the body has '{media_type}', expected {INPUTS} or one of {}",
            known_syntaxes()
        );
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    })?;
    let input = Described {
        name: "the body".to_owned(),
        format: Some(format),
    };
    Ok((vec![input], Framing::Whole))
}

impl Asked {
    /// Reads the parameters; one that is not known would make another load than the one that was meant.
    fn read(query: &str) -> Result<Self, Problem> {
        let mut asked = Self::default();
        for (name, value) in decode_form(query).map_err(Problem::bad_request)? {
            let number = || {
                let detail = format!("{name} '{value}' is not a number");
                value
                    .parse::<u64>()
                    .map_err(|_| Problem::bad_request(detail))
            };
            let is_so = || match value.as_str() {
                "" | "true" => Ok(true),
                "false" => Ok(false),
                _ => {
                    let detail = format!("{name} '{value}' is neither true nor false");
                    Err(Problem::bad_request(detail))
                }
            };
            match name.as_str() {
                "graph" => asked.graph = Some(value),
                "base" => asked.base = Some(value),
                "lenient" => asked.lenient = is_so()?,
                "max-errors" => asked.max_errors = Some(number()?),
                "errors" => asked.errors = is_so()?,
                "memory" => asked.memory = Some(number()?),
                "threads" => asked.threads = usize::try_from(number()?).unwrap_or(usize::MAX),
                "lock" => asked.lock = Some(value),
                _ => {
                    let detail = format!("a load has no parameter '{name}'");
                    return Err(Problem::bad_request(detail));
                }
            }
        }
        Ok(asked)
    }

    /// The options of the load: never more memory and threads than the server gives.
    fn options(
        self,
        state: &AppState,
        inputs: Vec<Input>,
        cancel: &Arc<AtomicBool>,
    ) -> LoadOptions {
        let given = state.options.load_memory_bytes;
        let half = || available_bytes().map(|bytes| (bytes / 2).max(DEFAULT_BYTES_MIN));
        let limit = given.or_else(half);
        let cores = core_count();
        let threads = match state.options.threads {
            0 => cores,
            threads => threads,
        };
        LoadOptions {
            inputs,
            graph: self.graph,
            base: self.base,
            lenient: self.lenient,
            errors_max: self.max_errors.unwrap_or(u64::MAX),
            threads: match self.threads {
                0 => threads,
                asked => asked.min(threads),
            },
            memory: match (self.memory, limit) {
                (Some(asked), Some(limit)) => Some(asked.min(limit)),
                (asked, limit) => asked.or(limit),
            },
            cancel: Arc::clone(cancel).into(),
            ..LoadOptions::default()
        }
    }
}

/// A load that is about to begin.
struct Running {
    /// For the list of what runs.
    text: String,
    options: LoadOptions,
    progress: Arc<LoadCounters>,
    cancel: Arc<AtomicBool>,
}

impl Running {
    /// Loads. Dropping the future cancels the load.
    async fn run(self, state: AppState) -> Result<Loaded, Problem> {
        let Self {
            text,
            options,
            progress,
            cancel,
        } = self;
        run_write_until(state, &text, cancel, move |state, cancel| {
            let start = Instant::now();
            let report = state.database.load(options, &*progress);
            let report = report.map_err(|error| of_cancelled(error, &cancel))?;
            let added = report.quads_stored.saturating_sub(report.quads_before);
            state.metrics.quads_changed(0, added);
            let storage = StorageReport::new(&state.database.snapshot())?;
            Ok(Loaded {
                summary: load_summary(&report, &storage, start.elapsed()),
                skipped: report.skipped.iter().map(ToString::to_string).collect(),
            })
        })
        .await
    }

    /// Loads, and answers with lines that tell of it.
    fn tell(self, state: AppState, bad_lines: Option<BadLines>) -> Response {
        let (lines, answer) = mpsc::channel::<Result<Bytes, Infallible>>(4);
        tokio::spawn(async move {
            let progress = Arc::clone(&self.progress);
            let mut load = Box::pin(self.run(state));
            let mut tick = tokio::time::interval(TELL);
            let ended = loop {
                tokio::select! {
                    ended = &mut load => break ended,
                    () = lines.closed() => return,
                    _ = tick.tick() => {
                        // A client that does not read its answer is not waited for.
                        let _ = lines.try_send(Ok(progress_line(progress.now())));
                    }
                }
            };
            let _ = lines.send(Ok(progress_line(progress.now()))).await;
            if let Some(file) = bad_lines {
                file.send(&lines).await;
            }
            let last = match ended {
                Ok(loaded) => json!({"loaded": loaded.summary, "skipped": loaded.skipped}),
                Err(problem) => {
                    json!({"failed": {"status": problem.status.as_u16(), "detail": problem.detail}})
                }
            };
            // A client that is gone needs no answer.
            let _ = lines.send(Ok(line(&last))).await;
        });
        let media_type = HeaderValue::from_static(LINES);
        let body = Body::from_stream(ReceiverStream::new(answer));
        ([(header::CONTENT_TYPE, media_type)], body).into_response()
    }
}

/// The readers of a cancelled load fail, which is no fault of what the client sent.
fn of_cancelled(error: Error, cancel: &AtomicBool) -> Error {
    let is_of_reader = match &error {
        Error::Load(error) => matches!(**error, LoadError::Read { .. } | LoadError::Input(_)),
        _ => false,
    };
    match is_of_reader && cancel.load(Ordering::Relaxed) {
        true => LoadError::Cancelled.into(),
        false => error,
    }
}

fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

/// How far the load is: the phase (null while it waits for its turn), quads and bytes read, and how much of the phase is done.
fn progress_line(state: LoadState) -> Bytes {
    line(&json!({"progress": {
        "phase": state.phase.map(|(phase, _)| phase.name()),
        "quads": state.quads,
        "bytes": state.bytes,
        "done": state.done,
        "total": state.total,
    }}))
}

/// The file for bad lines, in a folder of its own, which is removed when this is dropped: nothing that a cancelled load still
/// writes stays.
struct BadLines {
    folder: PathBuf,
    file: PathBuf,
}

impl BadLines {
    fn new() -> io::Result<Self> {
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        let mut tries = 1;
        // Termination: so many tries at most.
        loop {
            let folder = Self::folder(FILES.fetch_add(1, Ordering::Relaxed));
            match create_private(&folder) {
                Err(error) if is_taken(&error) && tries < FOLDER_TRIES_MAX => tries += 1,
                made => {
                    made?;
                    let file = folder.join("lines");
                    return Ok(Self { folder, file });
                }
            }
        }
    }

    /// The folder of this number.
    fn folder(number: u64) -> PathBuf {
        let name = format!("basalt-bad-lines-{}-{number}", std::process::id());
        std::env::temp_dir().join(name)
    }

    /// Sends what is in it, one character for each byte, since bad lines need not be UTF-8.
    async fn send(&self, lines: &mpsc::Sender<Result<Bytes, Infallible>>) {
        // A load that was refused before it read anything has made no file.
        let Ok(mut file) = File::open(&self.file) else {
            return;
        };
        let mut bytes = vec![0; BAD_LINES_BYTES];
        while let Ok(count @ 1..) = tokio::task::block_in_place(|| file.read(&mut bytes)) {
            let text: String = bytes[..count]
                .iter()
                .map(|byte| char::from(*byte))
                .collect();
            if lines
                .send(Ok(line(&json!({"bad_lines": text}))))
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// Makes a folder that no other user can look into, where the system has such.
fn create_private(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Drop for BadLines {
    fn drop(&mut self) {
        // The system cleans its folder for temporary files if this cannot.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_unknown_ones_refused() {
        let asked = Asked::read(
            "graph=http%3A%2F%2Fe%2Fg&lenient&max-errors=3&errors=true&memory=9&threads=2&lock=k",
        );
        let expected = Asked {
            graph: Some("http://e/g".to_owned()),
            base: None,
            lenient: true,
            max_errors: Some(3),
            errors: true,
            memory: Some(9),
            threads: 2,
            lock: Some("k".to_owned()),
        };
        assert_eq!(asked.ok(), Some(expected));
        for wrong in ["max_errors=3", "memory=4G", "lenient=maybe", "threads=-1"] {
            let refused = Asked::read(wrong).expect_err(wrong);
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
        }
    }

    #[test]
    fn folders_that_a_killed_server_left_are_passed_over() {
        let number = FILES.load(Ordering::Relaxed);
        let left = [number, number + 1].map(BadLines::folder);
        for folder in &left {
            fs::create_dir_all(folder).expect("it is there");
        }
        let made = BadLines::new().map(|lines| lines.folder.clone());
        for folder in &left {
            fs::remove_dir(folder).expect("it is still there");
        }
        let made = made.expect("a folder with another number");
        assert!(!left.contains(&made), "{made:?}");
        assert!(!made.exists(), "it is removed with its lines");
    }
}
