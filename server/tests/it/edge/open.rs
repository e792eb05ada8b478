//! Tests of the services without authentication: health and reflection.

use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::edge::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_healthy() {
    let world = World::new().await;
    let mut health = HealthClient::new(world.plain());
    let answer = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(answer.status(), ServingStatus::Serving);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_shows_every_public_service_in_both_versions_and_no_other() {
    let world = World::new().await;
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(String::new())),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(world.plain());
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let v1::server_reflection_response::MessageResponse::ListServicesResponse(list) = answer else {
        panic!("{answer:?}")
    };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    for name in [
        "airlock.v1.ExecutionService",
        "airlock.v1.SessionService",
        "airlock.v1.PolicyService",
        "airlock.v1.ApprovalService",
        "airlock.v1.AdminService",
        "grpc.health.v1.Health",
    ] {
        assert!(names.iter().any(|shown| shown == name), "{name} is not among {names:?}");
    }
    let private = |name: &&String| name.starts_with("airlock.runner") || name.starts_with("airlock.server");
    assert_eq!(names.iter().find(private), None, "runners and servers have the contract");

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
            "airlock.v1.ExecutionService".to_owned(),
        )),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(world.plain());
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let file = v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse;
    assert_eq!(
        std::mem::discriminant(&answer),
        std::mem::discriminant(&file(Default::default())),
        "{answer:?}"
    );
    world.server.shut_down().await;
}
