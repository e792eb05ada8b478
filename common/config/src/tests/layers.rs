//! Tests of the environment and of flags: precedence, origins, guarded keys and secrets.

use super::*;

const PREFIX: &str = "AIRLOCK_TEST";

fn environment(variables: &[(&str, &str)]) -> Overrides {
    let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Overrides::new(PREFIX, variables, Vec::new())
}

fn flags(flags: &[&str]) -> Overrides {
    Overrides::new(PREFIX, [], flags.iter().map(|flag| (*flag).to_owned()).collect())
}

#[test]
fn each_layer_overrides_the_one_below() {
    let mut overrides = environment(&[
        ("AIRLOCK_TEST__LIMITS__QUEUE", "5"),
        ("AIRLOCK_TEST__LIMITS__LEVEL", "high"),
        ("AIRLOCK_TEST__IDENTITY__1__NAME", "17"),
        ("AIRLOCK_TEST__BASES__Other", "/b"),
        ("AIRLOCK_TEST__LISTEN", "{ address = \"c:d\" }"),
    ]);
    overrides.flags = ["limits.queue=6", "identity[0].roles=[\"approver\"]", "bases.example.org/x=/c"]
        .map(str::to_owned)
        .to_vec();
    let loaded = load(FULL, &overrides).unwrap();
    let config = &loaded.config;
    assert_eq!((config.limits.queue, config.limits.share, config.listen.address.as_str()), (6, 0.5, "c:d"));
    assert_eq!((config.identity[0].name.as_str(), config.identity[1].name.as_str()), ("x", "17"));
    let report = loaded.effective().unwrap();
    for line in [
        "bases.Other = \"/b\"  # AIRLOCK_TEST__BASES__Other",
        "bases.a = \"/a\"  # f.toml:2:15",
        "bases.example.org/x = \"/c\"  # --set bases.example.org/x",
        "identity[0].name = \"x\"  # f.toml:10:8",
        "identity[0].roles = [\"approver\"]  # --set identity[0].roles",
        "identity[1].name = \"17\"  # AIRLOCK_TEST__IDENTITY__1__NAME",
        "limits.queue = 6  # --set limits.queue",
        "limits.level = \"high\"  # AIRLOCK_TEST__LIMITS__LEVEL",
        "listen.address = \"c:d\"  # AIRLOCK_TEST__LISTEN",
        "listen.plain = true  # f.toml:7:9",
        "identity[1].match = (secret)  # f.toml:17:19",
        "password = (secret)  # f.toml:3:12",
    ] {
        assert!(report.lines().any(|one| one == line), "{line} is not in\n{report}");
    }
    let little =
        load("id = \"a\"\nlisten.address = \"a:b\"\nlimits.wait = \"1s\"\n", &Overrides::default()).unwrap();
    let report = little.effective().unwrap();
    for line in
        ["limits.level = (not set)  # default", "floor.names = []  # default", "limits.queue = 0  # default"]
    {
        assert!(report.lines().any(|one| one == line), "{line} is not in\n{report}");
    }
}

#[test]
fn a_value_of_each_layer_is_told_with_its_origin() {
    for (overrides, expected) in [
        (
            environment(&[("AIRLOCK_TEST__LIMITS__QUEUE", "many")]),
            "AIRLOCK_TEST__LIMITS__QUEUE: `limits.queue`: it is the text `many`; write a whole number from 1 to 4294967295",
        ),
        (
            environment(&[("AIRLOCK_TEST__LIMITS__QUEU", "3")]),
            "AIRLOCK_TEST__LIMITS__QUEU: `limits.queu`: there is no such key; did you mean `AIRLOCK_TEST__LIMITS__QUEUE`?",
        ),
        (
            flags(&["limits.wait=9"]),
            "--set limits.wait: `limits.wait`: it is the text `9`; write a time with its unit, such as",
        ),
        (
            flags(&["limits.queu=9"]),
            "--set limits.queu: `limits.queu`: there is no such key; did you mean `limits.queue`?",
        ),
        (flags(&["limits.queue"]), "--set limits.queue: it has no value; write --set KEY=VALUE"),
        (flags(&["=3"]), "--set : it does not name a key; write it as"),
        (flags(&["identity[x].name=3"]), "--set identity[x].name: an index is not a number; "),
        (
            flags(&["identity[1000000000].name=3"]),
            "--set identity[1000000000].name: an index is larger than 999; ",
        ),
        (environment(&[("AIRLOCK_TEST__", "3")]), "AIRLOCK_TEST__: it does not name a key; write it as"),
        (environment(&[("AIRLOCK_TEST__LISTEN__", "3")]), "AIRLOCK_TEST__LISTEN__: it does not name a key; "),
    ] {
        let said = said_with(FULL, &overrides);
        assert!(said.lines().any(|line| line.starts_with(expected)), "{expected}: {said}");
    }
    let latin1 = std::os::unix::ffi::OsStringExt::from_vec(vec![0xe9]);
    let overrides = Overrides::new(PREFIX, [("AIRLOCK_TEST__ID".into(), latin1)], Vec::new());
    assert!(said_with(FULL, &overrides).starts_with("AIRLOCK_TEST__ID: its value is not UTF-8; "));
}

