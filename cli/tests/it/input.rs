//! Tests of `run -i`: standard input for a command.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, Stdio},
};

use crate::support::{Site, end, stderr};

fn interactive(site: &Site, command: &str) -> Child {
    let mut run = site.airlock(&["run", "-i", "--", command]);
    run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn input_reaches_the_command_and_its_end_too() {
    let site = Site::with_dev(&[]);
    let mut child = interactive(&site, "cat; echo end");
    let sent: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
    let mut input = child.stdin.take().unwrap();
    let expected = [&sent[..], b"end\n"].concat();
    let writer = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout == expected, "{} bytes of {}", output.stdout.len(), expected.len());
}

#[test]
fn a_conversation_goes_line_by_line_and_ends_with_the_command() {
    let site = Site::with_dev(&[]);
    let mut child =
        interactive(&site, "while read word; do echo got $word; [ $word = stop ] && exit 7; done");
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for word in ["one", "two", "stop"] {
        writeln!(input, "{word}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, format!("got {word}\n"));
    }
    // The input is still open.
    assert_eq!(end(&mut child), Some(7));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn a_command_that_takes_no_more_input_is_no_failure() {
    let site = Site::with_dev(&[]);
    let mut child = interactive(&site, "head -n 1; exec <&-; echo on");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"first\n").unwrap();
    let writer = std::thread::spawn(move || while input.write_all(&[b'x'; 65536]).is_ok() {});
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"first\non\n"[..]));
    assert_eq!(stderr(&output), "");
}

#[test]
fn without_i_nothing_is_read() {
    let site = Site::with_dev(&[]);
    let mut run = site.airlock(&["run", "--", "cat; echo end"]);
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let _open = child.stdin.take();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), end(&mut child)), ("end\n", Some(0)));
}
