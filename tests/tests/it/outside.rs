//! End-to-end tests of access to the host by permission: a run outside the sandbox, which requires three agreements,
//! and variables of the runner's own environment. Also tests of misleading names.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_client::{Client, v1};
use airlock_tests::{
    process::Process,
    reader::{Story, run},
    site::{Extras, Site},
};

const PROFILE: &str = "name = \"open\"\nextends = \"sandboxed\"\n[policy]\nallow_unsandboxed = true\n\
    unsandboxed_without_asking = true\nexcluded_commands = [\"uname\"]\n\
    [env]\npass = [\"PLAIN_VALUE\", \"NPM_TOKEN\", \"OWN_TOKEN\", \"OTHER_TOKEN\", \"NOT_THERE\"]\n";
/// A command that prints the host's name outside the sandbox, and `airlock` inside it.
const NAME: &str = "uname -n";

struct Fixture {
    client: Client,
    _server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new(unsandboxed: bool) -> Self {
        let site = Site::with(Extras {
            unsandboxed,
            pass_env: ["PLAIN_VALUE", "NPM_TOKEN", "OWN_TOKEN", "OTHER_TOKEN", "NOT_THERE"]
                .map(str::to_owned)
                .to_vec(),
            runner_tables: "[env]\npass_exceptions = [\"OWN_TOKEN\"]\n".to_owned(),
            profiles: vec![("open".to_owned(), PROFILE.to_owned())],
            ..Extras::default()
        });
        let own =
            ["PLAIN_VALUE", "NPM_TOKEN", "OWN_TOKEN", "OTHER_TOKEN", "UNNAMED"].map(|name| (name, "v4lue"));
        let (server, runner) = (site.server(&[]), site.runner(&own));
        let client = site.ready().await;
        Self { client, _server: server, _runner: runner, site }
    }

    async fn session(&self, profile: &str, mode: v1::Mode) -> String {
        let request = v1::SessionServiceCreateRequest {
            profile: profile.to_owned(),
            mode: mode.into(),
            ..Default::default()
        };
        self.client.create_session(request).await.unwrap().session_id
    }

    async fn run(&self, profile: &str, asks: bool, command: &str) -> Result<Story, String> {
        let session_id = self.session(profile, v1::Mode::Unspecified).await;
        let spec = v1::ExecutionSpec {
            command: command.to_owned(),
            session_id,
            dangerously_disable_sandbox: asks,
            ..Default::default()
        };
        run(&self.client, spec).await.map_err(|error| format!("{error:?}"))
    }
}

fn result(story: &Story) -> v1::Result {
    story.end.as_ref().unwrap().result.clone().unwrap()
}

fn own_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_all_three_keys_a_command_runs_outside_and_the_result_says_so() {
    let fixture = Fixture::new(true).await;
    let asked = fixture.run("open", true, NAME).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&asked.stdout), own_name());
    assert!(result(&asked).unsandboxed);
    assert_eq!(result(&asked).landlock_abi, 0, "no layer is around it");
    let excluded = fixture.run("open", false, NAME).await.unwrap();
    assert!(result(&excluded).unsandboxed, "the profile's list replaces the request's key");
    let inside = fixture.run("open", false, &format!("{NAME}; true")).await.unwrap();
    assert_ne!(String::from_utf8_lossy(&inside.stdout), own_name(), "not every subcommand is on the list");
    assert!(!result(&inside).unsandboxed);
    assert!(result(&inside).landlock_abi >= 2, "this kernel has Landlock");

    let place =
        fixture.run("open", true, "pwd; touch here; id -u; (setsid sleep 600 &); exit 3").await.unwrap();
    let said = String::from_utf8_lossy(&place.stdout).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.first().unwrap().starts_with(&fixture.site.path().display().to_string()), "{said}");
    assert!(lines.get(1).is_some_and(|uid| *uid != "0"), "{said}");
    assert!(result(&place).leftovers_killed);

    let id = asked.end.as_ref().unwrap().execution_id.clone();
    let decision = fixture.client.execution(&id).await.unwrap().decision.unwrap();
    assert_eq!(decision.reasons.first().unwrap().code, "unsandboxed_allowed");
    let refused = fixture.run("open", true, "git status").await.unwrap_err();
    assert!(refused.contains("APPROVAL_REQUIRED"), "git is always asked about: {refused}");
    let refused = fixture.run("sandboxed", true, NAME).await.unwrap_err();
    assert!(refused.contains("DENIED"), "without the profile's key: {refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_runners_key_nothing_runs_outside() {
    let fixture = Fixture::new(false).await;
    let refused = fixture.run("open", true, NAME).await.unwrap_err();
    assert!(refused.contains("DENIED"), "{refused}");
    let excluded = fixture.run("open", false, NAME).await.unwrap();
    assert_ne!(String::from_utf8_lossy(&excluded.stdout), own_name());
    assert!(!result(&excluded).unsandboxed, "it runs sandboxed");
}

#[tokio::test(flavor = "multi_thread")]
async fn passed_variables_contain_no_secret_and_the_result_names_the_removed_ones() {
    let fixture = Fixture::new(false).await;
    let story = fixture.run("open", false, "env | grep v4lue | sort").await.unwrap();
    assert_eq!(String::from_utf8_lossy(&story.stdout), "OWN_TOKEN=v4lue\nPLAIN_VALUE=v4lue\n");
    assert_eq!(result(&story).scrubbed_env, ["NPM_TOKEN", "OTHER_TOKEN"]);
    let other = fixture.run("sandboxed", false, "env | grep v4lue; true").await.unwrap();
    assert_eq!(
        (other.stdout.len(), result(&other).scrubbed_env.len()),
        (0, 0),
        "without the profile, no variable"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_leads_elsewhere_than_it_says_is_refused_before_anything_runs() {
    let fixture = Fixture::new(false).await;
    let session_id = fixture.session("sandboxed", v1::Mode::AcceptEdits).await;
    let start = async |command: &str| {
        let spec = v1::ExecutionSpec {
            command: command.to_owned(),
            session_id: session_id.clone(),
            ..Default::default()
        };
        run(&fixture.client, spec).await.unwrap()
    };
    start("mkdir -p real").await;
    start("sh -c 'ln -s real link'").await;
    let direct = result(&start("touch real/x").await);
    assert_eq!(direct.cause.unwrap().code(), v1::CauseCode::Exited);
    let cause = result(&start("touch link/y").await).cause.unwrap();
    assert_eq!(cause.code(), v1::CauseCode::Refused);
    assert!(cause.message.contains("/workspace/link/y"), "{}", cause.message);
    let listed = start("ls real").await;
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "x\n");
}
