//! Bare system calls that the filter refuses. Without a filter, the kernel checks their arguments.

use crate::control::Control::{Capable, VirtualMachine};
use crate::layer::Layer::Seccomp;
use crate::row::{Row, probe};

fn refused(words: &'static str) -> Row {
    let name = words.strip_prefix("call ").unwrap().trim_matches('"');
    probe(words, name).stopped_by(Seccomp, "EPERM|ENOSYS").but(Capable)
}

attempts! {
    add_key: refused("call add_key");
    adjtimex: refused("call adjtimex");
    bpf: refused("call bpf");
    clock_adjtime: refused("call clock_adjtime");
    clone_of_a_mount_namespace: refused("call \"clone a mount namespace\"");
    clone_of_a_user_namespace: refused("call \"clone a user namespace\"");
    clone3: refused("call clone3");
    fanotify_init: refused("call fanotify_init");
    fsconfig: refused("call fsconfig");
    fsmount: refused("call fsmount");
    fspick: refused("call fspick");
    io_uring_enter: refused("call io_uring_enter");
    io_uring_register: refused("call io_uring_register");
    io_uring_setup: refused("call io_uring_setup");
    kcmp: refused("call kcmp");
    keyctl: refused("call keyctl");
    mount_setattr: refused("call mount_setattr");
    move_mount: refused("call move_mount");
    open_by_handle_at: refused("call open_by_handle_at");
    perf_event_open: refused("call perf_event_open");
    pidfd_getfd: refused("call pidfd_getfd");
    pivot_root: refused("call pivot_root");
    process_madvise: refused("call process_madvise");
    process_vm_readv: refused("call process_vm_readv");
    process_vm_writev: refused("call process_vm_writev");
    ptrace: refused("call ptrace");
    quotactl: refused("call quotactl");
    request_key: refused("call request_key");
    setns: refused("call setns");
    swapon: refused("call swapon").but(VirtualMachine("call swapon"));
    userfaultfd: refused("call userfaultfd");
}
