//! Conversion of the server's records to messages of the contract. It cannot fail.

use airlock_control::runners::{RunnerState, RunnerView};
use airlock_domain::{BackgroundedBy, ExecutionState, OutputState, limits::MESSAGE_BYTES};
use airlock_output::stream::Progress;
use airlock_proto::v1;
use airlock_store::record::{
    ApprovalRecord, ApprovalState, AskedConnection, CapabilityRecord, DecisionRecord, ExecutionRecord,
    Micros, RememberedRule, RuleScope, SessionRecord, SessionState, StateChange, Verdict,
};
use prost::Message as _;
use prost_types::{Duration as WireDuration, Timestamp};

use super::outcome;
use crate::validate;

/// The maximum size of a message without its execution, in bytes.
const MESSAGE_HEAD: usize = 4 * 1024;

/// Converts a session.
pub(super) fn session(record: SessionRecord) -> v1::Session {
    let state = match record.state {
        SessionState::Opening => v1::SessionState::Opening,
        SessionState::Open => v1::SessionState::Open,
        SessionState::Closing => v1::SessionState::Closing,
        SessionState::Closed => v1::SessionState::Closed,
        SessionState::Lost => v1::SessionState::Lost,
    };
    v1::Session {
        session_id: record.id.to_string(),
        tenant: record.tenant,
        principal: record.principal,
        state: state.into(),
        profile: record.profile,
        mode: v1::Mode::from(record.mode).into(),
        shell: v1::Shell::from(record.shell).into(),
        runner_id: record.runner_id.to_string(),
        labels: record.labels,
        created: Some(timestamp(record.created)),
        idle_timeout: Some(duration(record.idle_timeout)),
        base: record.base,
        state_message: record.state_message,
        throwaway: record.throwaway,
        snapshot_problem: record.snapshot.problem,
        network: record.network.map(Into::into),
        ..v1::Session::default()
    }
    .with_directory(record.directory)
}

/// Converts an execution without command, description, decision and inline output.
pub(super) fn execution(mut record: ExecutionRecord) -> v1::Execution {
    if let Some(result) = &mut record.result {
        result.inline = None;
    }
    finished_execution(record)
}

/// Converts an execution without command, description and decision.
pub(super) fn finished_execution(record: ExecutionRecord) -> v1::Execution {
    // The decision is needed only to explain a result.
    let decided = record.result.as_ref().and_then(|_| decision(&record.decision));
    basic(record, decided.as_ref())
}

fn basic(record: ExecutionRecord, decided: Option<&v1::Decision>) -> v1::Execution {
    let waits = record.state == ExecutionState::PendingApproval;
    let partial_from = if let OutputState::Partial { from } = record.output { from } else { 0 };
    let execution = v1::Execution {
        execution_id: record.id.to_string(),
        session_id: record.session_id.to_string(),
        request_id: record.request_id.unwrap_or_default(),
        tenant: record.tenant,
        principal: record.principal,
        state: v1::ExecutionState::from(record.state).into(),
        link: record.link.map_or(v1::LinkState::Unspecified, Into::into).into(),
        version: record.version,
        runner_id: record.runner_id.map(|id| id.to_string()).unwrap_or_default(),
        attempt: record.attempt,
        times: Some(v1::Times {
            created: Some(timestamp(record.created)),
            started: record.started.map(timestamp),
            ended: record.ended.map(timestamp),
        }),
        verdict: verdict(record.decision.verdict).into(),
        output_state: v1::OutputState::from(record.output).into(),
        partial_from,
        result: record.result.map(|result| {
            let mut result = v1::Result::from(result);
            outcome::explain(&mut result, decided);
            result
        }),
        approval_id: record.approval_id.filter(|_| waits).map(|id| id.to_string()).unwrap_or_default(),
        labels: record.spec.labels,
        backgrounded_by: backgrounded_by(record.backgrounded),
        ..v1::Execution::default()
    };
    validate::show_command(record.spec.command, execution)
}

/// Converts an execution with all fields.
pub(super) fn full_execution(mut record: ExecutionRecord) -> v1::Execution {
    let command = std::mem::take(&mut record.spec.command.text);
    let description = std::mem::take(&mut record.spec.description);
    let decision = decision(&record.decision);
    let basic = basic(record, decision.as_ref());
    fitting(v1::Execution { description, decision, ..basic }.with_command(command))
}

