//! Selects the variables that pass from the runner's own environment. Removes the credentials of the runner's host even
//! if a profile requests them.
//!
//! Pure: must not read the environment of the process, and must not return the value of a removed variable.

use std::collections::BTreeSet;
use std::fmt;

use super::names::Variable;

/// Names that never pass, also with the prefix `INPUT_`, with which a workflow passes each to an action. `*` matches
/// any text. Case is ignored.
pub const SECRETS: [&str; 39] = [
    // AI models.
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    // Amazon: keys, and the endpoints that return them.
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_CREDENTIALS_*_URI",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    // Google.
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GCP_*KEY*",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    // Azure, including the headers of its managed identity.
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_KEY",
    "IDENTITY_HEADER",
    "MSI_SECRET",
    // Build services: the rights of a job.
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "CI_JOB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    // Package registries.
    "CARGO_REGISTRY_TOKEN",
    "NPM_TOKEN",
    "PYPI_TOKEN",
    // Secret stores, clusters, databases.
    "DATABASE_URL",
    "KUBECONFIG",
    "PGPASSWORD",
    "VAULT_TOKEN",
    // Telemetry headers: they contain the key of the collector.
    "OTEL_*HEADERS*",
];

/// Patterns of secrets' names. Such a name passes only if the runner's own configuration lists it exactly.
pub const SHAPES: [&str; 5] = ["*_TOKEN", "*_SECRET", "*_PASSWORD", "*_API_KEY", "*_CREDENTIALS"];

/// The prefix with which a workflow passes an input to an action.
const INPUT_PREFIX: &str = "INPUT_";

/// The result of the selection.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Scrubbed {
    /// The variables that pass.
    pub passed: Vec<Variable>,
    /// The names that exist and do not pass; sorted.
    pub removed: Vec<String>,
}

impl fmt::Debug for Scrubbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.passed.iter().map(|(name, _)| String::from_utf8_lossy(name));
        f.debug_struct("Scrubbed")
            .field("passed", &names.collect::<Vec<_>>())
            .field("removed", &self.removed)
            .finish()
    }
}

/// Selects the variables that `pass` names from `own`, without secrets. `exceptions` are exact names that pass although
/// they match [`SHAPES`]. They have no effect on names in [`SECRETS`].
#[must_use]
pub fn scrub(own: &[Variable], pass: &[String], exceptions: &[String]) -> Scrubbed {
    let wanted: BTreeSet<&[u8]> = pass.iter().map(|name| name.as_bytes()).collect();
    let mut scrubbed = Scrubbed::default();
    for (name, value) in own.iter().filter(|(name, _)| wanted.contains(name.as_slice())) {
        let Ok(text) = std::str::from_utf8(name) else { continue };
        if is_scrubbed(text, exceptions) {
            scrubbed.removed.push(text.to_owned());
        } else {
            scrubbed.passed.push((name.clone(), value.clone()));
        }
    }
    scrubbed.removed.sort();
    scrubbed.removed.dedup();
    scrubbed
}

/// Reports whether a variable with this name never passes.
#[must_use]
pub fn is_scrubbed(name: &str, exceptions: &[String]) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let mut plain = upper.as_str();
    let listed = loop {
        if SECRETS.iter().any(|pattern| matches(pattern, plain)) {
            break true;
        }
        match plain.strip_prefix(INPUT_PREFIX) {
            Some(rest) => plain = rest,
            None => break false,
        }
    };
    listed || (SHAPES.iter().any(|shape| matches(shape, &upper)) && !exceptions.iter().any(|e| e == name))
}

/// Reports whether `text` matches `pattern`, in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests;
