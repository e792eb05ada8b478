//! The directories in which a command may run, as far as the text shows. Lexical only.

use std::rc::Rc;

/// The directories that the shell may be in; `None` if they are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Directory {
    possible: Option<Rc<[String]>>,
}

const MOST: usize = 8;

impl Directory {
    pub(crate) fn at(path: &str) -> Self {
        Self { possible: Some(Rc::new([join("/", path)])) }
    }

    pub(crate) fn unknown() -> Self {
        Self { possible: None }
    }

    pub(crate) fn possible(&self) -> Option<&[String]> {
        self.possible.as_deref()
    }

    /// Returns the union of both.
    pub(super) fn or(&self, other: &Self) -> Self {
        let (Some(a), Some(b)) = (&self.possible, &other.possible) else {
            return Self::unknown();
        };
        if a == b {
            return self.clone();
        }
        let mut all = a.to_vec();
        all.extend(b.iter().filter(|path| !a.contains(path)).cloned());
        Self { possible: (all.len() <= MOST).then(|| all.into()) }
    }

    /// Returns the directories after a change that may fail. The last one is that of a change without a failure.
    pub(super) fn or_entered(&self, target: &str) -> Self {
        let Some(last) = self.last().map(|last| join(last, target)) else {
            return Self::unknown();
        };
        let Some(possible) = self.or(&self.enter(target)).possible else {
            return Self::unknown();
        };
        let others = possible.iter().filter(|path| **path != last).cloned();
        Self { possible: Some(others.chain(std::iter::once(last.clone())).collect()) }
    }

    /// Returns the directory that no failure leads to.
    pub(crate) fn last(&self) -> Option<&str> {
        self.possible.as_ref()?.last().map(String::as_str)
    }

    pub(crate) fn enter(&self, target: &str) -> Self {
        Self {
            possible: self.possible.as_ref().map(|all| all.iter().map(|base| join(base, target)).collect()),
        }
    }
}

/// Joins a path to a directory, and removes `.`, `..` and repeated slashes.
pub(crate) fn join(base: &str, path: &str) -> String {
    let mut out = String::with_capacity(base.len() + path.len() + 2);
    if !path.starts_with('/') {
        go(&mut out, base);
    }
    go(&mut out, path);
    if out.is_empty() {
        out.push('/');
    }
    out
}

fn go(from: &mut String, path: &str) {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => from.truncate(from.rfind('/').unwrap_or(0)),
            other => {
                from.push('/');
                from.push_str(other);
            }
        }
    }
}
