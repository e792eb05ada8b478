//! Checks the words after a program by its table entry: flags, operands, then the entry's
//! additional check. Words that the entry does not cover are refused.

use std::borrow::Cow;

use super::proof::{PathWord, Proof, Refusal};
use super::{checks, find};
use crate::analysis::Analysis;
use crate::decision::Span;
use crate::getopt::{self, FlagProblem, Sorted};
use crate::parse::Word;
use crate::tables::{Check, Flag, Joined, Operands, Program, Takes};

/// Checks the words after the program by its entry.
pub(super) fn check(entry: &'static Program, rest: &[Word], analysis: &Analysis, span: Span) -> Proof {
    match entry.check {
        Check::Find => return find::check(rest, span),
        Check::Test => return checks::test_command(rest, analysis, span),
        _ => {}
    }
    if entry.words_only {
        return Ok(Vec::new());
    }
    let rest = match entry.check {
        Check::Tar => checks::with_dashes(rest, &entry.options),
        _ => Cow::Borrowed(rest),
    };
    let rest = rest.as_ref();
    let sorted = getopt::sort(rest, &entry.options);
    troubles(entry, &sorted, rest)?;
    needs(entry, &sorted, span)?;
    joined(entry, rest)?;
    asks_for_signature(entry, &sorted, span)?;
    let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
    let mut paths = flag_paths(entry, &sorted, span)?;
    paths.extend(operand_paths(entry, &sorted, &operands)?);
    paths.extend(checks::check(entry, &sorted, &operands, span)?);
    Ok(paths)
}

fn troubles(entry: &Program, sorted: &Sorted, rest: &[Word]) -> Result<(), Refusal> {
    for (trouble, index) in &sorted.troubles {
        let word = rest.get(*index);
        let span = word.map(|word| word.span).unwrap_or_default();
        let text = word.map(|word| String::from_utf8_lossy(&word.lead).into_owned());
        let text = text.unwrap_or_default();
        return Err(match trouble {
            FlagProblem::UnknownWord if entry.harmless => continue,
            FlagProblem::Refused(reason) => {
                let code = if entry.check == Check::Jq { "jq_file_arguments" } else { "dangerous_flag" };
                Refusal::new(code, format!("`{text}` of {} {reason}", entry.name), span)
            }
            FlagProblem::UnknownFlag => Refusal::new(
                "unknown_flag",
                format!("`{text}` is not known to be harmless for {}, which {}", entry.name, entry.does),
                span,
            ),
            FlagProblem::UnknownWord => Refusal::new(
                "unknown_word",
                format!("an unknown word of {} may be a harmful flag", entry.name),
                span,
            ),
        });
    }
    Ok(())
}

/// Checks the required flags of programs that are read-only only with such a flag.
fn needs(entry: &Program, sorted: &Sorted, span: Span) -> Result<(), Refusal> {
    if entry.needs.is_empty() || entry.needs.iter().any(|flag| sorted.has(flag)) {
        return Ok(());
    }
    let dashes = |name: &&str| if name.len() == 1 { format!("-{name}") } else { format!("--{name}") };
    let wanted: Vec<String> = entry.needs.iter().map(dashes).collect();
    let message = format!("{} is read-only only with {}", entry.name, wanted.join(" or "));
    Err(Refusal::new("not_read_only", message, span))
}

