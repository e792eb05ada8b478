//! A server that violates the protocol of the link, or has the wrong identity. The runner does not obey it, reopens the
//! link if necessary, and obeys an honest message afterwards.

use std::{net::SocketAddr, time::Duration};

use airlock_domain::ExecutionId;
use airlock_proto::{
    runner_v1::{
        self as wire, connect_request::Message as Up, connect_response::Message as Down,
        push_output_request::Message as Pushed,
    },
    v1,
};
use airlock_tests::{
    pki::Pki,
    process::until,
    raw::{frame, framed},
    site::PATIENCE,
};
use bytes::Bytes;
use prost::Message as _;
use rustls::{RootCertStore, ServerConfig, crypto::ring, server::WebPkiClientVerifier};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::hostile::fake_server::{
    FakeServer, Link, exit_code, grant, marks, server_pair, site, site_with, welcome,
};

/// The shortest interval of a runner when its server requests a shorter one. The runner leaves a server after three
/// silent intervals, which a busy host must not reach.
const HEARTBEAT_MIN: Duration = Duration::from_secs(3);

fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_obeys_no_message_before_welcome() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let open = wire::OpenSession {
        session_id: "01900000-0000-7000-8000-000000000001".to_owned(),
        base: String::new(),
        ..Default::default()
    };
    let other_version = |protocol_version| wire::Welcome { protocol_version, ..welcome() };
    let firsts: Vec<(&str, Option<Down>)> = vec![
        ("a session", Some(Down::OpenSession(open.clone()))),
        ("a heartbeat", Some(Down::Heartbeat(wire::ServerHeartbeat {}))),
        ("version 0", Some(Down::Welcome(other_version(0)))),
        ("the next version", Some(Down::Welcome(other_version(airlock_proto::LINK_PROTOCOL_VERSION + 1)))),
        ("the last version of all", Some(Down::Welcome(other_version(u32::MAX)))),
        ("no interval", Some(Down::Welcome(wire::Welcome { heartbeat_interval: None, ..welcome() }))),
        ("a negative grace", Some(Down::Welcome(wire::Welcome { link_grace: seconds(-1), ..welcome() }))),
        ("nothing", None),
    ];
    for (what, first) in firsts {
        let mut link = server.greeted().await;
        link.send(wire::ConnectResponse { message: first }).await;
        link.say(Down::OpenSession(open.clone())).await;
        let offer = link.offer(grant(open.session_id.parse().unwrap(), "touch /workspace/lie-1"));
        link.say(Down::StartJob(offer)).await;
        let mut said = Vec::new();
        while let Ok(Some(message)) = link.incoming.message().await {
            said.push(message.message);
        }
        assert!(
            said.is_empty(),
            "{what}: after its Hello, the runner sends nothing and disconnects: {said:?}"
        );
    }
    let mut link = server.linked().await;
    assert_eq!(marks(&site, "lie-"), 0);
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_welcome_of_extremes_is_kept_within_the_runners_limits() {
    let site = site_with(&format!("[limits]\nheartbeat_min = \"{}s\"\n", HEARTBEAT_MIN.as_secs()));
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.greeted().await;
    let forever = seconds(315_576_000_000);
    let began = std::time::Instant::now();
    link.say(Down::Welcome(wire::Welcome {
        heartbeat_interval: seconds(0),
        link_grace: forever,
        ..welcome()
    }))
    .await;
    link.until(|message| matches!(message, Up::Reconciled(_)).then_some(())).await;
    for beat in 0..3 {
        link.until(|message| matches!(message, Up::Heartbeat(_)).then_some(())).await;
        link.say(Down::Heartbeat(wire::ServerHeartbeat {})).await;
        let passed = began.elapsed();
        assert!(passed >= HEARTBEAT_MIN * beat, "after {passed:?}: heartbeat {beat}, counted from 0");
    }
    drop(link);
    let mut link = server.linked().await;
    link.say(Down::Welcome(welcome())).await; // A second one has no effect.
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_about_what_is_not_there_are_answered_or_ignored() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    for (index, base) in
        ["../..", "/etc", "base/..", "Base", "base ", "base\0", "\u{202e}esab", &"x".repeat(100_000)]
            .iter()
            .enumerate()
    {
        let id = format!("01900000-0000-7000-8000-0000000000{index:02}");
        let report = link.open(&id, base).await;
        assert_eq!(
            (report.phase(), report.reason.as_str()),
            (wire::SessionPhase::Failed, "no_such_base"),
            "{base}"
        );
        let again = link.open(&id, "base").await;
        assert_eq!(again.phase(), wire::SessionPhase::Open, "control: its honest name: {again:?}");
    }
    let unknown = ExecutionId::new().to_string();
    let cause = || Some(v1::Cause::default());
    for id in [unknown.as_str(), "", "../../../etc/passwd", "\0"] {
        link.say(Down::EndJob(wire::EndJob { execution_id: id.to_owned(), cause: cause() })).await;
        link.say(Down::EndJob(wire::EndJob { execution_id: id.to_owned(), cause: None })).await;
        link.say(Down::ForgetJob(wire::ForgetJob { execution_id: id.to_owned() })).await;
        link.say(Down::CloseSession(wire::CloseSession { session_id: id.to_owned() })).await;
        link.say(Down::OpenSession(wire::OpenSession {
            session_id: id.to_owned(),
            base: "..".to_owned(),
            ..Default::default()
        }))
        .await;
    }
    link.send(wire::ConnectResponse { message: None }).await;
    let ticket = "t".repeat(10_000);
    link.say(Down::OpenOutput(wire::OpenOutput { execution_id: unknown.clone(), ticket: ticket.clone() }))
        .await;
    match server.pushed().await.next().await.unwrap().unwrap() {
        Pushed::Hello(hello) => {
            assert_eq!(
                (hello.missing, hello.ticket == ticket, hello.runner_id.as_str()),
                (true, true, "runner-1")
            );
        }
        other => panic!("{other:?}"),
    }
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_not_forgotten_and_ends_as_it_is_told_once() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    let offer = link.offer(grant(session, "echo begun > /workspace/begun; sleep 300"));
    link.say(Down::StartJob(offer.clone())).await;
    link.job(&offer.execution_id, &[wire::JobPhase::Running]).await;
    link.say(Down::ForgetJob(wire::ForgetJob { execution_id: offer.execution_id.clone() })).await;
    link.say(Down::StartJob(offer.clone())).await;
    let still = link.job(&offer.execution_id, &[wire::JobPhase::Running, wire::JobPhase::Refused]).await;
    assert_eq!(still.phase(), wire::JobPhase::Running, "it is not forgotten while it runs");
    for by in [v1::CancelledBy::Client, v1::CancelledBy::Admin] {
        let detail = Some(v1::cause::Detail::Cancelled(v1::cause::Cancelled { by: by.into() }));
        let cause = v1::Cause { code: v1::CauseCode::Cancelled.into(), message: String::new(), detail };
        link.say(Down::EndJob(wire::EndJob { execution_id: offer.execution_id.clone(), cause: Some(cause) }))
            .await;
    }
    let end = link.end(&offer.execution_id).await;
    let cause = end.result.unwrap().cause.unwrap();
    let first = v1::cause::Detail::Cancelled(v1::cause::Cancelled { by: v1::CancelledBy::Client.into() });
    assert_eq!(cause.detail, Some(first), "the first message counts");
    link.an_honest_job_runs(&site, &runner).await;
}

