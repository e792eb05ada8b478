//! Tests of forwarded connections through client, server, runner and a real sandbox: what is transferred, what is
//! refused, and what ends a connection.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    time::Duration,
};

use airlock_client::{Client, ClientError, Forward, ForwardReceiver, v1};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{run, spec_in, written},
    site::{Extras, PATIENCE, Site, sha256},
};
use bytes::Bytes;
use tokio::{io::AsyncWriteExt as _, time::timeout};

/// The port of the server in sessions. No test listens on it on the host.
const PORT: u16 = 8975;
/// A port that the profile does not permit.
const OTHER_PORT: u16 = 8976;
const MIB: usize = 1 << 20;

/// A server in a session. The first line of a connection selects what it does.
const SERVER: &str = r#"cat > server.py <<'END'
import hashlib, socket, socketserver, struct, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        words = self.rfile.readline().split()
        if words[0] == b'echo':
            while data := self.rfile.read1(65536):
                self.wfile.write(data)
        elif words[0] == b'sum':
            digest, count = hashlib.sha256(), 0
            while data := self.rfile.read1(65536):
                digest.update(data)
                count += len(data)
            self.wfile.write(b'%d %s' % (count, digest.hexdigest().encode()))
        elif words[0] == b'send':
            for _ in range(int(words[1])):
                self.wfile.write(bytes(range(256)) * 4096)
        elif words[0] == b'early':
            self.connection.shutdown(socket.SHUT_WR)
            with open('early', 'wb') as file:
                while data := self.rfile.read1(65536):
                    file.write(data)
        elif words[0] == b'reset':
            self.wfile.write(b'a part')
            self.wfile.flush()
            self.rfile.readline()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            self.connection.close()
        elif words[0] == b'wait':
            self.wfile.write(b'ready')
            try:
                self.rfile.read()
                how = 'ended'
            except ConnectionResetError:
                how = 'reset'
            with open('how', 'w') as file:
                file.write(how)
class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 256
    daemon_threads = True
    address_family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
server = Server((sys.argv[1], int(sys.argv[2])), Handler)
print('Serving', flush=True)
server.serve_forever()
END
"#;

