//! Tests of the sockets that the runner connects in a session's network namespace: the servers that they reach, and the
//! processes that hold them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use airlock_sandbox::Session;
use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags};
use rustix::net::connect;

use crate::support::{Host, PROBE, finish, wait_for};

/// A port of the session's loopback. No test listens on it on the host.
const PORT: u16 = 8979;

/// Connects a new IPv4 socket of the session.
fn connected(host: &Host, session: &Session, port: u16) -> Result<(), Errno> {
    reached(&host.launcher.session_sockets(session).unwrap().v4, (Ipv4Addr::LOCALHOST, port).into())
}

/// Connects a socket, and waits for the result.
fn reached(socket: &OwnedFd, address: SocketAddr) -> Result<(), Errno> {
    assert!(rustix::io::fcntl_getfd(socket).unwrap().contains(FdFlags::CLOEXEC));
    let flags = rustix::fs::fcntl_getfl(socket).unwrap();
    assert!(flags.contains(OFlags::NONBLOCK));
    rustix::fs::fcntl_setfl(socket, flags - OFlags::NONBLOCK).unwrap();
    connect(socket, &address)
}

#[test]
fn they_reach_the_sessions_servers_and_not_those_of_the_host_or_of_another_session() {
    let host = Host::new();
    let (session, other) = (host.session(), host.session());
    let running = host.start(&session, &host.spec(format!("{PROBE} listen 127.0.0.1:{PORT}")));
    wait_for(&running, &format!("127.0.0.1:{PORT}\n"));
    connected(&host, &session, PORT).unwrap();
    assert_eq!(connected(&host, &other, PORT), Err(Errno::CONNREFUSED));

    let (v4, v6) = (TcpListener::bind("0.0.0.0:0").unwrap(), TcpListener::bind("[::1]:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    assert_eq!(connected(&host, &session, port(&v4)), Err(Errno::CONNREFUSED));
    let sockets = host.launcher.session_sockets(&session).unwrap();
    let address = (Ipv6Addr::LOCALHOST, port(&v6)).into();
    assert_eq!(reached(&sockets.v6.unwrap(), address), Err(Errno::CONNREFUSED));
    // The namespace has no route to any other address.
    let outside = host.launcher.session_sockets(&session).unwrap();
    assert_eq!(reached(&outside.v4, "192.0.2.1:80".parse().unwrap()), Err(Errno::NETUNREACH));
    // The controls.
    TcpStream::connect((Ipv4Addr::LOCALHOST, port(&v4))).unwrap();
    TcpStream::connect((Ipv6Addr::LOCALHOST, port(&v6))).unwrap();
    running.control.kill();
    finish(running);
}

#[test]
fn a_session_without_a_network_or_of_another_user_has_none() {
    let host = Host::new();
    let session = host.session();
    let step = |session: &Session| host.launcher.session_sockets(session).unwrap_err().step();
    assert_eq!(step(&Session { net: None, ..session.clone() }), "request");
    // Only the user of a session may join its namespaces.
    assert_eq!(step(&Session { ids: host.ids(), ..session.clone() }), "join");
    host.launcher.session_sockets(&session).unwrap();
}
