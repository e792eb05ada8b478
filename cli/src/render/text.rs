//! A result as text for a reader of the output: the output, then Airlock's notes. Each note starts with [`PREFIX`]. A
//! line of the output with the same start is marked, so that a command cannot forge a note.

mod mark;

use std::fmt::Write as _;

pub use mark::Marker;

use super::{cause, escape};
use airlock_client::v1::{InlineText, Note, Result as Outcome};

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
    if cause::exit_code(Some(outcome)) != 0 {
        let _ = writeln!(out, "{PREFIX}{}", cause::sentence(Some(outcome)));
    }
    for note in &outcome.notes {
        let _ = writeln!(out, "{PREFIX}{}", shown(note));
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;
    use airlock_client::v1::{Cause, CauseCode, InlineOutput, Started, cause::Detail, cause::Exited};

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
}
