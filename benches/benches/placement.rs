//! A simulation of placement: 100,000 executions of 20 tenants on 200 runners and 10 servers. The server's own code
//! ([`choose`] and [`fair`]) is compared with a central scheduler that always knows every slot and queue. Time is
//! simulated, and the work is the same for both: it follows from one seed (`SEED=`).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
    time::{Duration, Instant},
};

use airlock_control::runners::choose::{Candidate, RunnerConnection, Wants, choose};
use airlock_domain::{RunnerId, Shell};
use airlock_store::fair;

const EXECUTIONS: usize = 100_000;
/// The executions that one tenant starts at once.
const BURST: usize = 30_000;
const BURST_AT: u64 = 10 * SECOND;
const RUNNERS: usize = 200;
const SLOTS: u32 = 8;
const SERVERS: usize = 10;
const TENANTS: usize = 20;
/// The tenant of the burst, and a tenant with four times the weight of the others.
const HEAVY: usize = 0;
const WEIGHTY: usize = 1;
/// One second in microseconds, the unit of all times here.
const SECOND: u64 = 1_000_000;
/// The mean duration of a command.
const LENGTH: f64 = 2.0 * SECOND as f64;
/// The fraction of the fleet that the tenants without a burst use.
const STEADY: f64 = 0.7;
/// The fraction of the fleet that must be in use before the spread is measured.
const LEAST_LOAD: f64 = 0.1;
/// The interval at which a server reads the placements of the other servers.
const POLL: u64 = SECOND;

/// For smaller values no ratio is printed.
const COMPARABLE: f64 = 0.05;

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn exponential(&mut self, mean: f64) -> u64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (-mean * (1.0 - share).ln()) as u64
    }
}

struct Work {
    tenant: usize,
    arrives: u64,
    length: u64,
}

/// Returns the executions in the order of their arrival.
fn work(seed: u64) -> Vec<Work> {
    let mut random = Random(seed);
    let slots = (RUNNERS as u32 * SLOTS) as f64;
    let gap = LENGTH / (slots * STEADY);
    let mut at = 0;
    let mut all: Vec<_> = (BURST..EXECUTIONS)
        .map(|_| {
            at += random.exponential(gap);
            let tenant = 1 + random.below(TENANTS - 1);
            Work { tenant, arrives: at, length: random.exponential(LENGTH).max(1) }
        })
        .collect();
    all.extend((0..BURST).map(|_| Work {
        tenant: HEAVY,
        arrives: BURST_AT,
        length: random.exponential(LENGTH).max(1),
    }));
    all.sort_by_key(|one| one.arrives);
    all
}

fn cost(tenant: usize) -> i64 {
    fair::cost(if tenant == WEIGHTY { 4 } else { 1 })
}

/// The waiting executions, ordered fairly between tenants.
#[derive(Default, Clone)]
struct Queue(BTreeMap<usize, VecDeque<usize>>);

impl Queue {
    fn push(&mut self, tenant: usize, index: usize) {
        self.0.entry(tenant).or_default().push_back(index);
    }

    /// Removes the first execution of the tenant that has been served least, in the order of the store.
    fn pop(&mut self, served: &[i64]) -> Option<usize> {
        let head = served.iter().copied().max().unwrap_or(0);
        let waits = self.0.iter().filter(|(_, queue)| !queue.is_empty());
        let (tenant, _) = waits.min_by_key(|(tenant, queue)| {
            (fair::after(served[**tenant], head, cost(**tenant)), queue.front().copied())
        })?;
        let tenant = *tenant;
        self.0.get_mut(&tenant)?.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.0.values().all(VecDeque::is_empty)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End { runner: usize, server: usize },
    Arrival(usize),
    Poll,
}

/// The result of a simulation.
struct Outcome {
    /// The waiting time of each execution, by tenant.
    waits: Vec<Vec<u64>>,
    /// For each second, the largest number of used slots on one runner relative to the mean. Measured only while no
    /// execution waited and the fleet was not idle.
    spread: Vec<f64>,
    /// The number of executions of each runner.
    ran: Vec<u64>,
    refused: u64,
    /// The real time of each decision.
    decisions: Vec<Duration>,
    over: u64,
}

struct Fleet<'w> {
    work: &'w [Work],
    random: Random,
    runners: Vec<RunnerId>,
    /// The used slots, and each server's knowledge of them.
    taken: Vec<u32>,
    known: Vec<Vec<u32>>,
    waiting: Vec<Queue>,
    served: Vec<i64>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Orders events of the same time.
    numbers: u64,
    now: u64,
    outcome: Outcome,
}

