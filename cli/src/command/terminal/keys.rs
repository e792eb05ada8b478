//! Forwards typed keys to a command, and finds the detach keys among them.

use tokio::io::{self, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// The number of bytes per read.
const READ: usize = 4096;
/// The largest number of keys in a sequence.
const MOST: usize = 16;

/// Keys that are typed one after the other. An empty sequence never matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::command) struct Sequence(Vec<u8>);

/// Parses a sequence such as `ctrl-p,ctrl-q` or `~,.`.
pub(super) fn sequence(text: &str) -> Result<Sequence, String> {
    if text.is_empty() {
        return Ok(Sequence::default());
    }
    let keys: Vec<u8> = text.split(',').map(key).collect::<Option<_>>().ok_or(
        "expected characters, or ctrl- and one of a-z @ [ \\ ] ^ _, separated by commas, such as ctrl-p,ctrl-q",
    )?;
    if keys.len() > MOST {
        return Err(format!("the sequence has {} keys; at most {MOST} are allowed", keys.len()));
    }
    Ok(Sequence(keys))
}

fn key(text: &str) -> Option<u8> {
    const CONTROL: u8 = 0x1f;
    let [key] = text.strip_prefix("ctrl-").unwrap_or(text).as_bytes() else { return None };
    match text.len() {
        1 => key.is_ascii_graphic().then_some(*key),
        _ => matches!(key, b'a'..=b'z' | b'@' | b'['..=b'_').then_some(*key & CONTROL),
    }
}

/// Finds a sequence in typed keys.
struct Finder<'a> {
    sequence: &'a [u8],
    /// The part of the sequence that was typed so far, held back.
    held: Vec<u8>,
}

impl Finder<'_> {
    /// Appends the keys for the command to `out`. Returns true if the sequence is complete.
    fn pass(&mut self, typed: &[u8], out: &mut Vec<u8>) -> bool {
        if self.sequence.is_empty() {
            out.extend_from_slice(typed);
            return false;
        }
        for key in typed {
            self.held.push(*key);
            while !self.sequence.starts_with(&self.held) {
                out.push(self.held.remove(0));
            }
            if self.held == self.sequence {
                return true;
            }
        }
        false
    }
}

/// Forwards standard input. Returns when `detach` was typed or the input has ended.
pub(super) async fn read(detach: &Sequence, mut to: DuplexStream) {
    let mut stdin = io::stdin();
    let mut finder = Finder { sequence: &detach.0, held: Vec::new() };
    let mut typed = vec![0; READ];
    let mut out = Vec::new();
    loop {
        let read = match stdin.read(&mut typed).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let found = finder.pass(typed.get(..read).unwrap_or_default(), &mut out);
        if found {
            return;
        }
        // Even if the command takes no more input, the detach keys must still work.
        let _ = to.write_all(&out).await;
        out.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_characters_or_with_ctrl() {
        let bytes = |text| sequence(text).map(|sequence| sequence.0);
        assert_eq!(bytes("ctrl-p,ctrl-q").unwrap(), [0x10, 0x11]);
        assert_eq!(bytes("~,.").unwrap(), *b"~.");
        assert_eq!(bytes("ctrl-@,ctrl-[,ctrl-\\,ctrl-],ctrl-^,ctrl-_").unwrap(), [0, 27, 28, 29, 30, 31]);
        assert!(bytes("").unwrap().is_empty());
        for bad in ["ctrl-", "ctrl-P", "ctrl-1", "ab", "a,,b", " ", "\u{e9}", "ctrl-ab", ","] {
            assert!(bytes(bad).unwrap_err().contains("such as ctrl-p,ctrl-q"), "{bad:?}");
        }
        assert!(bytes(&vec!["a"; 17].join(",")).unwrap_err().contains("at most 16"));
    }

    /// Returns the bytes that the command receives, and whether the sequence was found.
    fn passed(keys: &str, pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let sequence = sequence(keys).unwrap();
        let mut finder = Finder { sequence: &sequence.0, held: Vec::new() };
        let mut out = Vec::new();
        let found = pieces.iter().any(|piece| finder.pass(piece, &mut out));
        (out, found)
    }

    #[test]
    fn the_sequence_is_found_across_reads_and_nothing_else_is_lost() {
        for (keys, pieces, out, found) in [
            ("ctrl-p,ctrl-q", &[&b"ls\x10\x11more"[..]][..], &b"ls"[..], true),
            ("ctrl-p,ctrl-q", &[b"ls\x10", b"\x11"], b"ls", true),
            ("ctrl-p,ctrl-q", &[b"\x10\x10", b"\x11"], b"\x10", true),
            ("ctrl-p,ctrl-q", &[b"\x10", b"ls\x11"], b"\x10ls\x11", false),
            ("ctrl-p,ctrl-q", &[b"\x11\x10"], b"\x11", false),
            ("a,a,b", &[b"aaaab"], b"aa", true),
            ("a,b,a,c", &[b"ababac"], b"ab", true),
            ("", &[b"\x10\x11"], b"\x10\x11", false),
        ] {
            assert_eq!(passed(keys, pieces), (out.to_vec(), found), "{keys} {pieces:?}");
        }
    }
}
