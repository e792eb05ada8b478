//! Approvals and remembered rules as text. The whole command is shown, before any text that its author wrote
//! about it.

mod edit;
mod terms;

use std::{fmt::Write as _, time::SystemTime};

use super::{decision, escape, execution::push_command, names, table::table, time};
use airlock_client::v1::{Approval, ApprovalConnection, BoundFile, RememberedRule, RuleScope, Shell};

/// The columns of a command in a table.
const COMMAND_COLUMNS: usize = 48;

/// Formats an approval with everything that a person needs to answer it.
#[must_use]
pub fn approval(one: &Approval) -> String {
    let mut out = format!(
        "approval    {}\nasked by    {}\nexecution   {}\nsession     {}\nshell       {}\ndirectory   {}\n",
        one.approval_id,
        shown(&one.principal),
        one.execution_id,
        one.session_id,
        names::lower::<Shell>(one.shell),
        escape::line(one.directory()),
    );
    for (name, at) in [("asked at", &one.created), ("expires", &one.expires)] {
        let _ = writeln!(out, "{name:<12}{}", time::rfc3339(at.as_ref()).unwrap_or_default());
    }
    if let Some(asked) = &one.connection {
        let _ = writeln!(out, "connection  {}", connection(asked));
        let _ = writeln!(out, "rule        {}", shown(&asked.rule));
        let _ = writeln!(out, "\nthe command runs; one of its connections waits for the answer");
    }
    push_command(&mut out, one.command());
    if let Some(text) = escape::readable(one.command()) {
        let _ = writeln!(out, "\nthe same with its non-ASCII letters, which can look like other letters");
        for line in text.split('\n') {
            let _ = writeln!(out, "      | {line}");
        }
    }
    let edit = one.terms.as_ref().and_then(|terms| terms.edit.as_ref());
    match edit {
        Some(edit) => edit::push(&mut out, edit),
        None => push_files(&mut out, &one.files),
    }
    if let Some(bound) = &one.terms {
        terms::push(&mut out, bound);
    }
    // A rule cannot be remembered for a connection.
    if let Some(decided) = one.decision.as_ref().filter(|_| one.connection.is_none()) {
        let _ = writeln!(out, "\ndecision: {}", decision::headline(decided));
        out.push_str(&decision::reasons(one.command(), decided));
        let rules = decision::suggestions(decided);
        if !rules.is_empty() {
            let _ = write!(out, "\nrules that --remember would add\n{rules}");
        }
    }
    if !one.description.is_empty() {
        let _ = writeln!(out, "\ndescription, written by the agent: {}", shown(&one.description));
    }
    out
}

/// Formats a table of approvals.
#[must_use]
pub fn approvals(list: &[Approval], now: SystemTime) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|one| {
            [
                one.approval_id.clone(),
                subject(one),
                time::ago(one.created.as_ref(), now),
                shown(&one.principal),
                one.execution_id.clone(),
            ]
        })
        .collect();
    table(["APPROVAL ID", "COMMAND", "ASKED", "BY", "EXECUTION ID"], &rows)
}

/// Returns the subject of an approval, for a table.
fn subject(one: &Approval) -> String {
    match &one.connection {
        Some(asked) => format!("connection to {}", connection(asked)),
        None => escape::shortened(one.command(), COMMAND_COLUMNS),
    }
}

fn connection(asked: &ApprovalConnection) -> String {
    format!("{}:{}", shown(&asked.host), asked.port)
}

/// Appends the files that the answer is bound to.
fn push_files(out: &mut String, files: &[BoundFile]) {
    if files.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nfiles that it runs; a change requires a new approval");
    for file in files {
        let _ = writeln!(out, "  {}  {}", escape::line(file.path()), edit::state(file));
    }
}

/// Formats a table of remembered rules.
#[must_use]
pub fn rules(list: &[RememberedRule], now: SystemTime) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|one| {
            [
                one.rule_id.clone(),
                shown(&one.rule),
                names::lower::<RuleScope>(one.scope),
                shown(&one.profile),
                shown(&one.decided_by),
                time::ago(one.created.as_ref(), now),
                one.session_id.clone(),
            ]
        })
        .collect();
    table(["RULE ID", "RULE", "SCOPE", "PROFILE", "BY", "REMEMBERED", "SESSION ID"], &rows)
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests;
