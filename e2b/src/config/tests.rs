//! Tests of the configuration.

use std::time::Duration;

use super::*;

const KEY: &str = "\n[[key]]\nname = \"a\"\nsha256 = \"HASH\"\ntoken_file = \"/t/a\"\n";
const SERVER: &str = "[server]\naddress = \"https://airlock:7443\"\nca = \"/t/ca\"\n";

fn key(text: &str) -> String {
    text.replace("HASH", &"0".repeat(64))
}

fn parse(text: &str) -> Result<E2bConfig, String> {
    E2bConfig::parse(&key(text), Path::new("e2b.toml")).map_err(|error| error.to_string())
}

#[test]
fn the_smallest_configuration_has_every_default() {
    let config = parse(&format!("{SERVER}{KEY}")).unwrap();
    assert_eq!(config.listen, "127.0.0.1:3000");
    assert_eq!(config.limits.timeout_default, Duration::from_secs(300));
    assert_eq!(config.templates.keys().map(String::as_str).collect::<Vec<_>>(), ["base"]);
    let first = config.keys.first().unwrap();
    assert_eq!((first.on_ask, first.sandboxes), (OnAsk::Fail, 20));
    let files: Vec<_> = config.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(files, ["server.ca", "key[0].token_file"]);
}

#[test]
fn an_identity_belongs_to_one_key() {
    let other = KEY.replace("\"a\"", "\"b\"").replace("HASH", &"1".repeat(64));
    let says = parse(&format!("{SERVER}{KEY}{other}")).unwrap_err();
    assert!(says.contains("has the identity of the key `a`"), "{says}");
    let says = parse(&format!("{SERVER}{KEY}{KEY}")).unwrap_err();
    assert!(
        says.contains("is the name of another key") && says.contains("is the hash of another key"),
        "{says}"
    );
}

#[test]
fn unsafe_and_incomplete_settings_are_refused() {
    for (text, says) in [
        (format!("listen = \"0.0.0.0:3000\"\n{SERVER}{KEY}"), "plain text"),
        (SERVER.to_owned(), "name at least one [[key]]"),
        (format!("{SERVER}{}", KEY.replace("token_file", "cert")), "exactly one identity"),
        (format!("{SERVER}{}", KEY.replace("HASH", "secret")), "64 hexadecimal digits"),
        (format!("{SERVER}{KEY}mode = \"bypass\"\n"), "mode"),
        (format!("{SERVER}{KEY}[limits]\ntimeout_default = \"2h\"\ntimeout_max = \"1h\"\n"), "timeout_max"),
        (format!("{SERVER}{KEY}[templates]\n"), "templates"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
    }
    let behind = format!("listen = \"0.0.0.0:3000\"\nallow_remote_plain_text = true\n{SERVER}{KEY}");
    assert!(parse(&behind).is_ok());
}
