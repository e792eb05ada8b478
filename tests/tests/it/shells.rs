//! End-to-end tests of shells, of a profile's `shell.init` and `shell.prefix`, and of decisions with the session's
//! snapshot.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_client::{Client, v1};
use airlock_tests::{
    process::Process,
    reader::{Story, cause, run},
    site::{Extras, Site},
};

/// Returns a profile that extends `sandboxed` with rules and a table `[shell]`.
fn profile(name: &str, shell: &str) -> (String, String) {
    let rules = "[policy]\ndeny = [\"Bash(rm:*)\"]\nallow = [\"Bash(ls:*)\"]\n";
    (name.to_owned(), format!("name = \"{name}\"\nextends = \"sandboxed\"\n{rules}[shell]\n{shell}"))
}

struct Fixture {
    client: Client,
    _server: Process,
    _runner: Process,
    _site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let init =
            "init = \"\"\"\nalias hi='echo hello'\nalias wipe='rm -rf'\nls() { touch deleted; }\n\"\"\"\n";
        let site = Site::with(Extras {
            profiles: vec![
                profile("aliases", init),
                profile("broken", "init = \"exit 3\"\n"),
                profile("powershell", "init = \"#!/usr/bin/env pwsh\\nSet-Alias wipe Remove-Item\"\n"),
                profile("zsh", "name = \"zsh\"\n"),
                profile("nice", "prefix = [\"/usr/bin/env\", \"FROM_PREFIX=yes\"]\n"),
            ],
            ..Extras::default()
        });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, _server: server, _runner: runner, _site: site }
    }

    async fn session(&self, profile: &str) -> v1::Session {
        let env = [("FROM_SESSION".to_owned(), "set".into())].into();
        let request =
            v1::SessionServiceCreateRequest { profile: profile.to_owned(), env, ..Default::default() };
        self.client.create_session(request).await.unwrap()
    }

    async fn run(&self, spec: v1::ExecutionSpec) -> Story {
        run(&self.client, spec).await.unwrap()
    }
}

fn spec(session: &v1::Session, command: &str) -> v1::ExecutionSpec {
    let (session_id, command) = (session.session_id.clone(), command.to_owned());
    v1::ExecutionSpec { command, session_id, ..Default::default() }
}

fn result(story: &Story) -> v1::Result {
    story.end.as_ref().unwrap().result.clone().unwrap()
}

