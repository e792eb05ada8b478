//! The ways to get around the network rules of a command, as one list. Each row is one attempt. It has a control, in
//! which the attempt reaches its aim because one protection is off. The test runs every row and its control, prints the
//! list, and counts the rows that ran.
//!
//! The proxy and the runner are real. The targets are servers in a network namespace of the test, on every address that
//! a row names, so that also an attempt on a metadata address would reach something. Nothing leaves the namespace.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod access;
mod addresses;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "../it/fake.rs"]
mod fake;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "../it/fixture.rs"]
mod fixture;
mod index;
mod inside;
mod lab;
mod names;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "../../egress/tests/it/fixture.rs"]
mod proxy;
mod requests;
mod row;
mod smuggling;
mod socks;
mod tls;

use airlock_mounts::PrivateMounts;

use crate::{index::Index, lab::Lab, row::Row};

/// Returns the rows of attempts that send bytes to the proxy.
fn rows() -> Vec<Row> {
    [
        addresses::rows(),
        names::rows(),
        access::rows(),
        requests::rows(),
        smuggling::rows(),
        socks::rows(),
        tls::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_way_around_the_network_rules_is_stopped_and_has_a_control() {
    PrivateMounts::run(|private| {
        let _run = private.tmpfs("/run", "mode=755");
        lab::enter();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut index = Index::default();
            let lab = Lab::start().await;
            for row in rows() {
                index.record(row.tried(&lab).await);
            }
            inside::tried(&lab, &mut index).await;
            index.assert_complete();
        });
    });
}
