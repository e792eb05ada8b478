//! Names that some file systems take for another: a protected name stays protected
//! in other letters, as a stream, by a short name, as a device, with dots behind it.
//! `HEAD~1`, `...` and a folder `aux` are not disguises: they hide no such name.

use crate::rules::overlap::may_meet;
use crate::tables::names;

/// Whether writing there steers other programs.
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

/// Whether the glob could find a protected name.
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

/// The part of a path in small letters, without what hides it.
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

/// Characters that a file system may leave out of a name.
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

/// `GIT~1` of `.git`.
fn is_short_name(part: &str, name: &str) -> bool {
    let Some((start, number)) = part.split_once('~') else {
        return false;
    };
    let letters: String = name.chars().filter(|c| *c != '.').take(6).collect();
    let numbered = number.split('.').next().unwrap_or_default();
    start == letters && !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit())
}

/// Paths of another system: `\\server\share`, `\\?\C:\x`.
pub(super) fn is_foreign(path: &str) -> bool {
    path.starts_with(r"\\")
}
