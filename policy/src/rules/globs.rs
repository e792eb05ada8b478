//! gitignore-style path patterns of `Read` and `Edit` rules: relative to the workspace, `//` for
//! absolute paths, `~/` for HOME. They compare text; the runner resolves symlinks.

use globset::{GlobBuilder, GlobMatcher};

use super::overlap::{may_meet, may_meet_hidden};

/// The steps for comparing one path with a pattern, in addition to its bytes.
pub(crate) const PATH_STEPS: usize = 32;

/// The root of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Workspace,
    Home,
    FileSystem,
}

/// A path pattern.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    text: String,
    root: Root,
    /// The glob below the root.
    glob: String,
    matcher: GlobMatcher,
}

impl PathPattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let (root, glob) = if let Some(rest) = text.strip_prefix("//") {
            (Root::FileSystem, rest.to_owned())
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Root::Home, rest.to_owned())
        } else {
            (Root::Workspace, anchored(text))
        };
        let glob = glob.trim_end_matches('/').to_owned();
        // A name also covers everything below it. In braces, `**` would have the meaning of `*`.
        let matched = if glob == "**" { glob.clone() } else { format!("{{{glob},{glob}/**}}") };
        let matcher = GlobBuilder::new(&matched)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())?
            .compile_matcher();
        Ok(Self { text: text.to_owned(), root, glob, matcher })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the pattern matches the absolute, normalized path.
    pub(crate) fn matches(&self, path: &str, workspace: &str, home: &str) -> bool {
        self.relative(path, workspace, home).is_some_and(|relative| self.matcher.is_match(relative))
    }

    /// Reports whether a shell glob may find a path that the pattern matches.
    pub(crate) fn may_match(&self, shell_glob: &str, workspace: &str, home: &str) -> bool {
        self.relative(shell_glob, workspace, home).is_some_and(|relative| {
            may_meet(relative, &self.glob) || may_meet(relative, &format!("{}/**", self.glob))
        })
    }

    /// Reports whether this glob may find the name of a file that the pattern matches. A pattern
    /// without a specific name matches no glob.
    pub(crate) fn may_match_name(&self, glob: &str) -> bool {
        let last = self.glob.rsplit('/').next().unwrap_or_default();
        last.contains(|c: char| !matches!(c, '*' | '?')) && may_meet_hidden(glob, last)
    }

    /// Reports whether the pattern's literal prefix is below the path.
    pub(crate) fn lies_below(&self, path: &str, workspace: &str, home: &str) -> bool {
        let named = self.glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
        let named: Vec<&str> = named.collect();
        self.relative(path, workspace, home).is_some_and(|relative| {
            let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty()).collect();
            !named.is_empty() && named.len() >= parts.len() && named.starts_with(&parts)
        })
    }

    fn relative<'p>(&self, path: &'p str, workspace: &str, home: &str) -> Option<&'p str> {
        match self.root {
            Root::FileSystem => path.strip_prefix('/'),
            Root::Workspace => below(path, workspace),
            Root::Home => below(path, home),
        }
    }
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}

/// Returns the glob with gitignore's meaning: a pattern without a slash matches at any depth.
fn anchored(text: &str) -> String {
    let body = text.strip_prefix("./").unwrap_or(text);
    let trimmed = body.trim_end_matches('/');
    match body.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if trimmed.contains('/') || trimmed == "**" => body.to_owned(),
        None => format!("**/{body}"),
    }
}
