//! Runs programs and measures them from outside: wall time, CPU time, memory.
//!
//! Memory and CPU time come from `/proc`, sampled every few milliseconds for the
//! program and what it starts; the system keeps the high-water mark of each
//! process itself, so a peak between two samples is not missed. Where there is no `/proc`
//! these figures are missing.
//!
//! Invariants: a program that ran longer than it may is stopped and is an error;
//! what a program prints goes to a log file, so that no pipe fills up and holds it.
//!
//! Cost: a sample reads two small files a process and one a thread: about half a
//! percent of one core.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::work_folder::cannot;
use crate::error::XtaskError;

/// How long to wait between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);
/// How often to look whether a program has ended: this is the error of a wall time.
const END_INTERVAL: Duration = Duration::from_millis(1);
/// Clock ticks a second in `/proc`, the same on every Linux that people run.
const TICKS_PER_SECOND: f64 = 100.0;
/// Lines that are shown of a log's begin and of its end: some programs say first what is
/// wrong, others last.
const LOG_LINES_SHOWN: usize = 4;

/// What a program used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU time of user and system.
    pub cpu_seconds: f64,
    /// Largest resident memory, with the parts of files that it had mapped.
    pub peak_bytes: u64,
    /// Largest resident memory without files, as sampled.
    pub anonymous_bytes: u64,
}

/// A program's run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// From just before it started until it had ended.
    pub wall_seconds: f64,
    /// What it used, where the system tells.
    pub usage: Option<Usage>,
    /// The command line.
    pub command: String,
}

/// Runs a command to its end; its output goes to the end of `log`.
pub fn run(command: &mut Command, log: &Path, time_max: Duration) -> Result<Measured, XtaskError> {
    let started = Instant::now();
    let mut child = start(command, log)?;
    let sampler = Sampler::start(child.id());
    let status = wait(&mut child, started, time_max);
    let wall_seconds = started.elapsed().as_secs_f64();
    let usage = sampler.finish();
    succeeded(command, status?, log)?;
    Ok(Measured {
        wall_seconds,
        usage,
        command: command_line(command),
    })
}

/// Starts a command whose output goes to the end of `log`; standard input is empty unless
/// the command says otherwise.
pub fn start(command: &mut Command, log: &Path) -> Result<Child, XtaskError> {
    let file = open_log(log)?;
    let copy = file
        .try_clone()
        .map_err(|source| cannot("open", log, source))?;
    spawn(command.stdin(Stdio::null()).stdout(file).stderr(copy))
}

/// Starts a command as it is.
pub fn spawn(command: &mut Command) -> Result<Child, XtaskError> {
    command.spawn().map_err(|source| XtaskError::Io {
        operation: "start",
        path: PathBuf::from(command.get_program()),
        source,
    })
}

/// A log file to append to.
pub fn open_log(log: &Path) -> Result<File, XtaskError> {
    let opened = OpenOptions::new().create(true).append(true).open(log);
    opened.map_err(|source| cannot("open", log, source))
}

/// Waits for a program; `None` if it ran too long and was stopped.
pub fn wait(
    child: &mut Child,
    started: Instant,
    time_max: Duration,
) -> Result<Option<ExitStatus>, XtaskError> {
    let cannot_wait = |source| XtaskError::Io {
        operation: "wait for",
        path: PathBuf::from("a program"),
        source,
    };
    // Termination: the time that has passed grows.
    while started.elapsed() < time_max {
        if let Some(status) = child.try_wait().map_err(cannot_wait)? {
            return Ok(Some(status));
        }
        thread::sleep(END_INTERVAL);
    }
    child.kill().map_err(cannot_wait)?;
    child.wait().map_err(cannot_wait)?;
    Ok(None)
}

/// An error after the log's begin and end have been shown, unless the program ended well.
pub fn succeeded(
    command: &Command,
    status: Option<ExitStatus>,
    log: &Path,
) -> Result<(), XtaskError> {
    let what = match status {
        Some(status) if status.success() => return Ok(()),
        Some(status) => status.to_string(),
        None => "it took too long and was stopped".to_owned(),
    };
    show_log(log);
    Err(XtaskError::Program {
        command: command_line(command),
        what,
    })
}

/// Shows the begin and the end of a log on standard error.
pub fn show_log(log: &Path) {
    eprintln!("from `{}`:", log.display());
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line_count = text.lines().count();
    for (index, line) in text.lines().enumerate() {
        if index < LOG_LINES_SHOWN || index + LOG_LINES_SHOWN >= line_count {
            eprintln!("  {line}");
        }
    }
}

/// What a command prints on standard output, as text; both streams may be taken together.
pub fn output(command: &mut Command) -> Result<String, XtaskError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| XtaskError::Io {
            operation: "start",
            path: PathBuf::from(command.get_program()),
            source,
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(XtaskError::Program {
        command: command_line(command),
        what: match message.trim().lines().next_back() {
            Some(line) => line.to_owned(),
            None => output.status.to_string(),
        },
    })
}

/// The command line as a person would type it, with the name of the program only.
pub fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        text.push(' ');
        if argument.contains([' ', '(', ';', '*', '{', '\'']) {
            text.push_str(&format!("\"{argument}\""));
        } else {
            text.push_str(&argument);
        }
    }
    text
}

