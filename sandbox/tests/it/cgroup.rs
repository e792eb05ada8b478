//! Tests of cgroups on this host: none remains after any end of a sandbox. Without cgroups commands still run, and the
//! result reports it. The tests in a virtual machine cover the controllers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use airlock_sandbox::{
    Cause, CgroupConfig, CgroupMode, Config, LaunchSpec, Launcher, PeakSource, UidIsolation,
};
use serde_json::Value;

use crate::support::{BWRAP, Host, eventually, example, finish, host_processes, processes_of, sleepers};

/// Returns a number that no process of another test has in its command line.
fn mark(test: u32) -> String {
    format!("{}.{test}", 90_000_000 + std::process::id())
}

impl Host {
    /// Returns the cgroup of this host's launcher.
    fn cgroup(&self) -> &Path {
        let gaps = self.launcher.limits_not_enforced();
        self.launcher.cgroup().unwrap_or_else(|| panic!("cgroup2 with `cgroup.kill` is needed: {gaps:?}"))
    }

    fn sandboxes(&self) -> usize {
        let entries = fs::read_dir(self.cgroup()).unwrap().flatten();
        entries.filter(|entry| entry.file_type().unwrap().is_dir()).count()
    }

    fn without_cgroups(mut self) -> Self {
        self.launcher = Launcher::new(Config {
            bwrap: BWRAP.into(),
            state: self.directory.path().join("state-without"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig { mode: CgroupMode::Off, parent: None },
        })
        .unwrap();
        self
    }
}

#[test]
fn everything_of_a_sandbox_is_in_its_cgroup_and_inside_sees_only_the_root() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(2);
    let command = format!("cat /proc/self/cgroup; setsid sleep {mark} & sleep {mark}");
    let running = host.start(&session, &host.spec(command));
    let uid = session.ids.unwrap().uid;
    eventually("both run", || sleepers(&mark).len() == 2);
    assert!(processes_of(uid).len() >= 5);
    assert_eq!(host.sandboxes(), 1);
    let name = host.cgroup().file_name().unwrap().to_string_lossy().into_owned();
    let pids = processes_of(uid);
    let pids = pids.iter().map(|status| status.lines().find_map(|line| line.strip_prefix("Pid:\t")).unwrap());
    for pid in pids {
        let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        assert!(own.contains(&format!("{name}/")), "{pid}: {own}");
    }
    running.control.kill();
    let output = finish(running);
    assert!(output.stdout.lines().any(|line| line == "0::/"), "{}", output.stdout);
    assert!(!output.stdout.contains("airlock"), "{}", output.stdout);
}

#[test]
fn every_exit_path_removes_the_cgroup() {
    let host = Host::new();
    let session = host.session();
    let daemon = "(setsid bash -c 'trap \"\" TERM HUP; sleep 1000' &); ";
    let spec = |rest: &str| host.spec(format!("{daemon}{rest}"));
    let start = |rest| host.start(&session, &spec(rest));
    let ways: [(&str, &dyn Fn()); 7] = [
        ("an end", &|| assert_eq!(host.run(&session, &spec("exit 3")).ended.cause, Cause::Exited(3))),
        ("a signal", &|| drop(host.run(&session, &spec("kill -9 $$")))),
        ("a kill", &|| {
            let running = start("sleep 1000");
            running.control.kill();
            assert_eq!(finish(running).ended.cause, Cause::Killed);
        }),
        ("a drop", &|| drop(start("sleep 1000"))),
        ("a drop of the waiter with a control left", &|| {
            let running = start("sleep 1000");
            let control = running.control.clone();
            drop(running);
            control.kill();
        }),
        ("a start that is refused inside", &|| {
            drop(host.refused(&session, &LaunchSpec { cwd: "/nowhere".into(), ..spec("true") }));
        }),
        ("the death of bubblewrap", &|| {
            let running = start("sleep 1000");
            rustix::process::pidfd_send_signal(running.control.ended(), rustix::process::Signal::KILL)
                .unwrap();
            finish(running);
        }),
    ];
    for (name, way) in ways {
        way();
        assert_eq!(host.sandboxes(), 0, "{name}");
        assert!(processes_of(session.ids.unwrap().uid).is_empty(), "{name}");
    }
    let running = start("sleep 1000");
    assert_eq!(host.sandboxes(), 1, "the control");
    drop(running);
    let directory = host.cgroup().to_owned();
    drop(host);
    assert!(!directory.exists());
}

#[test]
fn a_start_that_fails_outside_or_takes_too_long_leaves_no_cgroup() {
    for rest in ["exit 1", "kill -KILL $$", "exec sleep 1000"] {
        let mut host = Host::new().with_bwrap(&format!("setsid sleep 1000 & {rest}"));
        host.limits.start_timeout = Duration::from_millis(500);
        host.refused(&host.session(), &host.spec("true"));
        assert_eq!(host.sandboxes(), 0, "{rest}");
    }
}

