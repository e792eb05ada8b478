//! What a command was decided to do with git, as a grant says it: `SUBCOMMAND`, then
//! `--bare` for a repository without a working tree, then the absolute path that it
//! makes one at; `config NAME=VALUE` for a setting that somebody decided about.
//!
//! Pure. What it does not understand excuses nothing.

use crate::WORKSPACE;

/// Subcommands that make repositories together with what is in their working trees.
const FILLERS: [&str; 3] = ["clone", "submodule", "worktree"];
const BARE: &str = " --bare";
const SETTING: &str = "config ";

/// A repository that a command was decided to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Relative to the workspace; none where nobody could say before it ran.
    pub path: Option<Vec<u8>>,
    /// What of it is the command's.
    pub extent: Extent,
}

/// What belongs to a repository that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Its `.git`.
    Own,
    /// Its working tree, too.
    Filled,
    /// The folder itself, which has no `.git`.
    Bare,
}

/// What a command was decided to do with git.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitUses {
    /// Whether it runs git at all.
    pub any: bool,
    /// The repositories that it makes.
    pub made: Vec<Made>,
    /// Settings that run programs, as `name=value`, the name as git prints it.
    pub settings: Vec<String>,
}

impl GitUses {
    /// Reads what a grant says.
    pub fn read<T: AsRef<str>>(said: impl IntoIterator<Item = T>) -> Self {
        let mut uses = Self::default();
        for said in said {
            let said = said.as_ref();
            uses.any = true;
            if let Some(setting) = said.strip_prefix(SETTING) {
                uses.settings.push(setting.to_owned());
            } else {
                uses.made.extend(made(said));
            }
        }
        uses
    }
}

fn made(said: &str) -> Option<Made> {
    let (words, path) = match said.find(" /") {
        Some(at) => (said.get(..at)?, said.get(at + 1..)),
        None => (said, None),
    };
    let (words, bare) = words.strip_suffix(BARE).map_or((words, false), |words| (words, true));
    let first = words.split(' ').next()?;
    let extent = match first {
        "init" | "clone" if bare => Extent::Bare,
        "init" => Extent::Own,
        first if FILLERS.contains(&first) => Extent::Filled,
        _ => return None,
    };
    let path = match path {
        Some(path) => Some(below(path)?),
        None => None,
    };
    Some(Made { path, extent })
}

/// Relative to the workspace; none if it is elsewhere.
fn below(path: &str) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(WORKSPACE)?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    rest.strip_prefix('/').map(|rest| rest.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_grant_says_is_read_and_what_is_not_understood_makes_nothing() {
        let read = |said: &str| GitUses::read([said]).made.pop();
        let made = |path: Option<&str>, extent| {
            Some(Made { path: path.map(|path| path.as_bytes().to_vec()), extent })
        };
        for (said, expected) in [
            ("init", made(None, Extent::Own)),
            ("init /workspace", made(Some(""), Extent::Own)),
            ("init --bare /workspace/sub/x.git", made(Some("sub/x.git"), Extent::Bare)),
            ("clone --bare", made(None, Extent::Bare)),
            ("clone /workspace/a b", made(Some("a b"), Extent::Filled)),
            ("worktree add /workspace/tree", made(Some("tree"), Extent::Filled)),
            ("submodule update", made(None, Extent::Filled)),
            ("clone /tmp/x", None),
            ("init /workspace2", None),
            ("status", None),
            ("", None),
        ] {
            assert_eq!(read(said), expected, "{said}");
        }
        let uses = GitUses::read(["config core.hookspath=a=b", "commit"]);
        assert!(uses.any && uses.made.is_empty() && uses.settings == ["core.hookspath=a=b"]);
        assert!(!GitUses::read([""; 0]).any);
    }
}
