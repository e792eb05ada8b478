//! Attempts to see, trace or stop processes.

use crate::control::Control::{Bubblewrap, Outside};
use crate::layer::Layer::{PidNamespace, Seccomp};
use crate::row::{probe, program};

/// The effect of the probe's `bend` on a child of the command.
macro_rules! done_to_a_child {
    ($way:literal) => {
        program(concat!(
            "sleep 1000 >/dev/null 2>&1 & child=$!; {probe} bend $child | grep -q ",
            $way,
            ".,.reached.:true; ",
            "found=$?; kill -KILL $child; exit $found",
        ))
        .stopped_by(Seccomp, "exit status: 1")
        .but(Bubblewrap(""))
    };
}

attempts! {
    a_process_of_the_host_by_its_number: probe("process {pid}", "signal 0 by number")
        .stopped_by(PidNamespace, "ESRCH").but(Bubblewrap(""));
    a_process_of_the_host_by_its_command_line: probe("process {mark}", "command lines")
        .stopped_by(PidNamespace, "None").but(Bubblewrap(""));
    the_words_of_a_process_of_the_host: probe("read /proc/{pid}/cmdline", "path")
        .stopped_by(PidNamespace, "ENOENT").but(Bubblewrap(""));
    the_environment_of_a_process_of_the_host: probe("read /proc/{pid}/environ", "path")
        .stopped_by(PidNamespace, "ENOENT").but(Outside);
    the_root_of_a_process_of_the_host: probe("read /proc/{pid}/root/etc/passwd", "path")
        .stopped_by(PidNamespace, "ENOENT").but(Outside);
    limits_of_a_process_of_the_host: probe("bend {pid}", "prlimit").stopped_by(PidNamespace, "ESRCH|EPERM").but(Outside);
    memory_of_a_process_of_the_host: probe("bend {pid}", "memory file").stopped_by(PidNamespace, "ENOENT").but(Outside);
    descriptors_of_a_process_of_the_host: probe("bend {pid}", "list of descriptors").stopped_by(PidNamespace, "ENOENT").but(Outside);
    a_list_by_ps: program("ps -eo args | grep -v grep | grep -q \"sleep {mark}\"").stopped_by(PidNamespace, "exit status: 1").but(Bubblewrap(""));

    a_child_traced_by_seize: probe("trace", "seize").stopped_by(Seccomp, "EPERM|ENOSYS").but(Bubblewrap(""));
    a_child_traced_by_attach: probe("trace", "attach").stopped_by(Seccomp, "EPERM|ENOSYS").but(Bubblewrap(""));
    traced_by_the_parent: probe("trace", "traceme").stopped_by(Seccomp, "EPERM|ENOSYS").but(Bubblewrap(""));
    memory_of_a_child_read: done_to_a_child!("process_vm_readv");
    memory_of_a_child_written: done_to_a_child!("process_vm_writev");
    a_descriptor_of_a_child_taken: done_to_a_child!("pidfd_getfd");
    limits_of_a_child: done_to_a_child!("prlimit");
}
