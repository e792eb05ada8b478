//! The engine on a real store, with runners that do what each test has them do.

mod approvals;
mod ends;
mod hammer;
mod happy;
mod limits;
mod links;
mod order;
mod restart;
mod support;
