//! The part of the probe that runs inside the sandbox: it inspects its environment, attempts to escape, and prints its
//! observations as one line of JSON.
//!
//! It is an attack by design, but harmless: it does not change the objects that it reaches. Must not run outside a
//! sandbox. Must not conclude that a layer is enforced. It reports observations, and the runner draws the conclusion.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use airlock_init::sight::{Attempt, FILTERED, LookFor, SESSION_PLACES, SYSTEM_PLACES, Sight, namespaces};
use airlock_init::wire::{COMMAND_DIRECTORY, Step};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::unistd::{Pid, Uid, setuid};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open, unlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::net::{AddressFamily, Ipv4Addr, SocketAddrUnix, SocketAddrV4, SocketType, connect, socket};
use rustix::process::{Resource, getrlimit, prlimit};

use crate::failure::{AtStep, Failure};

/// The lines of `/proc/self/status` that describe the rights of a process.
const STATUS: [&str; 10] = [
    "Uid",
    "Gid",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
];

pub(crate) fn run(wanted: Option<String>) -> Result<ExitCode, Failure> {
    let wanted: LookFor = serde_json::from_str(&wanted.unwrap_or_default()).at(Step::Message)?;
    let sight = Sight {
        status: status(),
        namespaces: namespaces(),
        pid: std::process::id(),
        proc_pid: fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok()),
        processes: processes(),
        interfaces: interfaces(),
        writable: SYSTEM_PLACES
            .iter()
            .chain(&SESSION_PLACES)
            .filter(|place| writable(place))
            .map(ToString::to_string)
            .collect(),
        command_directory_writable: writable(COMMAND_DIRECTORY),
        attempts: attempts(&wanted),
    };
    let mut text = serde_json::to_vec(&sight).at(Step::Message)?;
    text.push(b'\n');
    std::io::stdout().write_all(&text).at(Step::Message)?;
    Ok(ExitCode::SUCCESS)
}

fn status() -> Vec<(String, String)> {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let wanted = lines.filter(|(name, _)| STATUS.contains(name));
    wanted.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

fn processes() -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())).count()
}

fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
    names.map(|name| name.trim().to_owned()).collect()
}

/// Reports whether a file can be created in a directory. The file is removed again.
fn writable(directory: &str) -> bool {
    let path = Path::new(directory).join(format!(".airlock-look-{}", std::process::id()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let made = open(&path, flags, Mode::RUSR).is_ok();
    // A file that could be created can be removed.
    let _ = unlink(&path);
    made
}

/// Runs all attempts. Attempts that change this process are last.
///
/// The escape attempts, each with its name in reports.
///
/// A successful attempt does no harm: it makes no change outside this process and its mount namespace.
fn attempts(wanted: &LookFor) -> Vec<Attempt> {
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

/// Sets a limit of process 1 to the value of this process.
fn limit_pid_1() -> Result<(), Errno> {
    let own = getrlimit(Resource::Nofile);
    prlimit(Some(rustix::process::Pid::INIT), Resource::Nofile, own).map(drop)
}
