//! Marks lines of an output that look like Airlock's own.

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
