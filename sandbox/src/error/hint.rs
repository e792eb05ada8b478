//! Remedies for a failed start: the known failures of bubblewrap and of the launch step, on hosts and in containers.
//!
//! The result is advice only. No decision depends on the messages of a program. Only bubblewrap's failures are known by
//! their messages; `airlock-init` reports a [`Fault`].

use std::borrow::Cow;

use airlock_init::wire::{Fault, Step};

use crate::confinement::Confinement;

/// The switches of the kernel and of the container for user namespaces.
const NAMESPACES: &str = "allow user namespaces: sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 (Debian); in Kubernetes securityContext.seccompProfile with clone, unshare, mount, umount2 and pivot_root allowed";
const COUNT: &str = "raise the limit on the host: sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000 user.max_mnt_namespaces=15000 user.max_pid_namespaces=15000";
const KERNEL: &str = "use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and CONFIG_CGROUPS";
const MODULE: &str = "let the security modules allow user namespaces";
/// For EACCES, which only a security module returns here.
const CONFINED: &str = "a security module forbids it: `aa-status` lists the AppArmor profiles and `journalctl -k --grep DENIED` the one that confines bubblewrap; add `userns,`, `capability,`, `mount,`, `umount,` and `pivot_root,` to that profile, or remove it with `apparmor_parser --remove FILE`";
const PROC: &str = "unmask /proc: in Kubernetes securityContext.procMount: Unmasked, which needs hostUsers: false; with podman --security-opt unmask=ALL; with docker --security-opt systempaths=unconfined";
const MOUNT: &str = "allow mounts: in Kubernetes securityContext.seccompProfile with mount, umount2 and pivot_root allowed, or capabilities.add: [SYS_ADMIN] with hostUsers: false";
const PIVOT: &str = "allow pivot_root in the container's seccomp profile, and do not start the runner from a root that is an initramfs or a chroot";
const CAPABILITIES: &str = "start the runner without capabilities: set no file capabilities on bubblewrap, and no ambient capabilities; in Kubernetes securityContext.capabilities.drop: [ALL]";
const PROCESSES: &str = "allow more processes: the unit's TasksMax, the node's podPidsLimit, `ulimit -u`";
const ROOM: &str = "free memory for tmpfs, and inodes and space under `state_dir`";
const MISSING: &str = "create it, or remove it from the profile";
const REACH: &str = "make the directories above it readable for every user, or start the runner as root";
const REALLY: &str = "use the path without symbolic links";
const SERVICE: &str =
    "start the service that creates it, or remove it from the profile's `sandbox.allowed_unix_sockets`";
const NO_SOCKET: &str = "name the socket that its service creates";
const CONNECT: &str = "let the sessions' users write to the socket: `chmod o+w` it, or an ACL for the uids \
                       of the runner's configuration; a runner that is not root needs this permission itself";
const OWN_DIRECTORIES: &str = "replace the link by a directory: Airlock follows no links to its own mount \
                           points; name targets of binds without symbolic links";
const OVERLAY: &str =
    "modprobe overlay; a runner that is not root needs Linux 5.11 or later, and no mounts in the directory";
const OPENABLE: &str = "mount `state_dir` without noexec and nodev; keep the file systems that a profile binds mountable in user namespaces";
const EXECUTABLE: &str = "mount `state_dir` without noexec; give the AppArmor profile that confines bubblewrap, if `aa-status` lists one, the right to execute what the sandbox shows";
const SECCOMP: &str =
    "run a kernel with CONFIG_SECCOMP_FILTER; in a container, let its own filter allow `seccomp` and `prctl`";
const ADMIN: &str = "in Kubernetes securityContext.runAsUser: 1000 and runAsNonRoot: true, or capabilities.add: [SYS_ADMIN] with hostUsers: false; on a host start it as root, with every capability";
const IDENTITY: &str = "a runner with uid 0 needs CAP_SETUID and CAP_SETGID: in Kubernetes capabilities.add: [SETUID, SETGID, SYS_ADMIN], or securityContext.runAsUser: 1000";