/// Runs a job that writes `bytes` bytes.
async fn written(link: &mut Link, bytes: u64) -> String {
    let session = link.session().await;
    let offer = link.offer(grant(session, &format!("head -c {bytes} /dev/zero")));
    assert_eq!(exit_code(&link.answer(&offer).await), Some(0));
    offer.execution_id
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_without_sense_cost_their_own_stream_at_most() {
    const BYTES: u64 = 100_000;
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let execution_id = written(&mut link, BYTES).await;
    let open = wire::OpenOutput { execution_id, ticket: "t".to_owned() };
    let read =
        |read_id, offset, max_bytes| wire::Read { read_id, stream: 1, offset, max_bytes, follow: false };

    // Reads past the end, of the whole output, and of no bytes. Each ends, and delivers exactly the requested bytes.
    link.say(Down::OpenOutput(open.clone())).await;
    let mut push = server.pushed().await;
    assert!(matches!(push.next().await.unwrap().unwrap(), Pushed::Hello(hello) if !hello.missing));
    let reads = [
        (0, u64::MAX, BYTES),
        (u64::MAX, u64::MAX, 0),
        (BYTES, 1, 0),
        (BYTES - 1, u64::MAX, 1),
        (7, 0, 0),
        (0, 1, 1),
    ];
    for (id, (offset, credit, expected)) in (1u32..).zip(reads) {
        push.read(wire::Read { follow: id % 2 == 0, ..read(id, offset, credit) }).await;
        let mut got = 0;
        loop {
            match push.next().await.unwrap().unwrap() {
                Pushed::Chunk(chunk) => {
                    assert_eq!((chunk.read_id, chunk.offset), (id, offset + got));
                    assert!(chunk.data.len() <= airlock_domain::limits::CHUNK_BYTES);
                    got += chunk.data.len() as u64;
                }
                Pushed::Done(done) if done.read_id == id => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(got, expected, "from {offset}, {credit} bytes");
    }

    // A hundred reads at once, a repeated ID, and an invalid message each end the stream.
    let follow = |read_id| wire::Read { follow: true, ..read(read_id, BYTES, 10) };
    let too_many = (0..100).map(|id| read(id, 0, u64::MAX)).collect();
    let doubled = vec![read(5, 0, u64::MAX), read(5, 0, u64::MAX)];
    let unreadable = vec![wire::Read { stream: 99, ..follow(1) }];
    for messages in [too_many, doubled, unreadable] {
        link.say(Down::OpenOutput(open.clone())).await;
        let mut push = server.pushed().await;
        for message in messages {
            push.read(message).await;
        }
        let mut bytes = 0;
        while let Ok(Some(message)) = push.next().await {
            if let Pushed::Chunk(chunk) = message {
                bytes += chunk.data.len() as u64;
            }
        }
        assert!(bytes <= 100 * BYTES, "{bytes}");
    }

    // More streams than the runner opens at once, without reading them.
    for _ in 0..600 {
        link.say(Down::OpenOutput(open.clone())).await;
    }
    link.an_honest_job_runs(&site, &runner).await;
}

/// The runner's log message for an invalid server certificate.
const NOT_PROVEN: &str = "invalid peer certificate";

#[tokio::test(flavor = "multi_thread")]
async fn a_server_under_another_name_or_authority_is_not_talked_to() {
    let site = site();
    let foreign = Pki::new(&site.path().join("foreign"));
    let honest = server_pair(&site);
    let elsewhere = site.pki.issue("elsewhere", &["elsewhere.example.org"]);
    let only_common_name = site.pki.issue("localhost", &[]);
    let runner = site.runner(&[]);
    for (what, pair) in [
        ("another name", elsewhere),
        ("the name where no name belongs", only_common_name),
        ("a foreign authority", foreign.issue("server", &["localhost"])),
    ] {
        let mut server = FakeServer::listen(&site, site.address, &pair);
        let refusals = || runner.output().lines().filter(|line| line.contains(NOT_PROVEN)).count();
        let before = refusals();
        // The first refusal may come from the previous server.
        until(what, PATIENCE, || refusals() > before + 1);
        server.has_no_link();
        drop(server);
        assert!(!runner.output().contains("linked"), "{what}:\n{}", runner.output());
    }
    let mut server = FakeServer::listen(&site, site.address, &honest);
    let mut link = server.linked().await;
    link.an_honest_job_runs(&site, &runner).await;
}

/// Starts a server that responds to every call with `bytes` in an HTTP/2 stream, until it is dropped.
async fn garbage_server(site: &airlock_tests::site::Site, address: SocketAddr, bytes: Bytes) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(site.pki.ca()).unwrap()).unwrap();
    let provider = std::sync::Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone()).build().unwrap();
    let pair = server_pair(site);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&pair.certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&pair.key).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind(address).await.unwrap();
    let mut bodies = Vec::new();
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(acceptor.accept(stream).await.unwrap()).await.unwrap();
    while let Some(Ok((_request, mut respond))) = connection.accept().await {
        let response = http::Response::builder().header("content-type", "application/grpc").body(()).unwrap();
        let mut body = respond.send_response(response, false).unwrap();
        drop(body.send_data(bytes.clone(), false));
        // The connection sends the body while it waits for the next call; the runner ends it.
        bodies.push(body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_from_a_server_is_the_end_of_its_link_and_of_nothing_else() {
    let site = site();
    let runner = site.runner(&[]);
    let hello = wire::ConnectResponse { message: Some(Down::Welcome(welcome())) };
    let hello = frame(&hello.encode_to_vec());
    let with = |garbage: &[u8]| Bytes::from([&hello[..], garbage].concat());
    for bytes in [
        Bytes::from_static(&[0xff; 64]),
        framed(0, u32::MAX, &[0; 64]),
        framed(1, 4, &[0; 4]),
        with(&frame(&[0xff; 40])),
        with(&framed(0, 2 << 20, &vec![0; 2 << 20])),
        with(&[0x99; 1000]),
        with(&frame(&[0x0b].repeat(100_000))),
    ] {
        let served = tokio::time::timeout(PATIENCE, garbage_server(&site, site.address, bytes)).await;
        assert!(served.is_ok(), "the runner left the connection by itself:\n{}", runner.output());
        crate::hostile::fixture::no_panic("runner", &runner);
    }
    let mut server = FakeServer::new(&site);
    let mut link = server.linked().await;
    link.an_honest_job_runs(&site, &runner).await;
}
