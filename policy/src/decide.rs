//! The pipeline: from a request and a profile to a decision, deny first.

use crate::decision::{Category, Decision, Reason, Verdict};
use crate::limits;
use crate::profile::Profile;
use crate::request::Request;

/// Decides. Total: any bytes get an answer, in bounded time.
#[must_use]
pub fn decide(request: &Request<'_>, profile: &Profile) -> Decision {
    let too_long = request.command.len() > limits::MAX_COMMAND_BYTES;
    let (verdict, code) = if too_long {
        (Verdict::Deny, "too_long")
    } else {
        (Verdict::Ask, "not_understood")
    };
    Decision {
        verdict,
        reasons: vec![Reason {
            code,
            message: "not yet understood".to_owned(),
            span: None,
            rule: None,
            command_index: None,
        }],
        commands: Vec::new(),
        read_only: false,
        concurrency_safe: false,
        requires: Vec::new(),
        category: Category::Other,
        no_output_expected: false,
        paths: Vec::new(),
        rewrites: Vec::new(),
        warnings: Vec::new(),
        suggested_rules: Vec::new(),
        edit: None,
        shadow: Vec::new(),
        parse_complete: false,
        policy_version: profile.policy_version(),
    }
}
