//! Where a command may run, as far as the text tells. Lexical only.

/// The directories the shell may be in; `None` where it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Directory {
    possible: Option<Vec<String>>,
}

const MOST: usize = 8;

impl Directory {
    pub(crate) fn at(path: &str) -> Self {
        Self { possible: Some(vec![normalise(path)]) }
    }

    pub(crate) fn unknown() -> Self {
        Self { possible: None }
    }

    pub(crate) fn possible(&self) -> Option<&[String]> {
        self.possible.as_deref()
    }

    /// Either this or the other.
    pub(super) fn or(&self, other: &Self) -> Self {
        let (Some(a), Some(b)) = (&self.possible, &other.possible) else {
            return Self::unknown();
        };
        let mut all = a.clone();
        all.extend(b.iter().filter(|path| !a.contains(path)).cloned());
        Self { possible: (all.len() <= MOST).then_some(all) }
    }

    pub(super) fn enter(&self, target: &str) -> Self {
        Self {
            possible: self.possible.as_ref().map(|all| all.iter().map(|base| join(base, target)).collect()),
        }
    }
}

/// The path seen from the directory, without `.`, `..` and doubled slashes.
pub(crate) fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') { normalise(path) } else { normalise(&format!("{base}/{path}")) }
}

fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}
