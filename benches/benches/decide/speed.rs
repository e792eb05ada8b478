//! The number of decisions per second on one core, and the ratio to tree-sitter's bare parse by
//! construct.

use std::{collections::BTreeMap, hint::black_box, time::Duration};

use airlock_benches::Alternative;
use airlock_policy::{Profile, Request, decide};
use rustix::time::{ClockId, clock_gettime};

use super::commands::Command;

const PASSES: usize = 200;
const ROUNDS: usize = 51;

/// The intended number of decisions per second on one core.
const AIM: f64 = 100_000.0;

/// Returns the time that this thread has been on a core. Waiting for a busy core does not count.
pub(crate) fn core_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// Measures passes over the whole list and prints the median pass.
pub(crate) fn throughput(commands: &[Command]) {
    println!("decisions a second on one core, profile `strict` (aim for the core tier: {AIM:.0})");
    let core: Vec<&Command> = commands.iter().filter(|command| command.tier == "core").collect();
    for (name, list) in [("core tier", core), ("all", commands.iter().collect())] {
        let per_second = list.len() as f64 / pass(&list).as_secs_f64();
        println!("  {name:<10} {:>4} commands {per_second:>10.0} a second", list.len());
    }
}

fn pass(list: &[&Command]) -> Duration {
    let profile = Profile::builtin("strict").unwrap();
    let mut alternative = Alternative::new("a pass");
    for _ in 0..PASSES {
        let begun = core_time();
        for command in list {
            black_box(decide(&Request::bash(black_box(command.text.as_bytes())), &profile));
        }
        alternative.note(core_time() - begun);
    }
    alternative.median()
}

/// Prints the median command of each construct, measured alternately with its bare parse.
pub(crate) fn by_construct(commands: &[Command]) {
    let mut found: BTreeMap<&str, Vec<(Duration, Duration)>> = BTreeMap::new();
    for command in commands {
        found.entry(construct_of(&command.text)).or_default().push(parse_and_decide(&command.text));
    }
    println!("\nmedians by construct: tree-sitter's bare parse, decide, ratio");
    let every: Vec<_> = found.values().flatten().copied().collect();
    let named = constructs().filter_map(|name| Some((name, found.get(name)?.clone())));
    for (name, times) in named.chain([("every construct", every)]) {
        let parse = median(times.iter().map(|(parse, _)| parse.as_secs_f64()));
        let decide = median(times.iter().map(|(_, decide)| decide.as_secs_f64()));
        let ratio = median(times.iter().map(|(parse, decide)| decide.as_secs_f64() / parse.as_secs_f64()));
        let count = times.len();
        println!(
            "  {name:<18} {count:>4} commands {:>8.1} us {:>8.1} us {ratio:>7.2} x",
            parse * 1e6,
            decide * 1e6
        );
    }
}

fn parse_and_decide(text: &str) -> (Duration, Duration) {
    let profile = Profile::builtin("strict").unwrap();
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let (mut parse, mut all) = (Alternative::new("parse"), Alternative::new("decide"));
    for _ in 0..ROUNDS {
        parse.measure(|| black_box(parser.parse(black_box(text), None)));
        all.measure(|| black_box(decide(&Request::bash(black_box(text.as_bytes())), &profile)));
    }
    (parse.median(), all.median())
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

type Construct = (&'static str, fn(&str) -> bool);

const CONSTRUCTS: &[Construct] = &[
    ("heredoc", |text| text.contains("<<") && !text.contains("<<<")),
    ("function", |text| text.contains("() {") || text.contains("function ")),
    ("loop or condition", |text| any(text, &["for ", "while ", "until ", "if ", "case ", "select "])),
    ("substitution", |text| any_in(text, &["$(", "`", "<(", ">("])),
    ("arithmetic or [[", |text| any_in(text, &["((", "$[", "[[ "])),
    ("launcher", |text| any(text, &["xargs ", "sudo ", "env ", "sh -c", "bash -c", "timeout ", "nice "])),
    ("find -exec", |text| any_in(text, &["-exec", "-ok"])),
    ("program text", |text| any(text, &["awk ", "sed ", "jq "])),
    ("expansion", |text| text.contains('$')),
    ("braces", |text| text.contains('{') && text.contains(',')),
    ("list", |text| any_in(text, &["&&", "||", ";", "\n", " & "])),
    ("pipeline", |text| text.contains('|')),
    ("redirect", |text| any_in(text, &[">", "<"])),
    ("glob", |text| any_in(text, &["*", "?"])),
    ("quotes", |text| any_in(text, &["'", "\"", "\\"])),
    ("plain words", |_| true),
];

/// Reports whether a word starts with one of `words`.
fn any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.starts_with(word) || text.contains(&format!(" {word}")))
}

fn any_in(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// Returns the names of all constructs.
fn constructs() -> impl Iterator<Item = &'static str> {
    CONSTRUCTS.iter().map(|(name, _)| *name)
}

/// Returns the construct of a command: the first one in the list that the command contains.
fn construct_of(text: &str) -> &'static str {
    CONSTRUCTS.iter().find(|(_, holds)| holds(text)).map_or("plain words", |(name, _)| name)
}
