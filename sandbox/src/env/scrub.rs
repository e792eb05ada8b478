//! What is passed through of the runner's own environment, and what is taken out of it whatever a profile
//! says: the credentials of the runner's host.
//!
//! Pure: must not read the process's own environment, and must not repeat a value.

use std::collections::BTreeSet;
use std::fmt;

use super::Variable;

/// Never passed through, nor the `INPUT_` twin by which a workflow hands each to an action. `*` stands for
/// any text. Compared without regard to case.
pub const SECRETS: [&str; 39] = [
    // Models.
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    // Amazon: keys, and where to ask for them.
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
    // Azure, the headers of its managed identity among them.
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_KEY",
    "IDENTITY_HEADER",
    "MSI_SECRET",
    // Build services: what a job may do in the name of its workflow.
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "CI_JOB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    // Registries.
    "CARGO_REGISTRY_TOKEN",
    "NPM_TOKEN",
    "PYPI_TOKEN",
    // Stores of secrets, clusters, databases.
    "DATABASE_URL",
    "KUBECONFIG",
    "PGPASSWORD",
    "VAULT_TOKEN",
    // Headers of telemetry: they carry the key of its collector.
    "OTEL_*HEADERS*",
];

/// What the name of a secret looks like. Such a name passes only if it is excepted, letter by letter, in
/// the runner's own configuration.
pub const SHAPES: [&str; 5] = ["*_TOKEN", "*_SECRET", "*_PASSWORD", "*_API_KEY", "*_CREDENTIALS"];

/// By which a workflow hands the input of that name to an action.
const TWIN: &str = "INPUT_";

/// What came of the names that a profile passes through.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Scrubbed {
    /// Passed.
    pub passed: Vec<Variable>,
    /// The names that were there and were not passed; sorted.
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

/// Takes the variables that `pass` names out of `own`, but for secrets. `exceptions` are exact names that
/// pass although they look like a secret's; on what is in [`SECRETS`] they have no effect.
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

/// Whether a variable of that name is never passed through.
#[must_use]
pub fn is_scrubbed(name: &str, exceptions: &[String]) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let mut plain = upper.as_str();
    let listed = loop {
        if SECRETS.iter().any(|pattern| matches(pattern, plain)) {
            break true;
        }
        match plain.strip_prefix(TWIN) {
            Some(rest) => plain = rest,
            None => break false,
        }
    };
    listed || (SHAPES.iter().any(|shape| matches(shape, &upper)) && !exceptions.iter().any(|e| e == name))
}

/// Whether `text` is what `pattern` says, with `*` for any text.
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
