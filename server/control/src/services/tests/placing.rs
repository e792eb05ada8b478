//! Tests of placement: fairness between tenants in a contended queue, runner labels, and changing the
//! runner.

use std::collections::BTreeMap;

use airlock_domain::{
    Cause, CommandSpec, Epoch, ExecutionId, FromRunner, Given, Mode, RunnerHello, SessionPhase,
    SessionReport, Shell, StartJob, Started, ToRunner,
};
use airlock_store::record::SessionRecord;

use super::support::{Runner, World, alone, hello, run, stranger, who};
use crate::{
    api::{ApiError, CreateSession, StartExecution},
    limits::TenantLimits,
    shared::SlotResult,
};

async fn connected(world: &World, hello: RunnerHello) -> Runner {
    let mut runner = Runner::connect(world, hello).await.unwrap();
    // Do not report the sessions of the fixture's other runner.
    runner.say(FromRunner::Reconciled).await;
    runner
}

/// Connects a runner with one slot.
async fn narrow(world: &World, name: &str) -> Runner {
    connected(world, RunnerHello { slots: 1, ..hello(name, Epoch::new()) }).await
}

/// Waits for the next job, opens its session and starts it.
async fn serve(runner: &mut Runner) -> StartJob {
    loop {
        match runner.next().await {
            ToRunner::OpenSession { session_id, .. } => runner.opened(session_id).await,
            ToRunner::CloseSession { session_id } => {
                let report = SessionReport { session_id, phase: SessionPhase::Closed };
                runner.say(FromRunner::Session(report)).await;
            }
            ToRunner::StartJob(job) => {
                runner.accept(&job).await;
                runner.runs(&job).await;
                return *job;
            }
            _ => {}
        }
    }
}

/// Registers a failed attempt to get a slot of the runner.
fn one_asks(world: &World) {
    let runner = "r".parse().unwrap();
    assert_eq!(world.services.reconciler.slots.take(&runner, 1, ExecutionId::new()), SlotResult::Full);
}

#[tokio::test]
async fn a_tenant_with_many_in_the_queue_does_not_hold_up_one_with_a_single_command() {
    let world = World::new().await;
    let mut runner = narrow(&world, "r").await;
    let mut many = vec![world.services.executions.start(who("ann"), alone("touch first")).await.unwrap().id];
    let mut job = serve(&mut runner).await;
    for number in 0..5 {
        many.push(
            world.services.executions.start(who("ann"), alone(&format!("touch {number}"))).await.unwrap().id,
        );
    }
    let single = world.services.executions.start(stranger(), alone("touch x")).await.unwrap().id;
    one_asks(&world);
    let mut ran = Vec::new();
    for _ in 0..6 {
        ran.push(job.execution_id);
        runner.ends(&job, 0).await;
        job = serve(&mut runner).await;
    }
    ran.push(job.execution_id);
    assert_eq!(ran[1], single, "{ran:?} of {many:?}");
    many.insert(1, single);
    assert_eq!(ran.iter().collect::<std::collections::HashSet<_>>().len(), 7, "each ran once");
    assert_eq!(ran[2..], many[2..], "and those of one tenant in their order");
}

#[tokio::test]
async fn a_tenant_of_twice_the_weight_is_served_twice_as_often() {
    let heavy = TenantLimits { weight: 2, ..TenantLimits::default() };
    let world = World::with(|limits| {
        limits.tenants.insert("other".to_owned(), heavy);
    })
    .await;
    let mut runner = narrow(&world, "r").await;
    world.services.executions.start(who("ann"), alone("touch first")).await.unwrap();
    let mut job = serve(&mut runner).await;
    let mut theirs = Vec::new();
    for number in 0..8 {
        world.services.executions.start(who("ann"), alone(&format!("touch {number}"))).await.unwrap();
        theirs.push(
            world.services.executions.start(stranger(), alone(&format!("touch {number}"))).await.unwrap().id,
        );
    }
    one_asks(&world);
    let mut served = 0;
    for _ in 0..9 {
        runner.ends(&job, 0).await;
        job = serve(&mut runner).await;
        served += usize::from(theirs.contains(&job.execution_id));
    }
    // The first was ann's: 10 placements in total.
    assert!((6..=7).contains(&served), "{served}");
}

fn zone(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("zone".to_owned(), name.to_owned())])
}

