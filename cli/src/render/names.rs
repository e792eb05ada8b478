//! The names of wire enum values that people read and type.

use airlock_client::v1::{
    ApprovalState, BackgroundedBy, BoundFileState, CauseCode, ChangeKind, ConnectionProtocol,
    ConnectionVerdict, DirectoryReport, ExecutionState, FileType, HookOutcome, LinkState, Mode, OutputState,
    OutputStream, RuleScope, RunnerState, SessionState, Shell, Started, Verdict, ViolationAction, WatchKind,
};

/// A wire enum with named values.
pub trait Named: TryFrom<i32> + Copy {
    /// The prefix of the values' wire names.
    const PREFIX: &'static str;

    /// Returns the wire name.
    fn wire_name(self) -> &'static str;
}

macro_rules! named {
    ($($name:ident $prefix:literal),* $(,)?) => {$(
        impl Named for $name {
            const PREFIX: &'static str = $prefix;

            fn wire_name(self) -> &'static str {
                self.as_str_name()
            }
        }
    )*};
}

named! {
    ApprovalState "APPROVAL_STATE_",
    BackgroundedBy "BACKGROUNDED_BY_",
    BoundFileState "BOUND_FILE_STATE_",
    CauseCode "CAUSE_CODE_",
    ChangeKind "CHANGE_KIND_",
    ConnectionProtocol "CONNECTION_PROTOCOL_",
    ConnectionVerdict "CONNECTION_VERDICT_",
    DirectoryReport "DIRECTORY_REPORT_",
    ExecutionState "EXECUTION_STATE_",
    FileType "FILE_TYPE_",
    HookOutcome "HOOK_OUTCOME_",
    LinkState "LINK_STATE_",
    Mode "MODE_",
    OutputState "OUTPUT_STATE_",
    OutputStream "OUTPUT_STREAM_",
    RuleScope "RULE_SCOPE_",
    RunnerState "RUNNER_STATE_",
    SessionState "SESSION_STATE_",
    Shell "SHELL_",
    Started "STARTED_",
    Verdict "VERDICT_",
    ViolationAction "VIOLATION_ACTION_",
    WatchKind "WATCH_KIND_",
}

/// Returns the short name of a value, such as `RUNNING`. A value that this client does not know is
/// `UNKNOWN_` and its number.
#[must_use]
pub fn upper<T: Named>(value: i32) -> String {
    T::try_from(value).map_or_else(
        |_| format!("UNKNOWN_{value}"),
        |known| known.wire_name().trim_start_matches(T::PREFIX).to_owned(),
    )
}

/// Returns the short name of a value in lower case, such as `running`.
#[must_use]
pub fn lower<T: Named>(value: i32) -> String {
    upper::<T>(value).to_lowercase()
}
