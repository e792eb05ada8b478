//! Forwarded connections: a client's TCP connection to a port of a session, as one exchange.
//!
//! Connects only sockets that were opened in the session's network namespace, so no address of the runner's host is
//! reachable, whatever a server asks for.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    sync::Arc,
    time::Duration,
};

use airlock_domain::{
    ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, PortRange, SessionId,
};
use airlock_sandbox::SessionSockets;
use bytes::{BufMut as _, BytesMut};
use futures::StreamExt as _;
use rustix::net::sockopt::set_socket_linger;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpSocket, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::Semaphore,
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    config::RunnerConfig,
    exchange::{Incoming, Outgoing, failed},
    job::Tools,
    session::{OpenSession, SessionTable},
};

/// The number of bytes of one read, and of one chunk at most.
const READ_BYTES: usize = 64 * 1024;

/// The forwarded connections of this runner.
#[derive(Debug)]
pub(crate) struct Forwards {
    tools: Arc<Tools>,
    sessions: Arc<SessionTable>,
    /// The ports that the floor permits.
    permitted: Vec<PortRange>,
    places: Semaphore,
    /// The number of places.
    limit: u32,
    connect_timeout: Duration,
}

impl Forwards {
    pub(crate) fn new(tools: &Arc<Tools>, sessions: &Arc<SessionTable>, config: &RunnerConfig) -> Self {
        let limit = config.limits.forwards;
        Self {
            tools: Arc::clone(tools),
            sessions: Arc::clone(sessions),
            permitted: config.floor.port_forward.clone(),
            places: Semaphore::new(usize::try_from(limit).unwrap_or(Semaphore::MAX_PERMITS)),
            limit,
            connect_timeout: config.limits.dial_timeout,
        }
    }

    /// Connects to a port of the session, and transfers bytes until both directions have ended. Ends when the session
    /// closes. If it is dropped or fails, the connection is reset, so that no program takes a part for the whole.
    ///
    /// # Errors
    /// If the floor does not permit the port, a limit is reached, the session is not open, nothing listens, or the
    /// program resets the connection.
    pub(crate) async fn serve(
        &self,
        id: &SessionId,
        port: u16,
        incoming: Incoming,
        answers: &Outgoing,
    ) -> Result<(), ExchangeFailed> {
        if !self.permitted.iter().any(|range| range.contains(port)) {
            return Err(off(port));
        }
        let Ok(_place) = self.places.try_acquire() else { return Err(exhausted(self.limit)) };
        let session = self.sessions.get(id).ok_or_else(closed)?;
        // A close of the session waits for this token.
        let _work = session.file_work().ok_or_else(closed)?;
        let transfer = async {
            let mut connection = Connection { stream: self.connect(&session, port).await?, complete: false };
            // If the server has disconnected, the exchange ends.
            let _ = answers.send(ExchangeFromRunner::Ready { offset: 0 }).await;
            transfer(&mut connection.stream, incoming, answers).await?;
            connection.complete = true;
            Ok(())
        };
        tokio::select! {
            biased;
            () = session.closing().cancelled() => Err(closed()),
            done = transfer => done,
        }
    }

    /// Connects to a server at 127.0.0.1 or, if there is none, at ::1.
    async fn connect(&self, session: &Arc<OpenSession>, port: u16) -> Result<TcpStream, ExchangeFailed> {
        let Some(SessionSockets { v4, v6 }) = self.sockets(session).await? else {
            return Err(nothing_listens(port));
        };
        let connect = async {
            let first = connected(v4, (Ipv4Addr::LOCALHOST, port).into()).await;
            match (first, v6) {
                (Err(error), Some(v6)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    connected(v6, (Ipv6Addr::LOCALHOST, port).into()).await
                }
                (first, _) => first,
            }
        };
        match timeout(self.connect_timeout, connect).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => {
                tracing::debug!(session = %session.id, port, %error, "a forwarded connection failed");
                Err(nothing_listens(port))
            }
            Err(_) => Err(not_accepted(port)),
        }
    }

    /// Opens sockets in the session's network namespace. `None` if no command has needed one yet.
    async fn sockets(&self, session: &Arc<OpenSession>) -> Result<Option<SessionSockets>, ExchangeFailed> {
        let (tools, session) = (Arc::clone(&self.tools), Arc::clone(session));
        let opened = spawn_blocking(move || {
            // The process in the namespace ends before the session's user is free for another session.
            let _work = session.file_work();
            let network = session.with_network();
            network.map(|network| tools.launcher.session_sockets(&network)).transpose()
        });
        match opened.await {
            Ok(Ok(sockets)) => Ok(sockets),
            Ok(Err(error)) => Err(no_socket(&error)),
            Err(error) => Err(no_socket(&error)),
        }
    }
}

