//! The share of texts that are labelled read-only and that the policy proves read-only. The labels are in
//! `test_data/powershell_read_only`, by id.

use std::collections::HashMap;

use airlock_policy::Profile;

use crate::decided::decided;

/// The least share, in percent.
const LEAST: usize = 92;
/// The largest number of texts that are printed.
const MAX_SHOWN: usize = 60;

const EVERYDAY: &str = include_str!("../../test_data/powershell_read_only/everyday.txt");
const DOCUMENTATION: &str = include_str!("../../test_data/powershell_read_only/documentation.txt");

/// Prints the share of each set. Returns whether both are large enough.
pub(crate) fn measure(texts: &HashMap<String, String>, profile: &Profile) -> Result<bool, String> {
    let everyday = ids(EVERYDAY).map(|id| (id, true)).collect::<Vec<_>>();
    let label = |line: &'static str| line.split_once(' ').map(|(id, label)| (id, label == "read"));
    let documentation = ids(DOCUMENTATION).filter_map(label).collect::<Vec<_>>();
    let mut holds = true;
    for (name, labels) in [("everyday.jsonl", everyday), ("texts.jsonl, 300 samples", documentation)] {
        holds &= share(name, &labels, texts, profile)?;
    }
    Ok(holds)
}

fn ids(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn share(
    name: &str,
    labels: &[(&str, bool)],
    texts: &HashMap<String, String>,
    profile: &Profile,
) -> Result<bool, String> {
    let (mut labelled, mut proven, mut others) = (0_usize, 0_usize, 0_usize);
    let mut unproven = Vec::new();
    for (id, is_read_only) in labels {
        let text = texts.get(*id).ok_or_else(|| format!("the facts have no text `{id}`"))?;
        let decision = decided(&inside(text), profile);
        match (is_read_only, decision.read_only) {
            (true, found) => {
                labelled += 1;
                proven += usize::from(found);
                let reason = decision.reasons.first().filter(|_| !found);
                unproven.extend(reason.map(|reason| format!("{}: {text:?}", reason.message)));
            }
            (false, found) => others += usize::from(found),
        }
    }
    let holds = proven * 100 >= labelled * LEAST;
    let tenths = proven * 1000 / labelled.max(1);
    println!("labels of {name}");
    println!(
        "  {proven} of {labelled} labelled read-only are proven: {}.{} % (at least {LEAST} %)",
        tenths / 10,
        tenths % 10
    );
    println!("  {others} of {} labelled otherwise are proven", labels.len() - labelled);
    for line in unproven.iter().take(MAX_SHOWN) {
        println!("    {}", line.chars().take(160).collect::<String>());
    }
    Ok(holds)
}

/// Maps the paths of Windows drives into the workspace.
fn inside(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        let is_drive = char.is_ascii_alphabetic() && !previous.is_ascii_alphanumeric();
        if is_drive && rest.as_str().starts_with(":\\") {
            rest.next();
            out.push('.');
        } else {
            out.push(char);
        }
        previous = char;
    }
    out
}
