//! Opens a listener on a session's loopback and passes it to the runner.
//!
//! Must have the session's IDs before it enters the session's namespaces, and must end when the runner has the listener:
//! no process inside a sandbox holds it.

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::sys::close_on_exec_from;
use airlock_init::wire::{ListenPlan, Report, Step};
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
    let (plan, fds): (ListenPlan, _) = recv_frame(control.as_fd()).at(Step::Message)?;
    let [user, net] = <[OwnedFd; 2]>::try_from(fds)
        .map_err(|fds| Failure::new(Step::Message, format!("{} descriptors instead of 2", fds.len())))?;
    become_session(plan.ids)?;
    die_with_parent(plan.parent)?;
    join((user, net))?;
    let listener = listener(plan.backlog).at_system(Step::Listener)?;
    send_frame(control.as_fd(), &Report::Ready, &[listener.as_fd()]).at(Step::Message)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the listener at a free port. Without SO_REUSEPORT and SO_REUSEADDR, no other socket of the session can share
/// the port, whatever options that socket has.
fn listener(backlog: i32) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen(&socket, backlog)?;
    Ok(socket)
}
