//! Tests of objects that a command must not reach, each with a control that reaches them.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use airlock_sandbox::Session;

use crate::end::mark;
use crate::support::{Host, PROBE, control, eventually, finish, host_processes, sleepers};

/// A process of the host that ends with the test.
struct Sleeper(Child);

impl Sleeper {
    fn new(mark: &str) -> Self {
        Self(Command::new("sleep").arg(mark).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_capability_in_any_set() {
    let host = Host::new();
    host.probe("capabilities").assert_out_of_reach(5);
    let session = host.session();
    let read_only = host.read_only_spec(format!("{PROBE} capabilities"));
    host.probe_in(&session, &read_only).assert_out_of_reach(5);
    host.control(&["capabilities"]).assert_reached();
}

#[test]
fn no_way_to_gain_privileges() {
    let host = Host::new();
    host.probe("gain-privileges").assert_out_of_reach(3);
    host.control(&["gain-privileges"]).assert_reached();
}

#[test]
fn no_namespace_can_be_made() {
    let host = Host::new();
    host.probe("namespaces").assert_out_of_reach(5);
    host.control(&["namespaces"]).assert_reached();
}

#[test]
fn nothing_can_be_mounted() {
    let host = Host::new();
    host.probe("mount").assert_out_of_reach(3);
    let mut own = airlock_mounts::private_command(&["--map-root-user"]);
    control(own.arg(&host.probe).arg("mount")).assert_reached();
}

#[test]
fn no_device_can_be_made() {
    let host = Host::new();
    for directory in ["/workspace", "/tmp", "/home/agent", "/dev/shm"] {
        host.probe(&format!("device {directory}")).assert_out_of_reach(4);
    }
    host.control(&["device", "/tmp"]).assert_reached();
}

#[test]
fn no_kernel_setting_can_be_written() {
    let host = Host::new();
    host.probe("sysctl").assert_out_of_reach(4);
    host.control(&["sysctl"]).assert_reached();
}

#[test]
fn host_uid_is_the_sessions_own_and_not_root() {
    let host = Host::new();
    let session = host.session();
    let ids = session.ids.expect("this suite runs as root");
    let mark = mark(210);
    let running = host.start(&session, &host.spec(format!("exec bash -c 'exec 3>seen; sleep {mark}; true'")));
    eventually("the command runs", || sleepers(&mark).len() == 1);
    let processes = host_processes(&mark);
    assert_eq!(processes.len(), 2, "the shell and its child");
    for process in processes {
        let status = fs::read_to_string(process.join("status")).unwrap();
        let line = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line("Uid:"), vec![ids.uid.to_string(); 4], "{process:?}");
        assert_eq!(line("Gid:"), vec![ids.gid.to_string(); 4], "{process:?}");
        assert_eq!(line("Groups:").len(), 0, "{process:?}");
    }
    running.control.kill();
    finish(running);
    let made = fs::metadata(session.directories.workspace.join("seen")).unwrap();
    assert_eq!((made.uid(), made.gid()), (ids.uid, ids.gid));
}

#[test]
fn a_file_of_root_is_unreadable_even_where_a_profile_binds_it() {
    let mut host = Host::new();
    let secret = host.directory.path().join("secret");
    fs::write(&secret, "of root").unwrap();
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    host.profile = host.profile.clone().with_bind(&secret, "/etc/shadow");
    host.probe("read /etc/shadow").assert_out_of_reach(6);
    host.control(&["read", &secret.to_string_lossy()]).assert_reached();
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o644)).unwrap();
    host.probe("read /etc/shadow").assert_reached();
}

#[test]
fn the_hosts_files_are_not_there() {
    let host = Host::new();
    let state = host.directory.path().join("state/runner.key");
    fs::write(&state, "of the runner").unwrap();
    for path in ["/etc/shadow", &state.to_string_lossy(), &host.probe.to_string_lossy()] {
        host.probe(&format!("read '{path}'")).assert_out_of_reach(6);
        host.control(&["read", path]).assert_reached();
    }
}

#[test]
fn another_sessions_files_are_out_of_reach() {
    let mut host = Host::new();
    let (own, other) = (host.session(), host.session());
    host.run(&other, &host.spec("echo secret > file; echo secret > /tmp/file; echo secret > ~/file"));
    let probe = |host: &Host, session: &Session, path: &str| {
        host.probe_in(session, &host.spec(format!("{PROBE} read '{path}'")))
    };
    for directory in [&other.directories.workspace, &other.directories.tmp, &other.directories.home] {
        let path = directory.join("file").to_string_lossy().into_owned();
        probe(&host, &own, &path).assert_out_of_reach(6);
        host.control(&["read", &path]).assert_reached();
    }
    for path in ["/workspace/file", "/tmp/file", "/home/agent/file"] {
        probe(&host, &own, path).assert_out_of_reach(6);
        probe(&host, &other, path).assert_reached();
    }
    // Even a profile that binds the directory of all sessions shows none of them.
    let all = host.directory.path().join("sessions");
    fs::set_permissions(&all, PermissionsExt::from_mode(0o755)).unwrap();
    host.profile = host.profile.clone().with_bind(&all, "/run/sessions");
    let name = other.directories.root.file_name().unwrap().to_string_lossy().into_owned();
    let path = format!("/run/sessions/{name}/workspace/file");
    probe(&host, &own, &path).assert_out_of_reach(6);
    fs::set_permissions(&other.directories.root, PermissionsExt::from_mode(0o755)).unwrap();
    probe(&host, &own, &path).assert_out_of_reach(6);
    probe(&host, &other, &path).assert_reached();
}

