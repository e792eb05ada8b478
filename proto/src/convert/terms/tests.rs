//! Tests that an approval shows every field that its answer is bound to.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::*;
use crate::convert::tests::sample as grant;
use airlock_domain::{FileState, SessionId, Shell, TerminalSize};

/// The name of a field of the grant or of its decided facts, and a function that changes its value.
type Change = (&'static str, fn(&mut Grant));

const CHANGES: [Change; 29] = [
    ("session_id", |grant| grant.session_id = SessionId::new()),
    ("command", |_| {}),
    ("command.text", |grant| grant.command.text.push(b'x')),
    ("command.shell", |grant| grant.command.shell = Shell::Zsh),
    ("command.directory", |grant| grant.command.directory.push(b'x')),
    ("command.env", |grant| drop(grant.command.env.insert("TOKEN".to_owned(), b"x".to_vec()))),
    ("command.stdin", |grant| grant.command.stdin = !grant.command.stdin),
    ("command.pty", |grant| {
        grant.command.pty.as_mut().unwrap().size = TerminalSize { rows: 99, cols: 1 };
    }),
    ("command.separate_stderr", |grant| grant.command.separate_stderr = !grant.command.separate_stderr),
    ("command.timeout", |grant| grant.command.timeout += Duration::from_secs(1)),
    ("command.idle_timeout", |grant| grant.command.idle_timeout = None),
    ("command.inline_limit", |grant| grant.command.inline_limit += 1),
    ("command.umask", |grant| grant.command.umask = "077".parse().unwrap()),
    ("command.network", |grant| grant.command.network = None),
    ("profile", |grant| grant.profile.path.push('x')),
    ("read_only", |grant| grant.read_only = !grant.read_only),
    ("requires", |grant| grant.requires.clear()),
    ("keep_directory", |grant| grant.keep_directory = !grant.keep_directory),
    ("unsandboxed", |grant| grant.unsandboxed = !grant.unsandboxed),
    ("snapshot_digest", |grant| grant.snapshot_digest.push(1)),
    ("egress", |grant| grant.egress[0].allow.clear()),
    ("questions", |grant| grant.questions.answered.clear()),
    ("decided", |_| {}),
    ("decided.programs", |grant| grant.decided.programs.push(b"\xff".to_vec())),
    ("decided.git", |grant| grant.decided.git.push("log".to_owned())),
    ("decided.paths", |grant| grant.decided.paths.clear()),
    ("decided.obeyed", |grant| grant.decided.obeyed.clear()),
    ("decided.edit", |grant| {
        grant.decided.edit.iter_mut().for_each(|edit| edit.files[0].result = Some([8; 32]));
    }),
    ("decided.files", |grant| {
        grant.decided.files.iter_mut().for_each(|file| file.state = FileState::Digest([8; 32]));
    }),
];

/// Returns the field names of a struct from its `Debug` output.
fn fields(debug: &str) -> BTreeSet<String> {
    let lines = debug.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    names.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

/// Returns the part of a grant that an approval shows.
fn shown(grant: &Grant) -> impl PartialEq + std::fmt::Debug + use<> {
    let Grant { session_id, command, decided, .. } = grant.clone();
    (session_id, command.text, command.shell, command.directory, decided.files, approval_terms(grant, None))
}

#[test]
fn every_field_that_an_answer_is_bound_to_is_shown() {
    let before = grant();
    let mut there = fields(&format!("{before:#?}"));
    there.extend(fields(&format!("{:#?}", before.command)).iter().map(|name| format!("command.{name}")));
    there.extend(fields(&format!("{:#?}", before.decided)).iter().map(|name| format!("decided.{name}")));
    let tried: BTreeSet<String> = CHANGES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, tried, "every field of the grant is changed once");
    for (name, change) in CHANGES {
        let mut after = before.clone();
        change(&mut after);
        let is_bound = before.binding() != after.binding();
        let is_outer = ["command", "decided"].contains(&name);
        assert_eq!(is_bound, !is_outer && !Grant::UNBOUND.iter().any(|one| one.field == name), "{name}");
        assert!(
            !is_bound || shown(&before) != shown(&after),
            "`{name}` is bound, and an approval does not show it"
        );
    }
}

#[test]
fn a_bound_field_without_a_place_of_its_own_is_among_the_further_ones() {
    let grant = grant();
    let rules = |allow: &str| {
        format!(
            r#"{{"allow":["{allow}"],"any":true,"ask":["a.example"],"deny":["gist.github.com"],"warn":true}}"#
        )
    };
    let mut further = BTreeMap::from([
        ("command.umask".to_owned(), "\"027\"".to_owned()),
        ("command.network".to_owned(), rules("github")),
        ("egress".to_owned(), format!("[{},{}]", rules("pypi"), rules("github"))),
        ("questions".to_owned(), r#"{"answered":["a.example:443"],"wait":{"nanos":0,"secs":60}}"#.to_owned()),
    ]);
    assert_eq!(grant.further(&SHOWN), further, "the other fields are shown elsewhere");
    let without = SHOWN.map(|name| if name == "command.stdin" { "" } else { name });
    further.insert("command.stdin".to_owned(), "true".to_owned());
    assert_eq!(grant.further(&without), further);
}

#[test]
fn a_secret_is_told_by_its_digest_alone() {
    let mut grant = grant();
    grant.command.env = [("API_TOKEN", "hunter2"), ("LD_PRELOAD", "/workspace/x.so")]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .into();
    let encoded = approval_terms(&grant, None);
    assert!(!encoded.windows(7).any(|part| part == b"hunter2"));
    let terms = v1::ApprovalTerms::decode(&encoded[..]).unwrap();
    let [token, preload] = &terms.env[..] else { panic!("{:?}", terms.env) };
    assert_eq!((token.masked, token.value(), token.length), (true, &b""[..], 7));
    assert_eq!(token.sha256[..], Sha256::digest(b"hunter2")[..]);
    assert_eq!((preload.masked, preload.value()), (false, &b"/workspace/x.so"[..]));
}
