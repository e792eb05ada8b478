//! The second system call filter of a command. Process 1 adds it to bubblewrap's filter, to learn of refused calls.
//!
//! Bubblewrap's filter lets no watched call through: it returns TRACE, and without a tracer the kernel answers ENOSYS.
//! The second filter selects the error for the same calls. It either notifies process 1, which answers with the error,
//! or it returns the error itself. Pure. Must not allow a call that the first filter refuses: a filter cannot.

use libc::sock_filter;
use serde::{Deserialize, Serialize};

/// The maximum number of watched calls.
pub const MAX_WATCHED: usize = 128;

/// A system call whose refusals are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedCall {
    /// Its number on this architecture.
    pub number: u32,
    /// The error with which it is refused.
    pub errno: u16,
}

/// The answer of the filter to a watched call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The kernel asks the process that has the listener.
    Notify,
    /// The call returns its error.
    Refuse,
}

/// The kernel's number of this architecture in a filter, from `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
pub const ARCH: u32 = 0xc000_003e;
/// The kernel's number of this architecture in a filter, from `linux/audit.h`.
#[cfg(target_arch = "aarch64")]
pub const ARCH: u32 = 0xc000_00b7;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
/// The low half of the second argument. Both architectures are little-endian.
const SECOND_ARGUMENT_AT: u32 = 24;
const ERRNO: u32 = 0x0005_0000;
const USER_NOTIF: u32 = 0x7fc0_0000;
const ALLOW: u32 = 0x7fff_0000;
/// The flag of `seccomp` for a filter with a listener.
const NEW_LISTENER: u32 = 1 << 3;

/// Returns the filter for an architecture, on which the system call `seccomp` has this number.
///
/// In both forms, it refuses `seccomp` with a listener, with the kernel's error for a second listener. The listener of a
/// command could otherwise continue a call that only notifies.
#[must_use]
pub fn program(arch: u32, seccomp: u32, calls: &[WatchedCall], answer: Answer) -> Vec<sock_filter> {
    let mut program = vec![
        step(LOAD, 0, 0, ARCH_AT),
        step(JUMP_IF_EQUAL, 1, 0, arch),
        // The first filter ends the process.
        step(RETURN, 0, 0, ALLOW),
        step(LOAD, 0, 0, NUMBER_AT),
    ];
    for call in calls {
        program.push(step(JUMP_IF_EQUAL, 0, 1, call.number));
        program.push(match answer {
            Answer::Notify => step(RETURN, 0, 0, USER_NOTIF),
            Answer::Refuse => refuse(call.errno),
        });
    }
    program.extend([
        step(JUMP_IF_EQUAL, 0, 3, seccomp),
        step(LOAD, 0, 0, SECOND_ARGUMENT_AT),
        step(JUMP_IF_ANY_BIT, 0, 1, NEW_LISTENER),
        step(RETURN, 0, 0, ERRNO | libc::EBUSY.cast_unsigned()),
        step(RETURN, 0, 0, ALLOW),
    ]);
    program
}

fn refuse(errno: u16) -> sock_filter {
    step(RETURN, 0, 0, ERRNO | u32::from(errno))
}

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
