//! The list of an account's sandboxes, in pages.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use http::{HeaderValue, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    call::{Answer, Call},
    shown,
};
use crate::{body::json, refusal::Refusal, sandbox::Sandbox};

/// The sandboxes of one page.
const PAGE: usize = 100;

/// Selects sandboxes. All conditions must hold.
#[derive(Debug, Default)]
struct Query {
    metadata: BTreeMap<String, String>,
    states: Vec<String>,
    template: Option<String>,
    started_after: Option<SystemTime>,
    ascending: bool,
    limit: usize,
    /// The ID of the last sandbox of the page before.
    after: Option<String>,
}

impl Query {
    fn of(call: &Call) -> Result<Self, Refusal> {
        let pairs: Vec<_> = url::form_urlencoded::parse(call.query.as_bytes()).collect();
        let states = pairs.iter().filter(|(key, _)| key == "state" || key == "state[]");
        let states = states.flat_map(|(_, value)| value.split(',')).map(str::to_owned).collect();
        let limit = match call.parameter("limit").map(|limit| limit.parse::<usize>()) {
            None => PAGE,
            Some(Ok(limit)) if limit > 0 => limit.min(PAGE),
            Some(_) => return Err(Refusal::invalid("the parameter `limit` must be a positive number")),
        };
        let ascending = match call.parameter("order").as_deref() {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return Err(Refusal::invalid("the parameter `order` must be `asc` or `desc`")),
        };
        let started_after = call.parameter("startedAfter").map(|text| {
            let time = OffsetDateTime::parse(&text, &Rfc3339);
            time.map(SystemTime::from)
                .map_err(|_| Refusal::invalid("the parameter `startedAfter` must be a time of RFC 3339"))
        });
        Ok(Self {
            metadata: metadata(&call.parameter("metadata").unwrap_or_default()),
            states,
            template: call.parameter("template"),
            started_after: started_after.transpose()?,
            ascending,
            limit,
            after: call.parameter("nextToken").filter(|token| !token.is_empty()),
        })
    }

    fn selects(&self, sandbox: &Sandbox) -> bool {
        self.metadata.iter().all(|(key, value)| sandbox.metadata.get(key) == Some(value))
            && (self.states.is_empty() || self.states.iter().any(|state| state == shown::state(sandbox)))
            && self.template.as_ref().is_none_or(|template| *template == sandbox.template)
            && self.started_after.is_none_or(|time| sandbox.started > time)
    }
}

/// Returns the pairs of the filter. The SDKs encode keys and values twice.
fn metadata(text: &str) -> BTreeMap<String, String> {
    let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    url::form_urlencoded::parse(text.as_bytes())
        .map(|(key, value)| (decoded(&key), decoded(&value)))
        .collect()
}

/// Returns one page.
pub(super) fn list(call: &Call) -> Answer {
    let query = Query::of(call)?;
    let mut found: Vec<Arc<Sandbox>> = call.front.registry.of(&call.account);
    found.sort_by(|one, other| (one.started, &one.id).cmp(&(other.started, &other.id)));
    if !query.ascending {
        found.reverse();
    }
    let begins = match &query.after {
        None => 0,
        Some(id) => {
            let at = found.iter().position(|sandbox| sandbox.id == *id);
            at.ok_or_else(|| Refusal::invalid("the page before is no longer known; list again"))? + 1
        }
    };
    let mut rest = found.iter().skip(begins).filter(|sandbox| query.selects(sandbox));
    let page: Vec<&Arc<Sandbox>> = rest.by_ref().take(query.limit).collect();
    let next = page.last().filter(|_| rest.next().is_some()).map(|sandbox| sandbox.id.clone());
    let values: Vec<Value> = page.into_iter().map(|sandbox| shown::listed(sandbox)).collect();
    let mut response = json(StatusCode::OK, &values);
    if let Some(token) = next.and_then(|id| HeaderValue::try_from(id).ok()) {
        response.headers_mut().insert("x-next-token", token);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_decoded_twice() {
        let expected = BTreeMap::from([("a b".to_owned(), "100%&=c".to_owned())]);
        assert_eq!(metadata("a%2520b=100%2525%2526%253Dc"), expected);
        assert_eq!(metadata(""), BTreeMap::new());
    }
}
