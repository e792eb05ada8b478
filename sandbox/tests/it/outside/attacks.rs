//! Attacks of commands outside the sandbox: the runner's files stay inaccessible, limits hold, and no process survives.
//! Each attack has a control: the same command as the runner's own user, or without the tested restriction.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use airlock_sandbox::{Cause, Limits};

use super::{run, spec, start_until_let_go, try_start};
use crate::end::mark;
use crate::support::{
    Host, OrdinaryRunner, eventually, example, finish, finish_once, host_processes, limits, next_start,
    next_uid, processes_of, sleepers,
};

const SECRET: &str = "the-runners-own-secret";

/// Attempts to reach the runner's files and the data of its processes. The controls unmount nothing.
fn ways(host: &Host, other: &std::path::Path) -> Vec<String> {
    let pid = std::process::id();
    let top = host.directory.path().display();
    let (state, file) = (host.directory.path().join("state"), "state/secret");
    vec![
        format!("cat {top}/{file}"),
        format!("cat {}/own", other.display()),
        format!("cat /proc/{pid}/root{top}/{file}"),
        format!("tr '\\0' '\\n' </proc/{pid}/environ | grep -a CARGO_MANIFEST_DIR="),
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a CARGO_MANIFEST_DIR=".to_owned(),
        format!("nsenter --mount=/proc/{pid}/ns/mnt cat {top}/{file}"),
        format!(
            "unshare -m ${{USER_NS:-}} sh -c '${{UMOUNT:-true}} -l {top}/sessions; ${{UMOUNT:-true}} -l {top}; cat {top}/{file} {}/own'",
            other.display()
        ),
        format!("cd {} && cat secret", state.display()),
    ]
}

#[test]
fn the_runners_files_cannot_be_read() {
    let host = Host::new();
    let (session, other) = (host.session(), host.session());
    let state = host.directory.path().join("state");
    fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    fs::write(state.join("secret"), SECRET).unwrap();
    fs::write(other.directories.workspace.join("own"), SECRET).unwrap();
    let found = |said: &str| said.contains(SECRET) || said.contains("CARGO_MANIFEST_DIR=");
    for way in ways(&host, &other.directories.workspace) {
        let control = Command::new("bash").args(["-c", &way]).output().unwrap();
        assert!(found(&String::from_utf8_lossy(&control.stdout)), "control: {way}");
        let output = run(&host, &session, &format!("export USER_NS=-Ur UMOUNT=umount; {way}"));
        assert!(!found(&output.stdout), "{way}: {}", output.stdout);
        assert_ne!(output.ended.cause, Cause::Exited(0), "{way}");
    }
}

#[test]
fn its_limits_hold_and_cannot_be_raised() {
    let mut host = Host::new();
    let session = host.session();
    let command = "head -c 3000000 /dev/zero >f; stat -c %s f; ulimit -n; ulimit -u; ulimit -c
        ulimit -n 5000 || echo held; ulimit -u 5000 || echo held; ulimit -f unlimited || echo held";
    let free = run(&host, &session, "head -c 3000000 /dev/zero >f; stat -c %s f").stdout;
    assert_eq!(free, "3000000\n", "control: without a limit");
    host.limits = Limits { nofile: 77, nproc: 66, fsize: Some(1 << 20), ..limits() };
    let held = run(&host, &session, &format!("{{ {command}; }} 2>/dev/null")).stdout;
    assert_eq!(held, "1048576\n77\n66\n0\nheld\nheld\nheld\n");
}

#[test]
fn the_kernel_would_rather_end_it_than_the_runner() {
    let host = Host::new();
    let own: i32 = fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    let seen =
        run(&host, &host.session(), "cat /proc/self/oom_score_adj; echo -500 >/proc/self/oom_score_adj");
    let score: i32 = seen.stdout.lines().next().unwrap().parse().unwrap();
    assert!(score > own && score > 0, "{score}, and the runner has {own}");
    assert_ne!(seen.ended.cause, Cause::Exited(0), "the score cannot be lowered");
}

