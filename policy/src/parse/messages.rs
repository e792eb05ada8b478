//! The text of `git commit -m`, a message in which line feeds and quotes do not mislead. A text is a message only if it
//! is completely known and no command produces it.

use super::build::Builder;
use super::tree::Word;

/// Problem codes that are harmless in a message.
const MAY_STAND: &[&str] = &["quoted_newline", "malformed_token_injection"];

/// Recognizes `--message=text` and `-mtext`.
fn holds_message(word: &[u8]) -> bool {
    word.starts_with(b"--message=") || (word.starts_with(b"-m") && word.len() > 2)
}

/// Recognizes `-m`, `-am` and `--message`: the next word is the message.
fn announces_message(word: &[u8]) -> bool {
    let cluster = word.strip_prefix(b"-").filter(|rest| !rest.starts_with(b"-"));
    word == b"--message"
        || cluster.is_some_and(|rest| matches!(rest, b"m" | b"am" | b"sm" | b"asm" | b"qm" | b"vm"))
}

/// Removes the problems of messages that were found after the first `before` problems.
pub(super) fn commit_messages(builder: &mut Builder<'_>, words: &[Word], before: usize) {
    let text = |index: usize| words.get(index).and_then(|word| word.text.as_deref());
    if text(0) != Some(b"git") || text(1) != Some(b"commit") || !builder.source.has_spans() {
        return;
    }
    let mut takes_message = false;
    for word in words.iter().skip(2) {
        let known = word.text.as_deref().filter(|_| word.substitutions.is_empty());
        if takes_message || known.is_some_and(holds_message) {
            if known.is_some() {
                let span = word.span;
                builder.take_back(before, |problem| {
                    let inside = span.start <= problem.span.start && problem.span.end <= span.end;
                    inside && MAY_STAND.contains(&problem.code)
                });
                builder.note("git_commit_message", span);
            }
            takes_message = false;
            continue;
        }
        if known == Some(b"--") {
            return;
        }
        takes_message = known.is_some_and(announces_message);
    }
}
