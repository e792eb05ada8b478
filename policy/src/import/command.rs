//! Rules about commands. In the settings, a `*` matches any characters of the text. In Airlock it matches
//! words, or characters of one word. Both formats have `:*` at the end.

use std::fmt::Write as _;

use crate::decision::Verdict;
use crate::tables::names::is_trusted_directory;

mod powershell;

/// The largest number of Airlock rules that one rule is converted to.
const MOST: usize = 8;

/// A character of a word; `None` is a star.
type Letter = Option<char>;

/// A word of a rule.
#[derive(Default)]
struct RuleWord {
    letters: Vec<Letter>,
    /// Whether the word contains an expansion such as `$HOME`.
    expands: bool,
}

pub(super) fn rules(tool: &str, body: Option<&str>, verdict: Verdict) -> Result<Vec<String>, String> {
    let body = match body {
        None | Some("*" | ":*") => return Ok(vec![tool.to_owned()]),
        Some(body) => body,
    };
    let of_bash = if tool == "PowerShell" { Some(powershell::as_bash(body)?) } else { None };
    let body = of_bash.as_deref().unwrap_or(body);
    let (head, prefix) = match body.strip_suffix(":*") {
        Some(head) => (head, true),
        None => (body, false),
    };
    let mut words = split(head)?;
    if tool == "Bash" && words.iter().take_while(|word| is_assignment(word)).count() > 0 {
        if verdict == Verdict::Allow {
            return Err(
                "the rule starts with an assignment; Airlock's rules start with the program".to_owned()
            );
        }
        // Without the assignment the rule denies or asks about more commands, never fewer.
        words = words.into_iter().skip_while(is_assignment).collect();
    }
    let Some(program) = words.first_mut() else {
        return Err("the rule contains no program".to_owned());
    };
    if verdict == Verdict::Allow {
        by_name(program)?;
    }
    if words.iter().any(|word| word.expands) && verdict == Verdict::Allow {
        return Err("the rule contains an expansion, whose value is not known".to_owned());
    }
    let mut forms = vec![String::new()];
    for word in &words {
        let ways = written(word);
        forms = forms.iter().flat_map(|form| ways.iter().map(move |way| format!("{form} {way}"))).collect();
        if forms.len() > MOST {
            return Err("the rule has too many stars inside words; write several rules".to_owned());
        }
    }
    let end = if prefix { ":*" } else { "" };
    Ok(forms.iter().map(|form| format!("{tool}({}{end})", form.trim_start())).collect())
}

/// Returns the first words of the commands that an entry such as `docker *`, `docker:*` or `docker`
/// matches.
pub(super) fn first_words(entry: &str) -> Result<String, String> {
    let head = entry.strip_suffix(":*").unwrap_or(entry);
    let mut words = split(head)?;
    words.pop_if(|word| matches!(word.letters.as_slice(), [None]));
    let Some(program) = words.first() else {
        return Err(
            "the entry contains no program; an entry consists of the first words of commands".to_owned()
        );
    };
    if is_assignment(program) {
        return Err("the entry starts with an assignment; entries start with the program".to_owned());
    }
    let plain = |word: &RuleWord| -> Option<String> {
        let text: String = word.letters.iter().copied().collect::<Option<_>>()?;
        (!word.expands && !text.is_empty() && !text.contains(char::is_whitespace)).then_some(text)
    };
    let texts: Option<Vec<String>> = words.iter().map(plain).collect();
    texts.map(|texts| texts.join(" ")).ok_or_else(|| {
        "an entry consists of whole literal words, without stars, spaces or expansions".to_owned()
    })
}

/// Shortens the program's path to its name. An allow rule matches a bare name in the trusted system
/// directories only.
fn by_name(program: &mut RuleWord) -> Result<(), String> {
    let text: String = program.letters.iter().map_while(|letter| *letter).collect();
    let Some((directory, name)) = text.rsplit_once('/') else {
        return Ok(());
    };
    if !is_trusted_directory(directory.as_bytes()) {
        return Err(
            "an allow rule can name a program by path only in a read-only directory, such as /usr/bin"
                .to_owned(),
        );
    }
    program.letters.drain(..text.chars().count() - name.chars().count());
    Ok(())
}

/// Splits the text into words as the shell does.
fn split(text: &str) -> Result<Vec<RuleWord>, String> {
    let unfinished = || "the text has an unclosed quote or an incomplete escape".to_owned();
    let mut words = Vec::new();
    let mut word: Option<RuleWord> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\\' => {
                let escaped = chars.next().ok_or_else(unfinished)?;
                word.get_or_insert_default().letters.push(Some(escaped));
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(unfinished)? {
                        end if end == c => break,
                        '*' => word.letters.push(None),
                        '\\' if c == '"' => word.letters.push(Some(chars.next().ok_or_else(unfinished)?)),
                        inner => {
                            word.expands |= c == '"' && matches!(inner, '$' | '`');
                            word.letters.push(Some(inner));
                        }
                    }
                }
            }
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n' | '\r' => {
                return Err(
                    "the rule contains several commands or a redirect; an Airlock rule matches one command"
                        .to_owned(),
                );
            }
            '*' => word.get_or_insert_default().letters.push(None),
            other => {
                let word = word.get_or_insert_default();
                word.expands |= matches!(other, '$' | '`') || (other == '~' && word.letters.is_empty());
                word.letters.push(Some(other));
            }
        }
    }
    words.extend(word);
    Ok(words)
}

/// Recognizes `NAME=value`.
fn is_assignment(word: &RuleWord) -> bool {
    let name: Vec<char> = word.letters.iter().map_while(|letter| *letter).take_while(|c| *c != '=').collect();
    let ends = word.letters.get(name.len()) == Some(&Some('='));
    let letters = name.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_');
    ends && letters && name.first().is_some_and(|first| !first.is_ascii_digit())
}

/// Formats the word as an Airlock rule; several forms if a star inside it may also match spaces.
fn written(word: &RuleWord) -> Vec<String> {
    if word.expands {
        return vec!["*".to_owned()];
    }
    let parts: Vec<String> = word.letters.split(Option::is_none).map(literal).collect();
    let [first, inner @ ..] = parts.as_slice() else { return vec!["\"\"".to_owned()] };
    let Some((last, inner)) = inner.split_last() else {
        return vec![if first.is_empty() { "\"\"".to_owned() } else { first.clone() }];
    };
    // `x*` matches the word and words after it, `*x` the word and words before it.
    let mut ways = vec![if first.is_empty() { "*".to_owned() } else { first.clone() }];
    let mut open = first.is_empty();
    for part in inner.iter().filter(|part| !part.is_empty()) {
        ways = ways.iter().flat_map(|way| joined(way, part, open)).collect();
        open = false;
    }
    match (last.is_empty(), open) {
        (true, true) => ways,
        (true, false) => ways.into_iter().map(|way| format!("{way}* *")).collect(),
        (false, _) => ways.iter().flat_map(|way| joined(way, last, open)).collect(),
    }
}

/// Joins two parts with a star between them: within one word, or with further words between them.
fn joined(before: &str, after: &str, open: bool) -> Vec<String> {
    if open {
        return vec![format!("{before} *{after}")];
    }
    vec![format!("{before}*{after}"), format!("{before}* * *{after}")]
}

/// Formats characters for a rule.
fn literal(letters: &[Letter]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    let text: String = letters.iter().copied().flatten().collect();
    if text.chars().all(plain) {
        return text;
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        let _ = write!(out, "{c}");
    }
    out.push('"');
    out
}
