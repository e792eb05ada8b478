//! Attempts to survive the end of the command.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use airlock_sandbox::{Cause, LaunchSpec, Stdin};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::layer::Layer::PidNamespace;
use crate::stage::Stage;
use crate::support::{eventually, finish, host_processes, sleepers};

/// The way in which the command ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Itself,
    Terminated,
    Killed,
}

fn mark(name: &str) -> String {
    let number = name.bytes().fold(0, |sum: u32, byte| (sum * 31 + u32::from(byte)) % 1000);
    format!("{}.{number}", 90_000_000 + std::process::id())
}

/// Checks that the `sleep MARK` that `way` starts ends with the command.
fn goes_on(way: &'static str, end: End) -> impl FnOnce(&mut Stage) {
    move |stage| {
        let mark = mark(way);
        let sleeps = || sleepers(&mark);
        let started = way.replace("MARK", &mark);
        // It runs until its input ends, or until it is killed.
        let spec = stage.host.spec(format!("{started}\nread -r; exit 3"));
        let mut running = stage.host.start(&stage.own, &LaunchSpec { stdin: Stdin::Pipe, ..spec });
        eventually("it runs", || !sleeps().is_empty());
        match end {
            End::Itself => drop(running.streams.stdin.take()),
            End::Terminated => running.control.terminate(),
            End::Killed => running.control.kill(),
        }
        let ended = finish(running).ended;
        assert_eq!(sleeps(), Vec::<PathBuf>::new(), "no process continues");
        match end {
            End::Itself => {
                assert_eq!(ended.cause, Cause::Exited(3));
                assert!(ended.leftovers, "the result reports that processes were left");
            }
            End::Terminated => assert_eq!(ended.cause, Cause::Signaled { signal: 15, core: false }),
            End::Killed => assert_eq!(ended.cause, Cause::Killed),
        }
        println!("stopped by {PidNamespace}: it ended with the command");

        // Without a sandbox it survives its shell.
        let shell =
            Command::new("bash").args(["-c", &started]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(shell.is_ok());
        eventually("the control: it goes on", || !sleeps().is_empty());
        stage.controlled();
        eventually("the control has ended", || {
            for process in sleeps() {
                let number = process.file_name().unwrap().to_string_lossy().parse().unwrap();
                let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
            }
            host_processes(&mark).is_empty()
        });
    }
}

const DOUBLE_FORK: &str = "(sleep MARK & exec true) &";
const SETSID: &str = "setsid sleep MARK &";
const NOHUP: &str = "nohup sleep MARK >/dev/null 2>&1 &";
const IGNORES_TERM: &str = "(trap '' TERM HUP INT QUIT; exec sleep MARK) &";
const DAEMON: &str =
    "setsid bash -c 'cd /; (trap \"\" TERM HUP; exec sleep MARK) </dev/null >/dev/null 2>&1 &' &";
const OWN_GROUP: &str = "set -m; sleep MARK & disown; set +m";
const STOPPED: &str =
    "sleep MARK & until read -rd '' a < /proc/$!/cmdline && [ $a = sleep ]; do :; done; kill -STOP $!";
const MANY: &str = "for i in {1..20}; do setsid nohup sleep MARK >/dev/null 2>&1 & done";
const COPROCESS: &str = "coproc setsid sleep MARK";

attempts! {
    a_double_fork: goes_on(DOUBLE_FORK, End::Itself);
    a_double_fork_when_killed: goes_on(DOUBLE_FORK, End::Killed);
    a_double_fork_when_terminated: goes_on(DOUBLE_FORK, End::Terminated);
    a_session_of_its_own: goes_on(SETSID, End::Itself);
    nohup: goes_on(NOHUP, End::Itself);
    nohup_when_killed: goes_on(NOHUP, End::Killed);
    nohup_when_terminated: goes_on(NOHUP, End::Terminated);
    signals_ignored: goes_on(IGNORES_TERM, End::Itself);
    a_daemon: goes_on(DAEMON, End::Itself);
    a_process_group_of_its_own: goes_on(OWN_GROUP, End::Itself);
    a_stopped_process: goes_on(STOPPED, End::Itself);
    many_of_them: goes_on(MANY, End::Itself);
    a_coprocess: goes_on(COPROCESS, End::Itself);
    signals_ignored_when_killed: goes_on(IGNORES_TERM, End::Killed);
    a_daemon_when_killed: goes_on(DAEMON, End::Killed);
    a_stopped_process_when_killed: goes_on(STOPPED, End::Killed);
    a_session_of_its_own_when_killed: goes_on(SETSID, End::Killed);
    a_session_of_its_own_when_terminated: goes_on(SETSID, End::Terminated);
    signals_ignored_when_terminated: goes_on(IGNORES_TERM, End::Terminated);
    a_stopped_process_when_terminated: goes_on(STOPPED, End::Terminated);
}
