//! Attempts to change the whole machine: its clock, its kernel.
//!
//! An allowed attempt changes no state: the clock is set to its current time, the module is invalid, and a request
//! lacks its magic number.

use std::fs::OpenOptions;
use std::io;
use std::process::Command;

use airlock_init::sys::bare_call;
use nix::errno::Errno;
use nix::kmod::{DeleteModuleFlags, ModuleInitFlags, delete_module, finit_module, init_module};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::time::{ClockId, clock_gettime, clock_settime};

use crate::attempt::Attempt;

/// Attempts to set the clock to its current time.
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
