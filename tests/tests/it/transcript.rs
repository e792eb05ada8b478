//! The transcript in the first-steps page is correct. The test types every command again. The output must be the same,
//! except for IDs, times, dates and sizes.
//!
//! With `AIRLOCK_WRITE_TRANSCRIPT=1` the test writes the output to the page instead.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, path::Path, process::Command};

use airlock_tests::{source, tools};
use regex::Regex;

const PAGE: &str = "docs/first-ten-minutes.md";
const MARK: &str = "@@@@@@ next @@@@@@";
/// The start of a note that commands print if they wait for some seconds, as they do on a busy host.
const WAITS: &str = "airlock: waiting up to";

/// A `console` block: the command after `$ ` (continued after `> `), and its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Typed {
    command: String,
    output: String,
}

/// Splits the page into the text outside of its `console` blocks and the commands in them.
fn parse(page: &str) -> Vec<Result<Vec<Typed>, String>> {
    let mut parts = Vec::new();
    for (index, piece) in page.split("```console\n").enumerate() {
        let (block, text) = if index == 0 { ("", piece) } else { piece.split_once("```").unwrap() };
        if index > 0 {
            parts.push(Ok(typed(block)));
        }
        parts.push(Err(text.to_owned()));
    }
    parts
}

fn typed(block: &str) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(Typed { command: command.to_owned(), output: String::new() });
        } else if let Some(more) = line.strip_prefix("> ") {
            let last = all.last_mut().unwrap();
            last.command = format!("{}\n{more}", last.command);
        } else {
            let output = &mut all.last_mut().unwrap().output;
            output.push_str(line);
            output.push('\n');
        }
    }
    all
}

/// Types all commands into one shell, and returns the output of each.
fn type_all(home: &Path, commands: &[Typed]) -> Vec<String> {
    let mut script = String::from("exec 2>&1\ncd ~\ntrap 'kill -TERM $(jobs -p); wait' EXIT\n");
    for one in commands {
        script.push_str(&format!("echo '{MARK}'\n{}\n", one.command));
    }
    script.push_str(&format!("echo '{MARK}'\n"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("HOME", home)
        .env("PATH", tools::path())
        .env_remove("XDG_STATE_HOME")
        .env_remove("AIRLOCK_STATE")
        .output()
        .unwrap();
    let all = String::from_utf8_lossy(&output.stdout).replace(&*home.to_string_lossy(), "/home/you");
    let mark = format!("{MARK}\n");
    let mut pieces: Vec<String> = all.split(&mark).skip(1).map(str::to_owned).collect();
    // The rest is output of the shell's exit.
    pieces.truncate(commands.len());
    assert_eq!(pieces.len(), commands.len(), "every command came to its end:\n{all}");
    pieces
}

/// Replaces the parts that differ between runs, and removes notes of waiting.
fn normal(text: &str) -> Vec<String> {
    let rules = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z| UTC)?", "DATE"),
        (r"\d{4}-\d{2}-\d{2}", "DATE"),
        (r"\b[A-Z][a-z]{2} +\d{1,2} \d{2}:\d{2}\b", "DATE"),
        (r"\b\d{2}:\d{2}:\d{2}\b", "DATE"),
        (r"\b(\d+h)?(\d+m)?\d+(\.\d+)? ?(ns|us|µs|ms|s|seconds?|minutes?)\b", "TIME"),
        (r"\b\d+(\.\d+)? ?([kKMG]i?B|bytes)\b", "SIZE"),
        (r"\b[0-9a-f]{40,64}\b", "HASH"),
        (r"\[\d+\] \d+", "[JOB] PID"),
        (r"[ \t]+", " "),
    ];
    let rules: Vec<_> = rules.iter().map(|(rule, to)| (Regex::new(rule).unwrap(), *to)).collect();
    let one = |line: &str| {
        rules.iter().fold(line.to_owned(), |line, (rule, to)| rule.replace_all(&line, *to).into_owned())
    };
    let lines = text.lines().map(|line| one(line).trim_end().to_owned());
    lines.filter(|line| !line.is_empty() && !line.starts_with(WAITS)).collect()
}

fn write(parts: &[Result<Vec<Typed>, String>], came: &[String]) {
    let mut came = came.iter();
    let mut page = String::new();
    for part in parts {
        match part {
            Err(text) => page.push_str(text),
            Ok(block) => {
                page.push_str("```console\n");
                for one in block {
                    let command = one.command.replace('\n', "\n> ");
                    page.push_str(&format!("$ {command}\n{}", came.next().unwrap()));
                    // Output without a final line feed must not join the text after it.
                    page.push_str(if page.ends_with('\n') { "" } else { "\n" });
                }
                page.push_str("```");
            }
        }
    }
    fs::write(source::root().join(PAGE), page).unwrap();
}

#[test]
fn the_first_ten_minutes_are_as_the_transcript_shows() {
    let home = tempfile::Builder::new().prefix("airlock-test-transcript-").tempdir().unwrap();
    let parts = parse(&fs::read_to_string(source::root().join(PAGE)).unwrap());
    let shown: Vec<Typed> = parts.iter().filter_map(|part| part.as_ref().ok()).flatten().cloned().collect();
    assert!(shown.len() >= 25, "ten minutes have more than {} commands", shown.len());
    let came = type_all(home.path(), &shown);
    if std::env::var_os("AIRLOCK_WRITE_TRANSCRIPT").is_some() {
        return write(&parts, &came);
    }
    for (one, came) in shown.iter().zip(&came) {
        assert_eq!(normal(came), normal(&one.output), "$ {}", one.command);
    }
}
