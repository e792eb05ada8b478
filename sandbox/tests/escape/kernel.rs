//! Devices, mounts, namespaces, modules, clocks, the kernel's log.

use crate::control::Control::{Bubblewrap, Capable, Outside, VirtualMachine};
use crate::layer::Layer::{Capabilities, Owner, Root, Seccomp};
use crate::row::{probe, program};

const DEVICES: &str = "device /var/tmp";

attempts! {
    a_null_device: probe("device /workspace", "null").stopped_by(Capabilities, "EPERM").but(VirtualMachine(DEVICES));
    a_disk_device: probe("device /workspace", "disk").stopped_by(Capabilities, "EPERM").but(VirtualMachine(DEVICES));
    a_memory_device: probe("device /tmp", "memory").stopped_by(Capabilities, "EPERM").but(VirtualMachine(DEVICES));
    a_device_by_a_program: probe("device /home/agent", "mknod").stopped_by(Capabilities, "Operation not permitted").but(VirtualMachine(DEVICES));

    a_tmpfs: probe("mount", "tmpfs").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_bind: probe("mount", "bind").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    usr_made_writable: probe("mount", "remount").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_mount_by_the_newer_calls: probe("mount", "fsopen").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_copy_of_a_mount: probe("mount", "open_tree").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_mount_taken_away: probe("mount", "umount").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_mount_by_a_program: program("mount -t tmpfs none /var").stopped_by(Seccomp, "mount").but(Capable);
    another_root: probe("mount", "chroot").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);

    a_user_namespace: probe("namespaces", "user").stopped_by(Seccomp, "EPERM|ENOSYS").but(Bubblewrap(""));
    a_user_and_a_mount_namespace: program("unshare --user --mount true").stopped_by(Seccomp, "unshare").but(Bubblewrap(""));
    a_mount_namespace: probe("namespaces", "mount").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_net_namespace: probe("namespaces", "net").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_pid_namespace: probe("namespaces", "pid").stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable);
    a_user_namespace_by_a_program: program("unshare --user --map-root-user true").stopped_by(Seccomp, "unshare").but(Bubblewrap(""));
    a_sandbox_in_the_sandbox: program("bwrap --unshare-user --ro-bind / / true")
        .stopped_by(Seccomp, "bwrap").but(Bubblewrap(""));
    the_namespaces_of_pid_1: program("nsenter --target 1 --mount true").stopped_by(Seccomp, "nsenter")
        .control_words("nsenter --target $$ --mount true").but(Capable);

    a_module_from_memory: probe("module", "init_module").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("module"));
    a_module_from_a_file: probe("module", "finit_module").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("module"));
    a_module_removed: probe("module", "delete_module").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("module"));

    the_clock: probe("clock", "clock_settime").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("clock"));
    the_clock_by_the_older_call: probe("clock", "settimeofday").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("clock"));
    the_clock_by_date: probe("clock", "date").stopped_by(Seccomp, "cannot set date").but(VirtualMachine("clock"));

    the_kernels_log_by_its_device: probe("kernel-log", "/dev/kmsg").stopped_by(Root, "ENOENT").but(VirtualMachine("kernel-log"));
    the_kernels_log_in_proc: probe("kernel-log", "/proc/kmsg").stopped_by(Owner, "EACCES|EPERM").but(VirtualMachine("kernel-log"));
    the_kernels_log_by_its_call: probe("kernel-log", "syslog").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("kernel-log"));
    the_kernels_log_by_dmesg: probe("kernel-log", "dmesg").stopped_by(Seccomp, "dmesg").but(VirtualMachine("kernel-log"));

    a_restart: probe("reboot", "reboot").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("reboot"));
    another_kernel: probe("reboot", "kexec_load").stopped_by(Seccomp, "EPERM|ENOSYS").but(VirtualMachine("reboot"));
    a_restart_by_sysrq: probe("reboot", "/proc/sysrq-trigger").stopped_by(Owner, "EACCES|EROFS|ENOENT").but(VirtualMachine("reboot"));

    root_by_setuid: probe("gain-privileges", "become root").stopped_by(Capabilities, "EPERM|EINVAL").but(Capable);
    roots_group: probe("gain-privileges", "become root's group").stopped_by(Capabilities, "EPERM|EINVAL").but(Capable);
    programs_with_setuid: probe("gain-privileges", "setuid bits take effect").stopped_by(Capabilities, "no_new_privs").but(Outside);
    a_capability_in_the_effective_set: probe("capabilities", "CapEff").stopped_by(Capabilities, "0000000000000000").but(Capable);
    a_capability_in_the_permitted_set: probe("capabilities", "CapPrm").stopped_by(Capabilities, "0000000000000000").but(Capable);
    a_capability_in_the_bounding_set: probe("capabilities", "CapBnd").stopped_by(Capabilities, "0000000000000000").but(Capable);
    a_host_name: program("hostname airlock-was-here").stopped_by(Capabilities, "hostname").but(Capable);
}
