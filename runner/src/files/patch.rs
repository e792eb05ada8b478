//! Formats a file's change as a unified diff that `git apply` accepts.

use std::time::{Duration, Instant};

use airlock_domain::limits::PATCH_BYTES;
use similar::{
    Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops, udiff::UnifiedHunkHeader,
};

use super::baseline::is_text;

/// The time after which the diff need not be the shortest.
const THINKING: Duration = Duration::from_millis(500);
/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The reason why there is no patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Omitted {
    Binary,
    TooLarge,
    NotKept,
    NotAFile,
}

impl Omitted {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::NotKept => "not_kept",
            Self::NotAFile => "not_a_file",
        }
    }
}

/// One version of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) mode: u32,
    pub(super) content: Result<Vec<u8>, Omitted>,
}

/// Returns the diff between two versions, at least one of which exists. `path` is relative to the workspace's root.
///
/// # Errors
/// The reason why there is no patch.
pub(super) fn patch(path: &[u8], before: Option<&Side>, after: Option<&Side>) -> Result<Vec<u8>, Omitted> {
    let content = |side: Option<&Side>| side.map_or(Ok(Vec::new()), |side| side.content.clone());
    let (old, new) = match (content(before), content(after)) {
        (Err(Omitted::Binary), _) | (_, Err(Omitted::Binary)) => return Err(Omitted::Binary),
        (old, new) => (old?, new?),
    };
    if !is_text(&old) || !is_text(&new) {
        return Err(Omitted::Binary);
    }
    let mut out = head(path, before, after);
    if old != new {
        let name = |side: Option<&Side>, letter: u8| match side {
            Some(_) => quoted(letter, path),
            None => b"/dev/null".to_vec(),
        };
        // Git requires a tab after a name with a space.
        let tab: &[u8] = if path.contains(&b' ') { b"\t" } else { b"" };
        let tab = |side: Option<&Side>| if side.is_some() { tab } else { b"" };
        line(&mut out, &[b"--- ", &name(before, b'a'), tab(before)]);
        line(&mut out, &[b"+++ ", &name(after, b'b'), tab(after)]);
        hunks(&mut out, &old, &new, PATCH_BYTES)?;
    }
    if out.len() > PATCH_BYTES { Err(Omitted::TooLarge) } else { Ok(out) }
}

/// Returns the changes between two texts as a unified diff of at most `most` bytes, and whether it is incomplete. `None` if
/// one of them is not text. The diff is empty if they are equal.
pub(crate) fn unified_diff(path: &[u8], (old, new): (&[u8], &[u8]), most: usize) -> Option<(Vec<u8>, bool)> {
    if !is_text(old) || !is_text(new) {
        return None;
    }
    let mut out = Vec::new();
    if old == new {
        return Some((out, false));
    }
    let path = path.strip_prefix(b"/").unwrap_or(path);
    line(&mut out, &[b"--- ", &quoted(b'a', path)]);
    line(&mut out, &[b"+++ ", &quoted(b'b', path)]);
    let is_whole = hunks(&mut out, old, new, most).is_ok() && out.len() <= most;
    if !is_whole {
        out.truncate(most);
        out.truncate(out.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    }
    Some((out, !is_whole))
}

fn head(path: &[u8], before: Option<&Side>, after: Option<&Side>) -> Vec<u8> {
    let mut out = Vec::new();
    line(&mut out, &[b"diff --git ", &quoted(b'a', path), b" ", &quoted(b'b', path)]);
    let mut mode = |what: &str, mode: u32| line(&mut out, &[what.as_bytes(), &git_mode(mode)]);
    match (before, after) {
        (None, Some(after)) => mode("new file mode ", after.mode),
        (Some(before), None) => mode("deleted file mode ", before.mode),
        (Some(before), Some(after)) if before.mode != after.mode => {
            mode("old mode ", before.mode);
            mode("new mode ", after.mode);
        }
        _ => {}
    }
    out
}

fn git_mode(mode: u32) -> Vec<u8> {
    format!("100{:03o}", mode & 0o777).into_bytes()
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.push(b'\n');
}

/// Formats a name as git does: quoted if it contains a special character.
fn quoted(letter: u8, path: &[u8]) -> Vec<u8> {
    let odd = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7f..);
    if !path.iter().any(odd) {
        return [&[letter, b'/'], path].concat();
    }
    let mut out = vec![b'"', letter, b'/'];
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            byte if odd(byte) => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

fn hunks(out: &mut Vec<u8>, old: &[u8], new: &[u8], most: usize) -> Result<(), Omitted> {
    fn lines(text: &[u8]) -> Vec<&[u8]> {
        text.split_inclusive(|byte| *byte == b'\n').collect()
    }
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now() + THINKING;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    for group in group_diff_ops(ops, CONTEXT) {
        if group.is_empty() {
            continue;
        }
        line(out, &[UnifiedHunkHeader::new(&group).to_string().as_bytes()]);
        for op in &group {
            hunk_lines(out, op, &old, &new);
            if out.len() > most {
                return Err(Omitted::TooLarge);
            }
        }
    }
    Ok(())
}

fn hunk_lines(out: &mut Vec<u8>, op: &DiffOp, old: &[&[u8]], new: &[&[u8]]) {
    for change in op.iter_changes(old, new) {
        let sign = match change.tag() {
            ChangeTag::Equal => b' ',
            ChangeTag::Delete => b'-',
            ChangeTag::Insert => b'+',
        };
        let text = change.value();
        out.push(sign);
        out.extend_from_slice(text);
        if !text.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests;
