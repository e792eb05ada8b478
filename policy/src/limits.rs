//! The limits of the policy. Each bounds the work that one request can cause. Limits cannot be
//! switched off. An exceeded limit results in a decision, never in an error.

/// The longest command, in bytes. A longer one is denied with code `too_long`.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024;
/// The longest command that is parsed, in bytes. A longer one is decided on its raw text.
pub const MAX_PARSED_BYTES: usize = 10_000;
/// The largest number of heredocs in a parsed command.
pub const MAX_HEREDOCS: usize = 16;
/// The longest heredoc delimiter, in bytes. The grammar keeps all delimiters in 1 KiB.
pub const MAX_DELIMITER_BYTES: usize = 40;
/// The largest number of `$[` in a parsed command.
pub const MAX_OLD_ARITHMETIC: usize = 8;
/// The largest number of bars, `[[`, `=~`, `?(`, `=(`, `) (`, unmatched closing brackets and control characters in a
/// parsed command. The grammar's time grows with their square.
pub const MAX_COSTLY_CHARACTERS: usize = 256;
/// The largest number of times that a text is parsed again because the grammar reads line ends as blanks.
pub const MAX_PARSES_BY_LINES: usize = 4;
/// The deepest nesting of brackets, quotes and substitutions that is parsed.
pub const MAX_NESTING: usize = 64;
/// The largest number of subcommands in a command that can be allowed.
pub const MAX_SUBCOMMANDS: usize = 50;
/// The largest number of listed commands. With more, the parse is incomplete.
pub const MAX_LISTED_COMMANDS: usize = 1_000;
/// The largest number of words that brace expansion can make of one word.
pub const MAX_BRACE_WORDS: usize = 128;
/// The largest number of words of one command after expansion.
pub const MAX_WORDS: usize = 4_096;
/// The deepest chain of shells inside shells (`sh -c "sh -c ..."`) that is parsed.
pub const MAX_SHELL_DEPTH: usize = 4;
/// The deepest tree of statements that is followed.
pub const MAX_TREE_DEPTH: usize = 160;
/// The largest number of reasons in a decision.
pub const MAX_REASONS: usize = 64;
/// The longest session snapshot that is read, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 1024 * 1024;
/// The largest number of aliases that are expanded in one command.
pub const MAX_ALIASES: usize = 64;
/// The largest number of rules with one behaviour in a profile.
pub const MAX_RULES: usize = 2_000;
/// The largest number of readable roots in a profile.
pub const MAX_READABLE_ROOTS: usize = 64;
/// The largest number of profiles in a chain of `extends`.
pub const MAX_EXTENDS: usize = 8;
/// The largest number of steps for comparing rules with one command. If more are needed, the policy
/// asks.
pub const MAX_MATCH_STEPS: usize = 4_000_000;
/// The largest number of words of all listed commands.
pub const MAX_LISTED_WORDS: usize = 16_384;
/// The largest number of test cases in a profile or a file of cases.
pub const MAX_CASES: usize = 1_000;
