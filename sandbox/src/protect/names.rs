//! The protected names. Other programs run or obey the contents of these files.
//!
//! Accesses no file. Names are compared without regard to the case of ASCII letters, as in the policy.

use std::collections::BTreeSet;

/// Files, and directories with all their contents.
const PROTECTED: [&str; 15] = [
    ".airlock",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".claude.json",
    ".git",
    ".gitconfig",
    ".gitmodules",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zprofile",
    ".zshrc",
];

/// Additional files of HOME that a shell runs.
const OF_HOME: [&str; 6] = [".bash_aliases", ".bash_login", ".bash_logout", ".zlogin", ".zlogout", ".zshenv"];

/// The protected names of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(BTreeSet<Vec<u8>>);

impl Default for Names {
    fn default() -> Self {
        Self(PROTECTED.iter().map(|name| name.as_bytes().to_vec()).collect())
    }
}

impl Names {
    /// Returns the names that are always protected, plus these.
    #[must_use]
    pub fn and<'a>(extra: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        names.0.extend(extra.into_iter().map(|name| name.as_bytes().to_ascii_lowercase()));
        names
    }

    /// Returns the names for repositories only.
    pub(super) fn of_git() -> Self {
        Self(BTreeSet::from([b".git".to_vec()]))
    }

    /// Returns the union of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Iterates over the names, in lower case.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Reports whether this name, without a directory, is protected.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        // Fast path: most names are not protected and need no copy.
        if self.0.contains(name) {
            return true;
        }
        name.iter().any(u8::is_ascii_uppercase) && self.0.contains(&name.to_ascii_lowercase())
    }

    /// Reports whether this name is protected directly in HOME, whatever the profile.
    pub(super) fn is_of_home(name: &[u8]) -> bool {
        OF_HOME.iter().any(|own| own.as_bytes() == name)
    }

    /// Reports whether a component of this path is protected.
    pub(super) fn meets(&self, path: &[u8]) -> bool {
        path.split(|byte| *byte == b'/').any(|part| self.contains(part))
    }
}

/// Reports whether it is the name of a repository's own directory, or of a file that leads to one.
pub(super) fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// Returns the last component of a path.
pub(super) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns the parent of a path. Empty for a single name.
pub(super) fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').and_then(|slash| path.get(..slash)).unwrap_or_default()
}

/// Joins two paths. Either may be empty.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match (directory, name) {
        (b"", only) | (only, b"") => only.to_vec(),
        (directory, name) => [directory, name].join(&b'/'),
    }
}

/// Reports whether the path is the directory or below it. Every path is below the empty one.
pub(super) fn is_within(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

/// Iterates over the path's parents and the path itself, from the outermost.
pub(super) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.chain([path.len()]).filter_map(|to| path.get(..to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_policy() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/tables/names.toml");
        let text = std::fs::read_to_string(table).unwrap();
        let section = |name: &str| {
            let (_, rest) = text.split_once(&format!("[names.{name}]")).unwrap();
            let rest = rest.split("\n[").next().unwrap();
            let keys = rest.lines().filter_map(|line| line.strip_prefix('"')?.split('"').next());
            keys.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut of_policy = section("protected_files");
        of_policy.extend(section("protected_directories"));
        of_policy.sort();
        assert_eq!(of_policy, PROTECTED);
    }

    #[test]
    fn a_name_is_compared_without_its_case_and_as_a_whole() {
        let names = Names::and(["Deploy.yml"]);
        for name in [".git", ".GIT", ".BashRC", "deploy.YML"] {
            assert!(names.contains(name.as_bytes()), "{name}");
        }
        for name in ["git", ".github", ".gitignore", ".bashrc2", ""] {
            assert!(!names.contains(name.as_bytes()), "{name}");
        }
        assert!(names.meets(b"a/.vscode/b") && !names.meets(b"a/vscode/b"));
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!(
            (last(b"a/b"), last(b"a"), above(b"a/b"), above(b"a")),
            (&b"b"[..], &b"a"[..], &b"a"[..], &b""[..])
        );
        assert!(
            is_within(b"a/b", b"a")
                && is_within(b"a", b"a")
                && is_within(b"a", b"")
                && !is_within(b"ab", b"a")
        );
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a"[..], b"a/b", b"a/b/c"]);
    }
}
