//! The events of a view, as the cases describe them.

use std::collections::HashSet;

use airlock_cli::render::names;
use airlock_client::v1::{self, event::Event as Kind};
use serde_json::{Value, json};

use super::values::of_bytes;

/// The events of a view.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    kinds: Vec<&'static str>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    gaps: Vec<[u64; 2]>,
    states: HashSet<String>,
    cursor: String,
    approval: String,
}

impl Recorder {
    pub(super) fn record(&mut self, event: &v1::Event) {
        self.cursor = hex::encode(&event.cursor);
        let kind = match event.event.as_ref().unwrap() {
            Kind::Opened(opened) => {
                let execution = opened.execution.as_ref().unwrap();
                self.state(execution.state, &execution.approval_id);
                "opened"
            }
            Kind::StateChanged(change) => {
                self.state(change.state, &change.approval_id);
                "state_changed"
            }
            Kind::Output(output) => {
                let all = match output.stream() {
                    v1::OutputStream::Stderr => &mut self.stderr,
                    _ => &mut self.stdout,
                };
                all.extend_from_slice(&output.data);
                "output"
            }
            Kind::Gap(gap) => {
                self.gaps.push([gap.from, gap.to]);
                "gap"
            }
            Kind::Progress(_) => "progress",
            Kind::Finished(_) => "finished",
            Kind::Backgrounded(_) => "backgrounded",
        };
        self.kinds.push(kind);
    }

    fn state(&mut self, state: i32, approval: &str) {
        self.states.insert(names::lower::<v1::ExecutionState>(state));
        if !approval.is_empty() {
            approval.clone_into(&mut self.approval);
        }
    }

    /// Reports whether the view has received everything that the case waits for.
    pub(super) fn reached(&self, until: &Value) -> bool {
        if let Some(bytes) = until["bytes"].as_u64() {
            return (self.stdout.len() + self.stderr.len()) as u64 >= bytes;
        }
        until["state"].as_str().is_some_and(|state| self.states.contains(state))
    }

    pub(super) fn json(&self) -> Value {
        let count = |kind: &str| self.kinds.iter().filter(|one| **one == kind).count();
        json!({
            "first": self.kinds.first(),
            "last": self.kinds.last(),
            "opened": count("opened"),
            "finished": count("finished"),
            "stdout": of_bytes(&self.stdout),
            "stderr": of_bytes(&self.stderr),
            "gaps": self.gaps,
            "cursor": self.cursor,
            "approval": self.approval,
        })
    }
}
