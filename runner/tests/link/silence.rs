//! Commands that write nothing for longer than they may: their clock is one of its own.

use std::time::Duration;

use airlock_proto::domain::{Cause, Grant, JobPhase, SessionId, TimeoutKind, ToRunner};

use crate::fixture::{Fixture, grant};

/// Longer than a loaded machine lets a shell wait for its turn.
const PATIENT: Duration = Duration::from_secs(4);
/// Writes for longer than that, a byte now and then.
const TICKS: &str = "for n in {1..50}; do printf .; sleep 0.1; done";
const SILENT: Cause = Cause::TimedOut(TimeoutKind::Idle);

fn quiet_for(idle: Duration, session: SessionId, command: &str) -> Grant {
    Grant { idle_timeout: Some(idle), ..grant(session, command) }
}

async fn cause(it: &mut Fixture, grant: Grant) -> Cause {
    it.run(grant).await.1.cause
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends_a_command_and_output_of_any_kind_breaks_it() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let short = Duration::from_millis(300);
    for command in ["sleep 60", "echo once; sleep 60", "exec >&-; exec 2>&-; sleep 60", "while :; do :; done"]
    {
        assert_eq!(cause(&mut it, quiet_for(short, session, command)).await, SILENT, "{command}");
    }
    assert_eq!(cause(&mut it, quiet_for(PATIENT, session, TICKS)).await, Cause::Exited { code: 0 });
    // Standard error counts as well, where it is a stream of its own.
    let apart = |command: &str| Grant { separate_stderr: true, ..quiet_for(PATIENT, session, command) };
    let to_stderr = format!("{{ {TICKS}; }} >&2");
    assert_eq!(cause(&mut it, apart(&to_stderr)).await, Cause::Exited { code: 0 });
    // The control: what it writes to a file is no output.
    let to_file = format!("{{ {TICKS}; }} > file; sleep 60");
    let brief = Duration::from_millis(500);
    assert_eq!(cause(&mut it, quiet_for(brief, session, &to_file)).await, SILENT);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_silence_and_the_wall_clock_are_two() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let both = |timeout, idle| Grant { timeout, ..quiet_for(idle, session, "sleep 60") };
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(30));
    assert_eq!(cause(&mut it, both(short, long)).await, Cause::TimedOut(TimeoutKind::Wall));
    assert_eq!(cause(&mut it, both(long, short)).await, SILENT);
    // Who writes all the time has the wall clock alone.
    let writes = Grant { timeout: Duration::from_secs(1), ..quiet_for(PATIENT, session, TICKS) };
    assert_eq!(cause(&mut it, writes).await, Cause::TimedOut(TimeoutKind::Wall));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_counts_in_the_background_too() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(quiet_for(Duration::from_secs(1), session, "echo ready; sleep 60")).await;
    let timeout = Duration::from_secs(30);
    it.link.send(ToRunner::DetachJob { execution_id: id, timeout }).await;
    let ended = it.job(id, JobPhase::Ended).await;
    assert_eq!(ended.result.map(|result| result.cause), Some(SILENT));
    it.shut_down().await;
}