/// Removes the inline text of the output if the execution would not fit into a message.
fn fitting(mut execution: v1::Execution) -> v1::Execution {
    if execution.encoded_len() <= MESSAGE_BYTES - MESSAGE_HEAD {
        return execution;
    }
    if let Some(inline) = execution.result.as_mut().and_then(|result| result.inline.as_mut()) {
        for text in inline.stdout.iter_mut().chain(&mut inline.stderr) {
            let (total_bytes, total_lines, invalid_utf8) =
                (text.total_bytes, text.total_lines, text.invalid_utf8);
            let truncated_bytes = total_bytes;
            *text = v1::InlineText {
                total_bytes,
                total_lines,
                truncated_bytes,
                invalid_utf8,
                ..Default::default()
            };
        }
    }
    execution
}

/// Converts a change of state.
pub(super) fn state_changed(change: &StateChange) -> v1::StateChanged {
    v1::StateChanged {
        version: change.version,
        state: v1::ExecutionState::from(change.state).into(),
        link: change.link.map_or(v1::LinkState::Unspecified, Into::into).into(),
        at: Some(timestamp(change.at)),
        approval_id: change.approval_id.map(|id| id.to_string()).unwrap_or_default(),
        backgrounded_by: backgrounded_by(change.backgrounded_by),
    }
}

/// Converts the progress of a command.
pub(super) fn progress(progress: Progress) -> v1::Progress {
    let Progress { elapsed, total_bytes, total_lines, last_lines, complete } = progress;
    v1::Progress { elapsed: Some(duration(elapsed)), total_bytes, total_lines, last_lines, complete }
}

fn backgrounded_by(by: Option<BackgroundedBy>) -> i32 {
    by.map_or(v1::BackgroundedBy::Unspecified, Into::into).into()
}

/// Converts an approval.
pub(super) fn approval(record: ApprovalRecord) -> v1::Approval {
    let state = match record.state {
        ApprovalState::Open => v1::ApprovalState::Open,
        ApprovalState::Allowed => v1::ApprovalState::Allowed,
        ApprovalState::Denied => v1::ApprovalState::Denied,
        ApprovalState::Expired => v1::ApprovalState::Expired,
        ApprovalState::Withdrawn => v1::ApprovalState::Withdrawn,
    };
    v1::Approval {
        approval_id: record.id.to_string(),
        execution_id: record.execution_id.to_string(),
        session_id: record.session_id.to_string(),
        principal: record.principal,
        state: state.into(),
        shell: v1::Shell::from(record.shell).into(),
        description: record.description,
        decision: decision(&record.decision),
        created: Some(timestamp(record.created)),
        expires: Some(timestamp(record.expires)),
        binding: record.binding.to_vec().into(),
        decided_by: record.decided_by,
        reason: record.reason,
        files: record.files.into_iter().map(Into::into).collect(),
        terms: terms(&record.terms),
        connection: record.connection.map(|AskedConnection { host, port, rule }| v1::ApprovalConnection {
            host,
            port: port.into(),
            rule,
        }),
        ..v1::Approval::default()
    }
    .with_command(record.command)
    .with_directory(record.directory)
}

/// Decodes the stored terms of an approval. Returns `None` for an approval without terms.
fn terms(encoded: &[u8]) -> Option<v1::ApprovalTerms> {
    if encoded.is_empty() {
        return None;
    }
    v1::ApprovalTerms::decode(encoded)
        .inspect_err(|error| tracing::warn!(%error, "cannot decode the binding of a stored approval"))
        .ok()
}

/// Converts a remembered rule.
pub(super) fn rule(record: RememberedRule) -> v1::RememberedRule {
    let scope = match record.scope() {
        RuleScope::Session => v1::RuleScope::Session,
        RuleScope::Tenant => v1::RuleScope::Tenant,
    };
    v1::RememberedRule {
        rule_id: record.id.to_string(),
        rule: record.rule,
        scope: scope.into(),
        session_id: record.session_id.map(|id| id.to_string()).unwrap_or_default(),
        profile: record.profile,
        approval_id: record.approval_id.to_string(),
        decided_by: record.decided_by,
        created: Some(timestamp(record.created)),
    }
}

/// Converts a runner.
pub(super) fn runner(view: RunnerView) -> v1::Runner {
    let state = match view.state {
        RunnerState::Connected => v1::RunnerState::Connected,
        RunnerState::Unreachable => v1::RunnerState::Unreachable,
        RunnerState::Draining => v1::RunnerState::Draining,
        RunnerState::Lost => v1::RunnerState::Lost,
    };
    let record = view.record;
    v1::Runner {
        runner_id: record.id.to_string(),
        epoch: record.epoch.to_string(),
        state: state.into(),
        version: record.version,
        labels: record.labels,
        slots: record.slots,
        running: view.running,
        bases: record.bases,
        capabilities: record.capabilities.into_iter().map(capability).collect(),
        shells: record.shells,
        last_seen: Some(timestamp(record.last_seen)),
    }
}

