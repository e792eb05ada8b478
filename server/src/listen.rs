//! The listening sockets of the server.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// The number of connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listens on `address`. `[::]` accepts IPv6 and IPv4 connections to every address of the host, regardless of
/// `net.ipv6.bindv6only`. On a host without IPv6, it accepts IPv4 connections. Requires a tokio runtime.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::from_std(with(address, &open)?.into())
}

/// Returns the address of a peer as the peer knows it: an IPv4-mapped address is converted to IPv4.
pub(crate) fn peer_address(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn with(address: SocketAddr, open: &dyn Fn(SocketAddr) -> io::Result<Socket>) -> io::Result<Socket> {
    match open(address) {
        Err(error) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && has_no_ipv6(&error) => {
            open(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
        }
        opened => opened,
    }
}

fn has_no_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == ErrorKind::AddrNotAvailable
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // Lets a restarted server reuse the port while connections of the previous process are in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn one_socket_takes_ipv4_and_ipv6_and_knows_each_peer_by_its_own_address() {
        let listener = listen("[::]:0".parse().unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "::1"] {
            let host: IpAddr = host.parse().unwrap();
            let _client = TcpStream::connect((host, port)).await.unwrap();
            let (_, peer) = listener.accept().await.unwrap();
            assert_eq!(peer_address(peer).ip(), host);
        }
    }

    #[tokio::test]
    async fn a_host_without_ipv6_is_listened_on_by_ipv4() {
        let asked = RefCell::new(Vec::new());
        let without = |address: SocketAddr| {
            asked.borrow_mut().push(address.to_string());
            if address.is_ipv6() { Err(io::Error::from_raw_os_error(97)) } else { open(address) }
        };
        let socket = with("[::]:0".parse().unwrap(), &without).unwrap();
        let listener = TcpListener::from_std(socket.into()).unwrap();
        assert!(listener.local_addr().unwrap().is_ipv4());
        assert_eq!(asked.take(), ["[::]:0", "0.0.0.0:0"]);
        // An explicit address is not replaced.
        with("[::1]:0".parse().unwrap(), &without).unwrap_err();
        assert_eq!(asked.take(), ["[::1]:0"]);
    }
}
