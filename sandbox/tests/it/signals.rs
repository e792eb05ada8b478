//! Tests that signals from outside reach every process of one sandbox, and no other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use airlock_sandbox::{Cause, Running, Signal};

use crate::support::{Host, eventually, finish, host_processes, read_to_end, sleepers, wait_for};

/// Every signal that can be sent, with its shell name and its number.
const ALL: [(Signal, &str, u8); 9] = [
    (Signal::Hup, "HUP", 1),
    (Signal::Int, "INT", 2),
    (Signal::Quit, "QUIT", 3),
    (Signal::Usr1, "USR1", 10),
    (Signal::Usr2, "USR2", 12),
    (Signal::Term, "TERM", 15),
    (Signal::Kill, "KILL", 9),
    (Signal::Stop, "STOP", 19),
    (Signal::Cont, "CONT", 18),
];

/// A shell that only waits. It does not use its own `read -t`: if a trapped signal arrives as the timeout expires,
/// bash can lose both and wait forever. Its message about a `sleep` that the signal ended is discarded.
const REST: &str = "exec 2>/dev/null; while :; do sleep 0.02; done";

fn mark(test: u32) -> String {
    format!("{}.{test}", 70_000_000 + std::process::id())
}

/// Returns the state letter of a process.
fn state(process: &Path) -> char {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?')
}

#[test]
fn each_signal_arrives_as_itself() {
    let host = Host::new();
    let session = host.session();
    for (signal, name, number) in ALL {
        if matches!(signal, Signal::Kill | Signal::Stop) {
            continue;
        }
        let command = format!("trap 'echo got {name}; exit 5' {name}; echo up; {REST}");
        let running = host.start(&session, &host.spec(command));
        wait_for(&running, "up\n");
        running.control.signal(signal);
        let output = finish(running);
        assert_eq!(
            (output.stdout.as_str(), output.ended.cause),
            (format!("got {name}\n").as_str(), Cause::Exited(5)),
            "{number}"
        );
    }
}

#[test]
fn an_unhandled_signal_ends_the_command() {
    let host = Host::new();
    let session = host.session();
    for (signal, name, number) in ALL {
        if matches!(signal, Signal::Stop | Signal::Cont | Signal::Quit) {
            continue;
        }
        let mark = mark(u32::from(number));
        let running = host.start(&session, &host.spec(format!("echo up; sleep {mark} & sleep {mark}; true")));
        wait_for(&running, "up\n");
        eventually("both run", || sleepers(&mark).len() == 2);
        running.control.signal(signal);
        let ended = finish(running).ended;
        assert_eq!(ended.cause, Cause::Signaled { signal: number, core: false }, "{name}");
        assert_eq!(host_processes(&mark), Vec::<PathBuf>::new(), "{name}: also those that it started");
    }
}

#[test]
fn the_end_is_what_the_shell_makes_of_a_signal() {
    let host = Host::new();
    let session = host.session();
    // bash always ignores SIGQUIT itself, and continues after a child that it ended.
    for (command, cause) in [
        ("echo up; sleep MARK", Cause::Exited(131)),
        ("echo up; sleep MARK; exit 9", Cause::Exited(9)),
        ("echo up; exec sleep MARK", Cause::Signaled { signal: 3, core: false }),
    ] {
        let mark = mark(101);
        let running = host.start(&session, &host.spec(command.replace("MARK", &mark)));
        wait_for(&running, "up\n");
        eventually("it sleeps", || !sleepers(&mark).is_empty());
        running.control.signal(Signal::Quit);
        assert_eq!(finish(running).ended.cause, cause, "{command}");
    }
}

#[test]
fn a_stopped_command_can_be_continued_and_ended() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(100);
    let sleeper_is = |wanted: char| sleepers(&mark).iter().any(|path| state(path) == wanted);
    let start = || {
        let running = host.start(&session, &host.spec(format!("echo up; sleep {mark}; true")));
        wait_for(&running, "up\n");
        eventually("it sleeps", || sleeper_is('S'));
        running
    };
    let running = start();
    running.control.signal(Signal::Stop);
    eventually("it stands still", || sleeper_is('T'));
    running.control.signal(Signal::Cont);
    eventually("the process continues", || sleeper_is('S'));
    running.control.signal(Signal::Stop);
    eventually("it stands still again", || sleeper_is('T'));
    running.control.terminate();
    assert_eq!(finish(running).ended.cause, Cause::Signaled { signal: 15, core: false });
    let running = start();
    running.control.signal(Signal::Stop);
    running.control.signal(Signal::Kill);
    assert_eq!(finish(running).ended.cause, Cause::Signaled { signal: 9, core: false });
}

#[test]
fn a_signal_reaches_its_own_sandbox_and_no_other_process_of_the_host() {
    let host = Host::new();
    let session = host.session();
    // One of the same session with the same uid, one of another session, and one outside with the runner's uid.
    let command = format!("trap 'echo hit' USR1; echo up; {REST}");
    let other = host.start(&session, &host.spec(&command));
    let stranger = host.start(&host.session(), &host.spec(&command));
    let mut outside =
        Command::new("bash").args(["-c", "echo up; exec sleep 1000"]).stdout(Stdio::piped()).spawn().unwrap();
    let own = host.start(&session, &host.spec(&command));
    for running in [&own, &other, &stranger] {
        wait_for(running, "up\n");
    }
    for _ in 0..3 {
        own.control.signal(Signal::Usr1);
        wait_for(&own, "hit\n");
    }
    own.control.signal(Signal::Kill);
    assert_eq!(finish(own).ended.cause, Cause::Signaled { signal: 9, core: false }, "the control");
    assert!(outside.try_wait().unwrap().is_none());
    outside.kill().unwrap();
    outside.wait().unwrap();
    for running in [other, stranger] {
        running.control.kill();
        let Running { streams, waiter, .. } = running;
        assert_eq!(waiter.wait().cause, Cause::Killed, "it continued until it was ended");
        assert_eq!(read_to_end(streams.stdout), "", "and received no signal");
    }
}

#[test]
fn a_signal_to_what_has_ended_is_nothing() {
    let host = Host::new();
    let running = host.start(&host.session(), &host.spec("exit 6"));
    let control = running.control.clone();
    assert_eq!(finish(running).ended.cause, Cause::Exited(6));
    control.signal(Signal::Kill);
    control.terminate();
}
