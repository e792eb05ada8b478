//! Symlinks: the target is relative to the directory of the link, not to that in which `ln` runs.

use super::archives::below;
use crate::decision::Access;
use crate::parse::Word;
use crate::readonly::PathWord;

/// Converts the targets of links to paths relative to the current directory. The last operand can
/// be the link or a directory for links; both are assumed.
pub(super) fn from_the_link(paths: &mut Vec<PathWord>, target: Option<&Word>) {
    let last = paths.last().filter(|path| path.access != Access::Read).map(|path| path.word.clone());
    let Some(place) = target.cloned().or(last) else {
        return;
    };
    let parent = parent_of(&place).filter(|_| target.is_none());
    let mut out = Vec::new();
    for path in paths.drain(..) {
        if path.access != Access::Read {
            out.push(path);
            continue;
        }
        let from =
            |directory: &Word| PathWord { word: below(Some(directory), &path.word), access: Access::Read };
        out.push(match &parent {
            Some(parent) => from(parent),
            None if target.is_some() => from(&place),
            None => path.clone(),
        });
    }
    *paths = out;
}

/// Returns the directory of a path; `None` for the current directory.
fn parent_of(word: &Word) -> Option<Word> {
    let text = word.text.as_deref()?;
    let end = text.trim_ascii_end().iter().rposition(|byte| *byte == b'/')?;
    let parent = text.get(..end.max(1))?;
    Some(Word::known(parent, word.span))
}
