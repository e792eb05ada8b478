//! Commands in a session of `airlock dev` install packages from the real registries, with the profile `agent` and its
//! presets. `make test-long` runs these tests where the host reaches the registries, and names the others
//! (`scripts/test-long.sh`).

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use airlock_tests::{desk::said, source};

const SCRIPT: &str = "scripts/test-long.sh";
/// The name of a test below this crate's root, and the source of that test.
const TESTS: [(&str, &str); 2] = [
    ("registries::long", include_str!("registries.rs")),
    ("documentation::long", include_str!("documentation.rs")),
];

/// Returns the names of the tests of the modules `long` in these sources.
fn tests_of_registries() -> BTreeSet<String> {
    let names = |(module, source): &(&str, &str)| -> Vec<String> {
        let long = source.rsplit_once("\nmod long {").unwrap().1;
        let tests = long.split("#[test]\n    fn ").skip(1);
        tests.map(|text| format!("{module}::{}", text.split('(').next().unwrap())).collect()
    };
    TESTS.iter().flat_map(names).collect()
}

/// Runs `make test-long` with a `curl` and a `python3.12` that answer with these exit codes, and a cargo that prints its
/// arguments.
fn test_long(curl: u8, python: u8) -> Output {
    let programs = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = programs.path().join(name);
        fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    put("curl", &format!("[ {curl} -eq 0 ] || echo 'curl: (6) no such host' >&2\nexit {curl}"));
    put("python3.12", &format!("exit {python}"));
    put("cargo", "echo \"cargo $*\"");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    Command::new(source::root().join(SCRIPT)).env("PATH", path).output().unwrap()
}

#[test]
fn a_test_of_a_registry_that_is_not_reached_is_named_with_the_reason() {
    let tests = tests_of_registries();
    assert!(tests.len() >= 4, "{tests:?}");
    let output = test_long(6, 0);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let named: BTreeSet<String> = stderr
        .lines()
        .filter_map(|line| line.split_once("not run: "))
        .map(|(_, rest)| {
            assert!(rest.contains("is not reached from this host: curl: (6) no such host"), "{rest}");
            rest.split(": ").next().unwrap().to_owned()
        })
        .collect();
    assert_eq!(named, tests, "{}", said(&output));
    for test in &tests {
        assert!(stdout.contains(&format!(" and not test(={test})")), "{stdout}");
    }

    // The control: with every registry and with Python 3.12, all tests run.
    let output = test_long(0, 0);
    let all = said(&output);
    assert!(output.status.success() && !all.contains("not run") && !all.contains("not test("), "{all}");
}

#[test]
fn without_its_python_the_test_of_openhands_is_named_with_the_reason() {
    let all = said(&test_long(0, 127));
    assert!(all.contains("not run: adapters::long::open_hands: there is no python3.12\n"), "{all}");
    assert!(all.contains(" and not test(=adapters::long::open_hands)"), "{all}");
}

/// Third-party packages from registries.
mod long {
    use airlock_tests::{toolchain::toolchain, typed::typed};

    use super::{Path, fs, said};

    /// Runs these lines with `airlock dev` and a session in `$session`. Returns both outputs.
    fn in_session(home: &Path, options: &str, lines: &str) -> String {
        let script = format!(
            "airlock dev {options} >~/dev.log 2>&1 &\n\
             trap 'kill -TERM %1; wait %1' EXIT\n\
             airlock runners --wait\n\
             session=$(airlock session create --quiet --profile agent)\n\
             {lines}\nairlock session close $session\n"
        );
        let output = typed(home, &script);
        let text = said(&output);
        let log = fs::read_to_string(home.join("dev.log")).unwrap_or_default();
        assert!(output.status.success(), "{script}\n{text}\n{log}");
        text
    }

    fn home() -> tempfile::TempDir {
        tempfile::Builder::new().prefix("airlock-test-registries-").tempdir().unwrap()
    }

    #[test]
    fn pip_installs_from_pypi() {
        let text = in_session(
            home().path(),
            "",
            "airlock run -s $session -- 'python3 -m venv .venv && .venv/bin/pip install requests'\n\
             airlock run -s $session -- '.venv/bin/python -c \"import requests; print(requests.__file__)\"'",
        );
        assert!(text.contains("/workspace/.venv/"), "{text}");
    }

    #[test]
    fn npm_installs_from_npms_registry() {
        let text = in_session(
            home().path(),
            "",
            "airlock run -s $session -- 'npm install left-pad'\n\
             airlock run -s $session -- 'node -e \"console.log(require(\\\"left-pad\\\")(7, 3, 0))\"'",
        );
        assert!(text.contains("added 1 package") && text.contains("\n007\n"), "{text}");
    }

    #[test]
    fn cargo_fetches_from_crates_io() {
        let (home, rust) = (home(), toolchain());
        let project = home.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        let manifest = "[package]\nname = \"own\"\nedition = \"2021\"\n[dependencies]\nitoa = \"=1.0.15\"\n";
        fs::write(project.join("Cargo.toml"), manifest).unwrap();
        fs::write(project.join("src/lib.rs"), "").unwrap();
        let text = in_session(
            home.path(),
            &format!("--bind {}:/opt/rust", rust.path().display()),
            "airlock cp ~/project $session:own\n\
             airlock run -s $session -- 'cd own && PATH=/opt/rust/bin:$PATH cargo fetch'\n\
             airlock run -s $session -- 'grep -A2 itoa Cargo.lock; ls ~/.cargo/registry/cache/*'",
        );
        assert!(text.contains("itoa-1.0.15.crate"), "{text}");
        assert!(text.contains("registry+https://github.com/rust-lang/crates.io-index"), "{text}");
    }
}
