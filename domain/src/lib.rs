//! The domain types that server and runner share, and the canonical encoding that binds a grant to its decision.
//!
//! They are plain data without generated types, I/O or clocks. Each enum is closed.

#![forbid(unsafe_code)]

pub mod binding;
pub mod cursor;
pub mod encoding;
pub mod limits;
pub mod secret;
pub mod text;

mod bound;
mod cause;
mod causes;
pub mod command;
mod connection;
mod edit;
mod exchange;
mod execution;
mod file;
mod grant;
mod hook;
mod ids;
mod link;
mod network;
mod network_layers;
mod output;
mod ports;

pub use bound::{BoundFile, FileState};
pub use cause::{
    CancelledBy, Cause, DeniedBy, DirectoryReport, ExecutionResult, Started, TimeoutKind, Violation,
    ViolationAction,
};
pub use causes::with_causes;
pub use command::{CommandSpec, CreateSession, Given, Mode, Shell, StartExecution};
pub use connection::{Connection, ConnectionProtocol, ConnectionVerdict};
pub use edit::{DecidedEdit, EditPreview, EditedFile, FilePreview};
pub use encoding::EncodingError;
pub use exchange::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner};
pub use execution::{BackgroundedBy, ExecutionState, JobPhase, JobReport, LinkState, OutputState, Signal};
pub use file::{
    ChangeKind, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, FileChange, FileFilter, FileFormat,
    FileInfo, FileType, ListOrder, QuarantineOrder, QuarantinedFile, SkippedFile, UploadOrder, Uploaded,
};
pub use grant::{
    Bind, Decided, DecidedPath, Grant, NetworkMode, Obeyed, ObeyedFormat, PathAccess, PathRules, Protect,
    ProtectAction, Requirement, SandboxLimits, SandboxProfile, Sockets,
};
pub use hook::{HookAnswer, HookBinding, HookOutcome, HookedExecution};
pub use ids::{ApprovalId, Epoch, ExecutionId, ForwardId, IdError, RuleId, RunnerId, SessionId};
pub use link::{
    Capability, ConnectionAnswer, ConnectionAsked, FromRunner, PushFromRunner, PushToRunner, RunnerHello,
    SessionPhase, SessionReport, SessionSnapshot, StartJob, ToRunner,
};
pub use network::{ConnectionQuestions, Inspection, NetworkRules};
pub use network_layers::NetworkLayer;
pub use output::{ImageKind, InlineOutput, InlineText, OutputImage, OutputStream, Pty, TerminalSize};
pub use ports::{PortRange, PortRangeError};

#[cfg(test)]
mod testing;
