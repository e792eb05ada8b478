//! A day of work through the command line: projects from registries are uploaded, tested, changed,
//! tested again, compared and downloaded. Once with a stable connection, and once with a connection that
//! is cut every two seconds.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use airlock_tests::{
    cutter::Cutter,
    desk::{Airlock, Desk, Fixture, said, stdout_of},
    site::Extras,
    source,
    toolchain::toolchain,
    tools::project,
};

const CUT_EVERY: Duration = Duration::from_secs(2);
/// The smallest number of cuts during one command.
const CUTS: usize = 3;
/// The number of ticks after which the command ends in any case.
const MOST_TICKS: usize = 10_000;

/// Returns everything below a directory: relative names, and the content of files.
fn tree(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(directory).unwrap().to_owned();
            found.push((name, kind.is_file().then(|| fs::read(&path).unwrap())));
            left.extend(kind.is_dir().then_some(path));
        }
    }
    found.sort();
    found
}

fn a_day_with_python(airlock: Airlock<'_>, home: &Path) {
    fs::create_dir_all(home).unwrap();
    drop(stdout_of(Command::new("tar").arg("-xzf").arg(project("idna")).arg("-C").arg(home)));
    let unpacked = fs::read_dir(home).unwrap().flatten().next().unwrap().path();
    let desk = Desk::new(airlock, "sandboxed");
    desk.airlock.copy(&unpacked, &desk.there("idna"));
    let tests = "python3 -B -m unittest tests.test_idna tests.test_idna_codec tests.test_intranges";
    let passed = desk.check(&format!("cd idna && {tests}"));
    assert!(passed.contains("\nOK"), "{passed}");

    // The session keeps its working directory.
    let broken = desk
        .fails(&format!("sed -i 's/return ranges/return ranges[1:]/; s/xn--/xm--/' idna/*.py && {tests}"));
    assert!(broken.contains("FAILED"), "{broken}");
    let patch = desk.patch();
    assert!(patch.contains("+++ ") && patch.contains("xm--"), "{patch}");
    assert!(!patch.contains("__pycache__"), "{patch}");

    for name in ["core.py", "intranges.py", "codec.py"] {
        desk.airlock.copy(&unpacked.join("idna").join(name), &desk.there(&format!("idna/idna/{name}")));
    }
    let remains = desk.patch();
    assert!(desk.check(tests).contains("\nOK"));

    let execution = desk.airlock.text(&[
        "start",
        "--session",
        &desk.session,
        "--",
        "python3 -B -c 'import idna; [print(n, idna.encode(chr(0xe0 + n % 16)).decode()) for n in range(60000)]'",
    ]);
    drop(desk.airlock.bytes(&["wait", &execution]));
    let all = desk.airlock.bytes(&["logs", &execution]);
    assert_eq!(all.split(|byte| *byte == b'\n').count(), 60_001);
    assert_eq!(desk.airlock.text(&["logs", &execution, "--tail", "1"]).split(' ').next(), Some("59999"));
    assert_eq!(desk.airlock.text(&["logs", &execution, "--head", "2"]).lines().count(), 2);
    let found = desk.airlock.text(&["logs", &execution, "--grep", "^5999[0-9] "]);
    assert_eq!(found.lines().count(), 10, "{found}");
    assert_eq!(desk.airlock.bytes(&["logs", &execution, "--range", "100-200"]), all[100..200]);

    let result = home.join("result");
    drop(desk.airlock.bytes(&["cp", &desk.there("idna"), &result.display().to_string()]));
    let changed: Vec<_> = {
        let before = tree(&unpacked);
        tree(&result).into_iter().filter(|file| !before.contains(file)).map(|(name, _)| name).collect()
    };
    let named = changed.iter().all(|name| remains.contains(&*name.to_string_lossy()));
    assert!(named, "the comparison names every file that differs at home: {changed:?}\n{remains}");
    desk.close();
}

