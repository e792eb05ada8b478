//! Tests of a change of the network of a session with running commands.

use airlock_domain::{NetworkRules, ToRunner};
use airlock_store::{
    NetworkChange,
    record::{Micros, NetworkChangeRecord, SessionRecord},
};

use super::support::{Runner, World, stranger, who};
use crate::api::{ApiError, CreateSession, UpdateSession};

fn only(allow: &[&str]) -> NetworkRules {
    let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
    NetworkRules { allow, ..NetworkRules::default() }
}

fn to(network: NetworkChange) -> UpdateSession {
    UpdateSession { network: Some(network), ..UpdateSession::default() }
}

async fn session_with_network(world: &World, runner: &mut Runner) -> SessionRecord {
    world.put_profile("own", "name = \"own\"\nextends = \"demo\"\nnetwork.allow = [\"a.example\"]\n");
    let wanted = CreateSession { profile: Some("own".to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    session.unwrap()
}

#[tokio::test]
async fn a_new_network_is_sent_to_the_runner_at_once_and_is_in_the_audit() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session_with_network(&world, &mut runner).await;
    world.start(&session, "touch a").await;
    runner.take().await;
    assert_eq!(runner.new_network().await.1, None, "as the session was created");

    let rules = only(&["a.example"]);
    let set = to(NetworkChange::Set(rules.clone()));
    let theirs = world.services.sessions.update(stranger(), session.id, set.clone()).await;
    assert!(matches!(theirs, Err(ApiError::NotFound { .. })), "{theirs:?}");
    runner.silence().await;
    assert_eq!(world.store.network_changes(10).await.unwrap(), []);

    let after = world.services.sessions.update(who("ann"), session.id, set).await.unwrap();
    let expected = ToRunner::SetSessionNetwork {
        session_id: session.id,
        version: after.version,
        network: Some(rules.clone()),
    };
    assert_eq!(runner.next().await, expected);
    let entries = world.store.network_changes(10).await.unwrap();
    let at = entries.first().map(|entry| entry.at).unwrap_or_default();
    let entry = NetworkChangeRecord {
        session_id: session.id,
        tenant: session.tenant.clone(),
        principal: "ann".to_owned(),
        peer: who("ann").peer.clone(),
        old: None,
        new: Some(rules),
        at,
    };
    assert_eq!(entries, [entry]);
    assert!(at > Micros(0));

    let mode = UpdateSession { mode: Some(session.mode), ..UpdateSession::default() };
    world.services.sessions.update(who("ann"), session.id, mode).await.unwrap();
    runner.silence().await;
}

#[tokio::test]
async fn a_network_that_changed_without_a_link_is_sent_on_the_next_one() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session_with_network(&world, &mut runner).await;
    world.start(&session, "touch a").await;
    let job = runner.take().await;
    runner.new_network().await;
    let epoch = runner.epoch;
    drop(runner);
    let set = to(NetworkChange::Set(only(&[])));
    let after = world.services.sessions.update(who("ann"), session.id, set).await.unwrap();
    let mut runner = Runner::again(&world, epoch).await;
    runner.runs(&job).await;
    runner.reconciled().await;
    assert_eq!(runner.new_network().await, (after.version, Some(only(&[]))));
}

#[tokio::test]
async fn a_network_that_changes_while_a_command_starts_is_sent_when_it_runs() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session_with_network(&world, &mut runner).await;
    world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    assert_eq!(job.grant.egress, [only(&["a.example"])]);
    let set = to(NetworkChange::Set(only(&[])));
    let after = world.services.sessions.update(who("ann"), session.id, set).await.unwrap();
    let sent = (after.version, Some(only(&[])));
    assert_eq!(
        runner.new_network().await,
        sent,
        "which the runner can receive before it accepts the command"
    );
    runner.accept(&job).await;
    runner.runs(&job).await;
    assert_eq!(runner.new_network().await, sent);
}
