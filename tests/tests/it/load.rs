//! Five hundred commands, sixteen at a time. None is lost or repeated, no resource grows, and no resource remains after
//! shutdown.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use airlock_client::{Client, v1};
use airlock_tests::{
    footprint::{Leftovers, network_namespaces},
    process::{Process, until},
    reader::{run, spec, spec_in},
    site::{PATIENCE, Site},
};
use tokio::{sync::Semaphore, task::JoinSet};

const AT_ONCE: usize = 16;
const MEMORY_GROWTH: u64 = 8 << 20;

/// Runs the commands `from` to `to`, half in a shared session, half in separate sessions.
async fn commands(client: &Client, session: &str, from: usize, to: usize) -> BTreeSet<String> {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for number in from..to {
        let (client, session) = (client.clone(), session.to_owned());
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        running.spawn(async move {
            let command =
                format!("echo {number} >> /workspace/ran.txt; echo {number}; exit {}", number % 100);
            let spec = if number % 2 == 0 {
                v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, &command) }
            } else {
                spec(&command)
            };
            let story = run(&client, spec).await.unwrap();
            drop(permit);
            assert_eq!(story.stdout, format!("{number}\n").into_bytes());
            assert_eq!(story.exit_code(), Some(i32::try_from(number % 100).unwrap()), "{:?}", story.end);
            story.end.unwrap().execution_id
        });
    }
    let mut ids = BTreeSet::new();
    while let Some(id) = running.join_next().await {
        assert!(ids.insert(id.unwrap()), "a separate execution for each");
    }
    ids
}

/// Waits until a count has returned to its earlier value, because connections close a little later.
fn until_back(what: &str, before: usize, now: impl Fn() -> usize) {
    until(&format!("{what}: {before} before, {} now", now()), PATIENCE, || now() <= before);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_commands_leave_nothing_behind() {
    let namespaces = network_namespaces();
    let temporary = Leftovers::look("nothing-has-this-mark").temporary;
    let cgroups = Leftovers::look("nothing-has-this-mark").cgroups;
    let site = Site::new();
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let session = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;

    let mut ids = commands(&client, &session, 0, 100).await;
    settle(&client, &site).await;
    let sizes = |process: &Process| (process.memory(), process.descriptors());
    let (server_before, runner_before) = (sizes(&server), sizes(&runner));
    ids.extend(commands(&client, &session, 100, 500).await);
    settle(&client, &site).await;
    assert_eq!(ids.len(), 500, "no execution is lost");
    for (name, process, before) in [("server", &server, server_before), ("runner", &runner, runner_before)] {
        println!("{name}: {} bytes after 100 commands, {} after 500", before.0, process.memory());
        let memory = || usize::try_from(process.memory()).unwrap();
        until_back(
            &format!("bytes of the {name}"),
            usize::try_from(before.0 + MEMORY_GROWTH).unwrap(),
            memory,
        );
        until_back(&format!("descriptors of the {name}"), before.1, || process.descriptors());
    }
    let counted =
        run(&client, spec_in(&session, "sort -n ran.txt | uniq | wc -l; wc -l < ran.txt")).await.unwrap();
    assert_eq!(counted.stdout, b"250\n250\n", "no execution ran twice");
    client.close_session(&session).await.unwrap();

    drop(client);
    assert!(runner.terminate(PATIENCE).success());
    assert!(server.terminate(PATIENCE).success());
    let left = Leftovers::look(&site.mark());
    assert_eq!((left.processes, left.mounts, left.sockets), Default::default());
    assert_eq!(left.cgroups, cgroups);
    let mark = site.mark();
    let new: Vec<_> = left.temporary.difference(&temporary).filter(|path| !path.ends_with(&mark)).collect();
    assert!(new.is_empty(), "temporary files: {new:?}");
    let new: Vec<_> = network_namespaces().difference(&namespaces).cloned().collect();
    assert!(new.is_empty(), "network namespaces: {new:?}");
    let sessions: Vec<_> = std::fs::read_dir(site.path().join("runner-1/sessions")).unwrap().collect();
    assert!(sessions.is_empty(), "directories of sessions: {sessions:?}");
}

/// Waits until the server has stored all output and the runner has forgotten all jobs.
async fn settle(client: &Client, site: &Site) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let spool = site.path().join("runner-1/spool");
    loop {
        let page = client.executions(v1::ExecutionServiceListRequest::default()).await.unwrap();
        let mut open: Vec<_> = page.executions.iter().map(|one| one.output_state().as_str_name()).collect();
        open.retain(|state| !matches!(*state, "OUTPUT_STATE_STORED" | "OUTPUT_STATE_NONE"));
        let kept = std::fs::read_dir(&spool).unwrap().count();
        if open.is_empty() && kept == 0 {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "not stored: {open:?}; kept by the runner: {kept}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
