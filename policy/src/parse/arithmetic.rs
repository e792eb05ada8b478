//! Arithmetic and subscripts. bash evaluates the *values* of the names in them, and a value may
//! contain a substitution. Only numbers are understood, and names that the text itself sets only to
//! numbers.

use std::collections::HashMap;

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::{children_of, kind_of};
use super::names::{assignment_name, is_name_byte};
use super::tree::{ValueProperties, Word};
use crate::tables::names;

/// Operators of `[[ ]]` that evaluate their operands as arithmetic or as a name.
const EVALUATING: &[&[u8]] = &[b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge", b"-v", b"-R"];

/// Reports whether the word is a plain decimal number.
pub(super) fn is_number(word: &Word) -> bool {
    word.text.as_deref().is_some_and(is_number_text)
}

pub(super) fn is_number_text(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

impl Builder<'_> {
    /// Reads the text between `start` and `end` as arithmetic. The result is a single number.
    pub(super) fn arithmetic_region(&mut self, start: usize, end: usize, node: Node<'_>) -> Word {
        let mut word = self.loose_region_in(start, end, node);
        let span = self.source.span(start, end);
        let mut rest = self.source.slice(start, end);
        let mut substitutions = word.substitutions.iter();
        let mut expansions = HashMap::new();
        children_of(node)
            .into_iter()
            .for_each(|child| self.source.collect_expansions(child, start, &mut expansions));
        while let Some((byte, tail)) = rest.split_first() {
            let inner =
                expansions.get(&(end - rest.len())).filter(|node| kind_of(**node) == "command_substitution");
            if let Some(inner) = inner.filter(|inner| inner.end_byte() <= end) {
                if !substitutions.next().is_some_and(|substitution| substitution.is_count()) {
                    self.problem("arithmetic_evaluation", span);
                }
                rest = self.source.slice(inner.end_byte(), end);
                continue;
            }
            rest = tail;
            match byte {
                b'0'..=b'9'
                | b' '
                | b'\t'
                | b'\n'
                | b'+'
                | b'-'
                | b'*'
                | b'/'
                | b'%'
                | b'<'
                | b'>'
                | b'='
                | b'!'
                | b'&'
                | b'|'
                | b'^'
                | b'~'
                | b'?'
                | b':'
                | b','
                | b'('
                | b')'
                | b';' => {}
                b'$' if tail.first().copied().is_some_and(is_name_byte) => {}
                name if name.is_ascii_alphabetic() || *name == b'_' => {
                    rest = arithmetic_name(self, *name, tail, span);
                }
                _ => {
                    self.problem("arithmetic_evaluation", span);
                    break;
                }
            }
        }
        word.text = None;
        word.exactly_one = true;
        word.lead = Vec::new();
        word
    }

    /// Checks a subscript: a number, `@` or `*`.
    pub(super) fn check_subscript(&mut self, text: &[u8], span: crate::Span) {
        if !(is_number_text(text) || text == b"@" || text == b"*") {
            self.problem("arithmetic_evaluation", span);
        }
    }
}

/// Builtins that take names, each of which may have a subscript that is evaluated.
const NAMING: &[&[u8]] = &[
    b"declare",
    b"typeset",
    b"local",
    b"export",
    b"readonly",
    b"unset",
    b"read",
    b"mapfile",
    b"readarray",
    b"getopts",
];

/// Builtins that take a name after a flag only.
const NAMING_BY_FLAG: &[(&[u8], &[u8])] =
    &[(b"test", b"-v"), (b"test", b"-R"), (b"[", b"-v"), (b"[", b"-R"), (b"printf", b"-v"), (b"wait", b"-p")];

impl Builder<'_> {
    /// Checks words that a builtin reads as names or arithmetic, quoted or not.
    pub(super) fn check_evaluated_words(&mut self, words: &[Word]) {
        let Some((program, rest)) = words.split_first() else {
            return;
        };
        let name = program.text.as_deref().unwrap_or_default();
        let prefix = matches!(name, b"builtin" | b"command" | b"time" | b"coproc");
        // After `time`, assignments may come first.
        let assigns = assignment_name(&program.lead).is_some();
        if prefix || assigns || (name.starts_with(b"-") && !rest.is_empty()) {
            self.check_evaluated_words(rest);
            return;
        }
        if let Some(word) = super::dialect::changes_reading(words) {
            self.problem("parse_incomplete", word.span);
        }
        let all = NAMING.contains(&name);
        let declares = DECLARING.contains(&name);
        for (index, word) in rest.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|i| rest.get(i));
            let taken =
                name == b"printf" && has_format(rest.get(..index.saturating_sub(1)).unwrap_or_default());
            let flagged = !taken
                && NAMING_BY_FLAG.iter().any(|(program, flag)| {
                    *program == name
                        && (before.is_some_and(|word| may_be(word, flag)) || is_attached(word, flag))
                });
            let risky = name == b"let"
                || ((all || flagged) && !is_plain_target(word))
                || (declares && (changes_evaluation(name, word) || is_array_text(word, rest)));
            if risky {
                self.problem("arithmetic_evaluation", word.span);
            }
        }
    }
}

