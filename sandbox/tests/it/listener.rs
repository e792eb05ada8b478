//! Tests of the runner's listener on a session's loopback: the commands that reach it, those that do not, and the
//! processes that hold it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use airlock_sandbox::{Cause, HostIds, LaunchSpec, Network, Session, Shape};
use rustix::fs::OFlags;
use rustix::io::FdFlags;

use crate::support::{Findings, Host, PATIENCE, PROBE, eventually, finish, finish_once, wait_for};

/// Opens a listener, and returns it with its address.
fn listen(host: &Host, session: &Session) -> (TcpListener, String) {
    let listener = host.launcher.session_listener(session).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Accepts one connection.
#[track_caller]
fn accept(listener: &TcpListener) -> TcpStream {
    let mut accepted = None;
    eventually("a connection", || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    let (stream, peer) = accepted.unwrap();
    assert_eq!(peer.ip(), Ipv4Addr::LOCALHOST);
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[track_caller]
fn assert_no_connection(listener: &TcpListener) {
    assert_eq!(listener.accept().map(|(_, peer)| peer).unwrap_err().kind(), ErrorKind::WouldBlock);
}

fn connect(host: &Host, session: &Session, address: &str) -> Findings {
    host.probe_in(session, &host.spec(format!("{PROBE} connect {address}")))
}

/// Checks that no server answered.
#[track_caller]
fn assert_refused(findings: &Findings) {
    findings.assert_out_of_reach(1);
    assert!(findings.ways[0].2.starts_with("ECONNREFUSED"), "{findings:#?}");
}

#[test]
fn a_command_talks_to_the_runner_until_the_runner_drops_the_listener() {
    let host = Host::new();
    let session = host.session();
    let (listener, address) = listen(&host, &session);
    let place = address.replace(':', "/");
    let spec = host.spec(format!("exec 3<>/dev/tcp/{place}; echo question >&3; cat <&3"));
    let running = host.start(&session, &spec);
    let mut stream = accept(&listener);
    let mut question = [0; 9];
    stream.read_exact(&mut question).unwrap();
    assert_eq!(&question, b"question\n");
    stream.write_all(b"answer").unwrap();
    drop(stream);
    let output = finish(running);
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("answer", Cause::Exited(0)));

    connect(&host, &session, &address).assert_reached();
    drop(listener);
    assert_refused(&connect(&host, &session, &address));
}

#[test]
fn a_command_with_an_empty_network_does_not_reach_it() {
    let host = Host::new();
    let session = host.session();
    let (listener, address) = listen(&host, &session);
    let words = format!("{PROBE} connect {address}");
    let read_only = host.read_only_spec(&words);
    let shape = Shape { read_only: false, network: Network::Empty };
    let writable = LaunchSpec { shape, ..host.spec(&words) };
    for spec in [read_only, writable] {
        let findings = host.probe_in(&session, &spec);
        findings.assert_out_of_reach(1);
        let answer = &findings.ways[0].2;
        assert!(answer.starts_with("EACCES") || answer.starts_with("ECONNREFUSED"), "{answer}");
    }
    assert_no_connection(&listener);
    connect(&host, &session, &address).assert_reached();
}

#[test]
fn another_session_and_the_host_do_not_reach_it() {
    let host = Host::new();
    let (own, other) = (host.session(), host.session());
    let (listener, address) = listen(&host, &own);
    assert_refused(&connect(&host, &other, &address));
    // A server of the host may have the same port.
    drop(TcpStream::connect(&address));
    assert_no_connection(&listener);
    connect(&host, &own, &address).assert_reached();
    drop(accept(&listener));
}

/// Returns the processes that have this socket open.
fn holders(inode: u64) -> Vec<PathBuf> {
    let link = PathBuf::from(format!("socket:[{inode}]"));
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let holds = |process: &PathBuf| {
        let fds = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|target| target == link)
    };
    let numbered =
        processes.filter(|path| path.file_name().unwrap().to_string_lossy().parse::<u32>().is_ok());
    numbered.filter(holds).collect()
}

fn inode_of(listener: &TcpListener) -> u64 {
    fs::metadata(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(listener))).unwrap().ino()
}

