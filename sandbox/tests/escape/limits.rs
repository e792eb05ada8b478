//! Attempts to raise or exhaust resources: limits, processes, memory, the disk.

use std::time::Duration;

use airlock_sandbox::Cause;

use crate::control::Control::{Sandbox, VirtualMachine};
use crate::layer::Layer::{Landlock, Limit, ReadOnlyMount, TmpfsSize};
use crate::row::{probe, program};
use crate::stage::Stage;
use crate::support::{eventually, finish, host_processes};

const MIB: u64 = 1 << 20;
const FORKS: &str = "fork-bomb 300";
const PIDS: &str = "pids 300";
const DISK: &str = "disk 16777216 /var/tmp";

fn few_processes(stage: &mut Stage) {
    stage.host.limits.nproc = 60;
}

fn small(stage: &mut Stage) {
    stage.host.limits.nofile = 64;
    stage.host.limits.nproc = 64;
    stage.host.limits.fsize = Some(MIB);
}

fn large(stage: &mut Stage) {
    stage.host.limits.nofile = 512;
    stage.host.limits.nproc = 512;
    stage.host.limits.fsize = Some(64 * MIB);
}

/// A fork bomb, which runs until it reaches its limit.
fn shell_bomb(stage: &mut Stage) {
    few_processes(stage);
    let mark = format!("airlock-bomb-{}", std::process::id());
    // The command is not part of its shell's command line. The text for an inner shell is.
    let bomb = format!("exec bash -c ': {mark}; bomb() {{ bomb | bomb & }}; bomb; sleep 1000'");
    let running = stage.host.start(&stage.own, &stage.host.spec(bomb));
    let mut most = 0;
    eventually("it grows", || {
        most = most.max(host_processes(&mark).len());
        most > 30
    });
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(10));
        most = most.max(host_processes(&mark).len());
    }
    assert!(most <= 62, "the shells of the sandbox, bubblewrap and its child: {most}");
    running.control.kill();
    assert_eq!(finish(running).ended.cause, Cause::Killed);
    assert_eq!(host_processes(&mark).len(), 0);
    println!("stopped by {Limit}: {most} processes at most");
    VirtualMachine(FORKS).assert_reached(stage, "", "");
}

attempts! {
    open_files_raised_by_the_shell: program("ulimit -n 128").after(small).stopped_by(Limit, "Operation not permitted").but(Sandbox(large));
    open_files_raised_by_a_program: program("prlimit --nofile=128:128 true").after(small)
        .stopped_by(Limit, "Operation not permitted|not implemented").but(Sandbox(large));
    processes_raised: program("ulimit -u 128").after(small).stopped_by(Limit, "Operation not permitted").but(Sandbox(large));
    sizes_of_files_raised: program("ulimit -f 4096").after(small).stopped_by(Limit, "Operation not permitted").but(Sandbox(large));
    a_larger_file_than_allowed: program("head -c 2000000 /dev/zero > big").after(small).stopped_by(Limit, "exit status: 153|SIGXFSZ|exit status: 1").but(Sandbox(large));
    a_larger_file_than_allowed_by_its_length: program("truncate -s 2000000 big").after(small).stopped_by(Limit, "exit status: 153|SIGXFSZ|exit status: 1").but(Sandbox(large));
    more_open_files_than_allowed: program("for i in {10..99}; do eval \"exec $i</dev/null\" || exit 1; done").after(small)
        .stopped_by(Limit, "Too many open files|Bad file descriptor|Invalid argument").but(Sandbox(large));

    a_bomb_of_processes: probe("fork-bomb 200", "200 processes").after(few_processes).stopped_by(Limit, "EAGAIN").but(VirtualMachine(FORKS));
    a_bomb_of_threads: probe("fork-bomb 200", "200 threads").after(few_processes).stopped_by(Limit, "EAGAIN").but(VirtualMachine(FORKS));
    a_bomb_of_the_shell: shell_bomb;

    numbers_of_processes_taken_by_the_dead: probe("pids 200", "zombies").after(few_processes).stopped_by(Limit, "EAGAIN").but(VirtualMachine(PIDS));
    numbers_of_processes_taken_by_the_stopped: probe("pids 200", "stopped processes").after(few_processes).stopped_by(Limit, "EAGAIN").but(VirtualMachine(PIDS));
    numbers_of_processes_taken_by_threads_of_several: probe("pids 200", "threads of several processes").after(few_processes)
        .stopped_by(Limit, "ended before").but(VirtualMachine(PIDS));

    shared_memory_filled: probe("disk 8388608 /dev/shm", "one file").after(|stage| stage.host.limits.dev_shm = 4 * MIB)
        .stopped_by(TmpfsSize, "ENOSPC").but(VirtualMachine(DISK));
    a_private_folder_filled: probe("disk 8388608 /var/tmp", "one file").read_only().after(|stage| stage.host.limits.var_tmp = 4 * MIB)
        .stopped_by(TmpfsSize, "ENOSPC").but(VirtualMachine(DISK));
    the_folder_of_the_command_filled: probe("disk 8388608 /run/airlock/run", "one file").stopped_by(Landlock, "EACCES|ENOSPC").but(VirtualMachine(DISK));
    the_root_filled: probe("disk 8388608 /", "one file").stopped_by(ReadOnlyMount, "EROFS").but(VirtualMachine(DISK));
    devices_filled: probe("disk 8388608 /dev", "one file").stopped_by(ReadOnlyMount, "EROFS").but(VirtualMachine(DISK));
}
