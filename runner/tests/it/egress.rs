//! Tests of the network access of an execution: which commands have it, what they reach, and how long it lasts.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    Cause, CommandSpec, ConnectionProtocol, ConnectionVerdict, ExecutionId, Grant, JobPhase, NetworkRules,
    OutputStream, PushFromRunner, PushToRunner, SessionId,
};

use airlock_config::OrNone;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
};

/// Prints the URL of the proxy, and waits for a file.
const WAITS: &str = "echo $AIRLOCK_PROXY; until [ -e go ]; do sleep 0.05; done";
/// Prints the variables that could announce a proxy.
const ANNOUNCED: &str = "env | grep -i proxy; true";

/// Returns a fixture whose floor permits every public host, and this address.
pub(crate) async fn fixture_with(address: &str) -> Fixture {
    let network = NetworkRules { any: true, allow: vec![address.to_owned()], ..NetworkRules::default() };
    Fixture::with(Manners::default(), |config| config.floor.network = OrNone(Some(network.into()))).await
}

async fn fixture() -> Fixture {
    fixture_with("example.com").await
}

/// Returns a grant with network access.
fn networked(session: SessionId, command: &str) -> Grant {
    let rules = NetworkRules { allow: vec!["example.com".to_owned()], ..NetworkRules::default() };
    Grant { egress: vec![rules], ..grant(session, command) }
}

/// Returns a grant without network access that connects to a port of the session's loopback.
fn connects(session: SessionId, port: &str) -> Grant {
    let command = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo refused");
    grant(session, &command)
}

fn port(proxy: &str) -> &str {
    proxy.trim().rsplit_once(':').unwrap().1
}