impl<'w> Fleet<'w> {
    fn new(work: &'w [Work], seed: u64, queues: usize) -> Self {
        let mut fleet = Self {
            work,
            random: Random(seed ^ 1),
            runners: (0..RUNNERS).map(|number| format!("runner-{number}").parse().unwrap()).collect(),
            taken: vec![0; RUNNERS],
            known: vec![vec![0; RUNNERS]; SERVERS],
            waiting: vec![Queue::default(); queues],
            served: vec![0; TENANTS],
            events: BinaryHeap::new(),
            numbers: 0,
            now: 0,
            outcome: Outcome {
                waits: vec![Vec::new(); TENANTS],
                spread: Vec::new(),
                ran: vec![0; RUNNERS],
                refused: 0,
                decisions: Vec::new(),
                over: 0,
            },
        };
        (0..work.len()).for_each(|index| fleet.later(work[index].arrives, Event::Arrival(index)));
        fleet.later(POLL, Event::Poll);
        fleet
    }

    fn later(&mut self, at: u64, event: Event) {
        self.numbers += 1;
        self.events.push(Reverse((at, self.numbers, event)));
    }

    /// Starts an execution on a runner with a free slot.
    fn begin(&mut self, index: usize, runner: usize, server: usize) {
        let one = &self.work[index];
        let head = self.served.iter().copied().max().unwrap_or(0);
        self.served[one.tenant] = fair::after(self.served[one.tenant], head, cost(one.tenant));
        self.taken[runner] += 1;
        self.known[server][runner] += 1;
        self.outcome.ran[runner] += 1;
        self.outcome.waits[one.tenant].push(self.now - one.arrives);
        let end = self.now + one.length;
        self.outcome.over = self.outcome.over.max(end);
        self.later(end, Event::End { runner, server });
    }

    fn ended(&mut self, runner: usize, server: usize) {
        self.taken[runner] -= 1;
        self.known[server][runner] = self.known[server][runner].saturating_sub(1);
    }

    fn note_spread(&mut self) {
        let all: u32 = self.taken.iter().sum();
        let mean = f64::from(all) / RUNNERS as f64;
        if mean > LEAST_LOAD * f64::from(SLOTS) && self.waiting.iter().all(Queue::is_empty) {
            self.outcome.spread.push(f64::from(self.taken.iter().copied().max().unwrap()) / mean);
        }
    }

    /// Returns the runner that a server chooses with its knowledge; with `only_free`, only among those with a free
    /// slot.
    fn choose(&mut self, server: usize, only_free: bool) -> Option<usize> {
        let begun = Instant::now();
        let (none, bases) = (BTreeMap::new(), Vec::new());
        let numbers: Vec<usize> =
            (0..RUNNERS).filter(|runner| !only_free || self.known[server][*runner] < SLOTS).collect();
        let known: Vec<_> = numbers
            .iter()
            .map(|runner| Candidate {
                id: &self.runners[*runner],
                labels: &none,
                bases: &bases,
                shells: &none,
                permits_unsandboxed: false,
                holds_floor: true,
                connection: RunnerConnection::Link,
                load: self.known[server][*runner] * 1000 / SLOTS,
            })
            .collect();
        let wants = Wants { labels: &none, base: None, shell: Shell::Bash, unsandboxed: false };
        let random = &mut self.random;
        let picked = choose(&known, &wants, &mut |bound| random.below(bound)).ok()?.id;
        let picked = numbers.iter().copied().find(|runner| &self.runners[*runner] == picked);
        self.outcome.decisions.push(begun.elapsed());
        picked
    }

