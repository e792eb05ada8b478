//! Attempts to change the recorded output of another execution.

use std::fs;
use std::os::fd::AsFd;

use airlock_sandbox::Cause;

use crate::control::Control::Runner;
use crate::layer::Layer::{PidNamespace, Root};
use crate::row::program;
use crate::stage::Stage;
use crate::support::{finish, read_to_end};

/// Checks that a command cannot reach the output of another running command of the same session.
fn of_a_neighbour(stage: &mut Stage) {
    let neighbour =
        stage.host.start(&stage.own, &stage.host.spec("echo first; read -t 1000 <> <(:); echo last"));
    let mut first = [0; 6];
    assert_eq!(rustix::io::read(neighbour.streams.stdout.as_fd(), &mut first), Ok(6));
    let write = "for fd in /proc/[0-9]*/fd/1; do case $fd in /proc/$$/*|/proc/self/*) ;; *) echo forged > $fd;; esac; done 2>/dev/null";
    let output = stage.host.run(&stage.own, &stage.host.spec(write));
    assert!(matches!(output.ended.cause, Cause::Exited(_)));
    neighbour.control.kill();
    let rest = read_to_end(neighbour.streams.stdout);
    assert_eq!(neighbour.waiter.wait().cause, Cause::Killed);
    assert_eq!(rest, "");
    println!("stopped by {PidNamespace}: no process of a neighbour is in sight");
    let own = "sleep 1000 & for fd in /proc/[0-9]*/fd/1; do echo forged > $fd; done 2>/dev/null; kill $!";
    let output = stage.host.run(&stage.own, &stage.host.spec(own));
    assert!(output.stdout.contains("forged"), "control: its own output is reachable in this way");
    stage.controlled();
}

/// Checks that written output cannot be withdrawn: it is in a pipe, not in a file.
fn taken_back(stage: &mut Stage) {
    let take = "echo written; truncate -s 0 /dev/stdout; : > /dev/stdout; sleep 1000";
    let running = stage.host.start(&stage.own, &stage.host.spec(take));
    let mut first = [0; 8];
    assert_eq!(rustix::io::read(running.streams.stdout.as_fd(), &mut first), Ok(8), "read as it arrives");
    assert_eq!(&first, b"written\n");
    running.control.kill();
    drop(finish(running));
    println!("stopped by {Root}: the record is not inside");
    let file = stage.host.directory.path().join("record");
    fs::write(&file, "written\n").unwrap();
    let shell = format!("truncate -s 0 {}", file.display());
    assert!(std::process::Command::new("bash").args(["-c", &shell]).status().unwrap().success());
    assert_eq!(fs::read(&file).unwrap(), b"", "control: with a file, this is possible");
    stage.controlled();
}

attempts! {
    a_record_by_its_path: program("echo forged >> {state}").stopped_by(Root, "No such file").but(Runner);
    a_record_cut_by_its_path: program("truncate -c -s 0 {state} && test -e {state}").stopped_by(Root, "exit status: 1").but(Runner);
    a_record_removed: program("rm {state}").stopped_by(Root, "No such file").but(Runner);
    of_a_command_beside_it: of_a_neighbour;
    its_own_taken_back: taken_back;
}
