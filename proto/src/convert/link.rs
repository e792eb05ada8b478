//! Conversion of the messages of the control stream.

use super::{
    error::{ConvertError, duration, parsed, required, wire_duration},
    grant::{self, terminal_size},
    question,
};
use crate::{
    runner_v1 as wire,
    runner_v1::{connect_request::Message as Up, connect_response::Message as Down},
    v1,
};
use airlock_domain::{
    Capability, FromRunner, JobReport, RunnerHello, SessionPhase, SessionReport, SessionSnapshot, StartJob,
    ToRunner,
};

impl From<FromRunner> for wire::ConnectRequest {
    fn from(message: FromRunner) -> Self {
        let message = match message {
            FromRunner::Hello(hello) => Up::Hello(hello.into()),
            FromRunner::Heartbeat { clock_ms, running } => {
                Up::Heartbeat(wire::Heartbeat { clock_ms, running })
            }
            FromRunner::Job(report) => Up::Job(report.into()),
            FromRunner::Reconciled => Up::Reconciled(wire::Reconciled {}),
            FromRunner::Session(report) => Up::Session(report.into()),
            FromRunner::Draining { over } => Up::Draining(wire::Draining { over }),
            FromRunner::Probed { number } => Up::Probed(wire::Probed { number }),
            FromRunner::Asked(asked) => Up::ConnectionAsked(asked.into()),
            FromRunner::Unasked { execution_id, approval_id } => {
                Up::ConnectionUnasked(question::unasked(execution_id, approval_id))
            }
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::ConnectRequest> for FromRunner {
    type Error = ConvertError;

    fn try_from(request: wire::ConnectRequest) -> Result<Self, ConvertError> {
        Ok(match required("message", request.message)? {
            Up::Hello(hello) => Self::Hello(hello.try_into()?),
            Up::Heartbeat(wire::Heartbeat { clock_ms, running }) => Self::Heartbeat { clock_ms, running },
            Up::Job(report) => Self::Job(report.try_into()?),
            Up::Reconciled(_) => Self::Reconciled,
            Up::Session(report) => Self::Session(report.try_into()?),
            Up::Draining(wire::Draining { over }) => Self::Draining { over },
            Up::Probed(wire::Probed { number }) => Self::Probed { number },
            Up::ConnectionAsked(asked) => Self::Asked(asked.try_into()?),
            Up::ConnectionUnasked(unasked) => question::no_longer_asked(&unasked)?,
        })
    }
}

impl From<RunnerHello> for wire::Hello {
    fn from(hello: RunnerHello) -> Self {
        Self {
            protocol_version: hello.protocol_version,
            runner_id: hello.runner_id.to_string(),
            epoch: hello.epoch.to_string(),
            version: hello.version,
            labels: hello.labels,
            slots: hello.slots,
            bases: hello.bases,
            capabilities: hello.capabilities.into_iter().map(Into::into).collect(),
            shells: hello.shells,
            clock_ms: hello.clock_ms,
            vouched_epochs: hello.vouched_epochs.iter().map(ToString::to_string).collect(),
            answers_probes: hello.answers_probes,
        }
    }
}

impl TryFrom<wire::Hello> for RunnerHello {
    type Error = ConvertError;

    fn try_from(hello: wire::Hello) -> Result<Self, ConvertError> {
        Ok(Self {
            protocol_version: hello.protocol_version,
            runner_id: parsed("hello.runner_id", &hello.runner_id)?,
            epoch: parsed("hello.epoch", &hello.epoch)?,
            version: hello.version,
            labels: hello.labels,
            slots: hello.slots,
            bases: hello.bases,
            capabilities: hello.capabilities.into_iter().map(Into::into).collect(),
            shells: hello.shells,
            clock_ms: hello.clock_ms,
            vouched_epochs: hello
                .vouched_epochs
                .iter()
                .map(|epoch| parsed("hello.vouched_epochs", epoch))
                .collect::<Result<_, _>>()?,
            answers_probes: hello.answers_probes,
        })
    }
}

impl From<Capability> for v1::Capability {
    fn from(capability: Capability) -> Self {
        Self { name: capability.name, enforced: capability.enforced, detail: capability.detail }
    }
}

impl From<v1::Capability> for Capability {
    fn from(capability: v1::Capability) -> Self {
        Self { name: capability.name, enforced: capability.enforced, detail: capability.detail }
    }
}

impl From<JobReport> for wire::JobReport {
    fn from(report: JobReport) -> Self {
        Self {
            execution_id: report.execution_id.to_string(),
            attempt: report.attempt,
            epoch: report.epoch.to_string(),
            phase: wire::JobPhase::from(report.phase).into(),
            result: report.result.map(Into::into),
        }
    }
}

impl TryFrom<wire::JobReport> for JobReport {
    type Error = ConvertError;

    fn try_from(report: wire::JobReport) -> Result<Self, ConvertError> {
        use airlock_domain::JobPhase::{Ended, Lost, Refused};
        let phase = report.phase().try_into()?;
        let result = report.result.map(TryInto::try_into).transpose()?;
        if matches!(phase, Ended | Lost | Refused) && result.is_none() {
            return Err(ConvertError::new("job.result", "is missing in this phase"));
        }
        Ok(Self {
            execution_id: parsed("job.execution_id", &report.execution_id)?,
            attempt: report.attempt,
            epoch: parsed("job.epoch", &report.epoch)?,
            phase,
            result,
        })
    }
}

impl From<SessionReport> for wire::SessionReport {
    fn from(report: SessionReport) -> Self {
        let mut out = Self { session_id: report.session_id.to_string(), ..Self::default() };
        match report.phase {
            SessionPhase::Open { directory, snapshot } => {
                out.set_phase(wire::SessionPhase::Open);
                out.directory = directory.into();
                out.snapshot = snapshot.text.into();
                out.snapshot_problem = snapshot.problem;
            }
            SessionPhase::Failed { reason, message } => {
                out.set_phase(wire::SessionPhase::Failed);
                out.reason = reason;
                out.message = message;
            }
            SessionPhase::Closed => out.set_phase(wire::SessionPhase::Closed),
        }
        out
    }
}

impl TryFrom<wire::SessionReport> for SessionReport {
    type Error = ConvertError;

    fn try_from(report: wire::SessionReport) -> Result<Self, ConvertError> {
        let session_id = parsed("session.session_id", &report.session_id)?;
        let phase = match report.phase() {
            wire::SessionPhase::Open => SessionPhase::Open {
                directory: report.directory.into(),
                snapshot: SessionSnapshot { text: report.snapshot.into(), problem: report.snapshot_problem },
            },
            wire::SessionPhase::Failed => {
                SessionPhase::Failed { reason: report.reason, message: report.message }
            }
            wire::SessionPhase::Closed => SessionPhase::Closed,
            wire::SessionPhase::Unspecified => {
                return Err(ConvertError::new("session.phase", "is missing or unknown"));
            }
        };
        Ok(Self { session_id, phase })
    }
}

impl From<ToRunner> for wire::ConnectResponse {
    fn from(message: ToRunner) -> Self {
        let message = match message {
            ToRunner::Welcome {
                server_id,
                protocol_version,
                heartbeat_interval,
                link_grace,
                takes_questions,
            } => Down::Welcome(wire::Welcome {
                takes_questions,
                server_id,
                protocol_version,
                heartbeat_interval: Some(wire_duration(heartbeat_interval)),
                link_grace: Some(wire_duration(link_grace)),
            }),
            ToRunner::OpenSession { session_id, base, profile } => Down::OpenSession(wire::OpenSession {
                session_id: session_id.to_string(),
                base,
                profile: grant::wire_profile(profile.as_deref()).into(),
            }),
            ToRunner::CloseSession { session_id } => {
                Down::CloseSession(wire::CloseSession { session_id: session_id.to_string() })
            }
            ToRunner::StartJob(job) => Down::StartJob((*job).into()),
            ToRunner::EndJob { execution_id, cause } => Down::EndJob(wire::EndJob {
                execution_id: execution_id.to_string(),
                cause: Some(cause.into()),
            }),
            ToRunner::OpenOutput { execution_id, ticket } => {
                Down::OpenOutput(wire::OpenOutput { execution_id: execution_id.to_string(), ticket })
            }
            ToRunner::ForgetJob { execution_id } => {
                Down::ForgetJob(wire::ForgetJob { execution_id: execution_id.to_string() })
            }
            ToRunner::SignalJob { execution_id, signal } => Down::SignalJob(wire::SignalJob {
                execution_id: execution_id.to_string(),
                signal: v1::Signal::from(signal).into(),
            }),
            ToRunner::ResizeJob { execution_id, size } => Down::ResizeJob(wire::ResizeJob {
                execution_id: execution_id.to_string(),
                size: Some(size.into()),
            }),
            ToRunner::DetachJob { execution_id, timeout } => Down::DetachJob(wire::DetachJob {
                execution_id: execution_id.to_string(),
                timeout: Some(wire_duration(timeout)),
            }),
            ToRunner::SetSessionNetwork { session_id, version, network } => {
                Down::SetSessionNetwork(wire::SetSessionNetwork {
                    session_id: session_id.to_string(),
                    version,
                    network: network.map(Into::into),
                })
            }
            ToRunner::AnswerConnection { execution_id, approval_id, answer } => {
                Down::AnswerConnection(question::answered(execution_id, approval_id, answer))
            }
            ToRunner::Drain { undo } => Down::Drain(wire::Drain { undo }),
            ToRunner::Probe { number } => Down::Probe(wire::Probe { number }),
            ToRunner::OpenExchange { ticket } => Down::OpenExchange(wire::OpenExchange { ticket }),
            ToRunner::Heartbeat => Down::Heartbeat(wire::ServerHeartbeat {}),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::ConnectResponse> for ToRunner {
    type Error = ConvertError;

    fn try_from(response: wire::ConnectResponse) -> Result<Self, ConvertError> {
        Ok(match required("message", response.message)? {
            Down::Welcome(welcome) => Self::Welcome {
                server_id: welcome.server_id,
                protocol_version: welcome.protocol_version,
                heartbeat_interval: duration("welcome.heartbeat_interval", welcome.heartbeat_interval)?,
                link_grace: duration("welcome.link_grace", welcome.link_grace)?,
                takes_questions: welcome.takes_questions,
            },
            Down::OpenSession(open) => Self::OpenSession {
                session_id: parsed("open_session.session_id", &open.session_id)?,
                base: open.base,
                profile: grant::profile(&open.profile)?,
            },
            Down::CloseSession(close) => {
                Self::CloseSession { session_id: parsed("close_session.session_id", &close.session_id)? }
            }
            Down::StartJob(job) => Self::StartJob(Box::new(job.try_into()?)),
            Down::EndJob(end) => Self::EndJob {
                execution_id: parsed("end_job.execution_id", &end.execution_id)?,
                cause: required("end_job.cause", end.cause)?.try_into()?,
            },
            Down::OpenOutput(open) => Self::OpenOutput {
                execution_id: parsed("open_output.execution_id", &open.execution_id)?,
                ticket: open.ticket,
            },
            Down::ForgetJob(forget) => {
                Self::ForgetJob { execution_id: parsed("forget_job.execution_id", &forget.execution_id)? }
            }
            Down::SignalJob(signal) => Self::SignalJob {
                execution_id: parsed("signal_job.execution_id", &signal.execution_id)?,
                signal: signal.signal().try_into()?,
            },
            Down::ResizeJob(resize) => Self::ResizeJob {
                execution_id: parsed("resize_job.execution_id", &resize.execution_id)?,
                size: terminal_size("resize_job.size", &required("resize_job.size", resize.size)?)?,
            },
            Down::DetachJob(detach) => Self::DetachJob {
                execution_id: parsed("detach_job.execution_id", &detach.execution_id)?,
                timeout: duration("detach_job.timeout", detach.timeout)?,
            },
            Down::SetSessionNetwork(set) => Self::SetSessionNetwork {
                session_id: parsed("set_session_network.session_id", &set.session_id)?,
                version: set.version,
                network: set.network.map(Into::into),
            },
            Down::AnswerConnection(answer) => question::answer(answer)?,
            Down::Drain(wire::Drain { undo }) => Self::Drain { undo },
            Down::Probe(wire::Probe { number }) => Self::Probe { number },
            Down::OpenExchange(wire::OpenExchange { ticket }) => Self::OpenExchange { ticket },
            Down::Heartbeat(_) => Self::Heartbeat,
        })
    }
}

impl From<StartJob> for wire::StartJob {
    fn from(job: StartJob) -> Self {
        Self {
            execution_id: job.execution_id.to_string(),
            attempt: job.attempt,
            epoch: job.epoch.to_string(),
            not_after_clock_ms: job.not_after_clock_ms,
            grant: Some(grant::into_wire(&job.grant, job.binding)),
            traceparent: job.traceparent,
        }
    }
}

impl TryFrom<wire::StartJob> for StartJob {
    type Error = ConvertError;

    fn try_from(job: wire::StartJob) -> Result<Self, ConvertError> {
        let (grant, binding) = grant::from_wire(&required("start_job.grant", job.grant)?)?;
        Ok(Self {
            execution_id: parsed("start_job.execution_id", &job.execution_id)?,
            attempt: job.attempt,
            epoch: parsed("start_job.epoch", &job.epoch)?,
            not_after_clock_ms: job.not_after_clock_ms,
            grant,
            binding,
            traceparent: job.traceparent,
        })
    }
}