#[test]
fn its_environment_and_descriptors_hold_nothing_of_the_runner_from_its_first_process_on() {
    let host = Host::new();
    let session = host.session();
    let command = "cat /proc/1/environ /proc/1/mem /proc/1/maps; ls /proc/1/fd /proc/1/cwd/; \
                   cat /proc/1/auxv; kill -STOP 1; prlimit --pid 1 --nofile=1; echo end";
    let output = run(&host, &session, &format!("{{ {command}; }} 2>/dev/null"));
    assert_eq!((output.ended.cause, output.stdout.as_str()), (Cause::Exited(0), "end\n"));
    let own = run(&host, &session, "cat /proc/self/environ | tr '\\0' '\\n' | grep -c ^PATH=");
    assert_eq!(own.stdout, "1\n", "control: a process of its own: {}", own.stderr);
}

#[test]
fn nothing_lives_on_in_namespaces_sessions_or_cgroups_of_its_own() {
    let host = Host::new();
    let session = host.session();
    let uid = session.ids.unwrap().uid;
    let cgroup =
        host.launcher.cgroup().map(|directory| directory.join("../cgroup.procs").display().to_string());
    let leave = cgroup.unwrap_or_default();
    for (number, way) in (80..).zip([
        "unshare -Ur sleep MARK &",
        "unshare -Urpf --mount-proc setsid sleep MARK &",
        "unshare -Urmni setsid nohup sleep MARK >/dev/null 2>&1 &",
        "(echo $BASHPID >LEAVE; exec setsid sleep MARK) 2>/dev/null &",
        "setsid sh -c 'trap \"\" TERM INT HUP QUIT; while :; do sleep MARK; done' &",
    ]) {
        let mark = mark(number);
        let command = way.replace("MARK", &mark).replace("LEAVE", &leave);
        let running =
            try_start(&host, &session, &spec(&host, &session, &format!("{command}\necho up; wait")));
        let running = running.unwrap();
        eventually("the control: it runs", || !host_processes(&format!("sleep {mark}")).is_empty());
        running.control.kill();
        assert_eq!(finish(running).ended.cause, Cause::Killed, "{way}");
        assert!(processes_of(uid).is_empty(), "{way}");
        let running = start_until_let_go(&host, &session, &command);
        let output = finish_once("it runs", running, || !sleepers(&mark).is_empty());
        assert_eq!((output.ended.cause, output.ended.leftovers), (Cause::Exited(3), true), "{way}");
        assert!(processes_of(uid).is_empty(), "{way}");
    }
}

#[test]
fn nothing_lives_on_when_the_runner_is_killed() {
    let directory = airlock_mounts::ScratchDir::new();
    for round in 0..5 {
        let (mark, uid) = (mark(90 + round), next_uid());
        let command = format!("trap '' TERM HUP; setsid sleep {mark} & unshare -Urpf sleep {mark}; true");
        let mut owner = Command::new(example())
            .args(["--uid", &uid.to_string(), "--outside", "yes"])
            .arg(directory.path())
            .arg(&command)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the control: it runs", || host_processes(&format!("sleep {mark}")).len() >= 3);
        owner.kill().unwrap();
        assert_eq!(owner.wait().unwrap().signal(), Some(9));
        eventually("everything has ended", || processes_of(uid).is_empty());
    }
    next_start(&directory.path().join("launcher"));
}

#[test]
fn a_runner_of_an_ordinary_user_starts_nothing_outside() {
    let host = Host::new();
    let runner = OrdinaryRunner::new();
    let try_with = |option: &str| {
        let state = runner.directory().join("state");
        let marker = state.join("ran");
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(runner.directory().join("run"))
            .args(["--outside", option])
            .arg(&state)
            .arg(format!("id -u; touch {}", marker.display()))
            .arg(&host.probe)
            .output()
            .unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap(), marker)
    };
    let (inside, _, _) = try_with("no");
    assert!(inside.starts_with("1000\n"), "control: inside the sandbox, it runs: {inside}");
    let (said, error, marker) = try_with("yes");
    assert_eq!(said, "");
    assert!(error.contains("the runner's own user"), "{error}");
    std::thread::sleep(Duration::from_millis(100));
    assert!(!marker.exists());
}