    /// Simulates servers that know their own placements, and those of others as of the last poll.
    fn by_servers(mut self) -> Outcome {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            self.now = at;
            match event {
                Event::Arrival(index) => {
                    let server = self.random.below(SERVERS);
                    let runner = self.choose(server, false).unwrap();
                    self.offer(index, runner, server);
                }
                Event::End { runner, server } => {
                    self.ended(runner, server);
                    if let Some(next) = self.waiting[runner].pop(&self.served) {
                        self.begin(next, runner, server);
                    }
                }
                Event::Poll => {
                    self.note_spread();
                    self.known = vec![self.taken.clone(); SERVERS];
                    self.move_on();
                    if !self.events.is_empty() {
                        self.later(self.now + POLL, Event::Poll);
                    }
                }
            }
        }
        self.outcome
    }

    /// Offers an execution to a runner, which decides.
    fn offer(&mut self, index: usize, runner: usize, server: usize) {
        if self.taken[runner] < SLOTS && self.waiting[runner].is_empty() {
            return self.begin(index, runner, server);
        }
        // A refusal shows the server the placements of others.
        self.outcome.refused += u64::from(self.known[server][runner] < SLOTS);
        self.known[server][runner] = self.known[server][runner].max(SLOTS);
        self.waiting[runner].push(self.work[index].tenant, index);
    }

    /// Moves executions that wait for a full runner to one with a free slot.
    fn move_on(&mut self) {
        for runner in 0..RUNNERS {
            while self.taken[runner] >= SLOTS && !self.waiting[runner].is_empty() {
                let server = self.random.below(SERVERS);
                let Some(other) = self.choose(server, true) else { return };
                let Some(index) = self.waiting[runner].pop(&self.served) else { break };
                self.offer(index, other, server);
            }
        }
    }

    /// Simulates a central scheduler that sees every slot and queue at any time, and places on the least loaded runner.
    fn centrally(mut self) -> Outcome {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            self.now = at;
            match event {
                Event::Arrival(index) => self.waiting[0].push(self.work[index].tenant, index),
                Event::End { runner, server } => self.ended(runner, server),
                Event::Poll => {
                    self.note_spread();
                    if !self.events.is_empty() {
                        self.later(self.now + POLL, Event::Poll);
                    }
                }
            }
            loop {
                let begun = Instant::now();
                let Some(runner) = (0..RUNNERS).min_by_key(|runner| self.taken[*runner]) else { break };
                if self.taken[runner] >= SLOTS {
                    break;
                }
                let Some(next) = self.waiting[0].pop(&self.served) else { break };
                self.outcome.decisions.push(begun.elapsed());
                self.begin(next, runner, 0);
            }
        }
        self.outcome
    }
}

fn quantile<T: Copy + PartialOrd>(values: &[T], percent: usize) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
}

fn print_row(name: &str, fleet: f64, central: f64) {
    let ratio = if central < COMPARABLE { String::new() } else { format!("{:.2}", fleet / central) };
    println!("| {name} | {fleet:.3} | {central:.3} | {ratio} |");
}

fn print(fleet: &Outcome, central: &Outcome) {
    println!("| | 10 servers | ideal | ratio |\n|---|---|---|---|");
    let classes: [(&str, std::ops::Range<usize>); 3] = [
        ("burst of 30,000 by one tenant", HEAVY..HEAVY + 1),
        ("tenant of weight 4", WEIGHTY..WEIGHTY + 1),
        ("the 18 others", WEIGHTY + 1..TENANTS),
    ];
    for (name, tenants) in classes {
        for percent in [50, 99] {
            let wait = |of: &Outcome| {
                quantile(&of.waits[tenants.clone()].concat(), percent).unwrap() as f64 / SECOND as f64
            };
            print_row(&format!("queue time, {name}, p{percent} (s)"), wait(fleet), wait(central));
        }
    }
    let spread = |of: &Outcome, percent| quantile(&of.spread, percent).unwrap();
    print_row("slots taken, most on one runner / mean, p50", spread(fleet, 50), spread(central, 50));
    print_row("slots taken, most on one runner / mean, p99", spread(fleet, 99), spread(central, 99));
    let ran = |of: &Outcome| *of.ran.iter().max().unwrap() as f64 * RUNNERS as f64 / EXECUTIONS as f64;
    print_row("executions, most on one runner / mean", ran(fleet), ran(central));
    print_row("everything over after (s)", fleet.over as f64 / 1e6, central.over as f64 / 1e6);
    for percent in [50, 99] {
        let decision = |of: &Outcome| quantile(&of.decisions, percent).unwrap().as_nanos() as f64;
        print_row(&format!("one decision, p{percent} (ns, real)"), decision(fleet), decision(central));
    }
    println!("\noffers that a runner refused because another server had been there: {}", fleet.refused);
}

fn main() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    println!("{EXECUTIONS} executions, {RUNNERS} runners of {SLOTS} slots, {SERVERS} servers, seed {seed}\n");
    let work = work(seed);
    let fleet = Fleet::new(&work, seed, RUNNERS).by_servers();
    let central = Fleet::new(&work, seed, 1).centrally();
    for outcome in [&fleet, &central] {
        let placed: usize = outcome.waits.iter().map(Vec::len).sum();
        assert_eq!(placed, EXECUTIONS, "each was placed once");
    }
    print(&fleet, &central);
}
