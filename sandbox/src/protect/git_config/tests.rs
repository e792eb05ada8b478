//! Compares the parser of configurations with git itself.

use std::process::{Command, Stdio};

use super::*;

/// Returns the settings that git reads, as `section.key=value`. `None` if git rejects the configuration.
fn by_git(text: &[u8]) -> Option<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    std::fs::write(&file, text).unwrap();
    let output = Command::new("git")
        .args(["config", "--list", "-z", "--no-includes", "-f"])
        .arg(&file)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let entries = listed.split_terminator('\0').map(|entry| match entry.split_once('\n') {
        Some((key, value)) => format!("{key}={value}"),
        None => format!("{entry}=true"),
    });
    output.status.success().then(|| entries.collect())
}

fn by_us(text: &[u8]) -> Option<Vec<String>> {
    Some(settings(text)?.iter().map(Setting::to_string).collect())
}

#[test]
fn configurations_are_read_as_git_reads_them() {
    let texts: [&[u8]; 30] = [
        b"",
        b"[core]\n\tfsmonitor = a\n",
        b"[core] fsmonitor = a",
        b"[CoRe]\nFsMonitor=a # b\n",
        b"\xef\xbb\xbf[core]\r\n\tpager = a  \r\n",
        b"[core]\neditor = \"a # b\" ; c\n",
        b"[core]\neditor = a\\\n  b\n",
        b"[core]\neditor = a \\\n  b\n",
        b"[core]\neditor = a\\tb\\n\\\"c\\\\\n",
        b"[core]\neditor = a\\qb\n",
        b"[core]\neditor = \"a\n",
        b"[core]\neditor\n",
        b"[core]\neditor  \t = x\n",
        b"[core]\neditor # c\n",
        b"[diff \"A.b\"]\ntextconv = x\n",
        b"[diff.A.b]\ntextconv = x\n",
        b"[diff   \"a\\\"b\\\\c\\d\"] textconv = x\n",
        b"[diff \"a\nb\"]\nx = y\n",
        b"[diff \"a\" ]\nx = y\n",
        b"x = y\n",
        b"[core\nx = y\n",
        b"[co_re]\nx = y\n",
        b"[core]\n1x = y\n",
        b"[core]\nx1-y = y\n",
        b"[core]\nx_y = y\n",
        b"[core]\nx =   a   b   \n",
        b"[core]\nx = \"  a\" b \"c  \"   \n[alias]\nl = !x",
        b"; c\n# d\n[a]b=c[d]e=f\n",
        b"[core]\nx = a\"b;\"c;d\n\n\n  y=\n",
        b"[core]\nx = a\\\r\nb\n",
    ];
    for text in texts {
        assert_eq!(by_us(text), by_git(text), "{}", text.escape_ascii());
    }
}

#[test]
fn made_up_configurations_are_read_as_git_reads_them() {
    let parts: [&[u8]; 22] = [
        b"[core]",
        b"[diff \"x\"]",
        b"pager",
        b"=",
        b" ",
        b"\t",
        b"\n",
        b"\r\n",
        b"\"",
        b"\\",
        b"\\\n",
        b"#",
        b";",
        b"x",
        b"!",
        b"[",
        b"]",
        b".",
        b"-",
        b"\\t",
        b"\n[a]\nk = v",
        b"A",
    ];
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..400 {
        let text: Vec<u8> =
            (0..random.usize(1..12)).flat_map(|_| parts[random.usize(..parts.len())].to_vec()).collect();
        assert_eq!(by_us(&text), by_git(&text), "{}", text.escape_ascii());
        assert_rest_is_the_same(&text);
    }
}

/// Checks that a configuration without programs has the same settings for git as before, except those that run
/// programs.
fn assert_rest_is_the_same(text: &[u8]) {
    let Some(before) = by_git(text) else { return };
    let runs = started_programs(text).unwrap();
    let kept: Vec<_> = before.into_iter().filter(|one| !runs.contains(one) && one.contains('.')).collect();
    let rest = without_programs(text);
    let read: Vec<_> = by_git(&rest).unwrap().into_iter().collect();
    assert_eq!(read, kept, "{} became {}", text.escape_ascii(), rest.escape_ascii());
}

#[test]
fn what_is_left_without_programs_is_what_git_read_before() {
    for text in [
        &b"[core]\nbare = false\nfsmonitor = x\nworktree = ../a\n[alias]\nst = status\nx = !y\n"[..],
        b"[remote \"o.r=\\\"i\\\\g\"]\nurl = \"https://h/#a;b\"\nfetch = +a:b\nuploadpack = x\n",
        b"[branch.main]\nmerge = \" refs \\t\\n\\b\\\"\\\\ \"\n[include]\npath = x\n[user]\nname\n",
        b"[diff \"a=b\"]\ntextconv = x\nbinary = true\n[a \"\"]\nb = c\n[a \".b.\"]\nc = d\n",
        b"[core]\nx = a\rb\n",
    ] {
        assert_rest_is_the_same(text);
    }
    assert_eq!(without_programs(b"[core\nfsmonitor = x"), b"", "what git refuses becomes empty");
    let leads =
        leads(b"[core]\nhooksPath = .husky\n[includeIf \"gitdir:/\"]\npath = ../x\n[include]\npath = y\n");
    assert_eq!((leads.hooks, leads.includes), (vec![".husky".into()], vec!["../x".into(), "y".into()]));
}

#[test]
fn settings_that_run_programs_are_told_from_others() {
    let runs = "[core]\nfsmonitor=x\nhooksPath=x\nsshCommand=x\npager=x\neditor=x\naskPass=x\nworktree=/\n\
        [diff]\nexternal=x\n[diff \"a\"]\ntextconv=x\ncommand=x\n[filter \"a\"]\nclean=x\nsmudge=x\nprocess=x\n\
        [alias]\na = !x\n[credential]\nhelper=x\n[credential \"https://a\"]\nhelper=x\n[include]\npath=x\n\
        [includeIf \"gitdir:/\"]\npath=x\n[gpg]\nprogram=x\n[gpg \"ssh\"]\nprogram=x\n[pager]\nlog=x\n\
        [sequence]\neditor=x\n[merge \"a\"]\ndriver=x\n[difftool \"a\"]\ncmd=x\n[init]\ntemplateDir=x\n\
        [remote \"a\"]\nurl=ext::sh -c x\nuploadpack=x\n[submodule \"a\"]\nupdate=!x\n[uploadpack]\npackObjectsHook=x\n\
        [interactive]\ndiffFilter=x\n[protocol \"ext\"]\nallow=always\n[hook \"a\"]\ncommand=x\n";
    let found = programs(runs.as_bytes()).unwrap();
    let written = runs.lines().filter(|line| !line.starts_with('[')).count();
    assert_eq!(found.len(), written, "{found:?}");

    let harmless = "[core]\nbare=false\nfilemode=true\n[remote \"origin\"]\nurl=https://h/a.git\nfetch=+a:b\n\
        url=git@h:a/b.git\n[branch \"a\"]\nremote=origin\nmerge=refs/heads/a\n[alias]\nst=status\n\
        [user]\nname=x\nsigningkey=x\n[submodule \"a\"]\nurl=../a\nactive=true\nupdate=rebase\n[url \"ssh://a\"]\ninsteadOf=b\n";
    assert_eq!(programs(harmless.as_bytes()), Some(BTreeSet::new()));
    assert_eq!(programs(b"[core\nfsmonitor=x"), None);
}