/// Starts a networked command that waits, and returns the URL of its proxy.
async fn waiting(it: &mut Fixture, session: SessionId) -> (ExecutionId, String) {
    let id = it.offer(networked(session, WAITS)).await;
    it.job(id, JobPhase::Running).await;
    let mut proxy = String::new();
    let mut output = it.output(id).await;
    let (stream, max_bytes) = (OutputStream::Stdout, u64::MAX);
    output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
    while !proxy.ends_with('\n') {
        match output.next().await {
            PushFromRunner::Chunk { data, .. } => proxy.push_str(std::str::from_utf8(&data).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    (id, proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_of_an_execution_ends_with_it() {
    let mut it = fixture().await;
    let session = it.open("").await;
    let (id, proxy) = waiting(&mut it, session).await;
    let port = port(&proxy);
    assert_eq!(it.said(connects(session, port)).await, "reached\n", "a neighbour lacks only the credential");
    let read_only = Grant { read_only: true, ..connects(session, port) };
    assert_eq!(it.said(read_only).await, "refused\n");
    it.let_go("go");
    assert_eq!(it.job(id, JobPhase::Ended).await.result.unwrap().cause, Cause::Exited { code: 0 });
    assert_eq!(it.said(connects(session, port)).await, "refused\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_of_a_command_that_is_ended_by_force_ends_too() {
    let mut it = fixture().await;
    let session = it.open("").await;
    let grant = Grant {
        command: CommandSpec {
            timeout: Duration::from_secs(1),
            ..networked(session, "trap '' TERM; echo $AIRLOCK_PROXY; while :; do sleep 100; done").command
        },
        ..networked(session, "")
    };
    let id = it.offer(grant).await;
    let ended = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert!(matches!(ended.cause, Cause::TimedOut(_)), "{ended:?}");
    let proxy = it.text(id, OutputStream::Stdout).await;
    assert_eq!(it.said(connects(session, port(&proxy))).await, "refused\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_execution_has_its_own_credential_and_reaches_its_listener() {
    let mut it = fixture().await;
    let session = it.open("").await;
    let command = "echo $HTTPS_PROXY; exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:} && echo reached; \
                   ls -l /proc/self/fd | grep -c socket";
    let mut seen = Vec::new();
    for _ in 0..2 {
        let said = it.said(networked(session, command)).await;
        let lines: Vec<_> = said.lines().map(str::to_owned).collect();
        // The only socket is the command's own connection.
        assert_eq!(lines[1..], ["reached", "1"], "{said}");
        seen.push(lines[0].rsplit_once('@').unwrap().0.to_owned());
    }
    assert_ne!(seen[0], seen[1]);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_command_with_access_is_told_of_a_proxy() {
    let mut it = fixture().await;
    let session = it.open("").await;
    assert_eq!(it.said(grant(session, ANNOUNCED)).await, "");
    assert_eq!(it.said(Grant { read_only: true, ..grant(session, ANNOUNCED) }).await, "");
    let said = it.said(networked(session, ANNOUNCED)).await;
    assert_eq!(said.matches("airlock:").count(), 9, "the control: {said}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_of_the_request_replaces_that_of_the_proxy_and_one_of_the_profile_does_not() {
    let mut it = fixture().await;
    let session = it.open("").await;
    let own = || BTreeMap::from([("https_proxy".to_owned(), "http://own".into())]);
    let mut request = networked(session, "env | grep -i https_proxy");
    request.command.env = own();
    assert_eq!(it.said(request).await, "https_proxy=http://own\n");
    let mut profile = networked(session, "echo $https_proxy");
    profile.profile.env = BTreeMap::from([("https_proxy".to_owned(), "http://own".into())]);
    assert!(it.said(profile).await.contains("@127.0.0.1:"));
    it.shut_down().await;
}

/// Serves one answer to each HTTP request at an address of the host, until the task is dropped.
pub(crate) async fn host() -> (String, tokio::task::JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut task = tokio::task::JoinSet::new();
    task.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside";
            let _ = stream.write_all(answer).await;
        }
    });
    (address, task)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_reaches_what_every_layer_allows_and_nothing_else() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let allowed = |entries: &[&str], command: &str| {
        let allow = entries.iter().map(|entry| (*entry).to_owned()).collect();
        Grant { egress: vec![NetworkRules { allow, ..NetworkRules::default() }], ..grant(session, command) }
    };
    let through = format!("curl -s -m 60 --noproxy '' http://{address}/");
    assert_eq!(it.said(allowed(&[&address], &through)).await, "outside");
    // There is no way around the proxy.
    let direct = format!("curl -s -m 60 --noproxy '*' http://{address}/ || echo none");
    assert_eq!(it.said(allowed(&[&address], &direct)).await, "none\n");
    // The grant lists another host, or the floor does.
    let refused = it.said(allowed(&["other.example"], &through)).await;
    assert!(refused.contains("`network.allow` of the profile"), "{refused}");
    let floor = it.said(allowed(&[&address, "10.0.0.1:80"], "curl -s -m 60 http://10.0.0.1/")).await;
    assert!(floor.contains("`floor.network.allow`"), "{floor}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_in_the_result() {
    let mut it = fixture().await;
    let session = it.open("").await;
    let command = "for n in 1 2 3; do curl -s -o /dev/null http://refused.example/secret-path; done; \
                   curl -s https://refused.example/ || true";
    let id = it.offer(networked(session, command)).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    let seen: Vec<_> = result.violations.iter().map(|one| (&*one.layer, &*one.kind, &*one.detail)).collect();
    let [(layer, kind, detail), (_, _, second)] = seen[..] else { panic!("{seen:?}") };
    assert_eq!((layer, kind), ("network", "refused"));
    assert!(detail.starts_with("the connection to `refused.example:80` was refused"), "{detail}");
    assert!(detail.contains("`network.allow` of the profile"), "{detail}");
    assert!(second.contains("`refused.example:443`"), "{second}");
    assert!(!format!("{result:?}").contains("secret-path"));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connections_of_a_command_are_in_its_result_without_their_contents() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let command = format!(
        "curl -s -m 60 --noproxy '' -H 'X-Key: canary-header' -u user:canary-password \
         'http://{address}/canary-path?canary-query'; \
         curl -s -m 60 'http://user:canary-password@refused.example/canary-path?canary-query'; \
         curl -s -m 60 --noproxy '' -p -x \"$AIRLOCK_PROXY\" 'http://refused.example/canary-path'; \
         curl -s -m 60 -x \"$ALL_PROXY\" 'http://refused.example/canary-path'; true"
    );
    let allow = vec![address.clone()];
    let rules = NetworkRules { allow, ..NetworkRules::default() };
    let id = it.offer(Grant { egress: vec![rules], ..grant(session, &command) }).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    // The end of one connection can be seen after the refusal of the next.
    let mut connections = result.connections.clone();
    connections.sort_by_key(|one| one.started_micros);
    let seen: Vec<_> = connections
        .iter()
        .map(|one| (format!("{}:{}", one.host, one.port), one.protocol, one.verdict))
        .collect();
    let refused = |protocol| ("refused.example:80".to_owned(), protocol, ConnectionVerdict::Refused);
    let expected = [
        (address.clone(), ConnectionProtocol::Http, ConnectionVerdict::Allowed),
        refused(ConnectionProtocol::Http),
        refused(ConnectionProtocol::Connect),
        refused(ConnectionProtocol::Socks),
    ];
    assert_eq!((seen, result.connections_left_out), (expected.to_vec(), 0));
    let [allowed, denied, ..] = &connections[..] else { unreachable!() };
    assert_eq!((allowed.rule.as_str(), allowed.layer.as_str()), (address.as_str(), ""));
    assert!(allowed.bytes_up > 0 && allowed.bytes_down > 0 && allowed.started_micros > 0, "{allowed:?}");
    assert_eq!((denied.layer.as_str(), denied.bytes_up, denied.bytes_down), ("profile", 0, 0));
    assert!(denied.reason.contains("`network.allow` of the profile"), "{denied:?}");
    let text = format!("{result:?}");
    assert!(text.contains("refused.example") && !text.contains("canary"), "{text}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_of_another_execution_is_refused() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let allow = vec![address.clone()];
    let network = || vec![NetworkRules { allow: allow.clone(), ..NetworkRules::default() }];
    let (id, proxy) = waiting(&mut it, session).await;
    let at = |proxy: &str| {
        format!("curl -s -m 60 -o /dev/null -w '%{{http_code}}' --noproxy '' -x {proxy} http://{address}/")
    };
    let own = Grant { egress: network(), ..grant(session, &at("$AIRLOCK_PROXY")) };
    assert_eq!(it.said(own).await, "200", "the control");
    let bare = at("http://127.0.0.1:${AIRLOCK_PROXY##*:}");
    let own = Grant { egress: network(), ..grant(session, &bare) };
    assert_eq!(it.said(own).await, "200", "a process of the execution needs no credential");
    let neighbour =
        format!("http://$(echo $AIRLOCK_PROXY | sed 's|.*//||; s|@.*||')@127.0.0.1:{}", port(&proxy));
    let stolen = Grant { egress: network(), ..grant(session, &at(&neighbour)) };
    assert_eq!(it.said(stolen).await, "407");
    let bare =
        Grant { egress: network(), ..grant(session, &at(&format!("http://127.0.0.1:{}", port(&proxy)))) };
    assert_eq!(it.said(bare).await, "407");
    it.let_go("go");
    it.job(id, JobPhase::Ended).await;
    it.shut_down().await;
}
