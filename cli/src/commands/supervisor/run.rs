//! `ratchet supervisor run`: hosts the daemon in this process.

use std::num::NonZeroUsize;
use std::path::{PathBuf, absolute};
use std::time::Duration;

use ratchet_supervisor::daemon::{self, DaemonError, DaemonOptions, files};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::grpc::listen::ListenError;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_supervisor::store::layout::supervisor_socket;

use super::environment;
use crate::args::supervisor::{OnSignal, Run};
use crate::commands::{Ended, failed, stage};
use crate::diagnostic::Failure;
use crate::exit::Exit;

/// Threads for calls and actors. What reads and writes files has threads of its own, as many as it needs.
const WORKERS: usize = 2;

/// The fewest commands that run at a time, unless somebody says otherwise.
const LEAST_CAPACITY: NonZeroUsize = NonZeroUsize::new(4).expect("four is not zero");

/// Runs until it is asked to end.
pub(super) fn run(args: &Run) -> Ended {
    let environment = environment()?;
    let options = options(args, environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| Failure::from_error(&error))?;
    let ended = runtime.block_on(daemon::run(options));
    // What still reads a file has nobody left to read it for.
    runtime.shutdown_background();
    ended.map_err(refused)?;
    Ok(Exit::Success)
}

fn options(args: &Run, environment: Environment) -> Result<DaemonOptions, Failure> {
    let tcp = match (args.listen, &args.tls_cert, &args.tls_key, &args.token_file) {
        (Some(address), Some(cert), Some(key), Some(token)) => {
            Some((address, files::tls(cert, key, token).map_err(|error| unfit(&error))?))
        }
        _ => None,
    };
    let group = args.group.as_deref().map(files::group).transpose();
    Ok(DaemonOptions {
        supervisor: stage::hosting(args.capacity.unwrap_or_else(usual_capacity))?,
        socket: socket(args, &environment)?,
        environment,
        group: group.map_err(|error| unfit(&error))?,
        tcp,
        on_signal: on_signal(args)?,
    })
}

fn socket(args: &Run, environment: &Environment) -> Result<PathBuf, Failure> {
    match &args.socket {
        Some(socket) => absolute(socket).map_err(|error| Failure::from_error(&error)),
        None => supervisor_socket(environment).ok_or_else(|| failed(Error::NoHome)),
    }
}

fn on_signal(args: &Run) -> Result<Ending, Failure> {
    match (args.on_signal, args.drain_timeout) {
        (OnSignal::Leave, None) => Ok(Ending::Leave),
        (OnSignal::Leave, Some(_)) => {
            Err(Failure::new("--drain-timeout says how long to wait, and nothing is waited for")
                .help("add '--on-signal drain'"))
        }
        (OnSignal::Drain, timeout) => Ok(drain(timeout)),
    }
}

/// Waits for running steps, for so long at most. The wire has whole milliseconds, and no time at all is the shortest.
pub(super) fn drain(timeout: Option<Duration>) -> Ending {
    let ms = |timeout: Duration| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1);
    Ending::Drain(timeout.map(ms))
}

/// Two for each processor: an agent mostly waits for its model.
fn usual_capacity() -> NonZeroUsize {
    let two_each = |processors: NonZeroUsize| processors.saturating_mul(TWO);
    std::thread::available_parallelism().map_or(LEAST_CAPACITY, two_each).max(LEAST_CAPACITY)
}

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

fn unfit(error: &files::SetupError) -> Failure {
    Failure::from_error(error).help(error.help()).code("bad-setup")
}

fn refused(error: DaemonError) -> Failure {
    let failure = Failure::from_error(&error);
    match error {
        DaemonError::Own(error) => failed(error),
        DaemonError::Listen(ListenError::AlreadyThere { .. }) => failure
            .help("ask it with 'ratchet supervisor status', end it with 'ratchet supervisor stop', or listen elsewhere with '--socket PATH'")
            .code("supervisor-running"),
        DaemonError::Listen(ListenError::OpenFolder { folder, .. }) => failure
            .help(format!("make it yours alone: 'chmod 700 {}', or listen elsewhere with '--socket PATH'", folder.display()))
            .code("cannot-listen"),
        DaemonError::Listen(ListenError::NotASocket { .. }) => failure
            .help("nothing was touched; listen elsewhere with '--socket PATH', or move it away")
            .code("cannot-listen"),
        DaemonError::Listen(ListenError::TooLong { .. }) => {
            failure.help("listen at a shorter one with '--socket PATH'").code("cannot-listen")
        }
        DaemonError::Listen(ListenError::Tls(_)) => failure
            .help("look whether both are PEM and belong together: 'openssl x509 -in CERT -noout -text'")
            .code("cannot-listen"),
        DaemonError::Listen(ListenError::System { .. } | ListenError::Broken(_)) => failure
            .help("mend the cause, or listen elsewhere with '--socket PATH' or '--listen ADDR'")
            .code("cannot-listen"),
        DaemonError::System(_) => failure,
    }
}
