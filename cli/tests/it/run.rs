//! Tests of `airlock run`: exact bytes, correct exit codes, and the reason if the command did not
//! run.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use nix::sys::signal::Signal;
use sha2::{Digest as _, Sha256};

use crate::support::{Site, airlock, end, eventually, send, stderr};

#[test]
fn a_local_run_gives_the_bytes_that_bash_gives_and_leaves_nothing() {
    let site = Site::empty();
    let ours = site.airlock(&["run", "--local", "--", "seq 1 2000000"]).output().unwrap();
    assert_eq!(ours.status.code(), Some(0), "{}", stderr(&ours));
    let bash = std::process::Command::new("bash").args(["-c", "seq 1 2000000"]).output().unwrap();
    assert_eq!(Sha256::digest(&ours.stdout), Sha256::digest(&bash.stdout));
    assert!(ours.stderr.is_empty(), "{}", stderr(&ours));
    assert!(site.leftovers().is_empty(), "{:?}", site.leftovers());
}

#[test]
fn a_local_run_works_on_a_copy_of_a_directory() {
    let site = Site::empty();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "original").unwrap();
    let base = directory.path().to_str().unwrap();
    let text =
        site.text(&["run", "--local", "--base", base, "--", "cat file; echo changed > file; cat file"]);
    assert_eq!(text, "originalchanged\n");
    assert_eq!(std::fs::read(directory.path().join("file")).unwrap(), b"original");
    let (code, why) = site.fails(&["run", "--local", "--base", "/no/such/directory", "--", "ls"]);
    assert_eq!(code, 125);
    assert!(why.contains("/no/such/directory"), "{why}");
}

#[test]
fn the_command_is_told_its_place_in_the_callers_trace() {
    let site = Site::with_dev(&[]);
    for run in [&["run"][..], &["run", "--local"]] {
        let mut command = site.airlock(&[run, &["--", "echo $TRACEPARENT"]].concat());
        command.env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{told}");
        assert!(!told.contains("b7ad6b7169203331"), "a separate span: {told}");
    }
}

#[test]
fn exit_codes_are_the_commands_own() {
    let site = Site::with_dev(&[]);
    for (arguments, expected) in [
        (&["--", "true"][..], 0),
        (&["--", "exit 7"], 7),
        (&["--", "exit", "8"], 8),
        (&["--", "no-such-program-at-all"], 127),
        (&["--", "kill -TERM $$"], 143),
        (&["--", "kill -KILL $$"], 137),
        (&["--timeout", "300ms", "--", "sleep 30"], 124),
    ] {
        let all = [&["run"], arguments].concat();
        assert_eq!(site.output(&all).status.code(), Some(expected), "{arguments:?}");
    }
}

#[test]
fn words_variables_and_streams_arrive_as_they_are() {
    let site = Site::with_dev(&[]);
    assert_eq!(site.text(&["run", "echo", "a", "  b", "'c  d'"]), "a b c  d\n");
    assert_eq!(site.text(&["run", "-e", "A=x=y z", "--", "echo \"$A\""]), "x=y z\n");
    let both = site.output(&["run", "--separate-stderr", "--", "printf 'o\\0\\377'; printf 'e\\376' >&2"]);
    assert_eq!((both.stdout.as_slice(), both.stderr.as_slice()), (&b"o\0\xff"[..], &b"e\xfe"[..]));
    assert_eq!(site.text(&["run", "--", "cat; echo end of input"]), "end of input\n");
}

