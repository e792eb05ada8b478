//! The load of agents on a fleet of a server and two runners: sessions with files and programs, commands that succeed
//! and fail, denied commands, commands that need an approval, and occasional bursts.

use std::time::{Duration, Instant};

use airlock_client::{
    Client, Progress,
    v1::{self, approval_service_decide_request as decide},
};
use airlock_tests::{
    process::Process,
    reader::{run, spec, spec_in},
    site::{Extras, Site, sha256},
};
use tokio::task::JoinSet;

const BOB: &str = "bobs-own-token-of-the-test-which-is-long-enough";
const AGENTS: u64 = 6;
/// The number of commands in a burst.
const CROWD: u64 = 30;
const PROFILE: &str = "name = \"work\"\nextends = \"sandboxed\"\n[policy]\nask = [\"Bash(bash deploy.sh:*)\"]\n\
    deny = [\"Bash(shutdown:*)\"]\n[limits]\noutput_bytes = 1048576\n";

/// Commands of agents; more frequent ones are repeated.
const COMMANDS: [&str; 14] = [
    "ls -la /usr/bin | head -40",
    "grep -rn 'def ' . | wc -l",
    "git init -q . 2>/dev/null; git add -A; git status --short | head",
    "python3 -c 'print(sum(i * i for i in range(2000000)))'",
    "sort -r notes | uniq -c | sort -n | tail -5",
    "sleep 0.7; echo done",
    "for i in 1 2 3 4 5; do echo step $i; sleep 0.2; done",
    "find /usr/share -name '*.txt' 2>/dev/null | head -200",
    "seq 200000 | sha256sum",
    "cat not-there",
    "exit 2",
    "yes a line of output | head -c 3000000",
    "mkdir -p sub; python3 -c 'open(\"sub/.bash\" + \"rc\", \"w\").write(\"x\")'",
    "shutdown now",
];

/// Runs the load for this duration, and stops in order.
pub(crate) async fn of_a_fleet(endpoint: &str, long: Duration) {
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_interval = \"1s\"\n");
    let bob = format!(
        "[[identity]]\nname = \"bob\"\ntenant = \"acme\"\nroles = [\"approver\"]\nmatch = {{ token_sha256 = \"{}\" }}\n\
         [[identity]]\nname = \"runner-2\"\ntenant = \"system\"\nroles = [\"runner\"]\nmatch = {{ common_name = \"runner-2\" }}\n",
        sha256(BOB.as_bytes())
    );
    let site = Site::with(Extras {
        server_tables: format!("{bob}{telemetry}"),
        runner_tables: telemetry,
        profiles: vec![("work".to_owned(), PROFILE.to_owned())],
        ..Extras::default()
    });
    site.write_runner("runner-2", &site.pki.issue("runner-2", &[]));
    let (server, first) = (site.server(&[]), site.runner(&[]));
    let second = start(&site);
    let client = site.ready().await;
    let until = Instant::now() + long;

    let mut work = JoinSet::new();
    for number in 0..AGENTS {
        work.spawn(agent(client.clone(), number, until));
    }
    work.spawn(crowds(client.clone(), until));
    work.spawn(approver(Client::connect_lazy(site.settings_with(BOB)).unwrap(), until));
    work.spawn(strangers(Client::connect_lazy(site.settings_with(&"nobody".repeat(8))).unwrap(), until));
    tokio::time::sleep(long.mul_f64(0.6)).await;
    second.kill();
    tokio::time::sleep(long.mul_f64(0.1)).await;
    let second = start(&site);
    while work.join_next().await.is_some() {}
    drop(client);
    for process in [first, second, server] {
        assert!(process.terminate(Duration::from_secs(60)).success());
    }
}

fn start(site: &Site) -> Process {
    Process::start(&mut site.command("airlock-runner", "runner-2"), &site.log("runner-2"))
}

/// Simulates one agent: a session with a file, and commands in sequence. The death of a runner is part of it.
async fn agent(client: Client, number: u64, until: Instant) {
    let mut random = fastrand::Rng::with_seed(number);
    while Instant::now() < until {
        let request = v1::SessionServiceCreateRequest { profile: "work".to_owned(), ..Default::default() };
        let Ok(session) = client.create_session(request).await else { continue };
        let session = session.session_id;
        let header = v1::UploadHeader {
            session_id: session.clone(),
            path: "notes".into(),
            format: v1::FileFormat::File.into(),
            ..Default::default()
        };
        let mut notes = std::io::Cursor::new("a note\nanother\n".repeat(20_000).into_bytes());
        let _ = client.upload(header, &mut notes, &Progress::default()).await;
        for _ in 0..random.usize(8..25) {
            let command = COMMANDS.get(random.usize(..COMMANDS.len()).min(random.usize(..COMMANDS.len())));
            let command = command.copied().unwrap_or_default();
            let asks = random.u8(..12) == 0;
            let command = if asks { "printf 'echo deployed' > deploy.sh; bash deploy.sh" } else { command };
            let on_ask = if asks { v1::OnAsk::Wait } else { v1::OnAsk::Fail };
            let _ =
                run(&client, v1::ExecutionSpec { on_ask: on_ask.into(), ..spec_in(&session, command) }).await;
            if Instant::now() > until {
                break;
            }
        }
        let _ = client.close_session(&session).await;
    }
}

/// Starts more commands than there are slots, every 30 seconds.
async fn crowds(client: Client, until: Instant) {
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_secs(30)).await;
        let mut crowd = JoinSet::new();
        for number in 0..CROWD {
            let client = client.clone();
            let command = format!("sleep {}; echo {number}", 1 + number % 4);
            crowd.spawn(async move { run(&client, spec(&command)).await.is_ok() });
        }
        crowd.join_all().await;
    }
}

/// Simulates an approver who answers after some seconds.
async fn approver(client: Client, until: Instant) {
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let Ok(open) = client.approvals(v1::ApprovalServiceListRequest::default()).await else { continue };
        for approval in open.approvals {
            let answer = match approval.approval_id.as_bytes().last().is_some_and(|last| last % 4 == 0) {
                true => decide::Answer::Deny(decide::Deny { reason: "not today".to_owned() }),
                false => decide::Answer::AllowOnce(decide::AllowOnce {}),
            };
            let request = v1::ApprovalServiceDecideRequest {
                approval_id: approval.approval_id,
                binding: approval.binding,
                answer: Some(answer),
            };
            let _ = client.decide(request).await;
        }
    }
}

/// Simulates a client with an unknown token.
async fn strangers(client: Client, until: Instant) {
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_secs(7)).await;
        let _ = client.execution("x").await;
    }
}
