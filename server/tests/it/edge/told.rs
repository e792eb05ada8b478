//! Tests of the visibility of profiles, limits and runners.

use airlock_domain::FromRunner;
use airlock_proto::v1::{
    self, admin_service_client::AdminServiceClient, policy_service_client::PolicyServiceClient,
};
use tonic::{Code, Request, Status};

use crate::edge::{
    runner::{Link, hello, link_up},
    until,
    world::World,
};

fn request<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

async fn profile(world: &World, token: &str, name: &str, view: i32) -> Result<v1::Profile, Status> {
    let get = v1::PolicyServiceGetProfileRequest { name: name.to_owned(), view };
    let answer = PolicyServiceClient::new(world.plain()).get_profile(request(token, get)).await?;
    Ok(answer.into_inner().profile.unwrap())
}

async fn names(world: &World, token: &str, page_size: i32) -> Vec<String> {
    let mut client = PolicyServiceClient::new(world.plain());
    let (mut names, mut page_token) = (Vec::new(), String::new());
    loop {
        let page = Some(v1::PageRequest { page_size, page_token });
        let list = v1::PolicyServiceListProfilesRequest { page, filter: None, view: 0 };
        let answer = client.list_profiles(request(token, list)).await.unwrap().into_inner();
        names.extend(answer.profiles.into_iter().map(|profile| profile.name));
        page_token = answer.next_page_token;
        if page_token.is_empty() {
            return names;
        }
    }
}

const TEAM: &str = r#"
name = "team"
extends = "strict"
[policy]
allow = ["Bash(npm run test:*)"]
ask = ["Bash(git commit:*)"]
deny = ["Bash(git push:*)", "Read(.env)"]
[sandbox]
root_binds = [{ source = "/opt/tools-1.2", target = "/opt/tools" }]
path = "/opt/tools:/usr/bin"
[env]
set = { TOKEN = "secret", CI = "1" }
[limits]
timeout_max = "90s"
timeout_default = "60s"
[commands]
background = false
[[hooks]]
name = "tickets"
required = true
[[hooks]]
name = "classifier"
"#;
const HOOKS: &str = r#"
[hooks.classifier]
address = "http://127.0.0.1:1"
insecure_loopback = true
[hooks.tickets]
address = "http://127.0.0.1:1"
insecure_loopback = true
"#;

#[tokio::test(flavor = "multi_thread")]
async fn profiles_are_shown_in_the_order_in_which_they_decide_and_without_values() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("team.toml"), TEAM).unwrap();
    let world = World::with(&format!(
        "[profiles]\ndirectory = \"{}\"\ndefault = \"team\"\n{HOOKS}",
        folder.path().display()
    ))
    .await;
    let full = profile(&world, "executor", "", 2).await.unwrap();
    assert!(full.name == "team" && full.is_default && full.policy_version.len() == 32);
    assert!(full.no_background, "a client sees beforehand that nothing runs in the background");
    let strict = profile(&world, "admin", "strict", 1).await.unwrap();
    assert!(!strict.no_background && strict.hooks.is_empty());
    let rules: Vec<(v1::Verdict, &str)> =
        full.rules.iter().map(|rule| (rule.verdict(), rule.rule.as_str())).collect();
    let expected = [
        (v1::Verdict::Deny, "Bash(git push:*)"),
        (v1::Verdict::Deny, "Read(.env)"),
        (v1::Verdict::Ask, "Bash(git commit:*)"),
        (v1::Verdict::Allow, "Bash(npm run test:*)"),
    ];
    assert_eq!(rules, expected);
    assert_eq!(
        (full.path.as_str(), &full.env_names[..]),
        ("/opt/tools:/usr/bin", &["CI".into(), "TOKEN".into()][..])
    );
    assert_eq!(full.root_binds, ["/opt/tools"]);
    assert_eq!(full.timeout_max.unwrap().seconds, 90);
    assert_eq!(full.limits.unwrap().grace.unwrap().seconds, 5);
    assert!(full.modes.contains(&full.default_mode));

    let basic = profile(&world, "executor", "team", 0).await.unwrap();
    assert!(basic.rules.is_empty() && basic.path.is_empty() && basic.env_names.is_empty());
    assert_eq!((basic.limits, basic.timeout_default), (full.limits, full.timeout_default));
    let hooks: Vec<_> = basic.hooks.iter().map(|hook| (hook.name.as_str(), hook.required)).collect();
    assert_eq!(hooks, [("tickets", true), ("classifier", false)]);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_and_approvers_see_their_profiles_and_admins_and_auditors_all() {
    let world = World::new().await;
    let all = ["agent", "demo", "read_only", "sandboxed", "strict"];
    for (token, visible) in
        [("executor", &["strict"][..]), ("approver", &["strict"]), ("auditor", &all), ("admin", &all)]
    {
        assert_eq!(names(&world, token, 0).await, visible, "{token}");
        assert_eq!(names(&world, token, 1).await, visible, "{token}, page by page");
        let demo = profile(&world, token, "demo", 2).await.map_err(|status| status.code());
        match visible.len() {
            1 => assert_eq!(demo, Err(Code::NotFound), "{token}"),
            _ => assert!(!demo.unwrap().is_default, "{token}"),
        }
    }
    assert_eq!(profile(&world, "admin", "nothing", 0).await.unwrap_err().code(), Code::NotFound);
    world.server.shut_down().await;
}

