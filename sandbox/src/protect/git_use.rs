//! The uses of git in a decision, in the format of a grant. An entry is a `SUBCOMMAND`, then `--bare` for a
//! repository without a working tree, then the absolute path of a new repository. `config NAME=VALUE` is an approved
//! setting.
//!
//! Pure. An unknown entry permits nothing.

use crate::layout::WORKSPACE;

/// Subcommands that create repositories and fill their working trees.
const FILLERS: [&str; 3] = ["clone", "submodule", "worktree"];
const BARE: &str = " --bare";
const SETTING: &str = "config ";

/// A repository that a command creates, according to the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The path relative to the workspace. `None` if it is unknown before the command runs.
    pub path: Option<Vec<u8>>,
    /// The part that belongs to the command.
    pub extent: Extent,
}

/// The part of a new repository that belongs to the command that creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Its `.git` directory.
    Own,
    /// Its `.git` directory and its working tree.
    Filled,
    /// The directory itself, which has no `.git`.
    Bare,
}

/// The uses of git of a command, according to the decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitUses {
    /// Whether the command runs git at all.
    pub any: bool,
    /// The repositories that it creates.
    pub made: Vec<Made>,
    /// Settings that run programs, as `name=value` with the name as git prints it.
    pub settings: Vec<String>,
}

impl GitUses {
    /// Parses the entries of a grant.
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

/// Returns the path relative to the workspace. `None` if it is elsewhere.
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
