//! Tests of `airlock run -it bash` at a terminal, which tmux simulates, with common interactive programs. The checks
//! use the content of the screen.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{fs, time::Duration};

use airlock_client::v1;
use airlock_tests::{
    cutter::Cutter,
    desk::Airlock,
    process::{Process, until},
    site::{PATIENCE, Site, sha256},
    tmux::{PROMPT, Screen},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The token of a person who may approve the requests of others.
const APPROVER: &str = "the-token-of-a-person-that-is-long-enough";
/// The prompt of the shell in the sandbox.
const INSIDE: &str = "in> ";
/// A shell with that prompt and its own line editor. The policy cannot know the commands that a person will type, so it
/// needs an approval.
const SHELL: &str =
    "airlock run -it --wait-approval -s SESSION -- \"PS1='in> ' exec bash --noprofile --norc\"";

/// A server, a runner and a session.
struct Place {
    site: Site,
    session: String,
    _runner: Process,
    server: Option<Process>,
}

impl Place {
    async fn new() -> Self {
        let approver = sha256(APPROVER.as_bytes());
        let site = Site::with_tables(
            &format!(
                "[[identity]]\nname = \"person\"\ntenant = \"acme\"\nroles = [\"approver\"]\nmatch = {{ token_sha256 = \"{approver}\" }}\n"
            ),
            "",
        );
        fs::write(site.path().join("approver"), APPROVER).unwrap();
        let runner = site.runner(&[]);
        let server = Some(site.server(&[]));
        let client = site.ready().await;
        let session = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap();
        Self { site, session: session.session_id, _runner: runner, server }
    }

    /// Returns a screen with a shell of this host.
    fn screen(&self) -> Screen {
        Screen::new(&Airlock::at(&self.site), self.site.path(), (100, 30))
    }

    /// Starts the shell in the sandbox, and approves it.
    fn enter(&self, screen: &Screen) {
        const ASKED: &str = "answer with: airlock approve ";
        screen.line(&SHELL.replace("SESSION", &self.session));
        screen.see(ASKED);
        let shown = screen.shown();
        let id = shown.rsplit(ASKED).next().and_then(|rest| rest.split_whitespace().next()).unwrap();
        let token = self.site.path().join("approver").display().to_string();
        drop(Airlock::at(&self.site).text(&["approve", id, "--yes", "--token-file", &token]));
        screen.see_line("in>");
    }

    /// Returns a screen with a shell in the sandbox.
    fn inside(&self) -> Screen {
        let screen = self.screen();
        self.enter(&screen);
        screen.clear();
        screen
    }

    /// Returns the only running execution of the session.
    async fn running(&self) -> String {
        let filter = v1::ExecutionFilter {
            session_id: self.session.clone(),
            states: vec![v1::ExecutionState::Running.into()],
            ..Default::default()
        };
        let request = v1::ExecutionServiceListRequest { filter: Some(filter), ..Default::default() };
        let page = self.site.client().await.executions(request).await.unwrap();
        assert_eq!(page.executions.len(), 1);
        page.executions[0].execution_id.clone()
    }

    /// Returns the content of a file in the workspace.
    fn file(&self, name: &str) -> String {
        Airlock::at(&self.site).text(&[
            "run",
            "--allow-concurrent",
            "-s",
            &self.session,
            "--",
            &format!("cat {name}"),
        ])
    }
}

/// Waits until the last nonempty line of the screen ends in a prompt, which may follow a command's output.
fn asks(screen: &Screen, prompt: &str) {
    let prompt = prompt.trim_end();
    screen.wait("it asks", |shown| {
        shown.trim_end().lines().last().is_some_and(|line| line.trim_end().ends_with(prompt))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_is_as_by_ssh_and_leaves_the_terminal_as_it_was() {
    let place = Place::new().await;
    let screen = place.screen();
    screen.line("stty -a > before");
    asks(&screen, PROMPT);
    place.enter(&screen);
    screen.clear();
    screen.line("tty; echo size $(stty size); id -un; pwd; x=kept");
    for line in ["/dev/pts/0", "size 30 100", "agent", "/workspace"] {
        screen.see_line(line);
    }
    // The shell's line editor works: input can be changed and found again.
    screen.text("echo wxrng");
    screen.keys(&["BSpace", "BSpace", "BSpace", "BSpace", "o", "r", "d", "Enter"]);
    screen.see_line("word");
    screen.keys(&["Up"]);
    screen.see("in> echo word\n");
    screen.line(" $x");
    screen.see_line("word kept");
    screen.line("exit 7");
    asks(&screen, PROMPT);
    screen.line("echo code $?; stty -a > after; cmp before after && echo the same");
    screen.see_line("code 7");
    screen.see_line("the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_shell_needs_nobody_where_all_that_is_typed_would_run() {
    let place = Place::new().await;
    let screen = place.screen();
    screen.line(&format!("airlock run -it -s {} bash", place.session));
    screen.line("echo at $(tty) $((6*7))");
    screen.see_line("at /dev/pts/0 42");
    screen.line("exit 7");
    asks(&screen, PROMPT);
    screen.line("echo code $?");
    screen.see_line("code 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_signals_and_jobs_are_controlled() {
    let place = Place::new().await;
    let screen = place.inside();
    screen.line("sleep 1000; echo slept with $?");
    screen.see("slept with $?\n");
    screen.keys(&["C-c"]);
    screen.see("^C");
    asks(&screen, INSIDE);
    screen.clear();
    // The terminal discards unread input when a key causes a signal. A shell ignores the signal while it is in the
    // foreground itself.
    screen.line("echo begun; sleep 1001");
    screen.see_line("begun");
    screen.press_until(&["C-z"], "Stopped");
    screen.clear();
    screen.line("bg");
    screen.see("sleep 1001 &");
    screen.line("jobs");
    screen.see("Running");
    screen.clear();
    screen.line("fg");
    screen.see("\nsleep 1001\n");
    screen.press_until(&["C-\\"], "Quit");
    asks(&screen, INSIDE);
    screen.keys(&["C-d"]);
    asks(&screen, PROMPT);
}

#[tokio::test(flavor = "multi_thread")]
async fn vim_edits_a_file_that_later_commands_see_and_follows_the_size() {
    let place = Place::new().await;
    let screen = place.inside();
    screen.line("vim -u NONE -N note.txt");
    screen.see("\"note.txt\" [New]");
    screen.text("ifirst line");
    screen.keys(&["Enter"]);
    screen.text("second line");
    screen.keys(&["Escape"]);
    screen.see_line("second line");
    // The screen has one row for each line of the file, marked rows, and one row for the status.
    let marked =
        |rows: usize| move |shown: &str| shown.lines().filter(|line| *line == "~").count() == rows - 3;
    screen.wait("30 rows", marked(30));
    screen.resize(70, 20);
    screen.wait("20 rows", marked(20));
    screen.line(":set columns? lines?");
    screen.see("lines=20");
    screen.keys(&["Enter"]);
    screen.line(":wq");
    asks(&screen, INSIDE);
    screen.line("cat note.txt; echo $(tput cols) by $(tput lines), $(stty size)");
    screen.see_line("second line");
    screen.see_line("70 by 20, 20 70");
    screen.resize(120, 40);
    // The new size is sent concurrently with the keys.
    screen.line("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo now $(stty size)");
    screen.see_line("now 40 120");
    assert_eq!(place.file("note.txt"), "first line\nsecond line");
    screen.line("exit");
    asks(&screen, PROMPT);
}

#[tokio::test(flavor = "multi_thread")]
async fn top_draws_again_and_again_and_quits() {
    let place = Place::new().await;
    let screen = place.inside();
    screen.line("top -d 0.2");
    screen.see("load average");
    screen.see("COMMAND");
    let clock = |shown: &str| shown.lines().find(|line| line.contains("load average")).map(str::to_owned);
    let first = clock(&screen.shown());
    screen
        .wait("the program has redrawn the screen", |shown| clock(shown).is_some() && clock(shown) != first);
    screen.resize(60, 15);
    screen.wait("it fits", |shown| shown.contains("load average") && shown.lines().count() <= 15);
    screen.text("q");
    asks(&screen, INSIDE);
    screen.line("echo still $((40 + 2))");
    screen.see_line("still 42");
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_not_shown() {
    let place = Place::new().await;
    let screen = place.inside();
    screen.line("read -rsp 'secret: ' x; echo; echo got ${#x}");
    screen.see_line("secret:");
    screen.line("hunter2");
    screen.see_line("got 7");
    screen.line("python3 -c 'import getpass; print(\"got\", len(getpass.getpass(\"word: \")))' </dev/null");
    screen.see_line("word:");
    screen.line("swordfish");
    screen.see_line("got 9");
    let shown = screen.shown();
    assert!(!shown.contains("hunter2") && !shown.contains("swordfish"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_terminal_is_unchanged_when_it_is_attached_again() {
    let place = Place::new().await;
    let screen = place.inside();
    screen.line("x=kept; echo ready");
    screen.see_line("ready");
    screen.keys(&["C-p", "C-q"]);
    screen.see("to return: airlock attach -it");
    asks(&screen, PROMPT);
    screen.line("echo code $?");
    screen.see_line("code 123");
    let id = place.running().await;
    screen.clear();
    screen.resize(90, 25);
    screen.line(&format!("airlock attach -it {id}"));
    screen.see_line("in>");
    screen.line("echo $x at $(stty size)");
    screen.see_line("kept at 25 90");
    // Another client takes over the terminal, and the first one gets a message.
    let other = place.screen();
    other.line(&format!("airlock attach -it --detach-keys 'ctrl-],.' {id}"));
    screen.see("another client took");
    asks(&screen, PROMPT);
    other.line("echo again $x");
    other.see_line("again kept");
    other.keys(&["C-]"]);
    other.text(".");
    asks(&other, PROMPT);
    screen.line(&format!("airlock attach -it {id}"));
    screen.see("again kept");
    screen.line("exit 9");
    asks(&screen, PROMPT);
    screen.line("echo code $?");
    screen.see_line("code 9");
}

/// Returns the process of the command line on a screen.
fn client_process(mark: &str) -> Pid {
    let mut found = None;
    until("the client runs", PATIENCE, || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_client = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.first().is_some_and(|word| word.ends_with(b"airlock")) && words.contains(&mark.as_bytes())
        };
        found = pids.into_iter().find(is_client);
        found.is_some()
    });
    Pid::from_raw(found.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_client_and_a_restarted_server_lose_nothing() {
    let mut place = Place::new().await;
    let screen = place.inside();
    screen.line("x=kept; echo ready");
    screen.see_line("ready");
    kill(client_process(&place.session), Signal::SIGKILL).unwrap();
    screen.see("Killed");
    // The killed client could not restore its terminal.
    screen.line("stty sane; clear");
    screen.wait("the screen is cleared", |shown| shown.trim_end() == PROMPT.trim_end());
    let id = place.running().await;
    screen.line(&format!("airlock attach -it {id}"));
    screen.see_line("in>");
    screen.line("echo after the kill: $x");
    screen.see_line("after the kill: kept");

    place.server.take().unwrap().kill();
    screen.line("echo typed while the server is away");
    place.server = Some(place.site.server(&[]));
    screen.see_line("typed while the server is away");
    screen.line("echo and $x after it; exit 5");
    screen.see_line("and kept after it");
    asks(&screen, PROMPT);
    screen.line("echo code $?");
    screen.see_line("code 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_while_somebody_types_lose_and_double_nothing() {
    let place = Place::new().await;
    let cutter = Cutter::new(place.site.address, Duration::from_millis(400));
    let screen = Screen::new(&Airlock::through(&place.site, cutter.address), place.site.path(), (100, 30));
    place.enter(&screen);
    screen.line("stty -echo; echo listens; while read -r number; do echo $number >> typed; done");
    screen.see_line("listens");
    let count = 150;
    for number in 1..=count {
        screen.line(&number.to_string());
    }
    let wanted: Vec<String> = (1..=count).map(|number: u32| number.to_string()).collect();
    until("all data is there", PATIENCE, || place.file("typed").lines().count() >= wanted.len());
    assert_eq!(place.file("typed"), wanted.join("\n"));
    assert!(cutter.cuts() > 2, "the connections were cut");
    screen.keys(&["C-d"]);
    asks(&screen, INSIDE);
    screen.line("exit 3");
    asks(&screen, PROMPT);
    drop(cutter);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_told_to_end_leaves_the_terminal_as_it_was() {
    let place = Place::new().await;
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let screen = place.screen();
        screen.line("stty -a > before");
        asks(&screen, PROMPT);
        place.enter(&screen);
        kill(client_process(&place.session), signal).unwrap();
        screen.see("no longer following execution");
        asks(&screen, PROMPT);
        screen.line("clear; stty -a > after; cmp before after && echo the same");
        screen.see_line("the same");
        let id = place.running().await;
        drop(Airlock::at(&place.site).text(&["kill", &id]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_b_sends_a_command_to_the_background_and_is_a_terminals_own_key() {
    let place = Place::new().await;
    let screen = place.screen();
    screen.line("stty -a > before");
    asks(&screen, PROMPT);
    screen.line(&format!("airlock run -s {} -- 'echo begun; tail -f /dev/null'", place.session));
    screen.see_line("begun");
    let id = place.running().await;
    screen.keys(&["C-b"]);
    screen.see(&format!("to follow it: airlock logs --follow {id}"));
    asks(&screen, PROMPT);
    screen.line("clear; echo code $?; stty -a > after; cmp before after && echo the same");
    screen.see_line("the same");
    let left = place.site.client().await.execution(&id).await.unwrap();
    assert_eq!(
        (left.state(), left.backgrounded_by()),
        (v1::ExecutionState::Running, v1::BackgroundedBy::Client)
    );
    screen.clear();
    screen.line(&format!("airlock run -s {} -- 'echo next' | cat", place.session));
    screen.see_line("next");
    drop(Airlock::at(&place.site).text(&["kill", &id]));

    // A command with its own terminal receives the key.
    place.enter(&screen);
    // The shell's line editor has released the terminal when the first command starts.
    screen.line("echo listens; cat -v");
    screen.see_line("listens");
    screen.keys(&["C-b", "Enter"]);
    screen.see_line("^B");
    screen.keys(&["C-c"]);
    // Before the shell has the terminal again, `cat` would read the keys.
    asks(&screen, INSIDE);
    screen.line("exit 3");
    asks(&screen, PROMPT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_terminal_is_reported() {
    let place = Place::new().await;
    let airlock = Airlock::at(&place.site);
    let output = airlock.run(&["run", "-it", "--", "tty"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("--tty requires a terminal, but standard input is not one"), "{said}");
    let plain = airlock.text(&["start", "-s", &place.session, "--", "sleep 1000"]);
    let screen = place.screen();
    screen.line(&format!("airlock attach -it {plain}"));
    screen.see("has no terminal; attach to it");
    screen.line("airlock run -it --separate-stderr -- tty");
    screen.see("--tty cannot be used with");
}
