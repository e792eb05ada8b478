//! Programs with paths that are relative to another directory: tar and `ln -s`. The arguments of tar determine whether
//! it reads or writes the archive; its first word may be flags without a dash.

use crate::decision::Access;
use crate::getopt;
use crate::parse::Word;
use crate::readonly::{self, PathWord};
use crate::tables::{Takes, Writer};

pub(super) fn tar(writer: &'static Writer, rest: &[Word]) -> Vec<PathWord> {
    let words = readonly::with_dashes(rest, &writer.options);
    let sorted = getopt::sort(&words, &writer.options);
    let unpacks = sorted.has("extract");
    let reads = unpacks || sorted.has("list") || sorted.has("diff");
    let mut paths: Vec<PathWord> =
        sorted.values_that_are(Takes::Read).map(|word| PathWord::new(word, Access::Read)).collect();
    for archive in sorted.values("file") {
        paths.push(PathWord::new(archive, if reads { Access::Read } else { Access::Create }));
    }
    let directory = sorted.values("directory").last();
    paths.extend(
        directory.map(|word| PathWord::new(word, if unpacks { Access::Create } else { Access::Read })),
    );
    if unpacks && directory.is_none() && !sorted.has("to-stdout") {
        let span = rest.first().map(|word| word.span).unwrap_or_default();
        paths.push(PathWord::new(&Word::known(b".", span), Access::Create));
    }
    // When the archive is read, the operands are names inside it.
    if !reads {
        let operands = sorted.operands.iter().filter_map(|index| words.get(*index));
        paths.extend(operands.map(|word| PathWord::new(&below(directory, word), Access::Read)));
    }
    paths
}

/// Returns the word relative to a directory.
pub(super) fn below(directory: Option<&Word>, word: &Word) -> Word {
    let (Some(directory), false) = (directory, word.lead.starts_with(b"/")) else {
        return word.clone();
    };
    let joined = |text: &[u8]| [directory.lead.as_slice(), b"/", text].concat();
    let known = directory.text.is_some();
    Word {
        text: word.text.as_deref().filter(|_| known).map(joined),
        lead: if known { joined(&word.lead) } else { directory.lead.clone() },
        ..word.clone()
    }
}

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
