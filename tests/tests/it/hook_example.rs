//! The example of a hook in Python, with a server that asks it about real commands and delivers their results.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, process::Command};

use airlock_client::{
    Client, ClientError,
    v1::{self, approval_service_decide_request as decide},
};
use airlock_mounts::ScratchDir;
use airlock_tests::{
    pki::Pki,
    port::Port,
    process::{Process, until},
    reader::{Story, cause, ended, run, spec_in},
    site::{Extras, PATIENCE, Site},
    source,
    tools::python_packages,
};

/// The name in the server's certificate for hooks.
const CLIENT: &str = "server-1.airlock.example";
/// The profile allows what stays in the sandbox. Nothing in it decides about other commands.
const HOOKED: &str = "name = \"hooked\"\nextends = \"strict\"\n[approvals]\nself_approval = true\n\
    [[hooks]]\nname = \"tickets\"\nrequired = true\n\
    [[hooks]]\nname = \"data_loss\"\n\
    [[hooks]]\nname = \"classifier\"\n";

/// The files and the port of the hook.
struct Hooks {
    directory: ScratchDir,
    port: Port,
    pki: Pki,
}

impl Hooks {
    fn new() -> Self {
        let directory = ScratchDir::with_prefix("airlock-hook-");
        let pki = Pki::new(&directory.path().join("pki"));
        for (name, host) in [("hook", "localhost"), ("server", CLIENT)] {
            let _ = pki.issue(name, &[host]);
        }
        Self { directory, port: Port::reserve(), pki }
    }

