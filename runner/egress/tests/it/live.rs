//! Changes of the rules while connections are open, and accesses that only warn.

use std::sync::Arc;

use airlock_egress::{Inspection, Outcome};
use airlock_network::{AddressKind, LayerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fixture::{Execution, Fixture, UNLISTED, allow, is_closed, rest, rules, soon, status, warning},
    site::{Reply, Site, authority, client_hello, handshake, request_rules},
    target::Target,
};

#[tokio::test]
async fn a_change_of_the_rules_closes_what_they_no_longer_allow() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let both = allow(&["web.test/tcp", "other.test/tcp"], port);
    let mut execution = fixture.serve(&both).await;
    let (mut kept, _) = execution.tunnel(&format!("web.test:{port}")).await;
    let (mut closed, _) = execution.tunnel(&format!("other.test:{port}")).await;
    for stream in [&mut kept, &mut closed] {
        stream.write_all(b"ping").await.unwrap();
        let mut echoed = [0; 4];
        soon(stream.read_exact(&mut echoed)).await.unwrap();
    }
    execution.layers.send(rules(&both, &[format!("other.test:{port}")])).unwrap();
    assert!(is_closed(&mut closed).await);
    let report = execution.report().await;
    assert_eq!((report.host.as_str(), report.outcome), ("other.test", Outcome::Refused));
    assert_eq!((report.bytes_up, report.bytes_down), (4, 4));
    assert_eq!(execution.status(&format!("other.test:{port}")).await, 403);

    kept.write_all(b"pong").await.unwrap();
    let mut echoed = [0; 4];
    soon(kept.read_exact(&mut echoed)).await.unwrap();
    assert_eq!(&echoed, b"pong", "the control");
    execution.layers.send(rules(&both, &[])).unwrap();
    assert_eq!(execution.status(&format!("other.test:{port}")).await, 200, "the rules allow it again");
}

#[tokio::test]
async fn a_change_closes_a_tunnel_whose_address_is_no_longer_listed() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test/tcp"], port)).await;
    let (mut tunnel, head) = execution.tunnel(&format!("web.test:{port}")).await;
    assert_eq!(status(&head), 200, "the control");
    execution.layers.send(rules(&[format!("web.test:{port}/tcp")], &[])).unwrap();
    assert!(is_closed(&mut tunnel).await);
}

#[tokio::test]
async fn a_change_cuts_off_a_plain_request() {
    let fixture = Fixture::new();
    let target = Target::answers("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin").await;
    let port = target.port;
    let mut execution = fixture.serve(&allow(&["web.test"], port)).await;
    let mut stream = execution.connect().await;
    let head = format!("GET http://web.test:{port}/ HTTP/1.1\r\n{}\r\n", execution.header());
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begin = Vec::new();
    while !begin.ends_with(b"begin") {
        begin.push(soon(stream.read_u8()).await.unwrap());
    }
    execution.layers.send(rules(&[], &[])).unwrap();
    assert_eq!(rest(&mut stream).await, "");
    assert_eq!(execution.report().await.outcome, Outcome::Refused);
}

#[tokio::test]
async fn a_change_does_not_end_a_connection_between_requests() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test"], port)).await;
    let mut stream = execution.connect().await;
    let head = format!("GET http://web.test:{port}/ HTTP/1.1\r\n{}\r\n", execution.header());
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        answer.push(soon(stream.read_u8()).await.unwrap());
    }
    execution.layers.send(rules(&[], &[])).unwrap();
    stream.write_all(head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(status(&rest(&mut stream).await), 403);
}

const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin";

/// Reads from a stream until these are the last bytes.
async fn until(stream: &mut (impl AsyncReadExt + Unpin), end: &str) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(soon(stream.read_u8()).await.unwrap());
    }
}

/// An execution whose TLS to `web.test` is inspected. The site begins an answer and does not end it.
async fn inspected() -> (Fixture, Site, Execution, Arc<Inspection>) {
    let (fixture, site) = (Fixture::new(), Site::start(Reply::Begin(BEGUN)).await);
    let requests = request_rules(&["web.test:PORT"], site.port);
    let inspection = Arc::new(Inspection::new(site.trust(), requests, Vec::new()).unwrap());
    let execution = fixture.inspect(&allow(&["web.test"], site.port), &inspection).await;
    (fixture, site, execution, inspection)
}

