//! The rules for names and link targets. Pure: the directory is not examined, because its content can
//! change.

use crate::{Limits, Rule};

/// The kernel's limit for a component of a path, in bytes.
const COMPONENT_BYTES: usize = 255;
/// The kernel's limit for a symbolic link's target, in bytes.
const TARGET_BYTES: usize = 4095;

/// A name without `./` at its start and `/` at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// The directory itself.
    Root,
    /// A path in the directory.
    Below {
        /// The path, normal and relative.
        path: &'a [u8],
        /// Whether it was written with a trailing slash, as directories are.
        slash: bool,
    },
}

/// Checks a name against the rules.
pub(crate) fn name<'a>(name: &'a [u8], limits: &Limits) -> Result<Name<'a>, Rule> {
    if name.is_empty() {
        return Err(Rule::EmptyName);
    }
    if name.contains(&0) {
        return Err(Rule::NulInName);
    }
    if name.starts_with(b"/") {
        return Err(Rule::AbsoluteName);
    }
    let mut path = name;
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
    }
    if path.is_empty() || path == b"." {
        return Ok(Name::Root);
    }
    let (path, slash) = path.strip_suffix(b"/").map_or((path, false), |path| (path, true));
    if path.len() > limits.path_bytes {
        return Err(Rule::LongName);
    }
    for (before, component) in path.split(|byte| *byte == b'/').enumerate() {
        match component {
            b"" | b"." => return Err(Rule::NotNormalName),
            b".." => return Err(Rule::ParentInName),
            _ if component.len() > COMPONENT_BYTES => return Err(Rule::LongComponent),
            _ if before >= limits.depth => return Err(Rule::TooDeep),
            _ => {}
        }
    }
    Ok(Name::Below { path, slash })
}

/// Checks the target of the symbolic link at `path`, a normal name, against the rules.
///
/// `..` is permitted only before any name, and only as often as the link has parent directories. The link's
/// parents are real directories, so these steps have the expected result. Each later step goes down, or
/// through another link that obeys the same rule. A `..` after a name would go up from the target of that
/// name. Example: with `a/x` leading to `.`, the target `x/../..` of `a/l` seems to end in the directory,
/// but ends above it.
pub(crate) fn target(path: &[u8], target: &[u8]) -> Result<(), Rule> {
    if target.is_empty() {
        return Err(Rule::EmptyTarget);
    }
    if target.contains(&0) {
        return Err(Rule::NulInName);
    }
    if target.starts_with(b"/") {
        return Err(Rule::AbsoluteTarget);
    }
    if target.len() > TARGET_BYTES {
        return Err(Rule::LongTarget);
    }
    let above = path.iter().filter(|byte| **byte == b'/').count();
    let (mut up, mut down) = (0, false);
    for component in target.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if down => return Err(Rule::ParentInTarget),
            b".." if up == above => return Err(Rule::LeavingTarget),
            b".." => up += 1,
            _ if component.len() > COMPONENT_BYTES => return Err(Rule::LongTarget),
            _ => down = true,
        }
    }
    Ok(())
}

/// Returns a path's parent directory, empty for the root, and its last component.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = path.rsplitn(2, |byte| *byte == b'/');
    let last = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_default(), last)
}

/// Joins a directory and a path below it. Either may be empty.
#[must_use]
pub fn join(directory: &[u8], path: &[u8]) -> Vec<u8> {
    match (directory, path) {
        (b"", only) | (only, b"") => only.to_vec(),
        (directory, path) => [directory, path].join(&b'/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { entries: 1, bytes: 1, path_bytes: 4096, depth: 255 };

    fn below(path: &[u8]) -> Result<Name<'_>, Rule> {
        Ok(Name::Below { path, slash: false })
    }

    #[test]
    fn only_relative_normal_names_are_taken() {
        for same in [&b"a"[..], b"a/b/c", b"...", b"..a", b"a..", b"a\\..\\b", b" ", b"\xff\n", b"-rf"] {
            assert_eq!(name(same, &LIMITS), below(same));
        }
        assert_eq!(name(b"./a", &LIMITS), below(b"a"));
        assert_eq!(name(b"./././a/b", &LIMITS), below(b"a/b"));
        assert_eq!(name(b"a/b/", &LIMITS), Ok(Name::Below { path: b"a/b", slash: true }));
        for root in [&b"."[..], b"./", b"././", b"./."] {
            assert_eq!(name(root, &LIMITS), Ok(Name::Root));
        }
        let refused: [(&[u8], Rule); 13] = [
            (b"", Rule::EmptyName),
            (b"a\0b", Rule::NulInName),
            (b"/", Rule::AbsoluteName),
            (b"//a", Rule::AbsoluteName),
            (b"..", Rule::ParentInName),
            (b"../a", Rule::ParentInName),
            (b"a/../b", Rule::ParentInName),
            (b"a/..", Rule::ParentInName),
            (b"./../a", Rule::ParentInName),
            (b".//a", Rule::NotNormalName),
            (b"a//b", Rule::NotNormalName),
            (b"a/./b", Rule::NotNormalName),
            (b"a//", Rule::NotNormalName),
        ];
        for (bad, rule) in refused {
            assert_eq!(name(bad, &LIMITS), Err(rule), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn a_names_lengths_have_limits() {
        let long = [b'a'; 256];
        assert_eq!(name(&long[..255], &LIMITS), below(&long[..255]));
        assert_eq!(name(&long, &LIMITS), Err(Rule::LongComponent));
        let deep = b"a/".repeat(255);
        assert_eq!(name(&deep[..509], &LIMITS), below(&deep[..509]));
        assert_eq!(name(&[&deep[..], b"a"].concat(), &LIMITS), Err(Rule::TooDeep));
        let wide = [&[b'b'; 254][..], b"/"].concat().repeat(17);
        assert_eq!(name(&wide[..4097], &LIMITS), Err(Rule::LongName));
    }

    #[test]
    fn a_links_target_stays_inside_whatever_other_links_there_are() {
        for inside in [&b"b"[..], b"../b", b"./../b/", b"b/c/d", ".".as_bytes(), b"..", b"b//c"] {
            assert_eq!(target(b"a/l", inside), Ok(()), "{}", inside.escape_ascii());
        }
        let refused: [(&[u8], Rule); 7] = [
            (b"", Rule::EmptyTarget),
            (b"/a", Rule::AbsoluteTarget),
            (b"../../b", Rule::LeavingTarget),
            (b"..//..", Rule::LeavingTarget),
            (b"b/..", Rule::ParentInTarget),
            (b"../b/../c", Rule::ParentInTarget),
            (b"b\0", Rule::NulInName),
        ];
        for (bad, rule) in refused {
            assert_eq!(target(b"a/l", bad), Err(rule), "{}", bad.escape_ascii());
        }
        assert_eq!(target(b"l", b".."), Err(Rule::LeavingTarget));
        assert_eq!(target(b"l", &b"a/".repeat(3000)), Err(Rule::LongTarget));
    }

    #[test]
    fn a_path_is_split_at_its_last_slash() {
        assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
    }
}