/// A connection that is reset when it is dropped before it is complete.
struct Connection {
    stream: TcpStream,
    complete: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.complete
            && let Err(error) = set_socket_linger(&self.stream, Some(Duration::ZERO))
        {
            tracing::debug!(%error, "a forwarded connection cannot be reset");
        }
    }
}

/// Connects a socket.
async fn connected(socket: OwnedFd, to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpSocket::from_std_stream(socket.into()).connect(to).await?;
    // If the kernel chooses the target's own port for the socket, TCP connects the socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Transfers bytes until both directions have ended.
async fn transfer(
    stream: &mut TcpStream,
    incoming: Incoming,
    answers: &Outgoing,
) -> Result<(), ExchangeFailed> {
    let (from_program, to_program) = stream.split();
    let sending = send(incoming, to_program);
    let receiving = receive(from_program, answers);
    tokio::pin!(sending, receiving);
    tokio::select! {
        received = &mut receiving => {
            received?;
            sending.await
        }
        // The client still gets the data that the program sent before the reset.
        sent = &mut sending => receiving.await.and(sent),
    }
}

async fn send(mut incoming: Incoming, mut to_program: WriteHalf<'_>) -> Result<(), ExchangeFailed> {
    while let Some(message) = incoming.next().await {
        match message {
            ExchangeToRunner::Chunk { data, .. } => to_program.write_all(&data).await.map_err(|_| reset())?,
            ExchangeToRunner::End { .. } => break,
            ExchangeToRunner::Order(_) => {}
        }
    }
    to_program.shutdown().await.map_err(|_| reset())
}

async fn receive(mut from_program: ReadHalf<'_>, answers: &Outgoing) -> Result<(), ExchangeFailed> {
    let (mut offset, mut buffer) = (0_u64, BytesMut::new());
    loop {
        buffer.reserve(READ_BYTES);
        let mut room = (&mut buffer).limit(READ_BYTES);
        let read = from_program.read_buf(&mut room).await.map_err(|_| reset())?;
        let message = match read {
            0 => ExchangeFromRunner::End,
            _ => ExchangeFromRunner::Chunk { offset, data: buffer.split().freeze() },
        };
        // If the server has disconnected, the exchange ends.
        if answers.send(message).await.is_err() || read == 0 {
            return Ok(());
        }
        offset = offset.saturating_add(read as u64);
    }
}

fn off(port: u16) -> ExchangeFailed {
    let message =
        format!("the runner does not permit forwarding port {port}; add it to `floor.port_forward`");
    failed(ExchangeFailure::FailedPrecondition, "PORT_FORWARD_OFF", message)
}

fn exhausted(limit: u32) -> ExchangeFailed {
    let failure = ExchangeFailure::Exhausted { limit: "limits.forwards".to_owned(), value: limit.into() };
    let message = format!("this runner has reached its limit of {limit} forwarded connections");
    failed(failure, "TOO_MANY_FORWARDS", message)
}

fn closed() -> ExchangeFailed {
    let message = "the session is not open on this runner";
    failed(ExchangeFailure::FailedPrecondition, "SESSION_NOT_OPEN", message)
}

fn nothing_listens(port: u16) -> ExchangeFailed {
    let message = format!("nothing listens at port {port} of the session's loopback");
    failed(ExchangeFailure::FailedPrecondition, "NOTHING_LISTENS", message)
}

fn not_accepted(port: u16) -> ExchangeFailed {
    let message = format!("the server at port {port} of the session accepts no connection");
    failed(ExchangeFailure::Unavailable, "NOT_ACCEPTED", message)
}

fn reset() -> ExchangeFailed {
    let message = "the program in the session reset the connection";
    failed(ExchangeFailure::FailedPrecondition, "CONNECTION_RESET", message)
}

fn no_socket(error: &impl std::fmt::Display) -> ExchangeFailed {
    tracing::error!(%error, "cannot open a socket in a session's network");
    failed(ExchangeFailure::Internal, "NO_SOCKET", "a socket in the session's network cannot be opened")
}
