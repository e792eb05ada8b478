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
