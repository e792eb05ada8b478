//! Tests of a change of the session's network while its commands run.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    fs,
    time::{Duration, Instant},
};

use airlock_config::OrNone;
use airlock_domain::{
    Cause, ExecutionId, FromRunner, Grant, Inspection, JobPhase, NetworkRules, OutputStream, PushFromRunner,
    PushToRunner, SessionId, ToRunner,
};
use airlock_mounts::ScratchDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    egress::{fixture_with, host},
    fake::{Manners, Output},
    fixture::{Fixture, grant},
    inspected::settings,
};

/// The bound of a change is one second; a busy host gets more.
const EFFECTIVE: Duration = Duration::from_secs(5);

fn only(allow: &[&str]) -> NetworkRules {
    let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
    NetworkRules { allow, ..NetworkRules::default() }
}

fn with(session: SessionId, command: &str, egress: Vec<NetworkRules>) -> Grant {
    Grant { egress, ..grant(session, command) }
}

/// Prints the status of a request through the proxy.
fn status(address: &str) -> String {
    format!("curl -s -m 60 -o /dev/null -w '%{{http_code}}\\n' --noproxy '' http://{address}/")
}

/// The output of a running command.
struct Shown {
    output: Output,
    text: String,
}

impl Shown {
    async fn of(it: &mut Fixture, id: ExecutionId) -> Self {
        Self::after(it, id, 0).await
    }

    async fn after(it: &mut Fixture, id: ExecutionId, offset: u64) -> Self {
        let output = it.output(id).await;
        let (stream, max_bytes) = (OutputStream::Stdout, u64::MAX);
        output.read(PushToRunner::Read { read_id: 1, stream, offset, max_bytes, follow: true }).await;
        Self { output, text: String::new() }
    }

    /// Waits until this is the last line.
    async fn until_last(&mut self, line: &str) {
        while !self.text.ends_with('\n') || self.text.lines().last() != Some(line) {
            match self.output.next().await {
                PushFromRunner::Chunk { data, .. } => self.text.push_str(std::str::from_utf8(&data).unwrap()),
                other => panic!("{other:?} after {}", self.text),
            }
        }
    }
}

/// Sends the session's new rules, and returns when the runner has them.
async fn set(it: &mut Fixture, session_id: SessionId, version: u64, network: Option<NetworkRules>) {
    it.link.send(ToRunner::SetSessionNetwork { session_id, version, network }).await;
    it.link.send(ToRunner::Probe { number: version }).await;
    it.report(|message| (*message == FromRunner::Probed { number: version }).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_sees_each_change_within_a_second_also_on_a_new_link() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let other = it.open("").await;
    let all = only(&[&address]);
    let command = format!("while :; do {}; done", status(&address));
    // One command began without rules of the session, the other with them.
    let mut commands = Vec::new();
    for egress in [vec![all.clone()], vec![all.clone(), all.clone()]] {
        let id = it.offer(with(session, &command, egress)).await;
        it.job(id, JobPhase::Running).await;
        commands.push((id, Shown::of(&mut it, id).await));
    }
    let bystander = it.offer(with(other, &command, vec![all.clone()])).await;
    it.job(bystander, JobPhase::Running).await;
    for (_, shown) in &mut commands {
        shown.until_last("200").await;
    }
    let changes =
        [(Some(only(&[])), "403"), (Some(all.clone()), "200"), (Some(only(&[])), "403"), (None, "200")];
    for (version, (network, seen)) in (2..).zip(changes) {
        if version == 4 {
            drop(std::mem::replace(&mut it.link.to, mpsc::channel(1).0));
            it.next_link().await;
            it.reconciled().await;
            for (id, shown) in &mut commands {
                *shown = Shown::after(&mut it, *id, shown.text.len() as u64).await;
            }
        }
        let begun = Instant::now();
        it.link.send(ToRunner::SetSessionNetwork { session_id: session, version, network }).await;
        for (_, shown) in &mut commands {
            shown.until_last(seen).await;
        }
        let took = begun.elapsed();
        println!("`{seen}` after {} ms", took.as_millis());
        assert!(took < EFFECTIVE, "{took:?}");
    }
    it.link.send(ToRunner::EndJob { execution_id: bystander, cause: Cause::OutputLimit }).await;
    it.job(bystander, JobPhase::Ended).await;
    let beside = it.text(bystander, OutputStream::Stdout).await;
    assert!(beside.contains("200") && !beside.contains("403"), "another session keeps its network: {beside}");
    it.shut_down().await;
}

/// Starts a command that requests `address` after the session has the new rules, and returns the status.
async fn after(it: &mut Fixture, grant: Grant, address: &str, network: Option<NetworkRules>) -> String {
    let session = grant.session_id;
    let name = format!("go-{}", ExecutionId::new());
    let text = format!("until [ -e {name} ]; do sleep 0.02; done; {}", status(address));
    let mut grant = grant;
    grant.command.text = text.into_bytes();
    let id = it.offer(grant).await;
    it.job(id, JobPhase::Running).await;
    if network.is_some() {
        set(it, session, 2, network).await;
    }
    it.let_go(&name);
    it.job(id, JobPhase::Ended).await;
    it.text(id, OutputStream::Stdout).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_cannot_widen_beyond_profile_request_and_floor() {
    let ((a, _one), (b, _two)) = (host().await, host().await);
    let (narrow, wide) = (only(&[&a]), only(&[&a, &b]));
    let of = |session, profile: &NetworkRules, request: &NetworkRules| {
        let mut grant = with(session, "", vec![profile.clone(), narrow.clone(), request.clone()]);
        grant.command.network = Some(request.clone());
        grant
    };
    for (floor, expected) in [(&wide, "200\n"), (&narrow, "403\n")] {
        let floor = floor.clone();
        let mut it = Fixture::with(Manners::default(), |config| {
            config.floor.network = OrNone(Some(floor.into()));
        })
        .await;
        let session = it.open("").await;
        let everywhere = of(session, &wide, &wide);
        let widened = Some(wide.clone());
        assert_eq!(after(&mut it, everywhere.clone(), &b, None).await, "403\n", "before the change");
        assert_eq!(
            after(&mut it, everywhere, &b, widened.clone()).await,
            expected,
            "the floor, or the control"
        );
        assert_eq!(
            after(&mut it, of(session, &narrow, &wide), &b, widened.clone()).await,
            "403\n",
            "profile"
        );
        assert_eq!(after(&mut it, of(session, &wide, &narrow), &b, widened).await, "403\n", "request");
        it.shut_down().await;
    }
}

/// Serves a long answer, inside TLS if it has an acceptor: sends `begin`, and `more` when told to. Returns its address.
async fn slow(tls: Option<TlsAcceptor>) -> (String, oneshot::Sender<()>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (go, told) = oneshot::channel();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        match tls {
            Some(tls) => answer(tls.accept(stream).await.unwrap(), told).await,
            None => answer(stream, told).await,
        }
    });
    (address, go, task)
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, told: oneshot::Receiver<()>) {
    let _ = stream.read(&mut [0; 1024]).await.unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin\n").await.unwrap();
    stream.flush().await.unwrap();
    told.await.unwrap();
    stream.write_all(b"more\n").await.unwrap();
    stream.flush().await.unwrap();
    // Until the proxy closes it.
    let _ = stream.read(&mut [0; 1]).await;
}

