//! Deciding a command, against tree-sitter's bare parse of the same text.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;

use airlock_benches::{Way, print};
use airlock_policy::{Profile, Request, decide};

const ROUNDS: usize = 2_000;

/// One of each construct that agents write every day.
const COMMANDS: [(&str, &str); 8] = [
    ("a plain command", "git status --short"),
    ("a pipe", "grep -rn 'fn main' src | head -n 20"),
    ("a list", "cd src && ls -la && wc -l *.rs"),
    ("quotes", r#"awk '{print $2}' "a file.txt" | sort | uniq -c"#),
    ("a substitution", "echo $(git rev-parse HEAD)"),
    ("a loop", "for f in a b c; do cat \"$f\"; done"),
    ("a heredoc", "cat <<'EOF'\none\ntwo\nEOF\n"),
    ("a launcher", "timeout 5 nice -n 5 find . -name '*.c' -exec grep -l x {} \\;"),
];

fn main() {
    let profile = Profile::builtin("strict").unwrap();
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    for (construct, command) in COMMANDS {
        let (mut parse, mut all) = (Way::new("tree-sitter parses"), Way::new("policy decides"));
        for _ in 0..ROUNDS {
            parse.measure(|| black_box(parser.parse(command, None)));
            all.measure(|| black_box(decide(&Request::bash(command.as_bytes()), &profile)));
        }
        print(construct, &[parse, all]);
    }
}
