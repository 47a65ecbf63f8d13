//! Lanes: threads that each serve connections of their own, from the first request to the last.
//!
//! A connection goes to the lane with the fewest of them and stays there, so a request that is answered in place wakes
//! one thread and no other. Nothing on a lane may take longer than a few milliseconds: what does goes to a blocking thread (see
//! [`in_place`](crate::in_place)).
//!
//! At the stop whoever has connected is still served: connections that wait to be accepted, and those on their way to a lane
//! ([`Lanes::accept_rest`]).
//!
//! Each lane is a runtime with one worker, since a worker among several wakes another one whenever it finds
//! something to do. Memory: a thread for each lane, and the blocking threads that its queries need.

use crate::connection::Connection;
use crate::marks::Marks;
use crate::registry::Registry;
use crate::vigil::Vigil;
use axum::Router;
use axum::serve::Listener;
use basalt_engine::{STACK_BYTES, core_count};
use std::io;
use std::net::{SocketAddr, TcpStream as PlainStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Threads for what takes long, of all lanes together: as many queries run at once, the others wait.
const BLOCKING_MAX: usize = 512;
/// Those of one lane at least, so that queries that ask this server itself do not wait for each other.
const BLOCKING_MIN: usize = 64;

/// Connections accepted at the stop, at most: more than the system keeps waiting, so that a flood of them ends.
const REST_MAX: usize = 8192;

/// How long to wait before connections are accepted again after the system had no resources for one.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Threads of a lane for what takes long, at most.
pub fn blocking_threads() -> usize {
    (BLOCKING_MAX / core_count()).max(BLOCKING_MIN)
}

/// All lanes of a server.
pub struct Lanes {
    lanes: Vec<Lane>,
}

struct Lane {
    runtime: Runtime,
    /// Connections of the lane, those on their way to it included.
    open: Arc<AtomicUsize>,
    /// When its requests come.
    vigil: Arc<Vigil>,
    /// Until no more connections come.
    arrivals: Option<mpsc::UnboundedSender<Arrival>>,
    /// Until the lane serves.
    arriving: Option<mpsc::UnboundedReceiver<Arrival>>,
}

/// A connection on its way to a lane.
struct Arrival {
    stream: PlainStream,
    peer: SocketAddr,
    counted: Counted,
}

/// Counts a connection as long as it lives.
pub struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    /// As many lanes as the process may use cores.
    pub fn new() -> io::Result<Self> {
        let count = core_count();
        let lanes = (0..count).map(|number| {
            let (arrivals, arriving) = mpsc::unbounded_channel();
            Ok(Lane {
                runtime: Builder::new_multi_thread()
                    .worker_threads(1)
                    .max_blocking_threads(blocking_threads())
                    .thread_stack_size(STACK_BYTES)
                    .enable_all()
                    .thread_name(format!("basalt-http-{number}"))
                    .build()?,
                open: Arc::default(),
                vigil: Arc::default(),
                arrivals: Some(arrivals),
                arriving: Some(arriving),
            })
        });
        Ok(Self {
            lanes: lanes.collect::<io::Result<_>>()?,
        })
    }

    /// Lets each lane serve what arrives, each connection as long as something is asked on it within the given time, until `stopping` says so, all that has arrived was taken, and its connections have ended.
    pub fn serve(
        &mut self,
        router: &Router,
        registry: &Arc<Registry>,
        (address, idle): (SocketAddr, Duration),
        stopping: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<io::Result<()>>> {
        let lane_count = self.lanes.len();
        let mut tasks = Vec::new();
        for lane in &mut self.lanes {
            let Some(arriving) = lane.arriving.take() else {
                continue;
            };
            let mut stopping = stopping.clone();
            let (all_taken, taken) = oneshot::channel();
            let arrivals = Arrivals {
                arriving,
                address,
                vigil: Arc::clone(&lane.vigil),
                idle,
                all_taken: Some(all_taken),
            };
            // On a single core the client needs what a lane that looks would take.
            if lane_count > 1 {
                let registry = Arc::clone(registry);
                let vigil = Arc::clone(&lane.vigil);
                lane.runtime
                    .spawn(vigil.run(move || registry.runs_elsewhere()));
            }
            let stop = async move {
                // A server that is gone is stopping too.
                let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
                let _ = taken.await;
            };
            let service = router
                .clone()
                .into_make_service_with_connect_info::<Marks>();
            let served = axum::serve(arrivals, service).with_graceful_shutdown(stop);
            tasks.push(lane.runtime.spawn(served.into_future()));
        }
        tasks
    }

    /// Accepts connections and gives each to the lane that has the fewest, for ever.
    pub async fn accept(&self, listener: &TcpListener) {
        loop {
            if let Some((stream, peer)) = next_connection(listener).await {
                self.give(stream, peer);
            }
        }
    }

    /// Accepts the connections that wait for it, and none after them. One that comes between the last of them and the close
    /// of the listener, which follows at once, is reset by the system.
    pub fn accept_rest(&mut self, listener: TcpListener) {
        if let Ok(listener) = listener.into_std() {
            for _ in 0..REST_MAX {
                match listener.accept() {
                    Ok((stream, peer)) => {
                        let _ = stream.set_nodelay(true);
                        if stream.set_nonblocking(true).is_ok() {
                            self.give(stream, peer);
                        }
                    }
                    Err(error) if is_of_connection(&error) => {}
                    Err(_) => break,
                }
            }
        }
        for lane in &mut self.lanes {
            lane.arrivals = None;
        }
    }

    /// Whether some connection is open, or on its way to a lane.
    pub fn are_open(&self) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.any(|lane| lane.open.load(Ordering::Relaxed) > 0)
    }

    /// Gives a connection to the lane that has the fewest.
    fn give(&self, stream: PlainStream, peer: SocketAddr) {
        let fewest = |lane: &&Lane| lane.open.load(Ordering::Relaxed);
        let Some(lane) = self.lanes.iter().min_by_key(fewest) else {
            return;
        };
        if let Some(arrivals) = &lane.arrivals {
            let counted = Counted::new(&lane.open);
            // A lane that serves no more belongs to a server that ends.
            let _ = arrivals.send(Arrival {
                stream,
                peer,
                counted,
            });
        }
    }

    /// Ends all lanes, whatever they do, within a time.
    pub fn end(self, time_max: Duration) {
        let end = Instant::now() + time_max;
        for lane in self.lanes {
            let left = end.saturating_duration_since(Instant::now());
            lane.runtime.shutdown_timeout(left);
        }
    }
}

