//! Tests of the two filters of a command together. Counting a refusal must not change it.

use std::collections::BTreeSet;

use airlock_init::refusal::{Answer, MAX_WATCHED, WatchedCall, program};

use super::arguments::{Call, Verdict, run};
use super::{TARGETS, Target, calls, every_choice, is_reported, sockets};

const EBUSY: u32 = 16;
/// The flag of `seccomp` for a listener.
const NEW_LISTENER: u64 = 8;

/// Returns the watched calls of an architecture, from the lists.
fn watched(target: &Target) -> Vec<WatchedCall> {
    let refused = calls(target, "refused.toml", "refused");
    let reported = refused.into_iter().filter(|(_, group)| is_reported(group));
    reported
        .map(|(name, group)| {
            assert_eq!(group["errno"].as_str(), Some("EPERM"), "{name}");
            WatchedCall { number: (target.number)(&name).unwrap(), errno: 1 }
        })
        .collect()
}

/// Returns the second filter in the kernel's byte format.
fn second(target: &Target, answer: Answer) -> Vec<u8> {
    let seccomp = (target.number)("seccomp").unwrap();
    let bytes = |step: &libc::sock_filter| {
        let [code0, code1] = step.code.to_le_bytes();
        let [k0, k1, k2, k3] = step.k.to_le_bytes();
        [code0, code1, step.jt, step.jf, k0, k1, k2, k3]
    };
    program(target.arch, seccomp, &watched(target), answer).iter().flat_map(bytes).collect()
}

/// Returns the answer that takes precedence in the kernel.
fn first_of(one: Verdict, other: Verdict) -> Verdict {
    let rank = |verdict| match verdict {
        Verdict::KillProcess => 0,
        Verdict::Errno(_) => 1,
        Verdict::Notify => 2,
        Verdict::Watched(_) => 3,
        Verdict::Allow => 4,
    };
    // With equal ranks, the filter that was added last counts.
    if rank(one) < rank(other) { one } else { other }
}

#[test]
fn with_and_without_notifications_every_call_is_refused_as_the_lists_say() {
    for target in &TARGETS {
        let numbers: BTreeSet<u32> = watched(target).iter().map(|call| call.number).collect();
        assert!((40..=MAX_WATCHED).contains(&numbers.len()), "{}", numbers.len());
        let [notifying, plain] = [Answer::Notify, Answer::Refuse].map(|answer| second(target, answer));
        for sockets in every_choice() {
            let first = target.programs.filter(&sockets);
            for number in (0..1024).chain([0x4000_0000, u32::MAX]) {
                for args in [[0; 6], [u64::MAX; 6]] {
                    let call = Call { arch: target.arch, number, args };
                    let alone = run(first, &call);
                    let counted = first_of(alone, run(&notifying, &call));
                    let refused = first_of(alone, run(&plain, &call));
                    if numbers.contains(&number) {
                        assert_eq!(alone, Verdict::Watched(1), "{number}");
                        assert_eq!((counted, refused), (Verdict::Notify, Verdict::Errno(1)), "{number}");
                    } else if Some(number) != (target.number)("seccomp") {
                        assert!(!matches!(alone, Verdict::Watched(_) | Verdict::Notify), "{number}");
                        assert_eq!((counted, refused), (alone, alone), "{number}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_command_cannot_have_a_listener_and_can_have_filters() {
    for target in &TARGETS {
        let number = (target.number)("seccomp").unwrap();
        for answer in [Answer::Notify, Answer::Refuse] {
            let verdict = |flags: u64| {
                let call = Call { arch: target.arch, number, args: [1, flags, 0, 0, 0, 0] };
                let first = target.programs.filter(&sockets(true, true));
                first_of(run(first, &call), run(&second(target, answer), &call))
            };
            for flags in [NEW_LISTENER, NEW_LISTENER | 1 | 2 | 32, 0xffff_ffff_0000_0000 | NEW_LISTENER] {
                assert_eq!(verdict(flags), Verdict::Errno(EBUSY), "{flags:#x}");
            }
            for flags in [0, 1, 2, 4, 16, 32, NEW_LISTENER << 32] {
                assert_eq!(verdict(flags), Verdict::Allow, "{flags:#x}");
            }
        }
    }
}

#[test]
fn another_architecture_is_left_to_the_first_filter() {
    for target in &TARGETS {
        for number in 0..512 {
            let call = Call { arch: 0x4000_0003, number, args: [0; 6] };
            let first = target.programs.filter(&sockets(true, true));
            let verdict = first_of(run(first, &call), run(&second(target, Answer::Notify), &call));
            assert_eq!(verdict, Verdict::KillProcess);
        }
    }
}

#[test]
fn the_calls_that_process_1_counts_are_those_of_the_lists() {
    let here = TARGETS.iter().find(|target| target.name == std::env::consts::ARCH).unwrap();
    let numbers = |calls: Vec<WatchedCall>| calls.iter().map(|call| call.number).collect::<BTreeSet<_>>();
    assert_eq!(numbers(super::super::watched()), numbers(watched(here)));
    assert!(super::super::watched().iter().all(|call| call.errno == 1));
}