#[tokio::test]
async fn what_no_runner_could_ever_take_is_refused_at_once_and_says_what_is_missing() {
    let world = World::new().await;
    let north = || CreateSession { runner_labels: zone("north"), ..CreateSession::default() };
    let error = world.services.sessions.create(who("ann"), north()).await.unwrap_err();
    assert!(
        matches!(error, ApiError::Unavailable { reason: "NO_RUNNER", .. }),
        "no runner is known: {error:?}"
    );

    let _other = connected(&world, hello("r", Epoch::new())).await;
    let south = StartExecution { runner_labels: zone("south"), ..alone("touch a") };
    for error in [
        world.services.sessions.create(who("ann"), north()).await.unwrap_err(),
        world.services.executions.start(who("ann"), south).await.unwrap_err(),
    ] {
        match error {
            ApiError::FailedPrecondition { reason: "NO_SUCH_RUNNER", message } => {
                assert!(message.contains("`zone=north`") || message.contains("`zone=south`"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    let labels = zone("north");
    let mut wanted = connected(&world, RunnerHello { labels, ..hello("q", Epoch::new()) }).await;
    let created = world.services.sessions.create(who("ann"), north());
    let (session, ()) = tokio::join!(created, wanted.open_session());
    let session = session.unwrap();
    assert_eq!((session.runner_id.as_str(), session.runner_labels), ("q", zone("north")));
    let in_session =
        StartExecution { session_id: Some(session.id), runner_labels: zone("north"), ..alone("ls") };
    let error = world.services.executions.start(who("ann"), in_session).await.unwrap_err();
    assert!(
        matches!(&error, ApiError::Invalid(fields) if fields[0].field == "spec.runner_labels"),
        "{error:?}"
    );
    let start = StartExecution { runner_labels: zone("north"), ..alone("touch a") };
    let record = world.services.executions.start(who("ann"), start).await.unwrap();
    assert_eq!(serve(&mut wanted).await.execution_id, record.id);
}

#[tokio::test]
async fn a_command_without_a_session_moves_from_a_full_runner_to_one_with_a_free_slot_that_has_its_labels() {
    let world = World::new().await;
    let labels = zone("north");
    let narrow = |name| RunnerHello { slots: 1, labels: labels.clone(), ..hello(name, Epoch::new()) };
    let mut full = connected(&world, narrow("r")).await;
    let start = || StartExecution { runner_labels: zone("north"), ..alone("touch a") };
    let first = world.services.executions.start(who("ann"), start()).await.unwrap();
    assert_eq!(serve(&mut full).await.execution_id, first.id);
    let second = world.services.executions.start(who("ann"), start()).await.unwrap();
    // This runner has a slot but not the label.
    let mut unfit = connected(&world, hello("s", Epoch::new())).await;
    let mut free = connected(&world, narrow("q")).await;
    assert_eq!(serve(&mut free).await.execution_id, second.id);
    assert_eq!(world.store.session(second.session_id).await.unwrap().unwrap().runner_id.as_str(), "q");
    unfit.silence().await;
}

fn with(name: &str, shells: &[(&str, &str)]) -> RunnerHello {
    let shells: BTreeMap<_, _> =
        shells.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
    RunnerHello { shells, ..hello(name, Epoch::new()) }
}

async fn connected_with(world: &World, hello: RunnerHello) -> Runner {
    let mut runner = Runner::connect(world, hello).await.unwrap();
    runner.reconciled().await;
    runner
}

/// Opens a session in a mode that does not ask about commands of other shells.
async fn session(world: &World, runner: &mut Runner) -> SessionRecord {
    let request = CreateSession { mode: Some(Mode::Bypass), ..CreateSession::default() };
    let opened = world.services.sessions.create(who("ann"), request);
    let (session, ()) = tokio::join!(opened, runner.open_session());
    session.unwrap()
}

fn in_zsh(request: StartExecution) -> StartExecution {
    StartExecution {
        command: CommandSpec { shell: Shell::Zsh, ..request.command },
        given: Given { shell: true, ..request.given },
        ..request
    }
}

#[tokio::test]
async fn a_shell_that_is_known_to_be_missing_ends_its_command_before_the_start() {
    let world = World::new().await;
    let mut runner = connected_with(&world, with("r", &[("bash", "5.2"), ("pwsh", "")])).await;
    let session = session(&world, &mut runner).await;
    let wants = in_zsh(run(session.id, "print x"));
    let record = world.services.executions.start(who("ann"), wants.clone()).await.unwrap();
    let result = world.finished(record.id).await.result.unwrap();
    let message = "zsh is not installed where the command runs; installed: bash 5.2, pwsh".to_owned();
    assert_eq!((result.cause, result.started), (Cause::ShellUnavailable { message }, Started::No));
    // The runner got no job for the first command. The control is the next job.
    let bash = world.start(&session, "touch a").await;
    assert_eq!(runner.next_job().await.execution_id, bash.id);
}

#[tokio::test]
async fn where_shells_are_not_known_a_start_tells() {
    let world = World::new().await;
    let mut runner = connected_with(&world, with("r", &[])).await;
    let session = session(&world, &mut runner).await;
    let record =
        world.services.executions.start(who("ann"), in_zsh(run(session.id, "print x"))).await.unwrap();
    assert_eq!(runner.next_job().await.execution_id, record.id);
}

#[tokio::test]
async fn a_session_goes_where_its_shell_is() {
    let world = World::new().await;
    let _without = connected_with(&world, with("a", &[("bash", "5.2")])).await;
    let mut has = connected_with(&world, with("b", &[("bash", "5.1"), ("zsh", "5.9")])).await;
    for _ in 0..8 {
        let request = CreateSession { shell: Some(Shell::Zsh), ..CreateSession::default() };
        let opened = world.services.sessions.create(who("ann"), request);
        let (session, ()) = tokio::join!(opened, has.open_session());
        assert_eq!(session.unwrap().runner_id.as_str(), "b");
    }
}
