//! Tests of the access of tenant members to each other's sessions, depending on their profiles.

use airlock_proto::v1::{
    self, execution_service_client::ExecutionServiceClient, policy_service_client::PolicyServiceClient,
    session_service_client::SessionServiceClient,
};
use futures::stream;
use sha2::{Digest as _, Sha256};
use tonic::Code;

use crate::edge::{
    exchange::{Stage, by},
    raw::Outcome,
    world::World,
};

/// Returns executors of the session owner's tenant: one without the session's profile, and one with every
/// profile.
fn members() -> String {
    [("narrow", "read_only"), ("wide", "*")]
        .map(|(token, profile)| {
            let hash = hex::encode(Sha256::digest(token));
            format!(
                "[[identity]]\nname = \"{token}\"\ntenant = \"one\"\nroles = [\"executor\"]\n\
                 profiles = [\"{profile}\"]\nmatch = {{ token_sha256 = \"{hash}\" }}\n"
            )
        })
        .concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_use_a_sessions_profile_may_look_at_it_and_end_it_and_no_more() {
    let world = World::with(&members()).await;
    let mut stage = Stage::set(&world).await;
    let session_id = stage.session.clone();
    let mut executions = ExecutionServiceClient::new(world.plain());
    let mut sessions = SessionServiceClient::new(world.plain());
    let mut policy = PolicyServiceClient::new(world.plain());
    let spec =
        || v1::ExecutionSpec { command: "pwd".into(), session_id: session_id.clone(), ..Default::default() };
    let update = || v1::SessionServiceUpdateRequest {
        session_id: session_id.clone(),
        idle_timeout: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
        ..Default::default()
    };
    let check = || v1::PolicyServiceCheckRequest {
        session_id: session_id.clone(),
        command: "pwd".into(),
        ..Default::default()
    };
    let start = v1::ExecutionServiceStartRequest { spec: Some(spec()) };
    let run = v1::ExecutionServiceRunRequest { spec: Some(spec()) };
    let upload = stream::iter([stage.header("t")]);
    let refused: [(&str, Outcome); 5] = [
        ("Start", executions.start(by("narrow", start)).await.unwrap_err().into()),
        ("Run", executions.run(by("narrow", run)).await.unwrap_err().into()),
        ("Update", sessions.update(by("narrow", update())).await.unwrap_err().into()),
        ("Check", policy.check(by("narrow", check())).await.unwrap_err().into()),
        ("Upload", stage.files.upload(by("narrow", upload)).await.unwrap_err().into()),
    ];
    for (method, outcome) in refused {
        assert!(outcome.is(Code::PermissionDenied, "FORBIDDEN"), "{method}: {outcome:?}");
    }
    let get = v1::SessionServiceGetRequest { session_id: session_id.clone() };
    sessions.get(by("narrow", get)).await.unwrap();

    sessions.update(by("wide", update())).await.unwrap();
    policy.check(by("wide", check())).await.unwrap();
    world.server.shut_down().await;
}
