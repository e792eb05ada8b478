//! Knowledge about environment variables. Policy, server and sandbox use this one list.
//!
//! It contains only names and reasons. It must not look at values or decide about commands.

#![forbid(unsafe_code)]

mod data;
mod entry;

pub use data::VARIABLES;
pub use entry::{Effect, Variable};

/// Returns the entry for this name: an exact match, or else the longest matching prefix.
///
/// Names are case-sensitive, because bash and almost every program distinguish `Path` from `PATH`.
#[must_use]
pub fn variable(name: &[u8]) -> Option<&'static Variable> {
    let exact = VARIABLES.binary_search_by(|entry| entry.name.as_bytes().cmp(name)).ok();
    let begins = |entry: &&Variable| {
        entry.name.strip_suffix('*').is_some_and(|start| name.starts_with(start.as_bytes()))
    };
    let longest = || VARIABLES.iter().filter(begins).max_by_key(|entry| entry.name.len());
    exact.and_then(|at| VARIABLES.get(at)).or_else(longest)
}

/// Reports whether the variable is known to load and run nothing.
#[must_use]
pub fn is_safe(name: &[u8]) -> bool {
    has(name, Effect::Safe)
}

/// Reports whether the variable is known to change what runs, or how text is read.
#[must_use]
pub fn is_dangerous(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.effect != Effect::Safe)
}

/// Reports whether the variable changes how bash reads a command, or which code every program loads. The
/// comparison ignores case, because some programs do.
#[must_use]
pub fn changes_reading(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reads)
}

/// Reports whether only Airlock may set the variable. The comparison ignores case.
#[must_use]
pub fn is_reserved(name: &[u8]) -> bool {
    has(&name.to_ascii_uppercase(), Effect::Reserved)
}

/// Reports whether a read-only run sets the variable itself, so that other values have no effect.
#[must_use]
pub fn is_overridden(name: &[u8]) -> bool {
    variable(name).is_some_and(|entry| entry.overridden)
}

fn has(name: &[u8], effect: Effect) -> bool {
    variable(name).is_some_and(|entry| entry.effect == effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_entry_has_a_reason() {
        for pair in VARIABLES.windows(2) {
            assert!(
                pair[0].name.as_bytes() < pair[1].name.as_bytes(),
                "{} and {}",
                pair[0].name,
                pair[1].name
            );
        }
        for entry in VARIABLES {
            assert!(entry.why.len() > 5, "{} has no reason", entry.name);
            let star = entry.name.find('*');
            assert!(star.is_none_or(|at| at + 1 == entry.name.len()), "{} has a star inside", entry.name);
            assert!(!entry.overridden || entry.effect == Effect::Steers, "{}", entry.name);
        }
    }

    #[test]
    fn an_entry_for_the_whole_name_comes_before_those_for_its_beginning() {
        let effect = |name: &str| variable(name.as_bytes()).map(|entry| entry.effect);
        assert_eq!(effect("PYTHONUNBUFFERED"), Some(Effect::Safe));
        assert_eq!(effect("PYTHONSAFEPATH"), Some(Effect::Steers));
        assert_eq!(effect("GIT_SSH_COMMAND"), Some(Effect::Steers));
        assert_eq!(effect("GIT_CONFIG_KEY_7"), Some(Effect::Reserved));
        assert_eq!(effect("CARGO_TERM_COLOR"), Some(Effect::Safe));
        assert_eq!(effect("LD_PRELOAD"), Some(Effect::Reads));
        assert_eq!(effect("FOO"), None);
        assert_eq!(effect(""), None);
    }

    #[test]
    fn names_that_make_a_program_run_another_are_known() {
        for name in [
            "RIPGREP_CONFIG_PATH",
            "KUBECONFIG",
            "RUSTUP_TOOLCHAIN",
            "CARGO_HOME",
            "TF_CLI_CONFIG_FILE",
            "GOENV",
            "GOROOT",
            "AWS_CONFIG_FILE",
            "CLOUDSDK_PYTHON",
            "BAT_PAGER",
            "DOTNET_STARTUP_HOOKS",
            "LESS",
            "PIP_INDEX_URL",
            "PATH",
            "PYTHONPATH",
            "npm_config_script_shell",
            "COMPlus_EnableDiagnostics",
            "CORECLR_ENABLE_PROFILING",
            "CORECLR_PROFILER_PATH",
            "DOTNET_ADDITIONAL_DEPS",
            "DOTNET_EnableWriteXorExecute",
            "DOTNET_ROOT",
            "PSModuleAnalysisCachePath",
            "PSModulePath",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
        ] {
            assert!(is_dangerous(name.as_bytes()) && !is_safe(name.as_bytes()), "{name}");
            assert!(!changes_reading(name.as_bytes()) && !is_reserved(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_nobody_may_set_is_known_in_any_case() {
        for name in ["ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "LD_PRELOAD", "ld_preload", "Ifs"] {
            assert!(changes_reading(name.as_bytes()), "{name}");
        }
        for name in ["BASH_ENV", "bash_env", "BASH_FUNC_ls", "TMPDIR", "SHELL", "AIRLOCK", "AIRLOCK_X"] {
            assert!(is_reserved(name.as_bytes()), "{name}");
        }
        for name in ["LANG", "TERM", "FOO", "HOME", "PATH"] {
            assert!(!changes_reading(name.as_bytes()) && !is_reserved(name.as_bytes()), "{name}");
        }
    }
}
