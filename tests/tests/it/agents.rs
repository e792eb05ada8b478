//! Claude Code and Codex do a task in a session of Airlock, configured as `docs/mcp.md` says.
//!
//! The model is a program of the tests, `tests/agents/model.py`, with answers from a file. The agents use no network.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

/// Third-party packages.
mod long {
    use std::{
        fs,
        path::{Path, PathBuf},
        process::{Command, Stdio},
    };

    use airlock_tests::{
        pages,
        process::{Process, until},
        site::PATIENCE,
        source,
        tools::{coding_agent, path, program},
    };
    use serde_json::Value;

    use crate::adapters::long::Dev;

    const CLAUDE: &str = "@anthropic-ai/claude-code-linux-x64/claude";
    const CODEX: &str = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    /// The steps of the task, which the scripted agents of the frameworks have, too.
    const STEPS: &str = "clients/python/adapters/tests/agent.json";
    /// The step that needs an approval.
    const ASKED: usize = 5;
    const PREPARE: &str = r#"mkdir project && cd project && git init -q && echo __pycache__/ > .gitignore
        git config user.name agent && git config user.email agent@example.com
        printf 'def mean(numbers):\n    return sum(numbers) / (len(numbers) - 1)\n' > sums.py
        printf 'import unittest\n\nfrom sums import mean\n\n\nclass Mean(unittest.TestCase):\n    def test_mean(self):\n        self.assertEqual(mean([2, 4, 6]), 4)\n' > test_sums.py
        git add . && git commit -qm 'Add the mean'; cd /workspace"#;

    /// A dev with a session that has the repository, a model, and an agent's home.
    struct Task {
        dev: Dev,
        model: Process,
        session: String,
    }

    impl Task {
        fn new() -> Self {
            let dev = Dev::start();
            fs::create_dir(dev.directory.path().join("project")).unwrap();
            let mut python = Command::new("/usr/bin/python3");
            python.arg(source::root().join("tests/agents/model.py")).arg(source::root().join(STEPS));
            let model = Process::start(
                python.arg(dev.directory.path().join("report")),
                &dev.directory.path().join("model"),
            );
            until("the model listens", PATIENCE, || model.output().contains("http://"));
            let mut task = Self { dev, model, session: String::new() };
            task.session =
                task.run(&program("airlock"), &["session", "create", "--quiet"], &[]).trim().to_owned();
            task.run(&program("airlock"), &["run", "-s", &task.session, "--", PREPARE], &[]);
            task
        }

        fn home(&self) -> PathBuf {
            self.dev.directory.path().to_owned()
        }

        fn url(&self) -> String {
            self.model.output().split_whitespace().next().unwrap().to_owned()
        }

        /// Returns the text of the page for the session of the task.
        fn here(&self, text: &str, separator: &str) -> String {
            let state = self.dev.state().display().to_string();
            let options = ["--session", &self.session, "--wait", "3s", "--state", &state].join(separator);
            assert!(text.contains(&["--base", "my-repo"].join(separator)), "{text}");
            text.replace(&["--base", "my-repo"].join(separator), &options)
        }

        /// Runs a program in an empty project. Returns what it printed. Fails if the program fails.
        fn run(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
            let output = Command::new("timeout")
                .arg("300")
                .arg(program)
                .args(arguments)
                .current_dir(self.home().join("project"))
                .env("AIRLOCK_STATE", self.dev.state())
                .env("HOME", self.home())
                .env("PATH", path())
                .env_remove("CODEX_HOME")
                .envs(variables.iter().copied())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let (report, errors) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{arguments:?}:\n{report}\n{errors}");
            report.into_owned()
        }

        /// Checks the result of each step, the tools that the model was offered, and the repository.
        fn check(&self, asked: &str, off: &[&str]) {
            let report = fs::read_to_string(self.home().join("report")).unwrap();
            let report: Value = serde_json::from_str(&report).unwrap();
            let steps = fs::read_to_string(source::root().join(STEPS)).unwrap();
            let steps: Vec<Value> = serde_json::from_str(&steps).unwrap();
            let told: Vec<_> =
                report["told"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
            assert_eq!(told.len(), steps.len(), "{told:?}");
            for (at, (step, told)) in steps.iter().zip(&told).enumerate() {
                let shows: Vec<_> =
                    step["shows"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                for text in if at == ASKED { vec![asked] } else { shows } {
                    assert!(told.contains(text), "no `{text}` for {step} in:\n{told}");
                }
            }
            let tools: Vec<_> =
                report["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(
                tools.iter().filter(|name| name.starts_with("mcp__airlock__")).count(),
                9,
                "{tools:?}"
            );
            assert!(!tools.iter().any(|name| off.contains(name)), "{tools:?}");
            let log = "cd /workspace/project && git status --short && git log --format=%s";
            let log = self.run(&program("airlock"), &["run", "-s", &self.session, "--", log], &[]);
            assert_eq!(log, "Divide by the number of values\nAdd the mean\n");
        }
    }

    /// Returns the only block of a language in the page's section.
    fn block(language: &str) -> String {
        let page = fs::read_to_string(source::root().join("docs/mcp.md")).unwrap();
        let found = pages::blocks(&page, "Add it to an agent", language);
        assert_eq!(found.len(), 1, "one block in {language}");
        found[0].to_owned()
    }

    #[test]
    fn claude_code() {
        let task = Task::new();
        let claude = coding_agent(CLAUDE);
        fs::create_dir(task.home().join(".claude")).unwrap();
        fs::write(task.home().join(".claude/settings.json"), block("json")).unwrap();
        let url = task.url();
        let variables = [
            ("ANTHROPIC_API_KEY", "none"),
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ];
        let add = task.here(block("text").trim(), " ");
        let add: Vec<_> = add.split(' ').skip(1).collect();
        task.run(&claude, &add, &variables);
        let listed = task.run(&claude, &["mcp", "list"], &variables);
        assert!(listed.contains("airlock: ") && listed.contains("Connected"), "{listed}");
        let answer = task.run(&claude, &["-p", "Fix the mean."], &variables);
        assert!(answer.contains("The mean is right now."), "{answer}");
        let off = ["Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"];
        task.check("the command has not run yet: it waits for an approval", &off);
    }

    #[test]
    fn codex() {
        let task = Task::new();
        let codex = coding_agent(CODEX);
        let provider = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}/v1\"\nwire_api = \"responses\"\n",
            task.url()
        );
        let own = block("toml");
        fs::create_dir(task.home().join(".codex")).unwrap();
        let file = task.home().join(".codex/config.toml");
        fs::write(&file, "").unwrap();
        let command = "mcp add airlock -- airlock mcp --base my-repo";
        task.run(&codex, &command.split(' ').collect::<Vec<_>>(), &[]);
        let added = fs::read_to_string(&file).unwrap();
        assert!(own.starts_with(added.trim()), "`codex mcp add` writes another beginning:\n{added}");
        fs::write(&file, provider + &task.here(&own, "\", \"")).unwrap();
        let listed = task.run(&codex, &["mcp", "list"], &[]);
        assert!(listed.contains("airlock") && listed.contains("enabled"), "{listed}");
        let answer = task.run(&codex, &["exec", "--skip-git-repo-check", "Fix the mean."], &[]);
        assert!(answer.contains("The mean is right now."), "{answer}");
        let off = ["exec_command", "write_stdin", "shell", "view_image"];
        task.check("airlock: denied by a person: the user of the MCP client denied it; it did not run", &off);
    }
}
