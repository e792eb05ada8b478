//! Rows and their conversion to records. Reading checks every value: a row that this version cannot
//! have written is [`StoreError::Corrupt`].

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use airlock_domain::{ExecutionResult, ExecutionState, OutputState, SessionSnapshot};
use airlock_proto::convert::Stored as _;

use super::{
    errors::unreadable,
    json::{self, DecisionJson, EnvJson, SpecJson},
    names::{self, Named},
    row::row,
};
use crate::{
    StoreError,
    record::{
        ApprovalRecord, AskedConnection, AuditRecord, ExecutionRecord, LiveExecution, Micros,
        MilestoneRecord, RememberedRule, RunnerRecord, SessionRecord, StateChange,
    },
};

row! {
    /// A row of `sessions`.
    pub(crate) struct SessionRow {
        id: String,
        version: i64,
        tenant: String,
        principal: String,
        request_id: Option<String>,
        request_hash: Vec<u8>,
        state: String,
        state_message: String,
        profile: String,
        mode: String,
        shell: String,
        directory: Vec<u8>,
        env: String,
        runner_id: String,
        base: String,
        labels: String,
        runner_labels: String,
        idle_timeout: i64,
        throwaway: bool,
        snapshot: Vec<u8>,
        snapshot_problem: String,
        created: i64,
        last_used: i64,
        network: Option<String>,
    }
}

impl TryFrom<SessionRow> for SessionRecord {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: id("id", &row.id)?,
            version: count("version", row.version)?,
            tenant: row.tenant,
            principal: row.principal,
            request_id: row.request_id,
            request_hash: hash("request_hash", &row.request_hash)?,
            state: names::value("state", &row.state)?,
            state_message: row.state_message,
            profile: row.profile,
            mode: names::value("mode", &row.mode)?,
            shell: names::value("shell", &row.shell)?,
            directory: row.directory,
            env: json::read::<EnvJson>("env", &row.env)?.0,
            runner_id: id("runner_id", &row.runner_id)?,
            base: row.base,
            labels: json::read("labels", &row.labels)?,
            runner_labels: json::read("runner_labels", &row.runner_labels)?,
            idle_timeout: Duration::from_micros(count("idle_timeout", row.idle_timeout)?),
            throwaway: row.throwaway,
            snapshot: SessionSnapshot { text: row.snapshot, problem: row.snapshot_problem },
            network: row.network.map(|network| json::read("network", &network)).transpose()?,
            created: Micros(row.created),
            last_used: Micros(row.last_used),
        })
    }
}

row! {
    /// A row of `executions`.
    pub(crate) struct ExecutionRow {
        id: String,
        version: i64,
        session_id: String,
        tenant: String,
        principal: String,
        request_id: Option<String>,
        request_hash: Vec<u8>,
        state: String,
        link: Option<String>,
        runner_id: Option<String>,
        runner_epoch: Option<String>,
        attempt: i64,
        owner_server: Option<String>,
        lease_until: i64,
        approval_id: Option<String>,
        cancel_requested: bool,
        backgrounded: Option<String>,
        output: String,
        output_from: i64,
        traceparent: String,
        created: i64,
        queued: i64,
        started: Option<i64>,
        ended: Option<i64>,
        labels: String,
        directory: Vec<u8>,
        decision: String,
        result: Option<Vec<u8>>,
        spec: String,
        command: Vec<u8>,
        yield_after: Option<i64>,
    }
}

impl TryFrom<ExecutionRow> for ExecutionRecord {
    type Error = StoreError;

    fn try_from(row: ExecutionRow) -> Result<Self, StoreError> {
        let labels: BTreeMap<String, String> = json::read("labels", &row.labels)?;
        let result = row.result.as_deref().map(ExecutionResult::decode).transpose();
        let yield_after = budget(row.yield_after)?;
        Ok(Self {
            id: id("id", &row.id)?,
            version: count("version", row.version)?,
            session_id: id("session_id", &row.session_id)?,
            tenant: row.tenant,
            principal: row.principal,
            request_id: row.request_id,
            request_hash: hash("request_hash", &row.request_hash)?,
            spec: SpecJson::read(&row.spec)?.with((row.command, row.directory), labels, yield_after),
            state: names::value("state", &row.state)?,
            link: optional("link", row.link.as_deref())?,
            decision: json::read::<DecisionJson>("decision", &row.decision)?.0,
            runner_id: optional_id("runner_id", row.runner_id.as_deref())?,
            runner_epoch: optional_id("runner_epoch", row.runner_epoch.as_deref())?,
            attempt: count("attempt", row.attempt)?,
            owner_server: row.owner_server,
            lease_until: Micros(row.lease_until),
            approval_id: optional_id("approval_id", row.approval_id.as_deref())?,
            cancel_requested: row.cancel_requested,
            backgrounded: optional("backgrounded", row.backgrounded.as_deref())?,
            output: output_state(&row.output, row.output_from)?,
            result: result.map_err(|_| unreadable("result"))?,
            traceparent: row.traceparent,
            created: Micros(row.created),
            queued: Micros(row.queued),
            started: row.started.map(Micros),
            ended: row.ended.map(Micros),
        })
    }
}

