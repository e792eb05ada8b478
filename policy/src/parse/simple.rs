//! Simple commands: words, assignments and redirects, in the order in which bash sees them.

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::{children_of, is_word, kind_of};
use super::messages::commit_messages;
use super::names::{assignment_name, is_name_byte};
use super::piece::Mode;
use super::tree::{Assign, Redir, RedirOp, Simple, Statement, ValueProperties, Word};

/// Words that cannot be a command's name. The grammar can read them as one after text that confused it.
pub(crate) const RESERVED: &[&[u8]] = &[
    b"{",
    b"}",
    b"!",
    b"if",
    b"then",
    b"else",
    b"elif",
    b"fi",
    b"do",
    b"done",
    b"case",
    b"esac",
    b"for",
    b"select",
    b"while",
    b"until",
    b"function",
    b"in",
    b"[[",
    b"]]",
    b"((",
    b"coproc",
];

/// Builtins that set the variables that their words name.
const SETTERS: &[&[u8]] = &[
    b"read",
    b"mapfile",
    b"readarray",
    b"printf",
    b"getopts",
    b"let",
    b"wait",
    b"eval",
    b"builtin",
    b"command",
    b"local",
    b"declare",
    b"typeset",
    b"export",
    b"readonly",
];

/// Builtins that run a text in the shell itself, which may set any variable.
const RUN_TEXT: &[&[u8]] = &[b"eval", b"trap", b"source", b"."];

/// Reports whether the word, run as text, may set a variable.
fn may_set(word: &Word) -> bool {
    let holds = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|found| found == part);
    word.text.as_deref().is_none_or(|text| {
        let setters = SETTERS.iter().filter(|name| **name != b"eval").copied();
        let arithmetic = [&b"(("[..], b"$["];
        let mut words = text.split(|byte| !byte.is_ascii_alphanumeric());
        text.contains(&b'=')
            || setters.chain(arithmetic).any(|part| holds(text, part))
            || words.any(|word| matches!(word, b"for" | b"select"))
    })
}

/// Returns the words after each `time`, its flags and the assignments that follow: the command that
/// bash itself runs.
pub(crate) fn behind_time(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let Some((_, tail)) = rest.split_first().filter(|(word, _)| word.text.as_deref() == Some(b"time")) {
        let belongs = |word: &Word| word.lead.starts_with(b"-") || assignment_name(&word.lead).is_some();
        rest =
            tail.iter().position(|word| !belongs(word)).map_or(&[], |at| tail.get(at..).unwrap_or_default());
    }
    rest
}

