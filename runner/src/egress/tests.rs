//! Tests of the variables that announce the proxy, and of those that they replace.

use std::collections::BTreeMap;

use super::*;

fn variables() -> BTreeMap<String, String> {
    proxy_variables(8080, "secret").into_iter().collect()
}

fn environment(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Returns an environment with the proxy's variables, for a request that sets these names.
fn with_proxy(list: &[(&str, &str)], requested: &[&str]) -> BTreeMap<String, String> {
    let requested = |name: &str| requested.iter().any(|set| set.eq_ignore_ascii_case(name));
    let env = announced(environment(list), proxy_variables(8080, "secret"), requested);
    let text = |text: OsString| text.into_string().unwrap();
    env.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn programs_find_the_proxy_in_both_spellings() {
    let found = variables();
    assert_eq!(found.len(), proxy_variables(8080, "secret").len(), "each name occurs once");
    let http = "http://airlock:secret@127.0.0.1:8080";
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "GRPC_PROXY"] {
        for name in [name.to_owned(), name.to_lowercase()] {
            assert_eq!(found[&name], http, "{name}");
        }
    }
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(found[name], "localhost,127.0.0.1,::1", "{name}");
    }
    assert_eq!(found["ALL_PROXY"], "socks5h://airlock:secret@127.0.0.1:8080");
    assert_eq!(found["all_proxy"], http, "httpx fails on a SOCKS scheme");
    assert_eq!(found["AIRLOCK_PROXY"], http);
    assert_eq!(found["NODE_USE_ENV_PROXY"], "1");
    let java =
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=8080 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=8080";
    assert_eq!(found["JAVA_TOOL_OPTIONS"], java);
}

#[test]
fn the_proxy_replaces_the_variables_of_the_profile_but_not_those_of_the_request() {
    let list = [("HTTPS_PROXY", "http://of.profile"), ("no_proxy", "*"), ("OTHER", "stays")];
    let env = with_proxy(&list, &[]);
    assert_eq!(env["HTTPS_PROXY"], "http://airlock:secret@127.0.0.1:8080");
    assert_eq!(env["no_proxy"], "localhost,127.0.0.1,::1");
    assert_eq!(env["OTHER"], "stays");

    let java = with_proxy(&[("JAVA_TOOL_OPTIONS", "-Xmx1g")], &[])["JAVA_TOOL_OPTIONS"].clone();
    assert!(java.starts_with("-Xmx1g -Dhttp.proxyHost="), "the options of the profile stay: {java}");
    let java = with_proxy(&[("JAVA_TOOL_OPTIONS", "-Xmx1g")], &["JAVA_TOOL_OPTIONS"]);
    assert_eq!(java["JAVA_TOOL_OPTIONS"], "-Xmx1g");

    let env = with_proxy(&[("https_proxy", "http://of.request"), ("no_proxy", "*")], &["https_proxy"]);
    assert_eq!(env["https_proxy"], "http://of.request");
    assert_eq!(env.get("HTTPS_PROXY"), None, "the other spelling would take effect in some programs");
    assert_eq!(env["no_proxy"], "localhost,127.0.0.1,::1");
}
