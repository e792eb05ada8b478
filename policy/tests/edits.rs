//! File edits: the spellings of `sed -i` that are recognized, and similar texts that stay commands.

use airlock_policy::{Decision, Profile, Request, decide};

/// Spellings of `sed -i` with the edited files; a backup follows its file after `>`.
const EDITS: &[(&str, &str)] = &[
    ("sed -i s/a/b/ f", "/workspace/f"),
    ("sed -i 's/a/b/g' f", "/workspace/f"),
    ("sed -i \"s/a/b/\" ./f", "/workspace/f"),
    ("sed -i 's/a/b/' /workspace/src/f", "/workspace/src/f"),
    ("sed -i 's|/usr/bin|/bin|' f", "/workspace/f"),
    ("sed -i s/a/b/ f g h", "/workspace/f /workspace/g /workspace/h"),
    ("sed -i -e s/a/b/ f", "/workspace/f"),
    ("sed -i -e s/a/b/ -e s/c/d/ f", "/workspace/f"),
    ("sed -e s/a/b/ -i f", "/workspace/f"),
    ("sed s/a/b/ -i f", "/workspace/f"),
    ("sed s/a/b/ f -i", "/workspace/f"),
    ("sed -i --expression=s/a/b/ f", "/workspace/f"),
    ("sed -i --expression s/a/b/ f", "/workspace/f"),
    ("sed -i -E 's/(a|b)/c/' f", "/workspace/f"),
    ("sed -E -i 's/(a|b)/c/' f", "/workspace/f"),
    ("sed -r -i 's/(a|b)/c/' f", "/workspace/f"),
    ("sed -Ei 's/(a|b)/c/' f", "/workspace/f"),
    ("sed -i --regexp-extended 's/a+/b/' f", "/workspace/f"),
    ("sed -i.bak s/a/b/ f", "/workspace/f>/workspace/f.bak"),
    ("sed -i.bak -E 's/a/b/' f g", "/workspace/f>/workspace/f.bak /workspace/g>/workspace/g.bak"),
    ("sed -ie s/a/b/ f", "/workspace/f>/workspace/fe"),
    ("sed -iE s/a/b/ f", "/workspace/f>/workspace/fE"),
    ("sed -i'old_*' s/a/b/ f", "/workspace/f>/workspace/old_f"),
    ("sed -i'*.bak' s/a/b/ src/f", "/workspace/src/f>/workspace/src/f.bak"),
    ("sed -i'*' s/a/b/ f", "/workspace/f"),
    ("sed --in-place s/a/b/ f", "/workspace/f"),
    ("sed --in-place=.orig s/a/b/ f", "/workspace/f>/workspace/f.orig"),
    ("sed --in-place= s/a/b/ f", "/workspace/f"),
    ("sed --in-pl=~ s/a/b/ f", "/workspace/f>/workspace/f~"),
    ("sed -n -i /a/p f", "/workspace/f"),
    ("sed -ni /a/p f", "/workspace/f"),
    ("sed -i -n -e /a/p -- f", "/workspace/f"),
    ("sed -s -i 1d f g", "/workspace/f /workspace/g"),
    ("sed -z -i 's/\\n/ /g' f", "/workspace/f"),
    ("sed --null-data --in-place 's/\\n/ /g' f", "/workspace/f"),
    ("sed --posix -i s/a/b/ f", "/workspace/f"),
    ("sed --sandbox -i s/a/b/ f", "/workspace/f"),
    ("sed -u -l 20 -i l f", "/workspace/f"),
    ("sed -i '$d' f", "/workspace/f"),
    ("sed -i '2,4d;/x/!s/a/b/' f", "/workspace/f"),
    ("sed -i '1i\\header' f", "/workspace/f"),
    ("sed -i '/x/{s/a/b/;n;d}' f", "/workspace/f"),
    ("sed -i 'y/abc/xyz/' f", "/workspace/f"),
    ("sed -i 's/a/b/\ns/c/d/' f", "/workspace/f"),
    ("/usr/bin/sed -i s/a/b/ f", "/workspace/f"),
    ("  sed -i s/a/b/ f\n", "/workspace/f"),
    ("sed -i s/a/b/ 'with space'", "/workspace/with space"),
];

