//! SWE-ReX's runtime tests pass through Airlock with one execution per command and the profile `agent`.
//!
//! `tests/swerex` holds the adapter, and the names of the tests that are excepted with their reasons. The tests themselves
//! come from SWE-ReX's source distribution and are not part of this repository.

#![expect(clippy::unwrap_used, reason = "a test")]

/// The test suite of another project.
mod long {
    use std::{
        fs,
        os::unix::fs::symlink,
        path::PathBuf,
        process::{Command, Stdio},
    };

    use airlock_mounts::ScratchDir;
    use airlock_tests::{
        process::{Process, until},
        site::PATIENCE,
        source,
        tools::program,
        tools::{project, python_packages},
    };
    use nix::sys::signal::Signal;

    /// pytest's summary. SWE-ReX marks one test as an expected failure itself, and `excepted.tsv` lists two.
    const SUMMARY: &str = "47 passed, 3 xfailed";

    /// A dev whose commands find a `python`. It is stopped by a signal, so that it removes its cgroup.
    struct Dev {
        process: Process,
        directory: ScratchDir,
    }

    impl Dev {
        fn start() -> Self {
            let directory = ScratchDir::with_prefix("airlock-test-swerex-");
            let programs = directory.path().join("bin");
            fs::create_dir(&programs).unwrap();
            symlink("/usr/bin/python3", programs.join("python")).unwrap();
            let mut command = Command::new(program("airlock"));
            command.arg("dev").arg("--state").arg(directory.path().join("state"));
            command.arg("--bind").arg(format!("{}:/usr/local/bin", programs.display()));
            command.env("HOME", directory.path());
            let process = Process::start(&mut command, &directory.path().join("log"));
            let dev = Self { process, directory };
            until("the dev accepts commands", PATIENCE, || dev.state().join("connection.json").exists());
            dev
        }

        fn state(&self) -> PathBuf {
            self.directory.path().join("state")
        }
    }

    impl Drop for Dev {
        fn drop(&mut self) {
            self.process.signal(Signal::SIGTERM);
            if self.process.wait(PATIENCE).is_none() {
                eprintln!("the dev does not end: {}", self.process.output());
            }
        }
    }

    #[test]
    fn its_runtime_tests_pass_with_one_execution_per_command() {
        let dev = Dev::start();
        let output = Command::new("/usr/bin/python3")
            .arg(source::root().join("tests/swerex/run.py"))
            .arg(dev.state())
            .arg(project("swe-rex"))
            .env("PYTHONPATH", python_packages("swerex"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (report, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let holds = output.status.success() && report.contains(SUMMARY);
        assert!(holds, "no `{SUMMARY}` in:\n{report}\n{errors}\n{}", dev.process.output());
    }
}
