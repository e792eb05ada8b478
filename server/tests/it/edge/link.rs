//! Tests of links: which runners may connect, and that a protocol violation ends only the link.

use std::time::Duration;

use airlock_domain::{ExecutionId, FromRunner};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{self as wire, ConnectRequest, connect_request::Message},
    v1::{AdminServiceListRunnersRequest, AdminServiceListRunnersResponse, RunnerState},
};
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::edge::{
    raw::Outcome,
    runner::{Link, hello, link_up},
    world::World,
};

async fn refusal(world: &World, messages: Vec<ConnectRequest>) -> Status {
    match Link::open(world.certified("runner-1"), messages).await {
        Err(status) => status,
        Ok(_) => panic!("the link was opened"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_links_and_is_listed() {
    let world = World::new().await;
    let link = link_up(&world).await;
    let mut admin = airlock_proto::v1::admin_service_client::AdminServiceClient::with_interceptor(
        world.plain(),
        |mut request: tonic::Request<()>| {
            request.metadata_mut().insert("authorization", "Bearer admin".parse().unwrap());
            Ok(request)
        },
    );
    // The server can read this request before the last message of the link.
    let connected = async {
        loop {
            let answer: AdminServiceListRunnersResponse =
                admin.list_runners(AdminServiceListRunnersRequest::default()).await.unwrap().into_inner();
            assert_eq!(answer.runners.len(), 1);
            assert_eq!(answer.runners[0].runner_id, "runner-1");
            if answer.runners[0].state() == RunnerState::Connected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), connected).await.expect("the runner is connected");
    drop(link);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_version_is_told_both() {
    let world = World::new().await;
    for version in [0, LINK_PROTOCOL_VERSION + 1, u32::MAX] {
        // Other fields of such a Hello need not be readable.
        let hello = wire::Hello { protocol_version: version, runner_id: "?".into(), ..Default::default() };
        let status = refusal(&world, vec![ConnectRequest { message: Some(Message::Hello(hello)) }]).await;
        let info = status.get_details_error_info().unwrap();
        assert_eq!((status.code(), info.reason.as_str()), (Code::FailedPrecondition, "PROTOCOL_VERSION"));
        assert_eq!(info.metadata["yours"], version.to_string());
        assert_eq!(info.metadata["supported"], LINK_PROTOCOL_VERSION.to_string());
    }
    drop(link_up(&world).await);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_may_not_speak_for_another() {
    let world = World::new().await;
    for (certificate, runner, may) in [
        ("runner-1", "runner-2", false),
        ("runners", "b", true),
        ("runners", "c", false),
        ("lead", "lead", false),
    ] {
        let opened = Link::open(world.certified(certificate), vec![hello(runner)]).await;
        match opened {
            Ok(_) => assert!(may, "{certificate} as {runner}"),
            Err(status) => {
                assert!(!may, "{certificate} as {runner}: {status:?}");
                assert_eq!(status.code(), Code::PermissionDenied);
            }
        }
    }
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_begins_with_a_readable_hello() {
    let world = World::new().await;
    let bad_hello = |change: fn(&mut wire::Hello)| {
        let ConnectRequest { message: Some(Message::Hello(mut hello)) } = hello("runner-1") else {
            panic!("not a hello")
        };
        change(&mut hello);
        ConnectRequest { message: Some(Message::Hello(hello)) }
    };
    let table = [
        (FromRunner::Reconciled.into(), "message"),
        (ConnectRequest { message: None }, "message"),
        (bad_hello(|hello| hello.runner_id = "a b".into()), "hello.runner_id"),
        (bad_hello(|hello| hello.epoch = "x".into()), "hello.epoch"),
    ];
    for (first, field) in table {
        let outcome: Outcome = refusal(&world, vec![first]).await.into();
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{outcome:?}");
        assert_eq!(outcome.fields, [field]);
    }
    drop(link_up(&world).await);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_or_out_of_order_ends_the_link_and_nothing_else() {
    let world = World::new().await;
    let job = |report: wire::JobReport| ConnectRequest { message: Some(Message::Job(report)) };
    let table = [
        (hello("runner-1"), "hello"),
        (ConnectRequest { message: None }, "message"),
        (job(wire::JobReport::default()), "phase"),
        (
            job(wire::JobReport {
                execution_id: ExecutionId::new().to_string(),
                phase: wire::JobPhase::Running.into(),
                ..Default::default()
            }),
            "job.epoch",
        ),
    ];
    for (message, field) in table {
        let link = link_up(&world).await;
        link.say.send(message).await.unwrap();
        let outcome = link.end().await;
        assert!(outcome.is(Code::InvalidArgument, "MALFORMED_MESSAGE"), "{field}: {outcome:?}");
        assert_eq!(outcome.fields, [field]);
    }
    drop(link_up(&world).await);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_stream_needs_a_ticket() {
    let world = World::new().await;
    let push = |runner: &str, certificate: &str| {
        let hello = wire::PushOutputRequest {
            message: Some(wire::push_output_request::Message::Hello(wire::OutputHello {
                runner_id: runner.to_owned(),
                execution_id: ExecutionId::new().to_string(),
                ticket: "guess".to_owned(),
                missing: false,
            })),
        };
        let channel = world.certified(certificate);
        async move {
            let path = "/airlock.runner.v1.RunnerLink/PushOutput";
            crate::edge::raw::send(&channel, path, None, crate::edge::raw::framed(&hello.encode_to_vec()))
                .await
        }
    };
    let outcome = push("runner-1", "runner-1").await;
    assert!(outcome.is(Code::FailedPrecondition, "TICKET_UNKNOWN"), "{outcome:?}");
    let outcome = push("runner-2", "runner-1").await;
    assert!(outcome.is(Code::PermissionDenied, "FORBIDDEN"), "{outcome:?}");
    world.server.shut_down().await;
}
