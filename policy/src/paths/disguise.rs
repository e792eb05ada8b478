//! Alternative spellings of protected names that some file systems accept: other letter cases,
//! streams, short names, device names, trailing dots. `HEAD~1`, `...` and a directory `aux` are not
//! alternative spellings of a protected name.

use crate::rules::overlap::may_meet;
use crate::tables::names;

/// Reports whether a file at this path controls other programs.
pub(super) fn is_protected(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let protects =
            |name: &str| names::is_protected_directory(name) || (is_last && names::is_protected_file(name));
        let plain = plain(part);
        if protects(&plain)
            || names::protected_names().any(|name| is_short_name(&plain, name) && protects(name))
        {
            return true;
        }
    }
    false
}

/// Reports whether the glob can match a protected name.
pub(super) fn may_be_protected(glob: &str) -> bool {
    let lower = glob.to_lowercase();
    let is_glob = |part: &str| part.contains(['*', '?', '[']);
    let mut parts = lower.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let protects = |name: &str| names::is_protected_directory(name) || is_last;
        if is_glob(part) && names::protected_names().any(|name| protects(name) && may_meet(part, name)) {
            return true;
        }
    }
    is_protected(&lower)
}

/// Returns a component of a path in lower case, without the characters that disguise it.
fn plain(part: &str) -> String {
    let visible = part.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_lowercase);
    let folded: String = visible.map(|c| if c == 'ſ' { 's' } else { c }).collect();
    // `.git::$INDEX_ALLOCATION`
    let name = folded.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']);
    match name.rsplit_once('.') {
        Some((stem, device)) if !stem.is_empty() && is_device(device) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Reports whether a file system may ignore the character in a name.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

fn is_device(name: &str) -> bool {
    matches!(name, "con" | "prn" | "aux" | "nul")
        || name
            .strip_prefix("com")
            .or_else(|| name.strip_prefix("lpt"))
            .is_some_and(|number| number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Recognizes a short name, such as `GIT~1` for `.git`.
fn is_short_name(part: &str, name: &str) -> bool {
    let Some((start, number)) = part.split_once('~') else {
        return false;
    };
    let letters: String = name.chars().filter(|c| *c != '.').take(6).collect();
    let numbered = number.split('.').next().unwrap_or_default();
    start == letters && !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit())
}

/// Recognizes paths of Windows: `\\server\share`, `\\?\C:\x`.
pub(super) fn is_foreign(path: &str) -> bool {
    path.starts_with(r"\\")
}
