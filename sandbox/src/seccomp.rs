//! The system call filter: programs for the kernel, compiled at build time from the lists in `sandbox/seccomp`.
//!
//! Must not decide which calls are allowed; the lists do. A filter is applied in every shape, build and profile.

use std::sync::LazyLock;

use airlock_init::ledger::Ledger;
use airlock_init::refusal::WatchedCall;

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

macro_rules! reported {
    ($arch:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/reported-", $arch))
    };
}

#[cfg(target_arch = "x86_64")]
const REPORTED_HERE: &str = reported!("x86_64");
#[cfg(target_arch = "aarch64")]
const REPORTED_HERE: &str = reported!("aarch64");

/// A system call that the filter refuses and that results name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportedCall {
    name: &'static str,
    call: WatchedCall,
    /// The reason of its refusal.
    why: &'static str,
}

static REPORTED: LazyLock<Vec<ReportedCall>> = LazyLock::new(|| parse(REPORTED_HERE));

/// Reads lines of a name, a number, an error and a reason.
fn parse(lines: &'static str) -> Vec<ReportedCall> {
    let call = |line: &'static str| {
        let mut words = line.splitn(4, ' ');
        let name = words.next()?;
        let call = WatchedCall { number: words.next()?.parse().ok()?, errno: words.next()?.parse().ok()? };
        Some(ReportedCall { name, call, why: words.next()? })
    };
    lines.lines().filter_map(call).collect()
}

/// A system call that a command made and that the filter refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCall {
    /// Its name, such as `mount`.
    pub name: &'static str,
    /// The reason of the refusal, as a phrase.
    pub why: &'static str,
    /// How often the command made it.
    pub count: u64,
}

/// Returns the calls that process 1 counts.
pub(crate) fn watched() -> Vec<WatchedCall> {
    REPORTED.iter().map(|reported| reported.call).collect()
}

/// Returns the calls that were refused at least once. At most [`airlock_init::refusal::MAX_WATCHED`].
pub(crate) fn refused(ledger: &Ledger) -> Vec<RefusedCall> {
    let counted = REPORTED.iter().enumerate().map(|(position, ReportedCall { name, why, .. })| RefusedCall {
        name,
        why,
        count: ledger.count(position),
    });
    counted.filter(|refused| refused.count > 0).collect()
}

/// Returns the filter for a profile's sockets, in the format of this architecture's kernel. The calls that results name
/// are answered with TRACE: without a tracer, the kernel refuses them with ENOSYS.
#[must_use]
pub fn filter(sockets: &Sockets) -> &'static [u8] {
    HERE.filter(sockets)
}

#[cfg(test)]
mod tests;
