//! The server is killed after it has written down that a command goes to the background, and before it has
//! told its runner. The runner is told all the same.

#![expect(clippy::panic, reason = "a test")]

use std::os::unix::process::ExitStatusExt as _;

use airlock_cli::client::v1;
use airlock_tests::{
    process::Process,
    reader::{cause, exit_code, run, spec_in},
    site::{Extras, PATIENCE, Site},
};

/// Where a request gives no time, the foreground has less than the command takes.
const PROFILE: &str = "name = \"short\"\nextends = \"sandboxed\"\n[limits]\ntimeout_default = \"4s\"\n";
const COMMAND: &str = "mkdir d; cd d; sleep 8; exit 7";

fn dead(mut server: Process) {
    let status = server.wait(PATIENCE).unwrap_or_else(|| panic!("it was not hit:\n{}", server.output()));
    assert_eq!(status.signal(), Some(9), "{}", server.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_runner_was_told() {
    let site =
        Site::with(Extras { profiles: vec![("short".to_owned(), PROFILE.to_owned())], ..Extras::default() });
    let _runner = site.runner(&[]);
    let server = site.server(&[]);
    let client = site.ready().await;
    let wanted = v1::SessionServiceCreateRequest { profile: "short".to_owned(), ..Default::default() };
    let session = client.create_session(wanted).await.unwrap().session_id;

    // The control: in the foreground it does not live so long.
    let story = run(&client, spec_in(&session, "sleep 8")).await.unwrap();
    assert_eq!(cause(&story.end.unwrap()), v1::CauseCode::TimedOut);

    // Its steps in this life of the server: starting, running, in the background.
    server.kill();
    let server = site.server(&[("AIRLOCK_FAULT", "after_store_write/transition:3")]);
    let client = site.ready().await;
    let execution = client.start(spec_in(&session, COMMAND)).await.unwrap().execution_id;
    let killed = {
        let (client, execution) = (client.clone(), execution.clone());
        tokio::spawn(async move {
            // Refused until it runs; then the server dies of it.
            while client.detach(&execution).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
    };
    dead(server);
    killed.abort();
    let server = site.server(&[]);
    let client = site.ready().await;
    let now = client.execution(&execution).await.unwrap();
    assert_eq!(now.backgrounded_by(), v1::BackgroundedBy::Client);
    let end = client.wait(&execution, PATIENCE).await.unwrap();
    assert_eq!(exit_code(&end), Some(7), "{end:?}");
    let here = run(&client, spec_in(&session, "pwd")).await.unwrap();
    assert_eq!(here.stdout, b"/workspace\n", "it has moved nothing");
    assert!(server.terminate(PATIENCE).success());
}