#[test]
fn the_cgroup_counts_the_usage_of_a_daemon() {
    let host = Host::new();
    // Fields 14 and 15 are the process's own time in hundredths of a second. It continues after it has reported them.
    let busy = "mkfifo told; (setsid bash -c '
        while read -a own < /proc/$$/stat; (( own[13] + own[14] < 20 )); do
            for ((i = 0; i < 1000; i++)); do :; done
        done; echo > told; while :; do :; done' &); read -r < told";
    let ended = host.sh(busy).ended;
    assert!(ended.leftovers);
    assert!(ended.user + ended.system >= Duration::from_millis(100), "{ended:?}");
    let memory = !host.launcher.limits_not_enforced().iter().any(|gap| gap.limit == "memory");
    let expected = if memory { PeakSource::Cgroup } else { PeakSource::LargestProcess };
    assert_eq!(ended.peak_memory.unwrap().source, expected);
}

#[test]
fn without_cgroups_commands_run_end_and_the_gaps_are_named() {
    let host = Host::new().without_cgroups();
    assert_eq!(host.launcher.cgroup(), None);
    let gaps = host.launcher.limits_not_enforced();
    let names: Vec<_> = gaps.iter().map(|gap| gap.limit).collect();
    assert_eq!(names, ["cgroup", "memory", "swap", "pids", "cpu", "io"]);

    let mark = mark(1);
    let output = host.sh(format!("(setsid bash -c 'trap \"\" TERM; sleep {mark}' &); echo x; exit 4"));
    assert_eq!(output.stdout, "x\n");
    assert_eq!(output.ended.cause, Cause::Exited(4));
    assert!(output.ended.leftovers);
    assert_eq!(output.ended.peak_memory.unwrap().source, PeakSource::LargestProcess);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
    let running = host.start(&host.session(), &host.spec(format!("sleep {mark}; true")));
    running.control.kill();
    assert_eq!(finish(running).ended.cause, Cause::Killed);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

/// Runs the runner of an ordinary user, in the cgroup with this directory.
fn as_a_user(cgroup: Option<&Path>, options: &[&str]) -> Value {
    let directory = airlock_mounts::ScratchDir::new();
    let state = directory.path().join("state");
    fs::create_dir(&state).unwrap();
    chown(&state, Some(USER), Some(USER)).unwrap();
    let program = directory.path().join("run");
    fs::copy(example(), &program).unwrap();
    for path in [directory.path(), &program] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let enter =
        cgroup.map_or(String::new(), |cgroup| format!("echo $$ > {}/cgroup.procs;", cgroup.display()));
    let become_user = format!("setpriv --reuid {USER} --regid {USER} --clear-groups \"$@\"");
    let output = Command::new("bash")
        .args(["-c", &format!("{enter} exec {become_user}"), "-"])
        .arg(&program)
        .args(["--report", "yes"])
        .args(options)
        .arg(&state)
        .arg("(setsid bash -c 'trap \"\" TERM; sleep 1000' &); exit 5")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(!state.join("launcher/cgroup").exists(), "the recorded cgroup was removed");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

const USER: u32 = 65_533;

fn gaps(report: &Value) -> Vec<&str> {
    let gaps = report["not_enforced"].as_array().unwrap();
    gaps.iter().map(|gap| gap["limit"].as_str().unwrap()).collect()
}

#[test]
fn an_ordinary_user_divides_the_cgroup_that_was_given_to_it() {
    let host = Host::new();
    let base = host.cgroup().parent().unwrap().join(format!("delegated-{}", std::process::id()));
    fs::create_dir(&base).unwrap();
    for name in [".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
        chown(base.join(name), Some(USER), Some(USER)).unwrap();
    }
    let report = as_a_user(Some(&base), &[]);
    assert_eq!(report["cause"], "Exited(5)");
    assert_eq!(report["leftovers"], true);
    assert!(!gaps(&report).contains(&"cgroup"), "{report}");
    // If there are controllers, the runner has moved into the leaf.
    let _ = fs::remove_dir(base.join("airlock-runner"));
    fs::remove_dir(&base).expect("nothing else is left in it");
}

#[test]
fn an_ordinary_user_without_a_cgroup_of_its_own_runs_and_says_so() {
    for options in [&[][..], &["--cgroup", "off"]] {
        let report = as_a_user(None, options);
        assert_eq!(report["cause"], "Exited(5)");
        assert_eq!(gaps(&report), ["cgroup", "memory", "swap", "pids", "cpu", "io"]);
    }
}
