//! Loading profiles: what is inherited, and what each mistake is answered with.

use super::*;

fn load(files: &[(&str, &str)]) -> Result<Profiles, ProfilesError> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    Profiles::load(Some(folder.path()))
}

fn error(text: &str) -> String {
    let error = load(&[("mine.toml", text)]).expect_err("must not load").to_string();
    let at = error.find("mine.toml").expect("the file is named");
    error[at..].to_owned()
}

#[test]
fn the_built_in_ones_are_there_without_a_folder() {
    let profiles = Profiles::load(None).expect("profiles");
    assert_eq!(profiles.names().collect::<Vec<_>>(), ["demo", "read_only", "sandboxed", "strict"]);
    let strict = profiles.get("strict").expect("strict");
    assert_eq!(strict.timeout_max, Duration::from_secs(1800));
    assert!(!strict.self_approval);
    assert_eq!(profiles.longest_grace(), Duration::from_secs(5));
}

#[test]
fn self_approval_of_the_built_in_ones_is_inherited_and_can_be_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("a.toml", "name = \"a\"\nextends = \"strict\"\n");
    write("b.toml", "name = \"b\"\nextends = \"strict\"\n[approvals]\nself_approval = false\n");
    let profiles = Profiles::load_with_self_approval(Some(folder.path())).expect("profiles");
    let allowed = |name: &str| profiles.get(name).expect(name).self_approval;
    assert!(allowed("strict") && allowed("demo") && allowed("a") && !allowed("b"));
}

#[test]
fn a_profile_inherits_policy_and_sandbox_along_the_whole_chain() {
    let profiles = load(&[
        (
            "base.toml",
            "name = \"base\"\nextends = \"sandboxed\"\n[sandbox]\nroot_binds = [{ source = \"/opt/tools\" }]\npath = \"/opt/tools:/usr/bin\"\n[env]\nset = { CI = \"1\", A = \"base\" }\n[limits]\ngrace = \"9s\"\nprocesses = 12\n",
        ),
        (
            "app.toml",
            "name = \"app\"\nextends = \"base\"\n[policy]\ndeny = [\"Bash(git push:*)\"]\n[sandbox]\nroot_binds = [{ source = \"/opt/new\", target = \"/opt/tools\" }]\n[env]\nset = { A = \"app\" }\nallowed = [\"NODE_OPTIONS\"]\n[approvals]\nself_approval = true\nvalid_for = \"1h\"\n",
        ),
        ("notes.txt", "not a profile"),
    ])
    .expect("profiles");
    let app = profiles.get("app").expect("app");
    assert!(app.policy.auto_allow(), "the policy of `sandboxed` is inherited");
    assert_eq!(app.sandbox.name, "app");
    assert_eq!(app.sandbox.path, "/opt/tools:/usr/bin");
    assert_eq!(app.sandbox.limits.processes, 12);
    assert_eq!(app.sandbox.env["CI"], b"1");
    assert_eq!(app.sandbox.env["A"], b"app");
    assert_eq!(app.sandbox.allowed_env, ["NODE_OPTIONS"]);
    let [bind] = app.sandbox.root_binds.as_slice() else { panic!("one bind") };
    assert_eq!((bind.source.as_str(), bind.target.as_str()), ("/opt/new", "/opt/tools"));
    assert!(app.self_approval);
    assert_eq!(app.approval_valid, Some(Duration::from_secs(3600)));
    assert_eq!(profiles.longest_grace(), Duration::from_secs(9));
}

#[test]
fn every_mistake_names_file_line_and_cure() {
    let cases = [
        ("name = \"mine\"\n[sandbox]\nrot_binds = []\n", "mine.toml:3: unknown field `rot_binds`"),
        ("name = \"mine\"\nshell = \"zsh\"\n", "mine.toml:2: unknown field `shell`"),
        ("name = \"other\"\n", "mine.toml:1: the profile `other` is in `mine.toml`; give"),
        (
            "name = \"mine\"\nextends = \"nowhere\"\n",
            "mine.toml:2: `extends` names `nowhere`, which is not loaded",
        ),
        (
            "name = \"mine\"\n[sandbox]\nroot_binds = [{ source = \"opt\" }]\n",
            "mine.toml:3: `opt` is not an absolute path",
        ),
        (
            "name = \"mine\"\n[sandbox]\nroot_binds = [{ source = \"/a/../etc\" }]\n",
            "mine.toml:3: `/a/../etc` is not",
        ),
        ("name = \"mine\"\n[sandbox]\npath = \"bin\"\n", "mine.toml:3: `bin` has a folder"),
        ("name = \"mine\"\n[env]\nset = { \"A B\" = \"1\" }\n", "mine.toml:3: `A B` is not the name"),
        ("name = \"mine\"\n[limits]\nopen_files = 0\n", "mine.toml:3: a limit of 0"),
        ("name = \"mine\"\n[limits]\ngrace = \"soon\"\n", "mine.toml:3: `soon` is not a time"),
        ("name = \"mine\"\n[limits]\ngrace = \"0s\"\n", "mine.toml:3: a time of 0"),
        ("name = \"mine\"\n[limits]\ntimeout_default = \"2h\"\n", "mine.toml:3: `timeout_default` is more"),
        ("name = \"mine\"\n[policy]\ndeny = [\"Bash(\"]\n", "mine.toml:3: "),
    ];
    for (text, expected) in cases {
        let said = error(text);
        assert!(said.starts_with(expected), "{text:?}: {said}");
        assert!(said.contains("; "), "no cure in {said}");
    }
}

#[test]
fn a_circle_of_profiles_is_refused() {
    let error =
        load(&[("a.toml", "name = \"a\"\nextends = \"b\"\n"), ("b.toml", "name = \"b\"\nextends = \"a\"\n")])
            .expect_err("a circle");
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn a_built_in_name_cannot_be_taken() {
    let error = load(&[("strict.toml", "name = \"strict\"\n")]).expect_err("taken");
    assert!(error.to_string().contains("`strict` is a built-in profile"), "{error}");
}
