//! Candidates for an uncertain program name, from the text itself: values of variables, the output of `echo`, arguments
//! of a function. Deny and ask rules also apply to these commands. They never cause an ALLOW, because the program of
//! the original command is still unknown.

use std::collections::HashMap;

use crate::launch::base_name;
use crate::parse::{Assign, RedirOp, Simple, Statement, Word, is_name_byte};

/// The largest number of values per variable, and of candidates per word.
const MOST: usize = 8;
/// The largest number of variables.
const MOST_VARIABLES: usize = 64;

/// Builtins that set variables named in their words.
const SETTERS: &[&[u8]] = &[b"declare", b"typeset", b"local", b"export", b"readonly", b"set", b"printf"];

/// The values that the text assigns to variables anywhere.
#[derive(Default)]
pub(super) struct Values {
    of: HashMap<Vec<u8>, Vec<Vec<u8>>>,
}

impl Values {
    fn add(&mut self, name: &[u8], value: Vec<u8>) {
        if self.of.len() >= MOST_VARIABLES {
            return;
        }
        let known = self.of.entry(name.to_vec()).or_default();
        if known.len() < MOST && !known.contains(&value) {
            known.push(value);
        }
    }

    /// Records `x=value`, the elements of an array, or the words of a `for`.
    pub(super) fn assigned(&mut self, assign: &Assign) {
        let texts: Vec<Vec<u8>> = assign.values.iter().filter_map(|word| word.text.clone()).collect();
        if texts.len() > 1 {
            self.add(&assign.name, texts.join(&b' '));
        }
        texts.into_iter().for_each(|text| self.add(&assign.name, text));
    }

