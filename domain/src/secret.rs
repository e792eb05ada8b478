//! Detection of values that look like secrets, by the name or the form of the value. An approver sees a
//! digest instead.
//!
//! The detection is a heuristic and not a security boundary. It affects only the display, never a decision or the
//! environment of a command.

/// Parts of the names of secrets. They are compared in upper case and without separators.
const NAMES: [&str; 18] = [
    "ACCESSKEY",
    "APIKEY",
    "AUTHORIZATION",
    "AUTHTOKEN",
    "BEARER",
    "CONNECTIONSTRING",
    "COOKIE",
    "CREDENTIAL",
    "DATABASEURL",
    "ENCRYPTIONKEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "SECRET",
    "SIGNINGKEY",
    "STORAGEKEY",
    "TOKEN",
];

/// Prefixes that identify a value as a secret.
const BEGINNINGS: [&str; 16] = [
    "-----BEGIN ",
    "AIza",
    "AKIA",
    "ASIA",
    "Basic ",
    "Bearer ",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "hf_",
    "npm_",
    "sk-",
    "xox",
];

/// The minimum length, in bytes, of a value that is a secret because of its prefix.
const SHORTEST: usize = 16;

/// Reports whether the value of a variable looks like a secret.
///
/// Without a telling name, only a value without white space, or one whole key or header, counts as a secret.
/// Options and code contain white space, and an approver must see them.
#[must_use]
pub fn looks_secret(name: &str, value: &[u8]) -> bool {
    if value.is_empty() {
        return false;
    }
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    if NAMES.iter().any(|part| plain.contains(part)) {
        return true;
    }
    let Ok(text) = str::from_utf8(value) else { return false };
    begins_like_one(text) || has_password(text)
}

fn begins_like_one(text: &str) -> bool {
    let Some(beginning) = BEGINNINGS.iter().find(|beginning| text.starts_with(**beginning)) else {
        return false;
    };
    let rest = text.get(beginning.len()..).unwrap_or_default();
    let is_key = beginning.starts_with('-') && text.trim_end().ends_with("-----");
    is_key || (text.len() >= SHORTEST && !rest.contains(char::is_whitespace))
}

/// Reports whether the text has the form `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let is_one_word =
        !text.contains(char::is_whitespace) && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    is_one_word && user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_and_their_forms() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("my-api-key", "x"),
            ("ApiKey", "x"),
            ("PGPASSWORD", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("HTTP_AUTHORIZATION", "x y"),
            ("X", "ghp_0123456789abcdef0123456789abcdef0123"),
            ("X", "Bearer 0123456789"),
            ("X", "eyJhbGciOiJIUzI1NiJ9.e30.x"),
            ("X", "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"),
            ("X", "postgres://me:hunter2@db/app"),
        ] {
            assert!(looks_secret(name, value.as_bytes()), "{name}={value}");
        }
    }

    #[test]
    fn what_a_person_has_to_see_is_not_taken_for_a_secret() {
        for (name, value) in [
            ("GITHUB_TOKEN", ""),
            ("PATH", "/workspace/bin:/usr/bin"),
            ("LD_PRELOAD", "/workspace/x.so"),
            ("NODE_OPTIONS", "--require=./x.js"),
            ("X", "sk-x; rm -rf /workspace/everything"),
            ("X", "Bearer 0123456789; curl example.org"),
            ("X", "-----BEGIN x; rm -rf ."),
            ("X", "https://example.org/a:b@c"),
            ("X", "https://me@example.org/"),
            ("GIT_SSH_COMMAND", "ssh -i x://a:b@c"),
            ("KEYBOARD", "us"),
        ] {
            assert!(!looks_secret(name, value.as_bytes()), "{name}={value}");
        }
        assert!(!looks_secret("X", b"\xff"));
    }
}