impl Builder<'_> {
    pub(super) fn simple(&mut self, node: Node<'_>) -> Statement {
        let mut simple = Simple { span: self.source.span_of(node), ..Simple::default() };
        if kind_of(node) == "variable_assignment" {
            let assign = read_assignment(self, node);
            simple.assignments.push(assign);
            return Statement::Simple(simple);
        }
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut words = Vec::new();
        let before = self.problem_count();
        for child in children {
            match kind_of(child) {
                _ if child.is_missing() => self.incomplete(child),
                "variable_assignment" if words.is_empty() => {
                    let assign = read_assignment(self, child);
                    simple.assignments.push(assign);
                }
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut simple.redirects, &mut simple.words);
                }
                _ if is_word(child) => words.push(child),
                _ => {
                    let found = self.unlisted(child);
                    drop(found);
                }
            }
        }
        self.words_of(&words, &mut simple.words);
        simple.words.sort_by_key(|word| word.span);
        simple.take_descriptors();
        let program_source = words.first().copied();
        check_program(self, &mut simple, program_source);
        commit_messages(self, &simple.words, before);
        check_words(self, &simple.words);
        Statement::Simple(simple)
    }

    /// Checks a command again after it was given the words that follow a redirect.
    pub(super) fn check_completed(&mut self, simple: &mut Simple) {
        check_program(self, simple, None);
        check_words(self, &simple.words);
    }

    /// Reads `export`, `declare`, `local`, `readonly`, `typeset` or `unset`.
    pub(super) fn declaration(&mut self, node: Node<'_>) -> Statement {
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut simple = Simple { span: self.source.span_of(node), ..Simple::default() };
        let mut words = Vec::new();
        for child in children {
            if child.is_missing() || child.is_error() {
                self.incomplete(child);
            }
            if kind_of(child) == "variable_assignment" {
                let mut assign = read_assignment(self, child);
                // They are listed with the words.
                assign.values.iter_mut().for_each(|value| value.substitutions.clear());
                self.note_assignment(assign.name.clone(), ValueProperties::UNKNOWN, assign.span);
                simple.assignments.push(assign);
            }
            words.push(child);
        }
        self.words_of(&words, &mut simple.words);
        check_words(self, &simple.words);
        Statement::Simple(simple)
    }

    /// Reads a redirect. Words after its target are words of the command.
    pub(super) fn redirect(&mut self, node: Node<'_>, redirects: &mut Vec<Redir>, words: &mut Vec<Word>) {
        check_named_descriptor(self, node);
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut descriptor = None;
        let mut operator = None;
        let mut operands = Vec::new();
        for child in children {
            match kind_of(child) {
                _ if child.is_missing() || child.is_error() => self.incomplete(child),
                "file_descriptor" => {
                    descriptor = self.source.descriptor(child);
                    if descriptor.is_none() {
                        // In bash this is a word or a part of one.
                        self.incomplete(child);
                    }
                }
                kind if operator.is_none() && redirect_operator(kind).is_some() => {
                    operator = redirect_operator(kind);
                }
                _ => operands.push(child),
            }
        }
        let mut targets = Vec::new();
        self.words_of(&operands, &mut targets);
        let Some((text, op)) = operator else {
            self.incomplete(node);
            words.append(&mut targets);
            return;
        };
        let closing = matches!(text, ">&-" | "<&-");
        let mut target = (!closing && !targets.is_empty()).then(|| targets.remove(0));
        if let Some(target) = target.as_mut().filter(|_| op == RedirOp::Write) {
            read_nul(self, target);
        }
        // bash reads the dash of `>& -f` as the whole target. Braces in a target are literal or an error.
        let misread = target.as_ref().is_some_and(|target| {
            let dash = op == RedirOp::Duplicate && target.lead.starts_with(b"-") && target.lead != b"-";
            // In `>& FILE` bash expands the name twice.
            let twice = text == ">&" && resolve(op, Some(target)) != op && !target.bare;
            dash || twice || target.braced
        });
        // `3&>f` is the word `3` and a redirect.
        let no_descriptor = descriptor.is_some() && text.starts_with('&');
        if (!closing && target.is_none()) || misread || no_descriptor || !ends_word(self, node) {
            self.incomplete(node);
        }
        let span = target.as_ref().map_or(self.source.span_of(node), |target| {
            crate::Span::new(self.source.span_of(node).start, target.span.end)
        });
        redirects.push(Redir { op: resolve(op, target.as_ref()), text, descriptor, target, span });
        words.append(&mut targets);
    }
}

/// Checks the words that builtins interpret.
fn check_words(builder: &mut Builder<'_>, words: &[Word]) {
    note_setters(builder, words);
    builder.check_evaluated_words(words);
}

/// Records variables that builtins set to values that are not in the text.
fn note_setters(builder: &mut Builder<'_>, words: &[Word]) {
    let command = behind_time(words);
    for word in words.iter().take(words.len() - command.len()) {
        if let Some(name) = assignment_name(&word.lead) {
            builder.note_value(name.to_vec(), ValueProperties::UNKNOWN, word.span);
        }
    }
    let words = command;
    let prefix = |word: &&Word| matches!(word.text.as_deref(), Some(b"builtin" | b"command"));
    let program = words.iter().find(|word| !prefix(word)).and_then(|word| word.text.as_deref());
    builder.sets_anything |=
        program.is_some_and(|name| RUN_TEXT.contains(&name)) && words.iter().any(may_set);
    let written = words.first().and_then(|word| word.text.as_deref());
    if written.is_some_and(|name| SETTERS.contains(&name)) {
        words.iter().skip(1).for_each(|word| builder.note_set_by_word(word));
    }
}

