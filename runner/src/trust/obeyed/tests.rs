//! Tests with obeyed files that are planted in a session's own directories.

use std::{fs, os::unix::fs::symlink};

use super::*;
use crate::trust::fixture::Session;

impl Session {
    fn said(&self, paths: &[&str], format: ObeyedFormat, settings: &[&str]) -> Option<String> {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let (paths, settings) = (owned(paths), owned(settings));
        let obeyed = vec![Obeyed { program: "tool".to_owned(), paths, format, settings }];
        let view = View::of_session(&self.directories());
        let refusal = check(&Decided { obeyed, ..Decided::default() }, &view).err()?;
        assert_eq!(refusal.reason, NAMES_A_PROGRAM);
        Some(refusal.message)
    }

    fn cargo(&self) -> Option<String> {
        self.said(&["/workspace/.cargo/config.toml"], ObeyedFormat::Toml, &["build.rustc-wrapper"])
    }

    fn git(&self) -> Option<String> {
        let paths = ["/workspace/sub/.git", "/workspace/.git", "/home/agent/.gitconfig"];
        self.said(&paths, ObeyedFormat::Git, &["filter.*.clean", "diff.external"])
    }
}

#[test]
fn a_file_that_names_a_program_withdraws_the_verdict_and_one_that_does_not_costs_nothing() {
    let session = Session::new();
    assert_eq!(session.cargo(), None, "the file does not exist");
    session.write("workspace/.cargo/config.toml", "[net]\nretry = 3\n");
    assert_eq!(session.cargo(), None);
    session.write("workspace/.cargo/config.toml", "[build]\nrustc-wrapper = './evil'\n");
    let said = session.cargo().unwrap();
    assert!(said.contains("/workspace/.cargo/config.toml") && said.contains("build.rustc-wrapper"), "{said}");
}

#[test]
fn a_link_is_followed_and_what_cannot_be_read_counts_as_naming_a_program() {
    let session = Session::new();
    session.write("tmp/evil.toml", "build.rustc-wrapper = 'x'").write("workspace/.cargo/other", "");
    let config = session.path("workspace/.cargo/config.toml");
    symlink("/tmp/evil.toml", &config).unwrap();
    assert!(session.cargo().unwrap().contains("rustc-wrapper"));
    for target in ["/proc/self/environ", "config.toml"] {
        fs::remove_file(&config).unwrap();
        symlink(target, &config).unwrap();
        assert!(session.cargo().unwrap().contains("cannot be read"), "{target}");
    }
    fs::remove_file(&config).unwrap();
    nix::unistd::mkfifo(&config, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(session.cargo().unwrap().contains("cannot be read"), "a pipe");
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    assert_eq!(session.cargo(), None, "no program reads a directory as a file");
    fs::remove_dir(&config).unwrap();
    fs::File::create(&config).unwrap().set_len(OBEYED_FILE_BYTES + 1).unwrap();
    assert!(session.cargo().unwrap().contains("cannot be read"), "too large");
}

#[test]
fn gits_configuration_is_read_with_includes_working_trees_submodules_and_home() {
    let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host.example/x\n";
    let evil = "[filter \"a\"]\n\tclean = ./evil\n";
    let session = Session::new();
    session.write("workspace/.git/config", plain).write("home/.gitconfig", "[user]\n\tname = A\n");
    assert_eq!(session.git(), None, "a plain configuration causes no question");
    for name in [
        "workspace/.git/config",
        "workspace/.git/config.worktree",
        "workspace/.git/modules/lib/config",
        "home/.gitconfig",
    ] {
        let session = Session::new();
        session.write("workspace/.git/config", plain).write(name, evil);
        assert!(session.git().is_some(), "{name}");
    }
    for include in ["[include]\n\tpath = ../more", "[includeIf \"onbranch:x\"]\n\tpath = ~/more"] {
        let session = Session::new();
        session.write("workspace/.git/config", include);
        assert_eq!(session.git(), None, "git takes no notice of what is not there");
        session.write("workspace/more", evil).write("home/more", evil);
        assert!(session.git().is_some(), "{include}");
    }
    let linked = Session::new();
    linked.write("workspace/sub/.git", "gitdir: ../main/.git/worktrees/sub\n");
    linked.write("workspace/main/.git/worktrees/sub/commondir", "../..\n");
    linked.write("workspace/main/.git/config", plain);
    assert_eq!(linked.git(), None);
    linked.write("workspace/main/.git/config", "[diff] external = x");
    assert!(linked.git().is_some(), "the repository of a linked working tree");
}

#[test]
fn includes_that_go_round_end() {
    let session = Session::new();
    session.write("workspace/.git/config", "[include]\n\tpath = config\n\tpath = ./config\n");
    assert!(session.git().unwrap().contains("cannot be read"));
}

#[test]
fn a_pattern_stands_for_every_name_that_is_there() {
    let session = Session::new();
    let of_python = |session: &Session| {
        let paths = ["/home/agent/.local/lib/python3*/site-packages/*.pth"];
        session.said(&paths, ObeyedFormat::Text, &["import"])
    };
    assert_eq!(of_python(&session), None);
    session.write("home/.local/lib/python3.12/site-packages/paths.pth", "/workspace/lib\n");
    assert_eq!(of_python(&session), None);
    session.write("home/.local/lib/python3.12/site-packages/evil.pth", "import os; os.system('x')\n");
    assert!(of_python(&session).unwrap().contains("evil.pth"));
    let present =
        |session: &Session| session.said(&["/workspace/tools/bazel"], ObeyedFormat::Present, &["x"]);
    assert_eq!(present(&session), None);
    assert!(present(session.write("workspace/tools/bazel", "")).is_some());
}

#[test]
fn a_program_that_runs_nobody_knows_where_is_asked_about() {
    assert!(Session::new().said(&[], ObeyedFormat::Toml, &["x"]).unwrap().contains("not known"));
}
