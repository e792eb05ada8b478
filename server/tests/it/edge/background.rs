//! Tests of commands that begin in the background: their stream, and the events after it.

use airlock_domain::{ToRunner, limits::TIMEOUT_MAX};
use airlock_proto::v1::{self, event::Event as Kind, execution_service_client::ExecutionServiceClient};
use tokio::time::timeout;
use tonic::Streaming;

use crate::{
    PATIENCE,
    edge::{
        runner::link_up,
        runs::{get, request, spec},
        world::World,
    },
};

async fn all(mut stream: Streaming<v1::ExecutionServiceRunResponse>) -> Vec<v1::Event> {
    let mut events = Vec::new();
    while let Some(response) = timeout(PATIENCE, stream.message()).await.unwrap().unwrap() {
        events.push(response.event.unwrap());
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_background_returns_at_once_with_the_id_and_its_command_goes_on() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let spec = spec("pwd", |spec| {
        spec.background = true;
        spec.kill_on_disconnect = true;
        spec.request_id = "the key".to_owned();
    });
    let (stream, job) = link.run(&world, spec.clone(), None).await;
    let by_request = v1::BackgroundedBy::Request;
    let events = all(stream).await;
    let [opened, closing] = &events[..] else { panic!("{events:?}") };
    let Some(Kind::Opened(opened)) = &opened.event else { panic!("{opened:?}") };
    let execution = opened.execution.clone().unwrap();
    assert_eq!(execution.execution_id, job.execution_id.to_string());
    assert_eq!(execution.backgrounded_by(), by_request);
    assert!(matches!(&closing.event, Some(Kind::Backgrounded(_))), "{closing:?}");
    loop {
        match timeout(PATIENCE, link.order()).await.unwrap() {
            ToRunner::DetachJob { execution_id, timeout } if execution_id == job.execution_id => {
                assert_eq!(timeout, TIMEOUT_MAX);
                break;
            }
            ToRunner::EndJob { .. } => panic!("it was ended with its stream"),
            _ => {}
        }
    }
    // A repeated request returns the same execution and the same events.
    let run = v1::ExecutionServiceRunRequest { spec: Some(spec) };
    let mut client = ExecutionServiceClient::new(world.plain());
    let again = all(client.run(request("executor", run)).await.unwrap().into_inner()).await;
    assert!(matches!(&again.last().unwrap().event, Some(Kind::Backgrounded(_))), "{again:?}");
    // An attach from the closing cursor returns all later events.
    let from = Some(v1::execution_service_attach_request::From::Cursor(closing.cursor.clone()));
    let attach = v1::ExecutionServiceAttachRequest { execution_id: execution.execution_id.clone(), from };
    let mut rest = client.attach(request("executor", attach)).await.unwrap().into_inner();
    let mut states = Vec::new();
    while !states.contains(&v1::ExecutionState::Running) {
        let event = timeout(PATIENCE, rest.message()).await.unwrap().unwrap().unwrap().event.unwrap();
        if let Some(Kind::StateChanged(change)) = event.event {
            assert_eq!(change.backgrounded_by(), by_request);
            states.push(change.state());
        }
    }
    assert_eq!(states, [v1::ExecutionState::Starting, v1::ExecutionState::Running]);
    let running = get(&world, "executor", &execution.execution_id).await.unwrap();
    assert_eq!((running.state(), running.backgrounded_by()), (v1::ExecutionState::Running, by_request));
    world.server.shut_down().await;
}
