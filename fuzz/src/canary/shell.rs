//! Wraps commands in bash constructs: pipes, lists, loops, redirects, substitutions, and programs
//! that run others. Some of these write; the policy must detect that.

use super::vocabulary::{self, Random};
use super::{Generated, Line, Source};

/// Templates of the constructs: `A`, `B` and `C` are commands, `P` is a path, `D` is a directory.
const CONSTRUCTS: &[(&str, &str)] = &[
    ("pipe", "A | B"),
    ("pipe", "A | B | C"),
    ("pipe", "A |& B"),
    ("list", "A && B"),
    ("list", "A; B"),
    ("list", "A || B"),
    ("list", "A\nB\nC"),
    ("background", "A & wait"),
    ("group", "(A; B)"),
    ("group", "{ A; B; }"),
    ("negation", "! A"),
    ("for", "for f in P P; do A; done"),
    ("for", "for f in P; do cat \"$f\" | B; done"),
    ("for", "for f in a b; do echo \"$f\"; A; done | B"),
    ("for", "for ((i = 0; i < 2; i++)); do A; done"),
    ("while", "while read -r x; do echo \"$x\"; done < P"),
    ("while", "A | while IFS= read -r x; do echo \"$x\"; done"),
    ("while", "until A; do break; done"),
    ("if", "if A; then B; else C; fi"),
    ("if", "if [ -f notes.txt ]; then A; fi"),
    ("if", "[[ -n foo && -d src ]] && A"),
    ("case", "case foo in f*) A;; *) B;; esac"),
    ("redirect", "A 2>/dev/null"),
    ("redirect", "A >/dev/null 2>&1"),
    ("redirect", "A < P"),
    ("redirect", "A <<< 'foo bar'"),
    ("redirect", "A <<'E'\nfoo\n$(touch made)\nE"),
    ("redirect", "A <<E\nfoo $HOME\nE"),
    ("redirect", "</dev/null A"),
    ("redirect", "A 2>&1 | B"),
    ("redirect", "A &>/dev/null"),
    ("redirect", "A 3</dev/null"),
    ("writing", "A > made"),
    ("writing", "A | tee made"),
    ("writing", "A >> notes.txt"),
    ("writing", "A >| made"),
    ("writing", "A <> made"),
    ("writing", "A 2> made"),
    ("substitution", "echo $(A)"),
    ("substitution", "echo \"$(A)\""),
    ("substitution", "echo `pwd` && A"),
    ("substitution", "x=$(A); echo \"$x\""),
    ("substitution", "diff <(A) <(B)"),
    ("substitution", "cat <(A)"),
    ("substitution", "A \"$(echo notes.txt)\""),
    ("arithmetic", "echo $((1 + 2)); A"),
    ("arithmetic", "((1 < 2)) && A"),
    ("xargs", "A | xargs B"),
    ("xargs", "A | xargs -n 1 B"),
    ("xargs", "A | xargs -I{} B {}"),
    ("xargs", "A | xargs -0 -r B"),
    ("xargs", "printf '%s\\0' P | xargs -0 B"),
    ("xargs", "find D -type f -print0 | xargs -0 B"),
    ("xargs", "xargs -a data/words.txt B"),
    ("xargs", "ls odd | xargs B"),
    ("find -exec", "find D -type f -exec B {} \\;"),
    ("find -exec", "find D -name '*.txt' -exec B {} +"),
    ("find -exec", "find D -maxdepth 1 -execdir B {} \\;"),
    ("cd", "cd D && A"),
    ("cd", "(cd D; A) && B"),
    ("cd", "pushd D >/dev/null; A; popd"),
    ("wrapper", "timeout 3 A"),
    ("wrapper", "timeout -k 1 3s A"),
    ("wrapper", "time A"),
    ("wrapper", "time -p A"),
    ("wrapper", "nice -n 5 A"),
    ("wrapper", "nohup A"),
    ("wrapper", "stdbuf -oL A"),
    ("wrapper", "ionice -c 3 A"),
    ("wrapper", "command A"),
    ("wrapper", "builtin echo x; A"),
    ("wrapper", "env A"),
    ("wrapper", "bash -c 'A'"),
    ("wrapper", "exec A"),
    ("wrapper", "eval 'A'"),
    ("assignment", "LC_ALL=C A"),
    ("assignment", "x=P; A"),
    ("assignment", "f=P A"),
    ("assignment", "x='a b'; A; echo $x"),
    ("function", "f() { A; }; f"),
    ("comment", "A # touch made"),
    ("continuation", "A \\\n && B"),
    ("nested", "for f in P; do if A; then B | C; fi; done"),
    ("nested", "(A | B) 2>/dev/null | C"),
    ("nested", "{ A && B; } || { cd D && C; }"),
];

/// Returns a command: alone in half of the cases, otherwise in a construct.
pub(super) fn around(source: &mut impl Source) -> Generated {
    if source.random().once_in(2) {
        let line = source.line();
        return Generated {
            command: line.text,
            tries: vec![(line.program, line.flags)],
            planned: None,
            construct: "plain",
        };
    }
    let at = source.random().up_to(CONSTRUCTS.len());
    let (construct, template) = CONSTRUCTS.get(at).copied().unwrap_or(("plain", "A"));
    let mut command = String::new();
    let mut tries = Vec::new();
    let mut characters = template.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let alone = !before.is_ascii_alphanumeric()
            && characters.peek().is_none_or(|next| !next.is_ascii_alphanumeric());
        match character {
            'A' | 'B' | 'C' if alone && before != '-' => {
                let Line { text, program, flags } = source.line();
                let text = if before == '\'' { text.replace('\'', "'\\''") } else { text };
                command.push_str(&text);
                tries.push((program, flags));
            }
            'P' if alone => command.push_str(&vocabulary::path(source.random())),
            'D' if alone => command.push_str(&vocabulary::directory(source.random())),
            other => command.push(other),
        }
        before = character;
    }
    spoiled(source.random(), &mut command);
    Generated { command, tries, planned: None, construct }
}

/// Sometimes deletes or duplicates a character, which can result in another command.
fn spoiled(random: &mut Random, command: &mut String) {
    if !random.once_in(20) {
        return;
    }
    let places: Vec<(usize, char)> = command.char_indices().collect();
    if let Some((at, character)) = places.get(random.up_to(places.len())).copied() {
        if random.once_in(2) {
            command.remove(at);
        } else {
            command.insert(at, character);
        }
    }
}
