//! Tests that no secret of the runner passes, for every way to write a profile, a name or an exception.

use proptest::prelude::*;

use super::*;

/// A second copy of the table, so that a name that is lost from it is noticed.
const LISTED: &str = "ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY \
    AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK \
    AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN AWS_CONTAINER_CREDENTIALS_FULL_URI \
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI GOOGLE_APPLICATION_CREDENTIALS GOOGLE_API_KEY GEMINI_API_KEY \
    CLOUDSDK_AUTH_ACCESS_TOKEN GCP_KEY GCP_SA_KEY GCP_SERVICE_KEY_FILE AZURE_CLIENT_SECRET \
    AZURE_CLIENT_CERTIFICATE_PATH AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING \
    AZURE_FEDERATED_TOKEN_FILE IDENTITY_HEADER MSI_SECRET ACTIONS_ID_TOKEN_REQUEST_TOKEN \
    ACTIONS_ID_TOKEN_REQUEST_URL ACTIONS_RUNTIME_TOKEN ACTIONS_RUNTIME_URL GITHUB_TOKEN GH_TOKEN \
    GITLAB_TOKEN CI_JOB_TOKEN NPM_TOKEN PYPI_TOKEN CARGO_REGISTRY_TOKEN VAULT_TOKEN KUBECONFIG \
    DATABASE_URL PGPASSWORD OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE";

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

fn own(list: &[&str]) -> Vec<Variable> {
    list.iter().map(|name| (name.as_bytes().to_vec(), b"value".to_vec())).collect()
}

fn passed(scrubbed: &Scrubbed) -> Vec<&str> {
    scrubbed.passed.iter().map(|(name, _)| std::str::from_utf8(name).unwrap()).collect()
}

#[test]
fn nothing_passes_that_the_profile_does_not_name() {
    let own = own(&["A", "B", "NPM_TOKEN"]);
    assert_eq!(scrub(&own, &[], &[]), Scrubbed::default());
    let some = scrub(&own, &names(&["B", "C"]), &[]);
    assert_eq!(passed(&some), ["B"]);
    assert_eq!(some.removed, Vec::<String>::new());
}

#[test]
fn listed_names_are_removed_and_named_whatever_is_excepted() {
    let listed: Vec<&str> = LISTED.split(' ').collect();
    let all = names(&listed);
    let scrubbed = scrub(&own(&listed), &all, &all);
    let mut sorted = all;
    sorted.sort();
    assert_eq!(passed(&scrubbed), Vec::<&str>::new());
    assert_eq!(scrubbed.removed, sorted);
}

#[test]
fn what_looks_like_a_secret_passes_by_its_exact_exception_alone() {
    let shaped = ["MY_TOKEN", "my_secret", "DB_PASSWORD", "X_API_KEY", "A_CREDENTIALS", "INPUT_MY_TOKEN"];
    let all = names(&shaped);
    assert_eq!(passed(&scrub(&own(&shaped), &all, &[])), Vec::<&str>::new());
    assert_eq!(passed(&scrub(&own(&shaped), &all, &all)), shaped);
    let other = names(&["my_token", "MY_SECRET", "*_PASSWORD", "API_KEY", ""]);
    assert_eq!(passed(&scrub(&own(&shaped), &all, &other)), Vec::<&str>::new());
}

#[test]
fn look_alikes_pass() {
    let plain = ["TOKEN_COUNT", "SECRETARY", "GCP_PROJECT", "OTEL_SERVICE_NAME", "AWS_REGION", "PGHOST"];
    assert_eq!(passed(&scrub(&own(&plain), &names(&plain), &[])), plain);
}

#[test]
fn a_value_is_never_shown() {
    let scrubbed = scrub(&own(&["A", "NPM_TOKEN"]), &names(&["A", "NPM_TOKEN"]), &[]);
    let shown = format!("{scrubbed:?}");
    assert!(!shown.contains("value") && shown.contains("NPM_TOKEN"), "{shown}");
}

/// Generates a name of the table, with `*` replaced by some text.
fn a_listed_name() -> impl Strategy<Value = String> {
    let fill = |(pattern, text): (&str, String)| pattern.replace('*', &text);
    (prop::sample::select(SECRETS.to_vec()), "[A-Z0-9_]{0,8}").prop_map(fill)
}

/// Varies upper and lower case, and adds any number of `INPUT_` prefixes.
fn written_somehow(name: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (name, 0..3usize, prop::collection::vec(any::<bool>(), 96)).prop_map(|(name, twins, lower)| {
        let whole = INPUT_PREFIX.repeat(twins) + &name;
        let flip = |(c, lower): (char, bool)| if lower { c.to_ascii_lowercase() } else { c };
        whole.chars().zip(lower.into_iter().cycle()).map(flip).collect()
    })
}

proptest! {
    #[test]
    fn no_listed_name_gets_through(name in written_somehow(a_listed_name())) {
        let list = [name.as_str()];
        let scrubbed = scrub(&own(&list), &names(&list), &names(&list));
        prop_assert_eq!(passed(&scrubbed), Vec::<&str>::new());
        prop_assert_eq!(scrubbed.removed, names(&list));
    }

    #[test]
    fn no_name_of_a_secrets_shape_gets_through(
        name in written_somehow(prop::sample::select(SHAPES.to_vec()).prop_map(|shape| shape.replace('*', "X"))),
        pass in prop::collection::vec("[A-Z_]{1,12}", 0..4),
    ) {
        let mut pass = pass;
        pass.retain(|other| *other != name);
        let exceptions = pass.clone();
        pass.push(name.clone());
        let scrubbed = scrub(&own(&[&name]), &pass, &exceptions);
        prop_assert_eq!(passed(&scrubbed), Vec::<&str>::new());
    }

    #[test]
    fn what_is_there_is_passed_or_named_or_was_not_asked_for(
        list in prop::collection::btree_set("[A-Z]{1,3}(_TOKEN)?", 0..12),
        pass in prop::collection::vec("[A-Z]{1,3}(_TOKEN)?", 0..12),
    ) {
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let scrubbed = scrub(&own(&list), &pass, &[]);
        for name in list {
            let found = passed(&scrubbed).contains(&name) as usize + scrubbed.removed.iter().filter(|r| *r == name).count();
            prop_assert_eq!(found, usize::from(pass.iter().any(|wanted| wanted == name)));
        }
    }
}
