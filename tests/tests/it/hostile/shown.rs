//! Tests every subcommand of `airlock` with a server that lies in every field, on a pipe and on a terminal. No
//! character that hides text or controls the terminal reaches standard output or standard error unescaped. Two kinds
//! of output are unchanged and excluded here: that of commands, and, on a pipe, that for other programs (the names
//! that `ls` and `diff` write, and an imported profile).

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use airlock_tests::{site::PATIENCE, tools::program};
use nix::pty::{Winsize, openpty};
use regex::bytes::Regex;

use crate::hostile::lying_server::{HOSTILE, Lies, LyingServer};

const ID: &str = "01234567-89ab-7def-8123-456789abcdef";
/// The arguments for each subcommand; empty if it neither talks to a server nor reads foreign data.
const CALLS: &[(&str, &[&[&str]])] = &[
    ("dev", &[]),
    ("port-forward", &[]),
    ("run", &[&["--", "ls"], &["--json", "--", "ls"], &["--on-ask", "wait", "--", "ls"]]),
    ("start", &[&["--", "ls"], &["--json", "--", "ls"]]),
    ("logs", &[&[ID], &["--json", ID], &["--grep", "x", ID], &["--tail", "3", ID]]),
    ("attach", &[&[ID], &["--json", ID]]),
    ("wait", &[&[ID, "--timeout", "1s"]]),
    ("ps", &[&["--all"], &["--json"], &["--quiet"]]),
    ("show", &[&[ID], &["--json", ID]]),
    ("kill", &[&[ID]]),
    ("signal", &[&["-s", "TERM", ID]]),
    ("detach", &[&[ID]]),
    ("watch", &[&["-n", "3"], &["--json", "-n", "3"]]),
    ("session create", &[&[], &["--json"]]),
    ("session list", &[&["--all"], &["--json"], &["--quiet"]]),
    ("session update", &[&["--idle-timeout", "1h", ID], &["--json", "--idle-timeout", "1h", ID]]),
    ("session close", &[&[ID]]),
    ("cp", &[&["here", "SESSION:there"], &["SESSION:there", "got"]]),
    ("ls", &[&["SESSION:"], &["-l", "SESSION:"], &["--json", "SESSION:"]]),
    ("diff", &[&["SESSION"], &["--stat", "SESSION"], &["--name-only", "SESSION"], &["--json", "SESSION"]]),
    ("quarantine list", &[&[ID], &["--json", ID], &["--quiet", ID]]),
    ("quarantine restore", &[&[ID, ID]]),
    ("check", &[&[HOSTILE], &["--profile", HOSTILE, "ls"], &["--profile", "hostile.toml", HOSTILE]]),
    ("policy test", &[&["hostile.toml"], &[HOSTILE]]),
    ("policy import", &[&["settings.json"], &[HOSTILE]]),
    ("policy suggest-network", &[&[ID], &["--json", ID], &[HOSTILE]]),
    ("approve", &[&[], &["--json"], &["--quiet"], &[HOSTILE], &["--yes", HOSTILE], &["--deny", HOSTILE]]),
    ("rules list", &[&[], &["--json"], &["--quiet"]]),
    ("rules remove", &[&[ID]]),
    ("profile list", &[&[], &["--json"]]),
    ("profile show", &[&[HOSTILE], &["--json", HOSTILE]]),
    ("doctor", &[&[], &["--json"]]),
    ("completions", &[]),
    ("mcp", &[&["--http", HOSTILE]]),
    ("keys", &[&["keys", "--client", "lead=LIE"], &["keys", "--client", HOSTILE]]),
    ("runners", &[&[], &["--json"], &["--quiet"]]),
    ("runners show", &[&[HOSTILE], &["--json", HOSTILE]]),
    ("runners drain", &[&[HOSTILE]]),
    ("runners undrain", &[&[HOSTILE]]),
];

/// Subcommands that write exact names, or an exact profile, for other programs.
const EXACT: &[&str] = &["ls", "diff", "policy import"];

fn leaves(command: &clap::Command, above: &str, found: &mut Vec<String>) {
    for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let name = format!("{above} {}", one.get_name()).trim_start().to_owned();
        if one.get_subcommands().next().is_none() || name == "runners" {
            found.push(name.clone());
        }
        leaves(one, &name, found);
    }
}

