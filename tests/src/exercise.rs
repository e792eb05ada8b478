//! Performs every operation that telemetry reports once, with a server, a runner and clients. Examples are commands
//! that succeed and fail, files, input, approvals, wrong credentials, and a runner that dies. Each text from a client
//! or a command contains [`CANARY`].

use std::{
    io::{Cursor, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    process::{Process, until},
    reader::{self, Story, cause, ended, read, run, running, spec, spec_in},
    site::{Extras, PATIENCE, Site, sha256},
};
use airlock_client::{
    Client, Events, From, Progress,
    v1::{self, approval_service_decide_request as decide},
};

/// A text that must not occur in an export or a log line.
pub const CANARY: &str = "canary7f3a91";

/// A text that commands put into requests to other hosts only when they run: no command, variable or output contains
/// it. Only the requested server may see it.
pub const SENT: &str = "canary9d24c8";
/// Sets the variable `c` to [`SENT`].
const SETS_SENT: &str = "c=$(printf '%s%s' canary 9d24c8)";

/// The trace ID of the client.
pub const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
/// The span ID of the client.
pub const CALLER: &str = "b7ad6b7169203331";

/// A number of bytes larger than all buffers between command and reader.
const MUCH: usize = 30_000_000;
const BOB: &str = "bobs-own-token-of-the-test-which-is-long-enough";
/// A profile that asks about one script, and denies one program.
const ASKS: &str = "name = \"asks\"\nextends = \"sandboxed\"\n[policy]\nask = [\"Bash(bash x.sh:*)\"]\n\
    deny = [\"Bash(shutdown:*)\"]\n";
/// A profile that keeps little output.
const SMALL: &str = "name = \"small\"\nextends = \"sandboxed\"\n[limits]\noutput_bytes = 65536\n";
/// A profile that needs a secret that the runner does not have.
const WANTS: &str = "name = \"wants\"\nextends = \"sandboxed\"\nsecrets = [\"NOT_HERE\"]\n";

/// A profile with a network, which allows only the target.
const NET: &str = "name = \"net\"\nextends = \"sandboxed\"\nnetwork = { allow = [\"TARGET\"] }\n";

/// A profile with a hook that cannot be reached.
const HOOKED: &str = "name = \"hooked\"\nextends = \"sandboxed\"\nhooks = [{ name = \"away\" }]\n";
/// The table of the hook. Nothing listens on this port.
const AWAY: &str = "[hooks.away]\naddress = \"http://127.0.0.1:1\"\ninsecure_loopback = true\n";

/// A running site.
#[derive(Debug)]
pub struct Exercise {
    /// The directory of its files.
    pub site: Site,
    server: Process,
    runner: Option<Process>,
    agent: Client,
    /// A client of the agent that does not retry.
    hasty: Client,
    bob: Client,
    /// The only host that commands reach.
    target: Target,
}

impl Exercise {
    /// Starts a server and a runner that send their telemetry to this collector every second.
    ///
    /// # Panics
    /// If they do not start.
    pub async fn start(endpoint: &str) -> Self {
        Self::start_on(endpoint, String::new(), &[]).await
    }

    /// Like [`Self::start`], with these tables for store and outputs, and these variables of the server.
    ///
    /// # Panics
    /// If they do not start.
    pub async fn start_on(endpoint: &str, state: String, env: &[(&str, &str)]) -> Self {
        let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_interval = \"1s\"\n");
        let bob = format!(
            "[[identity]]\nname = \"bob\"\ntenant = \"acme\"\nroles = [\"approver\"]\n\
             match = {{ token_sha256 = \"{}\" }}\n",
            sha256(BOB.as_bytes())
        );
        let server = format!("{bob}{telemetry}log_format = \"json\"\n{AWAY}[limits]\nring_bytes = 131072\n");
        let target = Target::start();
        let net = NET.replace("TARGET", &target.address);
        let floor = format!("[floor.network]\nany = true\nallow = [\"{}\"]\n", target.address);
        let profiles =
            [("asks", ASKS), ("hooked", HOOKED), ("net", net.as_str()), ("small", SMALL), ("wants", WANTS)];
        let site = Site::with(Extras {
            state,
            server_tables: server,
            runner_tables: telemetry + &floor,
            profiles: profiles.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
            ..Extras::default()
        });
        let (server, runner) = (site.server(env), site.runner(&[]));
        drop(site.ready().await);
        let mut settings = site.settings();
        settings.traceparent = Some(format!("00-{TRACE}-{CALLER}-01"));
        let agent = Client::connect(settings.clone()).await.unwrap();
        settings.patience.call = Duration::ZERO;
        let hasty = Client::connect_lazy(settings).unwrap();
        let bob = Client::connect_lazy(site.settings_with(BOB)).unwrap();
        Self { site, server, runner: Some(runner), agent, hasty, bob, target }
    }

    /// Returns the trace context that a command receives.
    ///
    /// # Panics
    /// If it does not run.
    pub async fn traceparent(&self) -> String {
        let story = run(&self.agent, spec("echo $TRACEPARENT")).await.unwrap();
        String::from_utf8(story.stdout).unwrap().trim().to_owned()
    }

    /// Runs everything. `sent` returns the number of the runner's exports of metrics; a killed runner sends no more.
    ///
    /// # Panics
    /// If a result is not the expected one.
    pub async fn everything(&mut self, sent: &dyn Fn() -> usize) {
        let session = self.session("asks").await;
        Box::pin(self.commands(&session)).await;
        self.refusals(&session).await;
        self.connections().await;
        let hooked = v1::ExecutionSpec {
            profile: "hooked".to_owned(),
            ..Self::told("", &format!("echo asked {CANARY}"))
        };
        assert_eq!(run(&self.agent, hooked).await.unwrap().exit_code(), Some(0), "no opinion");
        self.approval(&session).await;
        self.files(&session).await;
        self.outputs().await;
        self.strangers().await;
        let before = sent();
        // The first export may have been in progress.
        tokio::task::block_in_place(|| {
            until("the runner sends them twice", PATIENCE, || sent() > before + 1);
        });
        self.lost_runner().await;
        self.agent.close_session(&session).await.unwrap();
        // A command on the runner that stops in order and sends all its telemetry.
        run(&self.agent, Self::told("", "echo last")).await.unwrap();
    }

    /// Starts a command and creates a session while the store is unavailable, and returns the errors.
    ///
    /// # Panics
    /// If one succeeds.
    pub async fn untaken(&self) -> [String; 2] {
        let command = Self::told("", &format!("echo {CANARY}; date +%N"));
        let command = self.hasty.start(command).await.unwrap_err();
        let labels = [("told".to_owned(), CANARY.to_owned())].into_iter().collect();
        let request = v1::SessionServiceCreateRequest { labels, ..Default::default() };
        let session = self.hasty.create_session(request).await.unwrap_err();
        [command, session].map(|error| format!("{error} {error:?}"))
    }

    /// Runs a command while its output cannot be stored, and returns its execution.
    ///
    /// # Panics
    /// If it does not run.
    pub async fn unstored(&self) -> String {
        let much = format!("yes {CANARY} | head -c 200000");
        run(&self.agent, Self::told("", &much)).await.unwrap().end.unwrap().execution_id
    }

    /// Waits until the output of an execution is stored.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn stored(&self, execution: &str) {
        reader::stored(&self.agent, execution).await;
    }

    /// Returns all rows of all tables of the store, which must be a file of SQLite.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn rows(&self) -> String {
        let file = self.site.path().join("airlock.db");
        let dump = Command::new("sqlite3").arg(file).arg(".dump").output().unwrap();
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        String::from_utf8(dump.stdout).unwrap()
    }

    /// Stops both programs in order, and returns their logs.
    ///
    /// # Panics
    /// If one of them fails.
    pub fn stop(self) -> String {
        let Self { site, server, runner, agent, hasty, bob, target: _target } = self;
        drop((agent, hasty, bob));
        assert!(runner.unwrap().terminate(PATIENCE).success());
        assert!(server.terminate(PATIENCE).success());
        ["server", "runner-1"].map(|name| std::fs::read_to_string(site.log(name)).unwrap()).concat()
    }

    async fn session(&self, profile: &str) -> String {
        let request = v1::SessionServiceCreateRequest {
            profile: profile.to_owned(),
            env: [(format!("SESSION_{CANARY}"), CANARY.into())].into_iter().collect(),
            labels: [("told".to_owned(), CANARY.to_owned())].into_iter().collect(),
            ..Default::default()
        };
        self.agent.create_session(request).await.unwrap().session_id
    }

    /// Returns a command with the canary in every field.
    fn told(session: &str, command: &str) -> v1::ExecutionSpec {
        v1::ExecutionSpec {
            description: format!("Say {CANARY}"),
            env: [(format!("OF_{CANARY}"), CANARY.into())].into_iter().collect(),
            labels: [("told".to_owned(), CANARY.to_owned())].into_iter().collect(),
            request_id: format!("{CANARY}-{}", sha256(command.as_bytes()).get(..8).unwrap_or_default()),
            ..spec_in(session, command)
        }
    }

    async fn commands(&self, session: &str) {
        let write = format!("mkdir -p {CANARY}; echo {CANARY} | tee {CANARY}/file; cd {CANARY}");
        let story = run(&self.agent, Self::told(session, &write)).await.unwrap();
        assert_eq!(story.stdout, format!("{CANARY}\n").as_bytes());
        let bad = format!("cd /workspace; cat {CANARY}-not-there; exit 3");
        assert_eq!(run(&self.agent, Self::told(session, &bad)).await.unwrap().exit_code(), Some(3));
        let killed = run(&self.agent, Self::told(session, &format!(": {CANARY}; kill -9 $$"))).await.unwrap();
        assert_eq!(cause(killed.end.as_ref().unwrap()), v1::CauseCode::Signaled);
        // The policy cannot see this name.
        let protected = format!(
            "python3 -c 'import os; os.mkdir(\"d\"); open(\"d/.bash\" + \"rc\", \"w\").write(\"{CANARY}\")'"
        );
        let story = run(&self.agent, Self::told(session, &protected)).await.unwrap();
        assert_eq!(story.exit_code(), Some(0), "{:?}", story.end);
        assert!(!story.end.unwrap().result.unwrap().violations.is_empty(), "the file was moved away");
        let slow = v1::ExecutionSpec {
            timeout: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
            ..Self::told(session, &format!(": {CANARY}; sleep 60"))
        };
        let timed = run(&self.agent, slow).await.unwrap();
        assert_eq!(cause(timed.end.as_ref().unwrap()), v1::CauseCode::TimedOut);
        let input = v1::ExecutionSpec { stdin: true, ..Self::told(session, "cat") };
        let reads = self.agent.start(input).await.unwrap().execution_id;
        running(&self.agent, &reads).await;
        let mut typed = Cursor::new(CANARY.as_bytes().to_vec());
        self.agent.write_stdin(&reads, 0, &mut typed).await.unwrap();
        assert_eq!(read(self.agent.attach(&reads, From::Beginning)).await.unwrap().stdout, CANARY.as_bytes());
    }

    /// Asks the proxy for a host that the rules refuse, and for one that they allow. A canary is in everything that the
    /// proxy sees except the host.
    async fn connections(&self) {
        let target = &self.target.address;
        let ask = format!(
            "{SETS_SENT}; for host in refused.example {target}; do \
             curl -sS --noproxy '' -H \"X-Told: $c\" -u \"$c:$c\" \"http://$host/$c?told=$c\"; done"
        );
        let net = v1::ExecutionSpec { profile: "net".to_owned(), ..Self::told("", &ask) };
        let story = run(&self.agent, net).await.unwrap();
        let (said, result) =
            (format!("{:?} {:?}", story.stdout, story.end), story.end.unwrap().result.unwrap());
        let mut hosts: Vec<&str> = result.connections.iter().map(|one| one.host.as_str()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, ["127.0.0.1", "refused.example"], "{result:?}");
        assert!(!said.contains(SENT), "{said}");
        assert!(!format!("{:?} {:?}", result.connections, result.violations).contains(CANARY), "{result:?}");
        let seen = self.target.seen.lock().unwrap().clone();
        // The credential is encoded.
        assert_eq!(seen.matches(SENT).count(), 3, "the target got the request: {seen}");
    }

    /// Starts commands that do not run, because of the policy or the runner, or because they are empty.
    async fn refusals(&self, session: &str) {
        for denied in [format!("shutdown {CANARY}"), format!("echo '{CANARY}"), format!("$({CANARY}")] {
            run(&self.agent, Self::told(session, &denied)).await.unwrap_err();
        }
        let wants = v1::ExecutionSpec { profile: "wants".to_owned(), ..Self::told("", "echo never") };
        let refused = run(&self.agent, wants).await.unwrap();
        assert_eq!(cause(refused.end.as_ref().unwrap()), v1::CauseCode::Refused);
        self.agent.execution(CANARY).await.unwrap_err();
        let profile = v1::ExecutionSpec { profile: CANARY.to_owned(), ..spec("true") };
        run(&self.agent, profile).await.unwrap_err();
        let request =
            v1::PolicyServiceCheckRequest { command: format!("rm -rf {CANARY}"), ..Default::default() };
        self.agent.policy().check(request).await.unwrap();
    }

    async fn approval(&self, session: &str) {
        let script = format!("cd /workspace; printf 'echo {CANARY}' > x.sh");
        run(&self.agent, spec_in(session, &script)).await.unwrap();
        let end = self.approved(Self::told(session, &format!("bash x.sh {CANARY}"))).await;
        assert_eq!(end.stdout, format!("{CANARY}\n").as_bytes());
    }

    /// Runs a command that needs an approval.
    async fn approved(&self, spec: v1::ExecutionSpec) -> Story {
        let asks = v1::ExecutionSpec { on_ask: v1::OnAsk::Wait.into(), ..spec };
        let id = self.agent.start(asks).await.unwrap().execution_id;
        let open = self.bob.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap();
        let approval = open.approvals.into_iter().find(|open| open.execution_id == id).unwrap();
        let request = v1::ApprovalServiceDecideRequest {
            approval_id: approval.approval_id,
            binding: approval.binding,
            answer: Some(decide::Answer::AllowOnce(decide::AllowOnce {})),
        };
        self.bob.decide(request).await.unwrap();
        read(self.agent.attach(&id, From::Beginning)).await.unwrap()
    }

    async fn files(&self, session: &str) {
        let header = v1::UploadHeader {
            session_id: session.to_owned(),
            path: format!("{CANARY}-up"),
            format: v1::FileFormat::File.into(),
            ..Default::default()
        };
        let mut source = Cursor::new(CANARY.as_bytes().to_vec());
        self.agent.upload(header, &mut source, &Progress::default()).await.unwrap();
        self.agent.stat(session, format!("{CANARY}-up").as_bytes()).await.unwrap();
        self.agent.stat(session, format!("{CANARY}-none").as_bytes()).await.unwrap_err();
        self.agent.stat(session, format!("../{CANARY}").as_bytes()).await.unwrap_err();
        let to = self.site.path().join("came");
        let path = format!("{CANARY}-up");
        let done = self.agent.download_file(session, path.as_bytes(), &to, &Progress::default()).await;
        done.unwrap();
        assert_eq!(std::fs::read(to).unwrap(), CANARY.as_bytes());
    }

    /// Produces an output with a gap, and reads it late.
    async fn outputs(&self) {
        let much = format!("yes {CANARY} | head -c 1000000");
        let small = v1::ExecutionSpec { profile: "small".to_owned(), ..Self::told("", &much) };
        let execution = self.agent.start(small).await.unwrap().execution_id;
        ended(&self.agent, &execution).await;
        let story = read(self.agent.attach(&execution, From::Beginning)).await.unwrap();
        assert!(story.missing > 0, "the middle was cut");
        // While it runs, one reader receives all of it, and the other one no data.
        let much = format!("yes {CANARY} | head -c {MUCH}; until [ -e go ]; do sleep 0.05; done");
        let session = self.session("sandboxed").await;
        let mut late = self.agent.run(Self::told(&session, &much));
        while late.execution_id().is_none() {
            late.next().await.unwrap();
        }
        let id = late.execution_id().unwrap().to_owned();
        read_much(&mut self.agent.attach(&id, From::Beginning)).await;
        read_much(&mut late).await;
        let go = v1::ExecutionSpec { allow_concurrent: true, ..Self::told(&session, "touch go") };
        run(&self.agent, go).await.unwrap();
        assert_eq!(read(late).await.unwrap().exit_code(), Some(0));
    }

    /// Connects with an unknown token and without TLS, and adds an invalid profile.
    async fn strangers(&self) {
        let token = format!("{CANARY}-is-nobodys-token-however-long-it-may-be");
        let stranger = Client::connect_lazy(self.site.settings_with(&token)).unwrap();
        stranger.execution("x").await.unwrap_err();
        let mut plain = TcpStream::connect(self.site.address).unwrap();
        plain.write_all(format!("GET /{CANARY} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let broken = self.site.path().join("profiles/broken.toml");
        std::fs::write(&broken, "name = \"broken\"\nno_key = 1\n").unwrap();
        let seen = || self.server.output().contains("no_key");
        tokio::task::block_in_place(|| until("the server refuses the profile", PATIENCE, seen));
        std::fs::remove_file(broken).unwrap();
    }

    /// Kills a runner, and truncates the output on its disk.
    async fn lost_runner(&mut self) {
        let spec = Self::told("", &format!("echo {CANARY}; sleep 600"));
        let mut events = self.agent.run(spec);
        while !matches!(events.next().await.unwrap().unwrap().event, Some(v1::event::Event::Output(_))) {}
        let id = events.execution_id().unwrap().to_owned();
        let runner = self.runner.take().unwrap();
        runner.kill();
        let spool = self.site.path().join("runner-1/spool").join(&id);
        airlock_mounts::remove_tree(&spool).unwrap();
        self.runner = Some(self.site.runner(&[]));
        assert_eq!(cause(&ended(&self.agent, &id).await), v1::CauseCode::RunnerLost);
        drop(events);
        let lost = |now: &v1::Execution| {
            matches!(now.output_state(), v1::OutputState::Lost | v1::OutputState::Partial)
        };
        reader::until(&self.agent, &id, lost).await;
    }
}

/// Reads [`MUCH`] bytes of an output.
async fn read_much(events: &mut Events) {
    let mut seen = 0;
    while seen < MUCH {
        if let Some(v1::event::Event::Output(output)) = events.next().await.unwrap().unwrap().event {
            seen += output.data.len();
        }
    }
}

/// A server that records requests. It ends with the process of the test.
#[derive(Debug)]
struct Target {
    address: String,
    seen: Arc<Mutex<String>>,
}

impl Target {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen: Arc<Mutex<String>> = Arc::default();
        let record = Arc::clone(&seen);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut buffer = [0; 4096];
                let mut text = String::new();
                while !text.contains("\r\n\r\n")
                    && let Ok(count @ 1..) = stream.read(&mut buffer)
                {
                    text += &String::from_utf8_lossy(buffer.get(..count).unwrap_or_default());
                }
                record.lock().unwrap().push_str(&text);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            }
        });
        Self { address, seen }
    }
}
