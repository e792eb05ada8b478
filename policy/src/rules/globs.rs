//! gitignore-style path patterns of `Read` and `Edit` rules: relative to the
//! workspace, `//` for absolute, `~/` for HOME. They compare text; symlinks are
//! the runner's to resolve.

use globset::{GlobBuilder, GlobMatcher};

/// Where a pattern is rooted.
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
        // A name also covers what is below it. A `**` in braces would be a mere `*`.
        let glob = match glob.trim_end_matches('/') {
            "**" => "**".to_owned(),
            name => format!("{{{name},{name}/**}}"),
        };
        let matcher = GlobBuilder::new(&glob)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())?
            .compile_matcher();
        Ok(Self { text: text.to_owned(), root, matcher })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the absolute, normalised path is one the pattern names.
    pub(crate) fn matches(&self, path: &str, workspace: &str, home: &str) -> bool {
        let relative = match self.root {
            Root::FileSystem => path.strip_prefix('/'),
            Root::Workspace => below(path, workspace),
            Root::Home => below(path, home),
        };
        relative.is_some_and(|relative| self.matcher.is_match(relative))
    }
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}

/// A pattern without a slash matches at any depth, as in gitignore.
fn anchored(text: &str) -> String {
    let body = text.strip_prefix("./").unwrap_or(text);
    let trimmed = body.trim_end_matches('/');
    match body.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if trimmed.contains('/') || trimmed == "**" => body.to_owned(),
        None => format!("**/{body}"),
    }
}
