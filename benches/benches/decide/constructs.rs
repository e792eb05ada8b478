//! The construct of a command: the first one in the list that the command contains.

type Construct = (&'static str, fn(&str) -> bool);

const CONSTRUCTS: &[Construct] = &[
    ("heredoc", |text| text.contains("<<") && !text.contains("<<<")),
    ("function", |text| text.contains("() {") || text.contains("function ")),
    ("loop or condition", |text| any(text, &["for ", "while ", "until ", "if ", "case ", "select "])),
    ("substitution", |text| any_in(text, &["$(", "`", "<(", ">("])),
    ("arithmetic or [[", |text| any_in(text, &["((", "$[", "[[ "])),
    ("launcher", |text| any(text, &["xargs ", "sudo ", "env ", "sh -c", "bash -c", "timeout ", "nice "])),
    ("find -exec", |text| any_in(text, &["-exec", "-ok"])),
    ("program text", |text| any(text, &["awk ", "sed ", "jq "])),
    ("expansion", |text| text.contains('$')),
    ("braces", |text| text.contains('{') && text.contains(',')),
    ("list", |text| any_in(text, &["&&", "||", ";", "\n", " & "])),
    ("pipeline", |text| text.contains('|')),
    ("redirect", |text| any_in(text, &[">", "<"])),
    ("glob", |text| any_in(text, &["*", "?"])),
    ("quotes", |text| any_in(text, &["'", "\"", "\\"])),
    ("plain words", |_| true),
];

/// Reports whether a word starts with one of `words`.
fn any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.starts_with(word) || text.contains(&format!(" {word}")))
}

fn any_in(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CONSTRUCTS.iter().map(|(name, _)| *name)
}

pub(crate) fn of(text: &str) -> &'static str {
    CONSTRUCTS.iter().find(|(_, holds)| holds(text)).map_or("plain words", |(name, _)| name)
}
