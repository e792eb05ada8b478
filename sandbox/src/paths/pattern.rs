//! Globs of path rules, as in a `.gitignore`: a name without a slash is met at any
//! depth; `//` begins an absolute path, `~/` one in HOME. After a single slash a path
//! is absolute, and for rules that deny one of the workspace as well.
//!
//! Compares text. Must not look at a file.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::PathRuleError;
use crate::profile::PathRules;
use crate::{HOME, WORKSPACE};

/// Characters that make a part of a path a pattern.
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
    /// Whether a rule may take anything of this, or of what is below it.
    pub(super) fn may_take(&self, path: &Path) -> bool {
        let takes = |list: &List| path.ancestors().any(|path| list.names(path)) || list.may_name_below(path);
        takes(&self.deny_read) || takes(&self.deny_write)
    }
}

/// The globs of one list, on absolute paths inside. What is below a path that one
/// of them names is not met by it.
#[derive(Debug)]
pub(super) struct List {
    set: GlobSet,
    reaches: Vec<Reach>,
}

/// How far a glob reaches.
#[derive(Debug)]
struct Reach {
    /// Its parts up to the first that is a pattern.
    literal: PathBuf,
    /// Whether that is all of it.
    exact: bool,
    /// How many parts what it meets has; none if any number.
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
                    return Err(bad("has `..` in it".to_owned()));
                }
                let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
                set.add(built.map_err(|error| bad(format!("is no glob: {}", error.kind())))?);
                reaches.push(Reach::of(&glob));
            }
        }
        let bad = |error: globset::Error| PathRuleError::Rule {
            rule: error.glob().unwrap_or_default().to_owned(),
            cause: format!("is no glob: {}", error.kind()),
        };
        Ok(Self { set: set.build().map_err(bad)?, reaches })
    }

    /// Whether one of them names this.
    pub(super) fn names(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    /// Whether one of them may name something below this.
    pub(super) fn may_name_below(&self, path: &Path) -> bool {
        self.reaches.iter().any(|reach| reach.may_name_below(path))
    }

    /// Whether one of them says that it goes through this, or begins below it.
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

/// The globs that a rule comes to, on absolute paths. None for the whole root.
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

/// A folder is named by all that is in it, too.
fn trimmed(glob: &str) -> String {
    let mut glob = glob.trim_end_matches('/');
    while let Some(folder) = glob.strip_suffix("/**") {
        glob = folder.trim_end_matches('/');
    }
    glob.to_owned()
}

#[cfg(test)]
mod tests;
