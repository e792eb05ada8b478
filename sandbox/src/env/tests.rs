//! Tests of the variables that the environment contains, and of those that it never contains.

use super::*;
use crate::profile::Profile;

fn request<'a>(profile: &'a Profile, list: &'a [Variable], read_only: bool) -> EnvRequest<'a> {
    EnvRequest {
        profile,
        session_id: "0192",
        passed: &[],
        session: &[],
        request: list,
        traceparent: Some("00-aa-bb-01"),
        read_only,
        unsandboxed: false,
    }
}

fn profile() -> Profile {
    Profile { path: "/usr/bin".to_owned(), ..Profile::default() }
}

fn variable(name: &str, value: &str) -> Variable {
    (name.as_bytes().to_vec(), value.as_bytes().to_vec())
}

fn text(env: &[(OsString, OsString)]) -> String {
    let line = |(name, value): &(OsString, OsString)| {
        format!("{}={}\n", name.to_string_lossy(), value.to_string_lossy())
    };
    env.iter().map(line).collect()
}

/// Returns the error for a variable that a request may not set.
fn refused(profile: &Profile, name: &str) -> Option<EnvError> {
    let list = [variable(name, "x")];
    build_env(&request(profile, &list, false)).err().and_then(|mut errors| errors.pop())
}

#[test]
fn the_base_of_a_writable_command() {
    insta::assert_snapshot!(text(&build_env(&request(&profile(), &[], false)).unwrap()));
}

#[test]
fn the_base_of_a_read_only_command() {
    insta::assert_snapshot!(text(&build_env(&request(&profile(), &[], true)).unwrap()));
}

#[test]
fn the_request_wins_over_the_session_and_that_over_the_profile() {
    let profile = Profile {
        env: ["A", "B", "C"].map(|name| (name.to_owned(), "profile".to_owned())).into(),
        ..profile()
    };
    let session = [variable("B", "session"), variable("C", "session")];
    let list = [variable("C", "request"), variable("TERM", "xterm")];
    let env = build_env(&EnvRequest { session: &session, ..request(&profile, &list, false) });
    let env = text(&env.unwrap());
    for line in ["A=profile\n", "B=session\n", "C=request\n", "TERM=xterm\n"] {
        assert!(env.contains(line), "{env}");
    }
}

#[test]
fn names_that_change_how_a_command_is_read_need_the_profile() {
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "ENV", "IFS", "PS4", "SHELLOPTS", "BASHOPTS", "ld_preload"]
    {
        let error = refused(&profile(), name);
        assert!(matches!(error, Some(EnvError::ChangesReading { .. })), "{name}: {error:?}");
        assert!(error.unwrap().to_string().contains("`env.allowed`"), "{name}");
        let allowing = Profile { allow_env: vec![name.to_owned()], ..profile() };
        assert_eq!(refused(&allowing, name), None, "{name}");
    }
}

#[test]
fn names_that_only_steer_programs_are_set_inside_the_sandbox() {
    let names = [
        "PATH",
        "HOME",
        "PAGER",
        "LESS",
        "PIP_INDEX_URL",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5LIB",
        "RUBYOPT",
        "NODE_OPTIONS",
        "npm_config_script_shell",
        "EDITOR",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "RIPGREP_CONFIG_PATH",
        "FOO",
    ];
    for name in names {
        assert_eq!(refused(&profile(), name), None, "{name}");
        let list = [variable(name, "x")];
        let plain = profile();
        let outside = EnvRequest { unsandboxed: true, ..request(&plain, &list, false) };
        let errors = build_env(&outside).unwrap_err();
        assert!(matches!(errors.as_slice(), [EnvError::NotSafeOutside { .. }]), "{name}: {errors:?}");
        assert!(errors[0].to_string().contains("`env.allowed`"), "{name}");
        let allowing = Profile { allow_env: vec![name.to_owned()], ..profile() };
        let outside = EnvRequest { unsandboxed: true, ..request(&allowing, &list, false) };
        assert!(build_env(&outside).is_ok(), "{name}");
    }
    let list = [variable("LANG", "C"), variable("NO_COLOR", "1")];
    assert!(build_env(&EnvRequest { unsandboxed: true, ..request(&profile(), &list, false) }).is_ok());
}

#[test]
fn a_read_only_command_sets_itself_what_is_said_to_cost_nothing() {
    let overridden = airlock_variables::VARIABLES.iter().filter(|variable| variable.overridden);
    let names: Vec<&str> = overridden.map(|variable| variable.name).collect();
    assert!(names.contains(&"PATH") && names.contains(&"HOME") && names.contains(&"PAGER"), "{names:?}");
    for name in names {
        let list = [variable(name, "evil")];
        let env = text(&build_env(&request(&profile(), &list, true)).unwrap());
        assert!(env.contains(&format!("{name}=")) && !env.contains("evil"), "{name}: {env}");
        assert!(text(&build_env(&request(&profile(), &list, false)).unwrap()).contains("evil"), "{name}");
    }
}

#[test]
fn airlocks_own_names_are_never_set_from_outside() {
    let names = [
        "BASH_ENV",
        "BASH_FUNC_ls",
        "AIRLOCK",
        "AIRLOCK_SESSION_ID",
        "AIRLOCK_X",
        "TRACEPARENT",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_7",
        "GIT_EDITOR",
        "TMPDIR",
    ];
    for name in names {
        let allowing = Profile { allow_env: vec![name.to_owned()], ..profile() };
        let error = refused(&allowing, name);
        assert!(matches!(error, Some(EnvError::Reserved { .. })), "{name}: {error:?}");
    }
}

