//! tar. Its arguments determine whether it reads or writes the archive. Its first word may be flags
//! without a dash.

use super::{WriterPaths, values, with};
use crate::decision::Access;
use crate::getopt;
use crate::parse::Word;
use crate::readonly::PathWord;
use crate::tables::{Takes, Writer};

pub(super) fn tar(writer: &'static Writer, rest: &[Word]) -> WriterPaths {
    let words = with_dashes(writer, rest);
    let sorted = getopt::sort(&words, &writer.options);
    let unpacks = sorted.has("extract");
    let reads = unpacks || sorted.has("list") || sorted.has("diff");
    let mut paths: Vec<PathWord> =
        values(&sorted, Takes::Read).map(|word| with(word, Access::Read)).collect();
    for archive in sorted.values("file") {
        paths.push(with(archive, if reads { Access::Read } else { Access::Create }));
    }
    let directory = sorted.values("directory").last();
    paths.extend(directory.map(|word| with(word, if unpacks { Access::Create } else { Access::Read })));
    if unpacks && directory.is_none() && !sorted.has("to-stdout") {
        let span = rest.first().map(|word| word.span).unwrap_or_default();
        paths.push(with(&Word::known(b".", span), Access::Create));
    }
    // When the archive is read, the operands are names inside it.
    if !reads {
        let operands = sorted.operands.iter().filter_map(|index| words.get(*index));
        paths.extend(operands.map(|word| with(&below(directory, word), Access::Read)));
    }
    WriterPaths { paths, is_edit: false }
}

/// Converts `tar xfC a.tar dir` to `tar -x -f a.tar -C dir`.
fn with_dashes(writer: &Writer, rest: &[Word]) -> Vec<Word> {
    let Some((first, tail)) = rest.split_first() else {
        return Vec::new();
    };
    let Some(letters) = first.text.as_deref().filter(|text| !text.starts_with(b"-")) else {
        return rest.to_vec();
    };
    let mut tail = tail.iter();
    let mut out = Vec::new();
    for letter in letters {
        out.push(Word::known(&[b'-', *letter], first.span));
        if writer.options.short(*letter).is_some_and(|flag| flag.takes != Takes::Nothing) {
            out.extend(tail.next().cloned());
        }
    }
    out.extend(tail.cloned());
    out
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
