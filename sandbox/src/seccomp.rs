//! The system call filter: programs for the kernel, compiled at build time from the lists in `sandbox/seccomp`.
//!
//! Must not decide which calls are allowed; the lists do. A filter is applied in every shape, build and profile.

use crate::profile::Sockets;

macro_rules! program {
    ($arch:literal, $unix:literal, $netlink_route:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/seccomp-", $arch, "-", $unix, "-", $netlink_route))
            .as_slice()
    };
}

macro_rules! programs {
    ($arch:literal) => {
        Programs {
            plain: program!($arch, "false", "false"),
            unix: program!($arch, "true", "false"),
            netlink_route: program!($arch, "false", "true"),
            both: program!($arch, "true", "true"),
        }
    };
}

/// The filters of one architecture, by the sockets that a profile allows in addition to internet sockets.
#[derive(Debug)]
struct Programs {
    plain: &'static [u8],
    unix: &'static [u8],
    netlink_route: &'static [u8],
    both: &'static [u8],
}

#[cfg(any(test, target_arch = "x86_64"))]
static X86_64: Programs = programs!("x86_64");
#[cfg(any(test, target_arch = "aarch64"))]
static AARCH64: Programs = programs!("aarch64");

#[cfg(target_arch = "x86_64")]
static HERE: &Programs = &X86_64;
#[cfg(target_arch = "aarch64")]
static HERE: &Programs = &AARCH64;

impl Programs {
    fn filter(&self, sockets: &Sockets) -> &'static [u8] {
        match (sockets.unix, sockets.netlink_route) {
            (false, false) => self.plain,
            (true, false) => self.unix,
            (false, true) => self.netlink_route,
            (true, true) => self.both,
        }
    }
}

/// Returns the filter for a profile's sockets, in the format of this architecture's kernel.
#[must_use]
pub fn filter(sockets: &Sockets) -> &'static [u8] {
    HERE.filter(sockets)
}

#[cfg(test)]
mod tests;
