//! Attempts to break airlock-init.

use airlock_sandbox::Cause;

use crate::control::Control::Bubblewrap;
use crate::layer::Layer::{NotDumpable, PidNamespace, Seccomp};
use crate::row::{Row, probe};
use crate::stage::Stage;

/// In this control process 1 is an unprotected shell of the same user.
const A_SHELL: &str = "--unshare-pid --as-pid-1";

fn bent(way: &'static str) -> Row {
    probe("bend 1", way).control_words("bend 1; true").but(Bubblewrap(A_SHELL))
}

/// Checks that the signal reaches another process but does not harm process 1, which still reports the true end.
fn signal(name: &'static str) -> impl FnOnce(&mut Stage) {
    move |stage| {
        let command = format!(
            "sleep 1000 & victim=$!\n\
             until read -rd '' a < /proc/$victim/cmdline && [ $a = sleep ]; do :; done\n\
             state() {{ sed 's/.*) //; s/ .*//' /proc/$1/stat; }}\n\
             is_unharmed() {{ jobs %1 >/dev/null; state $victim 2>/dev/null | grep -qx S; }}\n\
             kill -{name} 1; kill -{name} $victim\n\
             for try in {{1..2000}}; do is_unharmed || break; sleep 0.05; done\n\
             echo \"pid 1: $(state 1)\"; is_unharmed && echo unharmed\n\
             kill -KILL $victim 2>/dev/null; exit 7"
        );
        let output = stage.host.run(&stage.own, &stage.host.spec(command));
        let first = output.stdout.lines().find(|line| line.starts_with("pid 1:"));
        assert_eq!(first, Some("pid 1: S"), "{}", output.stdout);
        assert_eq!(output.ended.cause, Cause::Exited(7));
        assert!(
            !output.stdout.contains("unharmed"),
            "control: it affects another process: {}",
            output.stdout
        );
        stage.controlled();
        println!("stopped by {PidNamespace}: pid 1 takes no such signal from inside");
    }
}

attempts! {
    killed: signal("KILL");
    stopped: signal("STOP");
    faulted: signal("SEGV");
    terminated: signal("TERM");
    aborted: signal("ABRT");
    hung_up: signal("HUP");
    limits: bent("prlimit").stopped_by(Seccomp, "EPERM|ENOSYS");
    affinity: bent("affinity").stopped_by(Seccomp, "EPERM|ENOSYS");
    priority: bent("priority").stopped_by(Seccomp, "EPERM|ENOSYS");
    out_of_memory_score: bent("out-of-memory score").stopped_by(NotDumpable, "EACCES");
    memory_by_its_file: bent("memory file").stopped_by(NotDumpable, "EACCES");
    memory_read: bent("process_vm_readv").stopped_by(Seccomp, "EPERM|ENOSYS");
    memory_written: bent("process_vm_writev").stopped_by(Seccomp, "EPERM|ENOSYS");
    traced: bent("ptrace").stopped_by(Seccomp, "EPERM|ENOSYS");
    list_of_descriptors: bent("list of descriptors").stopped_by(NotDumpable, "EACCES");
    first_descriptor: bent("first descriptor").stopped_by(NotDumpable, "EACCES");
    a_descriptor_taken: bent("pidfd_getfd").stopped_by(Seccomp, "EPERM|ENOSYS");
    directory: bent("directory").stopped_by(NotDumpable, "EACCES");
}
