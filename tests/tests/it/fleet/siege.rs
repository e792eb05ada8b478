//! A fleet on separate hosts, with faults in all processes. `make fleet` runs it for longer.

mod sample {
    use airlock_tests::siege::{Plan, carry_out};

    use crate::fleet::random::{given, seed};

    /// This number of commands takes long enough for this number of faults. Servers and runners each have at least one.
    const MANY: (usize, u32) = (150, 5);

    #[test]
    fn a_fleet_under_fire_loses_no_execution_and_no_byte_and_runs_none_twice() {
        let seed = seed();
        let count = given("AIRLOCK_FLEET_COUNT").map(|count| usize::try_from(count).unwrap());
        let count = count.unwrap_or_else(|| airlock_sampling::extent(40, 150));
        eprintln!("make fleet SEED={seed} COUNT={count}");
        let outcome = carry_out(Plan { seed, count });
        let least = if count >= MANY.0 { MANY.1 } else { 2 };
        assert!(outcome.faults >= least, "{}", outcome.table);
        println!("{}", outcome.table);
    }
}
