//! Tests of a dev server, a watcher and a long build that run at the same time in one session. Clients reach, follow,
//! detach, await and end them. Also of their limits.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use airlock_client::{Client, Events, From, v1};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{Story, cause, ended, exit_code, read, replay, run, spec_in},
    site::{Extras, PATIENCE, Site},
};
use v1::{BackgroundedBy, CauseCode, ExecutionState, event::Event as Kind};

/// A port in the session's own loopback. No test listens on it on the host.
const PORT: u16 = 8973;
/// A script that prints each new file in `inbox` once.
const WATCHER: &str = r#"mkdir -p inbox; echo watching
while :; do
  for file in inbox/*; do
    [ -e "$file" ] || continue
    grep -qxF "$file" seen 2>/dev/null && continue
    echo "$file" >> seen; echo "new: $file"
  done
  sleep 0.05
done"#;
/// A makefile with forty steps, each of which creates a file for the watcher.
const MAKEFILE: &str = "cat > Makefile <<'END'
all: $(addprefix step-,$(shell seq 1 40))
step-%:
\t@echo building $@; sleep 0.05; mkdir -p inbox; echo $@ > inbox/$@
END";
const BUILD: &str = "make && echo built";

/// A profile with little output, a short timeout in the foreground and a long one in the background.
const BOUNDED: &str = "name = \"bounded\"\nextends = \"sandboxed\"\n[limits]\noutput_bytes = 1000000\n\
    timeout_default = \"2s\"\n";
/// A profile with a short timeout in the background, too.
const BRIEF: &str = "name = \"brief\"\nextends = \"bounded\"\n[limits]\ntimeout_max = \"3s\"\n";

struct Fixture {
    client: Client,
    server: Option<Process>,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let profiles = [("bounded", BOUNDED), ("brief", BRIEF)];
        let profiles = profiles.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
        let site = Site::with(Extras { profiles, ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        Self { client: site.ready().await, server: Some(server), _runner: runner, site }
    }

    async fn session(&self, profile: &str) -> String {
        let wanted = v1::SessionServiceCreateRequest { profile: profile.to_owned(), ..Default::default() };
        self.client.create_session(wanted).await.unwrap().session_id
    }

    async fn start(&self, session: &str, command: &str) -> String {
        let spec = v1::ExecutionSpec { background: true, ..spec_in(session, command) };
        self.client.start(spec).await.unwrap().execution_id
    }

    /// Runs a command in the session and returns its output.
    async fn said(&self, session: &str, command: &str) -> String {
        let story = run(&self.client, spec_in(session, command)).await.unwrap();
        String::from_utf8(story.stdout).unwrap()
    }

    fn logs(&self, id: &str) -> String {
        Airlock::at(&self.site).text(&["logs", id])
    }

    /// Waits until the output so far contains this text.
    fn until_logged(&self, id: &str, text: &str) {
        airlock_tests::process::until(text, PATIENCE, || self.logs(id).contains(text));
    }

    async fn end(&self, id: &str) -> v1::Execution {
        ended(&self.client, id).await
    }

    async fn state(&self, id: &str) -> (ExecutionState, BackgroundedBy) {
        let now = self.client.execution(id).await.unwrap();
        (now.state(), now.backgrounded_by())
    }
}

fn server_on(port: u16) -> String {
    format!("exec python3 -u -m http.server {port} --bind 127.0.0.1 2>&1")
}

fn curl() -> String {
    format!("curl -sS -m 120 http://127.0.0.1:{PORT}/Makefile 2>&1; echo \"curl: $?\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_a_watcher_and_a_build_go_on_beside_each_other_in_one_session() {
    let fixture = Fixture::new().await;
    let (session, other) = (fixture.session("sandboxed").await, fixture.session("sandboxed").await);
    let mut watch = fixture.client.watch(session.clone(), Default::default());
    watch.next().await.unwrap();
    fixture.said(&session, MAKEFILE).await;
    // Each is started when the previous one runs, because background commands that are started together have no
    // order.
    let server = fixture.start(&session, &server_on(PORT)).await;
    fixture.until_logged(&server, "Serving");
    let watcher = fixture.start(&session, WATCHER).await;
    fixture.until_logged(&watcher, "watching");
    let build = fixture.start(&session, BUILD).await;
    fixture.until_logged(&build, "building step-1\n");

    // A later command of the same session reaches the server; one of another session, and the host, do not.
    let page = fixture.said(&session, &curl()).await;
    assert!(page.starts_with("all: ") && page.ends_with("curl: 0\n"), "{page}");
    let refused = fixture.said(&other, &curl()).await;
    assert!(refused.ends_with("curl: 7\n"), "no process listens there: {refused}");
    assert!(TcpStream::connect(("127.0.0.1", PORT)).is_err(), "nor on the host");
    // The control: the other session reaches its own server on the same port.
    let own = fixture.start(&other, &server_on(PORT)).await;
    fixture.until_logged(&own, "Serving");
    assert!(fixture.said(&other, &curl()).await.ends_with("curl: 0\n"));

    assert_eq!(exit_code(&fixture.end(&build).await), Some(0), "{}", fixture.logs(&build));
    assert!(fixture.logs(&build).ends_with("building step-40\nbuilt"));
    fixture.until_logged(&watcher, "new: inbox/step-40");
    for step in 1..=40 {
        let line = format!("new: inbox/step-{step}\n");
        assert_eq!(format!("{}\n", fixture.logs(&watcher)).matches(&line).count(), 1, "{line}");
    }
    let running = (ExecutionState::Running, BackgroundedBy::Request);
    assert_eq!((fixture.state(&server).await, fixture.state(&watcher).await), (running, running));

    for id in [&server, &watcher] {
        fixture.client.cancel(id).await.unwrap();
        assert_eq!(cause(&fixture.end(id).await), CauseCode::Cancelled);
    }
    assert!(fixture.said(&session, &curl()).await.ends_with("curl: 7\n"), "it has ended");
    assert!(
        fixture.said(&other, &curl()).await.ends_with("curl: 0\n"),
        "and the other command's directory has not changed"
    );

    // The watch reports each start and each end once.
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    while ended.len() < 3 {
        let told = watch.next().await.unwrap();
        let id = told.execution.clone().unwrap_or_default().execution_id;
        if [&server, &watcher, &build].contains(&&id) {
            match told.kind() {
                v1::WatchKind::Started => started.push(id),
                v1::WatchKind::Finished => ended.push(id),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(started, [server.clone(), watcher.clone(), build.clone()], "in their order");
    assert_eq!(ended[0], build);
}

/// Reads until the stream has ended or the output contains this text.
async fn read_until(events: &mut Events, story: &mut Story, text: &str) {
    while story.end.is_none() && !String::from_utf8_lossy(&story.stdout).contains(text) {
        story.take(events.next().await.unwrap().unwrap());
    }
}

/// Reads the rest, after the events that were read before.
async fn go_on(mut events: Events, mut story: Story) -> Story {
    story.end = None;
    while let Some(event) = events.next().await.unwrap() {
        story.take(event);
    }
    story
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_them_is_detached_followed_read_waited_for_and_killed() {
    let fixture = Fixture::new().await;
    let session = fixture.session("sandboxed").await;
    fixture.said(&session, MAKEFILE).await;
    let endless = format!("{BUILD}; while :; do sleep 0.1; done");
    let server = server_on(PORT);
    for (command, ready) in
        [(server.as_str(), "Serving"), (WATCHER, "watching"), (endless.as_str(), "building step-2\n")]
    {
        let mut watch = fixture.client.watch(session.clone(), Default::default());
        watch.next().await.unwrap();
        let mut events = fixture.client.run(spec_in(&session, command));
        let mut story = Story::default();
        read_until(&mut events, &mut story, ready).await;
        let id = events.execution_id().unwrap().to_owned();
        // The command keeps its place in the session until it is detached.
        let next = fixture.client.start(spec_in(&session, "cd /tmp; pwd; cd /workspace")).await.unwrap();
        assert_eq!(next.state(), ExecutionState::Queued);
        let detached = fixture.client.detach(&id).await.unwrap();
        assert_eq!(detached.backgrounded_by(), BackgroundedBy::Client);
        while story.end.is_none() {
            story.take(events.next().await.unwrap().unwrap());
        }
        assert_eq!(story.end.as_ref().unwrap().state(), ExecutionState::Running, "the command continues");
        assert_eq!(exit_code(&fixture.end(&next.execution_id).await), Some(0), "{command}");
        for kind in [v1::WatchKind::Started, v1::WatchKind::Backgrounded] {
            let told = watch.next().await.unwrap();
            assert_eq!((told.kind(), told.execution.unwrap().execution_id), (kind, id.clone()));
        }
        // It is followed from the end of its stream, while another client waits for its result.
        let followed = tokio::spawn(go_on(fixture.client.attach(&id, events.position()), story));
        let waiting = {
            let (client, id) = (fixture.client.clone(), id.clone());
            tokio::spawn(async move { ended(&client, &id).await })
        };
        if command == endless {
            fixture.until_logged(&id, "built");
        }
        fixture.client.cancel(&id).await.unwrap();
        assert_eq!(cause(&waiting.await.unwrap()), CauseCode::Cancelled);
        let followed = followed.await.unwrap();
        let whole = replay(&fixture.client, &id).await.unwrap();
        assert_eq!((followed.missing, whole.missing), (0, 0));
        assert_eq!(followed.stdout, whole.stdout, "no byte twice, none missing");
        assert_eq!(fixture.logs(&id).trim_end(), String::from_utf8_lossy(&whole.stdout).trim_end());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn time_silence_and_output_are_bounded_in_the_background_too() {
    let fixture = Fixture::new().await;
    let (session, brief) = (fixture.session("bounded").await, fixture.session("brief").await);
    let begin = async |spec: v1::ExecutionSpec| {
        let spec = v1::ExecutionSpec { background: true, ..spec };
        fixture.client.start(spec).await.unwrap().execution_id
    };
    let quiet = "sleep 100";
    let seconds = |seconds| Some(prost_types::Duration { seconds, nanos: 0 });
    let given = begin(v1::ExecutionSpec { timeout: seconds(1), ..spec_in(&session, quiet) }).await;
    let silent = begin(v1::ExecutionSpec { idle_timeout: seconds(1), ..spec_in(&session, quiet) }).await;
    let by_default = begin(spec_in(&brief, quiet)).await;
    let longer = begin(spec_in(&session, "sleep 3; echo through")).await;
    let loud = begin(spec_in(&session, "yes")).await;
    let kind = async |id: &str| {
        let end = fixture.end(id).await;
        match end.result.clone().unwrap().cause.unwrap().detail {
            Some(v1::cause::Detail::TimedOut(out)) => (cause(&end), out.kind()),
            _ => (cause(&end), v1::TimeoutKind::Unspecified),
        }
    };
    assert_eq!(kind(&given).await, (CauseCode::TimedOut, v1::TimeoutKind::Wall));
    assert_eq!(kind(&silent).await, (CauseCode::TimedOut, v1::TimeoutKind::Idle));
    assert_eq!(
        kind(&by_default).await,
        (CauseCode::TimedOut, v1::TimeoutKind::Wall),
        "the profile's maximum"
    );
    assert_eq!(exit_code(&fixture.end(&longer).await), Some(0), "longer than the default in the foreground");
    assert_eq!(cause(&fixture.end(&loud).await), CauseCode::OutputLimit);
    // The controls in the foreground.
    let story = run(&fixture.client, spec_in(&session, "sleep 3; echo through")).await.unwrap();
    assert_eq!(cause(&story.end.unwrap()), CauseCode::TimedOut);
    let much = v1::ExecutionSpec { timeout: seconds(600), ..spec_in(&session, "yes | head -c 3000000") };
    let story = run(&fixture.client, much).await.unwrap();
    assert_eq!(story.exit_code(), Some(0), "output above the limit is cut");
}

/// A command that waits for the file `go`, then writes a large output.
const PATIENT: &str =
    "echo begun; cd /tmp; until [ -e /workspace/go ]; do sleep 0.05; done; seq 1 200000; exit 7";

fn numbers() -> Vec<u8> {
    let lines = (1..=200_000).map(|number| format!("{number}\n")).collect::<String>();
    format!("begun\n{lines}").into_bytes()
}

fn with_budget(session: &str, milliseconds: i32) -> v1::ExecutionSpec {
    let yield_after = Some(prost_types::Duration { seconds: 0, nanos: milliseconds * 1_000_000 });
    v1::ExecutionSpec { yield_after, ..spec_in(session, PATIENT) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_hands_back_and_the_process_goes_on_to_a_whole_end() {
    let fixture = Fixture::new().await;
    let session = fixture.session("sandboxed").await;
    let mut events = fixture.client.run(with_budget(&session, 500));
    let mut story = Story::default();
    while let Some(event) = events.next().await.unwrap() {
        if let Some(Kind::Backgrounded(closing)) = &event.event {
            assert_eq!(closing.execution.as_ref().unwrap().backgrounded_by(), BackgroundedBy::Budget);
        }
        story.take(event);
    }
    let handed_back = story.end.clone().unwrap();
    assert_eq!(handed_back.state(), ExecutionState::Running);
    // It could not end before the session's next command ran.
    assert_eq!(fixture.said(&session, "touch go; pwd").await, "/workspace\n");
    let id = handed_back.execution_id;
    assert_eq!(exit_code(&fixture.end(&id).await), Some(7));
    let whole = go_on(fixture.client.attach(&id, events.position()), story).await;
    assert_eq!((whole.exit_code(), whole.missing), (Some(7), 0));
    assert_eq!(whole.stdout, numbers());
    assert_eq!(replay(&fixture.client, &id).await.unwrap().stdout, numbers());
    assert_eq!(fixture.said(&session, "pwd").await, "/workspace\n", "its `cd` changed no directory");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_outlives_the_view_and_the_server() {
    let mut fixture = Fixture::new().await;
    let session = fixture.session("sandboxed").await;
    let mut events = fixture.client.run(with_budget(&session, 900));
    let mut story = Story::default();
    read_until(&mut events, &mut story, "begun").await;
    let id = events.execution_id().unwrap().to_owned();
    drop(events);
    fixture.server.take().unwrap().kill();
    fixture.server = Some(fixture.site.server(&[]));
    fixture.client = fixture.site.ready().await;
    let deadline = Instant::now() + PATIENCE;
    while fixture.state(&id).await != (ExecutionState::Running, BackgroundedBy::Budget) {
        assert!(Instant::now() < deadline, "{:?}", fixture.state(&id).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fixture.said(&session, "touch go").await;
    assert_eq!(exit_code(&fixture.end(&id).await), Some(7));
    assert_eq!(replay(&fixture.client, &id).await.unwrap().stdout, numbers());
    let from_the_beginning = fixture.client.attach(&id, From::Beginning);
    assert_eq!(read(from_the_beginning).await.unwrap().exit_code(), Some(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_begins_in_the_background_and_comes_back_with_the_id() {
    let fixture = Fixture::new().await;
    let session = fixture.session("sandboxed").await;
    let airlock = Airlock::at(&fixture.site);
    let patient = "echo begun; until [ -e go ]; do sleep 0.05; done; echo gone";
    let id = airlock.text(&["run", "--background", "--session", &session, "--", patient]);
    assert_eq!(fixture.client.execution(&id).await.unwrap().backgrounded_by(), BackgroundedBy::Request);
    let shown = airlock.text(&["run", "-b", "--json", "--session", &session, "--", "true"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["backgrounded_by"], "REQUEST");
    assert_eq!(airlock.text(&["run", "--session", &session, "--", "touch go; echo beside"]), "beside");
    drop(airlock.bytes(&["wait", &id]));
    assert_eq!(airlock.text(&["logs", &id]), "begun\ngone");
    // The shortest time in which this host starts a command.
    let mut said = Vec::new();
    for budget in ["300ms", "3s", "30s"] {
        let yields = ["run", "--yield-after", budget, "--session", &session, "--"];
        let output = airlock.run(&[&yields[..], &["echo begun; tail -f /dev/null"]].concat());
        assert_eq!(output.status.code(), Some(123), "{output:?}");
        said = output.stdout;
        if !said.is_empty() {
            break;
        }
    }
    assert_eq!(said, b"begun\n");
    let silent = ["run", "--idle-timeout", "300ms", "--session", &session, "--", "tail -f /dev/null"];
    assert_eq!(airlock.run(&silent).status.code(), Some(124));
}
