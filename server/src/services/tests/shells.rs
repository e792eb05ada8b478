//! Tests of shells that runners report: a command for a missing shell ends before its start, and a session is placed
//! on a runner with its shell.

use std::collections::BTreeMap;

use airlock_domain::{Cause, CommandSpec, Epoch, Given, Mode, RunnerHello, Shell, Started};
use airlock_store::record::SessionRecord;

use super::support::{Runner, World, hello, run, who};
use crate::api::{CreateSession, StartExecution};

fn with(name: &str, shells: &[(&str, &str)]) -> RunnerHello {
    let shells: BTreeMap<_, _> =
        shells.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
    RunnerHello { shells, ..hello(name, Epoch::new()) }
}

async fn connected(world: &World, hello: RunnerHello) -> Runner {
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
    let mut runner = connected(&world, with("r", &[("bash", "5.2"), ("pwsh", "")])).await;
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
    let mut runner = connected(&world, with("r", &[])).await;
    let session = session(&world, &mut runner).await;
    let record =
        world.services.executions.start(who("ann"), in_zsh(run(session.id, "print x"))).await.unwrap();
    assert_eq!(runner.next_job().await.execution_id, record.id);
}

#[tokio::test]
async fn a_session_goes_where_its_shell_is() {
    let world = World::new().await;
    let _without = connected(&world, with("a", &[("bash", "5.2")])).await;
    let mut has = connected(&world, with("b", &[("bash", "5.1"), ("zsh", "5.9")])).await;
    for _ in 0..8 {
        let request = CreateSession { shell: Some(Shell::Zsh), ..CreateSession::default() };
        let opened = world.services.sessions.create(who("ann"), request);
        let (session, ()) = tokio::join!(opened, has.open_session());
        assert_eq!(session.unwrap().runner_id.as_str(), "b");
    }
}
