//! The named limits of the policy. Each bounds the work one request can cause;
//! none of them may be turned off, and each ends in a decision, never in an error.

/// Longest command in bytes; a longer one is denied with code `too_long`.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024;
/// Longest command in bytes that is parsed; a longer one is decided on its raw text.
pub const MAX_PARSED_BYTES: usize = 10_000;
/// Most heredocs in a command that is parsed.
pub const MAX_HEREDOCS: usize = 16;
/// Longest delimiter of a heredoc in bytes; the grammar keeps all of them in 1 KiB.
pub const MAX_DELIMITER_BYTES: usize = 40;
/// Most `$[` in a command that is parsed.
pub const MAX_OLD_ARITHMETIC: usize = 8;
/// Most bars, `[[`, `?(`, `=(`, closing brackets without an opening one and control characters in
/// a command that is parsed: the grammar's time grows with their square.
pub const MAX_COSTLY_SIGNS: usize = 256;
/// Deepest nesting of brackets, quotes and substitutions that is parsed.
pub const MAX_NESTING: usize = 64;
/// Most subcommands of a command that can be allowed.
pub const MAX_SUBCOMMANDS: usize = 50;
/// Most commands that are listed; what is beyond makes the parse incomplete.
pub const MAX_LISTED_COMMANDS: usize = 1_000;
/// Most words one word may become by brace expansion.
pub const MAX_BRACE_WORDS: usize = 128;
/// Most words of one command after expansion.
pub const MAX_WORDS: usize = 4_096;
/// Deepest chain of shells inside shells (`sh -c "sh -c ..."`) that is parsed.
pub const MAX_SHELL_DEPTH: usize = 4;
/// Deepest tree of statements that is followed.
pub const MAX_TREE_DEPTH: usize = 160;
/// Most reasons a decision carries.
pub const MAX_REASONS: usize = 64;
/// Longest snapshot of a session in bytes that is read.
pub const MAX_SNAPSHOT_BYTES: usize = 1024 * 1024;
/// Most aliases that are expanded in one command.
pub const MAX_ALIASES: usize = 64;
/// Most rules of one kind in a profile.
pub const MAX_RULES: usize = 2_000;
/// Most readable roots of one profile.
pub const MAX_READABLE_ROOTS: usize = 64;
/// Most profiles in one chain of `extends`.
pub const MAX_EXTENDS: usize = 8;
/// Most steps of comparing rules with one command; what takes more is asked about.
pub const MAX_MATCH_STEPS: usize = 4_000_000;
/// Most words of all commands listed.
pub const MAX_LISTED_WORDS: usize = 16_384;
/// Most test cases of one profile or one file of cases.
pub const MAX_CASES: usize = 1_000;