/// Texts that look like a file edit and are commands.
const COMMANDS: &[&str] = &[
    "sed s/a/b/ f",
    "sed -i s/a/b/ f | cat",
    "sed -i s/a/b/ f && make",
    "sed -i s/a/b/ f; sed -i s/a/b/ g",
    "sed -i s/a/b/ f\nrm g",
    "sed -i s/a/b/ f &",
    "(sed -i s/a/b/ f)",
    "if sed -i s/a/b/ f; then :; fi",
    "! sed -i s/a/b/ f",
    "sed -i s/a/b/ f > out",
    "sed -i s/a/b/ f 2>&1",
    "sed -i s/a/b/ f < in",
    "LC_ALL=C sed -i s/a/b/ f",
    "sed -i \"$script\" f",
    "sed -i \"s/a/$b/\" f",
    "sed -i s/a/b/ \"$file\"",
    "sed -i s/a/b/ $(ls)",
    "sed -i s/a/b/ *.txt",
    "sed -i s/a/b/ {f,g}",
    "sed -i s/a/b/ ~/f",
    "sed -i s/a/b/ /tmp/f",
    "sed -i s/a/b/ /etc/passwd",
    "sed --in-place s/a/b/ ../f",
    "sed -i s/a/b/ d/../f",
    "sed -i s/a/b/ /workspace",
    "sed -i s/a/b/ d/",
    "sed -i s/a/b/ -",
    "sed -i s/a/b/",
    "sed -i s/a/b/e f",
    "sed -i 's/a/b/ge' f",
    "sed -i 's/a/b/w out' f",
    "sed -i 'w out' f",
    "sed -i 'W out' f",
    "sed -i 'r in' f",
    "sed -i 'R in' f",
    "sed -i '1e id' f",
    "sed -i e f",
    "sed -i '/x/{e' -e '}' f",
    "sed -i 'v 4.2' f",
    "sed -i 's/a/b/' -f script f",
    "sed -i -f script f",
    "sed -i --file=script f",
    "sed -i --follow-symlinks s/a/b/ f",
    "sed -i --debug s/a/b/ f",
    "sed -i --unknown s/a/b/ f",
    "sed -i --help",
    "sed -i'bak/*' s/a/b/ f",
    // Here sed names the backup `old_src/f`.
    "sed -i'old_*' s/a/b/ src/f",
    // The second word is an empty script, and `s/a/b/` a file.
    "sed -i '' s/a/b/ f",
    "sed -i s/a/b/ f f",
    "sed -i s/a/b/ f ./f",
    "sed -i.bak s/a/b/ f f.bak",
    "sed -i s/a/b/ 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    "xargs sed -i s/a/b/",
    "xargs sed -i s/a/b/ f",
    "env sed -i s/a/b/ f",
    "sudo sed -i s/a/b/ f",
    "command sed -i s/a/b/ f",
    "find . -name f -exec sed -i s/a/b/ {} +",
    "sh -c 'sed -i s/a/b/ f'",
    "./sed -i s/a/b/ f",
    "gsed -i s/a/b/ f",
    "sed() { :; }; sed -i s/a/b/ f",
    "cd src && sed -i s/a/b/ f",
    "sed -i s/a/b/ f # comment",
    "sed -i s/a/b/ f\u{a0}",
];

fn decided(command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &Profile::builtin("strict").unwrap())
}

fn shown(decision: &Decision) -> Option<String> {
    let edit = decision.edit.as_ref()?;
    let file = |file: &airlock_policy::EditedFile| match &file.backup {
        Some(backup) => format!("{}>{backup}", file.path),
        None => file.path.clone(),
    };
    Some(edit.files.iter().map(file).collect::<Vec<_>>().join(" "))
}

#[test]
fn each_spelling_of_a_file_edit_is_recognized_with_its_files() {
    let wrong: Vec<String> = EDITS
        .iter()
        .filter_map(|(command, files)| {
            let found = shown(&decided(command));
            (found.as_deref() != Some(files)).then(|| format!("{command:?}: {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(EDITS.len() >= 30);
}

#[test]
fn a_text_that_is_no_plain_edit_stays_a_command() {
    let wrong: Vec<&&str> = COMMANDS.iter().filter(|command| decided(command).edit.is_some()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn an_edit_states_its_script_its_options_and_its_suffix() {
    let edit = decided("sed -n -E -i.bak -e s/a/b/ -e p f").edit.unwrap();
    assert_eq!(edit.expressions, ["s/a/b/", "p"]);
    assert_eq!(edit.options, ["quiet", "regexp-extended"]);
    assert_eq!(edit.suffix.as_deref(), Some(".bak"));
}

#[test]
fn an_edit_never_changes_the_verdict() {
    for (command, _) in EDITS {
        let decision = decided(command);
        assert_eq!(decision.verdict, airlock_policy::Verdict::Ask, "{command}");
    }
}
