//! The consistency check after a fault. Every accepted execution has a correct result, its readers received all output
//! once, and it left no resources.

use std::collections::BTreeMap;

use airlock_client::{Client, v1};

use super::{
    actor::{Actor, Permits, eventually, follow},
    ledger::Ledger,
    scene::Scene,
};

/// Compares all executions of a session with their scripts, then closes the session and checks for leftovers.
///
/// # Panics
/// At the first violated guarantee.
pub async fn check(scene: &Scene, session: &str, actors: &mut [Actor], permits: Permits) {
    let mut ends = Vec::new();
    for actor in actors.iter_mut() {
        ends.push(actor.ended(&scene.client).await);
    }
    let ran = scene.ran();
    for (actor, (end, live)) in actors.iter().zip(&ends) {
        check_one(scene, actor, end, live, &ran, permits).await;
    }
    close(&scene.client, session).await;
    scene.nothing_is_left().await;
}

async fn check_one(
    scene: &Scene,
    actor: &Actor,
    end: &v1::Execution,
    live: &Ledger,
    ran: &BTreeMap<String, u32>,
    permits: Permits,
) {
    let name = actor.part.name.as_str();
    let ran = ran.get(name).copied().unwrap_or_default();
    actor.part.agrees(end, live, ran, permits);
    let stored = stored(scene, actor).await;
    assert_eq!(stored.result, end.result, "{name}: a result does not change");
    let told_again = follow(scene.client.clone(), actor.id.clone()).await.unwrap();
    live.assert_same(&told_again, name);
    let again = actor.again(&scene.client).await.unwrap();
    assert_eq!(
        (&again.execution_id, again.version),
        (&actor.id, stored.version),
        "{name}: one key, one execution"
    );
    let (opened, closed) = scene.audit(&actor.id).await;
    let result = end.result.clone().unwrap_or_default();
    let cause = result.cause.as_ref().map(|cause| cause.code().as_str_name()).unwrap_or_default();
    let said = cause.trim_start_matches("CAUSE_CODE_").to_owned();
    let started = result.started().as_str_name().trim_start_matches("STARTED_").to_owned();
    assert_eq!(
        (opened, closed),
        (1, vec![(said, started)]),
        "{name}: one audit entry, closed with the same cause"
    );
}

/// Waits until the output of an execution is stored, if it has any.
///
/// # Panics
/// If it is never stored.
pub async fn stored(scene: &Scene, actor: &Actor) -> v1::Execution {
    eventually(&format!("the output of {} is stored", actor.part.name), async || {
        let now = scene.client.execution(&actor.id).await.ok()?;
        matches!(now.output_state(), v1::OutputState::Stored | v1::OutputState::None).then_some(now)
    })
    .await
}

/// Closes a session and waits until it is closed or lost.
///
/// # Panics
/// If it is neither in time.
pub async fn close(client: &Client, session: &str) {
    eventually("the session is closed", async || {
        let asked = client.close_session(session).await;
        let now = client.session(session).await.ok()?;
        let over = matches!(now.state(), v1::SessionState::Closed | v1::SessionState::Lost);
        (asked.is_ok() || over).then_some(over).filter(|over| *over)
    })
    .await;
}