async fn capabilities(
    world: &World,
    token: &str,
    runner: &str,
) -> Result<v1::AdminServiceGetCapabilitiesResponse, Status> {
    let ask = v1::AdminServiceGetCapabilitiesRequest { runner_id: runner.to_owned() };
    let answer = AdminServiceClient::new(world.plain()).get_capabilities(request(token, ask)).await?;
    Ok(answer.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_are_told_version_limits_and_what_runners_can_enforce() {
    let world = World::with("[limits]\nreaders_per_execution = 77\nqueue_wait = \"9s\"\n").await;
    let first = link_up(&world).await;
    let second = Link::open(world.certified("runners"), vec![hello("b")]).await.unwrap();
    second.say.send(FromRunner::Reconciled.into()).await.unwrap();
    until("both runners are listed", async || {
        capabilities(&world, "admin", "").await.unwrap().runners.len() == 2
    })
    .await;
    let answer = capabilities(&world, "admin", "").await.unwrap();
    assert_eq!(answer.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(answer.link_protocol_version, airlock_proto::LINK_PROTOCOL_VERSION);
    assert_eq!((answer.limits["readers_per_execution"], answer.limits["queue_wait"]), (77, 9000));
    assert_eq!(answer.limits, world.config.named_limits());
    let runners: Vec<&str> = answer.runners.iter().map(|runner| runner.runner_id.as_str()).collect();
    assert_eq!(runners, ["b", "runner-1"]);

    let one = capabilities(&world, "admin", "runner-1").await.unwrap().runners;
    let [runner] = &one[..] else { panic!("{one:?}") };
    assert_eq!((runner.state(), runner.version.as_str()), (v1::RunnerState::Connected, "0.0.0"));
    let [capability] = &runner.capabilities[..] else { panic!("{runner:?}") };
    assert!(capability.name == "user_namespaces" && capability.enforced && capability.detail == "played");
    assert_eq!(runner.shells.iter().collect::<Vec<_>>(), [(&"bash".to_owned(), &"5.2".to_owned())]);
    for (token, runner, code) in [
        ("admin", "nobody", Code::NotFound),
        ("admin", "a b", Code::InvalidArgument),
        ("executor", "", Code::PermissionDenied),
        ("auditor", "", Code::PermissionDenied),
    ] {
        assert_eq!(capabilities(&world, token, runner).await.unwrap_err().code(), code, "{token} {runner}");
    }
    drop((first, second));
    world.server.shut_down().await;
}
