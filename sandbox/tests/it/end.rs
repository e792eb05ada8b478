//! Nothing outlives its end: not a signal handler, not a daemon.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use airlock_sandbox::Cause;

use crate::support::{Host, eventually, finish, host_processes};

/// A number that no other test's processes have in their command lines.
pub(crate) fn mark(test: u32) -> String {
    format!("{}.{test}", 40_000_000 + std::process::id())
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
    let running = host.start(&session, &host.spec("trap 'echo bye; exit 7' TERM; echo up; sleep 60 & wait"));
    let mut first = [0; 3];
    rustix::io::read(&running.streams.stdout, &mut first).unwrap();
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
    for command in ["sleep 60", "sleep 60 | cat", "kill -STOP $$"] {
        let running = host.start(&session, &host.spec(command));
        std::thread::sleep(Duration::from_millis(100));
        running.control.terminate();
        let cause = finish(running).ended.cause;
        assert_eq!(cause, Cause::Signaled { signal: 15, core: false }, "{command}");
    }
}

#[test]
fn what_ignores_terminate_is_killed() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(1);
    let running =
        host.start(&session, &host.spec(format!("trap '' TERM; echo up; while :; do sleep {mark}; done")));
    let mut first = [0; 3];
    rustix::io::read(&running.streams.stdout, &mut first).unwrap();
    running.control.terminate();
    std::thread::sleep(Duration::from_millis(200));
    assert!(!host_processes(&mark).is_empty(), "the control: SIGTERM alone does not end it");
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
        let command = way.replace("MARK", &mark);
        let output = host.run(&session, &host.spec(format!("{command}\nsleep 0.05; exit 3")));
        assert_eq!(output.ended.cause, Cause::Exited(3), "{way}");
        assert!(output.ended.leftovers, "{way}");
        assert_eq!(host_processes(&mark), Vec::<PathBuf>::new(), "{way}");
    }
    // On a busy host a moment may be longer than what is waited for: it has some tries.
    let is_quiet = || !host.run(&session, &host.spec("sleep 0.01 & true")).ended.leftovers;
    assert!((0..20).any(|_| is_quiet()), "what ends by itself in a moment is not left over");
}

#[test]
fn the_last_output_of_a_process_substitution_is_not_lost() {
    let host = Host::new();
    let output = host.sh("seq 1 20000 | tee >(tail -1 >&2) | tail -1");
    assert_eq!(output.stdout, "20000\n20000\n");
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
    let running = host.start(&host.session(), &host.spec("sleep 0.3; echo still here"));
    let Host { launcher, folder, .. } = host;
    drop(launcher);
    let output = finish(running);
    assert_eq!(output.stdout, "still here\n");
    assert_eq!(output.ended.cause, Cause::Exited(0));
    drop(folder);
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
    let running = host.start(&host.session(), &host.spec("sleep 0.2"));
    let poll = |timeout_ms: i64| {
        let fd = running.control.ended();
        let mut fds = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: timeout_ms / 1000, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&limit)).unwrap()
    };
    assert_eq!(poll(0), 0);
    assert_eq!(poll(10_000), 1);
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
    let host = Host::new();
    let session = host.session();
    let mut refused = host.spec("true");
    refused.cwd = "/nowhere".into();
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts_before = mounts();
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    host.run(&session, &host.spec("true"));
    let before = count();
    for round in 0..40 {
        match round % 4 {
            0 => assert_eq!(host.run(&session, &host.spec("echo x")).stdout, "x\n"),
            1 => drop(host.start(&session, &host.spec("sleep 60"))),
            2 => {
                let running = host.start(&session, &host.spec("sleep 60"));
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
