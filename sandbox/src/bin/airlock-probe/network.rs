//! Interfaces, loopbacks, sockets of the host.

use std::ffi::OsStr;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use crate::Way;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Interfaces other than the loopback, and routes.
pub(crate) fn interfaces() -> Vec<Way> {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
    let others: Vec<_> = names.map(str::trim).filter(|name| *name != "lo").collect();
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default().lines().skip(1).count();
    let out = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:9"));
    vec![
        Way::new("interfaces", !others.is_empty(), others.join(" ")),
        Way::new("routes", routes > 0, routes.to_string()),
        Way::of("a route to a documentation address", out),
    ]
}

/// A server at an address.
pub(crate) fn connect(address: &OsStr) -> Vec<Way> {
    let shown = address.to_string_lossy();
    let result = shown
        .parse()
        .map_err(std::io::Error::other)
        .and_then(|address| TcpStream::connect_timeout(&address, TIMEOUT));
    vec![Way::of(shown, result)]
}

/// Is a server until it is ended, for another probe to reach.
pub(crate) fn listen() -> Vec<Way> {
    let result = TcpListener::bind("127.0.0.1:0").and_then(|listener| {
        println!("{}", listener.local_addr()?);
        listener.incoming().flatten().for_each(drop);
        Ok(())
    });
    vec![Way::of("listen", result)]
}

/// A listener at a name that is in no file system.
pub(crate) fn abstract_socket(name: &OsStr) -> Vec<Way> {
    let result = SocketAddr::from_abstract_name(name.as_bytes())
        .and_then(|address| UnixStream::connect_addr(&address));
    vec![Way::of(name.to_string_lossy(), result)]
}
