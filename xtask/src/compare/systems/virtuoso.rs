//! Virtuoso's open source edition, from Debian's packages, unpacked in the work folder: a
//! server, whose bulk loader is driven over `isql` by one client or by two.
//!
//! Invariants: the server answers on the loopback address only and has ended when a value
//! of [`Server`] is gone; it is killed rather than shut down after a load, so that what is
//! counted afterwards is what the checkpoint had made durable.
//!
//! Cost: starting a server makes an empty database, some seconds which are not measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::super::input::{Compression, Input};
use super::super::measure::{self, Measured, Sampler};
use super::super::work_folder::{WorkFolder, cannot, remove};
use super::endpoint::{Endpoint, Served, free_port};
use super::updatable::{Commits, Updatable, UpdateServer};
use super::{System, counted};
use crate::error::XtaskError;

/// The package that holds the server and its client.
const PACKAGE: &str = "virtuoso-opensource-7-bin";
/// The graph of triples that name none: its default graph is the union of all graphs.
const DEFAULT_GRAPH: &str = "http://compare.example/default";
/// Counts all quads, also those of its own that an empty database has.
const COUNT_ALL: &str = "SPARQL SELECT (COUNT(*) AS ?c) { GRAPH ?g { ?s ?p ?o } };";
/// What the loader says about files that it could not load.
const LOAD_ERRORS: &str =
    "SELECT ll_error FROM DB.DBA.load_list WHERE ll_error IS NOT NULL OR ll_state <> 2;";
/// Lets those who ask over HTTP update: the account that they are needs the role, and nobody in
/// particular the permission to write graphs.
const GRANTS: [&str; 2] = [
    "GRANT SPARQL_UPDATE TO \"SPARQL\";",
    "DB.DBA.RDF_DEFAULT_USER_PERMS_SET ('nobody', 7);",
];
/// Has the transaction log synced at each commit, which is off in a server that starts.
const SYNC_LOG: &str = "SELECT __dbf_set ('dbf_log_fsync', 1);";
/// Says whether it is.
const IS_LOG_SYNCED: &str = "SELECT sys_stat ('dbf_log_fsync');";
/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(120);

/// Buffers and threads as the package's own configuration advises for 4 GB of memory, the
/// rest as it is there, but for more connections: a client that updates has two.
const PARAMETERS: &str = "\
[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 200
MaxCheckpointRemap = 2000
Striping = 0
TempStorage = TempDatabase

[TempDatabase]
DatabaseFile = virtuoso-temp.db
TransactionFile = virtuoso-temp.trx
MaxCheckpointRemap = 2000
Striping = 0

[Parameters]
DisableUnixSocket = 1
DisableTcpSocket = 0
MaxClientConnections = 40
CheckpointInterval = 60
O_DIRECT = 0
CaseMode = 2
DirsAllowed = /
MaxMemPoolSize = 200000000
IndexTreeMaps = 64
MaxQueryMem = 2G
VectorSize = 1000
MaxVectorSize = 1000000
AdjustVectorSize = 0
ThreadsPerQuery = 4
AsyncQueueMaxThreads = 10
NumberOfBuffers = 340000
MaxDirtyBuffers = 250000
";

/// What a server that answers queries over HTTP has besides, as the package's own configuration
/// has it, but that there are more connections, and answers are not compressed and not cut.
const HTTP_PARAMETERS: &str = "\
[HTTPServer]
ServerRoot = .
ServerThreads = 40
MaxClientConnections = 40
MaxKeepAlives = 40
KeepAliveTimeout = 10
EnabledGzipContent = 0
";

/// The store with a number of loaders.
pub struct Virtuoso {
    /// Clients that run the bulk loader.
    loaders: usize,
    /// The folder that the packages are unpacked in; empty before it is prepared.
    root: PathBuf,
}

impl Virtuoso {
    /// With so many loaders.
    pub fn with_loaders(loaders: usize) -> Self {
        Self {
            loaders,
            root: PathBuf::new(),
        }
    }

