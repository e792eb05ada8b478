//! Wrong credentials: invalid tokens, certificates that are unknown, expired or of a foreign CA, and too many
//! attempts.

use std::time::{Duration, Instant};

use airlock_proto::v1;
use airlock_tests::{
    pki::Pki,
    raw::{Connection, frame, tls},
    site::PATIENCE,
};
use prost::Message as _;
use tonic::Code;

use crate::hostile::fixture::{Fixture, tables};

const LIST: &str = "/airlock.v1.SessionService/List";
const HEALTH: &str = "/grpc.health.v1.Health/Check";

fn unauthenticated(reason: &str) -> (Code, String) {
    (Code::Unauthenticated, reason.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_authorization_is_refused_by_what_is_wrong_with_it() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let agent = fixture.agent();
    let token = agent.strip_prefix("Bearer ").unwrap();
    let long = [b"Bearer ".to_vec(), vec![b'x'; 12_000]].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "CREDENTIALS_MALFORMED"),
        (b"Bearer".to_vec(), "CREDENTIALS_MALFORMED"),
        (b"Bearer ".to_vec(), "CREDENTIALS_MALFORMED"),
        (b"Bearer\ttoken".to_vec(), "CREDENTIALS_MALFORMED"),
        (b"Basic YWdlbnQ6YWdlbnQ=".to_vec(), "CREDENTIALS_MALFORMED"),
        (token.as_bytes().to_vec(), "CREDENTIALS_MALFORMED"),
        (b"\xff\xfe\xfd".to_vec(), "CREDENTIALS_MALFORMED"),
        (b"Bearer \xc3\xa4\xff".to_vec(), "TOKEN_UNKNOWN"),
        (b"Bearer x".to_vec(), "TOKEN_UNKNOWN"),
        (format!("Bearer {token}x").into_bytes(), "TOKEN_UNKNOWN"),
        (format!("Bearer {}", &token[1..]).into_bytes(), "TOKEN_UNKNOWN"),
        (format!("Bearer {}", token.to_uppercase()).into_bytes(), "TOKEN_UNKNOWN"),
        (format!("Bearer {token} {token}").into_bytes(), "TOKEN_UNKNOWN"),
        (format!("Bearer {}", airlock_tests::site::sha256(token.as_bytes())).into_bytes(), "TOKEN_UNKNOWN"),
        (long, "TOKEN_UNKNOWN"),
    ];
    for (value, reason) in cases {
        let shown = String::from_utf8_lossy(&value[..value.len().min(40)]).into_owned();
        let answer = connection.call(LIST, &[("authorization", &value)], frame(&[])).await.unwrap();
        let got = (answer.status.code(), answer.reason());
        assert_eq!(got, unauthenticated(reason), "`{shown}`: {:?}", answer.status);
        assert!(!format!("{:?}", answer.status).contains(token), "the answer does not repeat a token");
    }
    let twice: [(&str, &[u8]); 2] = [("authorization", b"Bearer x"), ("authorization", agent.as_bytes())];
    let answer = connection.call(LIST, &twice, frame(&[])).await.unwrap();
    assert_eq!(
        answer.status.code(),
        Code::Unauthenticated,
        "two credentials: the second does not replace an invalid first one"
    );
    let control = connection.call(LIST, &[("authorization", agent.as_bytes())], frame(&[])).await.unwrap();
    assert_eq!(control.status.code(), Code::Ok, "control");
    assert!(!fixture.server.output().contains(token), "no token in the log");
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_cost_their_own_stream_alone() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let endless = vec![b'x'; 64 * 1024];
    let answer = connection.call(LIST, &[("authorization", &endless)], frame(&[])).await;
    if let Ok(answer) = &answer {
        assert_ne!(answer.status.code(), Code::Ok, "{answer:?}");
    }
    let agent = fixture.agent();
    let control =
        fixture.connect().await.call(LIST, &[("authorization", agent.as_bytes())], frame(&[])).await.unwrap();
    assert_eq!(control.status.code(), Code::Ok, "control");
    fixture.runs_on().await;
}