#[test]
fn a_profile_cannot_replace_airlocks_own_either() {
    let own = ["AIRLOCK_SESSION_ID", "GIT_CONFIG_COUNT", "TMPDIR"];
    let env = own.map(|name| (name.to_owned(), "forged".to_owned())).into();
    let profile = Profile { env, ..profile() };
    assert!(!text(&build_env(&request(&profile, &[], false)).unwrap()).contains("forged"));
}

#[test]
fn a_read_only_command_has_a_fixed_path_and_home() {
    let profile = Profile {
        allow_env: vec!["PATH".to_owned(), "HOME".to_owned(), "PAGER".to_owned()],
        env: vec![("PAGER".to_owned(), "/workspace/evil".to_owned())],
        ..profile()
    };
    let list = [variable("PATH", "/workspace/evil"), variable("HOME", "/workspace/evil")];
    assert!(text(&build_env(&request(&profile, &list, false)).unwrap()).contains("evil"));
    assert!(!text(&build_env(&request(&profile, &list, true)).unwrap()).contains("evil"));
}

#[test]
fn every_problem_is_named_at_once_and_no_value_is_repeated() {
    let long = "x".repeat(MAX_VALUE + 1);
    let list = [
        variable("", "s3cret"),
        variable("A B", "s3cret"),
        variable("1A", "s3cret"),
        variable("A\u{1b}", "s3cret"),
        variable("BASH_FUNC_x%%", "() { s3cret; }"),
        variable(&"N".repeat(MAX_NAME + 1), "s3cret"),
        variable("FINE", "s3cret"),
        variable("NUL", "s3cret\0"),
        variable("LONG", &long),
    ];
    let errors = build_env(&request(&profile(), &list, false)).unwrap_err();
    assert_eq!(errors.len(), 8, "{errors:?}");
    for error in &errors {
        let shown = error.to_string();
        assert!(!shown.contains("s3cret") && !shown.contains('\u{1b}'), "{shown}");
        assert!(shown.len() < 300, "{shown}");
    }
}

#[test]
fn the_limits_of_number_and_size() {
    let many: Vec<_> = (0..MAX_VARIABLES).map(|i| variable(&format!("V{i}"), "")).collect();
    assert!(build_env(&request(&profile(), &many, false)).is_ok());
    let more: Vec<_> = (0..=MAX_VARIABLES).map(|i| variable(&format!("V{i}"), "")).collect();
    assert!(build_env(&request(&profile(), &more, false)).is_err());
    let big = "x".repeat(MAX_VALUE);
    let large: Vec<_> = (0..9).map(|i| variable(&format!("V{i}"), &big)).collect();
    let errors = build_env(&request(&profile(), &large, false)).unwrap_err();
    assert!(matches!(errors.as_slice(), [EnvError::TooLarge { variables: 9, .. }]), "{errors:?}");
}

#[test]
fn outside_the_sandbox_home_and_temporary_files_are_the_sessions_on_the_host() {
    let directories = SessionDirectories::at(std::path::Path::new("/srv/x"));
    let plain = build_env(&request(&profile(), &[], false)).unwrap();
    let moved = text(&outside(plain, &directories));
    assert!(moved.contains("HOME=/srv/x/home\n") && moved.contains("TMPDIR=/srv/x/tmp\n"), "{moved}");
    let own = Profile { env: vec![("HOME".to_owned(), "/own".to_owned())], ..profile() };
    let kept = outside(build_env(&request(&own, &[], false)).unwrap(), &directories);
    assert!(text(&kept).contains("HOME=/own\n"));
}

#[test]
fn what_is_passed_through_stands_over_the_base_and_under_everything_else() {
    let passed = ["LANG", "A", "B", "TMPDIR_OLD"].map(|name| variable(name, "passed"));
    let profile = Profile { env: vec![("A".to_owned(), "profile".to_owned())], ..profile() };
    let list = [variable("B", "request")];
    let env = text(&build_env(&EnvRequest { passed: &passed, ..request(&profile, &list, false) }).unwrap());
    for line in ["LANG=passed\n", "A=profile\n", "B=request\n", "TMPDIR_OLD=passed\n"] {
        assert!(env.contains(line), "{env}");
    }
}

#[test]
fn what_is_passed_through_is_held_to_the_rules_for_names() {
    for name in ["BASH_ENV", "AIRLOCK_X", "TMPDIR"] {
        let profile = Profile { allow_env: vec![name.to_owned()], ..profile() };
        let passed = [variable(name, "x")];
        let errors = build_env(&EnvRequest { passed: &passed, ..request(&profile, &[], false) }).unwrap_err();
        assert!(
            matches!(errors[..], [EnvError::Reserved { source_of: VariableSource::Passed, .. }]),
            "{errors:?}"
        );
    }
    let passed = [variable("LD_PRELOAD", "x")];
    let (plain, allowing) = (profile(), Profile { allow_env: vec!["LD_PRELOAD".to_owned()], ..profile() });
    let with = |profile| build_env(&EnvRequest { passed: &passed, ..request(profile, &[], false) });
    assert!(matches!(with(&plain).unwrap_err()[..], [EnvError::ChangesReading { .. }]));
    assert!(text(&with(&allowing).unwrap()).contains("LD_PRELOAD=x\n"));
}

#[test]
fn a_profile_may_say_which_agent_it_serves_and_define_no_function() {
    let with = |name: &str| Profile { env: vec![(name.to_owned(), "1".to_owned())], ..profile() };
    let hints = with("CLAUDECODE");
    assert!(text(&build_env(&request(&hints, &[], false)).unwrap()).contains("CLAUDECODE=1\n"));
    for name in ["BASH_FUNC_ls%%", "bash_func_ls", "A=B", ""] {
        let errors = build_env(&request(&with(name), &[], false)).unwrap_err();
        assert!(matches!(errors[..], [EnvError::Name { source_of: VariableSource::Profile, .. }]), "{name}");
    }
}