/// Fragments of a message of bubblewrap, all of which must occur, and the remedy. The first match is used.
const BUBBLEWRAP: [(&[&str], &str); 31] = [
    (&["ENOSPC"], COUNT),
    (&["Creating new namespace failed", "does not support"], KERNEL),
    (&["cgroup namespace", "does not support"], KERNEL),
    (&["Creating new namespace failed", "No space left"], COUNT),
    (&["Creating new namespace failed", "Resource temporarily"], PROCESSES),
    (&["No permissions to create"], NAMESPACES),
    (&["Creating new namespace failed"], NAMESPACES),
    (&["setting up uid map"], MODULE),
    (&["setting up gid map"], MODULE),
    (&["error writing to setgroups"], MODULE),
    (&["loopback:"], MODULE),
    (&["Can't mount proc"], PROC),
    (&["max_user_namespaces"], PROC),
    (&["/proc", "Read-only file system"], PROC),
    (&["Failed to m", "Permission denied"], CONFINED),
    (&["setting up newroot bind", "Permission denied"], CONFINED),
    (&["pivot_root", "Permission denied"], CONFINED),
    (&["execvp", "Permission denied"], EXECUTABLE),
    (&["Failed to make / slave"], MOUNT),
    (&["Failed to make old root rprivate"], MOUNT),
    (&["Failed to mount tmpfs"], MOUNT),
    (&["setting up newroot bind"], MOUNT),
    (&["Can't mount"], MOUNT),
    (&["pivot_root"], PIVOT),
    (&["Unexpected capabilities"], CAPABILITIES),
    (&["fork"], PROCESSES),
    (&["Can't find source path", "Permission denied"], REACH),
    (&["Can't find source path"], MISSING),
    (&["No space left on device"], ROOM),
    (&["Can't bind mount"], OPENABLE),
    (&["PR_SET_SECCOMP"], SECCOMP),
];

/// Remedies of failures that a security module may have caused. The remedies for the active modules are added to them.
const MAY_BE_CONFINED: [&str; 4] = [NAMESPACES, MODULE, CONFINED, MOUNT];