    /// One of its programs, with the libraries beside it.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.root.join("usr/bin").join(name));
        command.env("LD_LIBRARY_PATH", library_path(&self.root));
        command
    }

    /// Starts a server on the store of a folder, with more lines for its configuration.
    fn start_process(&self, folder: &Path, lines: &str) -> Result<Child, XtaskError> {
        let store = folder.join("store");
        fs::create_dir_all(&store).map_err(|source| cannot("make", &store, source))?;
        let configuration = store.join("virtuoso.ini");
        fs::write(&configuration, format!("{PARAMETERS}{lines}"))
            .map_err(|source| cannot("write", &configuration, source))?;
        let mut command = self.program("virtuoso-t");
        command.current_dir(&store);
        command.args(["+foreground", "+configfile", "virtuoso.ini"]);
        measure::start(&mut command, &folder.join("log"))
    }

    /// Starts a server on the store of a folder.
    fn start(&self, folder: &Path) -> Result<Server<'_>, XtaskError> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let child = self.start_process(folder, &format!("ServerPort = {address}\n"))?;
        let server = Server {
            virtuoso: self,
            child,
            address,
        };
        self.wait_for(&server.address)?;
        Ok(server)
    }

    /// Waits until the server at an address takes statements.
    fn wait_for(&self, address: &str) -> Result<(), XtaskError> {
        let started = Instant::now();
        // Termination: the time that has passed grows.
        loop {
            match self.ask(address, "SELECT 1;") {
                Ok(answer) if counted("Virtuoso", &answer).is_ok() => return Ok(()),
                Err(error) if started.elapsed() > START_MAX => return Err(error),
                _ => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Starts a server that answers over HTTP too; the second is its address for statements.
    fn serve_http(
        &self,
        folder: &Path,
        query_time_max: Duration,
    ) -> Result<(Served, String), XtaskError> {
        // A server that was killed leaves its lock.
        remove(&folder.join("store/virtuoso.lck"))?;
        let http = format!("127.0.0.1:{}", free_port()?);
        let address = format!("127.0.0.1:{}", free_port()?);
        let lines = format!(
            "ServerPort = {address}\n{HTTP_PARAMETERS}ServerPort = {http}\n\
             [SPARQL]\nMaxQueryExecutionTime = {}\n",
            query_time_max.as_secs()
        );
        let child = self.start_process(folder, &lines)?;
        let url = format!("http://{http}/sparql");
        let served = Served::when_up(child, url, Some(DEFAULT_GRAPH), &folder.join("log"))?;
        Ok((served, address))
    }

    /// The client with statements to run at an address.
    fn client(&self, address: &str, statements: &str) -> Command {
        let mut command = self.program("isql-vt");
        // The account that a new database comes with.
        command.args([address, "dba", "dba"]);
        command.args(["VERBOSE=OFF", "BANNER=OFF", "PROMPT=OFF", "ERRORS=STDOUT"]);
        command.arg(format!("exec={statements}"));
        command
    }

    /// Runs statements at an address and gives what they print.
    fn ask(&self, address: &str, statements: &str) -> Result<String, XtaskError> {
        let answer = measure::output(&mut self.client(address, statements))?;
        if answer.contains("*** Error") {
            return Err(XtaskError::Program {
                command: statements.to_owned(),
                what: answer.trim().to_owned(),
            });
        }
        Ok(answer)
    }
}

impl System for Virtuoso {
    fn label(&self) -> String {
        match self.loaders {
            1 => "Virtuoso, one loader".to_owned(),
            loaders => format!("Virtuoso, {loaders} loaders"),
        }
    }

    fn durable(&self) -> &'static str {
        "`checkpoint`; the loader writes no log"
    }

    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError> {
        self.root = work.tool("virtuoso-7", unpack)?;
        // The program prints its version with its options, and fails.
        let mut command = self.program("virtuoso-t");
        let output = command
            .arg("-?")
            .output()
            .map_err(|source| XtaskError::Io {
                operation: "start",
                path: PathBuf::from(command.get_program()),
                source,
            })?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        match text.lines().find(|line| line.starts_with("Version")) {
            Some(line) => Ok(format!("Virtuoso open source, {}", line.trim())),
            None => Err(XtaskError::Answer {
                command: measure::command_line(&command),
                what: text.trim().to_owned(),
            }),
        }
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        if input.compression == Compression::Zstandard {
            Some("does not read Zstandard")
        } else if self.wants_parts() && input.parts.is_empty() {
            Some("the file is not cut in two")
        } else {
            None
        }
    }

    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError> {
        let server = self.start(folder)?;
        let empty = server.count()?;
        let count_file = folder.join("quads-when-empty");
        fs::write(&count_file, empty.to_string())
            .map_err(|source| cannot("write", &count_file, source))?;
        let files = if self.wants_parts() {
            &input.parts[..]
        } else {
            std::slice::from_ref(&input.path)
        };

        let sampler = Sampler::start(server.child.id());
        let started = Instant::now();
        for file in files {
            server.ask(&format!("ld_add('{}', '{DEFAULT_GRAPH}');", file.display()))?;
        }
        server.run_loaders(self.loaders, started, time_max, folder)?;
        server.ask("checkpoint;")?;
        let wall_seconds = started.elapsed().as_secs_f64();
        let usage = sampler.finish();

        let errors = server.ask(LOAD_ERRORS)?;
        if !errors.trim().is_empty() {
            return Err(XtaskError::Program {
                command: "rdf_loader_run()".to_owned(),
                what: errors.trim().to_owned(),
            });
        }
        Ok(Measured {
            wall_seconds,
            usage,
            command: format!(
                "isql: ld_add(FILE, GRAPH) for {} file(s); rdf_loader_run() in {} client(s); checkpoint",
                files.len(),
                self.loaders
            ),
        })
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        let count_file = folder.join("quads-when-empty");
        let empty = fs::read_to_string(&count_file)
            .map_err(|source| cannot("read", &count_file, source))?;
        let all = self.start(folder)?.count()?;
        Ok(all.saturating_sub(counted("Virtuoso", &empty)?))
    }

    fn wants_parts(&self) -> bool {
        self.loaders > 1
    }
}

impl Endpoint for Virtuoso {
    fn name(&self) -> &'static str {
        "Virtuoso"
    }

    fn settings(&self) -> &'static str {
        "340,000 buffers, as its configuration advises for 4 GB; `MaxQueryExecutionTime`; queries name the default graph"
    }

    fn serve(&self, folder: &Path, query_time_max: Duration) -> Result<Served, XtaskError> {
        let (served, _) = self.serve_http(folder, query_time_max)?;
        Ok(served)
    }
}

