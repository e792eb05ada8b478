//! Tests of paths that a command must not write, each with a control that writes them, and of the limits on the others.

use std::process::Command;

use crate::support::{Host, PROBE};

#[test]
fn a_read_only_command_cannot_write() {
    let host = Host::new();
    let session = host.session();
    host.run(&session, &host.spec("echo x > file; mkdir folder; ln file hard; ln -s file soft"));
    let list = || {
        let output = Command::new("find")
            .arg(&session.directories.root)
            .args(["-printf", "%P %m %s %T@ %C@ %l\n"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = list();
    let directories = ["/workspace", "/workspace/folder", "/home/agent", "/tmp"];
    for path in directories {
        let spec = host.read_only_spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &spec).assert_out_of_reach(10);
    }
    for path in ["/workspace/file", "/workspace/hard", "/workspace/soft"] {
        let spec = host.read_only_spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &spec).assert_out_of_reach(3);
    }
    assert_eq!(list(), before, "no entry, mode, size or time has changed");
    for path in directories.iter().copied().chain(["/workspace/file"]) {
        host.probe_in(&session, &host.spec(format!("{PROBE} write {path}"))).assert_reached();
    }
    let private =
        host.read_only_spec("echo kept > $TMPDIR/x && cat $TMPDIR/x; pwd; df -P /var/tmp | tail -1");
    let output = host.run(&session, &private).stdout;
    assert!(output.starts_with("kept\n/workspace\ntmpfs "), "{output}");
    let gone = host.run(&session, &host.read_only_spec("ls -A $TMPDIR"));
    assert_eq!(gone.stdout, "", "the private directory belongs to one command only");
}

#[test]
fn the_system_cannot_be_written() {
    let host = Host::new();
    let session = host.session();
    for path in ["/", "/usr", "/usr/bin", "/etc", "/run", "/run/airlock", "/dev", "/home", "/var"] {
        let spec = host.spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &spec).assert_out_of_reach(10);
    }
    for path in [
        "/etc/passwd",
        "/etc/gitconfig",
        "/etc/ssh/ssh_config",
        "/usr/bin/env",
        "/run/airlock/init",
        "/run/airlock/bash_env",
    ] {
        let spec = host.spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &spec).assert_out_of_reach(3);
    }
    host.probe_in(&session, &host.spec(format!("{PROBE} write /dev/shm"))).assert_reached();
}

#[test]
fn limits_hold_inside() {
    let mut host = Host::new();
    host.limits.nofile = 64;
    host.limits.nproc = 40;
    host.limits.fsize = Some(1 << 20);
    host.limits.dev_shm = 1 << 20;
    let session = host.session();
    let output = host.run(&session, &host.spec("ulimit -Hc; ulimit -Hn; ulimit -Hu; ulimit -Hf"));
    assert_eq!(output.stdout, "0\n64\n40\n1024\n");
    let core = host.run(&session, &host.spec("awk '/^Max core/ { print $5, $6 }' /proc/self/limits"));
    assert_eq!(core.stdout, "1 1\n", "no dump, and no handler of dumps on the host");
    let file = host.run(&session, &host.spec("head -c 2000000 /dev/zero > big; stat -c %s big"));
    assert!(file.stdout.ends_with("1048576\n"), "{}", file.stdout);
    let memory =
        host.run(&session, &host.spec("for i in 1 2; do head -c 700000 /dev/zero > /dev/shm/$i; done"));
    assert!(memory.stdout.contains("No space left"), "{}", memory.stdout);
    // All of them exist at once: none ends before its parent.
    let many = r#"python3 -c '
import os, signal
try:
    for _ in range(60):
        if os.fork() == 0:
            signal.pause()
except OSError as error:
    print(error.strerror)
'"#;
    let forks = host.run(&session, &host.spec(many));
    assert_eq!(forks.stdout, "Resource temporarily unavailable\n");
}
