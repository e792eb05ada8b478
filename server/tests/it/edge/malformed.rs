//! Tests of malformed requests: each receives the correct error with details, and the service continues.

use airlock_proto::v1;
use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, transport::Channel};

use crate::edge::{
    raw::{Outcome, call, contract, framed, send},
    world::World,
};

const START: &str = "/airlock.v1.ExecutionService/Start";

async fn as_executor(channel: &Channel, path: &str, body: Bytes) -> Outcome {
    send(channel, path, Some("Bearer executor"), body).await
}

async fn runs_on(channel: &Channel) {
    let outcome = call(channel, "/airlock.v1.SessionService/List", "executor", b"").await;
    assert_eq!(outcome.code, Code::Ok, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_the_wrong_type_are_the_callers_fault() {
    let world = World::new().await;
    let channel = world.plain();
    // spec { command: varint }, spec as a fixed64, text that is not UTF-8, a length past the end, a message
    // nested in itself, and bytes that are not protobuf.
    let bodies: [&[u8]; 6] = [
        &[0x0a, 0x02, 0x08, 0x01],
        &[0x09, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x0a, 0x04, 0x22, 0x02, 0xff, 0xfe],
        &[0x0a, 0x7f, 0x0a],
        &[0x0b, 0x0b, 0x0b, 0x0b],
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for body in bodies {
        let outcome = call(&channel, START, "executor", body).await;
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{body:x?}: {outcome:?}");
    }
    runs_on(&channel).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_survives_noise() {
    let world = World::new().await;
    let executor = world.plain();
    let runner = world.certified("runner-1");
    let server = world.certified("server-2");
    for path in contract() {
        let with_certificate = match path.as_str() {
            path if path.contains("RunnerLink") => Some(&runner),
            path if path.contains("airlock.server.v1.") => Some(&server),
            _ => None,
        };
        for body in [&b"\xff\xff\xff"[..], &[0x0a, 0xff], &[0x08]] {
            let outcome = match with_certificate {
                Some(channel) => send(channel, &path, None, framed(body)).await,
                None => call(&executor, &path, "stranger", body).await,
            };
            assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{path}: {outcome:?}");
        }
    }
    runs_on(&executor).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_fields_are_named_all_at_once() {
    let world = World::new().await;
    let spec = v1::ExecutionSpec {
        command: "a\0".into(),
        shell: 77,
        session_id: "no".into(),
        timeout: Some(prost_types::Duration { seconds: -1, nanos: 0 }),
        ..Default::default()
    };
    let request = v1::ExecutionServiceStartRequest { spec: Some(spec) };
    for path in [START, "/airlock.v1.ExecutionService/Run"] {
        let mut outcome = call(&world.plain(), path, "executor", &request.encode_to_vec()).await;
        outcome.fields.sort();
        assert!(outcome.is(Code::InvalidArgument, "INVALID_REQUEST"), "{outcome:?}");
        assert_eq!(outcome.fields, ["spec.command", "spec.session_id", "spec.shell", "spec.timeout"]);
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_over_the_limit_are_refused() {
    let world = World::new().await;
    let channel = world.plain();
    let whole = vec![0; world.config.limits.message_bytes + 1];
    let outcome = as_executor(&channel, START, framed(&whole)).await;
    assert!(outcome.is(Code::InvalidArgument, "MESSAGE_TOO_LARGE"), "{outcome:?}");
    // A message that only announces a large size is refused without waiting for it.
    let boast = Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]);
    let outcome = as_executor(&channel, START, boast).await;
    assert!(outcome.is(Code::InvalidArgument, "MESSAGE_TOO_LARGE"), "{outcome:?}");
    runs_on(&channel).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_and_strangely_framed_streams_are_refused() {
    let world = World::new().await;
    let channel = world.plain();
    let runner = world.certified("runner-1");
    let truncated = framed(&[0x0a; 100]).slice(..50);
    let compressed = Bytes::from_static(&[1, 0, 0, 0, 1, 0]);
    let flagged = Bytes::from_static(&[9, 0, 0, 0, 1, 0]);
    for body in [truncated, compressed, flagged, Bytes::from_static(&[0, 0]), Bytes::new()] {
        let outcome = as_executor(&channel, START, body.clone()).await;
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{body:x?}: {outcome:?}");
        for path in ["/airlock.runner.v1.RunnerLink/Connect", "/airlock.runner.v1.RunnerLink/PushOutput"] {
            let outcome = send(&runner, path, None, body.clone()).await;
            assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{body:x?}: {outcome:?}");
        }
    }
    runs_on(&channel).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_that_are_not_there_say_so() {
    let world = World::new().await;
    let channel = world.plain();
    for path in ["/airlock.v1.ExecutionService/Destroy", "/airlock.v9.X/Y", "/"] {
        let outcome = call(&channel, path, "executor", b"").await;
        assert!(outcome.is(Code::Unimplemented, "UNIMPLEMENTED"), "{path}: {outcome:?}");
    }
    world.server.shut_down().await;
}
