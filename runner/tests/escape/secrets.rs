//! Attempts to read the secrets in a runner's environment, with a profile that passes all of them. No attempt must
//! succeed.

use airlock_domain::{Bind, ExecutionId, Grant, OutputStream};

use crate::{
    fixture::grant,
    site::{Needs, Site},
    suite::Attempt,
};

/// The unique prefix of every secret value, in two halves.
const FIRST: &str = "7e02c9a4";
const SECOND: &str = "61d8bf35";
const PROBE: &str = "/opt/probe";
/// A variable that is neither listed nor looks like a secret. A profile may pass it.
const PLAIN: &str = "SOMETHING_PLAIN";
const OTHERS: usize = 50;

/// Names that contain secrets, one per line.
const NAMES: &str = include_str!("../../../sandbox/tests/escape/secrets.txt");

fn value(name: &str) -> String {
    format!("{FIRST}{SECOND}-{name}")
}

/// Returns the names that never pass, with any profile.
fn scrubbed() -> Vec<String> {
    let listed = NAMES.lines().filter(|line| !line.starts_with('#')).map(str::to_owned);
    let twins = listed.clone().map(|name| format!("INPUT_{name}"));
    let mut names: Vec<String> = listed.clone().chain(twins).collect();
    names.sort();
    names
}

/// Returns variables with secret values only. No profile passes them.
fn others() -> impl Iterator<Item = String> {
    (0..OTHERS).map(|index| format!("SOMETHING_ELSE_{index}"))
}

/// A search by all routes, none of which must find a secret: the profile's request, and the method.
struct Search {
    words: &'static str,
    read_only: bool,
    pass: bool,
}

impl Search {
    fn grant(&self, site: &Site, session: airlock_domain::SessionId, words: &str) -> Grant {
        let mut search = grant(session, words);
        search.read_only = self.read_only;
        let source = site.directory().join("probe").to_string_lossy().into_owned();
        search.profile.root_binds = vec![Bind { source, target: PROBE.to_owned() }];
        search
    }

    async fn findings(site: &mut Site, id: ExecutionId) -> Vec<(String, bool, String)> {
        let text = site.it.text(id, OutputStream::Stdout).await;
        let found: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let way = |way: &serde_json::Value| {
            let text = |name: &str| way[name].as_str().unwrap().to_owned();
            (text("way"), way["reached"].as_bool().unwrap(), text("detail"))
        };
        found["ways"].as_array().unwrap().iter().map(way).collect()
    }
}

impl Attempt for Search {
    fn needs(&self) -> Needs {
        let names = scrubbed().into_iter().chain(others()).chain([PLAIN.to_owned()]);
        let env = names.map(|name| (name.clone(), value(&name))).collect();
        Needs { env, config: Some(value("argument")), probe: true, ..Needs::default() }
    }

    async fn make(self, site: &mut Site) {
        let session = site.session().await;
        let held = std::fs::read(format!("/proc/{}/environ", site.pid())).unwrap();
        let held = String::from_utf8_lossy(&held).matches(&value("")).count();
        assert_eq!(held, scrubbed().len() + OTHERS + 1, "the runner has the secrets");

        let words = self.words.replace("{search}", &format!("{PROBE} search {FIRST} {SECOND}"));
        let mut search = self.grant(site, session, &words);
        if self.pass {
            search.profile.pass_env = scrubbed();
        }
        let (id, result) = site.run(search).await;
        let expected = if self.pass { scrubbed() } else { Vec::new() };
        assert_eq!(result.scrubbed_env, expected, "the removed variables are named");
        let findings = Self::findings(site, id).await;
        assert!(findings.len() >= 8, "{findings:?}");
        let found: Vec<_> = findings.iter().filter(|(_, found, _)| *found).collect();
        assert!(found.is_empty(), "{found:?}");
        println!("stopped by the scrub and a root of its own: none of {held} secrets was seen");
        self.given_on_purpose(site).await;
    }
}

impl Search {
    /// The control: the search finds a value that is passed by each route. `exec` sets the name of a process before its
    /// arguments, so the search waits for the arguments.
    async fn given_on_purpose(&self, site: &mut Site) {
        let session = site.session().await;
        let words = format!(
            "v=${PLAIN}; echo $v > file; mkdir $v; exec 8< file 9< $v; \
             bash -c \"exec -a $v sleep 1000\" & \
             until read -rd '' a < /proc/$!/cmdline && [ $a = $v ]; do :; done; \
             {PROBE} search {FIRST} {SECOND}; kill $!"
        );
        let mut search = self.grant(site, session, &words);
        search.read_only = false;
        search.profile.pass_env = vec![PLAIN.to_owned()];
        let target = format!("/opt/{}", value("given"));
        let source = search.profile.root_binds[0].source.clone();
        search.profile.root_binds.push(Bind { source, target });
        let (id, result) = site.run(search).await;
        assert_eq!(result.scrubbed_env, Vec::<String>::new());
        for (route, found, detail) in Self::findings(site, id).await {
            assert!(found, "the control was not found by `{route}`: {detail}");
        }
        site.controlled();
    }
}

const SEARCH: &str = "{search}";
const LATER: &str = "sleep 0.5; (sleep 0.2; exec {search})";
const NEW_SHELL: &str = "bash --login -c '{search}'";

attempts! {
    of_its_environment_and_arguments: Search { words: SEARCH, read_only: false, pass: false };
    of_names_that_a_profile_passes: Search { words: SEARCH, read_only: false, pass: true };
    of_names_that_a_profile_passes_to_a_read_only_command: Search { words: SEARCH, read_only: true, pass: true };
    of_names_that_a_profile_passes_later_on: Search { words: LATER, read_only: false, pass: true };
    of_names_that_a_profile_passes_to_a_login_shell: Search { words: NEW_SHELL, read_only: false, pass: true };
}
