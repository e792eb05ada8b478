//! Bare system calls.

use std::ffi::OsStr;

use airlock_init::sys::bare_call;
use nix::errno::Errno;

use crate::attempt::Attempt;

/// Makes one system call with arguments that cannot have an effect. An error other than a refusal concerns the
/// arguments: the call itself was allowed.
pub(crate) fn bare(name: &OsStr) -> Vec<Attempt> {
    let name = name.to_string_lossy();
    match bare_call(&name) {
        Some(result) => {
            vec![Attempt::past(name, result, |errno| !matches!(errno, Errno::ENOSYS | Errno::EPERM))]
        }
        None => vec![Attempt::new(name, true, "unknown system call; its refusal cannot be checked")],
    }
}
