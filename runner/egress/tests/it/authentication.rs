//! Attempts to use an access without its credential.

use base64::{Engine, prelude::BASE64_STANDARD};
use tokio::io::AsyncWriteExt;

use crate::{
    fixture::{Fixture, allow, credential, head_of, is_closed, rest, soon, status},
    target::Target,
};

#[tokio::test]
async fn a_request_without_the_credential_is_refused() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    let neighbour = fixture.serve(&allow(&["web.test"], target.port)).await;
    let url = format!("http://web.test:{}/", target.port);
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    let token = execution.token.expose();
    let wrong = [
        ("no credential", String::new()),
        ("another execution's token", neighbour.header()),
        ("an empty password", format!("Proxy-Authorization: Basic {}\r\n", encoded("airlock:"))),
        (
            "a part of the token",
            format!("Proxy-Authorization: Basic {}\r\n", encoded(&format!("a:{}", &token[1..]))),
        ),
        ("the token as the user name", format!("Proxy-Authorization: Basic {}\r\n", encoded(token))),
        (
            "upper case",
            format!("Proxy-Authorization: Basic {}\r\n", encoded(&format!("a:{}", token.to_uppercase()))),
        ),
        ("another scheme", format!("Proxy-Authorization: Bearer {token}\r\n")),
        ("no base64", format!("Proxy-Authorization: Basic airlock:{token}\r\n")),
        ("the header for the target", execution.header().replace("Proxy-Authorization", "Authorization")),
    ];
    for (name, header) in wrong {
        for head in [format!("GET {url} HTTP/1.1"), format!("CONNECT web.test:{} HTTP/1.1", target.port)] {
            let answer = execution.send(format!("{head}\r\n{header}Connection: close\r\n\r\n")).await;
            assert_eq!(status(&answer), 407, "{name}: {answer}");
            assert!(answer.contains("proxy-authenticate: Basic realm=\"airlock\""), "{name}: {answer}");
        }
    }
    assert_eq!(target.connections(), 0);
    assert!(fixture.answers.asked().is_empty(), "no name was resolved");
    for served in [&execution, &neighbour] {
        assert_eq!(status(&served.get(&url).await), 200, "the control");
    }
}

#[tokio::test]
async fn every_request_of_a_connection_needs_the_credential() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    let url = format!("http://web.test:{}/", target.port);
    let mut stream = execution.connect().await;
    let with = format!("GET {url} HTTP/1.1\r\n{}\r\n", execution.header());
    let without = format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n");
    stream.write_all(format!("{with}{with}{without}").as_bytes()).await.unwrap();
    let answers = rest(&mut stream).await;
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 407").count(), 1, "{answers}");
    assert_eq!(target.connections(), 2);
}

#[tokio::test]
async fn a_connection_closes_after_several_wrong_credentials() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    let mut stream = execution.connect().await;
    let attempt = format!("GET http://web.test:{}/ HTTP/1.1\r\n\r\n", target.port);
    stream.write_all(attempt.repeat(10_000).as_bytes()).await.unwrap_or_default();
    let answers = rest(&mut stream).await;
    assert_eq!(answers.matches("HTTP/1.1 407").count(), 3, "{answers}");
}

#[tokio::test]
async fn a_token_ends_with_its_execution() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let mut execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let (mut tunnel, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
    assert_eq!(status(&head), 200, "the control");
    tunnel.write_all(b"ping").await.unwrap();
    let mut idle = execution.connect().await;
    let neighbour = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;

    execution.cancel.cancel();
    soon(&mut execution.task).await.unwrap();
    assert!(rest(&mut tunnel).await.len() <= 4, "the tunnel is closed");
    assert!(is_closed(&mut idle).await);
    assert!(tokio::net::TcpStream::connect(execution.address).await.is_err(), "the listener is closed");

    // The old token does not work elsewhere, and a neighbour is not affected.
    let head = format!("CONNECT web.test:{} HTTP/1.1\r\n{}\r\n", target.port, credential(&execution.token));
    assert_eq!(status(&neighbour.send(head).await), 407);
    let mut stream = neighbour.connect().await;
    let head = format!("CONNECT web.test:{} HTTP/1.1\r\n{}\r\n", target.port, neighbour.header());
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(status(&head_of(&mut stream).await), 200);
}

#[tokio::test]
async fn a_token_is_not_printed() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    assert_eq!(execution.token.expose().len(), 64);
    assert!(!format!("{:?}", execution.token).contains(&execution.token.expose()[..8]));
    let answer = execution.get(&format!("http://web.test:{}/", target.port)).await;
    assert_eq!(status(&answer), 200, "the control");
    assert!(!answer.contains(execution.token.expose()));
    assert!(!target.received().to_lowercase().contains("proxy-authorization"), "{}", target.received());
}