#[test]
fn only_the_runner_holds_it() {
    let host = Host::new();
    let session = host.session();
    let (listener, address) = listen(&host, &session);
    assert!(rustix::io::fcntl_getfd(&listener).unwrap().contains(FdFlags::CLOEXEC));
    assert!(rustix::fs::fcntl_getfl(&listener).unwrap().contains(OFlags::NONBLOCK));
    let runner = [PathBuf::from(format!("/proc/{}", std::process::id()))];
    assert_eq!(holders(inode_of(&listener)), runner, "the process that opened it has ended");
    host.probe_in(&session, &host.spec(format!("{PROBE} descriptors"))).assert_out_of_reach(0);

    let place = address.replace(':', "/");
    let mut spec = host.spec(format!("echo ready; read; exec 9<>/dev/tcp/{place}; {PROBE} descriptors"));
    spec.stdin = airlock_sandbox::Stdin::Pipe;
    let running = host.start(&session, &spec);
    wait_for(&running, "ready\n");
    assert_eq!(holders(inode_of(&listener)), runner, "while a command runs");
    // A connection is a descriptor of the command's own.
    Findings::parse(&finish_once("", running, || true).stdout).assert_reached();
}

#[test]
fn each_execution_has_a_port_of_its_own_that_no_neighbour_can_take() {
    let host = Host::new();
    let session = host.session();
    let (first, address) = listen(&host, &session);
    let (second, other) = listen(&host, &session);
    assert_ne!(address, other);
    let port = first.local_addr().unwrap().port();
    for place in [address.clone(), format!("0.0.0.0:{port}"), format!("[::]:{port}")] {
        let findings = host.probe_in(&session, &host.spec(format!("{PROBE} listen {place}")));
        assert!(findings.ways[0].2.starts_with("EADDRINUSE"), "{place}: {findings:#?}");
    }
    drop(first);
    connect(&host, &session, &other).assert_reached();
    drop(accept(&second));
    let running = host.start(&session, &host.spec(format!("{PROBE} listen {address}")));
    wait_for(&running, &format!("{address}\n"));
    running.control.kill();
    finish(running);
}

#[test]
fn the_runners_listener_keeps_no_process_and_needs_no_command() {
    let host = Host::new();
    let session = host.session();
    let children = || {
        let own = format!("/proc/{}/task", std::process::id());
        let tasks = fs::read_dir(own).unwrap().flatten();
        tasks
            .map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default())
            .collect::<String>()
    };
    let before = children();
    let listeners: Vec<_> = (0..20).map(|_| listen(&host, &session)).collect();
    assert_eq!(children(), before);
    for (listener, address) in &listeners {
        connect(&host, &session, address).assert_reached();
        drop(accept(listener));
        assert!(rustix::net::sockopt::socket_acceptconn(listener.as_fd()).unwrap());
    }
}

#[test]
fn a_session_without_a_network_or_with_wrong_ids_has_none() {
    let host = Host::new();
    let session = host.session();
    let step = |session: &Session| host.launcher.session_listener(session).unwrap_err().step();
    assert_eq!(step(&Session { net: None, ..session.clone() }), "request");
    for ids in [None, Some(HostIds { uid: 0, gid: 5 }), Some(HostIds { uid: 5, gid: 0 })] {
        assert_eq!(step(&Session { ids, ..session.clone() }), "request");
    }
    // Only the user of a session may join its namespaces.
    let stranger = Session { ids: host.ids(), ..session.clone() };
    assert_eq!(step(&stranger), "join");
    host.launcher.session_listener(&session).unwrap();
}

#[test]
fn a_connection_belongs_to_the_sandbox_whose_process_holds_it() {
    let host = Host::new();
    let session = host.session();
    let (listener, address) = listen(&host, &session);
    let (ip, port) = address.split_once(':').unwrap();
    let own = listener.local_addr().unwrap();
    let mapped = format!(
        "exec /usr/bin/python3 -c 'import socket\nwith socket.create_connection((\"::ffff:{ip}\", {port})) as it: it.recv(1)'"
    );
    let child = format!("(exec 3<>/dev/tcp/{ip}/{port}; cat <&3) & wait");
    let commands = [format!("exec 3<>/dev/tcp/{ip}/{port}; cat <&3"), child, mapped];
    let mut sandboxes = Vec::new();
    for command in commands {
        let running = host.start(&session, &host.spec(command));
        sandboxes.push((running, accept(&listener)));
    }
    let controls: Vec<_> = sandboxes.iter().map(|(running, _)| running.control.clone()).collect();
    let addresses = sandboxes.iter().map(|(_, stream)| stream.peer_addr().unwrap()).collect::<Vec<_>>();
    let v4 = |address| match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(address) => panic!("{address}"),
    };
    for (holder, control) in controls.iter().enumerate() {
        for (client, address) in addresses.iter().enumerate() {
            let holds = control.holds(v4(*address), v4(own));
            assert_eq!(holds, holder == client, "the connection of {client}, asked of {holder}");
        }
        assert!(!control.holds(v4(own), v4(addresses[holder])), "the runner's end");
    }
    for (running, stream) in sandboxes {
        drop(stream);
        finish(running);
    }
    for (control, address) in controls.iter().zip(addresses) {
        assert!(!control.holds(v4(address), v4(own)), "the sandbox has ended");
    }
}
