//! The result of an execution as an exit code for scripts and as a sentence for people.

use indicatif::HumanBytes;

use super::{escape, names, network, time};
pub use airlock_client::text::sentence;
use airlock_client::v1::{
    CauseCode, InlineOutput, OutputImage, Result as Outcome, Started, Violation, ViolationAction,
    cause::Detail,
};

/// The exit code for a command that was sent to the background and still runs.
pub const BACKGROUNDED: u8 = 123;
/// The exit code for a command that did not run.
pub const NOT_RUN: u8 = 125;
/// The exit code for a timeout.
pub const TIMED_OUT: u8 = 124;
/// The exit code for a failure of Airlock, or for an unknown result.
pub const FAILED: u8 = 1;
/// The base of the exit codes for signals; the signal's number is added to it.
pub const SIGNAL_BASE: u8 = 128;

const SIGINT: u8 = 2;
const SIGKILL: u8 = 9;

/// Returns the exit code of `airlock run` for a result. It is 0 only if the shell is known to have
/// exited with 0.
#[must_use]
pub fn exit_code(outcome: Option<&Outcome>) -> u8 {
    let Some(outcome) = outcome else {
        return FAILED;
    };
    if outcome.started() == Started::No {
        return NOT_RUN;
    }
    let Some(cause) = &outcome.cause else {
        return FAILED;
    };
    match (cause.code(), &cause.detail) {
        (CauseCode::Exited, Some(Detail::Exited(exited))) => u8::try_from(exited.code).unwrap_or(FAILED),
        (CauseCode::Signaled, Some(Detail::Signaled(signaled))) => {
            u8::try_from(signaled.signal).ok().and_then(|n| n.checked_add(SIGNAL_BASE)).unwrap_or(FAILED)
        }
        (CauseCode::TimedOut, _) => TIMED_OUT,
        (CauseCode::Cancelled, _) => SIGNAL_BASE + SIGINT,
        (CauseCode::OomKilled, _) => SIGNAL_BASE + SIGKILL,
        _ => FAILED,
    }
}

/// Returns the cause in one or two words.
#[must_use]
pub fn short(outcome: Option<&Outcome>) -> String {
    let Some(cause) = outcome.and_then(|outcome| outcome.cause.as_ref()) else {
        return "unknown".to_owned();
    };
    let name = names::lower::<CauseCode>(cause.code).replace('_', " ");
    let more = match &cause.detail {
        Some(Detail::Exited(exited)) => exited.code.to_string(),
        Some(Detail::Signaled(signaled)) => signaled.signal.to_string(),
        Some(Detail::Cancelled(cancelled)) => {
            cancelled.by().as_str_name().trim_start_matches("CANCELLED_BY_").to_lowercase()
        }
        Some(Detail::Refused(refused)) => escape::line(refused.reason.as_bytes()),
        Some(Detail::SandboxFailed(failed)) => escape::line(failed.step.as_bytes()),
        Some(Detail::TimedOut(_) | Detail::Denied(_)) | None => return name,
    };
    format!("{name} ({more})")
}

/// Returns the result and the usage in one line, for a person who followed the command. The result's notes contain the
/// rest.
#[must_use]
pub fn summary(outcome: Option<&Outcome>) -> String {
    let ended = sentence(outcome);
    let Some(outcome) = outcome else { return ended };
    let mut parts = vec![if exit_code(Some(outcome)) == 0 { "done".to_owned() } else { ended }];
    if outcome.started() == Started::No {
        return parts.concat();
    }
    if let Some(span) = time::duration(outcome.run_time.as_ref()) {
        parts.push(format!("{:.1} s", span.as_secs_f64()));
    }
    if outcome.peak_memory > 0 {
        parts.push(format!("{} of memory", HumanBytes(outcome.peak_memory)));
    }
    parts.push(match outcome.stdout_bytes.saturating_add(outcome.stderr_bytes) {
        0 => "no output".to_owned(),
        written => format!("{} of output", HumanBytes(written)),
    });
    parts.join(", ")
}

/// Returns the run time and the other counts of a result, for `airlock show`.
#[must_use]
pub fn figures(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for (name, span) in [("run time", &outcome.run_time), ("cpu time", &outcome.cpu_time)] {
        if let Some(span) = time::duration(span.as_ref()) {
            rows.push((name, time::seconds(span)));
        }
    }
    for (name, bytes, cut) in [
        ("stdout", outcome.stdout_bytes, outcome.stdout_cut_bytes),
        ("stderr", outcome.stderr_bytes, outcome.stderr_cut_bytes),
    ] {
        let cut = if cut > 0 { format!(", {cut} cut from the middle") } else { String::new() };
        rows.push((name, format!("{bytes} bytes{cut}")));
    }
    rows.extend(outcome.inline.iter().flat_map(found));
    rows.push(("peak memory", format!("{} bytes", outcome.peak_memory)));
    if outcome.leftovers_killed {
        rows.push(("leftovers", "processes that outlived the shell were ended".to_owned()));
    }
    if outcome.unsandboxed {
        rows.push(("sandbox", "none: it ran outside the sandbox".to_owned()));
    }
    if outcome.landlock_abi > 0 {
        rows.push(("landlock", format!("ABI {}", outcome.landlock_abi)));
    }
    if !outcome.snapshot_problem.is_empty() {
        rows.push(("no snapshot", escape::line(outcome.snapshot_problem.as_bytes())));
    }
    if !outcome.network_problem.is_empty() {
        rows.push(("no network", escape::line(outcome.network_problem.as_bytes())));
    }
    rows.extend(outcome.connections.iter().map(|one| ("connection", network::connection(one))));
    if outcome.connections_left_out > 0 {
        rows.push(("connections", format!("{} more", outcome.connections_left_out)));
    }
    rows.extend(outcome.violations.iter().map(|one| ("violation", violation(one))));
    for (name, list) in [("withheld", &outcome.scrubbed_env), ("not enforced", &outcome.limits_not_enforced)]
    {
        if !list.is_empty() {
            rows.push((name, escape::line(list.join(", ").as_bytes())));
        }
    }
    rows
}

/// Returns rows for the images and hints that were found in the output.
fn found(inline: &InlineOutput) -> Vec<(&'static str, String)> {
    let image = |one: &OutputImage| {
        let pixels =
            if one.width > 0 { format!(", {}x{} pixels", one.width, one.height) } else { String::new() };
        let place = format!("{}{pixels}, {} bytes, at offset {}", one.media_type, one.bytes, one.offset);
        ("image", escape::line(place.as_bytes()))
    };
    let hints = inline.hints.iter().map(|hint| ("hint", escape::line(hint.as_bytes())));
    inline.images.iter().map(image).chain(hints).collect()
}

/// Returns one line about a violation that the sandbox reported.
fn violation(one: &Violation) -> String {
    let Violation { layer, kind, detail, quarantine_id, .. } = one;
    let path = String::from_utf8_lossy(one.path());
    let done = match one.action() {
        ViolationAction::Quarantined => format!("; in quarantine as {quarantine_id}"),
        ViolationAction::Failed => "; the command failed because of it".to_owned(),
        ViolationAction::Reported | ViolationAction::Unspecified => String::new(),
    };
    escape::line(format!("{layer}, {kind}: {path} {detail}{done}").as_bytes())
}

#[cfg(test)]
mod tests;