/// Seconds that writing back everything unwritten takes: what a program left to the
/// system although it had ended.
pub fn seconds_to_sync(folder: &Path) -> Option<f64> {
    let started = Instant::now();
    let synced = Command::new("sync").arg("-f").arg(folder).status();
    matches!(synced, Ok(status) if status.success()).then(|| started.elapsed().as_secs_f64())
}

/// Watches a process and what it starts, from a thread of its own.
pub struct Sampler {
    /// Set when the thread shall end.
    stop: Arc<AtomicBool>,
    /// The thread, until it is waited for; its result is what it saw.
    thread: Option<JoinHandle<Option<Usage>>>,
}

impl Sampler {
    /// Begins to watch; CPU time counts from now.
    pub fn start(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut seen = Seen::default();
        seen.sample(pid);
        seen.forget_cpu_time_before();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                seen.sample(pid);
                thread::sleep(SAMPLE_INTERVAL);
            }
            seen.sample(pid);
            seen.usage()
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Ends the watch.
    pub fn finish(mut self) -> Option<Usage> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok().flatten()
    }
}

impl Drop for Sampler {
    /// A watch that nobody wants the result of ends by itself.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What a sampler has seen.
#[derive(Default)]
struct Seen {
    /// CPU time of each process, in ticks: when the watch began and last.
    ticks: BTreeMap<u32, (u64, u64)>,
    /// Largest memory at one time, and the largest high-water mark of one process.
    peak_bytes: u64,
    /// Largest memory that is not of files, at one time.
    anonymous_bytes: u64,
}

impl Seen {
    /// Looks at a process and those below it; processes that have ended add nothing.
    fn sample(&mut self, pid: u32) {
        let mut resident = 0;
        let mut anonymous = 0;
        let mut pids = vec![pid];
        // Termination: processes form a tree.
        while let Some(pid) = pids.pop() {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let Ok(status) = fs::read_to_string(folder.join("status")) else {
                continue;
            };
            resident += status_bytes(&status, "VmRSS:").unwrap_or(0);
            anonymous += status_bytes(&status, "RssAnon:").unwrap_or(0);
            let mark = status_bytes(&status, "VmHWM:").unwrap_or(0);
            self.peak_bytes = self.peak_bytes.max(mark);
            if let Some(now) = fs::read_to_string(folder.join("stat"))
                .ok()
                .and_then(|stat| cpu_ticks(&stat))
            {
                self.ticks.entry(pid).or_insert((0, 0)).1 = now;
            }
            pids.extend(children(&folder));
        }
        self.peak_bytes = self.peak_bytes.max(resident);
        self.anonymous_bytes = self.anonymous_bytes.max(anonymous);
    }

    /// Makes CPU time count from the last sample.
    fn forget_cpu_time_before(&mut self) {
        for (begin, last) in self.ticks.values_mut() {
            *begin = *last;
        }
    }

    /// The sum of it, if there was anything to see.
    fn usage(&self) -> Option<Usage> {
        let ticks: u64 = self
            .ticks
            .values()
            .map(|&(begin, last)| last.saturating_sub(begin))
            .sum();
        (self.peak_bytes > 0).then(|| Usage {
            cpu_seconds: ticks as f64 / TICKS_PER_SECOND,
            peak_bytes: self.peak_bytes,
            anonymous_bytes: self.anonymous_bytes,
        })
    }
}

/// A size in `/proc/PID/status`, where sizes are in units of 1024 bytes.
fn status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// CPU time of user and system in `/proc/PID/stat`: fields 14 and 15. The second field is the
/// program's name in parentheses, which may itself hold spaces and parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The processes that a process has started and that still run.
fn children(folder: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    let Ok(threads) = fs::read_dir(folder.join("task")) else {
        return pids;
    };
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        pids.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_read_in_spite_of_strange_names() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 150 25 7 8 20 0 1 0 100";
        assert_eq!(cpu_ticks(stat), Some(175));
        assert_eq!(cpu_ticks("42 (cut"), None);
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t1024 kB\n";
        assert_eq!(status_bytes(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(status_bytes(status, "RssAnon:"), None);
    }

    #[test]
    fn command_lines_can_be_typed() {
        let mut command = Command::new("/some/where/isql");
        command.args(["-x", "count(*); checkpoint;"]);
        assert_eq!(command_line(&command), "isql -x \"count(*); checkpoint;\"");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_program_starts_is_measured_with_it() {
        let log = std::env::temp_dir().join(format!("xtask-measure-{}", std::process::id()));
        let minute = Duration::from_secs(60);
        // A shell that starts another one, which counts for a while and says a word.
        let script = "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done); true";
        let measured = run(Command::new("sh").arg("-c").arg(script), &log, minute);
        let text = fs::read_to_string(&log);
        let failed = run(Command::new("sh").arg("-c").arg("exit 3"), &log, minute);
        let stopped = run(
            Command::new("sleep").arg("60"),
            &log,
            Duration::from_millis(30),
        );
        super::super::work_folder::remove(&log).expect("it is ours");

        let measured = measured.expect("the program runs");
        let usage = measured.usage.expect("the system tells");
        assert_eq!(text.expect("there is a log"), "done\n");
        assert!(usage.peak_bytes > 100_000, "{usage:?}");
        assert!(usage.cpu_seconds > 0.0 && usage.cpu_seconds < measured.wall_seconds + 0.05);
        assert!(failed.expect_err("it fails").to_string().contains('3'));
        assert!(stopped.is_err());
    }
}
