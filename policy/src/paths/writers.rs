//! The paths of programs that change files, and whether all of them could be made
//! out, which the mode that accepts edits needs.

use crate::analysis::Found;
use crate::decision::Access;
use crate::getopt;
use crate::parse::{RedirOp, Word};
use crate::readonly::PathWord;
use crate::tables::{self, Takes, Writer};

/// What a command writes.
#[derive(Debug, Default)]
pub(crate) struct WriterPaths {
    pub(crate) paths: Vec<PathWord>,
    /// Whether every flag and word was understood, and the mode covers the program.
    pub(crate) is_edit: bool,
}

/// The paths of the command's operands, if it is a known writer or edits by sed.
pub(crate) fn writer_paths(found: &Found) -> Option<WriterPaths> {
    let name = found.trusted_name()?;
    let rest = found.words.get(1..).unwrap_or_default();
    if name == b"sed" {
        return sed_in_place(rest);
    }
    let writer = tables::writer(name)?;
    if !writer.shape.named.is_empty() {
        return Some(named(writer, rest));
    }
    let sorted = getopt::sort(rest, &writer.options);
    let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
    let paths_of = |takes| {
        let given = sorted.flags.iter().filter(move |given| given.flag.takes == takes);
        given.filter_map(|given| given.value.as_ref())
    };
    let targets: Vec<&Word> = paths_of(Takes::Write).collect();
    let mut paths = shaped(writer, &operands, !targets.is_empty());
    paths.extend(targets.into_iter().map(|word| with(word, Access::Create)));
    paths.extend(paths_of(Takes::Read).map(|word| with(word, Access::Read)));
    let known = paths.iter().all(|path| path.word.text.is_some());
    Some(WriterPaths { is_edit: writer.edit && sorted.troubles.is_empty() && known, paths })
}

fn with(word: &Word, access: Access) -> PathWord {
    PathWord { word: word.clone(), access }
}

fn shaped(writer: &Writer, operands: &[&Word], has_target: bool) -> Vec<PathWord> {
    let shape = &writer.shape;
    let count = operands.len();
    let access = |index| if index + 1 == count && !has_target { shape.last } else { shape.all };
    let paths = operands.iter().enumerate().skip(shape.skip);
    paths.filter_map(|(index, word)| Some(with(word, access(index)?))).collect()
}

/// `dd if=FILE of=FILE`.
fn named(writer: &Writer, rest: &[Word]) -> WriterPaths {
    let mut paths = Vec::new();
    for word in rest {
        let value = writer.shape.named.iter().find_map(|(name, access)| {
            let value = word.lead.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some((*access, value))
        });
        if let Some((access, value)) = value {
            let mut word = word.clone();
            word.lead = value.to_vec();
            word.text = word.text.is_some().then(|| value.to_vec());
            paths.push(PathWord { word, access });
        }
    }
    WriterPaths { paths, is_edit: false }
}

/// `sed -i`, with a script that only filters otherwise.
fn sed_in_place(rest: &[Word]) -> Option<WriterPaths> {
    let sorted = getopt::sort(rest, &tables::writer(b"sed")?.options);
    if !sorted.has("in-place") {
        return None;
    }
    let mut operands = sorted.operands.iter().filter_map(|index| rest.get(*index));
    let mut scripts: Vec<&Word> = sorted.values("expression").collect();
    if scripts.is_empty() {
        scripts.extend(operands.next());
    }
    let mut script = Vec::new();
    let mut known = !scripts.is_empty() && !sorted.has("file");
    for word in scripts {
        known &= word.text.is_some();
        script.extend_from_slice(word.text.as_deref().unwrap_or_default());
        script.push(b'\n');
    }
    let paths: Vec<PathWord> = operands.map(|word| with(word, Access::Write)).collect();
    known &= paths.iter().all(|path| path.word.text.is_some());
    Some(WriterPaths {
        is_edit: known && sorted.troubles.is_empty() && crate::readonly::sed_is_harmless(&script),
        paths,
    })
}

/// The files that redirects write.
pub(crate) fn redirect_writes(found: &Found) -> impl Iterator<Item = PathWord> {
    let files = found.redirects.iter().filter(|redirect| redirect.op == RedirOp::Write);
    files.filter_map(|redirect| redirect.target.as_ref()).map(|word| with(word, Access::Write))
}

/// The files that redirects read; an address behind `/dev/tcp` is none.
pub(crate) fn redirect_reads(found: &Found) -> impl Iterator<Item = PathWord> {
    let files = found.redirects.iter().filter(|redirect| redirect.op == RedirOp::Read);
    let known = files.filter(|redirect| crate::readonly::redirect_is_harmless(redirect));
    known.filter_map(|redirect| redirect.target.as_ref()).map(|word| with(word, Access::Read))
}
