//! Which variables session and request may set, and which are passed through.
//!
//! Must not repeat a value in an error: it may be a secret.

use crate::env::EnvRequest;

/// The most variables that are passed through and that session and request set, together.
pub const MAX_VARIABLES: usize = 512;
/// The longest name, in bytes.
pub const MAX_NAME: usize = 128;
/// The longest value, in bytes.
pub const MAX_VALUE: usize = 32 << 10;
/// The most bytes of names and values together.
pub const MAX_TOTAL: usize = 256 << 10;

/// Who wants to set a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The profile's own.
    Profile,
    /// The runner's own environment, by the profile.
    Passed,
    /// The session.
    Session,
    /// The request.
    Request,
}

/// Why a variable cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// Not a name of letters, digits and underscores.
    #[error("`{name}` is not the name of a variable")]
    Name {
        /// The name, with what cannot be shown replaced.
        name: String,
        /// Whose it is.
        source_of: Source,
        /// Its place in the list.
        index: usize,
    },
    /// The value holds a NUL byte or is too long.
    #[error("the value of `{name}` holds a NUL byte or has more than {MAX_VALUE} bytes")]
    Value {
        /// The name.
        name: String,
        /// Whose it is.
        source_of: Source,
        /// Its place in the list.
        index: usize,
    },
    /// Airlock sets this one.
    #[error("`{name}` is set by airlock")]
    Reserved {
        /// The name.
        name: String,
        /// Whose it is.
        source_of: Source,
        /// Its place in the list.
        index: usize,
    },
    /// It changes what is executed, and the profile does not allow that.
    #[error("`{name}` changes what is executed, and the profile does not allow it")]
    ChangesExecution {
        /// The name.
        name: String,
        /// Whose it is.
        source_of: Source,
        /// Its place in the list.
        index: usize,
    },
    /// Too many variables or too many bytes.
    #[error(
        "the environment has {variables} variables and {bytes} bytes, the limits are {MAX_VARIABLES} and {MAX_TOTAL}"
    )]
    TooLarge {
        /// How many variables.
        variables: usize,
        /// How many bytes of names and values.
        bytes: usize,
    },
}

/// Names that only Airlock sets, whatever a profile allows.
const RESERVED: [&str; 8] = [
    "BASH_ENV",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_SYSTEM",
    "GIT_EDITOR",
    "GIT_OPTIONAL_LOCKS",
    "SHELL",
    "TMPDIR",
    "TRACEPARENT",
];
const RESERVED_PREFIXES: [&str; 4] = ["AIRLOCK", "BASH_FUNC_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// Names by which a program can be made to run something else, or the shell to
/// read a command otherwise.
const EXECUTION: [&str; 62] = [
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BROWSER",
    "CC",
    "CDPATH",
    "CLASSPATH",
    "CXX",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FPATH",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLOBIGNORE",
    "GOFLAGS",
    "GRADLE_OPTS",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_INIT",
    "MAKEFLAGS",
    "MANPAGER",
    "MAVEN_OPTS",
    "NLSPATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "RESOLV_HOST_CONF",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTDOC",
    "RUSTC_WRAPPER",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "TERMCAP",
    "TERMINFO",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];
const EXECUTION_PREFIXES: [&str; 19] = [
    "CARGO_ALIAS_",
    "CARGO_BUILD_",
    "CARGO_HOST_",
    "CARGO_TARGET_",
    "DYLD_",
    "GIT_",
    "GLIBC_TUNABLES",
    "LD_",
    "LUA_",
    "MALLOC_",
    "NPM_CONFIG_",
    "PERL",
    "PIP_",
    "PYTHON",
    "RUBY",
    "RUSTC_",
    "SSH_",
    "TAR_OPTIONS",
    "XDG_CONFIG",
];

/// Names under those prefixes that change nothing of the kind, and that tools
/// are commonly given.
const HARMLESS: [&str; 6] = [
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
];

/// Checks every variable passed through, and of session and request.
pub(super) fn check(from: &EnvRequest<'_>) -> Result<(), Vec<EnvError>> {
    let all =
        [(Source::Passed, from.passed), (Source::Session, from.session), (Source::Request, from.request)];
    // A profile is trusted with what programs read, not with what bash would run as a function.
    let is_wrong = |name: &str| !is_name(name) || name.to_ascii_uppercase().starts_with("BASH_FUNC_");
    let own = from.profile.env.iter().enumerate().filter(|(_, (name, _))| is_wrong(name));
    let own = own.map(|(index, (name, _))| EnvError::Name {
        name: shown(name.as_bytes()),
        source_of: Source::Profile,
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
    source_of: Source,
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
    // Some programs do not look at the case of their variables.
    let upper = name.to_ascii_uppercase();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| upper.starts_with(prefix));
    if RESERVED.contains(&upper.as_str()) || starts(&RESERVED_PREFIXES) {
        return Some(EnvError::Reserved { name: shown, source_of, index });
    }
    let changes =
        !HARMLESS.contains(&name) && (EXECUTION.contains(&upper.as_str()) || starts(&EXECUTION_PREFIXES));
    if changes && !from.profile.allow_env.iter().any(|allowed| allowed == name) {
        return Some(EnvError::ChangesExecution { name: shown, source_of, index });
    }
    None
}

/// The name, with what cannot be shown replaced.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().take(MAX_NAME).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && name.len() <= MAX_NAME && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