/// Checks that the word in the program's position can be a program.
fn check_program(builder: &mut Builder<'_>, simple: &mut Simple, program_source: Option<Node<'_>>) {
    if let Some(program) = simple.words.first_mut().filter(|program| program.heredoc_text) {
        program.text = None;
    }
    let Some(program) = simple.words.first() else {
        return;
    };
    if program.braced {
        builder.problem("brace_expansion", program.span);
    }
    if program.text.as_deref() == Some(b"find") {
        check_find_flags(builder, &simple.words);
    }
    let raw_program = program_source.map(|node| builder.source.text_of(node)).unwrap_or_default();
    let text = program.text.as_deref().unwrap_or_default();
    let reserved = program.bare && RESERVED.contains(&text);
    let assignment = assignment_name(&program.lead).is_some() && program.bare;
    if (reserved && text != b"coproc") || assignment {
        builder.problem("parse_incomplete", program.span);
    }
    if let Some(code) = escaped_in_program(raw_program) {
        builder.problem(code, program.span);
    }
    if matches!(text, b"time" | b"coproc") {
        check_prefixed(builder, simple);
    }
}

/// Checks the flags of find, which are whole words with one dash and without values.
fn check_find_flags(builder: &mut Builder<'_>, words: &[Word]) {
    for word in words.iter().filter(|word| word.mixed && word.lead.starts_with(b"-")) {
        builder.problem("obfuscated_flags", word.span);
    }
}

/// Checks the words after `time` and `coproc`, which take a whole statement that the grammar does
/// not see.
fn check_prefixed(builder: &mut Builder<'_>, simple: &Simple) {
    // The first word may be a name, which only precedes a compound statement.
    let mut is_name = simple.words.first().is_some_and(|word| word.text.as_deref() == Some(b"coproc"));
    for word in simple.words.iter().skip(1) {
        let text = word.text.as_deref().unwrap_or_default();
        if word.bare && RESERVED.contains(&text) {
            builder.problem("parse_incomplete", word.span);
        }
        // bash also recognizes keywords after `time`.
        let goes_on = text.starts_with(b"-") || (word.bare && text == b"time");
        if !goes_on && !std::mem::take(&mut is_name) {
            break;
        }
    }
}

/// Checks `{name}>file`, which opens a descriptor. The grammar reads `{name}` as a word, and also the digits of
/// `0<file`. If spans distinguish the words, the digits are corrected later.
fn check_named_descriptor(builder: &mut Builder<'_>, redirect: Node<'_>) {
    let at = redirect.start_byte();
    let before = builder.source.slice(at.saturating_sub(1), at);
    if before == b"}" || (before.first().is_some_and(u8::is_ascii_digit) && !builder.source.has_spans()) {
        builder.problem("parse_incomplete", builder.source.span_of(redirect));
    }
}

fn read_assignment(builder: &mut Builder<'_>, node: Node<'_>) -> Assign {
    let children = children_of(node);
    let operator = children.iter().find(|child| matches!(kind_of(**child), "=" | "+="));
    let Some(operator) = operator.copied() else {
        builder.incomplete(node);
        return Assign {
            name: builder.source.text_of(node).to_vec(),
            values: Vec::new(),
            span: builder.source.span_of(node),
        };
    };
    let name = assigned_name(builder, node, operator);
    let array = children.iter().find(|child| kind_of(**child) == "array");
    let after = builder.source.slice(node.end_byte(), node.end_byte() + 1);
    let ends = after.iter().all(|byte| b" \t\n;|&<>()`}".contains(byte));
    if array.is_some() && !ends {
        builder.incomplete(node);
    }
    let values = match array {
        Some(array) => read_array(builder, *array),
        None => vec![read_value(builder, operator.end_byte(), node)],
    };
    let computed = matches!(values.as_slice(), [value] if is_computed(node, value));
    let one = values.len() == 1;
    let properties = if computed { ValueProperties::NUMBER } else { ValueProperties::of(&values) };
    let properties = ValueProperties { numeric: properties.numeric && one, ..properties };
    builder.note_value(name.clone(), properties, builder.source.span_of(node));
    Assign { name, values, span: builder.source.span_of(node) }
}

/// Reports whether the value is arithmetic, or a count from wc.
fn is_computed(node: Node<'_>, word: &Word) -> bool {
    let children = children_of(node);
    let kind = if let [_, _, value] = children.as_slice() { kind_of(*value) } else { "" };
    let count = matches!(word.substitutions.as_slice(), [one] if one.is_count());
    kind == "arithmetic_expansion" || (kind == "command_substitution" && count)
}