/// Returns the source of a dependency from cargo's registry.
fn vendored(name: &str) -> PathBuf {
    let metadata = stdout_of(
        Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--locked"])
            .current_dir(source::root()),
    );
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let package = metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == name);
    Path::new(package.unwrap()["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// Returns a profile with this toolchain in its sandbox.
fn with_rust(toolchain: &Path) -> Extras {
    let toolchain = toolchain.display().to_string();
    let profile = format!(
        "name = \"rust\"\nextends = \"sandboxed\"\n[sandbox]\n\
         root_binds = [{{ source = \"{toolchain}\", target = \"/opt/rust\" }}]\n\
         path = \"/opt/rust/bin:/usr/bin:/bin\"\n",
    );
    Extras {
        bind_sources: vec![toolchain],
        profiles: vec![("rust".to_owned(), profile)],
        ..Extras::default()
    }
}

fn a_day_with_rust(airlock: Airlock<'_>, home: &Path) {
    fs::create_dir_all(home).unwrap();
    let desk = Desk::new(airlock, "rust");
    desk.airlock.copy(&vendored("fnv"), &desk.there("fnv"));
    let test = "cargo test --offline --quiet --lib";
    let passed = desk.check(&format!("cd fnv && chmod -R u+w . && {test}"));
    assert!(passed.contains("test result: ok"), "{passed}");

    let local = home.join("lib.rs");
    drop(desk.airlock.bytes(&["cp", &desk.there("fnv/lib.rs"), &local.display().to_string()]));
    let text = fs::read_to_string(&local).unwrap();
    fs::write(&local, text.replace("0xcbf29ce484222325", "0xcbf29ce484222326")).unwrap();
    desk.airlock.copy(&local, &desk.there("fnv/lib.rs"));
    let failed = desk.fails(test);
    assert!(failed.contains("test result: FAILED"), "{failed}");

    fs::write(&local, &text).unwrap();
    desk.airlock.copy(&local, &desk.there("fnv/lib.rs"));
    assert!(desk.check(test).contains("test result: ok"));
    let listed = desk.airlock.text(&["ls", &desk.there("fnv")]);
    assert!(listed.contains("Cargo.toml") && listed.contains("target"), "{listed}");
    let result = home.join("result");
    let there = desk.there("fnv");
    drop(desk.airlock.bytes(&["cp", "--exclude", "target", &there, &result.display().to_string()]));
    assert_eq!(fs::read_to_string(result.join("lib.rs")).unwrap(), text);
    assert!(!result.join("target").exists());
    desk.close();
}

#[test]
fn a_day_with_a_python_project() {
    let fixture = Fixture::new(Extras::default());
    a_day_with_python(Airlock::at(&fixture.site), &fixture.site.path().join("home"));
}

#[test]
fn a_day_with_a_vendored_crate() {
    let rust = toolchain();
    let fixture = Fixture::new(with_rust(rust.path()));
    a_day_with_rust(Airlock::at(&fixture.site), &fixture.site.path().join("home"));
}

#[test]
fn a_day_over_a_connection_that_is_cut_every_two_seconds() {
    let rust = toolchain();
    let fixture = Fixture::new(with_rust(rust.path()));
    let cutter = Cutter::new(fixture.site.address, CUT_EVERY);
    let home = fixture.site.path().join("home");
    a_day_with_python(Airlock::through(&fixture.site, cutter.address), &home.join("python"));
    a_day_with_rust(Airlock::through(&fixture.site, cutter.address), &home.join("rust"));
    lasts_longer_than_any_connection(Airlock::through(&fixture.site, cutter.address), &cutter, &home);
}

/// Runs one command until its connection was cut several times.
fn lasts_longer_than_any_connection(airlock: Airlock<'_>, cutter: &Cutter, home: &Path) {
    let desk = Desk::new(airlock, "sandboxed");
    let (enough, there) = (home.join("enough"), desk.there("enough"));
    fs::write(&enough, "").unwrap();
    let end = cutter.cuts() + CUTS;
    let ticks =
        format!("for n in $(seq 1 {MOST_TICKS}); do echo tick $n; [ -e enough ] && exit; sleep 0.1; done");
    let output = thread::scope(|scope| {
        let running = scope.spawn(|| desk.run(&ticks));
        while cutter.cuts() < end && !running.is_finished() {
            thread::sleep(CUT_EVERY);
            cutter.cut();
        }
        desk.airlock.copy(&enough, &there);
        running.join().unwrap()
    });
    assert!(cutter.cuts() >= end, "the connection was not cut often enough: {}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let expected: String = (1..=text.lines().count()).map(|n| format!("tick {n}\n")).collect();
    assert_eq!(text, expected, "{}", said(&output));
    desk.close();
}
