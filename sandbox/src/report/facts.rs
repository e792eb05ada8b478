//! The restrictions on this process: kernel switches, its own filters, namespaces and mounts. They explain why the
//! probe found a layer missing.
//!
//! They do not determine whether a layer is enforced. That is observed from inside the sandbox.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use crate::confinement::{self, APPARMOR, Confinement};

/// The maximum bytes of `mountinfo` that are read, because a host can have very many mounts.
const MOUNTS: usize = 1 << 20;
/// The timeout for a program that should read its input.
const EXECUTED: Duration = Duration::from_secs(10);

/// The restrictions. An unreadable value is `None` or empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// The kernel's release.
    pub(crate) kernel: String,
    /// `user.max_user_namespaces`.
    pub(crate) max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone` (Debian).
    pub(crate) userns_clone: Option<u64>,
    /// The security modules that confine this process.
    pub(crate) confinement: Confinement,
    /// The security modules of the kernel, if they can be listed.
    pub(crate) modules: Option<String>,
    /// Whether this process already has a seccomp filter.
    pub(crate) filtered: bool,
    /// The number of filters, if the kernel reports it.
    pub(crate) filters: Option<u32>,
    /// Whether it is in a user namespace other than the host's initial one.
    pub(crate) nested: bool,
    /// The mounts over parts of `/proc`.
    pub(crate) proc_masks: Vec<String>,
}

impl Facts {
    /// Reads the restrictions.
    pub(crate) fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let number = |path: &str| text(path).trim().parse().ok();
        let status = text("/proc/self/status");
        let field = |name| field(&status, name);
        Self {
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            confinement: Confinement::read(),
            modules: fs::read_to_string("/sys/kernel/security/lsm").ok(),
            filtered: field("Seccomp").is_some_and(|mode| mode != "0"),
            filters: field("Seccomp_filters").and_then(|count| count.parse().ok()),
            nested: is_nested(&text("/proc/self/uid_map")),
            proc_masks: proc_masks(&mounts()),
        }
    }
}

fn mounts() -> String {
    let mut bytes = fs::read("/proc/self/mountinfo").unwrap_or_default();
    bytes.truncate(MOUNTS);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let found = status.lines().filter_map(|line| line.split_once(':')).find(|(found, _)| *found == name);
    found.map(|(_, value)| value.trim())
}

/// Returns the AppArmor profile that confines `program` once it is executed, if there is one. Starts the program with
/// `words`, which must make it read its standard input to the end, and ends it before that. Waits at most [`EXECUTED`].
pub(super) fn confined(program: &Path, words: &[&str]) -> Option<String> {
    if !Path::new(APPARMOR).exists() {
        return None;
    }
    let quiet = Stdio::null;
    let mut command = Command::new(program);
    command.args(words).env_clear().stdin(Stdio::piped()).stdout(quiet()).stderr(quiet());
    // If the program cannot be executed, the actual start reports it.
    let mut child = command.spawn().ok()?;
    let input = wait_until_it_reads(&mut child);
    let found = fs::read_to_string(APPARMOR.replace("self", &child.id().to_string())).unwrap_or_default();
    // Its profile may block the signal. The end of its input then ends it.
    let _ = child.kill();
    drop(input);
    let _ = child.wait();
    confinement::profile(&found)
}

/// Waits until the child has read a byte or ended. Returns its input, which must stay open. The kernel reports the
/// execution to the parent before it applies the new profile. Only an action of the child shows that the profile is
/// active.
fn wait_until_it_reads(child: &mut Child) -> Option<ChildStdin> {
    let begun = Instant::now();
    let mut input = child.stdin.take()?;
    input.write_all(b"-").ok()?;
    let waits = |child: &mut Child| {
        ioctl_fionread(&input).is_ok_and(|unread| unread > 0) && matches!(child.try_wait(), Ok(None))
    };
    while waits(child) && begun.elapsed() < EXECUTED {
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(input)
}

/// Reports whether the user namespace is nested. The host's initial one maps every ID to itself.
fn is_nested(uid_map: &str) -> bool {
    let mut words = uid_map.split_whitespace();
    let whole = (words.next(), words.next(), words.next(), words.next());
    !uid_map.trim().is_empty() && whole != (Some("0"), Some("0"), Some("4294967295"), None)
}

/// Returns the mount points below `/proc`, except the kernel's own file systems. The kernel refuses a new `/proc` to a
/// process that sees only a part of the existing one.
fn proc_masks(mountinfo: &str) -> Vec<String> {
    let place = |line: &str| {
        let point = line.split(' ').nth(4)?;
        let kind = line.split(" - ").nth(1)?.split(' ').next()?;
        (point.starts_with("/proc/") && kind != "binfmt_misc" && kind != "autofs").then(|| point.to_owned())
    };
    let mut found: Vec<String> = mountinfo.lines().filter_map(place).collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_proc_are_told_from_what_belongs_there() {
        let mounts = "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n\
            23 22 0:22 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw\n\
            24 22 0:21 /sys /proc/sys ro,nosuid - proc proc rw\n\
            25 22 0:5 /null /proc/kcore rw - tmpfs tmpfs rw\n\
            26 1 0:5 / /processes rw - tmpfs tmpfs rw\n";
        assert_eq!(proc_masks(mounts), ["/proc/sys", "/proc/kcore"]);
        assert!(proc_masks("").is_empty());
    }

    #[test]
    fn the_first_user_namespace_is_known_by_its_map() {
        assert!(!is_nested("         0          0 4294967295\n"));
        assert!(is_nested("         0     100000      65536\n"));
        assert!(is_nested("0 0 1\n1 100000 65536\n"));
        assert!(!is_nested(""), "an unknown state does not count as nested");
    }
}