fn assigned_name(builder: &mut Builder<'_>, node: Node<'_>, operator: Node<'_>) -> Vec<u8> {
    let target = builder.source.slice(node.start_byte(), operator.start_byte());
    let length = target.iter().position(|byte| *byte == b'[');
    let (name, rest) = target.split_at(length.unwrap_or(target.len()).min(target.len()));
    if let Some(subscript) = rest.strip_prefix(b"[") {
        let subscript = subscript.strip_suffix(b"]").unwrap_or(subscript);
        builder.check_subscript(subscript, builder.source.span_of(node));
    }
    if !name.iter().copied().all(is_name_byte) {
        builder.incomplete(node);
    }
    name.to_vec()
}

fn read_value(builder: &mut Builder<'_>, start: usize, node: Node<'_>) -> Word {
    let mut words = Vec::new();
    builder.region(start, node.end_byte(), &[node], Mode::Value, &mut words);
    words.pop().unwrap_or_default()
}

fn read_array(builder: &mut Builder<'_>, node: Node<'_>) -> Vec<Word> {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    if children.iter().any(Node::is_missing) {
        builder.incomplete(node);
    }
    let inner: Vec<_> = children.into_iter().filter(|child| !matches!(kind_of(*child), "(" | ")")).collect();
    let mut words = Vec::new();
    builder.words_of(&inner, &mut words);
    for word in &words {
        if word.lead.starts_with(b"[") {
            builder.problem("arithmetic_evaluation", word.span);
        }
    }
    words
}

/// Reads `>nul` as `/dev/null`, which users of Windows mean by it. This requires that the text itself will run, so that
/// it can be changed there too.
fn read_nul(builder: &mut Builder<'_>, target: &mut Word) {
    let meant = target.bare && target.text.as_deref().is_some_and(|text| text.eq_ignore_ascii_case(b"nul"));
    if meant && builder.source.has_spans() {
        builder.null(target.span);
        *target = Word { bare: true, ..Word::known(b"/dev/null", target.span) };
    }
}

/// Reports whether bash also ends a word where the node ends.
fn ends_word(builder: &Builder<'_>, node: Node<'_>) -> bool {
    let behind = builder.source.slice(node.end_byte(), node.end_byte() + 1);
    let touches = node.next_sibling().is_some_and(|next| next.start_byte() == node.end_byte());
    let may_open_word = matches!(behind, b"`" | b"<" | b">") && touches;
    let opens = may_open_word && node.next_sibling().is_some_and(|next| is_word(next));
    behind.iter().all(|byte| b" \t\n;|&<>()`".contains(byte)) && !opens
}

fn redirect_operator(kind: &str) -> Option<(&'static str, RedirOp)> {
    let found = match kind {
        "<" => ("<", RedirOp::Read),
        ">" => (">", RedirOp::Write),
        ">>" => (">>", RedirOp::Write),
        ">|" => (">|", RedirOp::Write),
        "&>" => ("&>", RedirOp::Write),
        "&>>" => ("&>>", RedirOp::Write),
        "<>" => ("<>", RedirOp::Write),
        ">&" => (">&", RedirOp::Duplicate),
        "<&" => ("<&", RedirOp::Duplicate),
        ">&-" => (">&-", RedirOp::Duplicate),
        "<&-" => ("<&-", RedirOp::Duplicate),
        "<<<" => ("<<<", RedirOp::HereString),
        _ => return None,
    };
    Some(found)
}

/// Resolves `>&WORD`, which is a write unless the word is a descriptor.
fn resolve(op: RedirOp, target: Option<&Word>) -> RedirOp {
    let (RedirOp::Duplicate, Some(target)) = (op, target) else {
        return op;
    };
    let text = target.text.as_deref().unwrap_or_default();
    let digits = text.strip_suffix(b"-").unwrap_or(text);
    let descriptor = text == b"-" || (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    if descriptor { op } else { RedirOp::Write }
}

/// Detects an escaped space or operator in the program's position, which hides the end of its name.
fn escaped_in_program(source: &[u8]) -> Option<&'static str> {
    source.windows(2).find_map(|pair| match pair {
        [b'\\', b' ' | b'\t'] => Some("backslash_escaped_whitespace"),
        [b'\\', b';' | b'|' | b'&' | b'<' | b'>'] => Some("backslash_escaped_operators"),
        _ => None,
    })
}
