//! The server is killed after it has recorded that a command goes to the background, and before it has informed the
//! runner. The server informs the runner after the restart.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    os::unix::process::ExitStatusExt as _,
    time::{Duration, Instant},
};

use airlock_client::{Client, v1};
use airlock_tests::{
    process::Process,
    reader::{cause, ended, exit_code, run, spec_in},
    site::{Extras, PATIENCE, Site},
};

/// Default timeouts in the foreground, in seconds. The killed server must be back within the timeout; on a busy host
/// the next longer one is tried.
const LIMITS: [u64; 4] = [4, 16, 64, 256];
const COMMAND: &str = "mkdir d; cd d; until [ -e /workspace/go ]; do sleep 0.1; done; exit 7";

fn profile(limit: u64) -> (String, String) {
    let name = format!("short-{limit}");
    let text =
        format!("name = \"{name}\"\nextends = \"sandboxed\"\n[limits]\ntimeout_default = \"{limit}s\"\n");
    (name, text)
}

async fn session(client: &Client, limit: u64) -> String {
    let wanted = v1::SessionServiceCreateRequest { profile: profile(limit).0, ..Default::default() };
    client.create_session(wanted).await.unwrap().session_id
}

fn dead(mut server: Process) {
    let status = server.wait(PATIENCE).unwrap_or_else(|| panic!("it was not hit:\n{}", server.output()));
    assert_eq!(status.signal(), Some(9), "{}", server.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_runner_was_told() {
    let profiles = LIMITS.map(profile).to_vec();
    let site = Site::with(Extras { profiles, ..Extras::default() });
    let _runner = site.runner(&[]);
    let server = site.server(&[]);
    let client = site.ready().await;

    // The control: in the foreground the timeout ends the command.
    let story = run(&client, spec_in(&session(&client, LIMITS[0]).await, COMMAND)).await.unwrap();
    assert_eq!(cause(&story.end.unwrap()), v1::CauseCode::TimedOut);

    server.kill();
    for limit in LIMITS {
        let (took, end) = Box::pin(outlives(&site, limit)).await;
        if cause(&end) == v1::CauseCode::TimedOut {
            // The server was back too late to tell the runner in time, or did not tell it.
            assert!(
                took >= Duration::from_secs(limit) / 4,
                "the runner was not told; restarted after {took:?}"
            );
            continue;
        }
        assert_eq!(exit_code(&end), Some(7), "{end:?}");
        return;
    }
    panic!("no server restarted in time");
}

/// Runs a command that is detached at a server that dies at this step. Returns the time until the server was restarted,
/// and the ended execution.
async fn outlives(site: &Site, limit: u64) -> (Duration, v1::Execution) {
    // The third transition since the server's start: starting, running, in the background.
    let server = site.server(&[("AIRLOCK_FAULT", "after_store_write/transition:3")]);
    let client = site.ready().await;
    let session = session(&client, limit).await;
    let began = Instant::now();
    let execution = client.start(spec_in(&session, COMMAND)).await.unwrap().execution_id;
    let detaching = {
        let (client, execution) = (client.clone(), execution.clone());
        tokio::spawn(async move {
            // The call is refused until the command runs; then the server dies.
            while client.detach(&execution).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
    };
    dead(server);
    detaching.abort();
    let died = Instant::now();
    let server = site.server(&[]);
    let client = site.ready().await;
    let took = began.elapsed();
    let now = client.execution(&execution).await.unwrap();
    assert_eq!(now.backgrounded_by(), v1::BackgroundedBy::Client);
    // The command ran before the server died, so its timeout in the foreground has expired by then.
    let over = Duration::from_secs(limit + 1).saturating_sub(died.elapsed());
    tokio::time::sleep(over).await;
    let go = run(&client, spec_in(&session, "touch go")).await.unwrap();
    assert_eq!(go.exit_code(), Some(0));
    let end = ended(&client, &execution).await;
    let here = run(&client, spec_in(&session, "pwd")).await.unwrap();
    assert_eq!(here.stdout, b"/workspace\n", "it has changed no directory");
    assert!(server.terminate(PATIENCE).success());
    (took, end)
}