#[tokio::test]
async fn a_change_closes_inspected_tls_before_and_during_a_request() {
    let (_fixture, site, mut execution, inspection) = inspected().await;
    let (target, trusted) = (format!("web.test:{}", site.port), authority(&inspection));
    let (before, after) = (allow(&["web.test"], site.port), allow(&["other.test"], site.port));
    let kept = allow(&["web.test", "other.test"], site.port);
    for is_asked in [false, true] {
        let (stream, _) = execution.tunnel(&target).await;
        let mut stream = handshake(stream, &trusted, "web.test", &[]).await.unwrap();
        execution.layers.send(rules(&kept, &[])).unwrap();
        if is_asked {
            let request = format!("GET / HTTP/1.1\r\nHost: {target}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            // The control: the connection has outlived a change that still allows it.
            until(&mut stream, "begin").await;
        }
        execution.layers.send(rules(&after, &[])).unwrap();
        assert!(is_closed(&mut stream).await, "{is_asked}");
        let report = execution.report().await;
        assert_eq!((report.outcome, report.layer), (Outcome::Refused, Some(LayerName::Profile)));
        assert_eq!(report.bytes_down > 0, is_asked);
        execution.layers.send(rules(&before, &[])).unwrap();
    }
}

#[tokio::test]
async fn a_change_closes_inspected_tls_during_the_handshake() {
    let (_fixture, site, mut execution, inspection) = inspected().await;
    let (mut stream, _) = execution.tunnel(&format!("web.test:{}", site.port)).await;
    stream.write_all(&client_hello(&authority(&inspection), "web.test")).await.unwrap();
    // The first byte of the proxy's own message.
    assert_eq!(soon(stream.read_u8()).await.unwrap(), 22);
    execution.layers.send(rules(&[], &[])).unwrap();
    rest(&mut stream).await;
    assert_eq!(execution.report().await.outcome, Outcome::Refused);
}

#[tokio::test]
async fn an_access_that_warns_lets_names_through_and_no_internal_address() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let beside = target.beside(UNLISTED).await;
    let port = target.port;
    let listed = allow(&[], port);
    let mut warned = fixture.warn(&listed).await;
    let strict = fixture.serve(&listed).await;

    let name = format!("web.test:{port}");
    let (mut stream, head) = warned.tunnel(&name).await;
    assert_eq!(status(&head), 200);
    stream.write_all(b"SSH-2.0").await.unwrap();
    let mut echoed = [0; 7];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
    drop(stream);
    let report = warned.report().await;
    assert_eq!((report.outcome, report.rule), (Outcome::Warned, None));
    assert!(report.layer.is_some() && report.remedy.is_some() && report.address.is_none());
    assert_eq!(strict.status(&name).await, 403, "the control");

    for target in [format!("inside.test:{port}"), format!("{UNLISTED}:{port}"), format!("[::1]:{port}")] {
        assert_eq!(warned.status(&target).await, 403, "{target}");
        let report = warned.report().await;
        assert_eq!(report.outcome, Outcome::Refused, "{target}");
        // An internal address is not allowed in the first place. A name is, and then its address is refused.
        let kind = target.starts_with("inside").then_some(AddressKind::Loopback);
        assert_eq!(report.address, kind, "{target}");
    }
    assert_eq!(beside.connections(), 0);
}

#[tokio::test]
async fn a_change_that_ends_the_warning_closes_what_it_let_through() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let (name, listed) = (format!("web.test:{}", target.port), allow(&[], target.port));
    let mut execution = fixture.warn(&listed).await;
    let (mut tunnel, head) = execution.tunnel(&name).await;
    assert_eq!(status(&head), 200);
    execution.layers.send(warning(&listed, &["denied.test".to_owned()])).unwrap();
    tunnel.write_all(b"ping").await.unwrap();
    until(&mut tunnel, "ping").await;
    execution.layers.send(rules(&listed, &[])).unwrap();
    assert!(is_closed(&mut tunnel).await);
    assert_eq!(execution.report().await.outcome, Outcome::Refused);
    assert_eq!(execution.status(&name).await, 403);
}
