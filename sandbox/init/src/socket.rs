//! Opens sockets in a session's network namespace and passes them to the runner: a listener on the loopback, or sockets
//! that the runner connects.
//!
//! Must have the session's IDs before it enters the session's namespaces, and must end when the runner has the sockets:
//! no process inside a sandbox holds them.

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::sys::close_on_exec_from;
use airlock_init::wire::{Report, SocketPlan, SocketUse, Step};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, bind, ipproto, listen, socket_with,
};

use crate::failure::{AtStep, AtSystemStep, Failure};
use crate::identity::{become_session, die_with_parent};
use crate::launch::join;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    close_on_exec_from(3).at(Step::Descriptors)?;
    let control = std::io::stdin();
    let (plan, fds): (SocketPlan, _) = recv_frame(control.as_fd()).at(Step::Message)?;
    let [user, net] = <[OwnedFd; 2]>::try_from(fds)
        .map_err(|fds| Failure::new(Step::Message, format!("{} descriptors instead of 2", fds.len())))?;
    become_session(plan.ids)?;
    die_with_parent(plan.parent)?;
    join((user, net))?;
    let sockets = match plan.sockets {
        SocketUse::Listen { backlog } => listener(backlog).map(|listener| vec![listener]),
        SocketUse::Connect => unconnected(),
    };
    let sockets = sockets.at_system(Step::Socket)?;
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    send_frame(control.as_fd(), &Report::Ready, &sockets).at(Step::Message)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the listener at a free port. Without SO_REUSEPORT and SO_REUSEADDR, no other socket of the session can share
/// the port, whatever options that socket has.
fn listener(backlog: i32) -> Result<OwnedFd, Errno> {
    let socket = tcp(AddressFamily::INET)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&socket, backlog)?;
    Ok(socket)
}

/// Opens a socket for IPv4, and one for IPv6 if the kernel has it.
fn unconnected() -> Result<Vec<OwnedFd>, Errno> {
    let mut sockets = vec![tcp(AddressFamily::INET)?];
    match tcp(AddressFamily::INET6) {
        Err(Errno::AFNOSUPPORT) => {}
        socket => sockets.push(socket?),
    }
    Ok(sockets)
}

fn tcp(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
}
