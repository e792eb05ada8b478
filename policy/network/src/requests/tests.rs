//! Tests of rules about requests, with attempts to leave the path of a rule.

use super::*;

fn rule(text: &str) -> RequestRule {
    RequestRule::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn permits(rule_text: &str, target: &str, method: &str, path: &str) -> bool {
    let rule = rule(rule_text);
    rule.concerns(&Target::parse(target).unwrap()) && rule.permits(method, path)
}

#[test]
fn a_rule_permits_its_host_its_methods_and_the_paths_below_its_path() {
    let read = "GET,HEAD api.example.com/repos";
    for (holds, target, method, path) in [
        (true, "api.example.com:443", "GET", "/repos"),
        (true, "api.example.com:443", "HEAD", "/repos/"),
        (true, "API.example.com.:443", "GET", "/repos/a%20b/c"),
        (false, "api.example.com:443", "POST", "/repos"),
        (false, "api.example.com:443", "get", "/repos"),
        (false, "api.example.com:443", "GET", "/reposx"),
        (false, "api.example.com:443", "GET", "/Repos"),
        (false, "api.example.com:443", "GET", "/"),
        (false, "api.example.com:8443", "GET", "/repos"),
        (false, "a.api.example.com:443", "GET", "/repos"),
        (false, "example.com:443", "GET", "/repos"),
    ] {
        assert_eq!(permits(read, target, method, path), holds, "{method} {target}{path}");
    }
    assert!(permits("api.example.com", "api.example.com:443", "DELETE", "/any//../path"), "no path is named");
    assert!(permits("*.example.com:8443/a/", "b.example.com:8443", "PUT", "/a/b"));
    assert!(!permits("*.example.com:8443/a/", "b.example.com:8443", "PUT", "/a"));
}

#[test]
fn a_path_with_several_readings_is_below_no_path() {
    for path in [
        "/allowed/../other",
        "/allowed/..",
        "/allowed/.",
        "/allowed/./x",
        "/allowed/%2e%2e/other",
        "/allowed/%2E./other",
        "/allowed/.%2e/other",
        "/allowed/..%2fother",
        "/allowed/..%5cother",
        "/allowed/..\\other",
        "/allowed/%252e%252e/other",
        "/allowed/..;/other",
        "/allowed/..%3b/other",
        "/allowed/x;y/z",
        "/allowed//other",
        "//allowed/x",
        "/allowed/%00",
        "/allowed/%0d%0a",
        "/allowed/%",
        "/allowed/%2",
        "/allowed/%zz",
        "/allowed/%c0%ae%c0%ae/other",
        "/allowed/%61",
        "/allowed/\u{e9}",
        "allowed/x",
        "",
    ] {
        assert!(!permits("a.example/allowed", "a.example:443", "GET", path), "{path:?}");
    }
    for path in [
        "/allowed",
        "/allowed/",
        "/allowed/x.y/z-1_~",
        "/allowed/%20",
        "/allowed/%C3%A9",
        "/allowed/...",
        "/allowed/@a:b",
    ] {
        assert!(permits("a.example/allowed", "a.example:443", "GET", path), "the control {path:?}");
    }
}

#[test]
fn a_rule_over_tls_needs_port_443_or_a_port_of_its_own() {
    let concerns = |text: &str, target: &str| rule(text).concerns_tls(&Target::parse(target).unwrap());
    assert!(concerns("a.example", "a.example:443"));
    assert!(!concerns("a.example", "a.example:80"));
    assert!(!concerns("a.example", "a.example:8443"));
    assert!(concerns("a.example:8443", "a.example:8443"));
    assert!(!concerns("a.example:8443", "a.example:443"));
}

#[test]
fn a_wrong_rule_has_a_problem_and_a_remedy() {
    for text in [
        "",
        "get a.example",
        "GET, HEAD a.example",
        "GET  a.example",
        "GET",
        "GET POST a.example",
        "https://a.example/",
        "a.example/..",
        "a.example/%41",
        "a.example/a?b",
        "a.example:0/",
        "a.example/\u{1}",
        "GET */x",
        &format!("a.example/{}", "x".repeat(300)),
    ] {
        let error = RequestRule::parse(text).map(|rule| rule.text).unwrap_err().to_string();
        assert!(error.is_ascii() && error.contains("; ") && !error.contains('\n'), "{text:?}: {error}");
    }
    // A single word is a host: a rule with a method and no host is the host `GET` without a port.
    assert_eq!(rule("GET,HEAD a.example/b").to_string(), "GET,HEAD a.example/b");
}
