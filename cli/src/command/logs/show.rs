//! Prints pieces of output as bytes, as lines with their offsets and numbers, or as JSON.

use std::io::Write as _;

use tokio::io;

use super::super::{Failure, output};
use crate::render::{escape, json, names};
use airlock_client::{
    OutputPiece,
    v1::{OutputDone, OutputLine, OutputStream},
};

/// The destination and form of one stream's pieces.
pub(super) struct Show {
    stream: OutputStream,
    /// Write to standard output, even if the stream is standard error.
    chosen: bool,
    json: bool,
    offsets: bool,
    numbers: bool,
    /// Whether matches are shown with context lines.
    grouped: bool,
    /// Whether the next byte starts a line.
    at_line: bool,
    /// The offset at which an adjacent next line would start.
    next_line: Option<u64>,
    stdout: io::Stdout,
    stderr: io::Stderr,
}

impl Show {
    pub(super) fn new(stream: OutputStream, chosen: bool, json: bool, offsets: bool) -> Self {
        Self {
            stream,
            chosen,
            json,
            offsets,
            numbers: false,
            grouped: false,
            at_line: true,
            next_line: None,
            stdout: io::stdout(),
            stderr: io::stderr(),
        }
    }

    /// Sets the form for a search.
    pub(super) fn lines(self, numbers: bool, grouped: bool) -> Self {
        Self { numbers, grouped, ..self }
    }

    /// Shows one piece, and returns the summary if it is the last one.
    pub(super) async fn piece<'a>(
        &mut self,
        piece: &'a OutputPiece,
    ) -> Result<Option<&'a OutputDone>, Failure> {
        let name = names::lower::<OutputStream>(self.stream.into());
        if self.json {
            let line = format!("{}\n", json::piece(&name, piece));
            output::write(&mut self.stdout, escape::json(&line).as_bytes()).await?;
        }
        match piece {
            OutputPiece::Done(done) => return Ok(Some(done)),
            OutputPiece::Gap { from, to } => {
                output::note(&format!(
                    "{} bytes of {name} are no longer held (from offset {from} to {to})",
                    to - from
                ));
                self.at_line = true;
            }
            _ if self.json => {}
            OutputPiece::Bytes { offset, data } if self.offsets => {
                let lines = self.with_offsets(*offset, data);
                self.write(&lines).await?;
            }
            OutputPiece::Bytes { data, .. } => self.write(data).await?,
            OutputPiece::Line(line) => {
                let line = self.line(line);
                self.write(&line).await?;
            }
        }
        Ok(None)
    }

    async fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        match self.stream {
            OutputStream::Stderr if !self.chosen => output::write(&mut self.stderr, data).await,
            _ => output::write(&mut self.stdout, data).await,
        }
    }

    fn with_offsets(&mut self, mut offset: u64, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len());
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            if self.at_line {
                let _ = write!(out, "{offset}:");
            }
            out.extend_from_slice(line);
            offset += line.len() as u64;
            self.at_line = line.ends_with(b"\n");
        }
        out
    }

    /// Formats a line as grep does: `--` where lines between two groups are omitted, `:` after the prefix of a match,
    /// and `-` after the prefix of a context line.
    fn line(&mut self, line: &OutputLine) -> Vec<u8> {
        let mut out = Vec::with_capacity(line.data.len() + 32);
        if self.grouped && self.next_line.is_some_and(|next| next != line.offset) {
            out.extend_from_slice(b"--\n");
        }
        self.next_line = Some(line.offset + line.data.len() as u64 + 1);
        let sign = if line.context { '-' } else { ':' };
        if self.numbers {
            let number = if line.number == 0 { "?".to_owned() } else { line.number.to_string() };
            let _ = write!(out, "{number}{sign}");
        }
        if self.offsets {
            let _ = write!(out, "{}{sign}", line.offset);
        }
        out.extend_from_slice(&line.data);
        if line.truncated {
            out.extend_from_slice(b" [...]");
        }
        out.push(b'\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(offset: u64, data: &'static str, context: bool) -> OutputLine {
        OutputLine { offset, data: data.into(), number: offset + 1, context, ..Default::default() }
    }

    #[test]
    fn lines_look_as_with_grep() {
        let mut show = Show::new(OutputStream::Stdout, false, false, true).lines(true, true);
        let mut out = Vec::new();
        for one in [line(0, "a", false), line(2, "b", true), line(9, "c", false)] {
            out.extend(show.line(&one));
        }
        assert_eq!(String::from_utf8(out).unwrap(), "1:0:a\n3-2-b\n--\n10:9:c\n");
    }

    #[test]
    fn offsets_stand_where_lines_begin() {
        let mut show = Show::new(OutputStream::Stdout, false, false, true);
        let mut out = show.with_offsets(10, b"a\nb");
        out.extend(show.with_offsets(13, b"c\n"));
        assert_eq!(out, b"10:a\n12:bc\n");
    }
}
