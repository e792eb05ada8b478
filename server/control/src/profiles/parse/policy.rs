//! The keys of `[policy]`. The policy crate reads them. Their schema is checked here with the other keys, so that all
//! problems of a file are reported together.

#![expect(dead_code, reason = "the policy crate has types of its own; these are only a schema")]

use airlock_config::text_form;
use schemars::JsonSchema;

text_form!(
    pub(super),
    Directory,
    r"^(?!([\s\S]*/)?\.\.(/|$))/",
    "an absolute path without `..`, such as \"/usr/share/doc\""
);

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PolicyKeys {
    modes: Option<Vec<Mode>>,
    default_mode: Option<Mode>,
    allow: Option<Vec<String>>,
    ask: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    shadow: Option<Shadow>,
    powershell: Option<PowerShell>,
    auto_allow_if_sandboxed: Option<bool>,
    allow_confined: Option<bool>,
    allow_unsandboxed: Option<bool>,
    unsandboxed_without_asking: Option<bool>,
    excluded_commands: Option<Vec<String>>,
    #[schemars(with = "Option<Vec<Directory>>")]
    additional_directories: Option<Vec<String>>,
    #[schemars(with = "Option<Vec<Directory>>")]
    readable_roots: Option<Vec<String>>,
    test: Option<Vec<Test>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Mode {
    Bypass,
    AcceptEdits,
    Default,
    Plan,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Shadow {
    allow: Option<Vec<String>>,
    ask: Option<Vec<String>>,
    deny: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PowerShell {
    deny_download_and_execute: Option<bool>,
    deny_irreversible_destruction: Option<bool>,
    deny_persistence: Option<bool>,
    deny_elevation: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Test {
    command: String,
    expect: Verdict,
    reason: Option<String>,
    mode: Option<Mode>,
    cwd: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Verdict {
    Allow,
    Ask,
    Deny,
}
