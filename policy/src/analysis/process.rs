//! Paths to data of another process: its environment, its memory, its view of the file system. They are found by name;
//! paths are not resolved.

use super::directory::{Directory, join};
use crate::parse::Word;

/// Names below `/proc/PID` that lead to secrets, or out of the part that the sandbox shows.
const TELLING: &[&str] = &["environ", "root", "cwd", "mem", "task", "fd"];

/// Reports whether the word leads to such a path from one of the directories.
pub(super) fn is_reached(word: &Word, directory: &Directory) -> bool {
    let text = String::from_utf8_lossy(&word.lead);
    let path = path_in(&text);
    if path.starts_with('/') {
        let climbed = path.contains("..") && reaches(&join("/", path), word);
        return climbed || reaches(path, word) || climbs_from_descriptors(path);
    }
    // Inside `/proc`, an unknown name may be one of them.
    directory.possible().unwrap_or_default().iter().any(|base| {
        let mut above = base.split('/').filter(|part| !part.is_empty());
        let stays = above.next().is_some_and(|first| !could_be(first, "proc", word.glob));
        (!stays || path.contains("..")) && reaches(&join(base, path), word)
    })
}

/// Returns the path in a word such as `if=/x`, `--file=/x`, `-f/x` or `@/x`.
fn path_in(text: &str) -> &str {
    let Some(slash) = text.find('/') else {
        return text;
    };
    let (before, path) = text.split_at(slash);
    let glued = before.starts_with('-') || before.ends_with(['=', '@', ':', ',']);
    if glued { path } else { text }
}

fn reaches(path: &str, word: &Word) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let Some(first) = parts.next().filter(|first| could_be(first, "proc", word.glob)) else {
        return false;
    };
    let unfinished = word.text.is_none() && !word.glob && first == "proc";
    unfinished || parts.any(|part| TELLING.iter().any(|name| could_be(part, name, word.glob)))
}

/// Detects `..` below `/dev/fd`, which is a link into `/proc`: its parent belongs to a process.
fn climbs_from_descriptors(path: &str) -> bool {
    path.split_once("/dev/fd/").is_some_and(|(_, below)| below.split('/').any(|part| part == ".."))
}

/// Reports whether a component of a path, which may be a glob, could be this name.
fn could_be(part: &str, name: &str, glob: bool) -> bool {
    let stars = |c: char| matches!(c, '*' | '?' | '[' | ']');
    let Some(first) = part.find(stars).filter(|_| glob) else {
        return part == name;
    };
    let last = part.rfind(stars).unwrap_or(first);
    let (start, end) = (part.get(..first).unwrap_or_default(), part.get(last + 1..).unwrap_or_default());
    name.starts_with(start) && name.ends_with(end) && start.len() + end.len() <= name.len()
}
