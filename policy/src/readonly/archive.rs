//! tar when it lists. The contents of archives are not examined.

use std::borrow::Cow;

use super::network;
use super::proof::{Proof, Refusal};
use crate::decision::Span;
use crate::getopt::Sorted;
use crate::parse::Word;
use crate::tables::{Options, Takes};

/// Converts `tar tvf FILE` to `tar -t -v -f FILE`: the letters of a first word without a dash are
/// flags, and their values follow in the same order.
pub(crate) fn with_dashes<'w>(words: &'w [Word], options: &Options) -> Cow<'w, [Word]> {
    let Some((first, mut rest)) = words.split_first() else {
        return Cow::Borrowed(words);
    };
    let Some(letters) = first.text.as_deref().filter(|text| !text.starts_with(b"-")) else {
        return Cow::Borrowed(words);
    };
    let mut written = Vec::new();
    for letter in letters {
        written.push(Word::known(&[b'-', *letter], first.span));
        let valued = options.short(*letter).is_some_and(|flag| flag.takes != Takes::Nothing);
        if let Some((value, tail)) = rest.split_first().filter(|_| valued) {
            written.push(value.clone());
            rest = tail;
        }
    }
    written.extend_from_slice(rest);
    Cow::Owned(written)
}

/// Checks that tar lists, which requires `-t`. In an archive's name, the text before a colon is a
/// host that tar would log in to.
pub(super) fn check_tar(sorted: &Sorted, span: Span) -> Proof {
    if !["t", "help", "version"].iter().any(|flag| sorted.has(flag)) {
        return Err(Refusal::new("not_read_only", "`tar` changes files unless a flag makes it list", span));
    }
    match sorted.values("f").find(|archive| !sorted.has("force-local") && !network::is_local(archive)) {
        None => Ok(Vec::new()),
        Some(archive) => Err(Refusal::new(
            "network",
            "the archive may be on another host; start its name with `./`",
            archive.span,
        )),
    }
}