#[test]
fn every_subcommand_is_called() {
    let mut all = Vec::new();
    leaves(&airlock_cli::command::command_line(), "", &mut all);
    let mut called: Vec<String> = CALLS.iter().map(|(name, _)| (*name).to_owned()).collect();
    all.sort();
    called.sort();
    assert_eq!(called, all, "add calls of a new subcommand");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_misleading_text_reaches_a_terminal() {
    for lies in [Lies::Answers(0), Lies::Answers(1), Lies::Answers(2), Lies::Errors] {
        walk(lies, Whereto::Terminal).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_misleads_reaches_a_pipe() {
    for lies in [Lies::Answers(0), Lies::Answers(3), Lies::Errors] {
        walk(lies, Whereto::Pipe).await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whereto {
    Terminal,
    Pipe,
}

async fn walk(lies: Lies, whereto: Whereto) {
    let server = LyingServer::start(lies).await;
    let address = format!("http://{}", server.address);
    let (mut saw_escaped, mut said) = (0, 0);
    for (name, calls) in CALLS {
        for words in *calls {
            let directory = tempfile::tempdir().unwrap();
            prepare(directory.path());
            let arguments: Vec<String> = name
                .split(' ')
                .chain(words.iter().copied())
                .map(|word| word.replace("SESSION", ID).replace("LIE", HOSTILE))
                .collect();
            server.next_command();
            let mut command = airlock(directory.path(), &address, &arguments);
            let shown = tokio::task::spawn_blocking(move || shown(&mut command, whereto)).await.unwrap();
            let is_exact = whereto == Whereto::Pipe && EXACT.contains(name) && !words.contains(&"--json");
            if !is_exact {
                assert_harmless(&shown, &format!("{lies:?} {whereto:?} {name} {words:?}"));
            }
            said += usize::from(!shown.is_empty());
            saw_escaped += usize::from(String::from_utf8_lossy(&shown).contains("\\u{202e}"));
        }
    }
    assert!(
        said > 50 && saw_escaped > 20,
        "{lies:?} {whereto:?}: {said} said something, {saw_escaped} escaped"
    );
}

fn prepare(directory: &Path) {
    fs::write(directory.join("here"), "x").unwrap();
    let quoted = toml::Value::String(HOSTILE.to_owned());
    let profile = format!(
        "name = \"hostile\"\n[policy]\nask = [\"Bash(ls:*)\"]\n[[policy.test]]\ncommand = {quoted}\nexpect = \"allow\"\n"
    );
    fs::write(directory.join("hostile.toml"), profile).unwrap();
    let settings = serde_json::json!({"permissions": {"allow": [HOSTILE, format!("Bash({HOSTILE})")]}, HOSTILE: HOSTILE});
    fs::write(directory.join("settings.json"), settings.to_string()).unwrap();
}

fn airlock(directory: &Path, address: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(program("airlock"));
    let local =
        ["check", "policy", "keys"].contains(&arguments[0].as_str()) && arguments[1] != "suggest-network";
    command.args(arguments.iter().take_while(|word| *word != "--"));
    if !local {
        command.args(["--address", address, "--insecure-loopback"]);
    }
    command.args(arguments.iter().skip_while(|word| *word != "--"));
    command.current_dir(directory).env("HOME", directory).env("TERM", "xterm-256color").stdin(Stdio::null());
    for name in ["AIRLOCK_STATE", "AIRLOCK_ADDRESS", "AIRLOCK_CA", "AIRLOCK_TOKEN_FILE", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Returns everything that the command writes.
fn shown(command: &mut Command, whereto: Whereto) -> Vec<u8> {
    let (child, mut from): (Child, File) = match whereto {
        Whereto::Terminal => {
            let window = Winsize { ws_row: 60, ws_col: 300, ws_xpixel: 0, ws_ypixel: 0 };
            let pty = openpty(Some(&window), None).unwrap();
            let child = command.stdout(pty.slave.try_clone().unwrap()).stderr(pty.slave).spawn().unwrap();
            (child, File::from(pty.master))
        }
        Whereto::Pipe => {
            let (reads, writes) = std::io::pipe().unwrap();
            let child = command.stdout(writes.try_clone().unwrap()).stderr(writes).spawn().unwrap();
            (child, File::from(std::os::fd::OwnedFd::from(reads)))
        }
    };
    // Without this the end would not be seen, because the command holds the other descriptors.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let reader = std::thread::spawn(move || {
        let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(got @ 1..) = from.read(&mut buffer) {
            all.extend_from_slice(&buffer[..got]);
        }
        all
    });
    let ended = wait(child);
    let shown = reader.join().unwrap();
    assert!(ended, "{command:?} does not end by itself; it wrote:\n{}", String::from_utf8_lossy(&shown));
    shown
}

/// Waits for the process, and returns whether it ended without being killed.
fn wait(mut child: Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn assert_harmless(shown: &[u8], what: &str) {
    // Colours, and the cursor movements of a spinner; the lies contain no such sequence.
    let own = Regex::new("\\x1b\\[[0-9;?]*[A-Za-z]").unwrap();
    let rest = own.replace_all(shown, &b""[..]);
    let text = String::from_utf8_lossy(&rest);
    let raw = |c: char| !matches!(c, '\n' | '\r') && airlock_escape::hides(c);
    let at = text.find(raw).or_else(|| text.find(['\u{430}', '\u{301}', '\u{5d0}']));
    assert!(!text.contains("]0;owned\u{7}") && at.is_none(), "{what}: at {at:?} of:\n{text:?}");
}
