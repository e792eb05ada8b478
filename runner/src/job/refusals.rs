//! The refusals of the sandbox during one command, as violations of its result.
//!
//! Sources are the count of system calls that process 1 keeps, the counters of the command's cgroup, and messages of the
//! command's programs. Only reports: must not change the cause of a result, and must not name a path rule's pattern.

mod messages;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use airlock_domain::{Violation, ViolationAction};
use airlock_sandbox::{self as sandbox, Ended, Refusals, RefusedCall, RefusedPath};

use super::handle::Job;
use crate::spool::{JobSpool, Piece, StreamSpool};

/// The most system calls that a result names, and the most paths. Further calls are counted.
const NAMED: usize = 20;
/// The bytes at the end of the output in which messages are looked for.
const TAIL: u64 = 16 << 10;

/// Returns the violations. `refusals` is `None` outside the sandbox. Blocks while it reads the end of the output.
pub(super) fn violations(
    job: &Job,
    spool: &JobSpool,
    ended: &Ended,
    refusals: Option<&Refusals>,
) -> Vec<Violation> {
    let mut found = calls(&ended.refused_calls);
    found.extend(resources(ended, job.grant.profile.limits.processes));
    if let Some(refusals) = refusals.filter(|_| has_failed(&ended.cause)) {
        let directory = Path::new(OsStr::from_bytes(&job.grant.command.directory));
        found.extend(paths(&tail(spool.stderr.as_ref().unwrap_or(&spool.stdout)), directory, refusals));
    }
    found
}

fn has_failed(cause: &sandbox::Cause) -> bool {
    match cause {
        sandbox::Cause::Exited(code) => *code != 0,
        sandbox::Cause::Signaled { .. } | sandbox::Cause::Killed => true,
        sandbox::Cause::OomKilled | sandbox::Cause::SandboxFailed { .. } => false,
    }
}

fn calls(refused: &[RefusedCall]) -> Vec<Violation> {
    let detail = |call: &RefusedCall| match call.count {
        1 => format!("the system call `{}` was refused: it {}", call.name, call.why),
        count => format!("the system call `{}` was refused {count} times: it {}", call.name, call.why),
    };
    let mut found: Vec<_> =
        refused.iter().take(NAMED).map(|call| violation("seccomp", call.name, detail(call))).collect();
    let more = refused.len().saturating_sub(NAMED);
    if more > 0 {
        found.push(violation("seccomp", "more", format!("{more} more system calls were refused")));
    }
    found
}

fn resources(ended: &Ended, processes: u32) -> Vec<Violation> {
    let mut found = Vec::new();
    if ended.processes_refused > 0 {
        let detail =
            format!("the limit of {processes} processes was reached {} times", ended.processes_refused);
        found.push(violation("resources", "processes", detail));
    }
    if ended.cause == sandbox::Cause::OomKilled {
        let detail = "memory ran out, and the kernel ended the command".to_owned();
        let action = ViolationAction::Failed;
        found.push(Violation { action, ..violation("resources", "memory", detail) });
    }
    found
}

/// Returns the refused paths that programs reported, each once.
fn paths(text: &[u8], directory: &Path, refusals: &Refusals) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for complaint in messages::complaints(text) {
        let refused = complaint.paths.iter().find_map(|path| refusals.find(directory, path, complaint.error));
        let Some(RefusedPath { path, layer, rule }) = refused else { continue };
        if found.len() < NAMED && seen.insert(path.clone()) {
            let detail = format!("{rule}; a program reported the refusal");
            let path = path.into_os_string().into_vec();
            found.push(Violation { path, ..violation(layer, "path", detail) });
        }
    }
    // The messages were read from the end.
    found.reverse();
    found
}

/// Returns the whole lines at the end of a stream. Empty if it cannot be read.
fn tail(stream: &StreamSpool) -> Vec<u8> {
    let mut text = Vec::new();
    let begin = stream.state().total.saturating_sub(TAIL);
    let mut at = begin;
    loop {
        match stream.read(at, TAIL as usize) {
            Ok(Piece::Data(data)) => {
                at = at.saturating_add(data.len() as u64);
                text.extend(data);
            }
            Ok(Piece::Gap { to }) => at = to,
            Ok(Piece::End(_)) => break,
            Err(error) => {
                tracing::warn!(%error, "refused paths are not reported: the output cannot be read");
                return Vec::new();
            }
        }
    }
    match text.iter().position(|byte| *byte == b'\n') {
        Some(end) if begin > 0 => text.split_off(end),
        _ => text,
    }
}

fn violation(layer: &str, kind: &str, detail: String) -> Violation {
    Violation {
        layer: layer.to_owned(),
        kind: kind.to_owned(),
        path: Vec::new(),
        action: ViolationAction::Reported,
        detail,
        quarantine_id: String::new(),
    }
}

#[cfg(test)]
mod tests;
