//! Glob patterns for paths in a directory.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{GLOB_BYTES, GLOBS, error::shown};

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{pattern}`: {what}")]
pub struct GlobError {
    /// The escaped pattern, at most 200 bytes.
    pub pattern: String,
    /// The problem, with a remedy.
    pub what: String,
}

/// Compiles patterns for paths relative to a directory. `*` and `?` do not match a slash, `**` does;
/// `{a,b}` and `[a-z]` have their usual meaning; a `\` escapes the next character. A trailing slash is
/// ignored.
///
/// # Errors
/// Fails for more than [`GLOBS`] patterns, and for a pattern that exceeds [`GLOB_BYTES`], is empty,
/// absolute or invalid.
pub fn globs(patterns: &[String]) -> Result<GlobSet, GlobError> {
    let error = |pattern: &str, what: String| GlobError { pattern: shown(pattern.as_bytes()), what };
    let mut set = GlobSetBuilder::new();
    for (before, pattern) in patterns.iter().enumerate() {
        let wrong = if before >= GLOBS {
            Some(format!("it exceeds the limit of {GLOBS} patterns; join some as `{{a,b}}`"))
        } else if pattern.len() > GLOB_BYTES {
            Some(format!("it has more than {GLOB_BYTES} bytes; shorten it"))
        } else if pattern.is_empty() {
            Some("it is empty; `**` matches everything".to_owned())
        } else if pattern.starts_with('/') {
            Some(
                "it is absolute; write it relative to the directory, or begin with `**/` to match at any \
                 depth"
                    .to_owned(),
            )
        } else {
            None
        };
        if let Some(what) = wrong {
            return Err(error(pattern, what));
        }
        let trimmed = pattern.strip_suffix('/').unwrap_or(pattern);
        let trimmed = trimmed.strip_prefix("./").unwrap_or(trimmed);
        let glob = GlobBuilder::new(trimmed).literal_separator(true).backslash_escape(true).build().map_err(
            |cause| error(pattern, format!("{}; a `\\` before a character escapes it", cause.kind())),
        )?;
        set.add(glob);
    }
    set.build().map_err(|cause| {
        let pattern = cause.glob().map_or_else(|| patterns.join(" "), str::to_owned);
        error(&pattern, format!("{}; simplify it", cause.kind()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        globs(&[pattern.to_owned()]).unwrap().is_match(path)
    }

    #[test]
    fn one_star_stays_in_a_folder_and_two_do_not() {
        assert!(matches("*.pyc", "a.pyc") && !matches("*.pyc", "b/a.pyc"));
        assert!(matches("**/*.pyc", "a.pyc") && matches("**/*.pyc", "c/b/a.pyc"));
        assert!(matches("target", "target") && !matches("target", "a/target"));
        assert!(matches("target/", "target") && matches("./target", "target"));
        assert!(matches("{a,b}/?", "b/c") && !matches("a?c", "a/c"));
        assert!(matches(r"\*", "*") && !matches(r"\*", "a"));
        assert!(matches("*", ".hidden"));
    }

    #[test]
    fn a_bad_pattern_is_named_with_its_fault() {
        for (bad, what) in [
            ("", "it is empty"),
            ("/a", "it is absolute"),
            ("a[", "unclosed"),
            ("{a", "unclosed"),
            ("a}", "unopened"),
            ("[z-a]", "invalid range"),
            (&"a".repeat(1025), "more than 1024 bytes"),
            (&"{".repeat(1000), ""),
            (&"{a,b}".repeat(200), ""),
        ] {
            match globs(&[bad.to_owned()]) {
                Err(error) => assert!(error.to_string().contains(what), "{error}"),
                Ok(_) => assert!(bad.len() > 900, "{bad}"),
            }
        }
        let many = vec!["a".to_owned(); 65];
        assert!(globs(&many).unwrap_err().to_string().contains("the limit of 64"));
    }
}
