//! The answers of the proxy itself.

use airlock_network::{Refusal, Target};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Response, StatusCode,
    ext::ReasonPhrase,
    header::{CONNECTION, CONTENT_TYPE, HeaderValue, PROXY_AUTHENTICATE},
};

use super::{
    body::{Answer, Body},
    head::HeadError,
};
use crate::open::{Failure, NotOpened};

/// The header that marks an answer of the proxy about a refused target.
const REFUSED: &str = "x-airlock-refused";
/// The longest reason phrase or header that contains a client's text.
const MAX_TEXT: usize = 200;

/// The answer that opens a tunnel.
pub(crate) fn tunnel() -> Answer {
    Response::new(Body::Left(Full::default()))
}

/// Answers a head that the gate refused.
pub(crate) fn refused_head(error: HeadError) -> Answer {
    let status = match error {
        HeadError::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    };
    close(text(status, &format!("the proxy refuses this request: {error}\n")))
}

/// Answers a request that the proxy does not serve.
pub(crate) fn bad_request(problem: &str) -> Answer {
    text(StatusCode::BAD_REQUEST, &format!("the proxy refuses this request: {problem}\n"))
}

/// Answers an expectation that the proxy does not know.
pub(crate) fn bad_expectation() -> Answer {
    text(StatusCode::EXPECTATION_FAILED, "the proxy knows only the expectation `100-continue`\n")
}

/// Answers a request without the credential of the execution.
pub(crate) fn unauthenticated() -> Answer {
    let remedy = "use the proxy's address from HTTP_PROXY, which contains the credential of this execution";
    let mut answer = text(
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        &format!("the request has no credential, or a wrong one\n{remedy}\n"),
    );
    let challenge = HeaderValue::from_static("Basic realm=\"airlock\"");
    answer.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
    answer
}

/// Answers a request whose target was not connected.
pub(crate) fn not_opened(problem: &NotOpened) -> Answer {
    match problem {
        NotOpened::Refused(refusal) => refused(refusal),
        NotOpened::Failed(failure) => failed(*failure),
    }
}

/// Answers a request to a target that the rules refuse: what, by which rule, and the remedy.
fn refused(refusal: &Refusal) -> Answer {
    let target = match refusal.address {
        Some(address) => format!("{} (its address {} is {})", refusal.target, address.ip, address.kind),
        None => refusal.target.clone(),
    };
    let layer = refusal.layer;
    let rule = match &refusal.rule {
        Some(rule) if refusal.is_asked => format!("rule `{rule}` of layer `{layer}`, which asks a person"),
        Some(rule) => format!("rule `{rule}` of layer `{layer}`"),
        None => format!("layer `{layer}`, which has no rule that allows it"),
    };
    let body = format!("refused: {target}\nby: {rule}\nremedy: {}\n", refusal.remedy);
    let answer = text(StatusCode::FORBIDDEN, &body);
    let summary = printable(&format!("{target} by {rule}"));
    marked(answer, &summary)
}

/// Answers a request that the rules of an inspected target do not permit.
pub(crate) fn not_permitted(target: &Target, remedy: &str) -> Answer {
    let answer = text(StatusCode::FORBIDDEN, &format!("refused: a request to {target}\nremedy: {remedy}\n"));
    let summary = printable(&format!("a request to {target}"));
    marked(answer, &summary)
}

/// Answers a request whose target could not be connected.
pub(crate) fn failed(failure: Failure) -> Answer {
    let status = if failure.is_timeout() { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    let mut answer = text(status, &format!("{failure}\n"));
    reason(&mut answer, &failure.to_string());
    answer
}

/// Marks an answer about something that was refused.
fn marked(mut answer: Answer, summary: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(summary) {
        answer.headers_mut().insert(REFUSED, value);
    }
    reason(&mut answer, &format!("airlock refused {summary}"));
    answer
}

/// Makes the connection end after an answer.
pub(crate) fn close(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// Some clients show only the status line.
fn reason(answer: &mut Answer, text: &str) {
    if let Ok(reason) = ReasonPhrase::try_from(printable(text).into_bytes()) {
        answer.extensions_mut().insert(reason);
    }
}

/// Replaces control and non-ASCII characters, and cuts the text.
fn printable(text: &str) -> String {
    let visible = |character: char| if matches!(character, ' '..='~') { character } else { '?' };
    text.chars().map(visible).take(MAX_TEXT).collect()
}

fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Body::Left(Full::new(Bytes::copy_from_slice(text.as_bytes()))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
