//! `airlock port-forward`: local listeners, each connection of which reaches a port of a session.

use std::{
    net::{Ipv4Addr, SocketAddr},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use airlock_client::{Client, ClientError, Forward, v1};
use clap::Args;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::sleep,
};
use tonic::Code;

use super::{Failure, args, connect::Connect, failure::describe, interrupt::Interrupts, output};

/// The maximum number of open connections. Further ones wait until they are accepted.
const CONNECTIONS: usize = 128;
/// The interval at which the session is read, to notice its end without a connection.
const CHECK: Duration = Duration::from_secs(5);
/// The pause after a failed accept, such as one without a free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// The reasons after which no further connection can succeed.
const FINAL: [&str; 5] =
    ["PORT_FORWARD_OFF", "PROFILE_GONE", "SESSION_CLOSED", "SESSION_LOST", "SESSION_NOT_OPEN"];

/// Reach TCP ports of a session from this host.
///
/// Use this to open a web page or call an API that a command of the session serves. Each connection to the local port is
/// a connection to the same port of the session's loopback. The local port is open on 127.0.0.1 only. Every user and
/// program of this host can connect to it.
///
/// The profile (`port_forward`) and the runner (`floor.port_forward`) must permit the port.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock session create)\n  airlock start --session $id -- 'python3 -m http.server 8000'\n  airlock port-forward $id 0:8000 &       # a free port of this host; prints its number\n  kill %1\n\nCtrl-C stops it. It also ends when the session ends."
)]
pub(super) struct PortForward {
    #[command(flatten)]
    connect: Connect,
    /// The session.
    #[arg(value_name = "SESSION", value_parser = args::session)]
    session: String,
    /// A port of the session, and the port of this host if it differs; with 0 the system chooses one.
    #[arg(value_name = "[LOCAL:]PORT", required = true)]
    ports: Vec<Ports>,
}

/// A local port and a port of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ports {
    local: u16,
    remote: u16,
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |text: &str| {
            text.parse::<u16>().map_err(|_| format!("`{text}` is not a port; use a number up to 65535"))
        };
        let (local, remote) = text.split_once(':').unwrap_or((text, text));
        let ports = Self { local: port(local)?, remote: port(remote)? };
        if ports.remote == 0 {
            Err("the port of the session is 0; use a number from 1 to 65535".to_owned())
        } else {
            Ok(ports)
        }
    }
}

/// A listener, and the destination of its connections.
struct Listener {
    local: TcpListener,
    client: Client,
    session: String,
    port: u16,
    places: Arc<Semaphore>,
}

impl PortForward {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let mut interrupts = Interrupts::new()?;
        let client = self.connect.client().await?;
        check(&client.session(&self.session).await?)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut listeners = JoinSet::new();
        let mut text = String::new();
        for Ports { local, remote } in self.ports {
            let (local, address) = listen(local).await?;
            text.push_str(&format!("Forwarding {address} -> {}:{remote}\n", self.session));
            let (client, session, places) = (client.clone(), self.session.clone(), Arc::clone(&places));
            listeners.spawn(Listener { local, client, session, port: remote, places }.serve());
        }
        output::print(&text)?;
        tokio::select! {
            Some(ended) = listeners.join_next() => {
                Err(ended.unwrap_or_else(|error| Failure::new(format!("a listener failed: {error}"))))
            }
            failure = ended(&client, &self.session) => Err(failure),
            () = interrupts.next() => Ok(0),
        }
    }
}

async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), Failure> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |error: &std::io::Error| {
        Failure::new(format!("cannot listen at {wanted}: {error}; name another port, as in 0:{port}"))
    };
    let local = TcpListener::bind(wanted).await.map_err(|error| failed(&error))?;
    let address = local.local_addr().map_err(|error| failed(&error))?;
    Ok((local, address))
}

impl Listener {
    /// Accepts connections until one fails in a way that all others would, and returns that failure. Dropping the future
    /// resets all connections.
    async fn serve(self) -> Failure {
        let this = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(done) = connections.join_next(), if !connections.is_empty() => {
                    if let Ok(Err(failure)) = done {
                        return failure;
                    }
                }
                (stream, place) = this.accept() => {
                    connections.spawn(Arc::clone(&this).connection(stream, place));
                }
            }
        }
    }

    /// Waits for a place and for a connection. Cancel-safe.
    async fn accept(&self) -> (TcpStream, Option<OwnedSemaphorePermit>) {
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        loop {
            match self.local.accept().await {
                Ok((stream, _)) => return (stream, place),
                Err(error) => {
                    output::note(&format!("cannot accept a connection: {error}"));
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn connection(
        self: Arc<Self>,
        mut stream: TcpStream,
        _place: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Failure> {
        // Without an option, small messages wait for the acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let relayed = async {
            let forward = Forward::open(&self.client, &self.session, self.port).await?;
            forward.relay(&mut stream).await
        };
        let Err(error) = relayed.await else { return Ok(()) };
        // The local program must not take a part of an answer for the whole.
        let _ = stream.set_zero_linger();
        if is_final(&error) {
            return Err(error.into());
        }
        if !matches!(error, ClientError::Local(_)) {
            output::note(&format!("connection to port {}: {}", self.port, describe(&error)));
        }
        Ok(())
    }
}

/// Reports whether every further connection would fail too.
fn is_final(error: &ClientError) -> bool {
    error.rejection().is_some_and(|rejection| {
        let code = matches!(rejection.code, Code::NotFound | Code::PermissionDenied | Code::Unauthenticated);
        code || FINAL.contains(&rejection.reason.as_str())
    })
}

/// Returns when the session has ended. A server that cannot be reached for a while is no end.
async fn ended(client: &Client, session: &str) -> Failure {
    loop {
        sleep(CHECK).await;
        if let Ok(session) = client.session(session).await
            && let Err(failure) = check(&session)
        {
            return failure;
        }
    }
}

fn check(session: &v1::Session) -> Result<(), Failure> {
    match session.state() {
        v1::SessionState::Opening | v1::SessionState::Open => Ok(()),
        _ => Err(Failure::new(format!("session {} has ended", session.session_id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_can_have_another_local_port() {
        for (text, local, remote) in [("8000", 8000, 8000), ("9000:80", 9000, 80), ("0:65535", 0, 65535)] {
            assert_eq!(text.parse(), Ok(Ports { local, remote }), "{text}");
        }
        for text in ["", "0", "1:0", "80:", ":80", "1:2:3", "65536", "-1", "http", "127.0.0.1:80"] {
            assert!(text.parse::<Ports>().is_err(), "{text}");
        }
    }
}
