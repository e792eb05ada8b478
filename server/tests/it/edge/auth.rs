//! Tests of authentication and authorization.

use airlock_server::authn::roles::{Access, TABLE};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tonic::Code;

use crate::{
    PATIENCE,
    edge::{
        raw::{call, contract, framed, send},
        until,
        world::{TOKENS, World},
    },
};

const MANY_FAILURES: &str = "[limits]\nauthentication_failures_per_minute = 100000\n";

#[tokio::test(flavor = "multi_thread")]
async fn no_method_is_open_without_good_credentials() {
    let world = World::with(MANY_FAILURES).await;
    let channel = world.plain();
    for path in contract() {
        for (authorization, reason) in [
            (None, "CREDENTIALS_MISSING"),
            (Some("Bearer wrong"), "TOKEN_UNKNOWN"),
            (Some("Bearer "), "CREDENTIALS_MALFORMED"),
            (Some("Basic ZXhlY3V0b3I6"), "CREDENTIALS_MALFORMED"),
        ] {
            let outcome = send(&channel, &path, authorization, framed(b"")).await;
            assert!(outcome.is(Code::Unauthenticated, reason), "{path} {authorization:?}: {outcome:?}");
        }
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_method_is_open_to_too_small_a_role() {
    let world = World::new().await;
    let channel = world.plain();
    for path in contract() {
        let (_, access) = TABLE.iter().find(|(name, _)| *name == path).unwrap();
        let Access::AnyOf(roles) = access else { panic!("{path} needs no credentials") };
        for (token, _, names) in TOKENS {
            let may = roles.iter().any(|role| names.contains(&format!("{role:?}").to_lowercase()));
            let outcome = call(&channel, &path, token, b"").await;
            let forbidden = outcome.is(Code::PermissionDenied, "FORBIDDEN");
            assert_eq!(!forbidden, may, "{path} as {token}: {outcome:?}");
            assert_ne!(outcome.code, Code::Unauthenticated, "{path} as {token}");
        }
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_certificate_fails_the_handshake() {
    let world = World::new().await;
    let path = "/airlock.v1.ApprovalService/List";
    let good = send(&world.certified("lead"), path, None, framed(b"")).await;
    assert_eq!(good.code, Code::Ok, "{good:?}");
    let forged = send(&world.forged("lead"), path, None, framed(b"")).await;
    assert_eq!(forged.code, Code::Unknown, "{forged:?}");
    // Refused even with a valid token.
    let forged = call(&world.forged("lead"), path, "executor", b"").await;
    assert_eq!(forged.code, Code::Unknown, "{forged:?}");
    let again = send(&world.certified("lead"), path, None, framed(b"")).await;
    assert_eq!(again.code, Code::Ok);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_certificate_of_nobody_is_nobody() {
    let world = World::new().await;
    let outcome =
        send(&world.certified("other"), "/airlock.v1.ApprovalService/List", None, framed(b"")).await;
    assert!(outcome.is(Code::Unauthenticated, "CERTIFICATE_UNKNOWN"), "{outcome:?}");
    // A valid certificate does not replace an invalid token.
    let outcome = call(&world.certified("lead"), "/airlock.v1.ApprovalService/List", "wrong", b"").await;
    assert!(outcome.is(Code::Unauthenticated, "TOKEN_UNKNOWN"), "{outcome:?}");
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_tokens_is_slowed_down() {
    let world = World::with("[limits]\nauthentication_failures_per_minute = 5\n").await;
    let channel = world.plain();
    let path = "/airlock.v1.ApprovalService/List";
    // One more token is compared every 12 seconds. Even a slow machine makes the calls faster than that.
    let mut heard = 0;
    let last = loop {
        let outcome = call(&channel, path, &format!("guess-{heard}"), b"").await;
        if !outcome.is(Code::Unauthenticated, "TOKEN_UNKNOWN") {
            break outcome;
        }
        heard += 1;
        assert!(heard < 100, "no rate limit applies");
    };
    assert!(last.is(Code::ResourceExhausted, "AUTHENTICATION_RATE_LIMITED"), "{last:?}");
    assert!(heard >= 5, "{heard} attempts were answered");
    let certified = send(&world.certified("lead"), path, None, framed(b"")).await;
    assert_eq!(certified.code, Code::Ok, "{certified:?}");
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_are_ended() {
    let world = World::with("[limits]\nhandshake_timeout = \"2s\"\n").await;
    let says = async |greeting: &[u8]| {
        let mut stream = TcpStream::connect(world.server.local_addr()).await.unwrap();
        stream.write_all(greeting).await.unwrap();
        let mut rest = Vec::new();
        // It may end with or without an alert.
        let _ended = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap();
    };
    tokio::join!(says(b""), says(b"GET / HTTP/1.1\r\n\r\n"), says(b"\x16\x03\x01"));
    // A slow client can also be disconnected, and connects again.
    until("a client that completes its handshake is served", async || {
        call(&world.plain(), "/airlock.v1.ApprovalService/List", "approver", b"").await.code == Code::Ok
    })
    .await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_over_the_limit_are_not_taken() {
    let world = World::with("[limits]\nconnections = 1\nconnections_per_peer = 1\n").await;
    let path = "/airlock.v1.ApprovalService/List";
    let first = world.plain();
    assert_eq!(call(&first, path, "approver", b"").await.code, Code::Ok);
    assert_eq!(call(&world.plain(), path, "approver", b"").await.code, Code::Unknown);
    assert_eq!(call(&first, path, "approver", b"").await.code, Code::Ok);
    drop(first);
    until("the slot of a closed connection is free again", async || {
        call(&world.plain(), path, "approver", b"").await.code == Code::Ok
    })
    .await;
    world.server.shut_down().await;
}
