//! The fields that an answer is bound to, other than the command and the files, as text.

use std::fmt::Write as _;

use crate::render::escape;
use airlock_client::v1::{ApprovalTerms, BoundVariable};

/// Appends each field that is set, one per line. An empty field or a closed input has no line.
pub(super) fn push(out: &mut String, terms: &ApprovalTerms) {
    let _ = writeln!(out, "\nconditions; a change requires a new approval");
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<12}{text}");
    };
    row("sandbox", sandbox(terms));
    row("profile", format!("{}, sha256 {}", shown(&terms.profile), hex::encode(&terms.profile_sha256)));
    for requirement in &terms.requires {
        row("requires", shown(requirement));
    }
    if !terms.snapshot_sha256.is_empty() {
        row("snapshot", format!("sha256 {}", hex::encode(&terms.snapshot_sha256)));
    }
    if terms.stdin {
        row("input", "open: the caller that started it can write to it".to_owned());
    }
    if let Some(size) = &terms.terminal {
        row("terminal", format!("{}x{}", size.rows, size.cols));
    }
    for word in &terms.programs {
        row("program", word.bytes().map_or_else(|| "unknown".to_owned(), escape::line));
    }
    for subcommand in &terms.git {
        row("git", shown(subcommand));
    }
    for path in &terms.paths {
        row("path", format!("{}  {}", escape::line(path.path()), shown(&path.access).to_ascii_lowercase()));
    }
    for obeyed in &terms.obeyed {
        row("obeys", shown(obeyed));
    }
    for one in &terms.env {
        row("variable", variable(one));
    }
    // The page shows the changes before the conditions.
    for word in terms.edit.iter().flat_map(|edit| &edit.words) {
        row("edit word", word.bytes().map_or_else(|| "unknown".to_owned(), escape::line));
    }
    for (name, value) in &terms.further {
        row("field", format!("{}: {}", shown(name), shown(value)));
    }
}

fn sandbox(terms: &ApprovalTerms) -> String {
    let text = match (terms.unsandboxed, terms.read_only) {
        (true, _) => "NONE: it runs on the runner's host",
        (false, true) => "read-only: it cannot write to the session's files",
        (false, false) => "it can write to the session's files",
    };
    text.to_owned()
}

fn variable(one: &BoundVariable) -> String {
    if one.masked {
        return format!(
            "{}=(looks like a secret: {} bytes, sha256 {})",
            shown(&one.name),
            one.length,
            hex::encode(&one.sha256)
        );
    }
    format!("{}={}", shown(&one.name), escape::line(one.value()))
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use airlock_client::v1::{BoundPath, TerminalSize, Word};

    type Change = (&'static str, fn(&mut ApprovalTerms));

    const CHANGES: [Change; 15] = [
        ("env", |terms| terms.env.push(BoundVariable { name: "A".to_owned(), ..Default::default() })),
        ("profile", |terms| terms.profile.push('x')),
        ("profile_sha256", |terms| terms.profile_sha256 = vec![1; 32].into()),
        ("read_only", |terms| terms.read_only = true),
        ("unsandboxed", |terms| terms.unsandboxed = true),
        ("requires", |terms| terms.requires.push("TRUSTED_PATH".to_owned())),
        ("snapshot_sha256", |terms| terms.snapshot_sha256 = vec![1; 32].into()),
        ("stdin", |terms| terms.stdin = true),
        ("terminal", |terms| terms.terminal = Some(TerminalSize { rows: 24, cols: 80 })),
        ("programs", |terms| terms.programs.push(Word::known("make"))),
        ("git", |terms| terms.git.push("log".to_owned())),
        ("obeyed", |terms| terms.obeyed.push("cargo: /workspace/.cargo/config.toml".to_owned())),
        ("edit", |terms| terms.edit.get_or_insert_default().words.push(Word::known("sed"))),
        ("further", |terms| drop(terms.further.insert("command.later".to_owned(), "1".to_owned()))),
        ("paths", |terms| {
            terms.paths.push(BoundPath { access: "READ".to_owned(), ..Default::default() }.with_path("/etc"));
        }),
    ];

    fn page(terms: &ApprovalTerms) -> String {
        let mut out = String::new();
        push(&mut out, terms);
        out
    }

    #[test]
    fn every_term_is_on_the_page() {
        let before = ApprovalTerms::default();
        let debug = format!("{before:#?}");
        let there: BTreeSet<&str> =
            debug.lines().filter_map(|line| Some(line.strip_prefix("    ")?.split_once(':')?.0)).collect();
        assert_eq!(there, CHANGES.iter().map(|(name, _)| *name).collect(), "every field is changed once");
        for (name, change) in CHANGES {
            let mut after = before.clone();
            change(&mut after);
            assert_ne!(page(&before), page(&after), "`{name}` is not shown");
        }
    }

    #[test]
    fn a_variable_cannot_pass_for_another_line_and_a_secret_is_a_digest() {
        let plain = BoundVariable { name: "A".to_owned(), ..Default::default() }
            .with_value("1\n  input       closed");
        assert_eq!(variable(&plain), "A=1\\u{a}  input       closed");
        let secret = BoundVariable {
            name: "TOKEN".to_owned(),
            masked: true,
            length: 7,
            sha256: vec![0xab; 2].into(),
            ..Default::default()
        };
        assert_eq!(variable(&secret), "TOKEN=(looks like a secret: 7 bytes, sha256 abab)");
    }
}
