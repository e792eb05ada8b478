//! Tunnels: their first bytes must be a TLS handshake for the requested name, unless the rule ends in `/tcp`.

use std::{sync::Arc, time::Duration};

use airlock_egress::{Limits, Outcome};
use rustls::{ClientConfig, ClientConnection, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fixture::{Execution, Fixture, LISTED, allow, head_of, is_closed, rest, soon, status},
    target::Target,
};

/// A fatal TLS alert, `access_denied`.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Returns the first message of a TLS client. `None`: it names no server.
fn hello(server: Option<&str>) -> Vec<u8> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    config.enable_sni = server.is_some();
    let name = ServerName::try_from(server.unwrap_or("none.test").to_owned()).unwrap();
    let mut bytes = Vec::new();
    ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut bytes).unwrap();
    bytes
}

/// Splits the message of one TLS record into records of `size` bytes.
fn in_records(record: &[u8], size: usize) -> Vec<u8> {
    let record_of = |part: &[u8]| {
        let length = u16::try_from(part.len()).unwrap().to_be_bytes();
        [&record[..3], &length, part].concat()
    };
    record[5..].chunks(size).flat_map(record_of).collect()
}

async fn prepared() -> (Fixture, Target, Execution) {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    (fixture, target, execution)
}

#[tokio::test]
async fn a_handshake_for_the_requested_name_passes_unchanged() {
    let (_fixture, target, mut execution) = prepared().await;
    let hello = hello(Some("web.test"));
    for (label, bytes, at_once) in [
        ("in one piece", hello.clone(), hello.len()),
        ("byte by byte", hello.clone(), 1),
        ("in many records", in_records(&hello, 9), 50),
    ] {
        let (mut stream, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
        assert_eq!(status(&head), 200, "{label}");
        for part in bytes.chunks(at_once) {
            stream.write_all(part).await.unwrap();
        }
        let mut echoed = vec![0; bytes.len()];
        soon(stream.read_exact(&mut echoed)).await.unwrap();
        assert_eq!(echoed, bytes, "{label}");
        stream.write_all(b"and anything behind it").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(rest(&mut stream).await, "and anything behind it", "{label}");
        let report = execution.report().await;
        assert_eq!(report.outcome, Outcome::Allowed, "{label}");
        assert_eq!(report.bytes_up, report.bytes_down, "{label}");
    }
}

#[tokio::test]
async fn a_handshake_for_another_name_is_refused() {
    let (_fixture, target, mut execution) = prepared().await;
    for (label, bytes) in [
        ("another name", hello(Some("other.test"))),
        ("a name below", hello(Some("a.web.test"))),
        ("a name above", hello(Some("test"))),
        ("no name", hello(None)),
        ("an address", hello(Some("127.0.0.1"))),
        ("another name in many records", in_records(&hello(Some("other.test")), 9)),
        (
            "another name, and then the right one",
            [hello(Some("other.test")), hello(Some("web.test"))].concat(),
        ),
    ] {
        let (mut stream, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
        assert_eq!(status(&head), 200, "{label}");
        stream.write_all(&bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = soon(stream.read_to_end(&mut answer)).await;
        assert!(answer.is_empty() || answer == ALERT, "{label}: {answer:?}");
        let report = execution.report().await;
        assert_eq!((report.outcome, report.bytes_up), (Outcome::Refused, 0), "{label}");
        assert!(report.remedy.unwrap().contains("names another server"), "{label}");
    }
    assert!(target.bytes().is_empty(), "{:?}", target.bytes());
}

#[tokio::test]
async fn a_tunnel_without_tls_is_refused() {
    let (fixture, target, mut execution) = prepared().await;
    let endless = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; 40_000]].concat();
    for (label, bytes) in [
        ("a request in lower case", b"get / HTTP/1.1\r\nHost: web.test\r\n\r\n".to_vec()),
        ("a request to a proxy", b"GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n".to_vec()),
        ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        ("a TLS alert", ALERT.to_vec()),
        ("TLS application data", b"\x17\x03\x03\x00\x05hello".to_vec()),
        ("SSL 2", b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10".to_vec()),
        ("another handshake message", b"\x16\x03\x01\x00\x04\x0e\x00\x00\x00".to_vec()),
        ("a record without a message", b"\x16\x03\x01\x00\x05hello".to_vec()),
        ("an endless message", endless),
    ] {
        refuses(&mut execution, &target, label, &bytes).await;
    }
    let raw = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let (mut stream, _) = raw.tunnel(&format!("web.test:{}", target.port)).await;
    stream.write_all(b"SSH-2.0").await.unwrap();
    let mut echoed = [0; 7];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
    assert_eq!(&echoed, b"SSH-2.0", "the control");
}

#[tokio::test]
async fn a_tunnel_without_a_complete_handshake_is_refused_in_time() {
    let limits = Limits { head: Duration::from_millis(300), ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::echo().await);
    let mut execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    refuses(&mut execution, &target, "nothing", &[]).await;
    refuses(&mut execution, &target, "a part of a message", &hello(Some("web.test"))[..50]).await;
}

/// Sends the first bytes of a tunnel, and checks that they are refused.
async fn refuses(execution: &mut Execution, target: &Target, label: &str, bytes: &[u8]) {
    let (mut stream, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
    assert_eq!(status(&head), 200, "{label}");
    let _ = stream.write_all(bytes).await;
    assert_eq!(rest(&mut stream).await, "", "{label}");
    let report = execution.report().await;
    assert_eq!((report.outcome, report.bytes_up), (Outcome::Refused, 0), "{label}");
    assert!(report.remedy.unwrap().contains("/tcp"), "{label}");
    assert!(target.bytes().is_empty(), "{label}: {:?}", target.bytes());
}

#[tokio::test]
async fn bytes_behind_the_request_for_a_tunnel_are_checked() {
    let (_fixture, target, mut execution) = prepared().await;
    let connect = format!("CONNECT web.test:{} HTTP/1.1\r\n{}\r\n", target.port, execution.header());
    for (server, expected) in [("other.test", Outcome::Refused), ("web.test", Outcome::Allowed)] {
        let hello = hello(Some(server));
        let mut stream = execution.connect().await;
        stream.write_all(&[connect.as_bytes(), &hello].concat()).await.unwrap();
        assert_eq!(status(&head_of(&mut stream).await), 200);
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = soon(stream.read_to_end(&mut answer)).await;
        assert_eq!(answer == hello, expected == Outcome::Allowed);
        assert_eq!(execution.report().await.outcome, expected);
    }
}

#[tokio::test]
async fn plain_requests_in_a_tunnel_reach_only_its_target() {
    let (fixture, _, _) = prepared().await;
    let target = Target::web().await;
    let port = target.port;
    let mut execution = fixture.serve(&allow(&["web.test", "other.test"], port)).await;
    let name = format!("web.test:{port}");
    let inside = async |execution: &Execution, request: String| {
        let (mut stream, head) = execution.tunnel(&name).await;
        assert_eq!(status(&head), 200);
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await
    };
    let host = |host: &str| format!("GET /a HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    for (label, request) in [
        ("another host", host(&format!("other.test:{port}"))),
        ("another port", host("web.test:1")),
        ("an internal address", host("169.254.169.254")),
        ("no host", "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned()),
        ("two hosts", format!("GET /a HTTP/1.1\r\nHost: {name}\r\nHost: other.test\r\n\r\n")),
        (
            "two lengths",
            format!("GET /a HTTP/1.1\r\nHost: {name}\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
        ),
    ] {
        let answer = inside(&execution, request).await;
        assert_eq!(status(&answer), 400, "{label}: {answer}");
    }
    let kept = format!("GET /a HTTP/1.1\r\nHost: {name}\r\n\r\n");
    for (label, second) in [
        ("CONNECT", format!("CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n{}\r\n", execution.header())),
        (
            "a URL",
            format!(
                "GET http://other.test:{port}/ HTTP/1.1\r\nConnection: close\r\n{}\r\n",
                execution.header()
            ),
        ),
    ] {
        let answer = inside(&execution, format!("{kept}{second}")).await;
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "the control: {label}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 400").count(), 1, "{label}: {answer}");
    }
    assert!(!target.received().contains("other.test"), "{}", target.received());
    while execution.reports.try_recv().is_ok() {}
    let answer = inside(&execution, host("web.test")).await;
    assert!(status(&answer) == 200 && answer.ends_with("hello"), "the control: {answer}");
    let reports = [execution.report().await, execution.report().await];
    assert_eq!(reports.clone().map(|report| report.outcome), [Outcome::Allowed; 2]);
    assert_eq!(reports[0].bytes_up, 0, "the tunnel itself carried nothing");
    assert!(reports[1].bytes_up > 0);
}

#[tokio::test]
async fn bytes_behind_a_refused_tunnel_are_not_read_as_a_request() {
    let (_fixture, target, execution) = prepared().await;
    let port = target.port;
    let second = format!("GET http://web.test:{port}/ HTTP/1.1\r\n{}\r\n", execution.header());
    for target in [format!("other.test:{port}"), "web.test:1".to_owned()] {
        let head = format!("CONNECT {target} HTTP/1.1\r\n{}\r\n", execution.header());
        let answer = execution.send(format!("{head}{second}")).await;
        assert_eq!(status(&answer), 403, "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn an_address_needs_tls_without_a_name() {
    let (fixture, target, _) = prepared().await;
    let execution = fixture.serve(&[format!("{LISTED}:{}", target.port)]).await;
    let address = format!("{LISTED}:{}", target.port);
    let (mut stream, _) = execution.tunnel(&address).await;
    stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
    assert!(is_closed(&mut stream).await);
    assert!(target.bytes().is_empty());
    let (mut stream, _) = execution.tunnel(&address).await;
    let hello = hello(None);
    stream.write_all(&hello).await.unwrap();
    let mut echoed = vec![0; hello.len()];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
    assert_eq!(echoed, hello, "the control");
}

#[tokio::test]
async fn large_transfers_pass_unchanged() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let (mut stream, _) = execution.tunnel(&format!("web.test:{}", target.port)).await;
    let sent: Vec<u8> = (0_u32..1_000_000).flat_map(u32::to_be_bytes).collect();
    let (mut read, mut write) = stream.split();
    let mut received = vec![0; sent.len()];
    let both = async {
        let (written, read) = tokio::join!(write.write_all(&sent), read.read_exact(&mut received));
        (written.unwrap(), read.unwrap())
    };
    soon(both).await;
    assert!(received == sent && target.bytes() == sent);
}