#[test]
fn everything_of_all_layers_is_told_at_once() {
    let mut overrides = environment(&[("AIRLOCK_TEST__LIMITS__SHARE", "2")]);
    overrides.flags = vec!["limits.level=middle".to_owned()];
    let said = said_with(&FULL.replace("queue = 3", "queue = 0"), &overrides);
    let starts: Vec<&str> = said.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(starts, ["f.toml:25:9", "AIRLOCK_TEST__LIMITS__SHARE", "--set limits.level"], "{said}");
}

#[test]
fn the_services_of_kubernetes_do_no_harm() {
    let overrides = environment(&[
        ("AIRLOCK_TEST_PORT", "tcp://10.0.0.1:7400"),
        ("AIRLOCK_TEST_SERVICE_HOST", "10.0.0.1"),
        ("AIRLOCK_TEST_PORT_7400_TCP_ADDR", "10.0.0.1"),
        ("AIRLOCK_TEST", "x"),
        ("AIRLOCK_TESTS__ID", "x"),
        ("XAIRLOCK_TEST__ID", "x"),
    ]);
    assert!(overrides.variables.is_empty());
    assert_eq!(load(FULL, &overrides).unwrap().config.id, "one");
}

#[test]
fn the_environment_sets_a_guarded_key_only_if_a_flag_names_it() {
    let one = [("AIRLOCK_TEST__FLOOR__MAX_WAIT", "9")];
    let whole = [("AIRLOCK_TEST__FLOOR", "{ max_wait = 9, names = [] }")];
    let nested = [("AIRLOCK_TEST__FLOOR__NAMES__0", "b")];
    for (variables, keys) in [
        (&one, &["floor.max_wait"][..]),
        (&whole, &["floor.max_wait", "floor.names"]),
        (&nested, &["floor.names"]),
    ] {
        let mut overrides = environment(variables);
        let said = said_with(FULL, &overrides);
        assert_eq!(said.lines().count(), keys.len(), "{said}");
        for (line, key) in said.lines().zip(keys) {
            let expected = format!("{}: `{key}`: the environment must not change it", variables[0].0);
            assert!(
                line.starts_with(&expected) && line.ends_with(&format!("`--env-may-widen {key}`")),
                "{line}"
            );
        }
        overrides.may_widen = keys.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(said_with(FULL, &overrides), "");
    }
    // A flag is already explicit.
    assert_eq!(load(FULL, &flags(&["floor.max_wait=9"])).unwrap().config.floor.max_wait, 9);
    let may_widen = vec!["floor.max_wiat".to_owned(), "limits.queue".to_owned()];
    let overrides = Overrides { may_widen, ..Overrides::default() };
    let said = said_with(FULL, &overrides);
    assert!(
        said.contains("--env-may-widen floor.max_wiat: there is no such key; did you mean `floor.max_wait`?")
    );
    assert!(said.contains("--env-may-widen limits.queue: there is no such key; "), "{said}");
}

#[test]
fn no_layer_shows_a_secret() {
    for overrides in [
        environment(&[("AIRLOCK_TEST__PASSWORD", "h1dden"), ("AIRLOCK_TEST__IDENTITY__0__MATCH", "h1dden")]),
        flags(&["password.x=h1dden", "identity[0].match={ tokn = \"h1dden\" }"]),
    ] {
        let said = said_with(FULL, &overrides);
        assert!(!said.is_empty() && !said.contains("h1dden") && !said.contains("s3cret"), "{said}");
    }
    let overrides =
        environment(&[("AIRLOCK_TEST__PASSWORD", "h1dden"), ("AIRLOCK_TEST__ID", "postgres://u:h1dden@h/d")]);
    let report = load(FULL, &overrides).unwrap().effective().unwrap();
    assert!(report.contains("password = (secret)  # AIRLOCK_TEST__PASSWORD"), "{report}");
    assert!(report.contains("id = \"postgres://u:***@h/d\""), "{report}");
    assert!(!report.contains("h1dden") && !report.contains("s3cret"), "{report}");
}

#[test]
fn a_key_with_a_dot_is_not_a_path() {
    let said = said(&format!("\"limits.queue\" = 5\n{}", FULL.replace("queue = 3\n", "")));
    assert!(said.starts_with("f.toml:1:1: `limits.queue`: there is no such key"), "{said}");
}
