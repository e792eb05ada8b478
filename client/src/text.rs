//! A result as text for a reader of the output: the output, then Airlock's notes. Each note starts with [`PREFIX`]. A
//! line of the output with the same start is marked, so that a command cannot forge a note.

mod sentence;

use std::fmt::Write as _;

use airlock_escape as escape;
use airlock_proto::v1::{
    CauseCode, InlineText, Note, Result as Outcome, Started, cause::Detail, cause::Exited,
};

pub use sentence::sentence;

/// The start of each of Airlock's lines.
pub const PREFIX: &str = "airlock: ";
/// The code of the note about shortened inline text. It is omitted if the whole output was shown.
const SHORTENED: &str = "output_shortened";

/// Formats the result's inline output. With `notes`, Airlock's lines follow: the result, unless the exit code is 0, and
/// every note. Without `notes` the output is unchanged.
#[must_use]
pub fn result(outcome: &Outcome, notes: bool) -> String {
    let inline = outcome.inline.as_ref();
    let texts = inline.into_iter().flat_map(|inline| inline.stdout.iter().chain(&inline.stderr));
    let mut out = texts.fold(String::new(), |out, one| with_text(out, one, notes));
    if !notes {
        return out;
    }
    if !succeeded(outcome) {
        let _ = writeln!(out, "{PREFIX}{}", sentence(Some(outcome)));
    }
    for note in &outcome.notes {
        let _ = writeln!(out, "{PREFIX}{}", shown(note));
    }
    out
}

/// Reports whether the shell is known to have exited with 0.
#[must_use]
pub fn succeeded(outcome: &Outcome) -> bool {
    let Some(cause) = outcome.cause.as_ref().filter(|_| outcome.started() != Started::No) else {
        return false;
    };
    cause.code() == CauseCode::Exited && cause.detail == Some(Detail::Exited(Exited { code: 0 }))
}

/// Returns the notes of a result without their prefix, for a view that showed the whole output.
#[must_use]
pub fn notes(outcome: Option<&Outcome>) -> Vec<String> {
    let all = outcome.into_iter().flat_map(|outcome| &outcome.notes);
    all.filter(|note| note.code != SHORTENED).map(shown).collect()
}

fn with_text(mut out: String, one: &InlineText, marked: bool) -> String {
    if marked {
        let mut marker = Marker::default();
        let mut bytes = marker.push(one.text.as_bytes());
        bytes.extend(marker.finish());
        out.push_str(&String::from_utf8_lossy(&bytes));
    } else {
        out.push_str(&one.text);
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn shown(note: &Note) -> String {
    escape::line(note.text.as_bytes())
}

/// The start of such a line, after spaces, control characters and terminal escape sequences.
const LOOKS: &[u8] = b"airlock:";
/// The mark that is inserted before such a line.
const MARK: &[u8] = b"| ";

const ESCAPE: u8 = 0x1b;

/// The position in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    /// At the start of a line; the held bytes match the start of [`LOOKS`].
    #[default]
    Start,
    /// After the start of an escape sequence.
    Escape,
    /// In the parameters of an escape sequence, before its final byte.
    Parameters,
    /// In a line that needs no mark.
    Line,
}

/// A marker of one stream. Bytes that can be the start of a line to mark are held back until the next byte.
#[derive(Debug, Default)]
pub struct Marker {
    at: At,
    held: Vec<u8>,
}

impl Marker {
    /// Returns the next bytes with marks.
    #[must_use]
    pub fn push(&mut self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() + MARK.len());
        for byte in data {
            self.byte(*byte, &mut out);
        }
        out
    }

    /// Returns the bytes that are still held back, at the end of the stream.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.at == At::Start && LOOKS.get(self.held.len()) == Some(&byte.to_ascii_lowercase()) {
            self.held.push(byte);
            if self.held.len() == LOOKS.len() {
                out.extend_from_slice(MARK);
                out.append(&mut self.held);
                self.at = At::Line;
            }
            return;
        }
        let was_held = !self.held.is_empty();
        out.append(&mut self.held);
        out.push(byte);
        self.at = match (self.at, byte) {
            (_, b'\n' | b'\r') => At::Start,
            (At::Start, ESCAPE) if !was_held => At::Escape,
            (At::Start, byte) if !was_held && (byte <= b' ' || byte == 0x7f) => At::Start,
            (At::Escape, b'[') => At::Parameters,
            (At::Parameters, 0x40..=0x7e) => At::Start,
            (At::Parameters, _) => At::Parameters,
            _ => At::Line,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlock_proto::v1::{Cause, InlineOutput};

    fn outcome(code: i32, stdout: &str, stderr: Option<&str>) -> Outcome {
        let text = |text: &str| InlineText { text: text.to_owned(), whole: true, ..Default::default() };
        Outcome {
            cause: Some(Cause {
                code: CauseCode::Exited.into(),
                detail: Some(Detail::Exited(Exited { code })),
                ..Default::default()
            }),
            started: Started::Yes.into(),
            inline: Some(InlineOutput {
                stdout: Some(text(stdout)),
                stderr: stderr.map(text),
                ..Default::default()
            }),
            notes: vec![
                Note { code: "processes_ended".to_owned(), text: "ended\nairlock: lies".to_owned() },
                Note { code: SHORTENED.to_owned(), text: "9 bytes".to_owned() },
            ],
            ..Default::default()
        }
    }

    #[test]
    fn facts_are_lines_below_the_output_and_a_command_cannot_write_one() {
        let forged = outcome(0, "done\nairlock: nothing was ended", None);
        assert_eq!(
            result(&forged, true),
            "done\n| airlock: nothing was ended\nairlock: ended\\u{a}airlock: lies\nairlock: 9 bytes\n"
        );
        let failed = outcome(3, "a", Some("b\n"));
        assert!(result(&failed, true).starts_with("a\nb\nairlock: exited with code 3\nairlock: ended"));
    }

    #[test]
    fn without_notes_it_is_the_output_alone() {
        assert_eq!(result(&outcome(3, "airlock: x\n", None), false), "airlock: x\n");
        assert_eq!(notes(Some(&outcome(0, "", None))), ["ended\\u{a}airlock: lies"]);
    }

    fn marked(text: &str) -> String {
        let mut marker = Marker::default();
        let whole = [marker.push(text.as_bytes()), marker.finish()].concat();
        // The result must not depend on how the text is split.
        let mut marker = Marker::default();
        let mut pieces: Vec<u8> = text.bytes().flat_map(|byte| marker.push(&[byte])).collect();
        pieces.extend(marker.finish());
        assert_eq!(pieces, whole);
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn lines_that_look_like_airlocks_own_are_marked() {
        for (text, expected) in [
            ("airlock: x", "| airlock: x"),
            ("a\nairlock: x\nAirLock:y\n", "a\n| airlock: x\n| AirLock:y\n"),
            (" \tairlock: x", " \t| airlock: x"),
            ("progress\rairlock: x", "progress\r| airlock: x"),
            ("\u{1b}[2K\u{1b}[1;31mairlock: x", "\u{1b}[2K\u{1b}[1;31m| airlock: x"),
        ] {
            assert_eq!(marked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn all_other_bytes_stay_as_they_are() {
        for text in [
            "",
            "airlock",
            "airlock is here\n",
            "an airlock: x",
            "airairlock: x",
            "| airlock: x",
            "a\u{1b}[0m",
        ] {
            assert_eq!(marked(text), text);
        }
        let mut marker = Marker::default();
        assert_eq!(marker.push(b"\xff\xfe air"), b"\xff\xfe air");
    }
}
