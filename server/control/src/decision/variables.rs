//! The environment variables that a session or request may set. For the policy, each counts as the same
//! assignment in the command.

use std::collections::BTreeMap;

use crate::{api::FieldViolation, profiles::ResolvedProfile};

/// Returns a violation for every name in `field` that must not be set, with the remedy.
pub(crate) fn refused(
    field: &str,
    env: &BTreeMap<String, Vec<u8>>,
    profile: &ResolvedProfile,
) -> Vec<FieldViolation> {
    let refused = env.keys().filter_map(|name| Some((name, why(name, profile)?)));
    refused
        .map(|(name, description)| FieldViolation { field: format!("{field}[{name:?}]"), description })
        .collect()
}

fn why(name: &str, profile: &ResolvedProfile) -> Option<String> {
    if airlock_variables::is_reserved(name.as_bytes()) {
        return Some(format!("`{name}` is set by Airlock; remove it"));
    }
    let allowed = profile.sandbox.allowed_env.iter().any(|allowed| allowed == name);
    (airlock_variables::changes_reading(name.as_bytes()) && !allowed).then(|| {
        let profile = profile.name();
        format!(
            "`{name}` changes how a command is read or what every program loads; \
             profile `{profile}` does not list it in `env.allowed`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::Profiles;

    fn env(names: &[&str]) -> BTreeMap<String, Vec<u8>> {
        names.iter().map(|name| ((*name).to_owned(), b"x".to_vec())).collect()
    }

    #[test]
    fn every_name_that_may_not_be_set_is_named_at_once_with_the_key_that_permits_it() {
        let profiles = Profiles::builtin();
        let mut profile = (**profiles.get("strict").expect("a built-in profile")).clone();
        let names =
            ["LD_PRELOAD", "IFS", "PS4", "TMPDIR", "BASH_ENV", "PATH", "PYTHONPATH", "LESS", "PIP_X", "FOO"];
        let found = refused("env", &env(&names), &profile);
        let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
        let expected =
            ["BASH_ENV", "IFS", "LD_PRELOAD", "PS4", "TMPDIR"].map(|name| format!("env[{name:?}]"));
        assert_eq!(fields, expected);
        for one in found.iter().filter(|one| one.field.contains("LD_PRELOAD") || one.field.contains("IFS")) {
            assert!(
                one.description.contains("`env.allowed`") && one.description.contains("`strict`"),
                "{one:?}"
            );
        }
        profile.sandbox.allowed_env = names.map(str::to_owned).to_vec();
        let found = refused("spec.env", &env(&names), &profile);
        let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, ["spec.env[\"BASH_ENV\"]", "spec.env[\"TMPDIR\"]"]);
    }
}
