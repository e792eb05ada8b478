//! `${...}`: the variables that it reads, the commands that it runs, and the forms that are not understood.

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::children_of;
use super::names::is_name_byte;
use super::piece::Mode;
use super::tree::{IndirectRead, ValueProperties, Word};

impl Builder<'_> {
    /// Reads an expansion node. Returns its content, and whether it may become several words even inside
    /// quotes. The word's text is set if it is HOME.
    pub(super) fn expansion(&mut self, node: Node<'_>, quoted: bool) -> (Word, bool) {
        let text = self.source.text_of(node).trim_ascii_start();
        let span = self.source.span_of(node);
        let mut word = Word { span, exactly_one: true, ..Word::default() };
        let inner = text.strip_prefix(b"${").and_then(|rest| rest.strip_suffix(b"}"));
        let Some(inner) = inner.filter(|inner| !inner.is_empty()) else {
            self.incomplete(node);
            return (word, true);
        };
        if let Some(named) = inner.strip_prefix(b"!") {
            let many = read_indirect(self, node, &mut word, named, quoted) || !word.exactly_one;
            return (word, many);
        }
        let (length, body) = match inner.strip_prefix(b"#") {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, inner),
        };
        let name_length = name_length(body);
        let (name, mut rest) = body.split_at(name_length.min(body.len()));
        word.variables.push(name.to_vec());
        let mut many = matches!(name, b"@" | b"*");
        if name.is_empty() {
            self.incomplete(node);
            return (word, true);
        }
        if let Some(after) = rest.strip_prefix(b"[") {
            let end = after.iter().position(|byte| *byte == b']').unwrap_or(after.len());
            let (subscript, tail) = after.split_at(end);
            self.check_subscript(subscript, span);
            many |= matches!(subscript, b"@" | b"*");
            rest = tail.strip_prefix(b"]").unwrap_or(tail);
        }
        if rest.is_empty() {
            let known = name == b"HOME" && !length && !self.assigned.contains_key(name);
            if known && self.home_is_one_word(quoted) {
                word.text = Some(Vec::new());
            }
            word.only = (!length && body.len() == name.len()).then(|| name.to_vec());
            return (word, many && !length);
        }
        if length {
            self.incomplete(node);
        }
        let from = node.end_byte() - 1 - rest.len();
        read_operator(self, node, &mut word, rest, from, quoted);
        let many = many || !word.exactly_one;
        (word, many)
    }

    /// Whether the value of HOME is known, and stays one word where it is not quoted.
    pub(super) fn home_is_one_word(&self, unsplit: bool) -> bool {
        self.surroundings.has_plain_home() && (unsplit || self.surroundings.splits_as_usual)
    }

    /// In a pattern or an operand bash runs `<(cmd)`, and the grammar has no node for it.
    pub(super) fn check_process_substitution(&mut self, node: Node<'_>) {
        if self.source.text_of(node).windows(2).any(|pair| matches!(pair, b"<(" | b">(")) {
            self.incomplete(node);
        }
    }
}

/// Reads `${!NAME}`. The value names the variable and may contain a subscript, unless the text itself only
/// assigns plain names. `${!NAME@}` lists names, `${!NAME[@]}` subscripts. Returns whether it may become
/// several words even inside quotes.
fn read_indirect(
    builder: &mut Builder<'_>,
    node: Node<'_>,
    word: &mut Word,
    inner: &[u8],
    quoted: bool,
) -> bool {
    let span = builder.source.span_of(node);
    let (name, rest) = inner.split_at(name_length(inner).min(inner.len()));
    let plain = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if !plain {
        builder.problem("arithmetic_evaluation", span);
        return true;
    }
    if matches!(rest, b"@" | b"*" | b"[@]" | b"[*]") {
        return true;
    }
    let value_is_used = !matches!(rest, [b'+', ..] | [b':', b'+', ..]);
    builder.indirect_reads.push(IndirectRead { name: name.to_vec(), value_is_used, span });
    if rest.starts_with(b"[") {
        builder.problem("arithmetic_evaluation", span);
    } else if !rest.is_empty() {
        read_operator(builder, node, word, rest, node.end_byte() - 1 - rest.len(), quoted);
    }
    rest.starts_with(b"[")
}

fn read_operator(
    builder: &mut Builder<'_>,
    node: Node<'_>,
    word: &mut Word,
    rest: &[u8],
    from: usize,
    quoted: bool,
) {
    let span = builder.source.span_of(node);
    match rest {
        [b'@', b'P'] => builder.problem("prompt_expansion", span),
        [b'@', b'Q' | b'E' | b'A' | b'a' | b'U' | b'u' | b'L' | b'K' | b'k'] => {}
        [b':', b'=', ..] | [b'=', ..] => {
            match word.variables.first().cloned() {
                Some(name) => builder.note_value(name, ValueProperties::UNKNOWN, span),
                // The name of the variable that is set is the value of another variable.
                None => builder.problem("arithmetic_evaluation", span),
            }
            word.hazards.push(builder.hazard("command_substitution", node.start_byte(), node.end_byte()));
            read_operand(builder, node, word, from, quoted);
        }
        [b':', b'-' | b'+' | b'?', ..] | [b'-' | b'+' | b'?', ..] => {
            read_operand(builder, node, word, from, quoted);
        }
        [b'#' | b'%' | b'/' | b'^' | b',', ..] => read_operand(builder, node, word, from, quoted),
        [b':', offsets @ ..] => {
            let plain = |b: &u8| b.is_ascii_digit() || matches!(b, b':' | b' ' | b'-');
            if !offsets.iter().all(plain) {
                builder.problem("arithmetic_evaluation", span);
                read_operand(builder, node, word, from, quoted);
            }
        }
        _ => builder.incomplete(node),
    }
}

/// Searches the text after the operator for substitutions.
fn read_operand(builder: &mut Builder<'_>, node: Node<'_>, word: &mut Word, from: usize, quoted: bool) {
    let mode = if quoted { Mode::Quoted } else { Mode::Loose };
    let children = children_of(node);
    if !quoted {
        builder.check_process_substitution(node);
    }
    let mut words = Vec::new();
    builder.region(from, node.end_byte() - 1, &children, mode, &mut words);
    for found in words {
        word.exactly_one &= found.exactly_one;
        word.variables.extend(found.variables);
        word.hazards.extend(found.hazards);
        word.substitutions.extend(found.substitutions);
    }
}

fn name_length(body: &[u8]) -> usize {
    match body.first() {
        Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
        Some(byte) if byte.is_ascii_digit() => body.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => body.iter().take_while(|byte| is_name_byte(**byte)).count(),
    }
}