/// Returns a remedy. Adds those for the security modules that confine this process, if they may be the cause.
pub(super) fn told_here(remedy: &'static str) -> Cow<'static, str> {
    told(remedy, &Confinement::read())
}

fn told(remedy: &'static str, confinement: &Confinement) -> Cow<'static, str> {
    if MAY_BE_CONFINED.contains(&remedy) {
        format!("{remedy}; {}", confinement.remedy()).into()
    } else {
        remedy.into()
    }
}

/// Returns the remedy for bubblewrap's last message.
pub(super) fn of_bubblewrap(said: &str) -> Option<&'static str> {
    BUBBLEWRAP
        .iter()
        .find(|(pieces, _)| pieces.iter().all(|piece| said.contains(piece)))
        .map(|(_, remedy)| *remedy)
}

/// Returns the remedy for a failed step of the launch.
pub(super) fn of_step(step: Step, fault: Fault) -> Option<&'static str> {
    Some(match (step, fault) {
        (Step::Stage, Fault::NotPermitted) => NAMESPACES,
        (Step::Binds | Step::Root, Fault::Missing) => MISSING,
        (Step::Binds, _) | (Step::Sockets | Step::Root, Fault::Link) => REALLY,
        (Step::Sockets, Fault::Missing) => SERVICE,
        (Step::Sockets, Fault::NotWritable) => CONNECT,
        (Step::Sockets, _) => NO_SOCKET,
        (Step::Root, Fault::Overlay) => OVERLAY,
        (Step::Root, Fault::MountPoint) => OWN_DIRECTORIES,
        (Step::Root, _) => "name a directory that contains a root file system other than the host's",
        (Step::Masks, _) => {
            "replace the link or the path rule; a mask on such a path needs Linux 5.12 or later"
        }
        (Step::Identity, _) => IDENTITY,
        (Step::Seccomp, _) => SECCOMP,
        (Step::Processes, Fault::MountNamespace) => ADMIN,
        (Step::Processes, Fault::Proc) => PROC,
        (Step::Processes, _) => "use Linux 5.7 or later; sysctl -w user.max_pid_namespaces=15000",
        (Step::Namespaces | Step::Join, Fault::LimitReached) => COUNT,
        (Step::Namespaces | Step::Join, Fault::Unsupported) => KERNEL,
        (Step::Namespaces, Fault::Forbidden) | (Step::Loopback, _) => MODULE,
        (Step::Namespaces | Step::Join, _) => NAMESPACES,
        // The file existed when the launcher checked it.
        (Step::Bubblewrap, Fault::NotPermitted | Fault::Forbidden) => CONFINED,
        (Step::Bubblewrap, _) => "apt-get install bubblewrap",
        (Step::Directory, _) => "start in a directory that exists inside",
        (Step::Shell, _) => "add the shell to the profile's root",
        (Step::Prefix, _) => "name a program in the profile's `shell.prefix` that is in its root",
        (Step::Fork, _) => PROCESSES,
        (Step::Terminal, _) => "allow more terminals on the host: sysctl -w kernel.pty.max=16384",
        // The stage also fails for missing files.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of bubblewrap 0.8 that occurred in containers and on hosts.
    const SEEN: [(&str, &str); 24] = [
        (
            "No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.",
            "seccompProfile",
        ),
        ("No permissions to create a new namespace", "kernel.unprivileged_userns_clone=1"),
        (
            "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            "sysctl -w user.max_user_namespaces",
        ),
        (
            "Creating new namespace failed, likely because the kernel does not support user namespaces.",
            "CONFIG_USER_NS",
        ),
        ("Creating new namespace failed: Operation not permitted", "seccompProfile"),
        ("Creating new namespace failed: Resource temporarily unavailable", "podPidsLimit"),
        ("setting up uid map: Permission denied", "security modules"),
        ("loopback: Failed RTM_NEWADDR: Operation not permitted", "security modules"),
        ("Can't mount proc on /newroot/proc: Operation not permitted", "procMount: Unmasked"),
        ("cannot open /proc/sys/user/max_user_namespaces: Read-only file system", "hostUsers: false"),
        ("Failed to make / slave: Permission denied", "security module"),
        ("Failed to make / slave: Permission denied", "AppArmor profiles"),
        ("pivot_root: Permission denied", "`pivot_root,`"),
        ("execvp /run/airlock/init: Permission denied", "noexec"),
        ("Failed to make / slave: Operation not permitted", "seccompProfile"),
        ("Failed to mount tmpfs: Permission denied", "security module"),
        ("Can't mount devpts on /newroot/dev/pts: Operation not permitted", "mount"),
        ("pivot_root: Operation not permitted", "seccomp"),
        ("Unexpected capabilities but not setuid, old file caps config?", "drop: [ALL]"),
        ("Can't fork for pid 1: Resource temporarily unavailable", "TasksMax"),
        ("Can't find source path /srv/x: Permission denied", "readable for every user"),
        ("Can't find source path /srv/x: No such file or directory", "from the profile"),
        (
            "Can't bind mount /oldroot/usr on /newroot/usr: Unable to apply mount flags: remount \"/newroot/usr\": Operation not permitted",
            "user namespaces",
        ),
        (
            "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL.",
            "CONFIG_SECCOMP_FILTER",
        ),
    ];

    #[test]
    fn every_failure_of_bubblewrap_known_in_containers_has_its_cure() {
        for (said, piece) in SEEN {
            let remedy = of_bubblewrap(said).unwrap_or_default();
            assert!(remedy.contains(piece), "`{said}`: `{remedy}` does not name `{piece}`");
        }
        assert_eq!(of_bubblewrap("something else"), None);
    }

    #[test]
    fn a_security_module_is_blamed_only_if_it_confines() {
        let none = Confinement::default();
        let selinux = Confinement { selinux: Some("container_t".to_owned()), ..none.clone() };
        let apparmor = Confinement { apparmor: Some("docker-default".to_owned()), ..none.clone() };
        for said in [
            "No permissions to create a new namespace",
            "setting up uid map: Permission denied",
            "Failed to mount tmpfs: Permission denied",
            "Failed to make / slave: Operation not permitted",
        ] {
            let remedy = |confinement| told(of_bubblewrap(said).unwrap(), confinement);
            assert!(remedy(&selinux).contains("seLinuxOptions.type: container_engine_t"), "{said}");
            assert!(!remedy(&selinux).contains("Unconfined"), "{said}");
            assert!(remedy(&apparmor).contains("appArmorProfile.type: Unconfined"), "{said}");
            assert!(!remedy(&apparmor).contains("seLinuxOptions"), "{said}");
            for advice in ["Unconfined", "seLinuxOptions"] {
                assert!(!remedy(&none).contains(advice), "{said}: {}", remedy(&none));
            }
        }
        // A failure that no module can cause has only its own remedy.
        let proc = of_bubblewrap("Can't mount proc on /newroot/proc: Operation not permitted").unwrap();
        assert_eq!(told(proc, &apparmor), proc);
    }

    #[test]
    fn a_bubblewrap_that_may_not_be_executed_is_told_from_one_that_is_not_there() {
        let refused = of_step(Step::Bubblewrap, Fault::Forbidden).unwrap();
        assert!(refused.contains("AppArmor"), "{refused}");
        let gone = of_step(Step::Bubblewrap, Fault::Other).unwrap();
        assert!(gone.contains("apt-get"), "{gone}");
    }

    #[test]
    fn every_reason_has_its_own_remedy_in_a_step_that_reports_it() {
        for (step, fault, piece) in [
            (Step::Stage, Fault::NotPermitted, "max_user_namespaces"),
            (Step::Bubblewrap, Fault::NotPermitted, "AppArmor"),
            (Step::Namespaces, Fault::NotPermitted, "unprivileged_userns_clone"),
            (Step::Namespaces, Fault::Forbidden, "security modules"),
            (Step::Namespaces, Fault::LimitReached, "raise the limit"),
            (Step::Join, Fault::LimitReached, "raise the limit"),
            (Step::Namespaces, Fault::Unsupported, "CONFIG_USER_NS"),
            (Step::Join, Fault::Unsupported, "CONFIG_USER_NS"),
            (Step::Binds, Fault::Missing, "create it"),
            (Step::Root, Fault::Missing, "create it"),
            (Step::Sockets, Fault::Missing, "start the service"),
            (Step::Binds, Fault::Link, "without symbolic links"),
            (Step::Sockets, Fault::Link, "without symbolic links"),
            (Step::Root, Fault::Link, "without symbolic links"),
            (Step::Sockets, Fault::NotWritable, "chmod o+w"),
            (Step::Sockets, Fault::Other, "name the socket"),
            (Step::Root, Fault::MountPoint, "mount points"),
            (Step::Root, Fault::Overlay, "modprobe overlay"),
            (Step::Root, Fault::Other, "other than the host's"),
            (Step::Processes, Fault::MountNamespace, "SYS_ADMIN"),
            (Step::Processes, Fault::Proc, "unmask /proc"),
            (Step::Processes, Fault::Other, "Linux 5.7"),
        ] {
            let remedy = of_step(step, fault).unwrap_or_default();
            assert!(remedy.contains(piece), "{step:?}, {fault:?}: `{remedy}` does not name `{piece}`");
        }
        assert_eq!(of_step(Step::Stage, Fault::Other), None);
    }

    #[test]
    fn every_entry_can_be_reached() {
        let mut said: Vec<String> = BUBBLEWRAP.iter().map(|(pieces, _)| pieces.join(" ")).collect();
        said.dedup();
        assert_eq!(said.len(), BUBBLEWRAP.len());
        for (said, (_, remedy)) in said.iter().zip(BUBBLEWRAP) {
            assert_eq!(of_bubblewrap(said), Some(remedy), "an earlier entry matches `{said}`");
        }
    }
}
