//! Signals that tell the process to stop: an interrupt (Ctrl-C) and a request to terminate.
//!
//! [`stop_signal`] is what a server waits for; [`on_stop_signal`] is for commands without a runtime.

use crate::options::ServerError;
use tokio::runtime::Builder;

/// Why the process is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C, or SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    /// What a shell reports for a process that such a signal has ended.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// From the return of this function on, the first signal to stop does not end the process but runs
/// this action, in a thread of its own; later ones do nothing.
pub fn on_stop_signal(action: impl FnOnce(StopSignal) + Send + 'static) -> Result<(), ServerError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let stop = {
        let _context = runtime.enter();
        stop_signal()?
    };
    std::thread::spawn(move || {
        let signal = runtime.block_on(stop);
        action(signal);
    });
    Ok(())
}

/// Waits for an interrupt or a termination signal. The handlers are there when this returns.
#[cfg(unix)]
pub(crate) fn stop_signal() -> Result<impl Future<Output = StopSignal> + Send + 'static, ServerError>
{
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => StopSignal::Interrupt,
            _ = terminate.recv() => StopSignal::Terminate,
        }
    })
}

/// Waits for an interrupt.
#[cfg(not(unix))]
pub(crate) fn stop_signal() -> Result<impl Future<Output = StopSignal> + Send + 'static, ServerError>
{
    Ok(async {
        // If the handler cannot be installed the server still serves, until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        StopSignal::Interrupt
    })
}
