//! Capabilities, namespaces, mounts, devices, kernel settings, bare system calls, and changes of the whole machine.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::process::Command;

use airlock_init::sys::bare_call;
use nix::errno::Errno;
use nix::kmod::{DeleteModuleFlags, ModuleInitFlags, delete_module, finit_module, init_module};
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Gid, Uid, chroot, setgid, setuid};
use rustix::fs::{CWD, MemfdFlags, memfd_create};
use rustix::mount::{FsOpenFlags, OpenTreeFlags, fsopen, open_tree};
use rustix::time::{ClockId, clock_gettime, clock_settime};

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

/// Makes one system call with arguments that cannot have an effect. An error other than a refusal concerns the
/// arguments: the call itself was allowed.
pub(crate) fn call(name: &OsStr) -> Vec<Attempt> {
    let name = name.to_string_lossy();
    match bare_call(&name) {
        Some(result) => {
            vec![Attempt::past(name, result, |errno| !matches!(errno, Errno::ENOSYS | Errno::EPERM))]
        }
        None => vec![Attempt::new(name, true, "unknown system call; its refusal cannot be checked")],
    }
}

/// Attempts to set the clock to its current time.
///
/// Attempts to change the whole machine: its clock, its kernel.
///
/// An allowed attempt changes no state: the clock is set to its current time, the module is invalid, and a request
/// lacks its magic number.
pub(crate) fn clock() -> Vec<Attempt> {
    let set = clock_settime(ClockId::Realtime, clock_gettime(ClockId::Realtime));
    let now = clock_gettime(ClockId::Realtime);
    let now = format!("@{}.{:09}", now.tv_sec, now.tv_nsec);
    vec![
        Attempt::of("clock_settime", set),
        Attempt::program("date", Command::new("date").args(["--set", &now]).output()),
        Attempt::of("settimeofday", bare("settimeofday")),
    ]
}

/// Attempts to load an invalid kernel module.
pub(crate) fn module() -> Vec<Attempt> {
    let garbage = memfd_create("no-module", MemfdFlags::CLOEXEC).map_err(io::Error::from);
    let from_file =
        garbage.and_then(|file| finit_module(&file, c"", ModuleInitFlags::empty()).map_err(io::Error::from));
    let removed = delete_module(c"airlock_no_such_module", DeleteModuleFlags::O_NONBLOCK);
    vec![
        Attempt::past("init_module", init_module(b"no module", c""), is_let_through),
        Attempt::past("finit_module", from_file, is_let_through),
        Attempt::past("delete_module", removed, is_let_through),
    ]
}

/// Attempts to open the kernel's log. Nothing is read.
pub(crate) fn kernel_log() -> Vec<Attempt> {
    let open = |path| OpenOptions::new().read(true).open(path);
    vec![
        Attempt::of("/dev/kmsg", open("/dev/kmsg")),
        Attempt::of("/proc/kmsg", open("/proc/kmsg")),
        Attempt::of("syslog", bare("syslog")),
        Attempt::program("dmesg", Command::new("dmesg").args(["--level", "emerg"]).output()),
    ]
}

/// Attempts to reboot and to load another kernel, with invalid requests.
pub(crate) fn reboot() -> Vec<Attempt> {
    let sysrq = OpenOptions::new().write(true).open("/proc/sysrq-trigger");
    vec![
        Attempt::past("reboot", bare("reboot"), is_let_through),
        Attempt::past("kexec_load", bare("kexec_load"), is_let_through),
        Attempt::of("/proc/sysrq-trigger", sysrq),
    ]
}

fn bare(name: &str) -> io::Result<()> {
    bare_call(name).unwrap_or_else(|| Err(io::Error::other("not known")))
}

/// Reports whether the kernel allowed the call and then checked its arguments.
fn is_let_through(errno: Errno) -> bool {
    !matches!(errno, Errno::EPERM | Errno::EACCES | Errno::ENOSYS)
}