/// Runs a command that reads the slow answer, and changes the session's rules. Only the second change closes the
/// connection.
async fn closes(it: &mut Fixture, grant: Grant, entry: &str, go: oneshot::Sender<()>) {
    let session = grant.session_id;
    let id = it.offer(grant).await;
    it.job(id, JobPhase::Running).await;
    let mut shown = Shown::of(it, id).await;
    shown.until_last("begin").await;
    set(it, session, 2, Some(only(&[entry, "other.example"]))).await;
    go.send(()).unwrap();
    shown.until_last("more").await;
    assert!(!shown.text.contains("closed"), "the control: {}", shown.text);
    let begun = Instant::now();
    set(it, session, 3, Some(only(&["other.example"]))).await;
    shown.until_last("closed").await;
    let took = begun.elapsed();
    println!("closed after {} ms", took.as_millis());
    assert!(took < EFFECTIVE, "{took:?}");
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert!(result.violations.iter().any(|one| one.kind == "refused"), "{:?}", result.violations);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_closes_an_open_tunnel_that_it_no_longer_allows() {
    let (address, go, _serving) = slow(None).await;
    let entry = format!("{address}/tcp");
    let mut it = fixture_with(&entry).await;
    let session = it.open("").await;
    let command = format!("curl -s -N -p --noproxy '' http://{address}/; echo closed");
    closes(&mut it, with(session, &command, vec![only(&[&entry])]), &entry, go).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_closes_open_tls_that_is_inspected() {
    let (authority, settings) = settings();
    let (address, go, _serving) = slow(Some(TlsAcceptor::from(settings))).await;
    let files = ScratchDir::new();
    let ca = files.path().join("ca.pem");
    fs::write(&ca, authority).unwrap();
    let network = only(&[&address]);
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(network.clone().into()));
        config.egress.ca = Some(ca);
    })
    .await;
    let session = it.open("").await;
    let command = format!("curl -s -N --noproxy '' https://{address}/; echo closed");
    let mut grant = with(session, &command, vec![network]);
    grant.profile.inspection = Inspection { requests: vec![format!("GET {address}")], secrets: Vec::new() };
    closes(&mut it, grant, &address, go).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_network_gets_none_by_a_change() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let all = only(&[&address]);
    let ask = format!("curl -s -m 60 --noproxy '' -o /dev/null -w '%{{http_code}} ' http://{address}/");
    let command = format!("until [ -e go ]; do sleep 0.02; done; {ask}; env | grep -c AIRLOCK_PROXY");
    // The last one is the control: it began with a network that allows nothing that it asks for.
    let grants = [
        Grant { read_only: true, ..grant(session, &command) },
        grant(session, &command),
        with(session, &command, vec![all.clone(), only(&["other.example"])]),
    ];
    let mut ids = Vec::new();
    for grant in grants {
        let id = it.offer(grant).await;
        it.job(id, JobPhase::Running).await;
        ids.push(id);
    }
    set(&mut it, session, 2, Some(all)).await;
    it.let_go("go");
    let mut said = Vec::new();
    for id in ids {
        it.job(id, JobPhase::Ended).await;
        said.push(it.text(id, OutputStream::Stdout).await);
    }
    assert_eq!(said[..2], ["000 0\n", "000 0\n"]);
    assert!(said[2].starts_with("200 "), "the control: {said:?}");
    it.shut_down().await;
}
