//! Claims about PowerShell texts with a known meaning. A generator chooses commands with their parameters and values,
//! and writes them in one of the many forms that PowerShell permits. The policy must find each command with these
//! parameters and values, call a text read-only only if all of its commands read, and deny each command that a rule
//! denies.

#[path = "powershell_meaning/program.rs"]
mod program;
#[path = "powershell_meaning/spelling.rs"]
mod spelling;

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Verdict, decide};

use self::program::{Planned, Program};
use self::spelling::Random;

/// Decides a text; with a rule that denies the cmdlet, in the loosest mode.
fn decided(text: &str, denied: Option<&str>) -> Decision {
    let deny: Vec<String> = denied.into_iter().map(|name| format!("PowerShell({name}:*)")).collect();
    let rules = Rules::parse(&[], &[], &deny).unwrap();
    let mode = denied.map(|_| Mode::Bypass);
    let profile = if denied.is_some() { "sandboxed" } else { "strict" };
    let request =
        Request { shell: Shell::Pwsh, mode, extra_rules: Some(&rules), ..Request::bash(text.as_bytes()) };
    decide(&request, &Profile::builtin(profile).unwrap())
}

/// Returns the commands that the decision names, in the form of the plan, without those of the structure.
fn found(decision: &Decision) -> Vec<Planned> {
    const OF_STRUCTURE: [&str; 3] = ["ForEach-Object", "Invoke-Command", "Measure-Command"];
    let readings = decision.commands.iter().filter_map(|command| command.powershell.as_ref());
    let cmdlets = readings
        .filter(|reading| reading.command.as_deref().is_some_and(|command| !OF_STRUCTURE.contains(&command)));
    let mut all: Vec<Planned> = cmdlets
        .map(|reading| {
            let mut parameters: Vec<(String, Vec<Option<String>>)> = reading
                .parameters
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.values.clone()))
                .collect();
            parameters.sort();
            Planned { command: reading.command.clone().unwrap_or_default(), parameters }
        })
        .collect();
    all.sort();
    all
}

/// Checks every claim about one text.
fn check(program: &Program) {
    let text = &program.text;
    let decision = decided(text, None);
    assert!(decision.parse_complete, "not complete: {text:?}");
    assert_eq!(found(&decision), program.planned(), "of {text:?}");
    assert_eq!(decision.read_only, program.reads_only(), "{text:?}: {:?}", decision.reasons);
    assert!(program.reads_only() || decision.verdict != Verdict::Allow, "{text:?} is allowed");
    for command in program.commands() {
        let denied = decided(text, Some(command));
        assert_eq!(denied.verdict, Verdict::Deny, "{command} is not denied in {text:?}");
    }
    let other = decided(text, Some("Restart-Computer"));
    assert_ne!(other.verdict, Verdict::Deny, "denied by a rule for another command: {text:?}");
}

fn run(seed: u64, count: usize) {
    let mut random = Random::new(seed);
    let (mut reading, mut changing) = (0, 0);
    for _ in 0..count {
        let program = Program::generate(&mut random);
        check(&program);
        *(if program.reads_only() { &mut reading } else { &mut changing }) += 1;
    }
    assert!(reading > count / 10 && changing > count / 10, "{reading} and {changing} of {count}");
}

#[test]
fn the_generator_makes_the_same_texts_of_a_seed() {
    let texts = |seed| {
        let mut random = Random::new(seed);
        (0..50).map(|_| Program::generate(&mut random).text).collect::<Vec<_>>()
    };
    assert_eq!(texts(7), texts(7));
    assert_ne!(texts(7), texts(8));
}

/// A wrong meaning must be noticed.
#[test]
fn the_claims_fail_for_another_meaning() {
    let mut random = Random::new(3);
    let noticed = (0..200).filter(|_| {
        let program = Program::generate(&mut random);
        let without = program.planned().into_iter().skip(1).collect::<Vec<_>>();
        found(&decided(&program.text, None)) != without
    });
    assert_eq!(noticed.count(), 200);
}

mod sample {
    #[test]
    fn every_claim_holds_for_generated_texts() {
        super::run(airlock_sampling::seed(), airlock_sampling::extent(2_000, 60_000));
    }
}
