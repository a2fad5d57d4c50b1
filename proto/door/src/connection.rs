//! Connections: how many there may be at a time, and how long one may take to make a call that is let in.
//!
//! Whoever connects and says nothing, half of something, or something that is refused, is let go of after a while: it keeps
//! no place that a caller could have. What one of us does after its first call is its own business; whether it is still
//! there is asked by HTTP/2's pings.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, UdsConnectInfo};

/// How long a connection may take to make its first call.
const TRIAL: Duration = Duration::from_secs(10);

/// How long nothing is accepted when the system has nothing left to accept it with.
const RESPITE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub trait Accepts: Send + Sync + 'static {
    /// One connection.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next one.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Io>> + Send;

    /// Says which process is at the other end, if the kernel knows.
    fn peer(io: &Self::Io) -> Option<UdsConnectInfo>;
}

impl Accepts for UnixListener {
    type Io = UnixStream;

    async fn accept(&self) -> io::Result<UnixStream> {
        Ok(Self::accept(self).await?.0)
    }

    fn peer(io: &UnixStream) -> Option<UdsConnectInfo> {
        Some(io.connect_info())
    }
}

impl Accepts for TcpListener {
    type Io = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        let io = Self::accept(self).await?.0;
        // An answer is small and must not wait for the next one.
        io.set_nodelay(true)?;
        Ok(io)
    }

    fn peer(_io: &TcpStream) -> Option<UdsConnectInfo> {
        None
    }
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub struct Caller {
    process: Option<UdsConnectInfo>,
    admitted: Arc<AtomicBool>,
}

impl Caller {
    /// Names the process, if the kernel knows it.
    #[must_use]
    pub fn process(&self) -> Option<&UdsConnectInfo> {
        self.process.as_ref()
    }

    /// Says that a call of it was let in.
    pub fn admit(&self) {
        self.admitted.store(true, Ordering::Release);
    }
}

/// A connection that has its place.
#[derive(Debug)]
pub struct Connection<Io> {
    io: Io,
    caller: Caller,
    /// Until a call is let in.
    trial: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

/// Accepts connections, `most` at a time, for as long as somebody takes them. Those that find no place wait in the kernel.
pub fn incoming<L: Accepts>(
    listener: L,
    most: usize,
) -> ReceiverStream<io::Result<Connection<L::Io>>> {
    let (taken, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(most));
        loop {
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                let place = place.expect("the semaphore is never closed");
                Connection::new::<L>(accepted(&listener).await, place, TRIAL)
            };
            tokio::select! {
                connection = next => if taken.send(Ok(connection)).await.is_err() { return },
                () = taken.closed() => return,
            }
        }
    });
    ReceiverStream::new(connections)
}

/// Bounds a number of connections by half of the files that may be open; the others are for the work itself.
#[must_use]
pub fn places(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
    files.map_or(wanted, |files| wanted.min(files / 2))
}

/// Waits for a connection, whatever else happens on the way: one that is gone again, or a system that has no descriptor or
/// memory left. tonic would end the whole listener for the latter.
async fn accepted<L: Accepts>(listener: &L) -> L::Io {
    loop {
        match listener.accept().await {
            Ok(io) => return io,
            Err(error) if is_exhaustion(&error) => {
                tracing::warn!(%error, "no connection can be accepted for a moment");
                tokio::time::sleep(RESPITE).await;
            }
            Err(error) => tracing::debug!(%error, "a connection was gone before it was accepted"),
        }
    }
}

fn is_exhaustion(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
    exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

impl<Io> Connection<Io> {
    fn new<L: Accepts<Io = Io>>(io: Io, place: OwnedSemaphorePermit, trial: Duration) -> Self {
        let caller = Caller { process: L::peer(&io), admitted: Arc::default() };
        Self { io, caller, trial: Some(Box::pin(tokio::time::sleep(trial))), _place: place }
    }

    /// Says whether the trial is over and nobody was let in.
    fn is_out_of_time(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(trial) = &mut self.trial else { return false };
        if self.caller.admitted.load(Ordering::Acquire) {
            self.trial = None;
            return false;
        }
        trial.as_mut().poll(cx).is_ready()
    }
}

impl<Io: Send + 'static> Connected for Connection<Io> {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Connection<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_out_of_time(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Connection<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_stream::StreamExt as _;

    use super::*;

    /// Gives what it was told to, then waits for ever.
    struct Scripted(Mutex<Vec<io::Result<UnixStream>>>);

    impl Accepts for Scripted {
        type Io = UnixStream;

        async fn accept(&self) -> io::Result<UnixStream> {
            let next = self.0.lock().unwrap().pop();
            match next {
                Some(next) => next,
                None => std::future::pending().await,
            }
        }

        fn peer(io: &UnixStream) -> Option<UdsConnectInfo> {
            UnixListener::peer(io)
        }
    }

    fn connection(trial: Duration) -> (Connection<UnixStream>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        (Connection::new::<UnixListener>(ours, place, trial), theirs)
    }

    #[tokio::test]
    async fn whoever_is_not_let_in_in_time_is_let_go_of_and_whoever_is_stays() {
        let (mut stranger, mut theirs) = connection(Duration::from_millis(20));
        theirs.write_all(b"PRI * HTTP/2.0").await.unwrap();
        let mut bytes = [0; 64];
        assert_eq!(stranger.read(&mut bytes).await.unwrap(), 14);
        let gone = stranger.read(&mut bytes).await.unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::TimedOut);

        let (mut friend, mut theirs) = connection(Duration::ZERO);
        friend.connect_info().admit();
        theirs.write_all(b"later").await.unwrap();
        assert_eq!(friend.read(&mut bytes).await.unwrap(), 5);
    }

    #[tokio::test]
    async fn a_system_without_descriptors_ends_no_listener() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let no_more = || Err(io::Error::from(Errno::MFILE));
        let aborted = Err(io::ErrorKind::ConnectionAborted.into());
        let script = vec![Ok(ours), no_more(), aborted, no_more()];
        let mut connections = incoming(Scripted(Mutex::new(script)), 1);
        assert!(connections.next().await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_place_is_given_to_the_next_when_a_connection_goes() {
        let (one, _one) = UnixStream::pair().unwrap();
        let (two, _two) = UnixStream::pair().unwrap();
        let mut connections = incoming(Scripted(Mutex::new(vec![Ok(two), Ok(one)])), 1);
        let first = connections.next().await.unwrap().unwrap();
        let mut second = std::pin::pin!(connections.next());
        tokio::select! {
            biased;
            _ = &mut second => panic!("there was one place"),
            () = std::future::ready(()) => {}
        }
        drop(first);
        assert!(second.await.unwrap().is_ok());
    }
}
