//! The globs of path rules, in the style of `.gitignore`: a name without a slash matches at any depth. `//` begins an
//! absolute path, `~/` a path in HOME. With a single leading slash a path is absolute, and in deny rules also
//! relative to the workspace.
//!
//! Compares text only. Must not access a file.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::PathRuleError;
use crate::layout::{HOME, WORKSPACE};
use crate::profile::PathRules;

/// Characters that make a component a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

/// All lists of a profile.
#[derive(Debug)]
pub(super) struct Patterns {
    pub(super) deny_read: List,
    pub(super) allow_read: List,
    pub(super) allow_write: Option<List>,
    pub(super) deny_write: List,
}

impl Patterns {
    pub(super) fn new(rules: &PathRules) -> Result<Self, PathRuleError> {
        Ok(Self {
            deny_read: List::new(&rules.deny_read, true)?,
            allow_read: List::new(&rules.allow_read, false)?,
            allow_write: rules.allow_write.as_ref().map(|rules| List::new(rules, false)).transpose()?,
            deny_write: List::new(&rules.deny_write, true)?,
        })
    }
}

impl Patterns {
    /// Reports whether a deny rule may match this path, or a path above or below it.
    pub(super) fn may_take(&self, path: &Path) -> bool {
        let takes = |list: &List| path.ancestors().any(|path| list.names(path)) || list.may_name_below(path);
        takes(&self.deny_read) || takes(&self.deny_write)
    }
}

/// The globs of one list, for absolute paths inside the sandbox. A glob that matches a directory does not match the
/// paths below it.
#[derive(Debug)]
pub(super) struct List {
    set: GlobSet,
    reaches: Vec<Reach>,
}

/// The extent of a glob.
#[derive(Debug)]
struct Reach {
    /// Its components before the first pattern.
    literal: PathBuf,
    /// Whether the glob has no pattern.
    exact: bool,
    /// The number of components of a match. `None` means any number.
    parts: Option<usize>,
}

impl List {
    fn new(rules: &[String], denies: bool) -> Result<Self, PathRuleError> {
        let mut set = GlobSetBuilder::new();
        let mut reaches = Vec::new();
        for rule in rules {
            let bad = |cause: String| PathRuleError::Rule { rule: rule.clone(), cause };
            let globs = absolute(rule, denies);
            if globs.is_empty() {
                return Err(bad("names no path".to_owned()));
            }
            for glob in globs {
                if Path::new(&glob).components().any(|part| part == Component::ParentDir) {
                    return Err(bad("contains `..`".to_owned()));
                }
                let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
                set.add(built.map_err(|error| bad(format!("is not a valid glob: {}", error.kind())))?);
                reaches.push(Reach::of(&glob));
            }
        }
        let bad = |error: globset::Error| PathRuleError::Rule {
            rule: error.glob().unwrap_or_default().to_owned(),
            cause: format!("is not a valid glob: {}", error.kind()),
        };
        Ok(Self { set: set.build().map_err(bad)?, reaches })
    }

    /// Reports whether a glob matches this path.
    pub(super) fn names(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    /// Reports whether a glob may match a path below this one.
    pub(super) fn may_name_below(&self, path: &Path) -> bool {
        self.reaches.iter().any(|reach| reach.may_name_below(path))
    }

    /// Reports whether the literal part of a glob leads through this path or begins below it.
    pub(super) fn leads_through(&self, path: &Path) -> bool {
        self.reaches
            .iter()
            .any(|reach| reach.literal.starts_with(path) && (!reach.exact || reach.literal != path))
    }
}

impl Reach {
    fn of(glob: &str) -> Self {
        let mut parts = glob.split('/').filter(|part| !part.is_empty());
        let is_pattern = |part: &&str| part.contains(SPECIAL);
        let literal: Vec<_> = parts.clone().take_while(|part| !is_pattern(part)).collect();
        let exact = !parts.any(|part| is_pattern(&part));
        let open = glob.contains("**") || glob.contains(['{', '[']);
        let count = glob.split('/').filter(|part| !part.is_empty()).count();
        Self { literal: Path::new("/").join(literal.join("/")), exact, parts: (!open).then_some(count) }
    }

