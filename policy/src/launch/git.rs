//! The commands that git runs because of its settings: `-c` before the subcommand, and `git
//! config`.

use super::launches::{Launch, Launches};
use crate::parse::Word;
use crate::tables::names::is_git_command_setting;

/// Handles `git -c NAME=value`.
pub(super) fn settings(rest: &[Word]) -> Vec<Launch> {
    let mut found = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let flag = word.text.as_deref();
        if flag != Some(b"-c") {
            continue;
        }
        let Some(value) = words.next() else {
            break;
        };
        let text = value.text.as_deref().unwrap_or(&value.lead);
        if let Some(end) = text.iter().position(|byte| *byte == b'=') {
            let (name, behind) = text.split_at_checked(end).unwrap_or((text, &[]));
            let behind = value.text.is_some().then(|| behind.get(1..).unwrap_or_default());
            found.extend(setting(name, behind, value));
        }
    }
    found
}

/// Handles `git config NAME value`, also with `set` or flags before the name.
pub(super) fn config(rest: &[Word]) -> Launches {
    let operands: Vec<&Word> = rest.iter().filter(|word| !word.lead.starts_with(b"-")).collect();
    let pairs = operands.windows(2).filter_map(|pair| match pair {
        [name, value] => setting(name.text.as_deref()?, value.text.as_deref(), value),
        _ => None,
    });
    Launches { launches: pairs.take(1).collect(), ..Launches::default() }
}

/// Returns the command of a setting. An alias is a subcommand or, after `!`, text for a shell;
/// other settings name programs.
fn setting(name: &[u8], value: Option<&[u8]>, word: &Word) -> Option<Launch> {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let alias = name.starts_with(b"alias.");
    if !alias && !name.starts_with(b"pager.") && !is_git_command_setting(last) {
        return None;
    }
    let text = value.map(|value| match value.strip_prefix(b"!") {
        Some(text) => text.to_vec(),
        None if alias => [b"git ", value].concat(),
        // `fsmonitor` and pagers can be switched on and off.
        None if matches!(value, b"" | b"true" | b"false") => b":".to_vec(),
        // The short name of a helper.
        None if last == b"helper" && !value.starts_with(b"/") => b":".to_vec(),
        None => value.to_vec(),
    });
    Some(Launch::Text(text, word.span))
}