#[test]
fn nothing_of_the_runners_environment_is_inside() {
    const OURS: &str = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(OURS).is_some(), "the control needs a variable to search for");
    let host = Host::new();
    let session = host.session();
    let spec = |command: &str| host.spec(command);
    let probe = host.probe_in(&session, &spec(&format!("{PROBE} environment {OURS}")));
    probe.assert_out_of_reach(4);
    host.control(&["environment", OURS]).assert_reached();
    let mut given = spec(&format!("{PROBE} environment {OURS}"));
    given.env.push((OURS.into(), "x".into()));
    host.probe_in(&session, &given).assert_reached();
}

#[test]
fn bubblewrap_and_pid_1_have_an_empty_environment() {
    let host = Host::new();
    let session = host.session();
    let running = host.start(&session, &host.spec("sleep 1000"));
    let uid = session.ids.unwrap().uid.to_string();
    let own = |process: &std::path::PathBuf| {
        running_uid(&fs::read_to_string(process.join("status")).unwrap_or_default()) == uid
    };
    let sandboxed: Vec<_> = host_processes("/run/airlock/init pid1").into_iter().filter(own).collect();
    assert_eq!(sandboxed.len(), 2, "bubblewrap and pid 1");
    for process in sandboxed {
        let environ = fs::read(process.join("environ")).unwrap();
        let text = String::from_utf8_lossy(&environ).replace('\0', "\n");
        // bubblewrap sets this variable.
        let lines: Vec<_> = text.lines().filter(|line| *line != "PWD=/").collect();
        assert!(lines.is_empty(), "{process:?}: {lines:?}");
    }
    running.control.kill();
    finish(running);
}

fn running_uid(status: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:\t"));
    line.and_then(|line| line.split('\t').next()).unwrap_or_default().to_owned()
}

#[test]
fn the_environment_is_what_was_built_and_no_more() {
    let host = Host::new();
    let spec = host.spec("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'");
    let mut wanted: Vec<_> = spec.env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    // bash sets these three itself.
    wanted.extend(["PWD", "SHLVL", "_"].map(str::to_owned));
    wanted.sort();
    let output = host.run(&host.session(), &spec);
    let mut names: Vec<_> = output.stdout.lines().collect();
    names.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn no_process_of_the_host_is_in_sight() {
    let host = Host::new();
    let mark = mark(211);
    let sleeper = Sleeper::new(&mark);
    host.probe(&format!("process {mark}")).assert_out_of_reach(2);
    host.control(&["process", &mark]).assert_reached();
    let number = sleeper.0.id().to_string();
    host.probe(&format!("process {number}")).assert_out_of_reach(2);
    host.control(&["process", &number]).assert_reached();
    let output = host.sh("ls -d /proc/[0-9]* | wc -l; readlink /proc/1/exe; kill -9 1; echo alive");
    let lines: Vec<_> = output.stdout.lines().collect();
    assert!(lines[0].parse::<u32>().unwrap() <= 5, "{lines:?}");
    assert_eq!(lines[1..], ["alive"], "pid 1 can be neither read nor killed");
}

#[test]
fn pid_1_can_be_neither_read_nor_written() {
    let host = Host::new();
    let files = "environ maps mem auxv stack syscall fd/0 fd/2 fdinfo/0 cwd/. root/. exe task/1/environ";
    let look = |process: &str| {
        let command = format!(
            "for name in {files}; do \
             head -c1 /proc/{process}/$name >/dev/null 2>&1 && echo read $name; \
             ls /proc/{process}/$name/ >/dev/null 2>&1 && echo listed $name; \
             case $name in fd/*) echo x >/proc/{process}/$name && echo wrote $name;; esac; \
             done 2>/dev/null"
        );
        host.sh(command).stdout
    };
    assert_eq!(look("1"), "");
    let own = look("self");
    for way in ["read environ", "read maps", "listed cwd/.", "read exe"] {
        assert!(own.lines().any(|line| line == way), "control: {own}");
    }
}

#[test]
fn a_sessions_keyring_is_not_the_runners() {
    let host = Host::new();
    let keys = |text: &str| text.lines().find_map(|line| line.split(' ').next().map(str::to_owned));
    let look = "grep keyring /proc/keys | grep _ses; true";
    let inside = host.sh(look).stdout;
    let outside = Command::new("bash").args(["-c", look]).output().unwrap();
    let outside = String::from_utf8(outside.stdout).unwrap();
    assert!(keys(&inside).is_none() || keys(&inside) != keys(&outside), "{inside} {outside}");
}

#[test]
fn two_commands_of_a_session_do_not_see_each_others_processes() {
    let host = Host::new();
    let session = host.session();
    let mark = mark(212);
    let first = host.start(&session, &host.spec(format!("sleep {mark}")));
    eventually("the command runs", || !host_processes(&format!("sleep {mark}")).is_empty());
    let probe = host.spec(format!("{PROBE} process {mark}"));
    host.probe_in(&session, &probe).assert_out_of_reach(2);
    host.control(&["process", &mark]).assert_reached();
    first.control.kill();
    finish(first);
}

#[test]
fn no_descriptor_is_inherited() {
    let host = Host::new();
    let leaked = File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(leaked.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    host.probe("descriptors").assert_out_of_reach(0);
    let session = host.session();
    let read_only = host.read_only_spec(format!("{PROBE} descriptors"));
    host.probe_in(&session, &read_only).assert_out_of_reach(0);
    // The descriptors of the test process include the leaked one.
    host.control(&["descriptors"]).assert_reached();
    host.probe("descriptors 9</dev/null").assert_reached();
}
