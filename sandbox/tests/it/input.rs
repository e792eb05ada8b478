//! Tests of a command's input: it is the pipe that the caller writes. It arrives completely, ends when the caller
//! closes it, and no part of Airlock reads or keeps it.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::thread;

use airlock_sandbox::{Cause, LaunchSpec, Running, Stdin};

use crate::support::{Host, Output, finish};

fn with_input(spec: LaunchSpec) -> LaunchSpec {
    LaunchSpec { stdin: Stdin::Pipe, ..spec }
}

fn take_input(running: &mut Running) -> File {
    File::from(running.streams.stdin.take().unwrap())
}

/// Starts a command, writes all of `input` from a thread, closes it, and waits for the end.
fn fed(host: &Host, spec: LaunchSpec, input: &[u8]) -> Output {
    let session = host.session();
    let mut running = host.start(&session, &with_input(spec));
    let mut pipe = take_input(&mut running);
    let input = input.to_vec();
    let writer = thread::spawn(move || match pipe.write_all(&input) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => drop(pipe),
    });
    let output = finish(running);
    writer.join().unwrap();
    output
}

const CASES: &[(&str, &str, &str)] = &[
    ("cat", "one\ntwo", "one\ntwo"),
    ("cat /dev/stdin", "by its name", "by its name"),
    ("read x; echo \"<$x>\"; read -r y; echo \"<$y>\"", "first\nsecond\n", "<first>\n<second>\n"),
    ("sort", "b\nc\na\n", "a\nb\nc\n"),
    ("head -c 5; echo; cat", "12345678", "12345\n678"),
    ("while read -r line; do echo \"[$line]\"; done", "a\nb\n", "[a]\n[b]\n"),
    ("bash -s", "echo from a script\nexit 0\n", "from a script\n"),
    ("bash -s -- word", "echo $1", "word\n"),
    ("(cat) | tr a-z A-Z", "shout", "SHOUT"),
    ("cat <<< other; cat", "mine", "other\nmine"),
    ("true; true; cat", "still there", "still there"),
    ("cat & wait", "not for the background", ""),
    ("exec cat", "replaced", "replaced"),
    ("python3 -c 'import sys; print(len(sys.stdin.buffer.read()))'", "12345", "5\n"),
];

#[test]
fn the_command_reads_the_written_input() {
    let host = Host::new();
    for (command, input, wanted) in CASES {
        let output = fed(&host, host.spec(command), input.as_bytes());
        assert_eq!(&output.stdout, wanted, "`{command}`");
        assert_eq!(output.ended.cause, Cause::Exited(0), "`{command}`");
    }
}

#[test]
fn read_only_commands_have_an_input_too() {
    let host = Host::new();
    for (command, input, wanted) in CASES {
        let output = fed(&host, host.read_only_spec(command), input.as_bytes());
        assert_eq!(&output.stdout, wanted, "`{command}`");
    }
}

#[test]
fn ten_megabytes_of_any_bytes_come_whole() {
    let host = Host::new();
    let bytes: Vec<u8> = (0..10_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let outside = host.directory.path().join("bytes");
    std::fs::write(&outside, &bytes).unwrap();
    let control =
        std::process::Command::new("sha256sum").stdin(File::open(outside).unwrap()).output().unwrap();
    let output = fed(&host, host.spec("sha256sum"), &bytes);
    assert_eq!(output.stdout, String::from_utf8(control.stdout).unwrap());
}

#[test]
fn an_input_that_ends_without_a_byte_is_an_end() {
    let host = Host::new();
    for command in ["cat; echo end", "read x; echo \"$? <$x>\"", "sort | wc -l"] {
        let output = fed(&host, host.spec(command), b"");
        let plain = host.sh(command);
        assert_eq!(output.stdout, plain.stdout, "`{command}`");
    }
}

#[test]
fn nothing_but_the_command_holds_the_input() {
    let host = Host::new();
    let session = host.session();
    // The reader has closed its end while the command continues.
    let mut running = host.start(&session, &with_input(host.spec("exec <&-; echo closed; sleep 1000")));
    let mut pipe = take_input(&mut running);
    let mut said = [0; 7];
    rustix::io::read(&running.streams.stdout, &mut said).unwrap();
    assert_eq!(&said, b"closed\n");
    assert_eq!(pipe.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    running.control.kill();
    finish(running);
    // The control: a command that does not read still has an open input.
    let mut running = host.start(&session, &with_input(host.spec("echo opened; sleep 1000")));
    let mut pipe = take_input(&mut running);
    rustix::io::read(&running.streams.stdout, &mut said).unwrap();
    assert_eq!(pipe.write(b"x").unwrap(), 1);
    running.control.kill();
    finish(running);
    assert_eq!(pipe.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe, "no process remains");
}

#[test]
fn a_command_that_ends_without_reading_is_not_held_up() {
    let host = Host::new();
    let output = fed(&host, host.spec("exit 3"), &vec![b'x'; 4 << 20]);
    assert_eq!(output.ended.cause, Cause::Exited(3));
    assert!(!output.ended.leftovers);
}

#[test]
fn an_input_that_stays_open_does_not_hold_up_the_end_of_what_has_read_enough() {
    let host = Host::new();
    let session = host.session();
    let mut running = host.start(&session, &with_input(host.spec("read x; echo \"$x\"; exit 4")));
    let mut pipe = take_input(&mut running);
    pipe.write_all(b"line\nmore").unwrap();
    let output = finish(running);
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("line\n", Cause::Exited(4)));
    drop::<OwnedFd>(pipe.into());
}