    fn file(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Starts the example. It answers when this returns.
    fn start(&self) -> Process {
        let example = source::root().join("docs/examples/hook");
        let path = [python_packages("python"), source::root().join("clients/python/src")];
        let mut command = Command::new("/usr/bin/python3");
        command.arg(example.join("hook.py")).env("PYTHONPATH", std::env::join_paths(path).unwrap());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.args(["--listen", &self.port.address.to_string(), "--client", CLIENT]);
        for (option, file) in [
            ("--certificate", "pki/hook.pem"),
            ("--key", "pki/hook.key"),
            ("--client-ca", "pki/ca.pem"),
            ("--results", "results.db"),
        ] {
            command.arg(option).arg(self.file(file));
        }
        let process = Process::start(&mut command, &self.directory.path().join("hook.log"));
        until("the hook listens", PATIENCE, || process.output().contains("listening on port"));
        process
    }

    /// Returns the tables of the server's configuration.
    fn tables(&self) -> String {
        let table = |name: &str| {
            format!(
                "[hooks.{name}]\naddress = \"https://localhost:{}\"\nca = \"{}\"\ncertificate = \"{}\"\nkey = \"{}\"\n\
                 breaker_wait = \"1s\"\n",
                self.port.address.port(),
                self.pki.ca().display(),
                self.file("pki/server.pem"),
                self.file("pki/server.key"),
            )
        };
        ["tickets", "data_loss", "classifier"].map(table).concat()
    }

    /// Returns the results that the hook has written: execution, hook, cause, finding.
    fn results(&self) -> Vec<[String; 4]> {
        const READ: &str = "import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute('SELECT execution_id, hook, cause, found FROM results').fetchall()
print(json.dumps(rows))";
        let output =
            Command::new("/usr/bin/python3").args(["-c", READ, &self.file("results.db")]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until so many hooks have the result of an execution, and returns the findings.
    fn received(&self, id: &str, cause: &str, hooks: usize) -> Vec<String> {
        let of_execution = || -> Vec<[String; 4]> {
            self.results().into_iter().filter(|[execution, ..]| execution == id).collect()
        };
        until("every hook has the result", PATIENCE, || of_execution().len() == hooks);
        let rows = of_execution();
        assert!(rows.iter().all(|[_, _, found, _]| found == cause), "{rows:?}");
        rows.into_iter().map(|[.., found]| found).filter(|found| !found.is_empty()).collect()
    }
}

struct Fixture {
    client: Client,
    session: String,
    server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new(hooks: &Hooks) -> Self {
        let profiles = vec![("hooked".to_owned(), HOOKED.to_owned())];
        let site = Site::with(Extras { server_tables: hooks.tables(), profiles, ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        let request = v1::SessionServiceCreateRequest { profile: "hooked".to_owned(), ..Default::default() };
        let session = client.create_session(request).await.unwrap().session_id;
        Self { client, session, server, _runner: runner, site }
    }

    async fn run(&self, command: &str, description: &str) -> Result<Story, ClientError> {
        let description = description.to_owned();
        run(&self.client, v1::ExecutionSpec { description, ..spec_in(&self.session, command) }).await
    }

    /// Runs a command that is denied, and returns its execution with the message.
    async fn denied(&self, command: &str, description: &str) -> (String, String) {
        let error = self.run(command, description).await.unwrap_err();
        let execution = error.rejection().and_then(|rejection| rejection.execution_id.clone());
        (execution.unwrap(), error.to_string())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_denies_asks_and_allows_and_receives_each_result() {
    let hooks = Hooks::new();
    let _hook = hooks.start();
    let fixture = Fixture::new(&hooks).await;

    // A denial, which is final without an approver.
    let (denied, message) = fixture.denied("kubectl delete pod a", "roll out").await;
    assert!(message.contains("TICKET-123"), "{message}");
    assert_eq!(hooks.received(&denied, "CAUSE_CODE_DENIED", 1), [""; 0]);

    // The policy allows what only reads. The hook tightens it, and a person decides.
    let asking =
        v1::ExecutionSpec { on_ask: v1::OnAsk::Wait.into(), ..spec_in(&fixture.session, "echo npm publish") };
    let asked = fixture.client.start(asking).await.unwrap();
    assert_eq!(asked.state(), v1::ExecutionState::PendingApproval);
    let open = fixture.client.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap().approvals;
    let [approval] = &open[..] else { panic!("{open:?}") };
    let answer = v1::ApprovalServiceDecideRequest {
        approval_id: approval.approval_id.clone(),
        binding: approval.binding.clone(),
        answer: Some(decide::Answer::AllowOnce(decide::AllowOnce {})),
    };
    fixture.client.decide(answer).await.unwrap();
    let end = ended(&fixture.client, &asked.execution_id).await;
    assert_eq!(cause(&end), v1::CauseCode::Exited);
    hooks.received(&asked.execution_id, "CAUSE_CODE_EXITED", 3);

    // Nothing decides about this command, so that the hook's ALLOW counts.
    let story = fixture.run("make check", "").await.unwrap();
    let end = story.end.unwrap();
    assert_eq!(cause(&end), v1::CauseCode::Exited, "it ran");
    hooks.received(&end.execution_id, "CAUSE_CODE_EXITED", 3);
    // Without an opinion the question stays one for a person.
    let (unanswered, _) = fixture.denied("make other", "").await;
    hooks.received(&unanswered, "CAUSE_CODE_DENIED", 3);

    // The hook gets the output that clients see.
    let story = fixture.run("printf 'AKIA%s' ABCDEFGHIJKLMNOP", "").await.unwrap();
    let found = hooks.received(&story.end.unwrap().execution_id, "CAUSE_CODE_EXITED", 3);
    assert_eq!(found, ["an access key of AWS"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_was_away_receives_the_results_after_a_restart_of_both() {
    let hooks = Hooks::new();
    let hook = hooks.start();
    let mut fixture = Fixture::new(&hooks).await;
    hook.kill();
    // A required hook that cannot be asked denies.
    let (denied, _) = fixture.denied("echo here", "").await;
    assert_eq!(hooks.results(), [[""; 4]; 0]);
    fixture.server.kill_now();
    fixture.server = fixture.site.server(&[]);
    let _hook = hooks.start();
    hooks.received(&denied, "CAUSE_CODE_DENIED", 1);
    let client = fixture.site.ready().await;
    let now = client.execution(&denied).await.unwrap();
    assert_eq!(cause(&now), v1::CauseCode::Denied);
    assert!(fs::read_to_string(hooks.directory.path().join("hook.log")).is_ok());
}