fn text(story: &Story) -> String {
    String::from_utf8_lossy(&story.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_sourced_and_decided_by() {
    let fixture = Fixture::new().await;
    let session = fixture.session("aliases").await;
    assert_eq!(session.snapshot_problem, "");
    let story =
        fixture.run(spec(&session, "hi you; echo $FROM_SESSION; echo x > file 2>nul; cat file")).await;
    assert_eq!(text(&story), "hello you\nset\nx\n");
    assert_eq!(result(&story).snapshot_problem, "");
    // An alias counts as its expansion, and no rule can allow a function's name.
    let denied = run(&fixture.client, spec(&session, "wipe file")).await.unwrap_err();
    assert!(format!("{denied:?}").contains("DENIED"), "{denied:?}");
    let asked = run(&fixture.client, spec(&session, "ls")).await.unwrap_err();
    assert!(format!("{asked:?}").contains("APPROVAL_REQUIRED"), "{asked:?}");
    let check = v1::PolicyServiceCheckRequest {
        session_id: session.session_id.clone(),
        command: "ls".to_owned(),
        ..Default::default()
    };
    let decision = fixture.client.policy().check(check).await.unwrap();
    assert_eq!(decision.reasons.first().unwrap().code, "snapshot_name");
    // Neither the redirect nor the function created a file.
    let plain = fixture.run(spec(&session, "printf '%s,' *; touch seen")).await;
    assert_eq!(text(&plain), "file,");
    // A session for one command has a snapshot, too.
    let alone = v1::ExecutionSpec {
        command: "hi there".to_owned(),
        profile: "aliases".to_owned(),
        ..Default::default()
    };
    assert_eq!(text(&fixture.run(alone).await), "hello there\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_snapshot_commands_run_and_their_results_say_so() {
    let fixture = Fixture::new().await;
    let session = fixture.session("broken").await;
    let problem = "`shell.init` ended its shell before the snapshot was created";
    assert_eq!(session.snapshot_problem, problem);
    let story = fixture.run(spec(&session, "touch a; echo ran")).await;
    assert_eq!((text(&story).as_str(), result(&story).snapshot_problem.as_str()), ("ran\n", problem));
    // Where PowerShell is missing, its `shell.init` gives the same kind of problem, and bash is not started for it.
    let other = fixture.session("powershell").await;
    assert!(other.snapshot_problem.contains("pwsh"), "{}", other.snapshot_problem);
    // Read-only commands have no snapshot. A variable of the session would make the command not read-only.
    let request = v1::SessionServiceCreateRequest { profile: "broken".to_owned(), ..Default::default() };
    let bare = fixture.client.create_session(request).await.unwrap();
    let reads = fixture.run(spec(&bare, "ls")).await;
    assert_eq!(result(&reads).snapshot_problem, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_is_the_requests_else_the_sessions_else_the_profiles() {
    let fixture = Fixture::new().await;
    // Nothing is proven for zsh and PowerShell.
    let request = v1::SessionServiceCreateRequest {
        profile: "zsh".to_owned(),
        mode: v1::Mode::Bypass.into(),
        ..Default::default()
    };
    let session = fixture.client.create_session(request).await.unwrap();
    assert_eq!(session.shell(), v1::Shell::Zsh);
    let in_zsh = "print -r -- ${(U):-zsh}; mkdir d; cd d";
    assert_eq!(text(&fixture.run(spec(&session, in_zsh)).await), "ZSH\n");
    let in_bash = v1::ExecutionSpec {
        shell: v1::Shell::Bash.into(),
        ..spec(&session, "pwd; echo ${BASH_VERSION%%.*}")
    };
    assert_eq!(text(&fixture.run(in_bash).await), "/workspace/d\n5\n");
    // With a deny rule, PowerShell text needs an approval; this profile has no rules.
    let alone = v1::SessionServiceCreateRequest {
        profile: "sandboxed".to_owned(),
        mode: v1::Mode::Bypass.into(),
        ..Default::default()
    };
    let alone = fixture.client.create_session(alone).await.unwrap();
    let in_pwsh = v1::ExecutionSpec { shell: v1::Shell::Pwsh.into(), ..spec(&alone, "Get-Location") };
    let missing = fixture.run(in_pwsh).await;
    assert_eq!(cause(missing.end.as_ref().unwrap()), v1::CauseCode::ShellUnavailable);
    let message = result(&missing).cause.unwrap().message;
    let runners = fixture.client.admin().runners(Default::default()).await.unwrap().runners;
    let [runner] = &runners[..] else { panic!("{runners:?}") };
    let version = |name: &str| runner.shells.get(name).unwrap();
    assert!(version("bash").starts_with("5.") && version("zsh").starts_with("5."), "{:?}", runner.shells);
    assert_eq!(runner.shells.len(), 2, "{:?}", runner.shells);
    let there = format!("bash {}, zsh {}", version("bash"), version("zsh"));
    assert_eq!(message, format!("pwsh is not installed where the command runs; installed: {there}"));
    assert_eq!(result(&missing).started(), v1::Started::No);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_prefix_is_in_front_of_every_command() {
    let fixture = Fixture::new().await;
    let session = fixture.session("nice").await;
    let story = fixture.run(spec(&session, "echo $FROM_PREFIX; mkdir d; cd d")).await;
    assert_eq!(text(&story), "yes\n");
    assert_eq!(result(&story).directory, "/workspace/d");
}
