//! The patterns of searches. They match bytes, not characters: any output can be searched, and `.` matches
//! any byte. Both the compiled size and the cache of a search are limited.

use std::fmt;

use regex_automata::{
    Input,
    meta::{BuildError, Cache, Config, Regex},
    util::{iter::Searcher, syntax},
};

/// The maximum size of a compiled pattern in bytes. It bounds the time per byte of output.
const COMPILED_BYTES: usize = 64 * 1024;
/// The maximum size of the cache of a search, in bytes.
const CACHE_BYTES: usize = 128 * 1024;

/// A compiled pattern for lines.
#[derive(Clone)]
pub struct Pattern {
    regex: Regex,
}

impl fmt::Debug for Pattern {
    /// Omits the pattern, which can contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

/// The reason why a pattern was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is not a regular expression.
    #[error("is not a regular expression: {problem}, at byte {at}; set `fixed` to search for it as text")]
    Syntax {
        /// The syntax error.
        problem: String,
        /// The position in the pattern, in bytes.
        at: usize,
    },
    /// The pattern is too expensive.
    #[error("is too large when compiled, at most {COMPILED_BYTES} bytes; use fewer or smaller repetitions")]
    TooLarge,
}

impl Pattern {
    /// Compiles a regular expression, or with `fixed` a literal text. `ignore_case` applies to ASCII
    /// letters.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub fn new(text: &str, fixed: bool, ignore_case: bool) -> Result<Self, PatternError> {
        let escaped;
        let expression = if fixed {
            escaped = regex_syntax::escape(text);
            &escaped
        } else {
            text
        };
        let syntax = syntax::Config::new().unicode(false).utf8(false).case_insensitive(ignore_case);
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(COMPILED_BYTES))
            .onepass_size_limit(Some(COMPILED_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES);
        let built = Regex::builder().syntax(syntax).configure(config).build(expression);
        built.map(|regex| Self { regex }).map_err(|error| problem(&error))
    }

    pub(super) fn cache(&self) -> Cache {
        self.regex.create_cache()
    }

    /// Returns whether a line matches.
    pub(super) fn matches(&self, cache: &mut Cache, line: &[u8]) -> bool {
        self.regex.search_half_with(cache, &Input::new(line).earliest(true)).is_some()
    }

    /// Returns at most `most` matches within a line, without empty ones. Continues only while `go_on`
    /// returns true.
    pub(super) fn spans(
        &self,
        cache: &mut Cache,
        line: &[u8],
        most: usize,
        go_on: impl Fn() -> bool,
    ) -> Vec<(u32, u32)> {
        let mut searcher = Searcher::new(Input::new(line));
        let mut spans = Vec::new();
        for _ in 0..most {
            if !go_on() {
                break;
            }
            let Some(found) = searcher.advance(|input| Ok(self.regex.search_with(cache, input))) else {
                break;
            };
            if !found.is_empty()
                && let (Ok(start), Ok(end)) = (u32::try_from(found.start()), u32::try_from(found.end()))
            {
                spans.push((start, end));
            }
        }
        spans
    }
}

fn problem(error: &BuildError) -> PatternError {
    match error.syntax_error() {
        Some(regex_syntax::Error::Parse(error)) => {
            PatternError::Syntax { problem: error.kind().to_string(), at: error.span().start.offset }
        }
        Some(regex_syntax::Error::Translate(error)) => {
            PatternError::Syntax { problem: error.kind().to_string(), at: error.span().start.offset }
        }
        _ => PatternError::TooLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pattern: &Pattern, line: &[u8]) -> Vec<(u32, u32)> {
        pattern.spans(&mut pattern.cache(), line, 64, || true)
    }

    fn expression(text: &str) -> Pattern {
        Pattern::new(text, false, false).unwrap()
    }

    #[test]
    fn patterns_match_bytes_whatever_they_mean() {
        assert_eq!(spans(&expression("a.b"), b"a\xffb a\0b"), [(0, 3), (4, 7)]);
        assert_eq!(spans(&expression(r"\xff+"), b"..\xff\xff"), [(2, 4)]);
        assert_eq!(spans(&expression("é"), "né".as_bytes()), [(1, 3)]);
        assert_eq!(spans(&expression(r"(?u)^\w$"), "é".as_bytes()), [(0, 2)]);
        assert_eq!(spans(&expression("x*"), b"ax"), [(1, 2)]);
        let text = Pattern::new("a.b(", true, true).unwrap();
        assert_eq!(spans(&text, b"aXb( A.B("), [(5, 9)]);
    }

    #[test]
    fn what_cannot_be_compiled_says_what_and_where() {
        let problem = |text: &str| Pattern::new(text, false, false).unwrap_err().to_string();
        assert_eq!(
            problem("ab(c"),
            "is not a regular expression: unclosed group, at byte 2; set `fixed` to search for it as text"
        );
        assert!(problem("a(?=b)").contains("look-around"), "{}", problem("a(?=b)"));
        assert!(problem(r"(a)\1").contains("backreferences"), "{}", problem(r"(a)\1"));
        assert!(problem("(((a{100}){100}){100}){100}").contains("too large"));
        assert!(!problem("[é]").contains('\n'), "{}", problem("[é]"));
    }
}
