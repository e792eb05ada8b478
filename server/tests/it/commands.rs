//! Tests of the subcommands of `airlock-server` that do not serve: exit codes and output.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

/// Returns exit code, standard output and standard error.
fn run(arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_airlock-server"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // This fails if the process has ended without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_token_is_hashed_to_the_line_of_its_identity_and_never_shown() {
    let token = "0123456789abcdef0123456789abcdef";
    let (code, said, errors) = run(&["hash-token"], format!("{token}\n").as_bytes());
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(said.starts_with("match = { token_sha256 = \"") && !said.contains(token), "{said}");
    let (_, again, _) = run(&["hash-token"], token.as_bytes());
    assert_eq!(said, again, "the end of the line is not hashed");

    for (input, code, piece) in [
        (&b""[..], 2, "contains no token"),
        (b"two words", 2, "one line of printable"),
        (b"a\nb", 2, "one line of printable"),
        (&[b'x'; 5000], 2, "too long"),
        (b"hunter2", 0, "could be guessed"),
        (b"\xff\xfe", 1, "cannot be read"),
    ] {
        let (got, _, errors) = run(&["hash-token"], input);
        assert_eq!(got, Some(code), "{errors}");
        assert!(errors.contains(piece), "`{piece}` in {errors}");
        assert!(!errors.contains("hunter2") && !errors.contains("two words"), "{errors}");
    }
}

#[test]
fn wrong_usage_is_exit_code_2_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (empty, latin1) = (file("empty.toml", b""), file("latin1.toml", b"server_id = \"\xe9\"\n"));
    let (twice, broken) =
        (file("twice.toml", b"server_id = 1\nserver_id = 2\n"), file("broken.toml", b"[listen\n"));
    let here = folder.path().display().to_string();
    for (arguments, piece) in [
        (&["--config"][..], "a value is required"),
        (&["--confg", "x"], "--config"),
        (&["serv"], "'serve'"),
        (&["serve"], "--config <FILE>"),
        (&["--config", "x", "serve", "--config", "y"], "cannot be used with"),
        (
            &["check-config", "--config", "/no/such.toml"],
            "/no/such.toml: there is no such file; correct the path",
        ),
        (&["check-config", "--config", &here], ": it is a directory, not a file; correct the path"),
        (
            &["check-config", "--config", &empty],
            "empty.toml:1:1: the file is empty; it must contain `listen`, `store`, `outputs`",
        ),
        (&["check-config", "--config", &latin1], "latin1.toml:1:14: this byte is not UTF-8; save"),
        (&["check-config", "--config", &twice], "twice.toml:2:1: `server_id`: it is set twice; keep one"),
        (&["--config", &broken], "broken.toml:1:"),
        (&["--check-config", "--config", &broken], "--check-config"),
    ] {
        let (code, said, errors) = run(arguments, b"");
        assert_eq!((code, said.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(piece), "`{piece}` in {arguments:?}: {errors}");
    }
    let (code, said, errors) = run(&[], b"");
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(errors.contains("Examples:") && errors.contains("SIGTERM"), "{errors}");
    assert_eq!(run(&["version"], b"").0, Some(0));
}
