//! After any number of commands, a server and a runner in one process have as many tasks as before.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use airlock_client::v1;
use airlock_runner::{Runner, RunnerConfig};
use airlock_server::{config::Config, wiring::Server};
use airlock_tests::{
    process::until,
    reader::{ended, replay, run, spec_in},
    site::{PATIENCE, Site},
};
use tokio::runtime::Runtime;

/// No task that ends with a command takes this long. If the wait is too short, the test still passes.
const QUIET: Duration = Duration::from_secs(2);

/// Returns the number of tasks once none has ended for a while. A number that is too large would hide a
/// leak.
fn settled(tasks: impl Fn() -> usize) -> usize {
    let (fewest, since) = (Cell::new(tasks()), Cell::new(Instant::now()));
    until("the number of tasks no longer decreases", PATIENCE, || {
        if tasks() < fewest.get() {
            fewest.set(tasks());
            since.set(Instant::now());
        }
        since.get().elapsed() > QUIET
    });
    fewest.get()
}

#[test]
fn no_task_remains() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let site = Site::new();
    // Server and runner have a separate runtime, and so has the client.
    let (counted, outside) = (Runtime::new().unwrap(), Runtime::new().unwrap());
    let (server, runner) = counted.block_on(async {
        let config = Config::load(&site.path().join("server.toml")).unwrap();
        let server = Server::start(config).await.unwrap();
        let config = RunnerConfig::load(&site.path().join("runner-1.toml")).unwrap();
        (server, Runner::start(config).await.unwrap())
    });
    let tasks = || counted.metrics().num_alive_tasks();
    outside.block_on(async {
        let client = site.ready().await;
        let session =
            client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
        let commands = |count: usize| {
            let (client, session) = (client.clone(), session.clone());
            async move {
                for number in 0..count {
                    let story =
                        run(&client, spec_in(&session, &format!("seq {number}; exit 3"))).await.unwrap();
                    assert_eq!(story.exit_code(), Some(3));
                    let id = story.end.unwrap().execution_id;
                    if number % 10 == 0 {
                        replay(&client, &id).await.unwrap();
                        // A view that is dropped in the middle.
                        let long = client.start(spec_in(&session, "yes | head -c 3000000")).await.unwrap();
                        let mut events = client.attach(&long.execution_id, airlock_client::From::Beginning);
                        events.next().await.unwrap();
                        drop(events);
                        ended(&client, &long.execution_id).await;
                    }
                }
            }
        };
        Box::pin(commands(10)).await;
        let before = settled(tasks);
        Box::pin(commands(60)).await;
        until(&format!("{before} tasks before, {} now", tasks()), PATIENCE, || tasks() <= before);
        assert!(before > 0);
    });
    outside.shutdown_timeout(PATIENCE);
    counted.block_on(async {
        runner.shut_down().await;
        server.shut_down().await;
    });
    assert_eq!(tasks(), 0, "and none after shut-down");
}
