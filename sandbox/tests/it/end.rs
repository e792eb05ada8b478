//! Tests that no signal handler and no daemon outlives a command.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use airlock_mounts::PrivateMounts;
use airlock_sandbox::{Cause, LaunchSpec, Stdin};

use crate::support::{
    Host, PATIENCE, eventually, finish, finish_once, host_processes, mounts, processes_of, sleepers, wait_for,
};

/// Returns a number that no process of another test has in its command line.
pub(crate) fn mark(test: u32) -> String {
    format!("{}.{test}", 40_000_000 + std::process::id())
}

/// Returns a command that runs this and then waits for the end of its input.
fn until_let_go(host: &Host, command: &str, end: &str) -> LaunchSpec {
    LaunchSpec { stdin: Stdin::Pipe, ..host.spec(format!("{command}\nread -r; {end}")) }
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let host = Host::new();
    let session = host.session();
    for code in [0, 1, 125, 137, 255] {
        let ended = host.run(&session, &host.spec(format!("exit {code}"))).ended;
        assert_eq!(ended.cause, Cause::Exited(code));
    }
    for signal in [1, 2, 6, 9, 11, 15, 34, 64] {
        let ended = host.run(&session, &host.spec(format!("kill -{signal} $$"))).ended;
        assert_eq!(ended.cause, Cause::Signaled { signal, core: false });
    }
}

#[test]
fn terminate_reaches_everything_and_the_shell_may_say_how_it_ended() {
    let host = Host::new();
    let session = host.session();
    let running =
        host.start(&session, &host.spec("trap 'echo bye; exit 7' TERM; echo up; sleep 1000 & wait"));
    wait_for(&running, "up\n");
    running.control.terminate();
    let output = finish(running);
    assert_eq!(output.ended.cause, Cause::Exited(7));
    assert_eq!(output.stdout, "bye\n");
    assert!(!output.ended.leftovers);
}

