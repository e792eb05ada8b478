//! tar. Its arguments determine whether it reads or writes the archive. Its first word may be flags
//! without a dash.

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
