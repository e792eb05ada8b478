//! The paths of programs that change files, and whether all of them are known, which the mode that
//! accepts edits requires.

use crate::analysis::Found;
use crate::decision::Access;
use crate::getopt::{self, Sorted};
use crate::launch::behind_options;
use crate::parse::{RedirOp, Word};
use crate::readonly::{self, PathWord};
use crate::tables::{self, Takes, Writer};

/// The largest number of words in a name, such as `git worktree add`.
const MOST_WORDS: usize = 3;

/// The paths that a command writes.
#[derive(Debug, Default)]
pub(crate) struct WriterPaths {
    pub(crate) paths: Vec<PathWord>,
    /// Whether every flag and word was understood, and the mode covers the program.
    pub(crate) is_edit: bool,
}

/// Returns the paths of the command's operands, if it is a known writer or an edit by sed.
pub(crate) fn writer_paths(found: &Found) -> Option<WriterPaths> {
    let name = found.trusted_name()?;
    let rest = found.words.get(1..).unwrap_or_default();
    match name {
        b"sed" => return sed_in_place(rest),
        b"find" => return found_by_find(rest),
        _ => {}
    }
    let (writer, rest) = entry(name, rest)?;
    if !writer.shape.named.is_empty() {
        return Some(named(writer, rest));
    }
    if writer.name == "tar" {
        return Some(WriterPaths { paths: tar(writer, rest), is_edit: false });
    }
    if !writer.only_with.is_empty() && !rest.iter().any(|word| word.lead.starts_with(b"-")) {
        return None;
    }
    let sorted = getopt::sort(rest, &writer.options);
    if !writer.only_with.is_empty() && !has_one(&sorted, writer.only_with) {
        return None;
    }
    let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
    let targets: Vec<&Word> = sorted.values_that_are(Takes::Write).collect();
    let mut paths = shaped(writer, &sorted, &operands, !targets.is_empty());
    if writer.name == "ln" && sorted.has("symbolic") && !sorted.has("relative") {
        from_the_link(&mut paths, targets.first().copied());
    }
    paths.extend(targets.into_iter().map(|word| PathWord::new(word, Access::Create)));
    paths.extend(sorted.values_that_are(Takes::Read).map(|word| PathWord::new(word, Access::Read)));
    if let Some(directory) = directory_of_git(name, found) {
        paths.iter_mut().for_each(|path| path.word = below(Some(directory), &path.word));
    }
    let known = paths.iter().all(|path| path.word.text.is_some());
    Some(WriterPaths { is_edit: writer.edit && sorted.troubles.is_empty() && known, paths })
}

/// Returns the entry of the program or of its subcommand, and the words after its name.
fn entry<'w>(name: &[u8], rest: &'w [Word]) -> Option<(&'static Writer, &'w [Word])> {
    let mut full = vec![name];
    if tables::global(&full).is_none() {
        return tables::writer(&full).map(|writer| (writer, rest));
    }
    let mut rest = behind_options(&full, rest)?;
    let mut found = None;
    for _ in 1..MOST_WORDS {
        let (word, tail) = rest.split_first()?;
        full.push(word.text.as_deref()?);
        rest = tail;
        found = tables::writer(&full).map(|writer| (writer, rest)).or(found);
        if found.is_some() {
            break;
        }
    }
    found
}

/// Returns the directory of `git -C DIR`.
fn directory_of_git<'f>(name: &[u8], found: &'f Found) -> Option<&'f Word> {
    let words = found.words.iter().filter(|_| name == b"git");
    let mut words = words.skip_while(|word| word.text.as_deref() != Some(b"-C"));
    words.nth(1)
}

fn has_one(sorted: &Sorted, flags: &[&str]) -> bool {
    flags.iter().any(|flag| sorted.has(flag))
}

