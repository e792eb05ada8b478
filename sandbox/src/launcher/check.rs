//! Refuses launches that cannot be started.
//!
//! Must not perform I/O.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::error::LaunchError;
use crate::mask;
use crate::spec::{LaunchSpec, MAX_COMMAND, Shell, Stdin};

/// The maximum total bytes of names and values of the environment.
const MAX_ENVIRONMENT: usize = 512 << 10;

/// Refuses parameters that cannot be started.
pub(super) fn check(spec: &LaunchSpec) -> Result<(), LaunchError> {
    let refuse = |cause: &str| Err(LaunchError::Invalid { cause: cause.to_owned() });
    if spec.command.len() > MAX_COMMAND {
        return Err(LaunchError::CommandTooLong { bytes: spec.command.len() });
    }
    if spec.command.contains(&0) {
        return refuse("the command contains a NUL byte");
    }
    if spec.prefix.iter().any(|word| word.contains(&0)) {
        return refuse("the prefix contains a NUL byte");
    }
    if spec.snapshot.is_some() && (spec.shape.read_only || spec.shell != Shell::Bash) {
        return refuse("only a bash command that can write can use a shell snapshot");
    }
    if spec.separate_stderr && matches!(spec.stdin, Stdin::Terminal(_)) {
        return refuse("a terminal has one stream for output and errors");
    }
    if !spec.cwd.is_absolute() || spec.cwd.as_os_str().as_bytes().contains(&0) {
        return refuse("the directory is not an absolute path");
    }
    let bad = |(name, value): &(OsString, OsString)| {
        let name = name.as_bytes();
        name.is_empty() || name.iter().any(|byte| matches!(byte, 0 | b'=')) || value.as_bytes().contains(&0)
    };
    if spec.env.iter().any(bad) {
        return refuse("the environment contains a name or value that cannot be passed");
    }
    let sizes = spec.env.iter().map(|(name, value)| name.len() + value.len());
    if sizes.clone().any(|size| size >= MAX_COMMAND) || sizes.sum::<usize>() > MAX_ENVIRONMENT {
        return refuse("the environment is too large");
    }
    mask::check(&spec.masks).map_err(|cause| LaunchError::Invalid { cause })
}
