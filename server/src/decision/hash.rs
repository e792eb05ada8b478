//! The hash of a request, which identifies a repeated request with the same `request_id`. It covers every
//! field that influences what runs and where, and no other field: description, labels and trace context are
//! excluded.

use std::collections::BTreeMap;

use airlock_domain::{Mode, Pty, Shell, canonical::CanonicalHash};

use crate::api::{CreateSession, StartExecution};

/// Returns the hash of a request to start an execution.
pub(crate) fn execution_hash(request: &StartExecution) -> [u8; 32] {
    let mut hash = CanonicalHash::new(b"airlock start v1");
    hash.bytes(&request.command);
    hash.optional(request.shell.map(Shell::name));
    hash.optional(request.session_id.as_ref().map(|id| id.as_bytes().as_slice()));
    hash.optional(request.timeout.map(|timeout| timeout.as_nanos().to_be_bytes()).as_ref());
    hash.flag(request.wait_for_approval);
    hash.optional(request.mode.map(Mode::name));
    hash.env(&request.env);
    hash.flag(request.separate_stderr);
    hash.optional(request.profile.as_ref());
    hash.optional(request.base.as_ref());
    hash.flag(request.allow_concurrent);
    hash.flag(request.stdin);
    hash.flag(request.dangerously_disable_sandbox);
    hash.optional(request.idle_timeout.map(|timeout| timeout.as_nanos().to_be_bytes()).as_ref());
    hash.flag(request.background);
    hash.optional(request.yield_after.map(|time| time.as_nanos().to_be_bytes()).as_ref());
    hash.optional(request.inline_limit.map(u32::to_be_bytes).as_ref());
    hash.flag(request.pty.is_some());
    if let Some(Pty { size, term }) = &request.pty {
        hash.number(u64::from(size.rows));
        hash.number(u64::from(size.cols));
        hash.bytes(term.as_bytes());
    }
    runner_labels(&mut hash, &request.runner_labels);
    hash.finish()
}

/// Returns the hash of a request to create a session.
pub(crate) fn session_hash(request: &CreateSession) -> [u8; 32] {
    let mut hash = CanonicalHash::new(b"airlock session v1");
    hash.optional(request.profile.as_ref());
    hash.optional(request.mode.map(Mode::name));
    hash.optional(request.shell.map(Shell::name));
    hash.optional(request.base.as_ref());
    hash.env(&request.env);
    hash.optional(request.idle_timeout.map(|timeout| timeout.as_nanos().to_be_bytes()).as_ref());
    runner_labels(&mut hash, &request.runner_labels);
    hash.finish()
}

/// Adds labels only if there are any, so that the hashes of requests from before this field remain valid.
fn runner_labels(hash: &mut CanonicalHash, labels: &BTreeMap<String, String>) {
    if !labels.is_empty() {
        hash.number(labels.len() as u64);
        for (key, value) in labels {
            hash.bytes(key.as_bytes());
            hash.bytes(value.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use airlock_domain::{SessionId, TerminalSize};

    use super::*;

    fn pty(rows: u16, cols: u16, term: &str) -> Pty {
        Pty { size: TerminalSize { rows, cols }, term: term.to_owned() }
    }

    #[test]
    fn every_field_that_changes_what_runs_changes_the_hash_and_no_other() {
        let base = StartExecution { command: b"ls".to_vec(), ..StartExecution::default() };
        let changed: [fn(&mut StartExecution); 22] = [
            |r| r.command = b"ls ".to_vec(),
            |r| r.shell = Some(Shell::Bash),
            |r| r.session_id = Some(SessionId::new()),
            |r| r.timeout = Some(Duration::from_nanos(1)),
            |r| r.wait_for_approval = true,
            |r| r.mode = Some(Mode::Plan),
            |r| drop(r.env.insert("A".to_owned(), b"1".to_vec())),
            |r| r.separate_stderr = true,
            |r| r.profile = Some("strict".to_owned()),
            |r| r.base = Some("strict".to_owned()),
            |r| r.runner_labels = [("zone".to_owned(), "a".to_owned())].into(),
            |r| r.allow_concurrent = true,
            |r| r.stdin = true,
            |r| r.dangerously_disable_sandbox = true,
            |r| r.idle_timeout = Some(Duration::from_nanos(1)),
            |r| r.background = true,
            |r| r.yield_after = Some(Duration::from_nanos(1)),
            |r| r.inline_limit = Some(1),
            |r| r.pty = Some(pty(24, 80, "xterm")),
            |r| r.pty = Some(pty(80, 24, "xterm")),
            |r| r.pty = Some(pty(24, 81, "xterm")),
            |r| r.pty = Some(pty(24, 80, "vt100")),
        ];
        let mut seen = vec![execution_hash(&base)];
        for change in changed {
            let mut request = base.clone();
            change(&mut request);
            let hash = execution_hash(&request);
            assert!(!seen.contains(&hash), "{request:?}");
            seen.push(hash);
        }
        let mut same = base.clone();
        same.description = "list".to_owned();
        same.traceparent = "00-..".to_owned();
        same.labels.insert("a".to_owned(), "b".to_owned());
        assert_eq!(execution_hash(&same), execution_hash(&base));
    }

    #[test]
    fn a_session_request_is_told_apart_by_its_fields() {
        let base = CreateSession::default();
        let changed: [fn(&mut CreateSession); 7] = [
            |r| r.profile = Some("a".to_owned()),
            |r| r.mode = Some(Mode::Bypass),
            |r| r.shell = Some(Shell::Zsh),
            |r| r.base = Some("a".to_owned()),
            |r| r.runner_labels = [("zone".to_owned(), "a".to_owned())].into(),
            |r| drop(r.env.insert("A".to_owned(), Vec::new())),
            |r| r.idle_timeout = Some(Duration::from_secs(1)),
        ];
        let mut seen = vec![session_hash(&base)];
        for change in changed {
            let mut request = base.clone();
            change(&mut request);
            let hash = session_hash(&request);
            assert!(!seen.contains(&hash), "{request:?}");
            seen.push(hash);
        }
    }
}
