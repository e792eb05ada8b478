//! Tests of networks and sockets: no network but the session's loopback, and no host socket but those that a profile
//! shows.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use airlock_mounts::ScratchDir;
use airlock_sandbox::{
    Cause, LaunchSpec, MAX_SOCKETS, Network, PathRules, Profile, RuleScope, Shape, Started,
};

use crate::support::{Host, OrdinaryRunner, PROBE, control, finish};

/// Creates a host directory for sockets of services. It is not below `/tmp`, which is the session's inside.
fn services() -> ScratchDir {
    let directory = ScratchDir::with_prefix_in("airlock-services-", Path::new("/run"));
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// Starts a listener in `directory`.
fn serve(directory: &ScratchDir, name: &str, mode: u32) -> PathBuf {
    let path = directory.path().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    path
}

fn with(profile: &Profile, sockets: &[&Path]) -> Profile {
    let mut profile = profile.clone();
    profile.sockets.allowed_unix = sockets.iter().map(|path| path.to_path_buf()).collect();
    profile
}

fn probed(path: &Path) -> String {
    format!("path-socket {}", path.display())
}

#[test]
fn those_that_are_allowed_are_reached_and_no_other_of_their_folder() {
    let (mut host, directory) = (Host::new(), services());
    let (allowed, other) = (serve(&directory, "allowed", 0o666), serve(&directory, "other", 0o666));
    let plain = host.profile.clone();
    host.probe(&probed(&allowed)).assert_out_of_reach(2);
    host.profile = with(&plain, &[&allowed]);
    host.probe(&probed(&allowed)).assert_reached();
    host.probe(&probed(&other)).assert_out_of_reach(2);
    let session = host.session();
    let read_only = host.read_only_spec(format!("{PROBE} {}", probed(&allowed)));
    host.probe_in(&session, &read_only).assert_reached();
    let shown = directory.path().display();
    let listed = host.sh(format!("ls -A {shown}; touch {shown}/x; true")).stdout;
    assert!(listed.starts_with("allowed\n"), "{listed}");
    assert_eq!(listed.matches("Read-only file system").count(), 1, "{listed}");
    assert!(allowed.exists());
    host.profile = with(&plain, &[&allowed, &other]);
    host.probe(&probed(&other)).assert_reached();
}

#[test]
fn one_in_a_folder_that_only_root_enters_is_reached_and_its_folder_is_not() {
    let (mut host, directory) = (Host::new(), services());
    let (allowed, other) = (serve(&directory, "allowed", 0o666), serve(&directory, "other", 0o666));
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
    host.profile = with(&host.profile, &[&allowed]);
    host.probe(&probed(&allowed)).assert_reached();
    host.probe(&probed(&other)).assert_out_of_reach(2);
}

#[test]
fn a_replaced_socket_is_not_shown() {
    let (mut host, directory) = (Host::new(), services());
    let (allowed, other) = (serve(&directory, "allowed", 0o666), serve(&directory, "other", 0o666));
    host.profile = with(&host.profile, &[&allowed]);
    let session = host.session();
    let command = format!("until [ -e go ]; do sleep 0.01; done; {PROBE} {}", probed(&allowed));
    let running = host.start(&session, &host.spec(command));
    fs::remove_file(&allowed).unwrap();
    symlink(&other, &allowed).unwrap();
    fs::write(session.directories.workspace.join("go"), "").unwrap();
    // The command still sees the socket that existed when it began.
    assert!(finish(running).stdout.contains("\"reached\":true"));

    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!((error.step(), error.started()), ("sockets", Started::No));
    let wanted = format!("the socket `{}` is a symbolic link or contains one", allowed.display());
    assert_eq!(error.to_string(), wanted);
    assert!(error.hint().unwrap().contains("without symbolic links"));
    host.profile = with(&host.profile, &[&other]);
    host.probe(&probed(&other)).assert_reached();
}

#[test]
fn a_link_on_the_way_to_it_is_refused() {
    let (mut host, directory) = (Host::new(), services());
    let allowed = serve(&directory, "allowed", 0o666);
    symlink(directory.path(), directory.path().join("link")).unwrap();
    host.profile = with(&host.profile, &[&directory.path().join("link/allowed")]);
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "sockets");
    host.profile = with(&host.profile, &[&allowed]);
    host.probe(&probed(&allowed)).assert_reached();
}

#[test]
fn one_that_is_absent_or_none_or_closed_is_said_with_what_to_do() {
    let (mut host, directory) = (Host::new(), services());
    let closed = serve(&directory, "closed", 0o600);
    fs::write(directory.path().join("file"), "").unwrap();
    for (name, said, hint) in [
        ("absent", "is not there", "start the service"),
        ("absent/below", "is not there", "start the service"),
        ("file", "is not a socket", "name the socket"),
        ("closed", "cannot be written by the session's user: Permission denied", "chmod o+w"),
    ] {
        host.profile = with(&host.profile, &[&directory.path().join(name)]);
        let error = host.refused(&host.session(), &host.spec("true"));
        assert_eq!((error.step(), error.started()), ("sockets", Started::No), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
    }
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o666)).unwrap();
    host.profile = with(&host.profile, &[&closed]);
    host.probe(&probed(&closed)).assert_reached();
}

