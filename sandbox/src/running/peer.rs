//! Determines whether a process of a sandbox holds the other end of a TCP connection. A proxy for one sandbox can then
//! serve clients that present no credential: the sandboxes of a session share a loopback, and differ in their processes.
//!
//! Must not depend on anything that a command can write: the kernel provides the table of the sockets, and the processes
//! are those of the sandbox's own PID namespace.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{
    CWD, Dir, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstatfs, openat, openat2, readlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::Control;

/// The longest table of sockets that is read, in bytes. A line has 150.
const MAX_TABLE: u64 = 4 << 20;
/// The most descriptors that are examined.
const MAX_DESCRIPTORS: usize = 100_000;

impl Control {
    /// Returns whether a process of this sandbox has the socket that is bound to `client` and connected to `server`.
    /// False in case of doubt: if the sandbox has ended, if the runner may not examine its processes, or if there are
    /// too many. Blocks for some milliseconds.
    #[must_use]
    pub fn holds(&self, client: SocketAddrV4, server: SocketAddrV4) -> bool {
        holds(self.0.init.as_fd(), client, server).unwrap_or(false)
    }
}

fn holds(init: BorrowedFd<'_>, client: SocketAddrV4, server: SocketAddrV4) -> io::Result<bool> {
    let Some(process) = directory(init)? else { return Ok(false) };
    let Some(inode) = inode(process.as_fd(), client, server)? else { return Ok(false) };
    let root = openat(&process, "root", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let inside = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let processes = openat2(&root, "proc", DIRECTORY, Mode::empty(), inside)?;
    if fstatfs(&processes)?.f_type != PROC_SUPER_MAGIC {
        return Ok(false);
    }
    any_has(&processes, format!("socket:[{inode}]").as_bytes())
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the `/proc` directory of the process that a pidfd names. `None` if the process has ended.
fn directory(pidfd: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
    let Some(pid) = pid.filter(|pid| *pid > 0) else { return Ok(None) };
    let process = openat(CWD, format!("/proc/{pid}"), DIRECTORY, Mode::empty())?;
    // If the process lives now, the directory is its own: its number cannot have been reused.
    let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
    let ended = poll(&mut watched, Some(&Timespec::default()))?;
    Ok((ended == 0).then_some(process))
}

/// Returns the inode of the client's socket in the network namespace of a process.
fn inode(process: BorrowedFd<'_>, client: SocketAddrV4, server: SocketAddrV4) -> io::Result<Option<u64>> {
    // Clients such as Java use sockets of IPv6 for IPv4, too.
    for (table, prefix) in [("net/tcp", ""), ("net/tcp6", MAPPED)] {
        let file = match openat(process, table, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            opened => File::from(opened?),
        };
        let mut text = String::new();
        file.take(MAX_TABLE).read_to_string(&mut text)?;
        if let Some(inode) = find(&text, &address(prefix, client), &address(prefix, server)) {
            return Ok(Some(inode));
        }
    }
    Ok(None)
}

/// The first 96 bits of an IPv4 address in IPv6, as the kernel prints them: in words of the machine's byte order.
#[cfg(target_endian = "little")]
const MAPPED: &str = "0000000000000000FFFF0000";
#[cfg(target_endian = "big")]
const MAPPED: &str = "00000000000000000000FFFF";

/// Returns an address as the kernel prints it.
fn address(prefix: &str, address: SocketAddrV4) -> String {
    let word = |ip: &Ipv4Addr| u32::from_ne_bytes(ip.octets());
    format!("{prefix}{:08X}:{:04X}", word(address.ip()), address.port())
}

/// Returns the inode of a socket in a table. Sockets without a process have 0.
fn find(table: &str, local: &str, remote: &str) -> Option<u64> {
    table.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        if words.next() != Some(local) || words.next() != Some(remote) {
            return None;
        }
        words.nth(6)?.parse().ok().filter(|inode| *inode != 0)
    })
}

/// Returns whether a process of this `/proc` has a descriptor with this name.
fn any_has(processes: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    let mut left = MAX_DESCRIPTORS;
    for entry in Dir::read_from(processes)? {
        let entry = entry?;
        if !entry.file_name().to_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        // A process that ends in the meantime has no descriptors.
        if has(processes, entry.file_name(), name, &mut left).unwrap_or(false) {
            return Ok(true);
        }
        if left == 0 {
            break;
        }
    }
    Ok(false)
}

/// Returns whether a process has a descriptor with this name. Counts the descriptors that it examined.
fn has(processes: &OwnedFd, process: &CStr, name: &[u8], left: &mut usize) -> Result<bool, Errno> {
    let process = openat(processes, process, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let descriptors = openat(&process, "fd", DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    for entry in Dir::read_from(&descriptors)? {
        *left = left.saturating_sub(1);
        let entry = entry?;
        let link = readlinkat(&descriptors, entry.file_name(), Vec::new());
        if link.is_ok_and(|link| link.to_bytes() == name) {
            return Ok(true);
        }
        if *left == 0 {
            return Ok(false);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 42 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 43 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
";

    #[test]
    fn the_socket_of_the_client_is_found_by_both_addresses() {
        let at = |port| address("", SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        assert_eq!(at(8080), "0100007F:1F90");
        assert_eq!(find(TABLE, &at(50000), &at(8080)), Some(42));
        assert_eq!(find(TABLE, &at(8080), &at(50000)), Some(43), "the other end");
        assert_eq!(find(TABLE, &at(50001), &at(8080)), None, "no process has it");
        assert_eq!(find(TABLE, &at(50000), &at(8081)), None);
    }
}
