//! Changes of the rules while connections are open, and accesses that only warn.

use airlock_egress::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fixture::{Fixture, UNLISTED, allow, is_closed, rest, rules, soon, status},
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
    assert!(report.layer.is_some() && report.remedy.is_some());
    assert_eq!(strict.status(&name).await, 403, "the control");

    for target in [format!("inside.test:{port}"), format!("{UNLISTED}:{port}"), format!("[::1]:{port}")] {
        assert_eq!(warned.status(&target).await, 403, "{target}");
        assert_eq!(warned.report().await.outcome, Outcome::Refused, "{target}");
    }
    assert_eq!(beside.connections(), 0);
}
