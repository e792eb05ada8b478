//! Tests of Landlock, the second layer. They check the actions that it prevents if the first layer fails. Each has a
//! control in a plain bubblewrap sandbox without Landlock. They also check the resources that the commands of a session
//! still share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use airlock_sandbox::{LaunchSpec, Network, Shape};
use tempfile::TempDir;

use crate::support::{BWRAP, Host, eventually};

const DENIED: &str = "Permission denied";

/// Creates a directory that every user may write, with a file in it.
fn open_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "kept").unwrap();
    for path in [directory.path().to_owned(), directory.path().join("file")] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    directory
}

/// Runs a script like the sandbox, but without Landlock: as the user `nobody`, in new namespaces.
fn plain(options: &[&str], script: &str) -> String {
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .args([BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
        .args(["--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL", "--die-with-parent"])
        .args(options)
        .args(["bash", "-c", script])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Formats one line per attempt: its name, and the error, if it failed.
fn tried(ways: &[(&str, &str)]) -> String {
    let lines = ways.iter().map(|(name, way)| {
        format!(
            "echo {name}: $( ( {way} ) 2>&1 >/dev/null | grep -o 'Permission denied\\|refused' | head -1)\n"
        )
    });
    lines.collect()
}

fn every(ways: &[(&str, &str)], answer: &str) -> String {
    ways.iter().map(|(name, _)| format!("{name}:{answer}\n")).collect()
}

#[test]
fn a_folder_that_is_bound_writable_by_mistake_cannot_be_written() {
    let ways = [
        ("new", "echo x > /mnt/new"),
        ("append", "echo x >> /mnt/file"),
        ("truncate", ": > /mnt/file"),
        ("folder", "mkdir /mnt/folder"),
        ("link", "ln -s x /mnt/link"),
        ("pipe", "mkfifo /mnt/pipe"),
        ("remove", "rm -f /mnt/file"),
    ];
    let script = tried(&ways);
    let directory = open_directory();
    let path = directory.path().to_str().unwrap();
    let host = Host::new().with_bwrap(&format!("exec {BWRAP} --bind {path} /mnt \"$@\""));
    let session = host.session();
    assert_eq!(host.run(&session, &host.spec("cat /mnt/file")).stdout, "kept");
    for spec in [host.spec(&script), host.read_only_spec(&script)] {
        assert_eq!(host.run(&session, &spec).stdout, every(&ways, &format!(" {DENIED}")));
    }
    let names = || {
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(), fs::read_to_string(directory.path().join("file")).unwrap()),
        (vec!["file".into()], "kept".into())
    );
    assert_eq!(plain(&["--bind", path, "/mnt"], &script), every(&ways, ""), "the control");
    assert_eq!(names().len(), 4, "{:?}", names());
}

#[test]
fn the_files_of_processes_cannot_be_written() {
    let ways = [
        ("memory", ": >> /proc/self/mem"),
        ("out-of-memory-score", "echo 500 > /proc/self/oom_score_adj"),
        ("name", "echo x > /proc/self/comm"),
        ("dump-filter", "echo 0 > /proc/self/coredump_filter"),
    ];
    let script = tried(&ways);
    assert_eq!(Host::new().sh(&script).stdout, every(&ways, &format!(" {DENIED}")));
    assert_eq!(plain(&[], &script), every(&ways, ""), "the control");
}

#[test]
fn the_files_of_the_shell_cannot_be_changed_or_replaced() {
    let ways = [
        ("mode", "chmod 600 /run/airlock/run/command; echo x >> /run/airlock/run/command"),
        ("file", "echo x > /run/airlock/run/file"),
        ("folder", "mkdir /run/airlock/run/folder"),
        ("move", "mv /run/airlock/run/command /run/airlock/run/other"),
        ("remove", "rm -f /run/airlock/run/command"),
    ];
    let script = tried(&ways);
    assert_eq!(Host::new().sh(&script).stdout, every(&ways, &format!(" {DENIED}")));
    let options = ["--tmpfs", "/mnt", "--perms", "0700", "--tmpfs", "/mnt/run"];
    let control = script.replace("/run/airlock/", "/mnt/");
    let control = format!("echo x > /mnt/run/command; chmod 400 /mnt/run/command\n{control}");
    // A file that was moved cannot be removed, and one that did not exist is no error.
    assert_eq!(plain(&options, &control), every(&ways, ""), "the control");
}

#[test]
fn tcp_is_denied_where_the_network_is_the_commands_own() {
    let ways = [("connect", "exec 3<>/dev/tcp/127.0.0.1/9"), ("connect-6", "exec 3<>/dev/tcp/::1/9")];
    let script = tried(&ways);
    let host = Host::new();
    let session = host.session();
    let apart = Shape { read_only: false, network: Network::Empty };
    for spec in [host.read_only_spec(&script), LaunchSpec { shape: apart, ..host.spec(&script) }] {
        assert_eq!(host.run(&session, &spec).stdout, every(&ways, &format!(" {DENIED}")));
    }
    assert_eq!(
        host.run(&session, &host.spec(&script)).stdout,
        every(&ways, " refused"),
        "by a port that no process uses"
    );
    assert_eq!(plain(&[], &script), every(&ways, " refused"), "the control");
}

#[test]
fn the_applied_restrictions_are_reported() {
    let host = Host::new();
    let session = host.session();
    for (spec, tcp_denied) in [(host.spec("true"), false), (host.read_only_spec("true"), true)] {
        let running = host.start(&session, &spec);
        let landlock = running.landlock;
        drop(running.waiter);
        assert!(landlock.files() && landlock.devices() && landlock.scopes(), "{landlock:?}");
        assert_eq!(landlock.tcp_denied, tcp_denied);
    }
}

const SERVER: &str = "import socket, time
def serve(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    return server
tcp = serve(socket.AF_INET, ('127.0.0.1', 7000))
path = serve(socket.AF_UNIX, '/tmp/server')
abstract = serve(socket.AF_UNIX, '\\0server')
open('/tmp/ready', 'w')
time.sleep(1000)
";
const CLIENT: &str = "import socket
def reach(name, family, address):
    try:
        socket.socket(family).connect(address)
        print(name, 'reached')
    except OSError as error:
        print(name, error.strerror)
reach('tcp', socket.AF_INET, ('127.0.0.1', 7000))
reach('path', socket.AF_UNIX, '/tmp/server')
reach('abstract', socket.AF_UNIX, '\\0server')
";

/// Commands of a session share its loopback and its files, and therefore sockets of both kinds. Abstract sockets are
/// confined to one command.
#[test]
fn commands_of_a_session_share_loopback_and_path_sockets_and_no_abstract_ones() {
    const PYTHON: &str = "/usr/bin/python3 -c";
    let host = Host::new();
    let with = |command: &str| {
        let mut spec = host.spec(command);
        spec.env.extend([("SERVER".into(), SERVER.into()), ("CLIENT".into(), CLIENT.into())]);
        spec
    };
    let client = format!("{PYTHON} \"$CLIENT\"");
    let session = host.session();
    let server = host.start(&session, &with(&format!("{PYTHON} \"$SERVER\"")));
    let ready = session.directories.tmp.join("ready");
    eventually("the server listens", || ready.exists());
    let reached = host.run(&session, &with(&client)).stdout;
    assert_eq!(reached, "tcp reached\npath reached\nabstract Operation not permitted\n");
    drop(server.waiter);

    let within = format!("{PYTHON} \"$SERVER\" & until [ -e /tmp/ready ]; do sleep 0.01; done; {client}");
    let reached = host.run(&host.session(), &with(&within)).stdout;
    assert_eq!(reached, "tcp reached\npath reached\nabstract reached\n", "the control");
}
