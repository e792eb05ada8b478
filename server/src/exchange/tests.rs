//! Exchanges with a runner that a test plays, line by line: an honest one, and every kind of liar.

mod download;
mod input;
mod lists;
mod open;
mod quarantine;
mod upload;
mod world;