row! {
    /// The columns of `executions` that a list of live executions needs.
    pub(crate) struct LiveRow {
        id: String,
        version: i64,
        session_id: String,
        state: String,
        link: Option<String>,
        runner_id: Option<String>,
        attempt: i64,
        owner_server: Option<String>,
        lease_until: i64,
        approval_id: Option<String>,
        is_answered: bool,
        serial: bool,
        backgrounded: bool,
        created: i64,
        queued: i64,
        started: Option<i64>,
        yield_after: Option<i64>,
    }
}

impl TryFrom<LiveRow> for LiveExecution {
    type Error = StoreError;

    fn try_from(row: LiveRow) -> Result<Self, StoreError> {
        let state = names::value("state", &row.state)?;
        let in_foreground = state == ExecutionState::Running && !row.backgrounded;
        let yields = row.started.zip(budget(row.yield_after)?).filter(|_| in_foreground);
        Ok(Self {
            id: id("id", &row.id)?,
            version: count("version", row.version)?,
            session_id: id("session_id", &row.session_id)?,
            state,
            link: optional("link", row.link.as_deref())?,
            runner_id: optional_id("runner_id", row.runner_id.as_deref())?,
            attempt: count("attempt", row.attempt)?,
            owner_server: row.owner_server,
            lease_until: Micros(row.lease_until),
            approval_id: optional_id("approval_id", row.approval_id.as_deref())?,
            is_answered: row.is_answered,
            serial: row.serial,
            backgrounded: row.backgrounded,
            yields_at: yields.map(|(started, budget)| Micros(started).after(budget)),
            created: Micros(row.created),
            queued: Micros(row.queued),
        })
    }
}

row! {
    /// A row of `state_changes`.
    pub(crate) struct ChangeRow {
        version: i64,
        state: String,
        link: Option<String>,
        at: i64,
        approval_id: Option<String>,
        backgrounded_by: Option<String>,
    }
}

impl TryFrom<ChangeRow> for StateChange {
    type Error = StoreError;

    fn try_from(row: ChangeRow) -> Result<Self, StoreError> {
        Ok(Self {
            version: count("version", row.version)?,
            state: names::value("state", &row.state)?,
            link: optional("link", row.link.as_deref())?,
            at: Micros(row.at),
            approval_id: optional_id("approval_id", row.approval_id.as_deref())?,
            backgrounded_by: optional("backgrounded_by", row.backgrounded_by.as_deref())?,
        })
    }
}

row! {
    /// A row of `milestones`.
    pub(crate) struct MilestoneRow {
        sequence: i64,
        execution_id: String,
        milestone: String,
    }
}

impl TryFrom<MilestoneRow> for MilestoneRecord {
    type Error = StoreError;

    fn try_from(row: MilestoneRow) -> Result<Self, StoreError> {
        Ok(Self {
            sequence: count("sequence", row.sequence)?,
            execution_id: id("execution_id", &row.execution_id)?,
            milestone: names::value("milestone", &row.milestone)?,
        })
    }
}

row! {
    /// A row of `approvals`.
    pub(crate) struct ApprovalRow {
        id: String,
        execution_id: String,
        session_id: String,
        tenant: String,
        principal: String,
        state: String,
        binding: Vec<u8>,
        shell: String,
        directory: Vec<u8>,
        description: String,
        decision: String,
        created: i64,
        expires: i64,
        decided_by: String,
        reason: String,
        command: Vec<u8>,
        files: String,
        terms: Vec<u8>,
        connection_host: Option<String>,
        connection_port: Option<i64>,
        connection_rule: Option<String>,
    }
}

impl TryFrom<ApprovalRow> for ApprovalRecord {
    type Error = StoreError;

    fn try_from(row: ApprovalRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: id("id", &row.id)?,
            execution_id: id("execution_id", &row.execution_id)?,
            session_id: id("session_id", &row.session_id)?,
            tenant: row.tenant,
            principal: row.principal,
            state: names::value("state", &row.state)?,
            binding: hash("binding", &row.binding)?,
            command: row.command,
            shell: names::value("shell", &row.shell)?,
            directory: row.directory,
            description: row.description,
            decision: json::read::<DecisionJson>("decision", &row.decision)?.0,
            created: Micros(row.created),
            expires: Micros(row.expires),
            decided_by: row.decided_by,
            reason: row.reason,
            files: json::read("files", &row.files)?,
            terms: row.terms,
            connection: connection(row.connection_host, row.connection_port, row.connection_rule)?,
        })
    }
}

