//! Which items of the standard library a Rust text names, in whatever way it is written: whole paths, groups,
//! other names. It reads tokens, and errs towards finding.

/// The paths under `std`, `core` and `alloc`, such as `std::fs::File` or `core::time`; `std::*` and `std::self`
/// where everything is taken, or the crate under another name.
#[must_use]
pub fn of_std(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let root = token.trim_start_matches("r#");
        let inner = at > 1 && tokens[at - 1] == "::" && is_name(&tokens[at - 2]);
        if inner || !matches!(root, "std" | "core" | "alloc") {
            continue;
        }
        match tokens.get(at + 1).map(String::as_str) {
            Some("::") => {
                tree(&tokens, at + 2, root, &mut found);
            }
            Some("as") => found.push(format!("{root}::self")),
            // `use {std, ...}`, `extern crate std;`
            Some("," | "}" | ";") => found.push(format!("{root}::self")),
            _ => {}
        }
    }
    found
}

/// What a path or group names, below `before`; where it ends.
fn tree(tokens: &[String], mut at: usize, before: &str, found: &mut Vec<String>) -> usize {
    let mut path = before.to_owned();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            Some(name) if is_name(name) || name == "*" => {
                path = format!("{path}::{}", name.trim_start_matches("r#"));
                at += 1;
            }
            // Not a path after all: the group's loop must go on.
            _ => return at + 1,
        }
        if tokens.get(at).is_none_or(|token| token != "::") {
            found.push(path);
            let renamed = tokens.get(at).is_some_and(|token| token == "as");
            return if renamed { at + 2 } else { at };
        }
        at += 1;
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single characters; comments and the insides of texts are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let used = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(used) = quoted(rest) {
            used
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else if c.is_alphanumeric() || c == '_' {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            let name = rest[raw..].find(|c: char| !c.is_alphanumeric() && c != '_');
            let used = name.map_or(rest.len(), |end| end + raw);
            tokens.push(rest[..used].to_owned());
            used
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[used..];
    }
    tokens
}

/// The length of the text or character that begins here, if one does.
fn quoted(rest: &str) -> Option<usize> {
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(raw_text) = raw.strip_prefix('r') {
        let hashes = raw_text.len() - raw_text.trim_start_matches('#').len();
        if raw_text[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = rest.len() - raw_text.len() + hashes + 1;
            return Some(rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()));
        }
    }
    let start = rest.len() - raw.len() + 1;
    if raw.starts_with('"') {
        return Some(unescaped(&rest[start..], '"').map_or(rest.len(), |at| start + at + 1));
    }
    // A lifetime has no end: `'a` is a name behind a quote.
    let body = raw.strip_prefix('\'')?;
    let one = body.chars().next()?;
    let is_char = one == '\\' || body[one.len_utf8()..].starts_with('\'');
    is_char.then(|| unescaped(body, '\'').map_or(rest.len(), |at| start + at + 1))
}

fn unescaped(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == end && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_an_item_is_found() {
        for (text, expected) in [
            ("use std::fs;", &["std::fs"][..]),
            ("use ::std::fs::File;", &["std::fs::File"]),
            ("use std :: { fmt , fs } ;", &["std::fmt", "std::fs"]),
            (
                "use std::{collections::{BTreeMap, self}, io::{self, Read as _}, time};",
                &[
                    "std::collections::BTreeMap",
                    "std::collections::self",
                    "std::io::self",
                    "std::io::Read",
                    "std::time",
                ],
            ),
            ("use std::\n  // why\n  net;", &["std::net"]),
            ("let x = std::env::var(\"A\");", &["std::env::var"]),
            ("fn f(x: core::time::Duration) {}", &["core::time::Duration"]),
            ("use std as s; s::fs::read(x)", &["std::self"]),
            ("use std::{self as s};", &["std::self"]),
            ("use {std::process, alloc::vec};", &["std::process", "alloc::vec"]),
            ("extern crate std;", &["std::self"]),
            ("use std::*;", &["std::*"]),
            ("use r#std::r#fs;", &["std::fs"]),
            ("let c = '\"'; use std::fs;", &["std::fs"]),
            ("let c = '\\''; use std::fs; let l: &'static str;", &["std::fs"]),
            ("let s = r#\"a\"b\"#; std::thread::spawn(f)", &["std::thread::spawn"]),
        ] {
            assert_eq!(of_std(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_item_is_not_found() {
        for text in [
            "// use std::fs;",
            "/* std::fs */",
            "\"std::fs\"",
            "r\"std::fs\"",
            "crate::std::fs",
            "my_std::fs",
            "x.std",
        ] {
            assert_eq!(of_std(text), [] as [&str; 0], "{text}");
        }
    }
}
