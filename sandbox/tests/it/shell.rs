//! Tests that the shell receives the command unchanged, and that its last directory is known. `building` compares the
//! behaviour of commands.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use airlock_sandbox::{Cause, LaunchSpec, MAX_COMMAND, Stdin};

use crate::support::{Host, finish, next_uid};

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
        ("cd ~; trap - EXIT", home),
        ("cd ~; kill -TERM $$; sleep 9", home),
        ("cd ~; exec bash -c 'exit 3'", home),
        ("trap 'cd ~' EXIT", home),
        ("exec 255<&- 0<&- 1>&- 2>&-; cd ~", home),
        ("cd ~; python3 -c 'import os; os.chdir(\"/tmp\")'", home),
        ("cd ~; unset -f cd; enable -n cd builtin pwd printf; readonly PWD", home),
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
fn files_get_the_modes_that_the_mask_of_the_launch_leaves() {
    let host = Host::new();
    let session = host.session();
    let look = "rm -rf f d; touch f; mkdir d; stat -c %a f d; umask";
    assert_eq!(host.run(&session, &host.spec(look)).stdout, "644\n755\n0022\n", "the default");
    for (umask, seen) in [(0o027, "640\n750\n0027\n"), (0, "666\n777\n0000\n"), (0o777, "0\n0\n0777\n")] {
        let output = host.run(&session, &LaunchSpec { umask, ..host.spec(look) });
        assert_eq!(output.stdout, seen, "{umask:03o}");
    }
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
    let directory = airlock_mounts::ScratchDir::new();
    let example = std::env::current_exe().unwrap().with_file_name("../examples/run");
    let look = "grep SigIgn /proc/self/status; umask";
    let uid = next_uid();
    let script = format!("trap '' INT HUP USR1; umask 077; {look}; exec \"$0\" --uid {uid} \"$1\" '{look}'");
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", &script]).arg(example).arg(directory.path()).output().unwrap();
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
