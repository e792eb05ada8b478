//! The check of the Landlock restrictions of a read-only command.

use airlock_init::wire::Landlock;

use super::Check;

const NAME: &str = "landlock";
const REMEDY: &str = "run a kernel from 6.12 on with `landlock` among the `lsm=` of its command line";

/// Compares the kernel's answer with the result of creating a file that only Landlock forbids. `made`: the file was created.
pub(super) fn check(landlock: Landlock, made: bool) -> Check {
    if !landlock.files() || made {
        let seen = format!("ABI {}, a file could be created: {made}", landlock.abi);
        return Check::missing(
            NAME,
            seen,
            "mounts and namespaces are the only layer that protects files",
            REMEDY,
        );
    }
    let parts = [
        (true, "files"),
        (landlock.tcp_denied, "TCP"),
        (landlock.devices(), "devices"),
        (landlock.scopes(), "signals and abstract sockets"),
    ];
    let named = |held: bool| {
        let names = parts.iter().filter(|(holds, _)| *holds == held).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let seen = format!("ABI {}: {}", landlock.abi, named(true));
    match named(false) {
        missing if missing.is_empty() => Check::ok(NAME, seen),
        missing => Check::degraded(NAME, seen, format!("no second layer protects {missing}"), REMEDY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::State;

    #[test]
    fn what_an_older_kernel_lacks_is_named() {
        let check = |abi| check(Landlock { abi, tcp_denied: abi >= 4 }, false);
        let cases = [
            (0, State::Missing, ""),
            (1, State::Missing, ""),
            (2, State::Degraded, "TCP, devices, signals and abstract sockets"),
            (4, State::Degraded, "devices, signals and abstract sockets"),
            (5, State::Degraded, "signals and abstract sockets"),
            (6, State::Ok, ""),
        ];
        for (abi, state, lost) in cases {
            let found = check(abi);
            assert_eq!(found.state, state, "{abi}");
            assert!(found.lost.ends_with(lost), "{found:?}");
        }
    }

    #[test]
    fn a_file_that_could_be_made_is_not_out_of_reach() {
        let landlock = Landlock { abi: 7, tcp_denied: true };
        assert_eq!(check(landlock, true).state, State::Missing);
    }
}