#[test]
fn terminate_alone_ends_a_plain_command_even_a_stopped_one() {
    let host = Host::new();
    let session = host.session();
    let (mark, uid) = (mark(2), session.ids.unwrap().uid);
    let is_stopped = || processes_of(uid).iter().any(|status| status.contains("State:\tT"));
    for command in ["sleep MARK", "sleep MARK | cat", "kill -STOP $$"] {
        let running = host.start(&session, &host.spec(command.replace("MARK", &mark)));
        eventually("it waits", || !sleepers(&mark).is_empty() || is_stopped());
        running.control.terminate();
        let cause = finish(running).ended.cause;
        assert_eq!(cause, Cause::Signaled { signal: 15, core: false }, "{command}");
    }
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(1);
    // SIGCONT follows SIGTERM, so that stopped processes continue.
    let ignores = "trap '' TERM; trap 'echo still here' CONT; sleep MARK & echo up; while :; do wait; done";
    let running = host.start(&session, &host.spec(ignores.replace("MARK", &mark)));
    wait_for(&running, "up\n");
    eventually("it sleeps", || !sleepers(&mark).is_empty());
    running.control.terminate();
    wait_for(&running, "still here\n");
    assert!(!host_processes(&mark).is_empty(), "control: SIGTERM alone does not end it");
    running.control.kill();
    assert_eq!(finish(running).ended.cause, Cause::Killed);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

#[test]
fn daemons_end_with_the_command_and_the_result_says_so() {
    let host = Host::new();
    let session = host.session();
    let ways = [
        "sleep MARK & disown",
        "setsid sleep MARK &",
        "nohup sleep MARK >/dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep MARK & sleep MARK' &)",
        "setsid setsid sh -c '(sleep MARK &)' & wait",
        "bash -c 'trap \"\" TERM INT HUP QUIT; echo > up; sleep MARK' & until [ -e up ]; do sleep 0.01; done; kill $!",
    ];
    for (number, way) in (10..).zip(ways) {
        let mark = mark(number);
        let spec = until_let_go(&host, &way.replace("MARK", &mark), "exit 3");
        let running = host.start(&session, &spec);
        let output = finish_once("its daemon runs", running, || !sleepers(&mark).is_empty());
        assert_eq!(output.ended.cause, Cause::Exited(3), "{way}");
        assert!(output.ended.leftovers, "{way}");
        assert_eq!(host_processes(&mark), Vec::<PathBuf>::new(), "{way}");
    }
    // On a busy host the process may live longer than the grace period, so repeat the test.
    let is_quiet = || !host.run(&session, &host.spec("sleep 0.01 & true")).ended.leftovers;
    eventually("what ends by itself in a moment is not left over", is_quiet);
}

#[test]
fn the_last_output_of_a_process_substitution_is_not_lost() {
    let host = Host::new();
    let session = host.session();
    // On a busy host the last process may live longer than the grace period. The result then reports it.
    eventually("nothing is left over", || {
        let output = host.run(&session, &host.spec("seq 1 20000 | tee >(tail -1 >&2) | tail -1"));
        assert!(output.ended.leftovers || output.stdout == "20000\n20000\n", "{}", output.stdout);
        !output.ended.leftovers
    });
}

#[test]
fn a_dropped_waiter_leaves_nothing() {
    let host = Host::new();
    let mark = mark(20);
    let running = host.start(&host.session(), &host.spec(format!("sleep {mark}; true")));
    eventually("the command runs", || !host_processes(&mark).is_empty());
    drop(running);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

#[test]
fn a_running_command_outlives_the_launcher_that_started_it() {
    let host = Host::new();
    let mut running = host.start(&host.session(), &until_let_go(&host, "", "echo still here"));
    let Host { launcher, directory, .. } = host;
    drop(launcher);
    drop(running.streams.stdin.take());
    let output = finish(running);
    assert_eq!(output.stdout, "still here\n");
    assert_eq!(output.ended.cause, Cause::Exited(0));
    drop(directory);
}

#[test]
fn bubblewrap_killed_from_outside_is_a_failure_and_leaves_nothing() {
    let host = Host::new();
    let mark = mark(40);
    let running = host.start(&host.session(), &host.spec(format!("sleep {mark}; true")));
    rustix::process::pidfd_send_signal(running.control.ended(), rustix::process::Signal::KILL).unwrap();
    let ended = finish(running).ended;
    assert!(matches!(ended.cause, Cause::SandboxFailed { .. }), "{:?}", ended.cause);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

#[test]
fn the_descriptor_of_the_end_polls_readable_at_the_end() {
    let host = Host::new();
    let mut running = host.start(&host.session(), &until_let_go(&host, "", "true"));
    let control = running.control.clone();
    let poll = |patience: Duration| {
        let fd = control.ended();
        let mut fds = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&patience.try_into().unwrap())).unwrap()
    };
    assert_eq!(poll(Duration::ZERO), 0);
    drop(running.streams.stdin.take());
    assert_eq!(poll(PATIENCE), 1);
    assert_eq!(running.waiter.wait().cause, Cause::Exited(0));
}

#[test]
fn usage_is_reported() {
    let host = Host::new();
    let ended = host
        .sh("x=$(head -c 50000000 /dev/zero | tr '\\0' x); i=0; while ((i++ < 100000)); do :; done")
        .ended;
    assert!(ended.user >= Duration::from_millis(20), "{ended:?}");
    assert!(ended.peak_memory.unwrap().bytes >= 40_000_000, "{ended:?}");
    assert!(ended.elapsed >= Duration::from_millis(20), "{ended:?}");
}

#[test]
fn descriptors_and_children_are_the_same_before_and_after_many_launches() {
    let _private = PrivateMounts::enter();
    let host = Host::new();
    let session = host.session();
    let mut refused = host.spec("true");
    refused.cwd = "/nowhere".into();
    let mounts_before = mounts();
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    host.run(&session, &host.spec("true"));
    let before = count();
    for round in 0..40 {
        match round % 4 {
            0 => assert_eq!(host.run(&session, &host.spec("echo x")).stdout, "x\n"),
            1 => drop(host.start(&session, &host.spec("sleep 1000"))),
            2 => {
                let running = host.start(&session, &host.spec("sleep 1000"));
                running.control.kill();
                finish(running);
            }
            _ => drop(host.launcher.start(&host.profile, &session, &host.limits, &refused)),
        }
    }
    drop(host.session());
    assert_eq!(count(), before);
    assert_eq!(mounts(), mounts_before);
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap();
    assert_eq!(tasks.map(children).collect::<String>(), "");
}

#[test]
fn many_at_once_from_many_threads() {
    let host = Host::new();
    let session = host.session();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (host, session) = (&host, &session);
            scope.spawn(move || {
                for round in 0..5 {
                    let text = format!("{thread}-{round}");
                    let output = host.run(session, &host.spec(format!("echo {text}; exit 4")));
                    assert_eq!(output.stdout, format!("{text}\n"));
                    assert_eq!(output.ended.cause, Cause::Exited(4));
                }
            });
        }
    });
}
