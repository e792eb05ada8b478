//! Tests of the key `hooks`.

use super::*;

/// Returns settings with the hooks that the profiles of these tests can select.
pub(super) fn settings() -> BuiltInSettings {
    BuiltInSettings { hooks: ["guard", "scan"].map(str::to_owned).to_vec(), ..BuiltInSettings::default() }
}

fn refused(text: &str) -> String {
    load(&[("a.toml", PARENT), ("b.toml", text)]).expect_err("must not load").to_string()
}

/// Requires `guard`.
const PARENT: &str = "name = \"a\"\nhooks = [{ name = \"guard\", required = true }]\n";

#[test]
fn a_profile_inherits_hooks_and_adds_its_own_behind_them() {
    let child = "name = \"b\"\nextends = \"a\"\nhooks = [{ name = \"scan\" }, { name = \"guard\" }]\n";
    let heir = "name = \"c\"\nextends = \"b\"\nhooks = [{ name = \"scan\", required = true }]\n";
    let profiles = load(&[("a.toml", PARENT), ("b.toml", child), ("c.toml", heir)]).expect("valid");
    let hooks = |name: &str| -> Vec<(String, bool)> {
        let profile = profiles.get(name).expect("a profile");
        profile.hooks.iter().map(|hook| (hook.name.clone(), hook.required)).collect()
    };
    let pair = |name: &str, required| (name.to_owned(), required);
    assert_eq!(hooks("b"), [pair("guard", true), pair("scan", false)]);
    assert_eq!(hooks("c"), [pair("guard", true), pair("scan", true)]);
}

#[test]
fn a_required_hook_cannot_be_dropped() {
    let error = refused("name = \"b\"\nextends = \"a\"\nhooks = [{ name = \"guard\", required = false }]\n");
    assert!(error.contains("b.toml:3") && error.contains("requires the hook `guard`"), "{error}");
    let kept = load(&[("a.toml", PARENT), ("b.toml", "name = \"b\"\nextends = \"a\"\nhooks = []\n")]);
    assert_eq!(kept.expect("valid").get("b").expect("b").hooks.len(), 1, "an empty list removes nothing");
}

#[test]
fn a_hook_that_the_configuration_does_not_have_is_refused() {
    let error = refused("name = \"b\"\nhooks = [{ name = \"gard\" }]\n");
    assert!(error.contains("b.toml:2") && error.contains("has no hook `gard`"), "{error}");
    assert!(error.contains("use one of: guard, scan"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.toml"), PARENT).expect("a file");
    let error = Profiles::load(Some(folder.path())).expect_err("no hooks").to_string();
    assert!(error.contains("add a table [hooks.NAME]"), "{error}");
    let twice = refused("name = \"b\"\nhooks = [{ name = \"scan\" }, { name = \"scan\" }]\n");
    assert!(twice.contains("listed twice"), "{twice}");
    let odd = refused("name = \"b\"\nhooks = [{ name = \"scan\", requred = true }]\n");
    assert!(odd.contains("requred"), "{odd}");
}
