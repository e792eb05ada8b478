//! The escape attempts, each with its name in reports.
//!
//! A successful attempt does no harm: it makes no change outside this process and its mount namespace.

use std::fs::{self, File};
use std::io::Read as _;

use airlock_init::sight::{Attempt, FILTERED, LookFor};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::unistd::{Pid, Uid, setuid};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open, unlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::net::{AddressFamily, Ipv4Addr, SocketAddrUnix, SocketAddrV4, SocketType, connect, socket};
use rustix::process::{Resource, getrlimit, prlimit};

/// Runs all attempts. Attempts that change this process are last.
pub(super) fn all(wanted: &LookFor) -> Vec<Attempt> {
    let mut tried = Vec::new();
    let mut add = |name: &str, result: Result<(), Errno>| {
        tried.push(Attempt { name: name.to_owned(), errno: result.err().map(Errno::raw_os_error) });
    };
    for file in &wanted.files {
        add(&format!("read {file}"), read(file));
        add(&format!("read {file} by pid 1's root"), read(&format!("/proc/1/root{file}")));
    }
    add("read pid 1's environment", read("/proc/1/environ"));
    if let Some(port) = wanted.port {
        add("connect to the host's loopback", loopback(port));
    }
    if let Some(name) = &wanted.abstract_name {
        add("connect to an abstract socket of the host", abstract_socket(name));
    }
    add("write a kernel setting", open_to_write("/proc/sys/kernel/hostname"));
    add("make a device", device());
    add("ptrace pid 1", ptrace::seize(Pid::from_raw(1), ptrace::Options::empty()).map_err(number));
    add("limit pid 1", limit_pid_1());
    add("become root", setuid(Uid::from_raw(0)).map_err(number));
    add("mount a tmpfs", mount("none", "/var", "tmpfs", MountFlags::empty(), None));
    add("bind a directory", mount_bind("/usr", "/var"));
    add("remount the root writable", mount_remount("/", MountFlags::BIND, ""));
    add(FILTERED, unshare(CloneFlags::empty()).map_err(number));
    add("unshare a mount namespace", unshare(CloneFlags::CLONE_NEWNS).map_err(number));
    add("unshare a user namespace", unshare(CloneFlags::CLONE_NEWUSER).map_err(number));
    tried
}

fn number(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}

fn failed(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Reads one byte.
fn read(path: &str) -> Result<(), Errno> {
    let mut byte = [0];
    let read = File::open(path).and_then(|mut file| file.read(&mut byte)).map_err(|error| failed(&error))?;
    if read == 0 { Err(Errno::NODATA) } else { Ok(()) }
}

fn loopback(port: u16) -> Result<(), Errno> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
}

fn abstract_socket(name: &str) -> Result<(), Errno> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

/// Opens a file for writing, without writing to it.
fn open_to_write(path: &str) -> Result<(), Errno> {
    fs::OpenOptions::new().write(true).open(path).map(drop).map_err(|error| failed(&error))
}

fn device() -> Result<(), Errno> {
    const PATH: &str = "/tmp/.airlock-look-device";
    mknodat(CWD, PATH, FileType::CharacterDevice, Mode::RUSR, makedev(1, 3))?;
    // Opening fails on a file system mounted with `nodev`.
    let opened = open(PATH, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(drop);
    // A file that could be created can be removed.
    let _ = unlink(PATH);
    opened
}

/// Sets a limit of pid 1 to the value of this process.
fn limit_pid_1() -> Result<(), Errno> {
    let own = getrlimit(Resource::Nofile);
    prlimit(Some(rustix::process::Pid::INIT), Resource::Nofile, own).map(drop)
}