struct Fixture {
    client: Client,
    server: Process,
    runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(Extras { port_forward: vec!["1-65535".to_owned()], ..Extras::default() }).await
    }

    /// Starts server and runner, with a profile that permits one port and one that permits all ports.
    async fn with(extras: Extras) -> Self {
        let profile = |name: &str, ports: &str| {
            let text = format!("name = \"{name}\"\nextends = \"sandboxed\"\nport_forward = [{ports}]\n");
            (name.to_owned(), text)
        };
        let colleague = format!(
            "[[identity]]\nname = \"colleague\"\ntenant = \"acme\"\nroles = [\"executor\"]\nprofiles = [\"strict\"]\n\
             match = {{ token_sha256 = \"{}\" }}\n",
            sha256(COLLEAGUE.as_bytes())
        );
        let profiles = vec![profile("one", &format!("\"{PORT}\"")), profile("all", "\"1-65535\"")];
        let server_tables = colleague + &extras.server_tables;
        let site = Site::with(Extras { profiles, server_tables, ..extras });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, server, runner, site }
    }

    async fn session(&self, profile: &str) -> String {
        let wanted = v1::SessionServiceCreateRequest { profile: profile.to_owned(), ..Default::default() };
        self.client.create_session(wanted).await.unwrap().session_id
    }

    /// Starts the server in a session.
    async fn serve(&self, session: &str, address: &str) {
        self.said(session, SERVER).await;
        let command = format!("exec python3 -u server.py {address} {PORT}");
        let spec = v1::ExecutionSpec { background: true, ..spec_in(session, &command) };
        let id = self.client.start(spec).await.unwrap().execution_id;
        written(&self.client, &id, "Serving").await;
    }

    /// Creates a session in which the server listens.
    async fn serving(&self, profile: &str) -> String {
        let session = self.session(profile).await;
        self.serve(&session, "127.0.0.1").await;
        session
    }

    async fn said(&self, session: &str, command: &str) -> String {
        String::from_utf8(run(&self.client, spec_in(session, command)).await.unwrap().stdout).unwrap()
    }

    /// Opens a connection and sends the first line.
    async fn connect(&self, session: &str, line: &str) -> Forward {
        let forward = Forward::open(&self.client, session, PORT).await.unwrap();
        assert!(forward.sender.send(format!("{line}\n").into()).await);
        forward
    }

    /// Returns the reason code for which a connection is refused.
    async fn refused(&self, session: &str, port: u16) -> String {
        reason(Forward::open(&self.client, session, port).await)
    }

    /// Returns the rows of the audit: port, step, reason, sent and received bytes, in the order of the connections.
    async fn audited(&self) -> Vec<(i64, String, String, i64, i64)> {
        let database = format!("sqlite://{}/airlock.db?mode=ro", self.site.path().display());
        let pool = sqlx::SqlitePool::connect(&database).await.unwrap();
        let rows = sqlx::query_as(
            "SELECT port, step, reason, sent, received FROM audit_forwards \
             WHERE tenant = 'acme' AND principal = 'agent' AND peer <> '' AND duration_micros >= 0 ORDER BY sequence",
        );
        let rows = rows.fetch_all(&pool).await.unwrap();
        pool.close().await;
        rows
    }

    /// Waits until the last row of the audit has this step.
    async fn last_audited(&self, step: &str) -> (i64, String, String, i64, i64) {
        let found = async {
            loop {
                if let Some(row) = self.audited().await.pop().filter(|row| row.1 == step) {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap()
    }
}

const COLLEAGUE: &str = "a-token-of-a-colleague-that-is-long-enough";

/// Reads until the program ends its direction.
async fn read_all(receiver: &mut ForwardReceiver) -> Result<Vec<u8>, ClientError> {
    let mut all = Vec::new();
    let read = async {
        while let Some(data) = receiver.next().await? {
            all.extend_from_slice(&data);
        }
        Ok(())
    };
    timeout(PATIENCE, read).await.unwrap().map(|()| all)
}

/// Returns the reason code of a refusal.
fn reason<T>(result: Result<T, ClientError>) -> String {
    match result {
        Err(ClientError::Rejected(rejection)) => rejection.reason,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it succeeded"),
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at.wrapping_mul(2_654_435_761) >> 13 & 0xff).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_fetches_a_page_of_a_session() {
    let fixture = Fixture::new().await;
    let session = fixture.session("one").await;
    fixture.said(&session, "echo from the session > page").await;
    let command = format!("exec python3 -u -m http.server {PORT} 2>&1");
    let spec = v1::ExecutionSpec { background: true, ..spec_in(&session, &command) };
    let id = fixture.client.start(spec).await.unwrap().execution_id;
    written(&fixture.client, &id, "Serving").await;

    let mut command = Airlock::at(&fixture.site).command(&["port-forward", &session, &format!("0:{PORT}")]);
    let log = fixture.site.path().join("forward.log");
    let forwarding = Process::start(&mut command, &log);
    airlock_tests::process::until("an address", PATIENCE, || forwarding.output().contains("Forwarding"));
    let said = forwarding.output();
    let address = said.split_whitespace().nth(1).unwrap();
    assert!(said.starts_with("Forwarding 127.0.0.1:"), "{said}");
    assert!(said.contains(&format!(" -> {session}:{PORT}\n")), "{said}");
    for _ in 0..3 {
        let mut local = TcpStream::connect(address).unwrap();
        local.write_all(b"GET /page HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        local.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.0 200") && page.ends_with("from the session\n"), "{page}");
    }
    assert!(forwarding.terminate(PATIENCE).success(), "a signal is its regular end");
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_direction_ends_by_itself() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    // The client ends first: the program reads the end and still responds.
    let forward = fixture.connect(&session, "sum").await;
    let Forward { sender, mut receiver } = forward;
    assert!(sender.send(Bytes::from_static(b"abc")).await);
    sender.finish().await;
    let answer = receiver.next().await.unwrap().unwrap();
    assert_eq!(answer, format!("3 {}", sha256(b"abc")).as_bytes());
    assert_eq!(receiver.next().await.unwrap(), None);
    receiver.close().await.unwrap();
    let (port, .., sent, received) = fixture.last_audited("ENDED").await;
    assert_eq!((port, sent, received), (PORT.into(), 7, i64::try_from(answer.len()).unwrap()));

    // The program ends first: it still receives everything.
    let Forward { sender, mut receiver } = fixture.connect(&session, "early").await;
    assert_eq!(receiver.next().await.unwrap(), None);
    let data = pattern(3 * MIB);
    assert!(sender.send(data.clone().into()).await);
    sender.finish().await;
    receiver.close().await.unwrap();
    let sum = fixture
        .said(&session, "until [ \"$(stat -c %s early)\" = 3145728 ]; do sleep 0.05; done; sha256sum early");
    assert!(sum.await.starts_with(&sha256(&data)));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_transfers_in_both_directions_at_once_lose_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let Forward { sender, mut receiver } = fixture.connect(&session, "echo").await;
    let data = Bytes::from(pattern(48 * MIB));
    let sent = data.clone();
    let sending = tokio::spawn(async move {
        assert!(sender.send(sent).await);
        sender.finish().await;
    });
    let echoed = read_all(&mut receiver).await.unwrap();
    sending.await.unwrap();
    assert_eq!(sha256(&echoed), sha256(&data));
    receiver.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_at_once_keep_apart() {
    const CONNECTIONS: usize = 64;
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        open.push(fixture.connect(&session, "echo").await);
    }
    // All are open at the same time. Operations on files have their own limit.
    fixture.client.stat(&session, b"server.py").await.unwrap();
    let mut echoes = tokio::task::JoinSet::new();
    for (number, mut forward) in open.into_iter().enumerate() {
        echoes.spawn(async move {
            let own = Bytes::from(format!("{number}:").repeat(20_000));
            assert!(forward.sender.send(own.clone()).await);
            let mut echo = Vec::new();
            while echo.len() < own.len() {
                echo.extend_from_slice(&forward.receiver.next().await.unwrap().unwrap());
            }
            assert_eq!(echo, own);
        });
    }
    timeout(PATIENCE, async { while echoes.join_next().await.transpose().unwrap().is_some() {} })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_delays_nobody_and_loses_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let mut slow = fixture.connect(&session, "send 64").await;
    for _ in 0..3 {
        let Forward { sender, mut receiver } = fixture.connect(&session, "sum").await;
        assert!(sender.send(pattern(4 * MIB).into()).await);
        sender.finish().await;
        assert!(receiver.next().await.unwrap().unwrap().starts_with(b"4194304 "));
    }
    assert_eq!(fixture.said(&session, "echo still here").await, "still here\n");
    let all = read_all(&mut slow.receiver).await.unwrap();
    assert_eq!(all.len(), 64 * MIB);
    let block: Vec<u8> = (0..=255).collect();
    assert!(all.chunks(256).all(|part| part == block));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_is_not_taken_for_an_end() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    // The program resets the connection.
    let mut forward = fixture.connect(&session, "reset").await;
    assert_eq!(forward.receiver.next().await.unwrap().unwrap(), "a part");
    assert!(forward.sender.send(Bytes::from_static(b"go\n")).await);
    assert_eq!(reason(read_all(&mut forward.receiver).await), "CONNECTION_RESET");
    assert_eq!(fixture.last_audited("FAILED").await.2, "CONNECTION_RESET");
    // The client disconnects without an end.
    let mut forward = fixture.connect(&session, "wait").await;
    assert_eq!(forward.receiver.next().await.unwrap().unwrap(), "ready");
    drop(forward);
    let how = fixture.said(&session, "until [ -s how ]; do sleep 0.05; done; cat how").await;
    assert_eq!(how, "reset");
    assert_eq!(fixture.last_audited("FAILED").await.2, "CLIENT_LEFT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_listens_on_ipv6_only_is_reached() {
    let fixture = Fixture::new().await;
    let session = fixture.session("one").await;
    fixture.serve(&session, "::1").await;
    let Forward { sender, mut receiver } = fixture.connect(&session, "sum").await;
    sender.finish().await;
    assert!(receiver.next().await.unwrap().unwrap().starts_with(b"0 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_profile_and_caller_permit_is_reached() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    assert_eq!(fixture.refused(&session, OTHER_PORT).await, "PORT_FORWARD_OFF", "another port");
    let off = fixture.session("sandboxed").await;
    assert_eq!(fixture.refused(&off, PORT).await, "PORT_FORWARD_OFF", "no port");
    let refused = fixture.audited().await;
    let expected = |port: u16| (port.into(), "REFUSED".to_owned(), "PORT_FORWARD_OFF".to_owned(), 0, 0);
    assert_eq!(refused, [expected(OTHER_PORT), expected(PORT)]);

    // The control of the callers: the agent reaches the same port.
    drop(fixture.connect(&session, "echo").await);
    let stranger = Client::connect(fixture.site.settings_with(fixture.site.other_token())).await.unwrap();
    match Forward::open(&stranger, &session, PORT).await {
        Err(error) => assert_eq!(error.rejection().unwrap().code, tonic::Code::NotFound),
        Ok(_) => panic!("another tenant reached it"),
    }
    // A colleague may not use the profile of the session, so it can run no command there either.
    let colleague = Client::connect(fixture.site.settings_with(COLLEAGUE)).await.unwrap();
    match Forward::open(&colleague, &session, PORT).await {
        Err(error) => assert_eq!(error.rejection().unwrap().code, tonic::Code::PermissionDenied),
        Ok(_) => panic!("a caller without the profile reached it"),
    }
    let profile = fixture.client.policy().profile("one", v1::ProfileView::Basic).await.unwrap();
    assert_eq!(profile.port_forward, [PORT.to_string()]);
    let error = Forward::open(&fixture.client, &session, 0).await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, tonic::Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_whose_floor_permits_no_port_forwards_none() {
    let fixture = Fixture::with(Extras::default()).await;
    let session = fixture.serving("all").await;
    let error = Forward::open(&fixture.client, &session, PORT).await.unwrap_err();
    assert!(error.to_string().contains("`floor.port_forward`"), "{error}");
    assert_eq!(reason::<()>(Err(error)), "PORT_FORWARD_OFF");
    assert_eq!(fixture.last_audited("FAILED").await.2, "PORT_FORWARD_OFF");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_port_of_the_host_or_of_another_session_is_reached() {
    let fixture = Fixture::new().await;
    let (session, neighbour) = (fixture.session("all").await, fixture.serving("all").await);
    // Before the first command, the session has no network at all.
    assert_eq!(fixture.refused(&session, PORT).await, "NOTHING_LISTENS");
    assert_eq!(fixture.said(&session, "touch x; echo ran").await, "ran\n");
    let listeners =
        ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"].map(|at| TcpListener::bind(at).unwrap());
    let ports = listeners.iter().map(|listener| listener.local_addr().unwrap().port());
    let ports: Vec<u16> = ports.chain([fixture.site.address.port()]).collect();
    for port in &ports {
        assert_eq!(fixture.refused(&session, *port).await, "NOTHING_LISTENS", "{port}");
    }
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "no connection came from the runner");
    }
    // The controls: each port answers on the host, and the other session's port answers there.
    for port in ports {
        let v6 = TcpStream::connect((std::net::Ipv6Addr::LOCALHOST, port));
        assert!(v6.is_ok() || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok(), "{port}");
    }
    assert_eq!(fixture.refused(&session, PORT).await, "NOTHING_LISTENS");
    drop(fixture.connect(&neighbour, "echo").await);
    // A command without the session's network cannot be reached, and an abstract socket has no port.
    let hidden =
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind(b'\\0' + b'8975'); s.listen(); print(1)";
    assert_eq!(fixture.said(&session, &format!("touch y; python3 -c \"{hidden}\"")).await, "1\n");
    assert_eq!(fixture.refused(&session, PORT).await, "NOTHING_LISTENS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_with_its_session() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let mut forward = fixture.connect(&session, "wait").await;
    assert_eq!(forward.receiver.next().await.unwrap().unwrap(), "ready");
    fixture.client.close_session(&session).await.unwrap();
    let why = reason(read_all(&mut forward.receiver).await);
    // The end of the program can be noticed first.
    assert!(why == "SESSION_NOT_OPEN" || why == "CONNECTION_RESET", "{why}");
    assert_eq!(fixture.refused(&session, PORT).await, "SESSION_CLOSED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_runner_and_a_stopped_server_are_clear_errors() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let mut forward = fixture.connect(&session, "wait").await;
    assert_eq!(forward.receiver.next().await.unwrap().unwrap(), "ready");
    let Fixture { client, server, runner, site } = fixture;
    runner.kill();
    let error = read_all(&mut forward.receiver).await.unwrap_err();
    assert_eq!(reason::<()>(Err(error.clone())), "RUNNER_UNREACHABLE");
    assert!(error.to_string().ends_with("connect again"), "{error}");

    let _runner = site.runner(&[]);
    let client = {
        drop(client);
        site.ready().await
    };
    let fixture = Fixture { client, server, runner: _runner, site };
    let session = fixture.serving("one").await;
    let mut forward = fixture.connect(&session, "wait").await;
    assert_eq!(forward.receiver.next().await.unwrap().unwrap(), "ready");
    let stopped = tokio::task::spawn_blocking({
        let server = fixture.server;
        move || server.terminate(PATIENCE)
    });
    assert_eq!(reason(read_all(&mut forward.receiver).await), "SHUTTING_DOWN");
    assert!(stopped.await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_bound_the_connections_of_a_session_and_a_tenant_and_their_idle_time() {
    let limits = "[limits]\nforwards_per_session = 2\nforwards_per_tenant = 3\nforward_idle = \"2s\"\n";
    let extras = Extras {
        port_forward: vec!["1-65535".to_owned()],
        server_tables: limits.to_owned(),
        ..Extras::default()
    };
    let fixture = Fixture::with(extras).await;
    let (session, other) = (fixture.serving("one").await, fixture.serving("one").await);
    let limit = async |session: &str| match Forward::open(&fixture.client, session, PORT).await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it succeeded"),
    };
    let mut idle = fixture.connect(&session, "wait").await;
    let _second = fixture.connect(&session, "wait").await;
    assert!(limit(&session).await.contains("`forwards_per_session` of 2"));
    let _third = fixture.connect(&other, "wait").await;
    assert!(limit(&other).await.contains("`forwards_per_tenant` of 3"));
    assert_eq!(reason(read_all(&mut idle.receiver).await), "FORWARD_IDLE");
    assert!(fixture.audited().await.iter().any(|row| row.2 == "LIMIT:forwards_per_tenant"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_stream_is_relayed_in_both_directions() {
    let fixture = Fixture::new().await;
    let session = fixture.serving("one").await;
    let (mut near, mut far) = tokio::io::duplex(1024);
    let forward = Forward::open(&fixture.client, &session, PORT).await.unwrap();
    let relayed = tokio::spawn(async move { forward.relay(&mut far).await });
    near.write_all(b"sum\nabc").await.unwrap();
    near.shutdown().await.unwrap();
    let mut answer = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut near, &mut answer).await.unwrap();
    assert_eq!(answer, format!("3 {}", sha256(b"abc")));
    let moved = relayed.await.unwrap().unwrap();
    assert_eq!((moved.sent, moved.received), (7, answer.len() as u64));
}
