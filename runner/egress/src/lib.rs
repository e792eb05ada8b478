//! The proxy of a runner. It gives executions network access by host name, and nothing else gives them any.
//!
//! A sandbox has no route. For each execution with network access, the sandbox side opens a listener on the session's
//! loopback, and [`Proxy::serve`] accepts from it. Commands find it through `HTTP_PROXY` and similar variables. One port
//! serves HTTP/1.1 (CONNECT and absolute-form requests) and SOCKS5.
//!
//! * Each request presents the [`Token`] of its execution, or comes from a process of the execution ([`Processes`]).
//!   Other executions of the same session can reach the listener, and do neither. They can only delay it: a connection
//!   without the token takes a part of the execution's share for a few times [`Limits::head`].
//! * `airlock-network` decides by name and port. The proxy then resolves the name once, checks every address, and
//!   connects only to an address that it checked.
//! * A tunnel must begin with a TLS handshake for the requested name, unless its rule ends in `/tcp`. The proxy does
//!   not decrypt it, unless the host is inspected ([`Inspection`]). What hides behind the name cannot be stopped without decryption: another site of the same server
//!   (domain fronting), or an encrypted ClientHello. The proxy sees only the outer name.
//! * Requests of plain HTTP in a tunnel are forwarded one by one, only to the target of the tunnel. A WebSocket without
//!   TLS needs a rule that ends in `/tcp`.
//! * A rule can ask a person about a target ([`Questions`]). The connection is held until the answer, without a lookup
//!   of the name.
//! * Each request or tunnel is reported as one [`Connection`], which contains no path, header or credential.
//!
//! The crate knows nothing of the server and of the rest of the runner. It starts no task that outlives `serve`.

#![forbid(unsafe_code)]

mod access;
mod client;
mod connection;
mod dial;
mod http;
mod inside;
mod inspection;
mod limits;
mod open;
mod proxy;
mod question;
mod report;
mod resolve;
mod serve;
mod shares;
mod socks;
mod tunnel;
mod upstream;

pub use access::{Access, Events, Processes, Questions, Token, Unanswered};
pub use connection::{Connection, Outcome, Protocol};
pub use http::ONE_HOP;
pub use hyper::header::HeaderName;
pub use inspection::{
    AwsKey, Inspection, InspectionError, Secret, SecretUse, SecretValue, Trust, TrustError,
};
pub use limits::Limits;
pub use proxy::Proxy;
pub use resolve::{Resolver, SystemResolver};
pub use upstream::{Upstream, UpstreamError};
