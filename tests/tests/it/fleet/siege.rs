//! A fleet on hosts of its own, with everybody under fire. `make fleet` makes it long.

use airlock_tests::siege::{Plan, carry_out};

use crate::fleet::random::given;

#[test]
fn a_fleet_under_fire_loses_no_execution_and_no_byte_and_runs_none_twice() {
    let seed = given("AIRLOCK_FLEET_SEED", 20_261_122);
    let count = usize::try_from(given("AIRLOCK_FLEET_COUNT", 150)).unwrap();
    eprintln!("make fleet SEED={seed} COUNT={count}");
    let outcome = carry_out(Plan { seed, count });
    assert!(outcome.faults >= 5, "{}", outcome.table);
    println!("{}", outcome.table);
}
