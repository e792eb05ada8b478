//! The notes of a result: facts about a run that a reader of its output needs, one line each.
//!
//! They are derived from the result for each response and are never part of the stored output. A command
//! cannot write one.

mod network;

use airlock_proto::v1::{
    CauseCode, Decision, DirectoryReport, InlineText, Note, Result as Outcome, Started, Violation,
    ViolationAction, cause::Detail,
};

/// The maximum number of notes in a result.
const NOTES: usize = 32;
/// The maximum number of notes about protected names, of those about connections, and of those about other refusals.
/// Further names are counted in a single note.
const VIOLATIONS: usize = 16;
/// The maximum length of a text in bytes.
const TEXT_BYTES: usize = 1024;
/// The layers that revert changes of a command.
const PROTECTING: [&str; 2] = ["protected_names", "git"];
/// The layers that refuse accesses of a command to paths.
const REFUSING_PATHS: [&str; 3] = ["masks", "mounts", "landlock"];
/// The layer that refuses system calls. The kind of the violation is the name of the call.
const SECCOMP: &str = "seccomp";
/// The layer that limits processes and memory.
const RESOURCES: &str = "resources";
/// The warnings of a decision about connections that cannot succeed.
const FORESEEN: [&str; 3] = ["no_network", "network_refused", "no_proxy"];
/// The layer that refuses connections.
const NETWORK: &str = "network";
/// The kind of a connection that rules let through which only warn.
const WARNED: &str = "warned";

/// Returns the notes of a result in the order of display.
pub(super) fn of(result: &Outcome, decision: Option<&Decision>) -> Vec<Note> {
    if result.started() == Started::No {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let mut add = |code: &str, text: String| notes.push(Note { code: code.to_owned(), text: line(&text) });
    // A cancellation or timeout ends all processes, which needs no note.
    let by_itself = matches!(code(result), CauseCode::Exited | CauseCode::Signaled);
    if result.leftovers_killed && by_itself {
        add(
            "processes_ended",
            "processes that the command left running were ended with it; to keep a process running, start it with `background`"
                .to_owned(),
        );
    }
    if result.directory_report() == DirectoryReport::SnappedBack {
        let directory = String::from_utf8_lossy(result.directory());
        add(
            "directory_reset",
            format!(
                "the current directory was reset to `{directory}`: the command ended in a directory that \
                 was removed or is outside the session's directories"
            ),
        );
    }
    for text in protected(&result.violations) {
        add("protected_name", text);
    }
    for text in refusals(&result.violations) {
        add("sandbox_refused", text);
    }
    let refused = connections(&result.violations, |kind| kind != WARNED);
    for text in &refused {
        add("network_refused", text.clone());
    }
    for text in connections(&result.violations, |kind| kind == WARNED) {
        add("network_warned", text);
    }
    let foreseen = foreseen(result, decision);
    for note in foreseen.iter().filter(|_| refused.is_empty()) {
        add(&note.code, note.text.clone());
    }
    if let Some(text) = no_network(result).filter(|_| refused.is_empty() && foreseen.is_empty()) {
        add("no_network", text);
    }
    if let Some(text) = cut(result) {
        add("output_cut", text);
    }
    if let Some(text) = shortened(result) {
        add("output_shortened", text);
    }
    if !result.snapshot_problem.is_empty() {
        let problem = &result.snapshot_problem;
        add("snapshot_missing", format!("the profile's aliases and functions were not available: {problem}"));
    }
    notes.truncate(NOTES);
    notes
}

fn code(result: &Outcome) -> CauseCode {
    result.cause.as_ref().map_or(CauseCode::Unspecified, |cause| cause.code())
}

fn protected(violations: &[Violation]) -> Vec<String> {
    let all: Vec<_> = violations.iter().filter(|one| PROTECTING.contains(&one.layer.as_str())).collect();
    let mut texts: Vec<_> = all.iter().take(VIOLATIONS).map(|one| violation(one)).collect();
    if all.len() > VIOLATIONS {
        texts.push(format!(
            "and {} more protected names; see the violations of the result",
            all.len() - VIOLATIONS
        ));
    }
    texts
}

/// Returns the refusals of the sandbox.
fn refusals(violations: &[Violation]) -> Vec<String> {
    let all: Vec<_> = violations.iter().filter_map(refusal).collect();
    let more = all.len().saturating_sub(VIOLATIONS);
    let mut texts: Vec<_> = all.into_iter().take(VIOLATIONS).collect();
    if more > 0 {
        texts.push(format!("and {more} more refusals of the sandbox; see the violations of the result"));
    }
    texts
}

fn refusal(one: &Violation) -> Option<String> {
    let layer = one.layer.as_str();
    if REFUSING_PATHS.contains(&layer) {
        let path = String::from_utf8_lossy(one.path());
        return Some(format!("the sandbox refused access to `{path}` (layer {layer}): {}", one.detail));
    }
    match layer {
        SECCOMP | RESOURCES => Some(format!("{} (layer {layer})", one.detail)),
        _ => None,
    }
}

/// Returns the connections of these kinds.
fn connections(violations: &[Violation], is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let all = violations.iter().filter(|one| one.layer == NETWORK && is_wanted(&one.kind));
    all.take(VIOLATIONS).map(|one| one.detail.clone()).collect()
}

fn violation(one: &Violation) -> String {
    let path = String::from_utf8_lossy(one.path());
    let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    let done = match one.action() {
        ViolationAction::Quarantined => {
            format!(
                "; it was moved to the quarantine, and an approver can restore it (quarantine {})",
                one.quarantine_id
            )
        }
        ViolationAction::Failed => "; the command failed because of it".to_owned(),
        ViolationAction::Reported | ViolationAction::Unspecified => String::new(),
    };
    format!("{place}{}{done}", one.detail)
}

/// Returns the connections of a failed command of which the decision already stated that they cannot succeed.
fn foreseen<'d>(result: &Outcome, decision: Option<&'d Decision>) -> Vec<&'d Note> {
    let exited = result.cause.as_ref().and_then(|cause| cause.detail.as_ref());
    let has_failed = matches!(exited, Some(Detail::Exited(exited)) if exited.code != 0);
    let notes =
        decision.filter(|_| has_failed && !result.unsandboxed).map(|decision| &decision.warning_notes);
    let about = |note: &&Note| FORESEEN.contains(&note.code.as_str());
    notes.into_iter().flatten().filter(about).take(VIOLATIONS).collect()
}