/// Asserts that no call on such a connection is answered.
async fn is_shut_out(what: &str, opened: Result<Connection, String>) {
    // In TLS 1.3 the client considers itself connected before the server has checked its certificate.
    if let Ok(connection) = opened {
        let answer = connection.call(HEALTH, &[], frame(&[])).await;
        assert!(answer.is_err(), "{what}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_others_of_nobody_and_of_long_ago_open_nothing() {
    let fixture = Fixture::new().await;
    let pki = &fixture.site.pki;
    let foreign = Pki::new(&fixture.site.path().join("foreign"));

    // A certificate of a foreign CA with the name of an existing runner.
    is_shut_out("foreign", fixture.connect_with(&foreign.issue("runner-1", &[])).await).await;
    is_shut_out("expired", fixture.connect_with(&pki.issue_expired("runner-2")).await).await;

    // Certificates of the right CA without a configured identity.
    for name in ["nobody", "agent", "executor", "Runner-1", "runner-1 ", "server"] {
        let connection = fixture.connect_with(&pki.issue(name, &["runner-1.example.org"])).await.unwrap();
        for path in [LIST, "/airlock.runner.v1.RunnerLink/Connect"] {
            let answer = connection.call(path, &[], frame(&[])).await.unwrap();
            let got = (answer.status.code(), answer.reason());
            assert_eq!(got, unauthenticated("CERTIFICATE_UNKNOWN"), "{name} {path}: {:?}", answer.status);
        }
    }
    let control = fixture.connect_with(&pki.issue("runner-2", &[])).await.unwrap();
    let answer = control.call(LIST, &[], frame(&[])).await.unwrap();
    assert_eq!(answer.reason(), "FORBIDDEN", "control: the credentials are valid: {:?}", answer.status);
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_does_not_talk_to_a_server_of_a_foreign_authority() {
    let fixture = Fixture::new().await;
    let foreign = Pki::new(&fixture.site.path().join("foreign"));
    let opened = Connection::open(fixture.site.address, tls(&foreign.ca(), None)).await;
    assert!(opened.is_err(), "the server has a valid certificate: {opened:?}");
    assert!(fixture.connect().await.call(HEALTH, &[], frame(&[])).await.is_ok(), "control");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_wrong_tokens_block_tokens_and_nothing_else() {
    const FAILURES: u32 = 6;
    let fixture = Fixture::with(&tables(FAILURES)).await;
    let connection = fixture.connect().await;
    let agent = fixture.agent();
    let id = fixture.client.start(airlock_tests::reader::spec("sleep 300")).await.unwrap().execution_id;
    let request = v1::ExecutionServiceAttachRequest { execution_id: id, from: None };
    let mut view = connection
        .begin("/airlock.v1.ExecutionService/Attach", &[("authorization", agent.as_bytes())])
        .await
        .unwrap();
    view.body.send_data(frame(&request.encode_to_vec()), true).unwrap();
    let (_body, view) = view.head().await.unwrap();

    let (began, mut made, mut read) = (Instant::now(), 0, 0);
    // A correct token must be tried before the rate limit has recovered, which can happen early on a busy host.
    loop {
        let asked = Instant::now();
        let guess = format!("Bearer guess-{made}");
        made += 1;
        let answer = connection.call(LIST, &[("authorization", guess.as_bytes())], frame(&[])).await.unwrap();
        if answer.reason() == "TOKEN_UNKNOWN" {
            read += 1;
            // A part of the allowance recovers during the attempts.
            let back = began.elapsed().as_secs_f64() * f64::from(FAILURES) / 60.0;
            let most = f64::from(FAILURES) + back + 1.0;
            assert!(f64::from(read) <= most, "{read} guesses in {:?}", began.elapsed());
            continue;
        }
        assert_eq!(answer.reason(), "AUTHENTICATION_RATE_LIMITED");
        assert_eq!(answer.status.code(), Code::ResourceExhausted);
        let retry = answer.details().retry_info().and_then(|info| info.retry_delay).unwrap();
        assert!(retry >= Duration::from_secs(1), "{retry:?}");
        let right = connection.call(LIST, &[("authorization", agent.as_bytes())], frame(&[])).await.unwrap();
        if right.reason() == "AUTHENTICATION_RATE_LIMITED" {
            if made >= FAILURES * 3 {
                break;
            }
            continue;
        }
        // The retry time is in whole seconds.
        assert!(
            asked.elapsed() + Duration::from_secs(1) >= retry,
            "a valid token is not read either, so guessing reveals nothing"
        );
    }
    assert!(read >= FAILURES, "{read}");

    // Certificates, public methods and existing views are not affected.
    let runner = fixture.connect_with(&fixture.site.pki.issue("runner-2", &[])).await.unwrap();
    assert_eq!(runner.call(LIST, &[], frame(&[])).await.unwrap().reason(), "FORBIDDEN");
    assert_eq!(connection.call(HEALTH, &[], frame(&[])).await.unwrap().status.code(), Code::Ok);
    assert!(!view.body().is_end_stream(), "the view is still open");
    fixture.unharmed();

    // The rate limit recovers.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = connection.call(LIST, &[("authorization", agent.as_bytes())], frame(&[])).await.unwrap();
        if answer.status.code() == Code::Ok {
            break;
        }
        assert!(Instant::now() < deadline, "{:?}", answer.status);
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    fixture.runs_on().await;
}
