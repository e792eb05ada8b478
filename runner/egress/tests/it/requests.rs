//! Plain HTTP requests: what the target gets, and what the client gets.

use tokio::io::AsyncWriteExt;

use crate::{
    fixture::{Execution, Fixture, allow, head_of, rest, soon, status},
    target::{OK, Target},
};

async fn prepared(answer: &str) -> (Fixture, Target, Execution) {
    let (fixture, target) = (Fixture::new(), Target::answers(answer).await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    (fixture, target, execution)
}

#[tokio::test]
async fn the_target_gets_the_path_and_its_own_host() {
    let (_fixture, target, execution) = prepared(OK).await;
    let head = format!("GET http://WEB.test.:{}/a/b?c=d HTTP/1.1\r\nHost: web.test\r\n", target.port);
    let answer = execution.send(format!("{head}{}Connection: close\r\n\r\n", execution.header())).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    let received = target.received();
    assert!(received.starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{received}");
    assert!(received.contains(&format!("host: web.test:{}\r\n", target.port)), "{received}");
    assert_eq!(received.to_lowercase().matches("host:").count(), 1, "{received}");
}

#[tokio::test]
async fn headers_of_one_hop_are_removed_from_requests() {
    let (_fixture, target, execution) = prepared(OK).await;
    let removed = [
        "Connection: close, X-Named, keep-alive, Host, Content-Length",
        "X-Named: a",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "Proxy-Authenticate: Basic",
        "TE: trailers",
        "Trailer: X-Late",
        "Upgrade: websocket, h2c",
        "Expect: 100-continue",
    ];
    let head = format!("POST http://web.test:{}/ HTTP/1.1\r\n{}", target.port, execution.header());
    let kept = "X-Kept: yes\r\nAuthorization: Basic a2V5\r\nContent-Length: 4\r\n\r\nbody";
    let answer = execution.send(format!("{head}{}\r\n{kept}", removed.join("\r\n"))).await;
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
    let received = target.received().to_lowercase();
    for header in removed {
        let name = header.split(':').next().unwrap().to_lowercase();
        assert!(!received.contains(&format!("\r\n{name}:")), "{name}: {received}");
    }
    assert!(!received.contains("proxy-authorization"), "{received}");
    for kept in
        ["x-kept: yes", "authorization: basic a2v5", "host: web.test", "content-length: 4", "\r\n\r\nbody"]
    {
        assert!(received.contains(kept), "the control: {kept}: {received}");
    }
}

#[tokio::test]
async fn headers_of_one_hop_are_removed_from_answers() {
    let answer = "HTTP/1.1 200 OK\r\nConnection: X-Named\r\nX-Named: a\r\nKeep-Alive: timeout=5\r\n\
                  Proxy-Authenticate: Basic realm=\"evil\"\r\nUpgrade: h2c\r\nX-Kept: yes\r\n\
                  Content-Length: 5\r\n\r\nhello";
    let (_fixture, target, execution) = prepared(answer).await;
    let answer = execution.get(&format!("http://web.test:{}/", target.port)).await.to_lowercase();
    for name in ["x-named", "keep-alive", "proxy-authenticate", "upgrade"] {
        assert!(!answer.contains(&format!("\r\n{name}:")), "{name}: {answer}");
    }
    assert!(answer.contains("x-kept: yes") && answer.ends_with("hello"), "the control: {answer}");
}

#[tokio::test]
async fn a_target_cannot_upgrade_the_protocol() {
    let switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let (_fixture, target, execution) = prepared(switching).await;
    let head = format!(
        "GET http://web.test:{}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{}\r\n",
        target.port,
        execution.header()
    );
    let mut stream = execution.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(status(&head_of(&mut stream).await), 502);
    assert!(!target.received().to_lowercase().contains("upgrade"), "{}", target.received());
}

#[tokio::test]
async fn expectations_are_answered_by_the_proxy() {
    let (_fixture, target, execution) = prepared(OK).await;
    let head = format!(
        "POST http://web.test:{}/ HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n{}",
        target.port,
        execution.header()
    );
    let answer = execution.send(format!("{head}Expect: 200-ok\r\n\r\nbody")).await;
    assert_eq!(status(&answer), 417, "{answer}");
    assert_eq!(target.connections(), 0);
    let mut stream = execution.connect().await;
    stream.write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(status(&head_of(&mut stream).await), 100);
    stream.write_all(b"body").await.unwrap();
    assert_eq!(status(&rest(&mut stream).await), 200, "the control");
}

#[tokio::test]
async fn answers_without_a_clear_length_are_made_clear() {
    for (label, answer, expected) in [
        (
            "both lengths",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            Some("hello"),
        ),
        ("two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", None),
        ("a wrong length", "Content-Length: x\r\n\r\nhello", None),
        ("a folded header", "X-A: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", None),
        ("NUL in a header", "X-A: a\0b\r\nContent-Length: 5\r\n\r\nhello", None),
    ] {
        let (_fixture, target, execution) = prepared(&format!("HTTP/1.1 200 OK\r\n{answer}")).await;
        let answer = execution.get(&format!("http://web.test:{}/", target.port)).await;
        match expected {
            Some(body) => {
                assert_eq!(status(&answer), 200, "{label}: {answer}");
                let lower = answer.to_lowercase();
                let lengths =
                    lower.matches("content-length:").count() + lower.matches("transfer-encoding:").count();
                assert!(lengths == 1 && answer.contains(body), "{label}: {answer}");
            }
            None => assert_eq!(status(&answer), 502, "{label}: {answer}"),
        }
    }
}

#[tokio::test]
async fn large_bodies_pass_in_both_directions() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    // The target sends back the request, which begins with a status line, so the client gets its own body.
    let body = "x".repeat(1_000_000);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let web = Target::answers(&answer).await;
    execution.layers.send(crate::fixture::rules(&allow(&["web.test"], web.port), &[])).unwrap();
    let head = format!(
        "POST http://web.test:{}/ HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n",
        web.port,
        body.len(),
        execution.header()
    );
    let mut stream = execution.connect().await;
    let (mut read, mut write) = stream.split();
    let sent = async {
        write.write_all(format!("{head}{body}").as_bytes()).await.unwrap_or_default();
    };
    let received = async {
        let mut bytes = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut read, &mut bytes).await.unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    };
    let ((), answer) = soon(async { tokio::join!(sent, received) }).await;
    assert_eq!(status(&answer), 200);
    assert!(answer.ends_with(&body), "{} bytes", answer.len());
}

#[tokio::test]
async fn http_1_0_is_served() {
    let (_fixture, target, execution) = prepared(OK).await;
    let answer = execution
        .send(format!("GET http://web.test:{}/ HTTP/1.0\r\n{}\r\n", target.port, execution.header()))
        .await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert!(target.received().contains("HTTP/1.1\r\n"), "{}", target.received());
}
