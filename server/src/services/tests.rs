//! Tests of the services with a real store and with runners that the tests control.

mod again;
mod approvals;
mod background;
mod ends;
mod fleet;
mod hammer;
mod happy;
mod leading;
mod limits;
mod links;
mod order;
mod placing;
mod remember;
mod requested;
mod restart;
mod shells;
mod support;
mod watches;