/// Returns the connection of an approval, whose columns are set together.
fn connection(
    host: Option<String>,
    port: Option<i64>,
    rule: Option<String>,
) -> Result<Option<AskedConnection>, StoreError> {
    let (Some(host), Some(port), Some(rule)) = (host, port, rule) else { return Ok(None) };
    let port = u16::try_from(port);
    let port =
        port.map_err(|_| StoreError::Corrupt("approvals: `connection_port` is not a port".to_owned()))?;
    Ok(Some(AskedConnection { host, port, rule }))
}

row! {
    /// A row of `remembered_rules`.
    pub(crate) struct RuleRow {
        id: String,
        tenant: String,
        session_id: String,
        profile: String,
        rule: String,
        approval_id: String,
        decided_by: String,
        created: i64,
    }
}

impl TryFrom<RuleRow> for RememberedRule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let session = Some(row.session_id).filter(|id| !id.is_empty());
        Ok(Self {
            id: id("id", &row.id)?,
            tenant: row.tenant,
            session_id: session.map(|text| id("session_id", &text)).transpose()?,
            profile: row.profile,
            rule: row.rule,
            approval_id: id("approval_id", &row.approval_id)?,
            decided_by: row.decided_by,
            created: Micros(row.created),
        })
    }
}

row! {
    /// A row of `runners`.
    pub(crate) struct RunnerRow {
        id: String,
        epoch: String,
        draining: bool,
        version: String,
        labels: String,
        slots: i64,
        bases: String,
        capabilities: String,
        shells: String,
        last_seen: i64,
    }
}

impl TryFrom<RunnerRow> for RunnerRecord {
    type Error = StoreError;

    fn try_from(row: RunnerRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: id("id", &row.id)?,
            epoch: id("epoch", &row.epoch)?,
            draining: row.draining,
            version: row.version,
            labels: json::read("labels", &row.labels)?,
            slots: count("slots", row.slots)?,
            bases: json::read("bases", &row.bases)?,
            capabilities: json::read("capabilities", &row.capabilities)?,
            shells: json::read("shells", &row.shells)?,
            last_seen: Micros(row.last_seen),
        })
    }
}

row! {
    /// An audit entry, joined from its two rows.
    pub(crate) struct AuditRow {
        sequence: i64,
        execution_id: String,
        tenant: String,
        principal: String,
        peer: String,
        command: Vec<u8>,
        verdict: String,
        reason_code: String,
        decided_by: String,
        runner_id: Option<String>,
        opened: i64,
        closed: Option<i64>,
        cause: String,
        started: String,
    }
}

impl TryFrom<AuditRow> for AuditRecord {
    type Error = StoreError;

    fn try_from(row: AuditRow) -> Result<Self, StoreError> {
        Ok(Self {
            sequence: row.sequence,
            execution_id: id("execution_id", &row.execution_id)?,
            tenant: row.tenant,
            principal: row.principal,
            peer: row.peer,
            command: row.command,
            verdict: names::value("verdict", &row.verdict)?,
            reason_code: row.reason_code,
            decided_by: row.decided_by,
            runner_id: optional_id("runner_id", row.runner_id.as_deref())?,
            opened: Micros(row.opened),
            closed: row.closed.map(Micros),
            cause: row.cause,
            started: row.started,
        })
    }
}

/// Returns the columns `output` and `output_from` for an output state.
pub(crate) fn output_columns(output: OutputState) -> (&'static str, i64) {
    match output {
        OutputState::None => ("NONE", 0),
        OutputState::Live => ("LIVE", 0),
        OutputState::Storing => ("STORING", 0),
        OutputState::Stored => ("STORED", 0),
        OutputState::Partial { from } => ("PARTIAL", integer(from)),
        OutputState::Lost => ("LOST", 0),
    }
}

fn output_state(name: &str, from: i64) -> Result<OutputState, StoreError> {
    Ok(match name {
        "NONE" => OutputState::None,
        "LIVE" => OutputState::Live,
        "STORING" => OutputState::Storing,
        "STORED" => OutputState::Stored,
        "PARTIAL" => OutputState::Partial { from: count("output_from", from)? },
        "LOST" => OutputState::Lost,
        _ => return Err(unreadable("output")),
    })
}

/// Converts a count to SQL's signed integer. Larger values, which do not occur in practice, become
/// `i64::MAX`.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn optional<T: Named>(column: &str, name: Option<&str>) -> Result<Option<T>, StoreError> {
    name.map(|name| names::value(column, name)).transpose()
}

/// Reads the column `yield_after`.
fn budget(micros: Option<i64>) -> Result<Option<Duration>, StoreError> {
    micros.map(|micros| count("yield_after", micros).map(Duration::from_micros)).transpose()
}

pub(crate) fn count<T: TryFrom<i64>>(column: &str, value: i64) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| unreadable(column))
}

pub(crate) fn id<T: FromStr>(column: &str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| unreadable(column))
}

pub(crate) fn optional_id<T: FromStr>(column: &str, text: Option<&str>) -> Result<Option<T>, StoreError> {
    text.map(|text| id(column, text)).transpose()
}

fn hash(column: &str, bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| unreadable(column))
}