/// Reads a name in arithmetic, which is set by an assignment operator or read.
fn arithmetic_name<'t>(builder: &mut Builder<'_>, first: u8, tail: &'t [u8], span: crate::Span) -> &'t [u8] {
    let length = tail.iter().take_while(|byte| is_name_byte(**byte)).count();
    let mut name = vec![first];
    name.extend_from_slice(tail.get(..length).unwrap_or_default());
    let rest = tail.get(length..).unwrap_or_default();
    let after: Vec<u8> = rest.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(2).collect();
    if after.first() == Some(&b'=') && after.get(1) != Some(&b'=') {
        builder.note_assignment(name, ValueProperties::NUMBER, span);
    } else {
        builder.arithmetic_reads.push((name, span));
    }
    rest
}

/// Checks an operator of `[[ ]]` with the words next to it.
pub(super) fn test_operator(
    builder: &mut Builder<'_>,
    operator: Node<'_>,
    before: Option<Node<'_>>,
    after: Option<Node<'_>>,
) {
    let text = builder.source.text_of(operator);
    if !EVALUATING.contains(&text) {
        return;
    }
    let unary = matches!(text, b"-v" | b"-R");
    let operands = [before.filter(|_| !unary), after];
    for operand in operands.into_iter().flatten() {
        let value = builder.source.text_of(operand);
        let name = value.strip_prefix(b"$").unwrap_or(value);
        let plain_name = !name.is_empty() && name.iter().all(|byte| is_name_byte(*byte));
        let span = builder.source.span_of(operand);
        let literal = plain_name && !value.starts_with(b"$");
        if is_number_text(value) || matches!(value, b"$#" | b"$?") || (unary && literal) {
        } else if plain_name && !unary {
            builder.arithmetic_reads.push((name.to_vec(), span));
        } else {
            builder.problem("arithmetic_evaluation", span);
        }
    }
}

/// Builtins that give attributes to the names that they set.
pub(crate) const DECLARING: &[&[u8]] = &[b"declare", b"typeset", b"local", b"export", b"readonly"];

/// Reports whether the word sets the integer or reference attribute: every later value is
/// evaluated.
fn changes_evaluation(program: &[u8], word: &Word) -> bool {
    let flag = word.lead.first().is_some_and(|byte| *byte == b'-');
    flag && (word.lead.contains(&b'i') || (word.lead.contains(&b'n') && program != b"export"))
}

/// Reports whether the value is read again as the elements of an array, quoted or not.
fn is_array_text(word: &Word, all: &[Word]) -> bool {
    let Some(at) = word.lead.iter().position(|byte| *byte == b'=') else {
        return false;
    };
    let value = word.lead.get(at + 1..).unwrap_or_default();
    let array =
        |word: &Word| word.lead.starts_with(b"-") && word.lead.iter().any(|b| matches!(b, b'a' | b'A'));
    value.starts_with(b"(") || (value.is_empty() && word.text.is_none() && all.iter().any(array))
}

/// Reports whether the word is this flag, or an expansion that may become it.
fn may_be(word: &Word, flag: &[u8]) -> bool {
    word.text.as_ref().map_or_else(|| flag.starts_with(&word.lead), |text| text == flag)
}

/// Reports whether the words contain printf's format, after which there are no flags.
fn has_format(words: &[Word]) -> bool {
    let known = |word: &Word| word.text.as_deref().is_some_and(|text| !text.starts_with(b"-"));
    let values = std::iter::once(false).chain(words.iter().map(|word| may_be(word, b"-v")));
    words.iter().zip(values).any(|(word, value)| known(word) && !value)
}

/// Recognizes a flag with an attached value, such as `printf -va[x]`. The value may continue with unknown text.
fn is_attached(word: &Word, flag: &[u8]) -> bool {
    let goes_on = word.lead.len() > flag.len() || word.text.is_none();
    goes_on && word.lead.starts_with(flag)
}

/// Reports whether the word is `NAME`, `NAME=anything` or a flag, without a subscript and with a
/// known name.
fn is_plain_target(word: &Word) -> bool {
    let name = word.lead.split(|byte| *byte == b'=').next().unwrap_or_default();
    let ends = name.len() < word.lead.len() || word.text.is_some();
    ends && !name.contains(&b'[') && !names::is_evaluated(name)
}
