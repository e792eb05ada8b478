//! Tests of the tracer with programs without effects.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use airlock_fuzz::trace::{Ended, Limits, Program, Trace, run};

fn bash(text: &str, limits: &Limits) -> Trace {
    let env = [("PATH", "/usr/bin:/bin")].map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let args = ["--norc", "--noprofile", "-c", text].map(|word| word.as_bytes().to_vec()).into();
    let program = Program { path: Path::new("/bin/bash"), args, env: &env, cwd: Path::new("/") };
    run(&program, limits).unwrap()
}

/// Returns the path, arguments and starter index of each program except the first.
fn started(trace: &Trace) -> Vec<(String, Vec<String>, Option<usize>)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let execs = trace.execs.iter().skip(1);
    execs.map(|exec| (text(&exec.path), exec.argv.iter().map(|word| text(word)).collect(), exec.by)).collect()
}

fn row(path: &str, argv: &[&str], by: usize) -> (String, Vec<String>, Option<usize>) {
    (path.to_owned(), argv.iter().map(|word| (*word).to_owned()).collect(), Some(by))
}

#[test]
fn every_program_is_seen_with_its_words_and_who_started_it() {
    let trace = bash("true; x=$(/bin/true 'a b' ''); /usr/bin/env true c; exit 7", &Limits::default());
    assert_eq!(trace.ended, Ended::Exited(7));
    let text = trace.execs[0].argv.last().unwrap();
    assert!(text.ends_with(b"exit 7"));
    assert_eq!(trace.execs[0].by, None);
    let expected = [
        row("/bin/true", &["/bin/true", "a b", ""], 0),
        row("/usr/bin/env", &["/usr/bin/env", "true", "c"], 0),
        row("/usr/bin/true", &["true", "c"], 2),
    ];
    assert_eq!(started(&trace), expected);
}

#[test]
fn a_hidden_exec_is_seen() {
    let hidden = r#"eval "$(printf '\057bin/tr%s hidden' ue)" & wait; (exec -a other /bin/true deep) | :"#;
    let trace = bash(hidden, &Limits::default());
    let expected = [row("/bin/true", &["/bin/true", "hidden"], 0), row("/bin/true", &["other", "deep"], 0)];
    assert_eq!(started(&trace), expected);
}

#[test]
fn a_command_that_exceeds_the_time_limit_is_killed() {
    let limits = Limits { wall: Duration::from_millis(100), ..Limits::default() };
    let trace = bash("while :; do :; done", &limits);
    assert_eq!(trace.ended, Ended::TimedOut);
}

#[test]
fn remaining_processes_are_killed_and_reported() {
    let limits = Limits { linger: Duration::from_millis(50), ..Limits::default() };
    let trace = bash("/bin/sleep 30 & exit 3", &limits);
    assert_eq!((trace.ended, trace.leftovers), (Ended::Exited(3), true));
    assert_eq!(started(&trace), [row("/bin/sleep", &["/bin/sleep", "30"], 0)]);
}

#[test]
fn too_many_processes_are_killed() {
    let limits = Limits { processes: 8, ..Limits::default() };
    let trace = bash("for i in {1..20}; do /bin/sleep 30 & done; wait", &limits);
    assert_eq!(trace.ended, Ended::TooManyProcesses);
}

#[test]
fn a_stop_is_passed_over() {
    let trace = bash("kill -STOP $$; /bin/true after", &Limits::default());
    assert_eq!(started(&trace), [row("/bin/true", &["/bin/true", "after"], 0)]);
}
