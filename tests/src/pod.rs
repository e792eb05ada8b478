//! Containers like those of a pod: Debian's root file system, started by `runc` with a securityContext. Nothing
//! remains when it is dropped.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use airlock_mounts::{ScratchDir, private_command, remove_tree};
use serde_json::{Value, json};

use crate::{source, tools::program};

/// The default capabilities of Docker and of a pod's container.
pub const DEFAULT_CAPABILITIES: [&str; 14] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];
/// The paths that container engines cover.
const MASKED: [&str; 10] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
];
const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
/// The system calls that Docker's default filter permits only with CAP_SYS_ADMIN, in addition to `clone` and `clone3`.
const FOR_ADMINS: [&str; 18] = [
    "bpf",
    "fanotify_init",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "setdomainname",
    "sethostname",
    "setns",
    "umount",
    "umount2",
    "unshare",
];
/// The relevant system calls that the filter never permits.
const FOR_NOBODY: [&str; 12] = [
    "add_key",
    "clock_settime",
    "delete_module",
    "finit_module",
    "init_module",
    "io_uring_setup",
    "kexec_load",
    "keyctl",
    "open_by_handle_at",
    "request_key",
    "settimeofday",
    "userfaultfd",
];
/// CLONE_NEWTIME to CLONE_NEWNET without CLONE_IO and similar flags: each kind of namespace.
const NAMESPACE_FLAGS: [u32; 7] =
    [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
/// The first host ID of a pod's user namespace, and the number of IDs.
const POD_IDS: (u32, u32) = (3_000_000, 65_536);
const SECONDS: &str = "240";

/// A container's securityContext.
#[derive(Debug, Clone, Copy)]
pub struct SecurityContext {
    /// `runAsUser`.
    pub user: u32,
    /// `capabilities`; all others are dropped.
    pub capabilities: &'static [&'static str],
    /// `allowPrivilegeEscalation`.
    pub may_escalate: bool,
    /// `readOnlyRootFilesystem`.
    pub read_only_root: bool,
    /// `procMount: Unmasked`.
    pub unmasked: bool,
    /// `seccompProfile`: whether clone, unshare, mount, umount2 and pivot_root are permitted. The reason can be
    /// a profile of the node, or RuntimeDefault with CAP_SYS_ADMIN.
    pub may_mount: bool,
    /// `hostUsers`.
    pub host_users: bool,
}

/// A pod of a test: its root file system, and Airlock's programs at `/opt/airlock`.
#[derive(Debug)]
pub struct Pod {
    directory: ScratchDir,
    name: String,
}

