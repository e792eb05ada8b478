//! Executions, sessions and runners as text: tables and pages.

use std::{fmt::Write as _, time::SystemTime};

use super::{cause, decision, escape, names, network, table::table, time};
use airlock_client::v1::{
    BackgroundedBy, Execution, ExecutionState, LinkState, Mode, OutputState, Runner, RunnerState, Session,
    SessionState, Shell, Started,
};

/// The capability that reports the state of a runner's journal. It is not a layer of the sandbox.
const JOURNAL: &str = "journal_intact";

/// The columns of a command in a table.
const COMMAND_COLUMNS: usize = 48;

/// Formats a table of executions for `airlock ps`.
#[must_use]
pub fn executions(list: &[Execution], now: SystemTime) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|execution| {
            [
                execution.execution_id.clone(),
                escape::shortened(execution.command(), COMMAND_COLUMNS),
                created(execution, now),
                short_status(execution),
                execution.session_id.clone(),
            ]
        })
        .collect();
    table(["EXECUTION ID", "COMMAND", "CREATED", "STATUS", "SESSION ID"], &rows)
}

fn created(execution: &Execution, now: SystemTime) -> String {
    time::ago(execution.times.as_ref().and_then(|times| times.created.as_ref()), now)
}

fn short_status(execution: &Execution) -> String {
    match execution.state() {
        ExecutionState::Finished => cause::short(execution.result.as_ref()),
        _ => status(execution),
    }
}

/// Returns the state of an execution, or its result if it has finished.
#[must_use]
pub fn status(execution: &Execution) -> String {
    if execution.state() == ExecutionState::Finished {
        return cause::sentence(execution.result.as_ref());
    }
    let mut state = names::lower::<ExecutionState>(execution.state).replace('_', " ");
    if execution.backgrounded_by() != BackgroundedBy::Unspecified {
        state.push_str(" in background");
    }
    match execution.link() {
        LinkState::Unreachable => format!("{state}, runner unreachable"),
        LinkState::Connected | LinkState::Unspecified => state,
    }
}

/// Formats everything about one execution for `airlock show`.
#[must_use]
pub fn execution(one: &Execution) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(out, "{name:<16}{value}");
        }
    };
    row("execution", one.execution_id.clone());
    row("status", status(one));
    row("session", one.session_id.clone());
    row("request id", shown(&one.request_id));
    row("principal", format!("{} of {}", shown(&one.principal), shown(&one.tenant)));
    row("runner", shown(&one.runner_id));
    row("attempts", one.attempt.to_string());
    row("shell", names::lower::<Shell>(one.shell));
    row("directory", escape::line(one.directory()));
    if one.network.is_some() {
        row("network", network::text(one.network.as_ref()));
    }
    row("approval", one.approval_id.clone());
    for (key, value) in &one.labels {
        row("label", format!("{}={}", shown(key), shown(value)));
    }
    if let Some(times) = &one.times {
        for (name, at) in [("created", &times.created), ("started", &times.started), ("ended", &times.ended)]
        {
            row(name, time::rfc3339(at.as_ref()).unwrap_or_default());
        }
    }
    row("output", output(one));
    if let Some(outcome) = &one.result {
        row("ran", names::lower::<Started>(outcome.started));
        for (name, value) in cause::figures(outcome) {
            row(name, value);
        }
        row("directory after", escape::line(outcome.directory()));
    }
    push_asked(&mut out, one);
    out
}

fn output(one: &Execution) -> String {
    let state = names::lower::<OutputState>(one.output_state);
    match one.output_state() {
        OutputState::Partial => format!("{state}, from offset {}", one.partial_from),
        _ => state,
    }
}

fn push_asked(out: &mut String, one: &Execution) {
    push_command(out, one.command());
    if !one.description.is_empty() {
        let _ = writeln!(out, "\ndescription, written by the agent\n  {}", shown(&one.description));
    }
    if let Some(decided) = &one.decision {
        let _ = writeln!(out, "\ndecision: {}", decision::headline(decided));
        out.push_str(&decision::reasons(one.command(), decided));
    }
}

/// Appends the whole command with line numbers. The command is never cut.
pub(super) fn push_command(out: &mut String, command: &[u8]) {
    let _ = writeln!(out, "\ncommand, {} bytes", command.len());
    for (number, line) in (1..).zip(escape::lines(command).split('\n')) {
        let _ = writeln!(out, "{number:>5} | {line}");
    }
}

/// Formats a table of sessions.
#[must_use]
pub fn sessions(list: &[Session], now: SystemTime) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|one| {
            [
                one.session_id.clone(),
                names::lower::<SessionState>(one.state),
                shown(&one.profile),
                names::lower::<Mode>(one.mode),
                escape::line(one.directory()),
                time::ago(one.created.as_ref(), now),
                shown(&one.runner_id),
            ]
        })
        .collect();
    table(["SESSION ID", "STATE", "PROFILE", "MODE", "DIRECTORY", "CREATED", "RUNNER"], &rows)
}

/// Formats a table of runners.
#[must_use]
pub fn runners(list: &[Runner], now: SystemTime) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|one| {
            let missing: Vec<_> = one
                .capabilities
                .iter()
                .filter(|c| !c.enforced && c.name != JOURNAL)
                .map(|c| shown(&c.name))
                .collect();
            [
                shown(&one.runner_id),
                names::lower::<RunnerState>(one.state),
                format!("{}/{}", one.running, one.slots),
                shown(&one.version),
                time::ago(one.last_seen.as_ref(), now),
                one.bases.iter().map(|base| shown(base)).collect::<Vec<_>>().join(","),
                missing.join(","),
            ]
        })
        .collect();
    table(["RUNNER", "STATE", "RUNNING", "VERSION", "SEEN", "BASES", "NOT ENFORCED"], &rows)
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::approval::approval;
    use airlock_client::v1::Approval;

    #[test]
    fn an_approval_shows_the_whole_command_and_nothing_that_hides() {
        let command = format!("echo \u{202e}{}\nrm -rf /", "x".repeat(100_000));
        let text = approval(&Approval {
            command: command.clone(),
            description: "harmless\n\x1b[2J".to_owned(),
            ..Default::default()
        });
        assert!(text.bytes().all(|b| b == b'\n' || b == b' ' || b.is_ascii_graphic()));
        assert!(text.contains(&"x".repeat(100_000)));
        assert!(text.contains("    2 | rm -rf /\n"));
        assert!(text.contains(&format!("{} bytes", command.len())));
        let (command_at, description_at) = (text.find("rm -rf"), text.find("written by the agent"));
        assert!(command_at < description_at);
    }

    #[test]
    fn a_page_of_an_empty_record_is_still_a_page() {
        assert!(execution(&Execution::default()).contains("command, 0 bytes"));
        let list = [Execution::default()];
        assert!(executions(&list, SystemTime::UNIX_EPOCH).starts_with("EXECUTION ID"));
    }
}