fn capability(record: CapabilityRecord) -> v1::Capability {
    v1::Capability { name: record.name, enforced: record.enforced, detail: record.detail }
}

/// Decodes the stored decision. Unknown fields of a later version are ignored.
fn decision(record: &DecisionRecord) -> Option<v1::Decision> {
    v1::Decision::decode(&record.encoded[..])
        .inspect_err(|error| tracing::warn!(%error, "cannot decode a stored decision"))
        .ok()
}

fn verdict(verdict: Verdict) -> v1::Verdict {
    match verdict {
        Verdict::Allow => v1::Verdict::Allow,
        Verdict::Ask => v1::Verdict::Ask,
        Verdict::Deny => v1::Verdict::Deny,
    }
}

fn timestamp(micros: Micros) -> Timestamp {
    let seconds = micros.0.div_euclid(1_000_000);
    let nanos = micros.0.rem_euclid(1_000_000) * 1000;
    Timestamp { seconds, nanos: i32::try_from(nanos).unwrap_or(0) }
}

/// Converts a duration.
pub(super) fn duration(duration: std::time::Duration) -> WireDuration {
    WireDuration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use airlock_domain::{
        Cause, ExecutionResult, InlineOutput, InlineText,
        limits::{COMMAND_BYTES, INLINE_MAX},
    };
    use airlock_store::testing;

    use super::*;

    #[test]
    fn only_the_full_view_shows_what_was_asked_for() {
        let record = testing::execution();
        let basic = execution(record.clone());
        assert!(basic.command().is_empty() && basic.description.is_empty() && basic.decision.is_none());
        assert_eq!(basic.labels["job"], "7");
        let full = full_execution(record);
        assert_eq!((full.command(), &full.description[..]), (&b"git push"[..], "push the branch"));
        let same = v1::Execution {
            command: full.command.clone(),
            description: full.description.clone(),
            decision: full.decision.clone(),
            ..basic
        };
        assert_eq!(full, same);
    }

    #[test]
    fn a_denied_execution_says_how_it_ended() {
        let wire = execution(testing::execution());
        assert_eq!(wire.state(), v1::ExecutionState::Finished);
        assert_eq!(wire.verdict(), v1::Verdict::Deny);
        let result = wire.result.unwrap();
        assert_eq!(result.started(), v1::Started::No);
        assert_eq!(result.cause.unwrap().code(), v1::CauseCode::Denied);
        assert_eq!(wire.times.unwrap().created, Some(Timestamp { seconds: 1, nanos: 1000 }));
    }

    #[test]
    fn times_before_1970_keep_their_order() {
        assert_eq!(timestamp(Micros(-1)), Timestamp { seconds: -1, nanos: 999_999_000 });
    }

    fn record(decision: usize) -> ExecutionRecord {
        let text = |length| InlineText {
            text: "x".repeat(length),
            whole: true,
            total_bytes: 7,
            ..InlineText::default()
        };
        let inline = InlineOutput {
            stdout: text(INLINE_MAX),
            stderr: Some(text(INLINE_MAX)),
            hints: vec!["<airlock-hint/>".to_owned()],
            ..InlineOutput::default()
        };
        let cause = Cause::Exited { code: 0 };
        let result =
            ExecutionResult { inline: Some(Arc::new(inline)), ..ExecutionResult::not_started(cause) };
        let mut record = testing::records::record(ExecutionState::Finished);
        record.result = Some(result);
        record.spec.command.text = vec![b'x'; COMMAND_BYTES];
        record.decision.encoded =
            v1::Decision { policy_version: vec![0; decision].into(), ..Default::default() }.encode_to_vec();
        record
    }

    #[test]
    fn what_was_written_is_in_the_full_view_and_gives_way_where_it_does_not_fit() {
        let inline = |execution: v1::Execution| execution.result.unwrap().inline;
        assert_eq!(inline(execution(record(0))), None);
        let full = inline(full_execution(record(0))).unwrap();
        assert_eq!(full.stdout.unwrap().text.len(), INLINE_MAX);
        let large = full_execution(record(MESSAGE_BYTES / 2 + 150_000));
        assert!(large.encoded_len() <= MESSAGE_BYTES - MESSAGE_HEAD);
        let large = inline(large).unwrap();
        let stdout = large.stdout.unwrap();
        assert_eq!(
            (stdout.text.as_str(), stdout.whole, stdout.total_bytes, stdout.truncated_bytes),
            ("", false, 7, 7)
        );
        assert_eq!(large.hints.len(), 1);
    }
}
