//! Exchanges: requests about a session's files or an execution's input, and forwarded connections. The runner opens a
//! connection for each one. This module opens exchanges, counts them, enforces their time limits and carries their
//! messages. The modules `files`, `input` and `forward` define the meaning of the messages.
//!
//! An exchange belongs to the call that opened it. Dropping [`Exchange`] ends the runner's stream and
//! its work. The runner is not trusted: a message that the order does not permit ends the exchange.

mod account;
mod fault;
mod forward;
pub mod input;
mod limits;
mod link;
mod observe;
mod pour;
mod refusal;
mod running;
mod state;

pub use fault::{ClientFault, ExchangeRefusal};
pub use forward::{ForwardInput, ForwardPart};
pub use limits::ExchangeLimits;
pub use link::ExchangeBroken;
pub use link::ExchangeLink;
pub use observe::{ExchangeKind, ExchangeObserver, ExchangeOutcome};
pub use pour::{Piece, Pieces};
pub use running::Exchange;
pub use state::{ExchangeParts, Exchanges, LentExchange, NotLent};

pub(crate) use forward::Traffic;
pub(crate) use link::Violation;
pub(crate) use pour::{Start, What};
pub(crate) use refusal::shown;

#[cfg(test)]
mod tests {
    //! Tests of exchanges with a simulated runner that is honest or violates the protocol.

    mod download;
    mod forward;
    mod input;
    mod lists;
    mod open;
    mod quarantine;
    mod upload;
    mod world;
}