impl Pod {
    /// Creates a pod without starting anything.
    ///
    /// # Panics
    /// If the root file system cannot be created, or a program was not built.
    #[must_use]
    pub fn new() -> Self {
        let directory = ScratchDir::with_prefix("airlock-pod-");
        // Root in the pod's user namespace must be able to enter the directory.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let name = directory.path().file_name().unwrap().to_string_lossy().into_owned();
        let made = Command::new(source::root().join("tests/pods/rootfs.sh")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let rootfs = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        let own = directory.path().join("rootfs");
        // The cache may be on another file system, or below a directory that only root can enter.
        let linked = Command::new("cp").arg("-al").args([&rootfs, &own]).output().unwrap();
        if !linked.status.success() {
            remove_tree(&own).unwrap();
            assert!(Command::new("cp").arg("-a").args([&rootfs, &own]).status().unwrap().success());
        }
        let programs = directory.path().join("programs");
        fs::create_dir_all(programs.join("base")).unwrap();
        strip(&program("airlock"), &programs.join("airlock"));
        strip(&program("airlock-probe"), &programs.join("base/airlock-probe"));
        Self { directory, name }
    }

    /// Runs a shell script in a container to its end, with a timeout of four minutes.
    ///
    /// # Panics
    /// If `runc` is missing.
    #[must_use]
    pub fn run(&self, context: &SecurityContext, script: &str) -> Output {
        let bundle = self.directory.path();
        let config = config(context, bundle, &self.name, script);
        fs::write(bundle.join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
        let run = ["-k", "5", SECONDS, "runc", "--root"];
        // runc creates a namespace for the container; its earlier mounts must be invisible elsewhere, too.
        let output = private_command(&[])
            .arg("timeout")
            .args(run)
            .arg(bundle.join("runc"))
            .args(["run", "--bundle"])
            .arg(bundle)
            .arg(&self.name)
            .output();
        self.delete();
        output.unwrap()
    }

    fn delete(&self) {
        // If the container has ended, it no longer exists.
        drop(
            private_command(&[])
                .args(["runc", "--root"])
                .arg(self.directory.path().join("runc"))
                .args(["delete", "--force", &self.name])
                .output(),
        );
    }
}

impl Default for Pod {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.delete();
    }
}

/// Copies a program without debug information, which is a tenth of the size.
fn strip(program: &Path, target: &Path) {
    let stripped = Command::new("strip").arg("-o").args([target, program]).status().unwrap();
    assert!(stripped.success(), "{} is not stripped", program.display());
}

fn config(context: &SecurityContext, bundle: &Path, name: &str, script: &str) -> Value {
    let SecurityContext { user, capabilities, may_escalate, read_only_root, unmasked, host_users, .. } =
        *context;
    // A user other than root has them in the bounding set only.
    let held: &[&str] = if user == 0 { capabilities } else { &[] };
    let mut namespaces = vec!["pid", "ipc", "uts", "mount", "network"];
    let (first, count) = POD_IDS;
    let mut mappings = json!([]);
    if !host_users {
        namespaces.push("user");
        mappings = json!([{ "containerID": 0, "hostID": first, "size": count }]);
    }
    let namespaces: Vec<Value> = namespaces.iter().map(|kind| json!({ "type": kind })).collect();
    json!({
        "ociVersion": "1.0.2",
        "hostname": "pod",
        "process": {
            "user": { "uid": user, "gid": user },
            "args": ["/bin/sh", "-c", script],
            "env": ["PATH=/opt/airlock:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp/home"],
            "cwd": "/",
            "noNewPrivileges": !may_escalate,
            "capabilities": { "bounding": capabilities, "effective": held, "permitted": held },
        },
        "root": { "path": "rootfs", "readonly": read_only_root },
        "mounts": mounts(&bundle.join("programs")),
        "linux": {
            "namespaces": namespaces,
            "uidMappings": mappings,
            "gidMappings": mappings,
            "cgroupsPath": format!("/{name}"),
            "maskedPaths": if unmasked { Vec::new() } else { MASKED.to_vec() },
            "readonlyPaths": if unmasked { Vec::new() } else { READ_ONLY.to_vec() },
            "seccomp": seccomp(context.may_mount),
        },
    })
}

fn mounts(programs: &Path) -> Value {
    json!([
        { "destination": "/proc", "type": "proc", "source": "proc" },
        { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"] },
        { "destination": "/dev/pts", "type": "devpts", "source": "devpts",
          "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"] },
        { "destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "nodev", "mode=1777"] },
        { "destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"] },
        // An emptyDir for the runner's state.
        { "destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"] },
        { "destination": "/opt/airlock", "type": "bind", "source": programs, "options": ["bind", "ro", "nosuid", "nodev"] },
    ])
}

/// Returns Docker's default filter by the system calls that it refuses.
fn seccomp(may_mount: bool) -> Value {
    const EPERM: u32 = 1;
    const ENOSYS: u32 = 38;
    let refuse =
        |names: &[&str], errno: u32| json!({ "names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno });
    let mut calls = vec![refuse(&FOR_NOBODY, EPERM)];
    if !may_mount {
        calls.extend([refuse(&FOR_ADMINS, EPERM), refuse(&["clone3"], ENOSYS)]);
        calls.extend(NAMESPACE_FLAGS.map(|flag| {
            let flags = json!([{ "index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ" }]);
            json!({ "names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": EPERM, "args": flags })
        }));
    }
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": calls,
    })
}
