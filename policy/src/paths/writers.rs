//! The paths of programs that change files, and whether all of them could be made
//! out, which the mode that accepts edits needs.

use crate::analysis::Found;
use crate::decision::Access;
use crate::getopt::{self, Options};
use crate::parse::{RedirOp, Word};
use crate::readonly::PathWord;
use crate::tables::writers::{Shape, Writer, writer_named};

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
    let writer = writer_named(name)?;
    if writer.shape == Shape::Dd {
        return Some(dd(rest));
    }
    let sorted = getopt::sort(
        rest,
        &Options {
            short: writer.short,
            long: writer.long,
            refused: &[],
            stop_at_operand: false,
            digits: false,
        },
    );
    let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
    let targets: Vec<&Word> =
        sorted.flags.iter().filter(|flag| flag.is_path).filter_map(|flag| flag.value.as_ref()).collect();
    let mut paths = shaped(writer, &operands, !targets.is_empty());
    paths.extend(targets.into_iter().map(|word| with(word, Access::Create)));
    let known = paths.iter().all(|path| path.word.text.is_some());
    Some(WriterPaths { is_edit: writer.edit && sorted.troubles.is_empty() && known, paths })
}

fn with(word: &Word, access: Access) -> PathWord {
    PathWord { word: word.clone(), access }
}

fn shaped(writer: &Writer, operands: &[&Word], has_target: bool) -> Vec<PathWord> {
    let (skip, first, last) = match writer.shape {
        Shape::All(access) => (0, access, access),
        Shape::LastIs(first, _) if has_target => (0, first, first),
        Shape::LastIs(first, last) => (0, first, last),
        Shape::SkipFirst(access) => (1, access, access),
        Shape::Dd => (0, Access::Read, Access::Read),
    };
    let count = operands.len();
    operands
        .iter()
        .enumerate()
        .skip(skip)
        .map(|(index, word)| with(word, if index + 1 == count { last } else { first }))
        .collect()
}

fn dd(rest: &[Word]) -> WriterPaths {
    let mut paths = Vec::new();
    for word in rest {
        let (access, value) = match (word.lead.strip_prefix(b"if="), word.lead.strip_prefix(b"of=")) {
            (Some(value), _) => (Access::Read, value),
            (_, Some(value)) => (Access::Write, value),
            _ => continue,
        };
        let mut word = word.clone();
        word.lead = value.to_vec();
        word.text = word.text.is_some().then(|| value.to_vec());
        paths.push(PathWord { word, access });
    }
    WriterPaths { paths, is_edit: false }
}

/// `sed -i`, with a script that only filters otherwise.
fn sed_in_place(rest: &[Word]) -> Option<WriterPaths> {
    let sorted = getopt::sort(
        rest,
        &Options {
            short: "nEre:l:suzi?f@",
            long: "quiet silent debug expression= line-length= posix regexp-extended separate sandbox unbuffered null-data in-place=? file=@",
            refused: &[],
            stop_at_operand: false,
            digits: false,
        },
    );
    if !(sorted.has("i") || sorted.has("in-place")) {
        return None;
    }
    let mut operands = sorted.operands.iter().filter_map(|index| rest.get(*index));
    let mut scripts: Vec<&Word> = sorted
        .flags
        .iter()
        .filter(|flag| matches!(flag.name.as_str(), "e" | "expression"))
        .filter_map(|flag| flag.value.as_ref())
        .collect();
    if scripts.is_empty() {
        scripts.extend(operands.next());
    }
    let mut script = Vec::new();
    let mut known = !scripts.is_empty() && !sorted.has("f") && !sorted.has("file");
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
