//! The read side of executions: resumable views, live output that all readers share, and the copying of finished
//! output into the output storage.
//!
//! A view has no task of its own. It makes progress only when its reader polls it, and reads at its reader's pace.
//! This module must not make decisions about an execution: the services do, and the store holds the authoritative
//! state.

mod error;
mod event;
mod facts;
mod hub;
mod keep;
mod lane;
mod limits;
mod link;
mod progress;
mod push;
mod read_output;
mod reader;
mod reads;
mod registry;
mod ring;
mod shelf;
mod state;
mod storing;
mod track;
mod view;

pub use error::StreamError;
pub use event::{AttachFrom, Event, EventKind};
pub use limits::StreamLimits;
pub use link::{LentOutput, LinkUnavailable, NotLent, OutputLink, PushBroken, PushHello};
pub use progress::Progress;
pub use read_output::{
    Amount, OutputLine, Pattern, PatternError, ReadDone, ReadOutput, ReadPart, ReadStream, Search, Selection,
};
pub use ring::Piece;
pub use shelf::{GAPS_MOST, OutputShelf, ShelfError, ShelfReader, ShelfWriter, Shelved};
pub use state::{StreamObserver, StreamParts, Streams, Unobserved};
pub use view::EventStream;

#[cfg(test)]
mod tests {
    //! Tests of the guarantees for readers of an execution, with a runner, a store and a storage in memory.
    //! Except in [`real`], time is virtual: it advances when all tasks are idle.

    mod agree;
    mod background;
    mod cuts;
    mod ends;
    mod misbehaving;
    mod on_demand;
    mod readers;
    mod real;
    mod runner;
    mod search;
    mod shares;
    mod shelf;
    mod store;
    mod storing;
    mod world;
}
