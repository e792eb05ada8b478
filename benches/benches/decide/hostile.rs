//! The slowest known texts, by construct. They include the longest and deepest parsed texts, the longest searched
//! texts, and texts for a profile with the most rules.

use airlock_policy::{Rules, Shell, limits};

/// A text, its construct, and the rules for its decision.
pub(crate) struct Case {
    pub(crate) construct: String,
    pub(crate) text: Vec<u8>,
    pub(crate) rules: RuleKind,
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleKind {
    None,
    Prefixes,
    Globs,
    ManyStars,
    Paths,
}

/// Parts that are repeated without their end. The tests of the policy use the same.
const PARTS: &str = include_str!("../../../policy/test_data/hostile_parts.json");

/// Parts that are opened and closed up to the deepest nesting that is parsed, repeatedly.
const PAIRS: &[(&str, &str, &str)] = &[
    ("subshell", "(", ")"),
    ("group", "{ ", ";}"),
    ("substitution", "$(", ")"),
    ("quoted substitution", "\"$(", ")\""),
    ("backticks", "`", "`"),
    ("process substitution", "cat <(", ")"),
    ("arithmetic", "$((1+", "))"),
    ("default value", "${x:-", "}"),
    ("quoted default value", "\"${x:-", "}\""),
    ("subscript", "${a[", "]}"),
    ("if", "if a;then ", ";fi"),
    ("while", "while a;do ", ";done"),
    ("for", "for x in a;do ", ";done"),
    ("case", "case a in b) ", ";;esac"),
    ("function", "f(){ ", ";}"),
    ("braces", "{a,", "}"),
    ("array", "a=(", ")"),
    ("extended glob", "?(", ")"),
    ("sh -c", "sh -c \"", "\""),
    ("eval", "eval \"", "\""),
    ("find -exec", "find . -exec ", " \\;"),
    ("[[ ]]", "[[ ( ", " ) ]]"),
    ("awk", "awk '{ if (a) { ", " } }'"),
    ("sed", "sed -e '/a/{ ", " }'"),
    ("jq", "jq '(.a | ", " )'"),
];

const DEPTHS: &[usize] = &[1, 4, 16, 28, 60];

fn fill(part: &str, length: usize) -> Vec<u8> {
    part.repeat(length / part.len().max(1)).into_bytes()
}

pub(crate) fn cases() -> Vec<Case> {
    let case = |construct: &str, text: Vec<u8>, rules| Case {
        construct: construct.to_owned(),
        text,
        rules,
        shell: Shell::Bash,
    };
    let mut all = Vec::new();
    let parts: Vec<String> = serde_json::from_str(PARTS).unwrap();
    for part in &parts {
        let name = format!("repeated {part:?}");
        all.push(case(&name, fill(part, limits::MAX_PARSED_BYTES), RuleKind::None));
        all.push(case(&name, fill(part, limits::MAX_COMMAND_BYTES), RuleKind::Globs));
    }
    for (name, open, close) in PAIRS {
        for depth in DEPTHS {
            for (joined, end) in [("; ", ";"), (" ", "")] {
                let one = format!("{}a{}{end}{joined}", open.repeat(*depth), close.repeat(*depth));
                all.push(case(name, fill(&one, limits::MAX_PARSED_BYTES), RuleKind::None));
                all.push(case(name, fill(&one, limits::MAX_PARSED_BYTES / 16), RuleKind::None));
            }
        }
    }
    all.extend(heredocs().map(|text| case("heredocs", text, RuleKind::None)));
    all.extend(arithmetic().map(|text| case("old arithmetic", text, RuleKind::None)));
    for (name, rules) in [
        ("rules: prefixes", RuleKind::Prefixes),
        ("rules: globs", RuleKind::Globs),
        ("rules: many stars", RuleKind::ManyStars),
        ("rules: paths", RuleKind::Paths),
    ] {
        for part in
            ["a ", "a;", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", "cat a/b/c;", "cat a/b/c ", "git a $x;", "a"]
        {
            all.push(case(name, fill(part, limits::MAX_PARSED_BYTES), rules));
            all.push(case(name, fill(part, limits::MAX_COMMAND_BYTES), rules));
        }
        for length in [limits::MAX_PARSED_BYTES, limits::MAX_COMMAND_BYTES] {
            all.push(case(name, different_words(length), rules));
        }
    }
    all
}

/// Returns a text in which no word occurs twice.
fn different_words(length: usize) -> Vec<u8> {
    (0..length / 6).map(|n| format!("{n:05} ")).collect::<String>().into_bytes()
}

/// Returns texts with the largest number of heredocs: on one line, in sequence, nested in text.
fn heredocs() -> impl Iterator<Item = Vec<u8>> {
    let most = limits::MAX_HEREDOCS;
    let body = "$x `a` $(b) ${c} \\\n".repeat(limits::MAX_PARSED_BYTES / most / 24);
    let side = format!("cat {}\n{}", "<<E ".repeat(most), format!("{body}E\n").repeat(most));
    let after = format!("cat <<E\n{body}E\n").repeat(most);
    let quoted = format!("cat <<'E' | a && b\n{body}E\n").repeat(most);
    [side, after, quoted].into_iter().map(String::into_bytes)
}

/// Returns texts of the largest length with the largest number of `$[`.
fn arithmetic() -> impl Iterator<Item = Vec<u8>> {
    let most = limits::MAX_OLD_ARITHMETIC;
    let room = limits::MAX_PARSED_BYTES / most - 8;
    let open = format!("a {}", "$[".repeat(most)) + &"1+".repeat(limits::MAX_PARSED_BYTES / 2 - 40);
    let closed = format!("$[{}1] ", "1+".repeat(room / 2)).repeat(most);
    let scattered = format!("$[ {}", "a ".repeat(room / 2)).repeat(most);
    [open, closed, scattered].into_iter().map(String::into_bytes)
}

/// Returns the largest number of rules in each list.
pub(crate) fn rules(kind: RuleKind) -> Rules {
    let each = |make: &dyn Fn(usize) -> String| -> Vec<String> { (0..limits::MAX_RULES).map(make).collect() };
    let list = match kind {
        RuleKind::None => Vec::new(),
        RuleKind::Prefixes => each(&|n| format!("Bash(program{n}:*)")),
        RuleKind::Globs => each(&|n| format!("Bash(a * b{n} * c)")),
        RuleKind::ManyStars => each(&|n| format!("Bash(*a*a*a*a*a*a*a*b{n} * *a*a*a*b * x)")),
        RuleKind::Paths => each(&|n| format!("Read(src/**/a*b*{n}/**/c?.rs)")),
    };
    Rules::parse(&list, &list, &list).unwrap()
}