/// The next connection; nothing if it failed.
async fn next_connection(listener: &TcpListener) -> Option<(PlainStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Without it small answers wait for the client's acknowledgement; they work all the same.
            let _ = stream.set_nodelay(true);
            // It was registered with the thread that accepts, and goes to another.
            let stream = stream.into_std().ok()?;
            Some((stream, peer))
        }
        Err(error) if is_of_connection(&error) => None,
        Err(_) => {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Whether only this connection failed, by its client.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// What a lane listens to.
pub struct Arrivals {
    arriving: mpsc::UnboundedReceiver<Arrival>,
    address: SocketAddr,
    vigil: Arc<Vigil>,
    /// How long a connection may stay on which nothing is asked.
    idle: Duration,
    /// Told when the last connection was taken.
    all_taken: Option<oneshot::Sender<()>>,
}

impl Listener for Arrivals {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Some(arrival) = self.arriving.recv().await else {
                // Nobody accepts any more; the end comes by the signal to stop.
                drop(self.all_taken.take());
                std::future::pending::<()>().await;
                continue;
            };
            // A connection that the system refuses to watch is closed.
            if let Ok(stream) = TcpStream::from_std(arrival.stream) {
                let vigil = Arc::clone(&self.vigil);
                let connection = Connection::new(stream, vigil, self.idle, arrival.counted);
                return (connection, arrival.peer);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
