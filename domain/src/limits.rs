//! The named limits of the contract, in bytes or counts. The limits of a deployment are part of its
//! configuration and can only be lower.

use std::time::Duration;

/// Bytes of a command. This is one byte less than the kernel's limit for one argument, so that the whole command fits
/// into one argument of the shell.
pub const COMMAND_BYTES: usize = 128 * 1024 - 1;
/// Bytes of a `request_id`.
pub const REQUEST_ID_BYTES: usize = 128;
/// Bytes of a description.
pub const DESCRIPTION_BYTES: usize = 1024;
/// Bytes of the reason with which a person denies.
pub const REASON_BYTES: usize = 1024;
/// Variables in a request or a session.
pub const ENV_ENTRIES: usize = 256;
/// Bytes of all names and values of these variables.
pub const ENV_BYTES: usize = 128 * 1024;
/// Labels of an execution, session or runner.
pub const LABELS: usize = 32;
/// Bytes of a label's key.
pub const LABEL_KEY_BYTES: usize = 63;
/// Bytes of a label's value.
pub const LABEL_VALUE_BYTES: usize = 255;
/// Bytes of the name of a profile or base.
pub const NAME_BYTES: usize = 128;
/// Entries of a page if the request does not set a size.
pub const PAGE_SIZE_DEFAULT: i32 = 100;
/// The maximum number of entries of a page.
pub const PAGE_SIZE_MAX: i32 = 1000;
/// Bytes of a page token.
pub const PAGE_TOKEN_BYTES: usize = 256;
/// Bytes of a directory.
pub const DIRECTORY_BYTES: usize = 4096;
/// Violations in one result.
pub const VIOLATIONS: usize = 100;
/// Connections in one result. Further ones are counted.
pub const CONNECTIONS: usize = 100;
/// Paths and programs in a grant, each.
pub const DECIDED_PATHS: usize = 1024;
/// Paths and settings of one type of file that a program obeys.
pub const OBEYED_NAMES: usize = 1024;
/// Bytes of a file that a program obeys. A longer file is treated as one that names a program.
pub const OBEYED_FILE_BYTES: u64 = 256 * 1024;
/// Files that the programs of one command obey, including included files and listed directories.
pub const OBEYED_FILES: usize = 512;
/// Bytes of a cursor.
pub const CURSOR_BYTES: usize = 64;
/// Bytes of one chunk of live output.
pub const CHUNK_BYTES: usize = 32 * 1024;
/// Bytes of one chunk of an upload, a download or an input.
pub const TRANSFER_CHUNK_BYTES: usize = 256 * 1024;
/// Bytes of a `transfer_id`.
pub const TRANSFER_ID_BYTES: usize = 128;
/// Bytes of a file's path.
pub const PATH_BYTES: usize = 4096;
/// Globs in one list of a filter.
pub const GLOBS: usize = 64;
/// Bytes of one glob.
pub const GLOB_BYTES: usize = 1024;
/// Rules that are remembered with one answer.
pub const RULES: usize = 16;
/// Bytes of one such rule.
pub const RULE_BYTES: usize = 1024;
/// Files that an approval is bound to.
pub const BOUND_FILES: usize = 64;
/// Bytes of one such file. A larger file is not compared.
pub const BOUND_FILE_BYTES: u64 = 16 << 20;
/// Bytes of all such files of one command. Further files are not compared.
pub const BOUND_FILES_BYTES: u64 = 32 << 20;
/// Files of one file edit.
pub const EDIT_FILES: usize = 16;
/// Bytes of one file of a file edit, before and after it. A larger file has no preview.
pub const EDIT_FILE_BYTES: u64 = 1 << 20;
/// Bytes of all diffs of one file edit.
pub const EDIT_DIFF_BYTES: usize = 32 * 1024;
/// Skipped files that a download names.
pub const SKIPPED_FILES: usize = 100;
/// Bytes of the unified diff of one file.
pub const PATCH_BYTES: usize = 64 * 1024;
/// Rows and columns of a terminal.
pub const TERMINAL_CELLS: u16 = 4096;
/// Bytes of a terminal's TERM value.
pub const TERM_BYTES: usize = 64;
/// Bytes of a search pattern.
pub const PATTERN_BYTES: usize = 1024;
/// Bytes of a line that a search compares and returns.
pub const LINE_BYTES: usize = 64 * 1024;
/// Lines of a head or tail.
pub const EDGE_LINES: u64 = 1_000_000;
/// Lines of context before, and after, a match.
pub const CONTEXT_LINES: u32 = 100;
/// Matches of a search if the request does not set a number.
pub const MATCHES_DEFAULT: u32 = 1000;
/// The maximum number of matches of a search.
pub const MATCHES_MAX: u32 = 100_000;
/// Matching ranges that are returned for one line.
pub const SPANS_PER_LINE: usize = 64;
/// Bytes up to which a result contains each stream in full as text, unless the profile or the request sets
/// another value.
pub const INLINE_DEFAULT: u32 = 30_000;
/// The maximum of that value.
pub const INLINE_MAX: usize = 150_000;
/// Bytes that a result contains of each end of a longer stream.
pub const PREVIEW_END_BYTES: usize = 2_500;
/// Images in a result.
pub const IMAGES: usize = 16;
/// Hints in a result.
pub const HINTS: usize = 32;
/// Bytes of one hint.
pub const HINT_BYTES: usize = 4 * 1024;
/// Entries of one list of network rules.
pub const NETWORK_ENTRIES: usize = 256;
/// Bytes of all entries of the network rules of one layer.
pub const NETWORK_BYTES: usize = 16 * 1024;
/// The longest time for which a connection waits for an answer of a person. It is within the time after which the
/// runner's proxy closes an idle connection.
pub const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(5 * 60);
/// The time for which a connection waits for an answer, if the profile does not set it.
pub const CONNECTION_WAIT_DEFAULT: Duration = Duration::from_secs(60);
/// The most connections of one execution that wait for an answer at the same time, each for another target.
pub const QUESTIONS_AT_ONCE: usize = 16;
/// The most questions about connections of one execution.
pub const QUESTIONS_PER_EXECUTION: usize = 64;
/// Layers of network rules in a grant.
pub const NETWORK_LAYERS: usize = 3;
/// Hooks of a profile, including inherited ones.
pub const HOOKS: usize = 8;
/// Bytes of a hook's reason.
pub const HOOK_REASON_BYTES: usize = 1024;
/// Names of secrets in a profile.
pub const SECRETS: usize = 64;
/// The minimum length of a secret's value in bytes. Shorter values would also match ordinary text.
pub const SECRET_BYTES_MIN: usize = 8;
/// The maximum length of a secret's value in bytes.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;
/// Lines in a progress event.
pub const PROGRESS_LINES: usize = 5;
/// Bytes of one such line.
pub const PROGRESS_LINE_BYTES: usize = 1024;
/// Bytes of one gRPC message, in both directions.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
/// Bytes of all `google.rpc` details of one error.
pub const ERROR_DETAIL_BYTES: usize = 4 * 1024;
/// The timeout if the request does not set one.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
/// The maximum timeout, unless the profile sets another one.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(30 * 60);
/// The timeout of one Wait call if the request does not set one.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// The maximum timeout of one Wait call.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// A session's idle timeout if the request does not set one.
pub const IDLE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(3600);
/// The maximum idle timeout of a session.
pub const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// Concurrent reads on one output stream.
pub const READS_AT_ONCE: usize = 16;
/// Bytes of a profile's `shell.init`.
pub const SHELL_INIT_BYTES: usize = 64 * 1024;
/// Words of a profile's `shell.prefix`.
pub const SHELL_PREFIX_WORDS: usize = 16;
/// Bytes of a session's shell snapshot.
pub const SNAPSHOT_BYTES: usize = 256 * 1024;
/// Bytes of a session's search path.
pub const SEARCH_PATH_BYTES: usize = 4096;
/// Bytes of the reason why a session has no shell snapshot.
pub const SNAPSHOT_PROBLEM_BYTES: usize = 1024;
/// Earlier epochs that a runner's journal covers completely.
pub const VOUCHED_EPOCHS: usize = 16;
