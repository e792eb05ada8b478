//! Tests of a session's shell snapshot: its contents, and the limits of a hostile `shell.init`. No command runs with
//! another snapshot than the one of its decision.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

use airlock_domain::{Cause, Grant, SessionId, SessionPhase, SessionSnapshot, Shell, limits::SNAPSHOT_BYTES};
use airlock_runner::Runner;

use crate::fixture::{Fixture, grant};

const INIT: &str = "alias greet='echo hello'\n\
     greeting() { echo \"greeting $1\"; }\n\
     _complete_me() { :; }; _kept() { echo kept; }; complete -F _complete_me me\n\
     shopt -s nullglob extglob; set -o pipefail\n\
     export PATH=/opt/tools:$PATH\n\
     echo this is nobodys; echo neither is this >&2; IFS=:\n";

/// Returns the grant of a command that sources this snapshot.
fn with(session: SessionId, snapshot: &SessionSnapshot, command: &str) -> Grant {
    Grant { snapshot_digest: snapshot.digest(), ..grant(session, command) }
}

fn text(snapshot: &SessionSnapshot) -> String {
    assert_eq!(snapshot.problem, "");
    String::from_utf8(snapshot.text.clone()).unwrap()
}

impl Fixture {
    /// Returns the directory of the only session.
    fn place(&self) -> PathBuf {
        let sessions = fs::read_dir(self.state("sessions")).unwrap().map(|entry| entry.unwrap().path());
        let mut places = sessions.filter(|path| path.join("session.json").exists());
        let place = places.next().unwrap();
        assert!(places.next().is_none());
        place
    }

