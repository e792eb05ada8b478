//! PowerShell texts: common ones of agents, and the slowest known ones by construct.

use std::hint::black_box;
use std::time::Duration;

use airlock_benches::Alternative;
use airlock_policy::{Profile, Request, Shell, decide, limits};

use super::hostile::{Case, RuleKind};
use super::speed::{core_time, median};

const PASSES: usize = 200;
const ROUNDS: usize = 51;

/// Common texts, by construct.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "plain words",
        &[
            "Get-ChildItem -Recurse src",
            "gci *.rs",
            "Get-Content README.md -TotalCount 20",
            "Get-Date",
            "git status --short",
            "git log --oneline -n 5",
            "ls -la src",
            "Test-Path target/debug",
            "Select-String -Path src/main.rs -Pattern 'fn main'",
            "Set-Location docs",
            "Remove-Item -Recurse target",
            "New-Item -ItemType Directory -Path out",
            "Copy-Item a.txt b.txt -Force",
            "Get-Process -Name pwsh",
            "Get-Command git",
        ],
    ),
    (
        "pipeline",
        &[
            "Get-ChildItem -Recurse | Where-Object Length -gt 1000 | Select-Object Name, Length",
            "gci | Sort-Object Length -Descending | Select-Object -First 5",
            "Get-Content a.log | Select-String error | Measure-Object",
            "Get-Process | ConvertTo-Json",
            "Import-Csv data.csv | Group-Object Name",
            "Get-Item a.txt | Format-List *",
        ],
    ),
    (
        "script block",
        &[
            "gci | ? { $_.Length -gt 1kb } | % { $_.FullName }",
            "Get-Content a.txt | ForEach-Object { $_.ToUpper() }",
            "1..10 | % { \"item $_\" }",
            "Measure-Command { Get-ChildItem -Recurse }",
        ],
    ),
    (
        "expression",
        &[
            "(Get-Date).AddDays(-1)",
            "[math]::Round(1.5)",
            "\"$PWD/a.txt\"",
            "$x = Get-Content a.txt -Raw; $x.Length",
            "@{ a = 1; b = 2 } | ConvertTo-Json",
            "'a,b,c' -split ','",
            "$files = Get-ChildItem; $files.Count",
            "[IO.File]::ReadAllText('a.txt')",
        ],
    ),
    (
        "statement",
        &[
            "if (Test-Path a.txt) { Get-Content a.txt } else { 'none' }",
            "foreach ($f in Get-ChildItem *.rs) { $f.Name }",
            "try { Get-Content a.txt -ErrorAction Stop } catch { Write-Error $_ }",
            "function f($x) { $x * 2 }; f 4",
        ],
    ),
];

/// Parts that are repeated without their end.
const PARTS: &[&str] = &[
    "gci ",
    "gci;",
    "gci|",
    "a\n",
    "$",
    "$x.",
    "$x[",
    "(",
    "$(",
    "@(",
    "@{",
    "@{a=",
    "{",
    "\"",
    "\"$(",
    "'",
    "`",
    "#",
    "<#",
    "@'\n",
    "@\"\n",
    "[",
    "[a(",
    "[a[",
    "if(",
    "if(1){",
    "switch(1){",
    "function f{",
    "class A{",
    "try{",
    "-a:",
    "1,",
    "!",
    "-not ",
    "1+",
    "& ",
    "|%{",
    "--% ",
    "> a ",
    "${",
    "a.b ",
    "1..",
    "x=",
    "\u{201c}",
    "[a]",
    "$x=",
    "gci @p;",
    "[IO.File]::x;",
    "function a{};a;",
    "$p=@{a='b'};gci @p;",
    "-Path:",
    "\u{2013}",
    "iex 'iex ''",
    "?",
    "%x ",
    "trap{",
    ";",
    "&&",
    "a.b.c::d(",
];

/// Parts that are opened and closed up to the deepest nesting.
const PAIRS: &[(&str, &str)] = &[
    ("(", ")"),
    ("$(", ")"),
    ("\"$(", ")\""),
    ("@(", ")"),
    ("@{a=", "}"),
    ("{", "}"),
    ("& {", "}"),
    ("if(1){", "}"),
    ("gci (", ")"),
    ("$x[", "]"),
    ("[a(", ")]$x"),
    ("f(", ")"),
    ("$x.f(", ")"),
    ("% {", "}"),
    ("function f{", "}"),
    ("try{", "}catch{}"),
];

/// Measures passes over the common texts, then each construct beside the bare parse by Airlock's own parser.
pub(crate) fn measure() {
    let profile = Profile::builtin("strict").unwrap();
    let all: Vec<&str> = TEXTS.iter().flat_map(|(_, texts)| texts.iter().copied()).collect();
    let mut pass = Alternative::new("a pass");
    for _ in 0..PASSES {
        let begun = core_time();
        for text in &all {
            black_box(decide(&request(text.as_bytes()), &profile));
        }
        pass.note(core_time() - begun);
    }
    let per_second = all.len() as f64 / pass.median().as_secs_f64();
    println!("\nPowerShell: decisions a second on one core, profile `strict` (aim: 100000)");
    println!("  {:>4} texts {per_second:>10.0} a second", all.len());
    println!("\nPowerShell, medians by construct: bare parse, decide, ratio");
    for (construct, texts) in TEXTS {
        let times: Vec<(Duration, Duration)> =
            texts.iter().map(|text| parse_and_decide(text, &profile)).collect();
        let parse = median(times.iter().map(|(parse, _)| parse.as_secs_f64()));
        let decide = median(times.iter().map(|(_, decide)| decide.as_secs_f64()));
        let ratio = median(times.iter().map(|(parse, decide)| decide.as_secs_f64() / parse.as_secs_f64()));
        let (parse, decide) = (parse * 1e6, decide * 1e6);
        println!(
            "  {construct:<18} {:>4} texts {parse:>8.1} us {decide:>8.1} us {ratio:>7.2} x",
            times.len()
        );
    }
}

fn request(text: &[u8]) -> Request<'_> {
    Request { shell: Shell::Pwsh, ..Request::bash(text) }
}

fn parse_and_decide(text: &str, profile: &Profile) -> (Duration, Duration) {
    let (mut parse, mut all) = (Alternative::new("parse"), Alternative::new("decide"));
    for _ in 0..ROUNDS {
        parse.measure(|| black_box(airlock_powershell::parse(black_box(text))));
        all.measure(|| black_box(decide(&request(black_box(text.as_bytes())), profile)));
    }
    (parse.median(), all.median())
}

/// Returns the slowest known texts.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let case = |construct: String, text: String, rules| Case {
        construct,
        text: text.into_bytes(),
        rules,
        shell: Shell::Pwsh,
    };
    for part in PARTS {
        for length in [limits::MAX_PARSED_BYTES, limits::MAX_COMMAND_BYTES] {
            let text = part.repeat(length / part.len());
            all.push(case(format!("pwsh: repeated {part:?}"), text.clone(), RuleKind::None));
            all.push(case("pwsh: rules: globs".to_owned(), text, RuleKind::Globs));
        }
    }
    for (open, close) in PAIRS {
        for depth in [1, 4, 16, 30, 60] {
            let one = format!("{}a{}\n", open.repeat(depth), close.repeat(depth));
            let text = one.repeat(limits::MAX_COMMAND_BYTES / one.len());
            all.push(case(format!("pwsh: {open}"), text, RuleKind::None));
        }
    }
    all
}
