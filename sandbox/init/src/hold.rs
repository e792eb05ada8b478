//! Creates a session's user and network namespace with the loopback up, and waits until the runner has opened both.
//!
//! Must end then: descriptors keep the namespaces alive, not a process.

use std::os::fd::AsFd;
use std::process::ExitCode;

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::sys::close_on_exec_from;
use airlock_init::wire::{HoldPlan, Report, Step};
use nix::sched::CloneFlags;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::failure::{AtStep, Failure};
use crate::identity::{become_session, die_with_parent, own_user_namespace};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    close_on_exec_from(3).at(Step::Descriptors)?;
    let control = std::io::stdin();
    let (plan, _): (HoldPlan, _) = recv_frame(control.as_fd()).at(Step::Message)?;
    become_session(plan.ids)?;
    die_with_parent(plan.parent)?;
    own_user_namespace(CloneFlags::CLONE_NEWNET)?;
    loopback_up().at(Step::Loopback)?;
    send_frame(control.as_fd(), &Report::Ready, &[]).at(Step::Message)?;
    // Returns when the runner closes its end.
    let mut byte = [0];
    let _ = recv(control.as_fd(), &mut byte, RecvFlags::empty());
    Ok(ExitCode::SUCCESS)
}

/// Sets the loopback interface up, with one RTM_NEWLINK request and its answer.
fn loopback_up() -> Result<(), String> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    let mut request = Vec::with_capacity(32);
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACK.to_ne_bytes());
    // Sequence number and sender; then family, padding and type.
    request.extend([0; 12]);
    request.extend(LOOPBACK.to_ne_bytes());
    // The flags to set, and the mask of flags to change.
    request.extend(UP.to_ne_bytes());
    request.extend(UP.to_ne_bytes());

    // The default protocol of this family is NETLINK_ROUTE.
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)
        .map_err(|error| format!("netlink socket: {error}"))?;
    send(&socket, &request, SendFlags::empty()).map_err(|error| format!("netlink: {error}"))?;
    let mut answer = [0; 512];
    recv(&socket, &mut answer, RecvFlags::empty()).map_err(|error| format!("netlink: {error}"))?;
    // After the header of 16 bytes, the answer begins with a negative errno or 0.
    let code = answer.get(16..20).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(std::io::Error::from_raw_os_error(code.saturating_neg()).to_string()),
        None => Err("short answer".to_owned()),
    }
}
