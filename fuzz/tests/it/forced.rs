//! Tests that writing commands change no file when they run as if they were read-only. The control shows that the same
//! commands change files on writable mounts.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use airlock_fuzz::canary::forced::{Forced, Tried};

/// Commands that write, each through another part of the system.
const WRITERS: [&str; 24] = [
    "touch notes.txt new",
    "echo x >> notes.txt; : > README.md",
    "rm -rf src data .git",
    "mv notes.txt moved; cp README.md copied",
    "chmod -R 777 . ; chown 0:0 notes.txt",
    "ln -s /etc/passwd link; ln notes.txt hard; unlink links/file",
    "mkdir made; rmdir empty; mkfifo pipe; mknod node p",
    "truncate -s 0 notes.txt; fallocate -l 10 new; dd if=/dev/zero of=notes.txt count=1 2>/dev/null",
    "sed -i s/a/b/ notes.txt; perl -pi -e 's/a/b/' notes.txt",
    "sort -o notes.txt notes.txt; tee notes.txt </dev/null",
    "git add -A; git commit -qm x; git config core.pager x; git gc -q; git stash; git checkout -qf HEAD",
    "git init -q bare.git --bare; git worktree add ../tree; git tag x; git update-ref refs/x HEAD",
    "cd /tmp && touch x; cd ~ && touch .bashrc && mkdir .ssh",
    "printf x > /proc/self/cwd/notes.txt; printf x > /proc/self/root/workspace/notes.txt; : > /dev/fd/../cwd/x",
    "exec 3<>notes.txt; echo x >&3; exec 4>>README.md; echo x >&4",
    "bash -c 'cd / && echo x > workspace/notes.txt'; (setsid sh -c 'sleep 0.2; touch /workspace/late' &)",
    "tar -xf data/some.tar; gzip -f notes.txt; patch -p1 < data/change.patch; make",
    "find . -delete; find . -exec touch {} + ; find . -fprint made",
    "awk 'BEGIN{print > \"made\"; system(\"touch made2\")}'; sed -n 'w made' notes.txt",
    "umask 000; install -m 777 notes.txt made; touch -d 2001-01-01 notes.txt; setfattr -n user.x -v y notes.txt",
    "mount -o remount,rw /workspace; mount --bind /var/tmp /workspace; unshare -m true",
    "cat notes.txt > /var/tmp/x && mv /var/tmp/x notes.txt; cp -a . /var/tmp/all && echo x > /var/tmp/all/x",
    "sqlite3 made.db 'create table a(b)'; python3 -c \"open('notes.txt','a').write('x')\"",
    "sleep 60; touch never",
];

fn forced(number: u32) -> (tempfile::TempDir, Forced) {
    let directory = tempfile::tempdir().unwrap();
    let forced = Forced::new(directory.path(), number, Duration::from_secs(3)).unwrap();
    (directory, forced)
}

#[test]
fn a_writing_command_that_is_forced_to_run_read_only_changes_nothing() {
    let (_directory, forced) = forced(0);
    assert!(forced.names() > 50, "changes of files, links and a repository are detected");
    for command in WRITERS {
        let (tried, changed) = forced.try_one(command).unwrap();
        assert_ne!(tried, Tried::NotStarted, "{command}");
        assert_eq!(changed, Vec::<String>::new(), "{command}");
    }
    let (tried, _) = forced.try_one("sleep 60").unwrap();
    assert_eq!(tried, Tried::Killed, "a command that takes too long is ended");
}

#[test]
fn the_control_sees_a_change_of_bytes_modes_and_names_in_every_directory() {
    let commands =
        ["echo x >> notes.txt", "chmod 600 notes.txt", "rm notes.txt", "touch ~/x", "touch /tmp/x"];
    for (number, command) in (1..).zip(commands) {
        let (_directory, forced) = forced(number);
        assert!(!forced.try_writable(command).unwrap().is_empty(), "{command}");
    }
}

#[test]
fn a_directory_of_labelled_commands_is_forced_through_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let rows = [
        r#"{"cmd": "touch made", "why": "writes"}"#,
        r#"{"cmd": "echo x > notes.txt", "class": "redirect", "expect": "not-auto-allowed"}"#,
        r#"{"cmd": "Remove-Item x", "why": "writes", "shell": "pwsh"}"#,
        r#"{"cmd": "ls", "tier": "core"}"#,
    ];
    fs::write(directory.path().join("traps.jsonl"), rows.join("\n")).unwrap();
    let run = |directory: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_corpus-forced")).arg(directory).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = run(directory.path());
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "as if read-only: 2 commands, 2 ended; 0 changed something\n")
    );
    fs::write(directory.path().join("traps.jsonl"), r#"{"cmd": "ls"}"#).unwrap();
    assert_eq!(run(directory.path()).0, Some(2), "a directory without commands is an error");
}