impl Updatable for Virtuoso {
    fn serve_updates(
        &self,
        folder: &Path,
        query_time_max: Duration,
        commits: Commits,
    ) -> Result<UpdateServer, XtaskError> {
        let (served, address) = self.serve_http(folder, query_time_max)?;
        self.wait_for(&address)?;
        for statement in GRANTS {
            self.ask(&address, statement)?;
        }
        if commits == Commits::Synced {
            self.ask(&address, SYNC_LOG)?;
            let answer = self.ask(&address, IS_LOG_SYNCED)?;
            if counted("Virtuoso", &answer)? != 1 {
                return Err(XtaskError::Answer {
                    command: IS_LOG_SYNCED.to_owned(),
                    what: "the log is not synced".to_owned(),
                });
            }
        }
        Ok(UpdateServer {
            update_url: served.url.clone(),
            served,
            // An update that names no graph is refused without.
            parameters: vec![("default-graph-uri", DEFAULT_GRAPH)],
        })
    }

    fn by(&self, commits: Commits) -> &'static str {
        match commits {
            Commits::Synced => {
                "`__dbf_set ('dbf_log_fsync', 1)`: the transaction log is synced before the answer"
            }
            Commits::Written => {
                "its default: the transaction log is written before the answer, not synced"
            }
        }
    }
}

/// A server that runs; it is killed when it goes out of scope.
struct Server<'a> {
    /// Where its client is.
    virtuoso: &'a Virtuoso,
    /// Its process.
    child: Child,
    /// Address and port.
    address: String,
}

impl Server<'_> {
    /// Runs statements and gives what they print.
    fn ask(&self, statements: &str) -> Result<String, XtaskError> {
        self.virtuoso.ask(&self.address, statements)
    }

    /// Runs the loader in so many clients, until all have ended.
    fn run_loaders(
        &self,
        loaders: usize,
        started: Instant,
        time_max: Duration,
        folder: &Path,
    ) -> Result<(), XtaskError> {
        let log = folder.join("loader-log");
        let mut clients = Vec::new();
        for _ in 0..loaders {
            let mut command = self.virtuoso.client(&self.address, "rdf_loader_run();");
            clients.push((measure::start(&mut command, &log)?, command));
        }
        for (client, command) in &mut clients {
            let status = measure::wait(client, started, time_max)?;
            measure::succeeded(command, status, &log)?;
        }
        Ok(())
    }

    /// All quads, also its own.
    fn count(&self) -> Result<u64, XtaskError> {
        counted("Virtuoso", &self.ask(COUNT_ALL)?)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // Nothing can be done about a process that is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fetches the package and those that it needs and that are not installed, and unpacks them.
fn unpack(folder: &Path) -> Result<(), XtaskError> {
    let packages = folder.join("packages");
    let partial = packages.join("partial");
    fs::create_dir_all(&partial).map_err(|source| cannot("make", &partial, source))?;
    let mut command = Command::new("apt-get");
    // It only downloads, so it needs no lock of the machine's package database.
    command.args([
        "--yes",
        "--download-only",
        "--no-install-recommends",
        "--reinstall",
    ]);
    command.args(["-o", "Debug::NoLocking=1", "-o"]);
    command.arg(format!("Dir::Cache::archives={}", packages.display()));
    command.args(["install", PACKAGE]);
    measure::output(&mut command)?;
    let entries = fs::read_dir(&packages).map_err(|source| cannot("read", &packages, source))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            measure::output(Command::new("dpkg").arg("--extract").arg(&path).arg(folder))?;
        }
    }
    Ok(())
}

/// The folders with libraries among what was unpacked, with colons between.
fn library_path(root: &Path) -> String {
    let mut folders = Vec::new();
    for place in ["lib", "usr/lib"] {
        let place = root.join(place);
        let inner = fs::read_dir(&place).into_iter().flatten().flatten();
        folders.extend(inner.map(|entry| entry.path().display().to_string()));
        folders.push(place.display().to_string());
    }
    folders.join(":")
}
