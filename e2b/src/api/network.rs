//! The network of a sandbox: E2B's rules as rules that narrow the network of the profile. They never widen it.

use airlock_client::v1::{NetworkRules, SessionServiceUpdateRequest};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Answer, Call};
use crate::{body::empty, refusal::Refusal};

/// E2B's entry for every address.
const ALL: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// E2B's network configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Network {
    allow_out: Option<Vec<String>>,
    deny_out: Option<Vec<String>>,
    #[serde(alias = "allow_internet_access")]
    allow_internet_access: Option<bool>,
    rules: Option<Value>,
    egress_proxy: Option<Value>,
    mask_request_host: Option<Value>,
}

/// Replaces the rules of a sandbox.
pub(super) async fn update(call: Call, id: &str) -> Answer {
    let sandbox = call.sandbox(id)?;
    let network = rules(call.body().await?, None)?;
    let request = SessionServiceUpdateRequest {
        session_id: sandbox.session.clone(),
        reset_network: network.is_none(),
        network,
        ..Default::default()
    };
    sandbox.client().update_session(request).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Returns the rules for a session, or `None` if only the profile decides.
///
/// At E2B an allowed entry takes precedence over a denied one. At Airlock a denied one does, so the rules are at least as
/// strict as the caller's.
pub(super) fn rules(network: Network, internet: Option<bool>) -> Result<Option<NetworkRules>, Refusal> {
    let is_set = |value: &Option<Value>| match value {
        None | Some(Value::Null) => false,
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    };
    let unsupported = [
        (
            is_set(&network.rules),
            "rules that change requests; use `network.inspect` and secrets of a profile",
        ),
        (is_set(&network.egress_proxy), "a proxy of the sandbox; configure `egress.upstream` of the runner"),
        (is_set(&network.mask_request_host), "masked host names"),
    ];
    if let Some((_, what)) = unsupported.iter().find(|(is_set, _)| *is_set) {
        return Err(Refusal::unsupported(what));
    }
    let allow = network.allow_out.unwrap_or_default();
    let (all, deny): (Vec<_>, Vec<_>) =
        network.deny_out.unwrap_or_default().into_iter().partition(|entry| ALL.contains(&entry.as_str()));
    let closed = !all.is_empty() || internet.or(network.allow_internet_access) == Some(false);
    match (closed, deny.is_empty()) {
        (true, _) => {
            let allow = allow.into_iter().filter(|entry| !ALL.contains(&entry.as_str())).collect();
            Ok(Some(NetworkRules { allow, deny, ..Default::default() }))
        }
        (false, false) => Ok(Some(NetworkRules { any: true, allow, deny, ..Default::default() })),
        (false, true) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::refusal::Kind;

    fn parsed(value: Value, internet: Option<bool>) -> Result<Option<NetworkRules>, Refusal> {
        rules(serde_json::from_value(value).unwrap(), internet)
    }

    #[test]
    fn rules_narrow_and_never_widen() {
        assert_eq!(parsed(json!({}), None).unwrap(), None);
        assert_eq!(parsed(json!({"allowOut": ["example.com"]}), Some(true)).unwrap(), None);
        let closed = parsed(json!({}), Some(false)).unwrap().unwrap();
        assert_eq!(closed, NetworkRules::default());
        let some = parsed(json!({"allowOut": ["*.example.com"], "denyOut": ["0.0.0.0/0"]}), None);
        let some = some.unwrap().unwrap();
        assert!(!some.any && some.allow == ["*.example.com"] && some.deny.is_empty());
        let without = parsed(json!({"denyOut": ["10.0.0.0/8"]}), None).unwrap().unwrap();
        assert!(without.any && without.deny == ["10.0.0.0/8"]);
        let everything = parsed(json!({"allowOut": ["0.0.0.0/0"], "allow_internet_access": false}), None);
        assert_eq!(everything.unwrap().unwrap(), NetworkRules::default(), "the caller's own contradiction");
    }

    #[test]
    fn what_would_change_requests_is_refused() {
        for value in [
            json!({"rules": {"example.com": []}}),
            json!({"egressProxy": {"address": "socks5://x"}}),
            json!({"maskRequestHost": "x"}),
        ] {
            assert_eq!(parsed(value, None).unwrap_err().kind, Kind::Unsupported);
        }
        assert_eq!(parsed(json!({"rules": {}, "egressProxy": null}), None).unwrap(), None);
    }
}
