//! Substitutions with output that consists only of numbers, whatever their input is. They are safe
//! in text that bash evaluates. Other effects are not considered.

use super::arithmetic::is_number;
use super::tree::{RedirOp, Simple, Statement, SubKind, Substitution, Word};

impl Substitution {
    /// Reports whether the output is one number or empty.
    pub(crate) fn is_count(&self) -> bool {
        self.last().is_some_and(|simple| {
            let (program, rest) = split(simple);
            match program {
                b"wc" => is_wc(rest),
                b"date" => is_date(rest),
                b"stat" => is_stat(rest),
                b"id" => matches!(rest, [flag] if matches!(text(flag), b"-u" | b"-g")),
                b"nproc" => rest.is_empty(),
                _ => false,
            }
        })
    }

    /// Reports whether the output is numbers, one per line.
    pub(super) fn is_sequence(&self) -> bool {
        self.last().is_some_and(|simple| {
            let (program, rest) = split(simple);
            program == b"seq" && !rest.is_empty() && rest.iter().all(is_number)
        })
    }

    /// Returns the command that produces the output.
    fn last(&self) -> Option<&Simple> {
        let last = match self.body.as_slice() {
            [Statement::Pipeline(parts)] => parts.last(),
            [statement] => Some(statement),
            _ => None,
        };
        match last {
            Some(Statement::Simple(simple)) if self.kind == SubKind::Command => {
                let silent = |text: Option<&[u8]>| text == Some(b"/dev/null");
                let reads = simple.redirects.iter().all(|redirect| match redirect.op {
                    RedirOp::Read => true,
                    RedirOp::Write => {
                        redirect.descriptor == Some(2)
                            && silent(redirect.target.as_ref().and_then(|target| target.text.as_deref()))
                    }
                    _ => false,
                });
                (reads && simple.assignments.is_empty()).then_some(simple)
            }
            _ => None,
        }
    }
}

fn text(word: &Word) -> &[u8] {
    word.text.as_deref().unwrap_or_default()
}

fn split(simple: &Simple) -> (&[u8], &[Word]) {
    simple.words.split_first().map_or((b"", &[]), |(program, rest)| (text(program), rest))
}

/// Recognizes wc without file operands. With them, wc also prints the names of the files.
fn is_wc(rest: &[Word]) -> bool {
    matches!(rest, [flag] if matches!(text(flag), b"-l" | b"-w" | b"-c" | b"-m"))
}

/// Recognizes date with a numeric format.
fn is_date(rest: &[Word]) -> bool {
    let mut formats = 0;
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match (text(word), word.lead.as_slice()) {
            (b"-u", _) => {}
            (b"-d", _) => {
                if !rest.next().is_some_and(|value| value.exactly_one) {
                    return false;
                }
            }
            ([b'+', format @ ..], _) if is_digits_of_time(format) => formats += 1,
            (_, lead) if word.exactly_one && lead.starts_with(b"--date=") => {}
            _ => return false,
        }
    }
    formats == 1
}

fn is_digits_of_time(format: &[u8]) -> bool {
    let digits = |pair: &[u8]| matches!(pair, [b'%', letter] if b"sYymdHMSjNuw".contains(letter));
    !format.is_empty() && format.chunks(2).all(digits)
}

/// Recognizes stat that prints a size or time of one named file.
fn is_stat(rest: &[Word]) -> bool {
    let ([_, file] | [_, _, file]) = rest else {
        return false;
    };
    let format = match rest {
        [flag, format, _] if text(flag) == b"-c" => text(format),
        [flag, _] => text(flag).strip_prefix(b"--format=").unwrap_or_default(),
        _ => return false,
    };
    let named = file.text.is_some() && !file.lead.starts_with(b"-");
    named && matches!(format, b"%s" | b"%b" | b"%X" | b"%Y" | b"%Z" | b"%W" | b"%i" | b"%h" | b"%u" | b"%g")
}
