//! The inputs for the environment of a command. Checks which variables session and request may set, and which are
//! passed through.
//!
//! Must not include a value in an error, because it may be a secret.

use crate::profile::Profile;

/// The maximum number of variables from all sources together.
pub const MAX_VARIABLES: usize = 512;
/// The maximum length of a name, in bytes.
pub const MAX_NAME: usize = 128;
/// The maximum length of a value, in bytes.
pub const MAX_VALUE: usize = 32 << 10;
/// The maximum total bytes of names and values.
pub const MAX_TOTAL: usize = 256 << 10;

/// The source of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableSource {
    /// The profile's own variables.
    Profile,
    /// The runner's environment, selected by the profile.
    Passed,
    /// The session.
    Session,
    /// The request.
    Request,
}

/// The reason why a variable cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// The name does not consist of letters, digits and underscores.
    #[error("`{name}` is not the name of a variable")]
    Name {
        /// The name, with unprintable characters replaced.
        name: String,
        /// The source.
        source_of: VariableSource,
        /// The index in the source's list.
        index: usize,
    },
    /// The value contains a NUL byte or is too long.
    #[error("the value of `{name}` contains a NUL byte or has more than {MAX_VALUE} bytes")]
    Value {
        /// The name.
        name: String,
        /// The source.
        source_of: VariableSource,
        /// The index in the source's list.
        index: usize,
    },
    /// Airlock itself sets this variable.
    #[error("`{name}` is set by Airlock; remove it")]
    Reserved {
        /// The name.
        name: String,
        /// The source.
        source_of: VariableSource,
        /// The index in the source's list.
        index: usize,
    },
    /// The variable changes how bash reads a command or which files every program loads, and the profile does not
    /// permit it.
    #[error(
        "`{name}` changes how a command is read or what every program loads, and the profile does not list it in \
         `env.allowed`"
    )]
    ChangesReading {
        /// The name.
        name: String,
        /// The source.
        source_of: VariableSource,
        /// The index in the source's list.
        index: usize,
    },
    /// The command runs outside the sandbox, and the variable is neither on the safe list nor permitted by the profile.
    #[error(
        "`{name}` is not a safe variable for a command outside the sandbox, and the profile does not list it \
         in `env.allowed`"
    )]
    NotSafeOutside {
        /// The name.
        name: String,
        /// The source.
        source_of: VariableSource,
        /// The index in the source's list.
        index: usize,
    },
    /// There are too many variables or too many bytes.
    #[error(
        "the environment has {variables} variables and {bytes} bytes, the limits are {MAX_VARIABLES} and {MAX_TOTAL}"
    )]
    TooLarge {
        /// The number of variables.
        variables: usize,
        /// The bytes of names and values.
        bytes: usize,
    },
}

/// Checks every variable of all sources.
pub(super) fn check(from: &EnvRequest<'_>) -> Result<(), Vec<EnvError>> {
    let all = [
        (VariableSource::Passed, from.passed),
        (VariableSource::Session, from.session),
        (VariableSource::Request, from.request),
    ];
    // A profile may set variables that programs read, but not functions that bash would run.
    let is_wrong = |name: &str| !is_name(name) || name.to_ascii_uppercase().starts_with("BASH_FUNC_");
    let own = from.profile.env.iter().enumerate().filter(|(_, (name, _))| is_wrong(name));
    let own = own.map(|(index, (name, _))| EnvError::Name {
        name: shown(name.as_bytes()),
        source_of: VariableSource::Profile,
        index,
    });
    let mut errors: Vec<EnvError> = own.collect();
    let (mut variables, mut bytes) = (0_usize, 0_usize);
    for (source, list) in all {
        for (index, (name, value)) in list.iter().enumerate() {
            variables += 1;
            bytes = bytes.saturating_add(name.len()).saturating_add(value.len());
            errors.extend(problem(from, source, index, name, value));
        }
    }
    if variables > MAX_VARIABLES || bytes > MAX_TOTAL {
        errors.push(EnvError::TooLarge { variables, bytes });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn problem(
    from: &EnvRequest<'_>,
    source_of: VariableSource,
    index: usize,
    name: &[u8],
    value: &[u8],
) -> Option<EnvError> {
    let shown = shown(name);
    let name = match std::str::from_utf8(name) {
        Ok(name) if is_name(name) => name,
        _ => {
            return Some(EnvError::Name { name: shown, source_of, index });
        }
    };
    if value.len() > MAX_VALUE || value.contains(&0) {
        return Some(EnvError::Value { name: shown, source_of, index });
    }
    if airlock_variables::is_reserved(name.as_bytes()) {
        return Some(EnvError::Reserved { name: shown, source_of, index });
    }
    if from.profile.allow_env.iter().any(|allowed| allowed == name) {
        return None;
    }
    if airlock_variables::changes_reading(name.as_bytes()) {
        return Some(EnvError::ChangesReading { name: shown, source_of, index });
    }
    // The profile itself names the passed variables.
    let asked = from.unsandboxed && source_of != VariableSource::Passed;
    if asked && !airlock_variables::is_safe(name.as_bytes()) {
        return Some(EnvError::NotSafeOutside { name: shown, source_of, index });
    }
    None
}

/// Returns the name with unprintable characters replaced.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().take(MAX_NAME).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && name.len() <= MAX_NAME && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A variable: name and value, with any bytes that Linux allows.
pub type Variable = (Vec<u8>, Vec<u8>);

/// The inputs for the environment of one command.
#[derive(Debug, Clone, Copy)]
pub struct EnvRequest<'a> {
    /// The profile: PATH, its variables, and the names that it allows.
    pub profile: &'a Profile,
    /// The session's ID, set as `AIRLOCK_SESSION_ID`.
    pub session_id: &'a str,
    /// The variables passed from the runner's environment, without secrets. All other sources override them.
    pub passed: &'a [Variable],
    /// The session's variables.
    pub session: &'a [Variable],
    /// The request's variables. They override the session's.
    pub request: &'a [Variable],
    /// The trace context of the command, set as `TRACEPARENT`.
    pub traceparent: Option<&'a str>,
    /// Whether the command is read-only.
    pub read_only: bool,
    /// Whether the command runs outside the sandbox.
    pub unsandboxed: bool,
}
