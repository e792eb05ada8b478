//! Tests that an approval shows every field that its answer is bound to.

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::convert::tests::grant;
use airlock_domain::{FileState, SessionId, Shell, TerminalSize};

/// The name of a field of the grant or of its decided facts, and a function that changes its value.
type Change = (&'static str, fn(&mut Grant));

const CHANGES: [Change; 23] = [
    ("session_id", |grant| grant.session_id = SessionId::new()),
    ("command", |grant| grant.command.push(b'x')),
    ("shell", |grant| grant.shell = Shell::Zsh),
    ("directory", |grant| grant.directory.push(b'x')),
    ("env", |grant| drop(grant.env.insert("TOKEN".to_owned(), b"x".to_vec()))),
    ("profile", |grant| grant.profile.path.push('x')),
    ("read_only", |grant| grant.read_only = !grant.read_only),
    ("requires", |grant| grant.requires.clear()),
    ("separate_stderr", |grant| grant.separate_stderr = !grant.separate_stderr),
    ("timeout", |grant| grant.timeout += Duration::from_secs(1)),
    ("idle_timeout", |grant| grant.idle_timeout = None),
    ("keep_directory", |grant| grant.keep_directory = !grant.keep_directory),
    ("unsandboxed", |grant| grant.unsandboxed = !grant.unsandboxed),
    ("snapshot_digest", |grant| grant.snapshot_digest.push(1)),
    ("stdin", |grant| grant.stdin = !grant.stdin),
    ("inline_limit", |grant| grant.inline_limit += 1),
    ("pty", |grant| grant.pty = Some(TerminalSize { rows: 99, cols: 1 })),
    ("decided", |_| {}),
    ("decided.programs", |grant| grant.decided.programs.push(b"\xff".to_vec())),
    ("decided.git", |grant| grant.decided.git.push("log".to_owned())),
    ("decided.paths", |grant| grant.decided.paths.clear()),
    ("decided.obeyed", |grant| grant.decided.obeyed.clear()),
    ("decided.files", |grant| {
        grant.decided.files.iter_mut().for_each(|file| file.state = FileState::Digest([8; 32]));
    }),
];

/// Fields that no answer is bound to: run time, output and working directory.
const NOT_BOUND: [&str; 6] =
    ["decided", "idle_timeout", "inline_limit", "keep_directory", "separate_stderr", "timeout"];

/// Returns the field names of a struct from its `Debug` output.
fn fields(debug: &str) -> BTreeSet<String> {
    let lines = debug.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    names.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

/// Returns the part of a grant that an approval shows.
fn shown(grant: &Grant) -> impl PartialEq + std::fmt::Debug + use<> {
    let Grant { session_id, command, shell, directory, decided, .. } = grant.clone();
    (session_id, command, shell, directory, decided.files, approval_terms(grant))
}

#[test]
fn every_field_that_an_answer_is_bound_to_is_shown() {
    let before = grant();
    let mut there = fields(&format!("{before:#?}"));
    there.extend(fields(&format!("{:#?}", before.decided)).iter().map(|name| format!("decided.{name}")));
    let tried: BTreeSet<String> = CHANGES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, tried, "every field of the grant is changed once");
    for (name, change) in CHANGES {
        let mut after = before.clone();
        change(&mut after);
        let is_bound = before.binding() != after.binding();
        assert_eq!(is_bound, !NOT_BOUND.contains(&name), "{name}");
        assert!(
            !is_bound || shown(&before) != shown(&after),
            "`{name}` is bound, and an approval does not show it"
        );
    }
}

#[test]
fn a_secret_is_told_by_its_digest_alone() {
    let mut grant = grant();
    grant.env = [("API_TOKEN", "hunter2"), ("LD_PRELOAD", "/workspace/x.so")]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .into();
    let encoded = approval_terms(&grant);
    assert!(!encoded.windows(7).any(|part| part == b"hunter2"));
    let terms = v1::ApprovalTerms::decode(&encoded[..]).unwrap();
    let [token, preload] = &terms.env[..] else { panic!("{:?}", terms.env) };
    assert_eq!((token.masked, token.value(), token.length), (true, &b""[..], 7));
    assert_eq!(token.sha256[..], Sha256::digest(b"hunter2")[..]);
    assert_eq!((preload.masked, preload.value()), (false, &b"/workspace/x.so"[..]));
}
