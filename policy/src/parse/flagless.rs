//! Substitutions with output that, however it is split, contains no flag: names of commits, or one
//! absolute path. Other effects are not considered.

use super::tree::{Statement, SubKind, Substitution};

/// Flags of `git merge-base` with which it prints names of commits.
const MERGE_BASE: &[&[u8]] = &[b"-a", b"--all", b"--octopus", b"--independent", b"--fork-point"];
/// Flags of `git rev-list` with which it prints names of commits; a number follows `-n`.
const REV_LIST: &[&[u8]] = &[
    b"-1",
    b"-n",
    b"--max-count=1",
    b"--all",
    b"--tags",
    b"--reverse",
    b"--first-parent",
    b"--merges",
    b"--no-merges",
    b"--max-parents=0",
];
/// Flags of `git rev-parse` with which it prints names of commits.
const REV_PARSE: &[&[u8]] = &[b"--verify", b"--short", b"-q", b"--quiet"];

impl Substitution {
    /// Reports whether no word of the output is a flag. `whole` means that the output is not split.
    pub(super) fn prints_no_flag(&self, whole: bool) -> bool {
        let [Statement::Simple(simple)] = self.body.as_slice() else {
            return false;
        };
        let plain =
            self.kind == SubKind::Command && simple.assignments.is_empty() && simple.redirects.is_empty();
        let words: Option<Vec<&[u8]>> = simple.words.iter().map(|word| word.text.as_deref()).collect();
        let Some(words) = words.filter(|_| plain) else {
            return false;
        };
        match words.as_slice() {
            [b"pwd"] | [b"pwd", b"-P" | b"-L"] | [b"git", b"rev-parse", b"--show-toplevel"] => whole,
            [b"git", b"merge-base", rest @ ..] => only(rest, MERGE_BASE),
            [b"git", b"rev-list", rest @ ..] => only(rest, REV_LIST),
            [b"git", b"rev-parse", rest @ ..] => only(rest, REV_PARSE),
            _ => false,
        }
    }
}

/// Reports whether every flag is in the list.
fn only(words: &[&[u8]], flags: &[&[u8]]) -> bool {
    words.iter().all(|word| !word.starts_with(b"-") || flags.contains(word))
}
