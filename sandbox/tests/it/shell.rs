//! The command reaches the shell as it was written, and the shell looks like a
//! plain `bash -c`.

use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use airlock_sandbox::{Cause, LaunchSpec, MAX_COMMAND, Stdin};

use crate::support::{Host, finish};

/// What plain bash makes of a command: output in one stream, and its end.
fn plain(command: &[u8]) -> (String, Cause) {
    let output = Command::new("/bin/bash")
        .args(["-c", "exec bash --noprofile --norc -c \"$0\" 2>&1"])
        .arg(std::ffi::OsStr::from_bytes(command))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let cause = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => Cause::Exited(code.try_into().unwrap()),
        (None, Some(signal)) => Cause::Signaled { signal: signal.try_into().unwrap(), core: false },
        other => panic!("{other:?}"),
    };
    (String::from_utf8_lossy(&output.stdout).into_owned(), cause)
}

/// Inputs that break a command that is spliced into a script.
const AWKWARD: &[&str] = &[
    "",
    " ",
    "echo hi # a comment at the end",
    "# only a comment",
    "echo a\\",
    "echo 'line one\nline two'",
    "cat <<EOF\nin a heredoc\nEOF",
    "cat <<EOF\nwithout its end",
    "cat <<'A' <<B\nx\nA\n$((1+1))\nB",
    "exit 3",
    "false",
    "(exit 7)",
    "exec true",
    "exec sh -c 'exit 9'",
    "set -e; false; echo not reached",
    "set -eu; echo $UNSET_NAME",
    "set -x; echo traced",
    "set -o pipefail; false | true",
    "trap 'echo mine' EXIT; exit 4",
    "trap 'echo int' INT; kill -INT $$; echo after",
    "trap - EXIT; exit 5",
    "echo 'unbalanced",
    "echo \"unbalanced",
    "if true; then",
    "}",
    "echo $(echo nested `echo deep`)",
    "echo \"$0\" \"$#\" \"${1-none}\" \"${BASH_ENV-unset}\" \"$-\"",
    "echo $LINENO; echo \"${BASH_SOURCE[0]-none}\" \"${FUNCNAME[0]-none}\"",
    "echo \"$BASH_EXECUTION_STRING\"",
    "echo \"$?\"; shopt extglob; shopt -q login_shell; echo $?",
    "echo @(a|b)",
    "a() { return 6; }; a",
    "pwd() { echo fake; }; cd() { echo fake; }; builtin() { echo fake; }; true",
    "kill -TERM $BASHPID",
    "nonexistent-program",
    "/etc/passwd",
    "echo one; echo two >&2; echo three",
    "echo to-stderr > /dev/stderr; echo to-stdout > /dev/stdout",
    "read line; echo \"read: $? $line\"",
    "echo é € \u{1f600}",
    "exec 3>&1 4>&2; echo x >&3",
    "exec >&- 2>&-; echo lost",
    "yes | head -3",
    "sleep 0 & wait; echo $?",
    "ulimit -f 0; exit 8",
    "set -C; echo x > /tmp/airlock-noclobber-$$; rm -f /tmp/airlock-noclobber-$$; exit 2",
    "readonly PWD OLDPWD; exit 1",
    "set -n; echo no",
    "env | grep -c '^BASH_ENV=\\|^BASH_FUNC'",
];

