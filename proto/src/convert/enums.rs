//! Conversion of enums that have the same values in the domain and on the wire.

use super::error::ConvertError;
use crate::{runner_v1, v1};

/// Implements both directions for an enum with a one-to-one correspondence. A wire value that is not listed
/// (`UNSPECIFIED`, or a value of a later version) is an error.
macro_rules! same_enum {
    ($domain:path, $wire:path, $field:literal, { $($d:ident = $w:ident),+ $(,)? }) => {
        impl From<$domain> for $wire {
            fn from(value: $domain) -> Self {
                use $domain as D;
                match value { $(D::$d => Self::$w),+ }
            }
        }

        impl TryFrom<$wire> for $domain {
            type Error = ConvertError;

            fn try_from(value: $wire) -> Result<Self, ConvertError> {
                use $wire as W;
                match value {
                    $(W::$w => Ok(Self::$d),)+
                    other => Err(ConvertError::new(
                        $field,
                        format!("`{}` is not allowed here", other.as_str_name()),
                    )),
                }
            }
        }
    };
}

same_enum!(airlock_domain::Shell, v1::Shell, "shell", { Bash = Bash, Zsh = Zsh, Pwsh = Pwsh });
same_enum!(airlock_domain::Mode, v1::Mode, "mode", {
    Bypass = Bypass, AcceptEdits = AcceptEdits, Default = Default, Plan = Plan,
});
same_enum!(airlock_domain::OutputStream, v1::OutputStream, "stream", { Stdout = Stdout, Stderr = Stderr });
same_enum!(airlock_domain::ExecutionState, v1::ExecutionState, "state", {
    PendingApproval = PendingApproval,
    Queued = Queued,
    Starting = Starting,
    Running = Running,
    Finished = Finished,
});
same_enum!(airlock_domain::LinkState, v1::LinkState, "link", {
    Connected = Connected, Unreachable = Unreachable,
});
same_enum!(airlock_domain::TimeoutKind, v1::TimeoutKind, "timed_out.kind", { Wall = Wall, Idle = Idle });
same_enum!(airlock_domain::CancelledBy, v1::CancelledBy, "cancelled.by", {
    Client = Client, Admin = Admin, Disconnect = Disconnect, Session = Session, Drain = Drain,
});
same_enum!(airlock_domain::DeniedBy, v1::DeniedBy, "denied.by", {
    Policy = Policy, Person = Person, NobodyToAsk = NobodyToAsk,
});
same_enum!(airlock_domain::BackgroundedBy, v1::BackgroundedBy, "backgrounded_by", {
    Client = Client, Request = Request, Budget = Budget,
});
same_enum!(airlock_domain::Signal, v1::Signal, "signal", {
    Hup = Hup, Int = Int, Quit = Quit, Usr1 = Usr1, Usr2 = Usr2,
    Term = Term, Kill = Kill, Stop = Stop, Cont = Cont,
});
same_enum!(airlock_domain::FileFormat, v1::FileFormat, "format", {
    File = File, Tar = Tar, TarGzip = TarGzip,
});
same_enum!(airlock_domain::FileType, v1::FileType, "type", {
    Regular = Regular, Directory = Directory, Symlink = Symlink, Other = Other,
});
same_enum!(airlock_domain::DirectoryReport, v1::DirectoryReport, "directory_report", {
    Reported = Reported, Unchanged = Unchanged, SnappedBack = SnappedBack, NotKept = NotKept,
});
same_enum!(airlock_domain::ViolationAction, v1::ViolationAction, "violation.action", {
    Reported = Reported, Quarantined = Quarantined, Failed = Failed,
});
same_enum!(airlock_domain::ConnectionProtocol, v1::ConnectionProtocol, "connection.protocol", {
    Http = Http, Connect = Connect, Socks = Socks,
});
same_enum!(airlock_domain::ConnectionVerdict, v1::ConnectionVerdict, "connection.verdict", {
    Allowed = Allowed, Warned = Warned, Refused = Refused, Failed = Failed,
});
same_enum!(airlock_domain::HookOutcome, v1::HookOutcome, "hook.outcome", {
    None = None, Allow = Allow, Ask = Ask, Deny = Deny,
    Timeout = Timeout, Unavailable = Unavailable, Invalid = Invalid, Busy = Busy,
});
same_enum!(airlock_domain::JobPhase, runner_v1::JobPhase, "phase", {
    Accepted = Accepted, Refused = Refused, Running = Running, Ended = Ended, Lost = Lost,
});

impl From<airlock_domain::Started> for v1::Started {
    fn from(value: airlock_domain::Started) -> Self {
        match value {
            airlock_domain::Started::No => Self::No,
            airlock_domain::Started::Yes => Self::Yes,
            airlock_domain::Started::Unknown => Self::Unknown,
        }
    }
}

impl From<v1::Started> for airlock_domain::Started {
    fn from(value: v1::Started) -> Self {
        match value {
            v1::Started::No => Self::No,
            v1::Started::Yes => Self::Yes,
            v1::Started::Unknown | v1::Started::Unspecified => Self::Unknown,
        }
    }
}

impl From<airlock_domain::OutputState> for v1::OutputState {
    fn from(value: airlock_domain::OutputState) -> Self {
        match value {
            airlock_domain::OutputState::None => Self::None,
            airlock_domain::OutputState::Live => Self::Live,
            airlock_domain::OutputState::Storing => Self::Storing,
            airlock_domain::OutputState::Stored => Self::Stored,
            airlock_domain::OutputState::Partial { .. } => Self::Partial,
            airlock_domain::OutputState::Lost => Self::Lost,
        }
    }
}