#[test]
fn a_rule_that_denies_one_wins() {
    let (mut host, directory) = (Host::new(), services());
    let allowed = serve(&directory, "allowed", 0o666);
    host.profile = with(&host.profile, &[&allowed]);
    let session = host.session();
    let rules = PathRules { deny_read: vec![format!("/{}", allowed.display())], ..PathRules::default() };
    let resolved =
        RuleScope::open(&rules, &session.directories, &host.profile).unwrap().unwrap().resolve().unwrap();
    let spec = host.spec(format!("{PROBE} {}", probed(&allowed)));
    host.probe_in(&session, &spec).assert_reached();
    host.profile.covers = resolved.covers;
    host.probe_in(&session, &LaunchSpec { masks: resolved.masks, ..spec }).assert_out_of_reach(2);
}

#[test]
fn without_sockets_of_its_own_a_command_reaches_none() {
    let (mut host, directory) = (Host::new(), services());
    let allowed = serve(&directory, "allowed", 0o666);
    host.profile = with(&host.profile, &[&allowed]);
    host.profile.sockets.unix = false;
    host.probe(&probed(&allowed)).assert_out_of_reach(2);
    host.profile.sockets.unix = true;
    host.probe(&probed(&allowed)).assert_reached();
}

#[test]
fn more_than_there_is_room_for_are_refused() {
    let (mut host, directory) = (Host::new(), services());
    let allowed = serve(&directory, "allowed", 0o666);
    host.profile = with(&host.profile, &vec![allowed.as_path(); MAX_SOCKETS + 1]);
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "request", "{error}");
    host.profile = with(&host.profile, &[&allowed]);
    host.probe(&probed(&allowed)).assert_reached();
}

#[test]
fn none_is_shown_where_something_of_the_sessions_or_airlocks_is() {
    let mut host = Host::new();
    for place in [
        "/tmp/x",
        "/workspace/x",
        "/home/agent/.x",
        "/var/tmp/x",
        "/run/airlock/x",
        "/proc/x",
        "/dev/log",
        "/a/../tmp/x",
        "x",
    ] {
        host.profile = with(&host.profile, &[Path::new(place)]);
        let error = host.refused(&host.session(), &host.spec("true"));
        assert_eq!((error.step(), error.started()), ("request", Started::No), "{place}: {error}");
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[test]
fn a_runner_that_is_not_root_shows_those_that_it_may_use_itself() {
    let (host, directory) = (Host::new(), services());
    let (open, closed) = (serve(&directory, "open", 0o666), serve(&directory, "closed", 0o600));
    let runner = OrdinaryRunner::new();
    let run = |allowed: &Path, tried: &Path| {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(runner.directory().join("run"))
            .arg("--socket")
            .arg(allowed)
            .arg(runner.directory().join("state"))
            .arg(format!("{PROBE} {}", probed(tried)))
            .arg(&host.probe)
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    assert!(run(&open, &open).contains("\"reached\":true,\"ways\""));
    assert!(run(&open, &closed).contains("\"reached\":false,\"ways\""));
    let said = run(&closed, &closed);
    assert!(said.contains("Sockets") && said.contains("cannot be written"), "{said}");
}

#[test]
fn no_interface_but_a_loopback_and_no_route() {
    let host = Host::new();
    let session = host.session();
    let command = format!("{PROBE} interfaces");
    host.probe_in(&session, &host.spec(&command)).assert_out_of_reach(3);
    host.probe_in(&session, &host.read_only_spec(&command)).assert_out_of_reach(3);
    let table = host.run(&session, &host.spec("tail -n +3 /proc/net/dev | cut -d: -f1"));
    assert_eq!(table.stdout.trim(), "lo");
    let script = "ip link add one type veth peer two && exec \"$0\" interfaces";
    let mut own = airlock_mounts::private_command(&["--map-root-user", "--net"]);
    let own = own.args(["sh", "-c", script]).arg(&host.probe);
    control(own).assert_reached();
}

#[test]
fn the_hosts_loopback_and_sockets_are_out_of_reach() {
    let host = Host::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    host.probe(&format!("connect {address}")).assert_out_of_reach(1);
    host.control(&["connect", &address]).assert_reached();

    let name = format!("airlock-test-{}", std::process::id());
    let listener = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&listener).unwrap();
    host.probe(&format!("abstract-socket {name}")).assert_out_of_reach(1);
    host.control(&["abstract-socket", &name]).assert_reached();
}

#[test]
fn a_session_reaches_its_own_loopback_and_no_other() {
    let host = Host::new();
    let (own, other) = (host.session(), host.session());
    let server = host.start(&own, &host.spec(format!("{PROBE} listen")));
    let mut line = [0; 64];
    let length = rustix::io::read(&server.streams.stdout, &mut line).unwrap();
    let address = String::from_utf8_lossy(&line[..length]).trim().to_owned();
    let connect = format!("{PROBE} connect {address}");

    host.probe_in(&own, &host.spec(&connect)).assert_reached();
    host.probe_in(&other, &host.spec(&connect)).assert_out_of_reach(1);
    host.control(&["connect", &address]).assert_out_of_reach(1);
    host.probe_in(&own, &host.read_only_spec(&connect)).assert_out_of_reach(1);
    let shape = Shape { read_only: false, network: Network::Empty };
    let apart = LaunchSpec { shape, ..host.spec(&connect) };
    host.probe_in(&own, &apart).assert_out_of_reach(1);

    server.control.kill();
    assert_eq!(finish(server).ended.cause, Cause::Killed);
}
