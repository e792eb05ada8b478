//! What a reader of an execution can rely on, against a runner, a store and a storage in memory. Time is
//! virtual (it moves when nothing else does), but for [`real`].

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
