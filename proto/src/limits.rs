//! The contract's named limits. Bytes and counts; those of a deployment are in its configuration and
//! can only be lower.

use std::time::Duration;

/// Of a command. One byte less than the kernel's limit for one argument of a program, so that the
/// shell can be given it whole.
pub const COMMAND_BYTES: usize = 128 * 1024 - 1;
/// Of a `request_id`.
pub const REQUEST_ID_BYTES: usize = 128;
/// Of a description.
pub const DESCRIPTION_BYTES: usize = 1024;
/// Of the reason of a denial by a person.
pub const REASON_BYTES: usize = 1024;
/// Variables in a request or a session.
pub const ENV_ENTRIES: usize = 256;
/// Of all names and values of those together.
pub const ENV_BYTES: usize = 128 * 1024;
/// Labels of an execution, session or runner.
pub const LABELS: usize = 32;
/// Of a label's key.
pub const LABEL_KEY_BYTES: usize = 63;
/// Of a label's value.
pub const LABEL_VALUE_BYTES: usize = 255;
/// Of a profile's or base folder's name.
pub const NAME_BYTES: usize = 128;
/// Entries of a page when none is asked for.
pub const PAGE_SIZE_DEFAULT: i32 = 100;
/// Entries of a page at most.
pub const PAGE_SIZE_MAX: i32 = 1000;
/// Of a page token.
pub const PAGE_TOKEN_BYTES: usize = 256;
/// Of a directory.
pub const DIRECTORY_BYTES: usize = 4096;
/// Violations in one result.
pub const VIOLATIONS: usize = 100;
/// Paths, and programs, that a grant tells its runner of.
pub const DECIDED_PATHS: usize = 1024;
/// Of one kind of file that a program obeys: paths, and settings.
pub const OBEYED_NAMES: usize = 1024;
/// Bytes of a file that a program obeys; one that is longer is taken for one that names a program.
pub const OBEYED_FILE_BYTES: u64 = 256 * 1024;
/// Files that programs of one command obey, with those that they include, and directories that are listed for them.
pub const OBEYED_FILES: usize = 512;
/// Of a cursor.
pub const CURSOR_BYTES: usize = 64;
/// Of one output chunk, live.
pub const CHUNK_BYTES: usize = 32 * 1024;
/// Of one chunk of an upload, a download or an input.
pub const TRANSFER_CHUNK_BYTES: usize = 256 * 1024;
/// Of a `transfer_id`.
pub const TRANSFER_ID_BYTES: usize = 128;
/// Of a file's path.
pub const PATH_BYTES: usize = 4096;
/// Globs of one kind in a filter.
pub const GLOBS: usize = 64;
/// Of one glob.
pub const GLOB_BYTES: usize = 1024;
/// Rules that are remembered with one answer.
pub const RULES: usize = 16;
/// Of one such rule.
pub const RULE_BYTES: usize = 1024;
/// Files whose contents an approval is bound to.
pub const BOUND_FILES: usize = 64;
/// Of one such file; a larger one is not compared.
pub const BOUND_FILE_BYTES: u64 = 16 << 20;
/// Of all of one command's together; those after it are not compared.
pub const BOUND_FILES_BYTES: u64 = 32 << 20;
/// Files that a download names as left out.
pub const SKIPPED_FILES: usize = 100;
/// Of one file's unified diff.
pub const PATCH_BYTES: usize = 64 * 1024;
/// Rows and columns of a terminal.
pub const TERMINAL_CELLS: u16 = 4096;
/// Of the name of a terminal's kind.
pub const TERM_BYTES: usize = 64;
/// Of a search pattern.
pub const PATTERN_BYTES: usize = 1024;
/// Of a line, as it is searched and shown.
pub const LINE_BYTES: usize = 64 * 1024;
/// Lines of a head or tail.
pub const EDGE_LINES: u64 = 1_000_000;
/// Lines before and after a match.
pub const CONTEXT_LINES: u32 = 100;
/// Matches of a search when no number is asked for.
pub const MATCHES_DEFAULT: u32 = 1000;
/// Matches of a search at most.
pub const MATCHES_MAX: u32 = 100_000;
/// Ranges shown of the matches in one line.
pub const SPANS_PER_LINE: usize = 64;
/// Bytes of each stream that a result holds whole, as text, unless the profile or the request says otherwise.
pub const INLINE_DEFAULT: u32 = 30_000;
/// The same, at most.
pub const INLINE_MAX: usize = 150_000;
/// What a result holds of each end of a longer stream.
pub const PREVIEW_END_BYTES: usize = 2_500;
/// Images that a result names.
pub const IMAGES: usize = 16;
/// Hints that a result holds.
pub const HINTS: usize = 32;
/// Of one hint.
pub const HINT_BYTES: usize = 4 * 1024;
/// Names of secrets in a profile.
pub const SECRETS: usize = 64;
/// Of a secret's value, at least: what is shorter would be found in what is none.
pub const SECRET_BYTES_MIN: usize = 8;
/// Of a secret's value, at most.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;
/// Lines that a progress event shows.
pub const PROGRESS_LINES: usize = 5;
/// Of one such line.
pub const PROGRESS_LINE_BYTES: usize = 1024;
/// Of one gRPC message, both ways.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
/// Of all `google.rpc` details of one error.
pub const ERROR_DETAIL_BYTES: usize = 4 * 1024;
/// Wall time when none is asked for.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
/// Wall time at most, unless the profile says otherwise.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(30 * 60);
/// Of one Wait when none is asked for.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// Of one Wait at most.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// A session's idle time-out when none is asked for.
pub const IDLE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(3600);
/// A session's idle time-out at most.
pub const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// Reads at once on one output stream.
pub const READS_AT_ONCE: usize = 16;
/// Of a profile's `shell.init`.
pub const SHELL_INIT_BYTES: usize = 64 * 1024;
/// Words of a profile's `shell.prefix`.
pub const SHELL_PREFIX_WORDS: usize = 16;
/// Of a session's shell snapshot.
pub const SNAPSHOT_BYTES: usize = 256 * 1024;
/// Of a session's search path.
pub const SEARCH_PATH_BYTES: usize = 4096;
/// Why a session has no shell snapshot, in bytes.
pub const SNAPSHOT_PROBLEM_BYTES: usize = 1024;
/// Earlier epochs of a runner that it vouches for one by one.
pub const VOUCHED_EPOCHS: usize = 16;