fn shaped(writer: &Writer, sorted: &Sorted, operands: &[&Word], has_target: bool) -> Vec<PathWord> {
    let shape = &writer.shape;
    let (from, count) = (shape.skip, operands.len());
    let reads = has_one(sorted, writer.reads_with);
    let makes = has_one(sorted, writer.all_last_with);
    let access = |index| match () {
        () if reads => Some(Access::Read),
        () if makes => shape.last,
        () if index == from && shape.first.is_some() => shape.first,
        () if index + 1 == count && !has_target && count >= writer.at_least => shape.last,
        () => shape.all,
    };
    let paths = operands.iter().enumerate().skip(from);
    let here = paths.filter(|(_, word)| !(writer.hosts && is_on_another_host(word)));
    here.filter_map(|(index, word)| Some(PathWord::new(word, access(index)?))).collect()
}

/// Recognizes `host:path` and `rsync://host/path`.
fn is_on_another_host(word: &Word) -> bool {
    let colon = word.lead.iter().position(|byte| *byte == b':');
    let slash = word.lead.iter().position(|byte| *byte == b'/');
    colon.is_some_and(|colon| slash.is_none_or(|slash| colon < slash))
}

/// Handles `dd if=FILE of=FILE`.
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

/// Handles `sed -i` with a script that otherwise only filters.
fn sed_in_place(rest: &[Word]) -> Option<WriterPaths> {
    let sorted = getopt::sort(rest, &tables::writer(&[b"sed"])?.options);
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
    let paths: Vec<PathWord> = operands.map(|word| PathWord::new(word, Access::Write)).collect();
    known &= paths.iter().all(|path| path.word.text.is_some());
    Some(WriterPaths {
        is_edit: known && sorted.troubles.is_empty() && readonly::sed_is_harmless(&script),
        paths,
    })
}

/// Handles `find DIR -delete` and `find DIR -fprint FILE`.
fn found_by_find(rest: &[Word]) -> Option<WriterPaths> {
    let texts = || rest.iter().map(|word| word.text.as_deref().unwrap_or_default());
    let mut paths = Vec::new();
    for (index, text) in texts().enumerate() {
        if matches!(text, b"-fprint" | b"-fprint0" | b"-fprintf" | b"-fls") {
            paths.extend(rest.get(index + 1).map(|word| PathWord::new(word, Access::Write)));
        }
    }
    if texts().any(|text| text == b"-delete") {
        let begins = |word: &&Word| matches!(word.lead.first(), Some(b'-' | b'(' | b'!'));
        paths.extend(
            rest.iter().take_while(|word| !begins(word)).map(|word| PathWord::new(word, Access::Delete)),
        );
    }
    (!paths.is_empty()).then_some(WriterPaths { paths, is_edit: false })
}

/// Returns the files that redirects write.
pub(crate) fn redirect_writes(found: &Found) -> impl Iterator<Item = PathWord> {
    let files = found.redirects.iter().filter(|redirect| redirect.op == RedirOp::Write);
    files.filter_map(|redirect| redirect.target.as_ref()).map(|word| PathWord::new(word, Access::Write))
}

/// Returns the files that redirects read. A network address in `/dev/tcp` is not a file, and neither is the output of a
/// command (`< <(...)`), which is listed separately.
pub(crate) fn redirect_reads(found: &Found) -> impl Iterator<Item = PathWord> {
    let files = found.redirects.iter().filter(|redirect| redirect.op == RedirOp::Read);
    let known = files.filter(|redirect| readonly::redirect_is_harmless(redirect));
    let targets = known.filter_map(|redirect| redirect.target.as_ref());
    targets.filter(|word| !word.is_process_input()).map(|word| PathWord::new(word, Access::Read))
}

/// Programs with paths that are relative to another directory: tar and `ln -s`. The arguments of tar determine whether
/// it reads or writes the archive; its first word may be flags without a dash.
fn tar(writer: &'static Writer, rest: &[Word]) -> Vec<PathWord> {
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
fn below(directory: Option<&Word>, word: &Word) -> Word {
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
fn from_the_link(paths: &mut Vec<PathWord>, target: Option<&Word>) {
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