#[test]
fn awkward_commands_give_what_plain_bash_gives() {
    let host = Host::new();
    let session = host.session();
    let spec = |command: &str| LaunchSpec { cwd: "/".into(), ..host.spec(command) };
    let mut wrong = Vec::new();
    for command in AWKWARD {
        let (text, cause) = plain(command.as_bytes());
        let output = host.run(&session, &spec(command));
        if (&output.stdout, &output.ended.cause) != (&text, &cause) {
            let got = (output.stdout, output.ended.cause);
            wrong.push(format!("`{command}`: wanted {:?}, got {got:?}", (text, cause)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_bytes_but_nul_reach_the_shell() {
    let host = Host::new();
    let mut command = b"printf %s '".to_vec();
    command.extend((1..=255_u8).filter(|byte| *byte != b'\''));
    command.extend(b"' | od -An -tx1 -v | tr -d ' \\n'");
    let wanted: String =
        (1..=255_u8).filter(|byte| *byte != b'\'').map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(host.sh(command).stdout, wanted);
}

#[test]
fn the_longest_command_runs_and_one_byte_more_is_refused() {
    let host = Host::new();
    let session = host.session();
    let mut command = b"exit 3 #".to_vec();
    command.resize(MAX_COMMAND, b'x');
    let output = host.run(&session, &host.spec(&command));
    assert_eq!(output.ended.cause, Cause::Exited(3));
    command.push(b'x');
    let error = host.launcher.start(&host.profile, &session, &host.limits, &host.spec(&command)).unwrap_err();
    assert_eq!(error.step(), "request");
    assert_eq!(error.to_string(), "the command has 131072 bytes, the limit is 131071");
}

#[test]
fn the_last_directory_is_reported_however_the_shell_ends() {
    let host = Host::new();
    let session = host.session();
    let weird = "a b'\n\"é";
    let home = Some("/home/agent");
    let cases: &[(&str, Option<&str>)] = &[
        ("true", Some("/workspace")),
        ("cd ~", home),
        ("cd ~; exit 3", home),
        ("cd ~; set -e; false", home),
        ("cd ~; set -u; echo $UNSET_NAME", home),
        ("cd /workspace; (cd /usr)", Some("/workspace")),
        ("cd() { :; }; builtin cd ~", home),
        ("ln -sfn /usr/bin link; cd link", Some("/usr/bin")),
        ("mkdir -p deep; cd deep; rmdir ../deep", None),
        ("cd ~; kill -9 $$", None),
        ("cd ~; exec true", None),
        ("cd ~; trap - EXIT", None),
        // It cannot be removed.
        ("rm -rf /run/airlock/report/cwd; cd ~", home),
        ("cd ~ >/dev/full; set -C", home),
        ("printf 'relative\\0' > /run/airlock/report/cwd; exec true", None),
        ("head -c 100000 /dev/zero | tr '\\0' x > /run/airlock/report/cwd & sleep 0.1; exec true", None),
    ];
    for (command, wanted) in cases {
        let ended = host.run(&session, &host.spec(command)).ended;
        assert_eq!(ended.cwd.as_deref(), wanted.map(Path::new), "`{command}`: {ended:?}");
    }
    let spec =
        host.spec(format!("mkdir -p $'{0}'; cd $'{0}'", weird.replace('\'', "\\'").replace('\n', "\\n")));
    let ended = host.run(&session, &spec).ended;
    assert_eq!(ended.cwd, Some(Path::new("/workspace").join(weird)));
}

#[test]
fn the_next_command_can_start_where_the_last_one_ended() {
    let host = Host::new();
    let session = host.session();
    let cwd = host.run(&session, &host.spec("mkdir -p sub/x; cd sub/x")).ended.cwd.unwrap();
    let output = host.run(&session, &LaunchSpec { cwd, ..host.spec("pwd") });
    assert_eq!(output.stdout, "/workspace/sub/x\n");
}

#[test]
fn output_is_in_true_order_in_one_stream_and_apart_in_two() {
    let host = Host::new();
    let session = host.session();
    let command = "for i in 1 2 3; do echo out$i; echo err$i >&2; done";
    let joined = host.run(&session, &host.spec(command));
    assert_eq!(joined.stdout, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    let apart = host.run(&session, &LaunchSpec { separate_stderr: true, ..host.spec(command) });
    assert_eq!(apart.stdout, "out1\nout2\nout3\n");
    assert_eq!(apart.stderr, "err1\nerr2\nerr3\n");
}

#[test]
fn input_is_empty_unless_it_is_a_pipe() {
    let host = Host::new();
    let session = host.session();
    assert_eq!(host.run(&session, &host.spec("cat; echo end")).stdout, "end\n");
    let mut running = host.start(&session, &LaunchSpec { stdin: Stdin::Pipe, ..host.spec("cat") });
    let mut input = File::from(running.streams.stdin.take().unwrap());
    input.write_all(b"through the pipe").unwrap();
    drop(input);
    assert_eq!(finish(running).stdout, "through the pipe");
}

#[test]
fn ignored_signals_and_umask_of_the_runner_do_not_reach_inside() {
    let folder = tempfile::tempdir().unwrap();
    let example = std::env::current_exe().unwrap().with_file_name("../examples/run");
    let look = "grep SigIgn /proc/self/status; umask";
    let script = format!("trap '' INT HUP USR1; umask 077; {look}; exec \"$0\" \"$1\" '{look}'");
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", &script]).arg(example).arg(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let [outside, outside_umask, inside, inside_umask] = lines[..] else {
        panic!("{text} {}", String::from_utf8_lossy(&output.stderr));
    };
    let three = |line: &str| {
        let mask = line.split_whitespace().nth(1).unwrap();
        u64::from_str_radix(mask, 16).unwrap() & (1 | 1 << 1 | 1 << 9)
    };
    assert_eq!((three(outside), outside_umask), (1 | 1 << 1 | 1 << 9, "0077"), "the control");
    assert_eq!((three(inside), inside_umask), (0, "0022"));
}
