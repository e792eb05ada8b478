//! The service of one HTTP connection: who asks, for which target, and the answer.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use airlock_network::{Host, Target};
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::{
    HeaderMap, Method, Request,
    body::Incoming,
    header::{EXPECT, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING},
};

use super::{
    answer,
    body::Answer,
    forward::{self, Way},
    gate::{MARKER, Refused},
};
use crate::{client::Client, connection::Protocol, open::Opened, report::Report};

/// A tunnel that contains requests.
pub(crate) struct Inside {
    target: Target,
    is_tls: bool,
    /// The connection of the tunnel, for its first request.
    opened: Mutex<Option<Opened>>,
}

impl Inside {
    /// A tunnel with plain HTTP.
    pub(crate) fn plain(target: Target) -> Self {
        Self { target, is_tls: false, opened: Mutex::new(None) }
    }

    /// A tunnel whose TLS the proxy ends.
    pub(crate) fn tls(opened: Opened) -> Self {
        Self { target: opened.target.clone(), is_tls: true, opened: Mutex::new(Some(opened)) }
    }
}

/// The state that all requests of one connection use.
pub(crate) struct Service {
    client: Arc<Client>,
    refused: Refused,
    /// The tunnel that contains the requests.
    inside: Option<Inside>,
    /// The tunnel that the last request opened.
    tunnel: Mutex<Option<Opened>>,
}

impl Service {
    pub(crate) fn new(client: Arc<Client>, inside: Option<Inside>) -> Self {
        Self { client, refused: Refused::new(OnceLock::new()), inside, tunnel: Mutex::new(None) }
    }

    /// Returns the place where the gate stores why it refused a head.
    pub(crate) fn refused(&self) -> Refused {
        Arc::clone(&self.refused)
    }

    /// Returns the tunnel that the last request opened.
    pub(crate) fn take_tunnel(&self) -> Option<Opened> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if let Some(error) = self.refused.get().filter(|_| request.uri().path() == MARKER) {
            return answer::refused_head(*error);
        }
        let is_tunnel = request.method() == Method::CONNECT;
        let ends = is_tunnel || request.headers().contains_key(TRANSFER_ENCODING);
        let answer = self.decided(request, is_tunnel).await;
        let opened = is_tunnel && answer.status().is_success();
        if ends && !opened { answer::close(answer) } else { answer }
    }

    async fn decided(&self, request: Request<Incoming>, is_tunnel: bool) -> Answer {
        if self.inside.is_none() {
            if !is_tunnel && request.uri().scheme().is_none() {
                return answer::bad_request("this is a proxy, so the request needs a URL with a host");
            }
            if !self.is_authenticated(request.headers()).await {
                let answer = answer::unauthenticated();
                return if self.client.count_failure() { answer::close(answer) } else { answer };
            }
        }
        let target = match self.target(&request, is_tunnel) {
            Ok(target) => target,
            Err(problem) => {
                let given = request.uri().authority().map_or("", |authority| authority.as_str());
                let protocol = if is_tunnel { Protocol::Connect } else { Protocol::Http };
                let events = self.client.execution.access.events.clone();
                Report::invalid(given, &problem, protocol, events);
                return answer::bad_request(&problem);
            }
        };
        if let Some(expected) = request.headers().get(EXPECT)
            && !expected.as_bytes().eq_ignore_ascii_case(b"100-continue")
        {
            return answer::bad_expectation();
        }
        if is_tunnel {
            self.tunnel(target).await
        } else {
            forward::forward(&self.client, self.way(target), request).await
        }
    }

    /// Returns the target of a request, or why it has no valid one.
    fn target(&self, request: &Request<Incoming>, is_tunnel: bool) -> Result<Target, String> {
        let target = match &self.inside {
            Some(inside) if !is_tunnel && request.uri().authority().is_none() => inside.target.clone(),
            Some(_) => return Err("a tunnel does not contain requests to a proxy".to_owned()),
            None if is_tunnel => of_tunnel(request)?,
            None => of_url(request)?,
        };
        match request.headers().get(HOST) {
            Some(host) if !names(host.to_str().unwrap_or_default(), &target) => {
                Err("the Host header names another target".to_owned())
            }
            None if self.inside.is_some() => Err("the request has no Host header".to_owned()),
            _ => Ok(target),
        }
    }

    /// Returns how a request reaches its target.
    fn way(&self, target: Target) -> Way {
        let is_tls = self.inside.as_ref().is_some_and(|inside| inside.is_tls);
        let opened = self
            .inside
            .as_ref()
            .and_then(|inside| inside.opened.lock().unwrap_or_else(PoisonError::into_inner).take());
        Way { target, is_tls, opened: opened.filter(|opened| opened.watch.permits()) }
    }

    async fn tunnel(&self, target: Target) -> Answer {
        let closed = self.client.closed.cancelled();
        match self.client.execution.open(target, Protocol::Connect, closed).await {
            Ok(opened) => {
                *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
                answer::tunnel()
            }
            Err(problem) => answer::not_opened(&problem),
        }
    }

    /// Returns whether the client has the credential, or presents none and is a process of the execution.
    async fn is_authenticated(&self, headers: &HeaderMap) -> bool {
        if !headers.contains_key(PROXY_AUTHORIZATION) {
            return self.client.is_own().await;
        }
        let token = &self.client.execution.access.token;
        credential(headers).is_some_and(|credential| {
            let password = credential.splitn(2, |byte| *byte == b':').nth(1);
            password.is_some_and(|password| token.matches(password))
        })
    }
}

/// Returns `USER:PASSWORD` of basic authentication.
fn credential(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(PROXY_AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    BASE64_STANDARD.decode(encoded.trim()).ok()
}

fn of_tunnel(request: &Request<Incoming>) -> Result<Target, String> {
    let uri = request.uri();
    let authority = authority(request)?;
    if uri.scheme().is_some() || uri.path_and_query().is_some() || !has_port(authority) {
        return Err("CONNECT needs `HOST:PORT`".to_owned());
    }
    Target::parse(authority).map_err(|error| error.to_string())
}

fn of_url(request: &Request<Incoming>) -> Result<Target, String> {
    if request.uri().scheme_str() != Some("http") {
        return Err("the proxy forwards `http` URLs only; use CONNECT for others".to_owned());
    }
    let authority = authority(request)?;
    let target = if has_port(authority) {
        Target::parse(authority)
    } else {
        Target::parse(&format!("{authority}:80"))
    };
    target.map_err(|error| error.to_string())
}

/// Returns the host and the port of a request, as the client wrote them.
fn authority(request: &Request<Incoming>) -> Result<&str, String> {
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err("the URL contains a user name".to_owned());
    }
    Ok(authority)
}

fn has_port(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'))
}

/// Returns whether a Host header names the target. It may lack the port.
fn names(header: &str, target: &Target) -> bool {
    Target::parse(header).is_ok_and(|named| named == *target)
        || Host::parse(header.trim_matches(['[', ']'])).is_ok_and(|host| host == target.host)
}
