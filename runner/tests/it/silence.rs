//! Tests of commands that write nothing for longer than their idle timeout. `runner/src/job/running.rs` tests with a
//! paused clock which output resets the timeout.

use std::time::Duration;

use airlock_domain::{Cause, Grant, JobPhase, SessionId, TimeoutKind, ToRunner};

use crate::fixture::{Fixture, grant};

/// Longer than any delay of a machine. No test waits this long.
const LONG: Duration = Duration::from_secs(600);
/// Writes a byte periodically.
const TICKS: &str = "while :; do printf .; sleep 0.1; done";
const SILENT: Cause = Cause::TimedOut(TimeoutKind::Idle);

fn quiet_for(idle: Duration, session: SessionId, command: &str) -> Grant {
    let mut grant = grant(session, command);
    grant.command.idle_timeout = Some(idle);
    grant
}

async fn cause(it: &mut Fixture, grant: Grant) -> Cause {
    it.run(grant).await.1.cause
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends_a_command_whatever_it_does_meanwhile() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let short = Duration::from_millis(300);
    for command in
        ["sleep 1000", "echo once; sleep 1000", "exec >&-; exec 2>&-; sleep 1000", "while :; do :; done"]
    {
        assert_eq!(cause(&mut it, quiet_for(short, session, command)).await, SILENT, "{command}");
    }
    // Writing to a file is not output.
    let to_file = format!("{{ {TICKS}; }} > file");
    assert_eq!(cause(&mut it, quiet_for(short, session, &to_file)).await, SILENT);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_silence_and_the_wall_clock_are_two() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let within = |timeout, idle, command| {
        let mut grant = quiet_for(idle, session, command);
        grant.command.timeout = timeout;
        grant
    };
    let both = |timeout, idle| within(timeout, idle, "sleep 1000");
    let short = Duration::from_millis(300);
    assert_eq!(cause(&mut it, both(short, LONG)).await, Cause::TimedOut(TimeoutKind::Wall));
    assert_eq!(cause(&mut it, both(LONG, short)).await, SILENT);
    // For a command that writes continuously, only the wall time counts.
    let writes = within(Duration::from_secs(1), LONG, TICKS);
    assert_eq!(cause(&mut it, writes).await, Cause::TimedOut(TimeoutKind::Wall));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_counts_in_the_background_too() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(quiet_for(Duration::from_secs(1), session, "echo ready; sleep 1000")).await;
    it.link.send(ToRunner::DetachJob { execution_id: id, timeout: LONG }).await;
    let ended = it.job(id, JobPhase::Ended).await;
    assert_eq!(ended.result.map(|result| result.cause), Some(SILENT));
    it.shut_down().await;
}
