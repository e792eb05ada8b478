//! Capabilities, namespaces, mounts, devices, kernel settings.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;

use nix::mount::MsFlags;
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Gid, Uid, chroot, setgid, setuid};
use rustix::fs::CWD;
use rustix::mount::{FsOpenFlags, OpenTreeFlags, fsopen, open_tree};

use crate::attempt::Attempt;

/// Checks the five capability sets of this process. A set is reached if it has any bit.
pub(crate) fn capabilities() -> Vec<Attempt> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let sets = status.lines().filter_map(|line| line.split_once(":\t"));
    let sets = sets.filter(|(name, _)| name.starts_with("Cap"));
    // An unreadable set counts as reached, because it is not known to be empty.
    sets.map(|(name, value)| Attempt::new(name, u64::from_str_radix(value.trim(), 16) != Ok(0), value.trim()))
        .collect()
}

/// Attempts to gain privileges.
pub(crate) fn gain_privileges() -> Vec<Attempt> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held_down = status.lines().any(|line| line == "NoNewPrivs:\t1");
    vec![
        Attempt::new("setuid bits take effect", !held_down, "no_new_privs"),
        Attempt::of("become root", setuid(Uid::from_raw(0))),
        Attempt::of("become root's group", setgid(Gid::from_raw(0))),
    ]
}

/// Attempts to create namespaces, which would give rights inside them.
pub(crate) fn namespaces() -> Vec<Attempt> {
    [
        ("user", CloneFlags::CLONE_NEWUSER),
        ("mount", CloneFlags::CLONE_NEWNS),
        ("net", CloneFlags::CLONE_NEWNET),
        ("pid", CloneFlags::CLONE_NEWPID),
        ("user and mount", CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS),
    ]
    .map(|(name, flags)| Attempt::of(name, unshare(flags)))
    .into()
}

/// Attempts to mount: new mounts, copies, a writable remount, an unmount, another root.
pub(crate) fn mount() -> Vec<Attempt> {
    let none = None::<&str>;
    let remount = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    let plain = MsFlags::empty();
    vec![
        Attempt::of("tmpfs", nix::mount::mount(none, "/var", Some("tmpfs"), plain, none)),
        Attempt::of("bind", nix::mount::mount(Some("/usr"), "/var", none, MsFlags::MS_BIND, none)),
        Attempt::of("remount", nix::mount::mount(none, "/var", none, remount, none)),
        Attempt::of("umount", nix::mount::umount("/var")),
        Attempt::of("fsopen", fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)),
        Attempt::of("open_tree", open_tree(CWD, "/usr", OpenTreeFlags::OPEN_TREE_CLONE)),
        Attempt::of("chroot", chroot("/")),
    ]
}

/// Attempts to create device nodes in a directory. They are removed at once.
pub(crate) fn device(directory: &OsStr) -> Vec<Attempt> {
    let path = Path::new(directory).join("airlock-probe-device");
    let make = |kind, major, minor| {
        let made = mknod(&path, kind, Mode::S_IRUSR | Mode::S_IWUSR, makedev(major, minor));
        let _ = fs::remove_file(&path);
        made
    };
    let mut ways = vec![
        Attempt::of("null", make(SFlag::S_IFCHR, 1, 3)),
        Attempt::of("memory", make(SFlag::S_IFCHR, 1, 1)),
        Attempt::of("disk", make(SFlag::S_IFBLK, 8, 0)),
    ];
    let program = Command::new("mknod").arg(&path).args(["c", "1", "3"]).output();
    let _ = fs::remove_file(&path);
    ways.push(Attempt::program("mknod", program));
    ways
}

/// Attempts to open kernel settings and switches for writing. Nothing is written.
pub(crate) fn sysctl() -> Vec<Attempt> {
    [
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/user/max_user_namespaces",
        "/proc/self/root/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
    ]
    .map(|path| Attempt::of(path, OpenOptions::new().write(true).open(path)))
    .into()
}