    fn may_name_below(&self, path: &Path) -> bool {
        if self.literal != path && self.literal.starts_with(path) {
            return true;
        }
        let depth = path.components().filter(|part| matches!(part, Component::Normal(_))).count();
        !self.exact && path.starts_with(&self.literal) && self.parts.is_none_or(|parts| depth < parts)
    }
}

/// Expands a rule to globs on absolute paths. Empty for the whole root.
fn absolute(rule: &str, denies: bool) -> Vec<String> {
    let written = if let Some(rest) = rule.strip_prefix("//") {
        vec![format!("/{rest}")]
    } else if rule == "~" {
        vec![HOME.to_owned()]
    } else if let Some(rest) = rule.strip_prefix("~/") {
        vec![format!("{HOME}/{rest}")]
    } else if rule.starts_with('/') {
        let mut both = vec![rule.to_owned()];
        both.extend(denies.then(|| format!("{WORKSPACE}{rule}")));
        both
    } else {
        let body = rule.strip_prefix("./").unwrap_or(rule);
        let name = body.trim_end_matches('/');
        match name {
            "" if body.is_empty() && rule.is_empty() => Vec::new(),
            "" | "." | "**" => vec![WORKSPACE.to_owned()],
            name if name.contains('/') => vec![format!("{WORKSPACE}/{name}")],
            name => vec![format!("{WORKSPACE}/**/{name}")],
        }
    };
    written.iter().map(|glob| trimmed(glob)).filter(|glob| !glob.is_empty()).collect()
}

/// Removes a trailing `/**`: a pattern for all entries of a directory also names the directory.
fn trimmed(glob: &str) -> String {
    let mut glob = glob.trim_end_matches('/');
    while let Some(directory) = glob.strip_suffix("/**") {
        glob = directory.trim_end_matches('/');
    }
    glob.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rules: &[&str], denies: bool) -> List {
        let rules: Vec<_> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        List::new(&rules, denies).unwrap()
    }

    #[test]
    fn a_rule_names_what_the_policy_says_it_names() {
        for (rule, named, not) in [
            (".env", "/workspace/a/b/.env", "/home/agent/.env"),
            (".env", "/workspace/.env", "/workspace/x.env"),
            ("secrets/**", "/workspace/secrets", "/workspace/a/secrets"),
            ("secrets/", "/workspace/a/secrets", "/workspace/secrets2"),
            ("src/*.key", "/workspace/src/a.key", "/workspace/src/b/a.key"),
            ("src/**/*.key", "/workspace/src/b/c/a.key", "/workspace/a.key"),
            ("~/.ssh", "/home/agent/.ssh", "/workspace/.ssh"),
            ("//etc/ssl", "/etc/ssl", "/workspace/etc/ssl"),
            ("/tmp/x", "/tmp/x", "/tmp/y"),
            ("/tmp/x", "/workspace/tmp/x", "/x"),
            ("//**/id_rsa", "/tmp/a/id_rsa", "/tmp/a/id_rsa.pub"),
            ("*.{pem,key}", "/workspace/a.pem", "/workspace/a.pub"),
            ("**", "/workspace", "/tmp"),
            (".", "/workspace", "/workspace/a"),
            ("./a/b", "/workspace/a/b", "/workspace/b"),
        ] {
            let list = list(&[rule], true);
            assert!(list.names(Path::new(named)), "{rule} {named}");
            assert!(!list.names(Path::new(not)), "{rule} {not}");
        }
        assert!(
            !list(&["/tmp/x"], false).names(Path::new("/workspace/tmp/x")),
            "an exception is not widened"
        );
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for (rule, told) in [
            ("", "the path rule `` names no path"),
            ("//", "the path rule `//` names no path"),
            ("//**", "the path rule `//**` names no path"),
            ("../a", "the path rule `../a` contains `..`"),
            ("a/[", "the path rule `a/[` is not a valid glob: unclosed character class; missing ']'"),
        ] {
            assert_eq!(List::new(&[rule.to_owned()], true).unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn one_looks_only_where_something_can_be_named() {
        for (rule, directory, wanted) in [
            ("secrets/key", "/workspace", true),
            ("secrets/key", "/workspace/secrets", true),
            ("secrets/key", "/workspace/secrets/key", false),
            ("secrets/key", "/workspace/src", false),
            ("src/*.key", "/workspace/src", true),
            ("src/*.key", "/workspace/src/deep", false),
            (".env", "/workspace/any/where", true),
            (".env", "/tmp", false),
            ("//etc/**/*.key", "/usr", false),
            ("//etc/**/*.key", "/etc/ssl", true),
        ] {
            assert_eq!(
                list(&[rule], true).may_name_below(Path::new(directory)),
                wanted,
                "{rule} {directory}"
            );
        }
    }
}
