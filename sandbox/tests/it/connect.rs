//! Tests of the program that connects ssh to a host through the proxy. The proxy is the test itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use airlock_sandbox::{Cause, LaunchSpec, MODE_CONNECT, PROXY_VARIABLE, Stdin};

use crate::support::{Host, Output, PATIENCE, eventually, finish};

/// The Base64 form of `airlock:secret`.
const CREDENTIAL: &str = "YWlybG9jazpzZWNyZXQ=";

fn connect_to(words: &str) -> String {
    format!("exec /run/airlock/init {MODE_CONNECT} {words}")
}

/// Runs a command, and lets `serve` answer its connection. `serve` gets the lines of the request's head.
fn run(command: &str, serve: impl FnOnce(Vec<String>, TcpStream) + Send) -> Output {
    let host = Host::new();
    let session = host.session();
    let listener = host.launcher.session_listener(&session).unwrap();
    let mut spec = host.spec(command);
    spec.separate_stderr = true;
    let proxy = format!("http://airlock:secret@{}", listener.local_addr().unwrap());
    spec.env.push((PROXY_VARIABLE.into(), proxy.into()));
    let running = host.start(&session, &spec);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut accepted = None;
            eventually("a connection", || {
                accepted = listener.accept().ok();
                accepted.is_some()
            });
            let (stream, _) = accepted.unwrap();
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut head = BufReader::with_capacity(1, stream.try_clone().unwrap()).lines();
            let lines = head.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty());
            serve(lines.collect(), stream);
        });
        finish(running)
    })
}

/// Runs a command that is to fail without a connection. Returns its message.
#[track_caller]
fn message(spec: &LaunchSpec, host: &Host) -> String {
    let spec = LaunchSpec { separate_stderr: true, stdin: Stdin::Null, ..spec.clone() };
    let output = host.run(&host.session(), &spec);
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("", Cause::Exited(1)));
    output.stderr
}

#[test]
fn bytes_pass_in_both_directions() {
    let command = format!("head -c 300000 /dev/zero | {}", connect_to("git.example 22").replace("exec ", ""));
    let output = run(&command, |head, mut stream| {
        assert_eq!(
            head,
            [
                "CONNECT git.example:22 HTTP/1.1",
                "Host: git.example:22",
                &format!("Proxy-Authorization: Basic {CREDENTIAL}"),
            ]
        );
        // The first bytes of the host come in the same packet as the answer.
        stream.write_all(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nSSH-2.0-test\r\n").unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 300_000, "the end of the input is the end of what the host receives");
        stream.write_all(b"without a line").unwrap();
    });
    assert_eq!(output.stdout, "SSH-2.0-test\r\nwithout a line");
    assert_eq!((output.stderr.as_str(), output.ended.cause), ("", Cause::Exited(0)));
}

/// The bytes of a pipe can be read while the program waits for more of them.
#[test]
fn both_sides_can_wait_for_each_other_in_turn() {
    let command = format!(
        "coproc {{ {}; }}; from=${{COPROC[0]}}; to=${{COPROC[1]}}
         for turn in 1 2 3; do read -r line <&$from; echo \"$line\"; echo \"answer $turn\" >&$to; done",
        connect_to("git.example 22")
    );
    let output = run(&command, |_, mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
        for turn in 1..=3 {
            stream.write_all(format!("question {turn}\n").as_bytes()).unwrap();
            assert_eq!(answers.next().unwrap().unwrap(), format!("answer {turn}"));
        }
    });
    assert_eq!(output.stdout, "question 1\nquestion 2\nquestion 3\n");
}

#[test]
fn a_refusal_is_reported_with_its_reason_and_cannot_act_on_a_terminal() {
    let output = run(&connect_to("2001:db8::1 22"), |head, mut stream| {
        assert_eq!(head[0], "CONNECT [2001:db8::1]:22 HTTP/1.1");
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\nnot allowed by `network`\x1b[2J").unwrap();
    });
    assert_eq!(
        output.stderr,
        "airlock: cannot connect to `2001:db8::1`, port `22`: not allowed by `network`[2J\n"
    );
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("", Cause::Exited(1)));
}

#[test]
fn an_answer_that_is_cut_short_or_endless_is_an_error() {
    for answer in [b"HTTP/1.1 200 OK\r\n".to_vec(), vec![b'x'; 1 << 20]] {
        let output = run(&connect_to("git.example 22"), |_, mut stream| {
            // The other end closes early.
            let _ = stream.write_all(&answer);
        });
        assert!(output.stderr.contains("the proxy did not answer") || output.stderr.contains("reset"));
        assert_eq!((output.stdout.as_str(), output.ended.cause), ("", Cause::Exited(1)));
    }
}

#[test]
fn a_target_adds_nothing_to_the_request_and_a_command_without_a_network_is_told() {
    let host = Host::new();
    let mut spec = host.spec("");
    for words in
        ["", "git.example", "'' 22", "git.example ssh", "git.example 65536", "$'a\\r\\nX: y' 22", "'a b' 22"]
    {
        spec.command = connect_to(words).into();
        assert!(message(&spec, &host).ends_with("usage: connect HOST PORT\n"), "{words}");
    }
    spec.command = connect_to("git.example 22").into();
    assert!(message(&spec, &host).ends_with("this command has no network\n"));
    spec.env.push((PROXY_VARIABLE.into(), "ftp://x".into()));
    assert!(message(&spec, &host).ends_with("`AIRLOCK_PROXY` does not name a proxy\n"));
}