    /// Records `declare x=value`, `set -- values` and `printf -v x value`.
    pub(super) fn set_by(&mut self, words: &[Word]) {
        let program = words.first().and_then(|word| word.text.as_deref()).unwrap_or_default();
        if !SETTERS.contains(&program) {
            return;
        }
        let texts: Option<Vec<&[u8]>> = words.iter().map(|word| word.text.as_deref()).collect();
        match texts.as_deref() {
            Some([b"set", b"--", rest @ ..]) => {
                self.add(b"@", rest.join(&b' '));
                self.add(b"*", rest.join(&b' '));
                for (index, text) in rest.iter().enumerate().take(9) {
                    self.add((index + 1).to_string().as_bytes(), text.to_vec());
                }
            }
            Some([b"printf", b"-v", name, rest @ ..]) => self.add(name, printed(rest)),
            Some([_, rest @ ..]) => {
                for text in rest {
                    if let Some(name) = crate::parse::assignment_name(text) {
                        self.add(name, text.get(name.len() + 1..).unwrap_or_default().to_vec());
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the possible names of the word.
    pub(super) fn names(&self, program: &Word) -> Vec<Vec<u8>> {
        if let [substitution] = program.substitutions.as_slice() {
            let [body] = substitution.body.as_slice() else {
                return Vec::new();
            };
            return output(body).into_iter().collect();
        }
        let text = Some(program.written.as_slice()).filter(|text| !text.is_empty());
        let mut names = vec![Vec::new()];
        for part in text.and_then(parts).unwrap_or_else(|| rough_parts(program)) {
            let values = match part {
                Part::Text(text) => vec![text],
                Part::Variable(name, default) => {
                    let given = self.of.get(&name).into_iter().flatten().cloned();
                    given.chain(default).collect()
                }
            };
            names = names
                .iter()
                .flat_map(|start| values.iter().map(move |value| [start.as_slice(), value].concat()))
                .take(MOST)
                .collect();
        }
        names.retain(|name| !name.is_empty());
        names
    }
}

enum Part {
    Text(Vec<u8>),
    /// A variable's name, and the value that it has if it is unset.
    Variable(Vec<u8>, Option<Vec<u8>>),
}

/// Returns the parts of a word's text.
fn parts(text: &[u8]) -> Option<Vec<Part>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'"' => {}
            b'\'' => {
                let end = tail.iter().position(|byte| *byte == b'\'')?;
                out.push(Part::Text(tail.get(..end)?.to_vec()));
                rest = tail.get(end + 1..)?;
            }
            b'$' if tail.first() == Some(&b'{') => {
                let end = tail.iter().position(|byte| *byte == b'}')?;
                out.push(braced(tail.get(1..end)?)?);
                rest = tail.get(end + 1..)?;
            }
            b'$' => {
                let length = tail.iter().take_while(|byte| is_name_byte(**byte)).count().max(1);
                out.push(Part::Variable(tail.get(..length)?.to_vec(), None));
                rest = tail.get(length..)?;
            }
            b'\\' => {
                let (escaped, tail) = tail.split_first()?;
                out.push(Part::Text(vec![*escaped]));
                rest = tail;
            }
            b'`' | b'(' | b')' | b'{' | b'*' | b'?' | b'[' => return None,
            other => out.push(Part::Text(vec![*other])),
        }
    }
    Some(out)
}

/// Parses `${x}`, `${x[0]}` and `${x:-word}`.
fn braced(text: &[u8]) -> Option<Part> {
    let length = text.iter().take_while(|byte| is_name_byte(**byte)).count();
    let (name, rest) = text.split_at_checked(length)?;
    let rest = if rest.starts_with(b"[") { rest.split(|byte| *byte == b']').nth(1)? } else { rest };
    let operator = rest.strip_prefix(b":").unwrap_or(rest);
    match operator.split_first() {
        None if length > 0 => Some(Part::Variable(name.to_vec(), None)),
        None if matches!(text, b"@" | b"*") => Some(Part::Variable(text.to_vec(), None)),
        Some((b'-' | b'=' | b'+', word)) if !word.contains(&b'$') => {
            Some(Part::Variable(name.to_vec(), Some(word.to_vec())))
        }
        _ => None,
    }
}

/// Returns the parts of a word as far as the parsed word contains them.
fn rough_parts(word: &Word) -> Vec<Part> {
    if word.glob || word.hazards.iter().any(|hazard| hazard.code == "command_substitution") {
        return Vec::new();
    }
    let start = std::iter::once(Part::Text(word.lead.clone()));
    start.chain(word.variables.iter().map(|name| Part::Variable(name.clone(), None))).collect()
}

/// Returns the output of a statement, if its words determine it.
pub(super) fn output(statement: &Statement) -> Option<Vec<u8>> {
    let Statement::Simple(simple) = statement else {
        return None;
    };
    let texts: Option<Vec<&[u8]>> = simple.words.iter().map(|word| word.text.as_deref()).collect();
    let (program, rest) = texts.as_deref()?.split_first()?;
    match (base_name(program), rest) {
        (b"cat", []) => given(simple),
        (b"echo", rest) => Some(echoed(rest)),
        (b"printf", [b"--", rest @ ..] | rest) => Some(printed(rest)),
        (b"which", [name]) | (b"command", [b"-v", name]) | (b"type", [b"-p" | b"-P", name]) => {
            Some(name.to_vec())
        }
        _ => None,
    }
}

/// Returns the text of the command's heredoc.
fn given(simple: &Simple) -> Option<Vec<u8>> {
    let here = simple.redirects.iter().rev();
    let mut here = here.filter(|redirect| matches!(redirect.op, RedirOp::Heredoc | RedirOp::HereString));
    here.next()?.target.as_ref()?.text.clone()
}

fn echoed(words: &[&[u8]]) -> Vec<u8> {
    let flags = words.iter().take_while(|word| {
        word.len() > 1
            && word.strip_prefix(b"-").is_some_and(|flags| flags.iter().all(|f| b"neE".contains(f)))
    });
    let (flags, text) = words.split_at_checked(flags.count()).unwrap_or((&[], words));
    let text = text.join(&b' ');
    if flags.iter().any(|flags| flags.contains(&b'e')) { decoded(&text) } else { text }
}

/// Returns the output of `printf` for a format and its arguments; only `%s` and `%b` are supported.
fn printed(words: &[&[u8]]) -> Vec<u8> {
    let Some((format, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let format = decoded(format);
    let mut arguments = arguments.iter();
    let mut out = Vec::new();
    loop {
        let before = arguments.len();
        let mut bytes = format.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => match bytes.next() {
                    Some(b'%') => out.push(b'%'),
                    _ => out.extend_from_slice(arguments.next().copied().unwrap_or_default()),
                },
                other => out.push(*other),
            }
        }
        if arguments.len() == 0 || arguments.len() == before {
            return out;
        }
    }
}

/// Replaces escapes as in `$'...'`.
fn decoded(text: &[u8]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> =
        text.split(|byte| *byte == b'\'').map(|part| crate::parse::ansi_c(part).0).collect();
    parts.join(&b'\'')
}
