//! The limits of a proxy, and the shares of its executions.

use std::time::Duration;

use airlock_egress::{Limits, Outcome};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    fixture::{Fixture, allow, is_closed, rest, soon, status},
    target::Target,
};

/// A limit that expires in a test.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn slow_heads_are_cut_off() {
    let limits = Limits { head: SHORT, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    for begin in
        [&b""[..], b"G", b"GET http://web.test/ HTTP/1.1\r\nX-A: a", b"\x05", b"\x05\x01\x02\x01\x02ab"]
    {
        let mut stream = execution.connect().await;
        stream.write_all(begin).await.unwrap();
        rest(&mut stream).await;
    }
    // A client that sends a byte now and then is cut off, too.
    let mut stream = execution.connect().await;
    stream.write_all(b"GET http://web.test/ HTTP/1.1\r\nX-A: ").await.unwrap();
    let dripped = async {
        while stream.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(dripped).await;
    assert_eq!(target.connections(), 0);
    assert_eq!(
        status(&execution.get(&format!("http://web.test:{}/", target.port)).await),
        200,
        "the control"
    );
}

#[tokio::test]
async fn connections_above_the_limit_wait() {
    let limits = Limits { per_execution: 3, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let name = format!("web.test:{}", target.port);
    let mut open = Vec::new();
    for _ in 0..3 {
        let (stream, head) = execution.tunnel(&name).await;
        assert_eq!(status(&head), 200);
        open.push(stream);
    }
    let mut fourth = execution.connect().await;
    let head = format!("CONNECT {name} HTTP/1.1\r\n{}\r\n", execution.header());
    fourth.write_all(head.as_bytes()).await.unwrap();
    let mut byte = [0];
    let early = tokio::time::timeout(SHORT, fourth.read(&mut byte)).await;
    assert!(early.is_err(), "the fourth connection waits");
    assert_eq!(target.connections(), 3);
    open.pop();
    assert_eq!(soon(fourth.read(&mut byte)).await.unwrap(), 1, "it is served after the end of another one");
}

#[tokio::test]
async fn a_flood_of_one_execution_leaves_the_share_of_others() {
    let limits = Limits { per_execution: 8, per_proxy: 12, reserved: 2, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::web().await);
    let url = format!("http://web.test:{}/", target.port);
    let flooders = [fixture.serve(&[]).await, fixture.serve(&[]).await];
    let mut half_open: Vec<TcpStream> = Vec::new();
    for flooder in &flooders {
        for _ in 0..50 {
            let mut stream = flooder.connect().await;
            stream.write_all(b"GET http://web.test/ HTTP/1.1\r\n").await.unwrap();
            half_open.push(stream);
        }
    }
    let victim = fixture.serve(&allow(&["web.test"], target.port)).await;
    for _ in 0..20 {
        assert_eq!(status(&victim.get(&url).await), 200);
    }
    // The flood holds the common part: a flooder is not served before its connections end.
    let mut late = flooders[0].connect().await;
    late.write_all(b"\0").await.unwrap();
    let mut byte = [0];
    assert!(tokio::time::timeout(SHORT, late.read(&mut byte)).await.is_err(), "the control");
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let limits = Limits { idle: SHORT, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::echo().await);
    let silent = Target::answers("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell").await;
    let mut allowed = allow(&["web.test/tcp"], target.port);
    allowed.extend(allow(&["web.test"], silent.port));
    let mut execution = fixture.serve(&allowed).await;
    let (mut stream, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
    assert_eq!(status(&head), 200);
    // A tunnel with traffic stays longer than the limit.
    for _ in 0..20 {
        stream.write_all(b"ping").await.unwrap();
        let mut echoed = [0; 4];
        soon(stream.read_exact(&mut echoed)).await.unwrap();
        tokio::time::sleep(SHORT / 10).await;
    }
    assert!(is_closed(&mut stream).await);
    assert_eq!(execution.report().await.outcome, Outcome::Allowed);
    let answer = execution.get(&format!("http://web.test:{}/", silent.port)).await;
    assert!(answer.ends_with("hell"), "an answer that stalls is cut off: {answer}");
}

#[tokio::test]
async fn bytes_are_bounded_per_direction() {
    let limits = Limits { bytes_per_direction: Some(1_000), ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::echo().await);
    let web = Target::answers(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2_000))).await;
    let mut allowed = allow(&["web.test/tcp"], target.port);
    allowed.extend(allow(&["web.test"], web.port));
    let execution = fixture.serve(&allowed).await;
    let name = format!("web.test:{}", target.port);
    let (mut stream, _) = execution.tunnel(&name).await;
    stream.write_all(&[b'a'; 1_000]).await.unwrap();
    let mut echoed = [0; 1_000];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
    stream.write_all(b"a").await.unwrap();
    assert!(is_closed(&mut stream).await);
    assert_eq!(target.bytes().len(), 1_000);
    let answer = execution.get(&format!("http://web.test:{}/", web.port)).await;
    assert!(answer.len() < 1_500, "{}", answer.len());
}
