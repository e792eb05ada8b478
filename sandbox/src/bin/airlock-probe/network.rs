//! Interfaces, loopbacks, sockets of the host.

use std::ffi::OsStr;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::ipproto::ICMP;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::attempt::Attempt;

/// The timeout for an answer. It applies only if no server answers.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Lists interfaces other than the loopback, and routes.
pub(crate) fn interfaces() -> Vec<Attempt> {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
    let others: Vec<_> = names.map(str::trim).filter(|name| *name != "lo").collect();
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default().lines().skip(1).count();
    let out = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:9"));
    vec![
        Attempt::new("interfaces", !others.is_empty(), others.join(" ")),
        Attempt::new("routes", routes > 0, routes.to_string()),
        Attempt::of("a route to a documentation address", out),
    ]
}

/// Connects to a server at an address.
pub(crate) fn connect(address: &OsStr) -> Vec<Attempt> {
    let shown = address.to_string_lossy();
    let result = shown
        .parse()
        .map_err(std::io::Error::other)
        .and_then(|address| TcpStream::connect_timeout(&address, TIMEOUT));
    vec![Attempt::of("TCP", result)]
}

/// Sends a datagram to a server that answers.
pub(crate) fn datagram(address: &OsStr) -> Vec<Attempt> {
    let ask = || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.connect(address.to_string_lossy().as_ref())?;
        socket.send(b"question")?;
        socket.recv(&mut [0; 64])
    };
    vec![Attempt::of("UDP", ask())]
}

/// Creates sockets of families that reach more than IP or the process's own files.
pub(crate) fn families() -> Vec<Attempt> {
    let raw = SocketType::RAW;
    [
        ("packet", AddressFamily::PACKET, raw),
        ("netlink", AddressFamily::NETLINK, raw),
        ("virtual machines", AddressFamily::VSOCK, SocketType::STREAM),
        ("raw IP", AddressFamily::INET, raw),
    ]
    .map(|(name, family, kind)| {
        Attempt::of(
            name,
            socket(family, kind, (kind == raw && family == AddressFamily::INET).then_some(ICMP)),
        )
    })
    .into()
}

/// Connects to a listener at a path.
pub(crate) fn path_socket(path: &OsStr) -> Vec<Attempt> {
    let path = Path::new(path);
    let around = Path::new("/proc/self/root").join(path.strip_prefix("/").unwrap_or(path));
    vec![
        Attempt::of("path", UnixStream::connect(path)),
        Attempt::of("/proc/self/root", UnixStream::connect(around)),
    ]
}

/// Runs a server until it is killed, for another probe to reach.
pub(crate) fn listen(address: &OsStr) -> Vec<Attempt> {
    let address = address.to_str().filter(|address| !address.is_empty()).unwrap_or("127.0.0.1:0");
    let result = TcpListener::bind(address).and_then(|listener| {
        println!("{}", listener.local_addr()?);
        listener.incoming().flatten().for_each(drop);
        Ok(())
    });
    vec![Attempt::of("listen", result)]
}

/// Connects to a listener at an abstract name.
pub(crate) fn abstract_socket(name: &OsStr) -> Vec<Attempt> {
    let result = SocketAddr::from_abstract_name(name.as_bytes())
        .and_then(|address| UnixStream::connect_addr(&address));
    vec![Attempt::of("abstract", result)]
}
