//! End-to-end tests of networks that change or are proposed, through client, server, runner and a real sandbox. An
//! allowed connection fails with another status than a refused one, because nothing listens there.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    time::{Duration, Instant},
};

use airlock_client::{Client, Events, From, v1};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{Story, run, spec_in},
    site::{Extras, Site},
};

/// The bound of a change is one second; a busy host gets more.
const EFFECTIVE: Duration = Duration::from_secs(5);
/// Asks the proxy for a host again and again, and prints each status.
const ASKS: &str = "touch x; while :; do curl -s --noproxy '' -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:1/; sleep 0.05; done";

struct Fixture {
    client: Client,
    site: Site,
    _server: Process,
    _runner: Process,
}

impl Fixture {
    /// Starts server and runner, with the profile `net` with these rules.
    async fn new(network: &str) -> Self {
        let profile = format!("name = \"net\"\nextends = \"sandboxed\"\nnetwork = {network}\n");
        let site = Site::with(Extras {
            runner_tables:
                "[floor.network]\nany = true\nallow = [\"127.0.0.1:1\"]\ndeny = [\"floor.invalid\"]\n"
                    .to_owned(),
            profiles: vec![("net".to_owned(), profile)],
            ..Extras::default()
        });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, site, _server: server, _runner: runner }
    }

    async fn session(&self) -> String {
        let wanted = v1::SessionServiceCreateRequest { profile: "net".to_owned(), ..Default::default() };
        self.client.create_session(wanted).await.unwrap().session_id
    }
}

/// Reads events until this is the last line of standard output.
async fn until_last(events: &mut Events, story: &mut Story, line: &str) {
    while !story.stdout.ends_with(line.as_bytes()) {
        story.take(events.next().await.unwrap().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_session_reaches_its_running_command() {
    let it = Fixture::new("{ allow = [\"127.0.0.1:1\"] }").await;
    let session = it.session().await;
    let id = it.client.start(spec_in(&session, ASKS)).await.unwrap().execution_id;
    let mut events = it.client.attach(&id, From::Beginning);
    // 502: the rules allow the host, and nothing listens there.
    let mut story = Story::default();
    until_last(&mut events, &mut story, "502\n").await;
    for (arguments, status) in [
        (&["--no-network"][..], "403\n"),
        (&["--reset-network"], "502\n"),
        (&["--network-allow", "b.invalid"], "403\n"),
    ] {
        let begun = Instant::now();
        let _ = Airlock::at(&it.site).text(&[&["session", "update"], arguments, &[&session]].concat());
        until_last(&mut events, &mut story, status).await;
        let took = begun.elapsed();
        println!("{arguments:?} after {} ms", took.as_millis());
        assert!(took < EFFECTIVE, "{took:?}");
    }
    it.client.cancel(&id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_and_a_command_can_warn_within_the_profile() {
    const ASK: &str = "for host in listed other denied; do curl -s -o /dev/null -w '%{http_code} ' http://$host.invalid; done; touch x";
    let it = Fixture::new("{ any = true, deny = [\"denied.invalid\"] }").await;
    let airlock = Airlock::at(&it.site);
    let create = ["session", "create", "--profile", "net", "--network-allow", "listed.invalid"];
    let session = airlock.text(&[&create[..], &["--network-warn"]].concat());
    // The names do not exist, so the proxy cannot connect to those that the rules let through.
    let refused = |options: &[&str]| -> Vec<bool> {
        let run = [&["run", "-s", &session], options, &["--", ASK]].concat();
        airlock.text(&run).split_whitespace().map(|status| status == "403").collect()
    };
    assert_eq!(refused(&[]), [false, false, true], "the session warns, the profile denies");
    let shown: serde_json::Value =
        serde_json::from_str(&airlock.text(&["session", "list", "--json"])).unwrap();
    assert_eq!(shown["network"]["warn"], true, "{shown}");
    assert_eq!(shown["network"]["allow"], serde_json::json!(["listed.invalid"]), "{shown}");

    let enforced = ["session", "update", "--network-allow", "listed.invalid", &session];
    let _ = airlock.text(&enforced);
    assert_eq!(refused(&[]), [false, true, true], "the control");
    assert_eq!(refused(&["--network-warn"]), [false, true, true], "a command cannot loosen its session");
    let _ = airlock.text(&["session", "update", "--reset-network", &session]);
    let warns = ["--network-allow", "listed.invalid", "--network-warn"];
    assert_eq!(refused(&warns), [false, false, true]);
    assert_eq!(refused(&warns[..2]), [false, true, true]);
    let both = airlock.run(&["run", "--no-network", "--network-warn", "--", "true"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proposed_network_allows_what_was_refused_and_names_the_rest() {
    let it = Fixture::new("{ allow = [\"127.0.0.1:1\"] }").await;
    let session = it.session().await;
    let ask = "for url in http://127.0.0.1:1 http://a.invalid https://pypi.org https://files.pythonhosted.org \
               http://10.0.0.5 http://floor.invalid; do curl -s --noproxy '' -o /dev/null $url; done; touch x";
    let id = run(&it.client, spec_in(&session, ask)).await.unwrap().end.unwrap().execution_id;
    let airlock = Airlock::at(&it.site);
    let output = airlock.run(&["policy", "suggest-network", &id]);
    let (proposed, notes) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(3), "{notes}");
    assert_eq!(proposed, "network = { allow = [\"pypi\", \"127.0.0.1:1\", \"a.invalid:80\"] }\n", "{notes}");
    for (target, reason) in [
        ("10.0.0.5:80", "it is an internal address (private)"),
        ("floor.invalid:80", "of the floor denies it"),
    ] {
        assert!(
            notes.lines().any(|line| line.contains(target) && line.contains(reason)),
            "{target}: {notes}"
        );
    }
    assert_eq!(notes.matches("another change").count(), 2, "{notes}");
    let json: serde_json::Value =
        serde_json::from_slice(&airlock.run(&["policy", "suggest-network", "--json", &id]).stdout).unwrap();
    assert_eq!(json["allow"], serde_json::json!(["pypi", "127.0.0.1:1", "a.invalid:80"]));

    // The proposal is a key of a profile.
    let next = it.site.path().join("next.toml");
    fs::write(&next, format!("name = \"next\"\nextends = \"strict\"\n{proposed}")).unwrap();
    let _ = airlock.text(&["policy", "test", next.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_warns_refuses_no_public_host_and_shows_it() {
    let it = Fixture::new("{ deny = [\"denied.invalid\"], warn = true }").await;
    let airlock = Airlock::at(&it.site);
    let shown = airlock.text(&["profile", "show", "net"]);
    assert!(shown.contains("nothing, except denied.invalid; warns about other public hosts"), "{shown}");
    let session = it.session().await;
    let ask = "for host in a denied floor; do curl -s -o /dev/null -w '%{http_code} ' http://$host.invalid; done; touch x";
    let story = run(&it.client, spec_in(&session, ask)).await.unwrap();
    let statuses = String::from_utf8(story.stdout).unwrap();
    // The name does not exist, so the proxy cannot connect.
    assert!(statuses.starts_with("50") && statuses.ends_with(" 403 403 "), "{statuses}");
    let result = story.end.unwrap().result.unwrap();
    let layers: Vec<&str> = result.connections.iter().map(|one| one.layer.as_str()).collect();
    assert_eq!(layers[1..], ["profile", "floor"], "{result:?}");
}