/// Checks clusters of short flags in programs that do not read them as getopt does.
fn joined(entry: &Program, rest: &[Word]) -> Result<(), Refusal> {
    if entry.joined == Joined::Anything {
        return Ok(());
    }
    let takes = |flag: &Flag| flag.takes != Takes::Nothing;
    let is_number = |text: &[u8]| {
        let digits = text.strip_prefix(b"0x").unwrap_or(text);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
    };
    let is_plain = |cluster: &[u8]| {
        let valued = cluster.iter().position(|letter| entry.options.short(*letter).is_some_and(takes));
        let value = valued.and_then(|at| cluster.get(at + 1..)).unwrap_or_default();
        let alone = valued.unwrap_or(cluster.len().saturating_sub(1)) == 0;
        let word = entry.options.exact(&[b"-", cluster].concat()).is_some();
        cluster.starts_with(b"-")
            || word
            || (value.iter().all(u8::is_ascii_digit) && (alone || entry.joined == Joined::Numbers))
    };
    // A negative number is the value of the preceding flag.
    let mut taken = false;
    let strange = rest.iter().find(|word| {
        let below = word.text.as_deref().and_then(|text| text.strip_prefix(b"-"));
        let value = std::mem::take(&mut taken) && below.is_some_and(is_number);
        let flag = word.lead.strip_prefix(b"-").filter(|_| !value);
        taken = matches!(flag, Some([letter]) if entry.options.short(*letter).is_some_and(takes));
        !value && flag.is_some_and(|flag| !is_plain(flag))
    });
    strange.map_or(Ok(()), |word| {
        let message = format!("{} reads combined flags in a non-standard way", entry.name);
        Err(Refusal::new("unknown_flag", message, word.span))
    })
}

/// Refuses git formats that show the validity of a signature: git runs gpg for them.
fn asks_for_signature(entry: &Program, sorted: &Sorted, span: Span) -> Result<(), Refusal> {
    let asks = |text: &[u8]| {
        let mut formats = text.split(|byte| *byte == b'%').skip(1);
        formats.any(|rest| matches!(rest, [b'G', ..] | [b'+' | b'-' | b' ', b'G', ..]))
            || text.windows(9).any(|part| part == b"signature")
    };
    let mut values = ["format", "pretty", "sort"].into_iter().flat_map(|name| sorted.values(name));
    match values.find(|value| entry.name.starts_with("git ") && asks(&value.lead)) {
        None => Ok(()),
        Some(_) => Err(Refusal::new("dangerous_flag", "this format of git runs gpg", span)),
    }
}

fn flag_paths(entry: &Program, sorted: &Sorted, span: Span) -> Proof {
    let mut paths = Vec::new();
    for given in sorted.flags.iter().filter(|given| given.flag.takes == Takes::Read) {
        let Some(value) = &given.value else {
            let message = format!("a flag of {} has no value", entry.name);
            return Err(Refusal::new("unknown_flag", message, span));
        };
        paths.push(PathWord::read(value));
    }
    Ok(paths)
}

fn operand_paths(entry: &Program, sorted: &Sorted, operands: &[&Word]) -> Proof {
    let too_many = |most: usize| {
        let surplus = operands.get(most).copied();
        let uncertain = operands.iter().find(|word| !word.exactly_one).copied();
        surplus.or(uncertain).map(|word| {
            let message = format!("{} may change an operand in this position", entry.name);
            Refusal::new("operand_writes", message, word.span)
        })
    };
    let paths_from = |skip: usize| operands.iter().skip(skip).map(|word| PathWord::read(word)).collect();
    match entry.operands {
        Operands::Paths => Ok(paths_from(0)),
        Operands::Pathspecs => Ok(operands
            .iter()
            .filter(|word| outside_pathspec(word))
            .map(|word| PathWord::read(word))
            .collect()),
        Operands::Text => Ok(Vec::new()),
        Operands::TextThenPaths(skip, flags) => {
            let given = flags.iter().any(|flag| sorted.has(flag));
            Ok(paths_from(if given { 0 } else { skip }))
        }
        Operands::AtMost(most) => match too_many(most) {
            Some(refusal) => Err(refusal),
            None => Ok(paths_from(0)),
        },
        Operands::TextAtMost(most) => too_many(most).map_or(Ok(Vec::new()), Err),
        Operands::Nothing => too_many(0).map_or(Ok(Vec::new()), Err),
    }
}

/// Reports whether the word is a path that can lead out of the working directory. git takes revisions and paths in the
/// same position; `a..b` is a revision.
fn outside_pathspec(word: &Word) -> bool {
    let text = word.text.as_deref().unwrap_or(&word.lead);
    word.foreign_home
        || text.starts_with(b"/")
        || text == b".."
        || text.starts_with(b"../")
        || text.windows(4).any(|part| part == b"/../")
}