/// Programs report a missing network in different words, and often as a temporary failure.
fn no_network(result: &Outcome) -> Option<String> {
    let inline = result.inline.as_ref().filter(|_| !result.unsandboxed)?;
    let texts = [&inline.stdout, &inline.stderr];
    let missed = texts.into_iter().flatten().find_map(|one| network::missed(&one.text))?;
    let what = missed.name.map_or_else(|| "other hosts".to_owned(), |name| format!("`{name}`"));
    let why = match result.network_problem.as_str() {
        "" => {
            "the sandbox has no network of its own; a command reaches the hosts that the profile's `network` allows \
             through the proxy in HTTPS_PROXY, unless it is read-only or in mode `plan`"
        }
        problem => problem,
    };
    Some(format!("{what} cannot be reached: {why}"))
}

fn cut(result: &Outcome) -> Option<String> {
    let cut = result.stdout_cut_bytes.saturating_add(result.stderr_cut_bytes);
    (cut > 0).then(|| {
        format!("{cut} bytes from the middle of the output were not kept: the output exceeds the profile's `limits.output_bytes`")
    })
}

fn shortened(result: &Outcome) -> Option<String> {
    let inline = result.inline.as_ref()?;
    let shortened = |one: &&InlineText| !one.whole && one.truncated_bytes > 0;
    let left_out: u64 =
        inline.stdout.iter().chain(&inline.stderr).filter(shortened).map(|one| one.truncated_bytes).sum();
    (left_out > 0).then(|| {
        format!("{left_out} bytes of the output are omitted from this text; ReadOutput returns all output that is kept")
    })
}

/// Converts the text to one line of limited length.
fn line(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.get(..plain.floor_char_boundary(TEXT_BYTES)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