    async fn restart(&mut self) {
        self.shut_down().await;
        self.runner = Some(Runner::start(self.config.clone()).await.unwrap());
        self.next_link().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn aliases_functions_options_and_path_are_taken_over_and_sourced() {
    let mut it = Fixture::new().await;
    let (session, snapshot) = it.open_with_init(INIT).await;
    let said = text(&snapshot);
    let path = said.lines().next().unwrap();
    assert!(path.starts_with("# PATH=/opt/tools:/usr/local/bin:"), "{said}");
    for line in
        ["alias greet='echo hello'", "shopt -s nullglob", "set -o pipefail", "greeting () ", "_kept () "]
    {
        assert!(said.lines().any(|found| found == line), "no `{line}` in {said}");
    }
    for part in ["_complete_me", "extglob", "nobody", "__airlock", "IFS"] {
        assert!(!said.contains(part), "`{part}` in {said}");
    }
    let mut run = async |command: &str| it.said(with(session, &snapshot, command)).await;
    assert_eq!(run("greet you; greeting me; _kept").await, "hello you\ngreeting me\nkept\n");
    assert_eq!(run("echo none*; false | true; echo $?; echo ${PATH%%:*}").await, "\n1\n/opt/tools\n");
    assert_eq!(run("shopt -q extglob || echo off; echo ${BASH_ENV-unset}").await, "off\nunset\n");
    // A command without a snapshot in its decision runs without it. So does every read-only command.
    let without = it.said(grant(session, "alias; type -t greeting || echo none; echo ${PATH%%:*}")).await;
    assert_eq!(without, "none\n/usr/local/bin\n");
    let mut reads = with(session, &snapshot, "ls");
    reads.read_only = true;
    assert_eq!(it.refusal(reads).await, "no_snapshot");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_an_init_has_none_and_says_nothing_of_it() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, "true")).await;
    assert_eq!(result.snapshot_problem, "");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_can_change_what_the_next_one_sources() {
    let mut it = Fixture::new().await;
    let (session, snapshot) = it.open_with_init(INIT).await;
    let attack = "cd /run/airlock/run; chmod 700 . snapshot; echo \"alias greet='echo pwned'\" >> snapshot; \
                  rm -f snapshot; echo \"alias greet='echo pwned'\" > snapshot; mv snapshot /tmp/; \
                  ln -sf /tmp/snapshot snapshot; mkdir -p /workspace/snapshot; \
                  echo \"alias greet='echo pwned'\" | tee ~/.bashrc ~/.bash_profile /tmp/snapshot >/dev/null; true";
    it.run(with(session, &snapshot, attack)).await;
    assert_eq!(it.said(with(session, &snapshot, "greet you")).await, "hello you\n");
    assert_eq!(fs::read(it.place().join("snapshot")).unwrap(), snapshot.text);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_init_has_no_snapshot_or_a_useless_one_and_leaves_nothing() {
    const ENDED: &str = "`shell.init` ended its shell before the snapshot was created";
    let large = format!("it is larger than {SNAPSHOT_BYTES} bytes");
    let mut it = Fixture::new().await;
    let cases = [
        ("while :; do :; done", "`shell.init` takes longer than 10 s"),
        ("f() { f | f & }; f; wait", ""),
        ("exec >&10; yes", large.as_str()),
        ("a=$(head -c 300000 /dev/zero | tr '\\0' x); alias big=\"$a\"", large.as_str()),
        ("head -c 1000000000 /dev/zero", ""),
        ("touch /workspace/x ~/x /tmp/x; echo x > /workspace/y", ""),
        ("(setsid sleep 1000 &) ; sleep 1000 & disown", ""),
        ("kill -9 $PPID; kill -9 1; kill -9 -1", ""),
        ("kill -9 $$", ENDED),
        ("exit 0", ENDED),
        ("exec sleep 0", ENDED),
        ("set -n", ENDED),
        ("builtin() { :; }", ENDED),
        ("exec 10>&- 11>&-", ENDED),
        ("echo 'unbalanced", ""),
        ("PATH=bin:$PATH", "the PATH that `shell.init` sets is not a list of absolute directories"),
        ("PATH=$'/bin\\n/x'", ""),
        ("set -euf; shopt -s failglob nocasematch; trap 'echo x' DEBUG ERR; IFS=a", ""),
    ];
    for (init, problem) in cases {
        let (session, snapshot) = it.open_with_init(init).await;
        if problem.is_empty() {
            assert!(snapshot.problem.is_empty() || snapshot.text.is_empty(), "`{init}`: {snapshot:?}");
        } else {
            assert_eq!(snapshot, SessionSnapshot::missing(problem), "`{init}`");
        }
        let place = it.place();
        for directory in ["workspace", "home", "tmp"] {
            let left: Vec<_> = fs::read_dir(place.join("disk").join(directory)).unwrap().collect();
            assert!(left.is_empty(), "`{init}` left {left:?}");
        }
        let uid = fs::metadata(place.join("disk/workspace")).unwrap().uid();
        assert_eq!(processes_of(uid), [] as [String; 0], "`{init}`");
        // The session is usable, and reports the reason why it has no snapshot.
        let (_, result) = it.run(grant(session, "true")).await;
        assert_eq!(
            (result.cause, result.snapshot_problem.as_str()),
            (Cause::Exited { code: 0 }, snapshot.problem.as_str())
        );
        it.close(session).await;
    }
    it.shut_down().await;
}

fn processes_of(uid: u32) -> Vec<String> {
    let line = format!("Uid:\t{uid}\t");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let status = entries.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    status.filter(|text| text.contains(&line) && !text.contains("State:\tZ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_snapshot_is_refused_and_reported() {
    let mut it = Fixture::new().await;
    let (session, snapshot) = it.open_with_init(INIT).await;
    fs::write(it.place().join("snapshot"), "alias greet='rm -rf'\n").unwrap();
    assert_eq!(it.refusal(with(session, &snapshot, "greet x")).await, "no_snapshot");
    // Reported before the refusal, so that the next decision does not use it.
    let SessionPhase::Open { snapshot: now, .. } = it.session(session).await else { panic!("not open") };
    let problem = "the runner's copy of it was removed or changed";
    assert_eq!(now, SessionSnapshot::missing(problem));
    assert_eq!(it.refusal(with(session, &snapshot, "greet x")).await, "no_snapshot");
    let (_, result) = it.run(grant(session, "greet x")).await;
    assert_eq!(result.cause, Cause::Exited { code: 127 });
    assert_eq!(result.snapshot_problem, problem);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_outlives_the_runners_process_and_does_not_if_it_was_changed_meanwhile() {
    let mut it = Fixture::new().await;
    let (session, snapshot) = it.open_with_init(INIT).await;
    it.restart().await;
    let SessionPhase::Open { snapshot: again, .. } = it.session(session).await else { panic!("not open") };
    assert_eq!(again, snapshot);
    assert_eq!(it.said(with(session, &snapshot, "greet you")).await, "hello you\n");
    fs::write(it.place().join("snapshot"), "alias greet='rm -rf'\n").unwrap();
    it.restart().await;
    let SessionPhase::Open { snapshot: again, .. } = it.session(session).await else { panic!("not open") };
    assert!(again.text.is_empty() && !again.problem.is_empty(), "{again:?}");
    assert_eq!(it.refusal(with(session, &snapshot, "greet x")).await, "no_snapshot");
    it.shut_down().await;
}

const ZSH_INIT: &str = "#!/usr/bin/env zsh\n\
     alias greet='echo hello' ok=\"echo \\\"it's\\\"\"; alias -g EVERYWHERE='x'; alias -s txt=cat\n\
     greeting() {\necho \"greeting\n$1\"\n}\n\
     _complete_me() { :; }; _kept() { echo kept; }; typeset -A _comps; _comps[me]=_complete_me\n\
     setopt null_glob extended_glob pipe_fail; unsetopt multios\n\
     export PATH=/opt/tools:$PATH\n\
     echo this is nobodys; echo neither is this >&2; IFS=:\n";

#[tokio::test(flavor = "multi_thread")]
async fn zsh_sources_a_snapshot_of_zsh_and_bash_does_not() {
    let mut it = Fixture::new().await;
    let (session, snapshot) = it.open_with_init(ZSH_INIT).await;
    let said = text(&snapshot);
    assert!(said.starts_with("# PATH=/opt/tools:/usr/local/bin:"), "{said}");
    for line in ["# shell=zsh", "alias -- greet='echo hello'", "setopt nullglob", "unsetopt multios"] {
        assert!(said.lines().any(|found| found == line), "no `{line}` in {said}");
    }
    for part in ["_complete_me", "extendedglob", "EVERYWHERE", "txt", "nobody", "__airlock", "IFS"] {
        assert!(!said.contains(part), "`{part}` in {said}");
    }
    let zsh = |mut grant: Grant| {
        grant.command.shell = Shell::Zsh;
        grant
    };
    let mut run = async |command: &str| it.said(zsh(with(session, &snapshot, command))).await;
    let greeted = run("greet you; greeting me; _kept; ok").await;
    assert_eq!(greeted, "hello you\ngreeting\nme\nkept\nit's\n");
    assert_eq!(run("echo none*; false | true; echo $?; echo ${PATH%%:*}").await, "\n1\n/opt/tools\n");
    assert_eq!(run("[[ -o extended_glob ]] || echo off; echo ${ZDOTDIR-unset}").await, "off\nunset\n");
    // A start file in HOME is never read.
    let attack = "echo 'echo pwned' > ~/.zshenv; echo 'echo pwned' > ~/.zshrc; echo done";
    assert_eq!(run(attack).await, "done\n");
    assert_eq!(run("echo EVERYWHERE").await, "EVERYWHERE\n");
    let without = it.said(zsh(grant(session, "greet you 2>/dev/null || echo none; echo ${PATH%%:*}"))).await;
    assert_eq!(without, "none\n/usr/local/bin\n");
    assert_eq!(it.refusal(with(session, &snapshot, "true")).await, "no_snapshot");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_init_of_zsh_has_no_snapshot_or_one_that_makes_every_name_unknown() {
    let mut it = Fixture::new().await;
    for init in [
        "exit 0",
        "builtin() { :; }",
        "unset -f __airlock_capture",
        "print() { echo 'alias -- ls='\\''rm'\\'''; }",
        "zmodload -u zsh/parameter",
        "exec {__airlock_out}>&-",
        "setopt no_exec",
        "echo 'unbalanced",
    ] {
        let (session, snapshot) = it.open_with_init(&format!("#!/usr/bin/env zsh\n{init}\n")).await;
        let ends = snapshot.text.is_empty() != snapshot.problem.is_empty();
        assert!(ends, "`{init}`: {snapshot:?}");
        let (_, result) = it.run(grant(session, "true")).await;
        assert_eq!(result.cause, Cause::Exited { code: 0 }, "`{init}`");
        it.close(session).await;
    }
    it.shut_down().await;
}
