//! Profiles that load, and those that must not.

use super::*;

fn load(text: &str) -> Result<Profile, ProfileError> {
    Profile::from_toml(text, "team.toml", &|_| None)
}

#[test]
fn every_builtin_name_is_a_profile() {
    for name in Profile::builtin_names() {
        assert_eq!(Profile::builtin(name).unwrap().name(), *name);
    }
    assert!(Profile::builtin("nope").is_none());
}

#[test]
fn a_profile_extends_another_and_adds_to_it() {
    let profile = load(
        "name = \"team\"\nextends = \"demo\"\n[policy]\nallow = [\"Bash(npm test)\"]\n[sandbox]\nx = 1\n",
    )
    .unwrap();
    assert_eq!(profile.rules().allow.len(), 1);
    assert_eq!(profile.rules().deny.len(), 1);
    assert!(profile.auto_allow());
    assert_ne!(profile.policy_version(), Profile::builtin("demo").unwrap().policy_version());
}

#[test]
fn a_broken_profile_names_file_line_and_cure() {
    let error = load("name = \"t\"\n[policy]\nallow = [\n  \"Bash(ls)\",\n  \"Bosh(ls)\",\n]\n").unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("team.toml", 5));
    assert!(error.to_string().contains("`Bosh`"));
    let error = load("name = \"t\"\n[policy]\nalow = []\n").unwrap_err();
    assert_eq!(error.line, 3);
    assert!(error.what.contains("alow"), "{error}");
    let error = load("name = \"t\"\nextends = \"gone\"\n").unwrap_err();
    assert_eq!(error.line, 2);
    let error = load("name = \"t\"\n[policy]\nmodes = [\"plan\"]\n").unwrap_err();
    assert!(error.cure.contains("default_mode"), "{error}");
}

#[test]
fn a_profile_that_fails_its_own_test_does_not_load() {
    let text = "name = \"t\"\n[policy]\n[[policy.test]]\ncommand = \"rm x\"\nexpect = \"allow\"\n";
    let error = load(text).unwrap_err();
    assert!(error.what.contains("`rm x` is asked about"), "{error}");
    assert!(load(&text.replace("allow", "ask")).is_ok());
}

#[test]
fn rules_that_allow_anything_are_warned_about() {
    let profile =
        load("name = \"t\"\n[policy]\nallow = [\"Bash(python3:*)\", \"Bash(npm run:*)\"]\n").unwrap();
    assert_eq!(profile.warnings().len(), 1);
}