#[test]
fn notes_are_printed_after_the_output() {
    let site = Site::with_dev(&[]);
    let session = site.text(&["session", "create"]);
    let run = |command| [&["run", "--session", session.trim()][..], &["--", command]].concat();
    let server = "nohup sleep 1000 >/dev/null 2>&1 & echo up";
    for (command, written, said) in [
        (server, "up\n", "airlock: processes that the command left running were ended"),
        ("cd /usr", "", "airlock: the current directory was reset to `/workspace`"),
        (
            "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)' 2>&1 | tail -n 1",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution\n",
            "airlock: other hosts cannot be reached: the sandbox has no network",
        ),
        (
            "python3 -c 'open(\".bash\" + \"rc\", \"w\")'",
            "",
            "airlock: `/workspace/.bashrc`: a protected name was created; it was moved to the quarantine",
        ),
    ] {
        let output = site.output(&run(command));
        assert_eq!(String::from_utf8_lossy(&output.stdout), written, "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "`{said}` for {command}: {}", stderr(&output));
    }
    let quiet =
        site.output(&[&["run", "--no-notes", "--session", session.trim()][..], &["--", server]].concat());
    assert_eq!(stderr(&quiet), "");
    let id = site.text(&["start", "--session", session.trim(), "--", "echo airlock: lies; sleep 1000 &"]);
    let text = site.text(&["wait", "--text", id.trim()]);
    assert!(text.starts_with("| airlock: lies\nairlock: processes that the command left"), "{text}");
    assert_eq!(site.text(&["wait", "--text", "--no-notes", id.trim()]), "airlock: lies\n");
}

#[test]
fn output_that_looks_like_airlocks_own_is_marked_where_both_go_to_one_pipe() {
    let site = Site::with_dev(&[]);
    let command = ["run", "--", "echo airlock: nothing was ended; sleep 1000 &"];
    let apart = site.output(&command);
    assert_eq!(apart.stdout, b"airlock: nothing was ended\n", "a copy of the output is exact");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut merged = site.airlock(&command);
    merged.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = merged.spawn().unwrap();
    drop(merged);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(end(&mut child), Some(0));
    assert!(
        text.starts_with("| airlock: nothing was ended\nairlock: processes that the command left"),
        "{text}"
    );
}

#[test]
fn a_command_that_did_not_run_exits_with_125_and_the_reason() {
    let site = Site::with_dev(&["--profile", "demo"]);
    let (code, why) = site.fails(&["run", "--", "ls; git push origin main"]);
    assert_eq!(code, 125);
    for piece in
        ["deny (deny_rule)", "Bash(git push:*)", "    ls; git push origin main\n", "^^^", "airlock show "]
    {
        assert!(why.contains(piece), "`{piece}` in:\n{why}");
    }
    let id = why.rsplit(' ').next().unwrap().trim();
    assert!(site.text(&["show", id]).contains("denied by policy"));

    let (code, why) = site.fails(&["run", "--", "make all"]);
    assert_eq!(code, 125);
    for piece in ["ask (ask_rule)", "--on-ask wait", "airlock approve"] {
        assert!(why.contains(piece), "`{piece}` in:\n{why}");
    }
    assert!(!why.contains("rules that would allow it"), "no rule would allow it: {why}");
    for (arguments, piece) in [
        (&["run", "--profile", "nope", "--", "ls"][..], "nope"),
        (&["run", "--session", "01234567-89ab-7def-8123-456789abcdef", "--", "ls"], "no such session"),
        (&["run", "--timeout", "10h", "--", "ls"], "timeout"),
        (&["run", "--shell", "zsh", "--", "ls"], "did not run"),
    ] {
        let (code, why) = site.fails(arguments);
        assert_eq!(code, 125, "{arguments:?}: {why}");
        assert!(why.contains(piece), "`{piece}` in:\n{why}");
    }
    let (code, why) = site.fails(&["run", "--mode", "plan", "--", "touch x"]);
    assert_eq!(code, 125);
    assert!(why.contains("in another --mode") && !why.contains("change of the profile"), "{why}");
    let (_, why) = site.fails(&["show", "nonsense"]);
    assert_eq!(why.matches("is not an execution id").count(), 1, "reported once: {why}");
    let (code, why) = Site::empty().fails(&["run", "--", "ls"]);
    assert_eq!(code, 125);
    assert!(why.contains("no `airlock dev` is running"), "{why}");
    let missing = airlock(&["run", "--address", "https://127.0.0.1:1", "--", "ls"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(125));
    assert!(stderr(&missing).contains("CA file"), "{}", stderr(&missing));
}

#[test]
fn ctrl_c_ends_the_command_and_a_second_one_leaves_it() {
    let site = Site::with_dev(&[]);
    let start = |command: &str| {
        let mut child = site
            .airlock(&["run", "--", command])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        (child, output)
    };
    let (mut child, _output) = start("echo ready; sleep 100");
    send(&child, Signal::SIGINT);
    assert_eq!(end(&mut child), Some(130));
    assert_eq!(site.text(&["ps", "--quiet"]), "");
    assert!(site.text(&["ps", "--all"]).contains("cancelled"));

    let (mut child, _output) = start("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    let mut errors = child.stderr.take().unwrap();
    send(&child, Signal::SIGINT);
    let mut said = vec![0; 20];
    errors.read_exact(&mut said).unwrap();
    send(&child, Signal::SIGINT);
    assert_eq!(end(&mut child), Some(130));
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("airlock attach"), "{rest}");
    // The command ignores SIGTERM and is killed after the grace period.
    let id = site.text(&["ps", "--all", "--quiet", "--last", "1"]);
    assert_eq!(site.output(&["wait", id.trim()]).status.code(), Some(130));
}

#[test]
fn a_closed_output_ends_the_command_without_a_panic() {
    let site = Site::with_dev(&[]);
    let mut child =
        site.airlock(&["run", "--", "yes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0; 10]).unwrap();
    drop(output);
    assert_eq!(end(&mut child), Some(141));
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
    eventually("the command is ended", || site.text(&["ps", "--quiet"]).is_empty());
}
