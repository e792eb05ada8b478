//! The adapters of the Python and the TypeScript client work with the agent frameworks that they are for.
//!
//! Each test checks an adapter's types, its tests with a scripted agent, and its program in `docs/agents.md`, all with the
//! framework's own package. It runs no model and needs no network.

#![expect(clippy::unwrap_used, reason = "a test")]

/// Third-party packages.
pub(crate) mod long {
    use std::{
        fs,
        os::unix::fs::symlink,
        path::{Path, PathBuf},
        process::{Command, Stdio},
    };

    use airlock_mounts::ScratchDir;
    use airlock_tests::{
        process::{Process, until},
        site::PATIENCE,
        source,
        tools::{adapters_npm, client_npm, path, program, project, python_packages},
    };
    use nix::sys::signal::Signal;

    const PYTHON: &str = "/usr/bin/python3";

    /// pytest's summary of SWE-ReX's runtime tests. SWE-ReX marks one of them as an expected failure.
    const SWEREX_SUMMARY: &str = "49 passed, 1 xfailed";

    /// Settings with which the frameworks print no banners, and need no network at their start.
    const QUIET: [(&str, &str); 4] = [
        ("INSPECT_DISPLAY", "none"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("MSWEA_SILENT_STARTUP", "1"),
        ("OPENHANDS_SUPPRESS_BANNER", "1"),
    ];

    /// A dev whose commands find a `python`. It is stopped by a signal, so that it removes its cgroup.
    pub(crate) struct Dev {
        process: Process,
        pub(crate) directory: ScratchDir,
    }

    impl Dev {
        pub(crate) fn start() -> Self {
            let directory = ScratchDir::with_prefix("airlock-test-adapters-");
            let programs = directory.path().join("bin");
            fs::create_dir(&programs).unwrap();
            symlink(PYTHON, programs.join("python")).unwrap();
            let mut command = Command::new(program("airlock"));
            command.arg("dev").arg("--state").arg(directory.path().join("state"));
            command.arg("--bind").arg(format!("{}:/usr/local/bin", programs.display()));
            command.env("HOME", directory.path());
            let process = Process::start(&mut command, &directory.path().join("log"));
            let dev = Self { process, directory };
            until("the dev accepts commands", PATIENCE, || dev.state().join("connection.json").exists());
            dev
        }

        pub(crate) fn state(&self) -> PathBuf {
            self.directory.path().join("state")
        }

        /// Runs a Python with the packages of an adapter. Returns its output. Fails if Python fails.
        fn python(&self, python: &Path, adapter: &str, arguments: &[&str]) -> String {
            let client = source::root().join("clients/python");
            // The packages of the client are for Python 3.11. The list of OpenHands has its own.
            let packages = [python_packages(&format!("adapter-{adapter}")), python_packages("client")];
            let output = Command::new(python)
                .args(arguments)
                .current_dir(client.join("adapters"))
                .env("PYTHONPATH", joined(&[client.join("src")], &packages))
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("AIRLOCK_STATE", self.state())
                .env("AIRLOCK_ADAPTER", adapter)
                .env("HOME", self.directory.path())
                .envs(QUIET)
                .env_remove("XDG_STATE_HOME")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let (report, errors) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let log = self.process.output();
            assert!(output.status.success(), "{adapter} {arguments:?}:\n{report}\n{errors}\n{log}");
            report.into_owned()
        }

        /// Runs everything for an adapter, with the least number of its tests.
        fn check(&self, python: &Path, adapter: &str, least: usize) {
            let module = adapter.replace('-', "_");
            let (source, test) =
                (format!("../src/airlock/adapters/{module}.py"), format!("tests/test_{module}.py"));
            let cache = self.directory.path().join("mypy").display().to_string();
            let mypy = ["-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", &cache, &source, &test];
            self.python(python, adapter, &mypy);
            let report =
                self.python(python, adapter, &["-m", "pytest", "-q", &test, "tests/test_documentation.py"]);
            let passed =
                report.rsplit('\n').find_map(|line| line.split_once(" passed")).map(|(count, _)| count);
            let passed: usize = passed.and_then(|count| count.trim().parse().ok()).unwrap_or_default();
            assert!(passed > least, "{least} tests and the documentation:\n{report}");
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

    fn joined(first: &[PathBuf], then: &[PathBuf]) -> std::ffi::OsString {
        std::env::join_paths(first.iter().chain(then)).unwrap()
    }

    /// The packages are installed as `docs/agents.md` says, from caches, in a copy of the repository.
    #[test]
    fn vercel_ai_sdk() {
        let dev = Dev::start();
        let repository = dev.directory.path().join("airlock");
        source::copy(&["clients", "docs", "proto"], &repository);
        let script = format!(
            "npm ci --cache {} --ignore-scripts --silent
            npm pack --cache {} --silent --pack-destination \"$HOME\"
            cd adapters
            export npm_config_cache={}
            npm ci --ignore-scripts --silent
            npm install --no-save --ignore-scripts --silent ~/airlock-client-*.tgz
            node24 node_modules/typescript/bin/tsc --project tsconfig.json
            node24 --test --test-reporter=spec test/*.test.ts",
            client_npm().display(),
            client_npm().display(),
            adapters_npm().display(),
        );
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(repository.join("clients/typescript"))
            .env("AIRLOCK_STATE", dev.state())
            .env("HOME", dev.directory.path())
            .env("PATH", path())
            .env("npm_config_offline", "true")
            .env("npm_config_update_notifier", "false")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (report, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = dev.process.output();
        assert!(output.status.success(), "{report}\n{errors}\n{log}");
        for line in ["\u{2139} pass 10", "\u{2139} skipped 0"] {
            assert!(report.contains(line), "no `{line}` in:\n{report}");
        }
    }

    #[test]
    fn the_runtime_tests_of_swe_rex_pass() {
        let dev = Dev::start();
        let run = source::root().join("tests/swerex/run.py").display().to_string();
        let (state, sdist) = (dev.state().display().to_string(), project("swe-rex").display().to_string());
        let report = dev.python(Path::new(PYTHON), "swerex", &[&run, &state, &sdist]);
        assert!(report.contains(SWEREX_SUMMARY), "no `{SWEREX_SUMMARY}` in:\n{report}");
    }

    #[test]
    fn swe_rex() {
        Dev::start().check(Path::new(PYTHON), "swerex", 4);
    }

    #[test]
    fn mini_swe_agent() {
        Dev::start().check(Path::new(PYTHON), "minisweagent", 4);
    }

    #[test]
    fn deepagents() {
        Dev::start().check(Path::new(PYTHON), "deepagents", 5);
    }

    #[test]
    fn openai_agents() {
        Dev::start().check(Path::new(PYTHON), "openai-agents", 5);
    }

    #[test]
    fn inspect() {
        Dev::start().check(Path::new(PYTHON), "inspect-ai", 5);
    }

    /// OpenHands needs Python 3.12, which Debian 12 does not have. Without it, `make test-long` lists this test as not run.
    #[test]
    fn open_hands() {
        Dev::start().check(Path::new("python3.12"), "openhands", 4);
    }
}
