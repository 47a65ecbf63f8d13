//! Starting and stopping a server.
//!
//! Stopping serves whoever has connected, says in each answer that its connection closes, gives connections a moment to
//! take leave so, lets requests finish, cancels the queries still running after a while, and gives up on connections that do not end even
//! then. So a request that has arrived when the server stops gets its answer. What is lost is what arrives while its connection, on which nothing
//! was asked for [`LEAVE`], is being closed, and connections made while the listener is.

use crate::lanes::Lanes;
use crate::last_answers::{IsStopping, last_answers};
use crate::options::{ServerError, ServerOptions};
use crate::registry::Registry;
use crate::routes::router;
use crate::signals::stop_signal;
use crate::state::AppState;
use axum::middleware::from_fn_with_state;
use basalt_engine::{Database, Error, Holder};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

/// Time in which clients may ask once more when the server stops, and hear in the answer that it does; less if no connection is open.
const LEAVE: Duration = Duration::from_millis(250);
/// Between two looks at whether one is.
const LEAVE_STEP: Duration = Duration::from_millis(5);
/// Time that running queries have to end when the server stops, before they are cancelled.
const GRACE: Duration = Duration::from_secs(5);
/// Time that connections have to end after that.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// Serves until the process gets an interrupt or a termination signal. `ready` hears the address, and why nobody can write
/// if the lock of the store could not be taken.
pub fn serve(
    database: Arc<Database>,
    options: ServerOptions,
    ready: &mut dyn FnMut(SocketAddr, Option<&Error>),
) -> Result<(), ServerError> {
    let runtime = runtime()?;
    let mut lanes = Lanes::new()?;
    let outcome = runtime.block_on(async {
        let (listener, address) = listen(&options).await?;
        // The handlers are there before anyone is told, so that no signal comes too early.
        let stop = stop_signal()?;
        let (key, announced) = announce(&database, &options, address);
        ready(address, announced.as_ref().err());
        let stop = async {
            stop.await;
        };
        let state = AppState::new(database, options, key);
        run(listener, address, state, &mut lanes, stop).await
    });
    lanes.end(LAST_GRACE);
    outcome
}

/// Serves in the background until the returned value is shut down or dropped.
pub fn spawn(
    database: Arc<Database>,
    options: ServerOptions,
) -> Result<RunningServer, ServerError> {
    let runtime = runtime()?;
    let mut lanes = Lanes::new()?;
    let (listener, address) = runtime.block_on(listen(&options))?;
    // Without the lock writes are refused one by one.
    let (key, _) = announce(&database, &options, address);
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let stop = async {
            // A dropped handle stops the server as well.
            let _ = stopped.await;
        };
        let state = AppState::new(database, options, key);
        let outcome = runtime.block_on(run(listener, address, state, &mut lanes, stop));
        lanes.end(LAST_GRACE);
        outcome
    });
    Ok(RunningServer {
        address,
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// A server in the background.
pub struct RunningServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
}

impl RunningServer {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it and waits for its end.
    pub fn shutdown(mut self) -> Result<(), ServerError> {
        drop(self.stop.take());
        match self.thread.take() {
            Some(thread) => thread.join().map_err(|_| ServerError::Lost)?,
            None => Ok(()),
        }
    }
}

/// What accepts connections and hears signals, on the thread that waits for the end.
fn runtime() -> Result<Runtime, ServerError> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

async fn listen(options: &ServerOptions) -> Result<(TcpListener, SocketAddr), ServerError> {
    let failed = |source| ServerError::Bind {
        bind: options.bind.clone(),
        source,
    };
    let listener = TcpListener::bind(&options.bind).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Takes the lock of the store, if this server writes, and tells those who find it locked where it is: the key that they
/// know this server by, and how that went.
fn announce(
    database: &Database,
    options: &ServerOptions,
    address: SocketAddr,
) -> (Option<String>, Result<(), Error>) {
    if options.read_only {
        return (None, Ok(()));
    }
    let random = || RandomState::new().build_hasher().finish();
    let key = format!("{:016x}{:016x}", random(), random());
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let holder = Holder {
        pid: std::process::id(),
        url: format!("http://{}", SocketAddr::new(ip, address.port())),
        key: key.clone(),
    };
    let announced = database.announce(holder);
    (Some(key), announced)
}

async fn run(
    listener: TcpListener,
    address: SocketAddr,
    state: AppState,
    lanes: &mut Lanes,
    stop: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    let registry = Arc::clone(&state.registry);
    let idle = state.options.idle_timeout;
    let (announce, mut announced) = watch::channel(false);
    let is_stopping = IsStopping::default();
    let with_state = from_fn_with_state(Arc::clone(&is_stopping), last_answers);
    let router = router(state).layer(with_state);
    let served = lanes.serve(&router, &registry, (address, idle), &announced);
    let ended = async {
        tokio::select! {
            () = lanes.accept(&listener) => {}
            () = stop => {}
        }
        is_stopping.store(true, Ordering::Relaxed);
        lanes.accept_rest(listener);
        leave(lanes).await;
        announce.send_replace(true);
        for lane in served {
            lane.await.map_err(|_| ServerError::Lost)??;
        }
        Ok(())
    };
    tokio::select! {
        outcome = ended => outcome,
        () = end_of_patience(&mut announced, &registry) => Ok(()),
    }
}

/// Waits until no connection is open, a moment at most.
async fn leave(lanes: &Lanes) {
    let end = Instant::now() + LEAVE;
    while lanes.are_open() && Instant::now() < end {
        tokio::time::sleep(LEAVE_STEP).await;
    }
}

/// Ends some time after the stop, having cancelled what runs.
async fn end_of_patience(announced: &mut watch::Receiver<bool>, registry: &Registry) {
    if announced
        .wait_for(|is_stopping| *is_stopping)
        .await
        .is_err()
    {
        // The server ended by itself; its own end is what counts.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(GRACE).await;
    registry.cancel_all();
    tokio::time::sleep(LAST_GRACE).await;
}
