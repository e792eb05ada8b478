//! git's reading subcommands. git reads configuration that can run programs, and no
//! list of overrides is complete: these are read-only because the runner runs them
//! on a read-only mount without a network.

use super::Operands::{Text, TextAtMost};
use super::{Check, Program};

/// Options that choose and print commits. `=?` also marks those whose value git takes
/// only from the same word.
const REVISIONS: &str = "all branches=? tags=? remotes=? glob= exclude= exclude-hidden=? reflog alternate-refs single-worktree ignore-missing stdin merge boundary bisect cherry cherry-mark cherry-pick left-only right-only left-right first-parent exclude-first-parent-only not max-count= skip= since= after= until= before= since-as-filter= max-age= min-age= author= committer= grep= grep-reflog= all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty merges no-merges min-parents=? max-parents=? no-min-parents no-max-parents walk-reflogs date-order author-date-order topo-order reverse no-walk=? do-walk ancestry-path=? simplify-by-decoration show-pulls full-history dense sparse simplify-merges oneline pretty=? format=? abbrev-commit no-abbrev-commit encoding= expand-tabs=? no-expand-tabs notes=? no-notes show-notes=? relative-date date= parents children graph no-graph show-linear-break=? source use-mailmap mailmap no-mailmap decorate=? no-decorate clear-decorations log-size follow full-diff count timestamp header objects objects-edge unpacked filter=? disk-usage=? quiet help";

/// Options that print differences.
const DIFFS: &str = "patch no-patch unified=? output-indicator-new= output-indicator-old= output-indicator-context= raw patch-with-raw indent-heuristic no-indent-heuristic minimal patience histogram anchored= diff-algorithm= stat=? stat-width= stat-name-width= stat-count= stat-graph-width= compact-summary numstat shortstat dirstat=? cumulative dirstat-by-file=? summary patch-with-stat name-only name-status submodule=? color=? no-color color-moved=? no-color-moved color-moved-ws= no-color-moved-ws word-diff=? word-diff-regex= color-words=? no-renames rename-empty no-rename-empty check ws-error-highlight= full-index binary abbrev=? no-abbrev break-rewrites=? find-renames=? find-copies=? find-copies-harder irreversible-delete diff-filter= pickaxe-all pickaxe-regex skip-to= rotate-to= relative=? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code ignore-submodules=? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= ita-invisible-in-index no-ext-diff no-textconv cached staged merge-base no-index base ours theirs combined-all-paths diff-merges= no-diff-merges cc dd remerge-diff root";

/// Both: `git log`, `git show` and the like take either.
const LOG_LONG: &str = "all branches=? tags=? remotes=? glob= exclude= reflog merge boundary cherry cherry-mark cherry-pick left-only right-only left-right first-parent not max-count= skip= since= after= until= before= author= committer= grep= grep-reflog= all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty merges no-merges min-parents=? max-parents=? no-min-parents no-max-parents walk-reflogs date-order author-date-order topo-order reverse no-walk=? do-walk ancestry-path=? simplify-by-decoration show-pulls full-history dense sparse simplify-merges oneline pretty=? format=? abbrev-commit no-abbrev-commit encoding= expand-tabs=? no-expand-tabs notes=? no-notes relative-date date= parents children graph no-graph show-linear-break=? source use-mailmap mailmap no-mailmap decorate=? no-decorate decorate-refs= decorate-refs-exclude= clear-decorations log-size follow full-diff patch no-patch unified=? raw patch-with-raw indent-heuristic no-indent-heuristic minimal patience histogram anchored= diff-algorithm= stat=? compact-summary numstat shortstat dirstat=? cumulative summary patch-with-stat name-only name-status submodule=? color=? no-color color-moved=? no-color-moved color-moved-ws= word-diff=? word-diff-regex= color-words=? no-renames check ws-error-highlight= full-index binary abbrev=? no-abbrev break-rewrites=? find-renames=? find-copies=? find-copies-harder irreversible-delete diff-filter= pickaxe-all pickaxe-regex relative=? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code ignore-submodules=? src-prefix= dst-prefix= no-prefix no-ext-diff no-textconv quiet cc combined-all-paths diff-merges= no-diff-merges remerge-diff root help";

const LOG_SHORT: &str = "pusU?zn:iEFPgrtmcB?M?C?DS:G:O@l:X?abwWRqvhL:";

const DIFF_SHORT: &str = "pusU?zRabwWqrhtcmvB?M?C?DS:G:O@l:X?I:";

const REVISIONS_SHORT: &str = "pusU?zn:iEFPgrtmcqvhRO@X?";

/// Flags of every subcommand that write or run.
const REFUSED: &[(&str, &str)] = &[
    ("output", "writes its output to a file"),
    ("ext-diff", "runs a program for differences"),
    ("textconv", "runs a program on contents"),
    ("open-files-in-pager", "runs a pager"),
    ("show-signature", "runs gpg"),
    ("exec", "runs a program"),
    ("upload-pack", "runs a program"),
];

const fn git(name: &'static str, short: &'static str, long: &'static str, reason: &'static str) -> Program {
    Program::new(name, short, long, Text, reason).refuse(REFUSED).digits()
}

pub(crate) const PROGRAMS: &[Program] = &[
    git("git status", "sbvzu?", "short branch show-stash porcelain=? long verbose untracked-files=? ignore-submodules=? ignored=? column=? no-column ahead-behind no-ahead-behind renames no-renames find-renames=? null help", "prints the state"),
    git("git log", LOG_SHORT, LOG_LONG, "prints history"),
    git("git show", LOG_SHORT, LOG_LONG, "prints objects"),
    git("git whatchanged", LOG_SHORT, LOG_LONG, "prints history"),
    git("git reflog", LOG_SHORT, LOG_LONG, "prints the reflog").operands(TextAtMost(0)),
    git("git reflog show", LOG_SHORT, LOG_LONG, "prints the reflog"),
    git("git diff", DIFF_SHORT, DIFFS, "prints differences"),
    git("git diff-tree", DIFF_SHORT, DIFFS, "prints differences"),
    git("git diff-index", DIFF_SHORT, DIFFS, "prints differences"),
    git("git diff-files", DIFF_SHORT, DIFFS, "prints differences"),
    git("git range-diff", "s", "creation-factor= left-only right-only no-dual-color diff-merges= no-notes notes=? no-color color=? stat=? no-patch", "prints differences"),
    git("git stash list", LOG_SHORT, LOG_LONG, "lists stashes"),
    git("git stash show", LOG_SHORT, "patch stat=? include-untracked only-untracked no-include-untracked name-only name-status numstat shortstat raw color=? no-color unified=? word-diff=? summary", "prints a stash"),
    git("git shortlog", "nsecw?h", "numbered summary email format= date= group= committer all since= until= after= before= author= grep= no-merges merges max-count= branches=? tags=? remotes=? first-parent not reverse", "sums history"),
    git("git rev-list", REVISIONS_SHORT, REVISIONS, "lists commits"),
    git("git rev-parse", "q", "revs-only no-revs flags no-flags default= prefix= verify quiet sq short=? not abbrev-ref=? symbolic symbolic-full-name all branches=? tags=? remotes=? glob= exclude= disambiguate= local-env-vars path-format= absolute-git-dir git-dir git-common-dir is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository resolve-git-dir= show-cdup show-prefix show-toplevel show-superproject-working-tree shared-index-path show-object-format=? show-ref-format since= after= until= before= git-path=", "resolves names"),
    git("git blame", "bL:lstS@pceMCfnswh", "root incremental show-stats porcelain line-porcelain reverse first-parent encoding= contents=@ date= progress no-progress ignore-rev= ignore-revs-file=@ color-lines color-by-age show-name show-number show-email abbrev=? minimal", "prints who wrote lines"),
    git("git annotate", "bL:lstS@peMCfnsw", "root date= show-email", "prints who wrote lines"),
    git("git merge-base", "a", "all octopus independent is-ancestor fork-point", "finds commits"),
    git("git ls-files", "cdiomsuktvfzx:X@h", "cached deleted others ignored stage directory no-empty-directory unmerged killed modified resolve-undo eol deduplicate full-name recurse-submodules abbrev=? debug format= exclude= exclude-from=@ exclude-per-directory= exclude-standard error-unmatch with-tree= sparse", "lists files"),
    git("git ls-tree", "drtlzh", "long name-only name-status object-only full-name full-tree abbrev=? format=", "lists a tree"),
    git("git cat-file", "tsepz", "allow-unknown-type batch=? batch-check=? batch-command=? batch-all-objects buffer unordered follow-symlinks mailmap use-mailmap no-mailmap filter= path=", "prints objects")
        .refuse(&[("textconv", "runs a program on contents"), ("filters", "runs a filter")]),
    git("git describe", "", "dirty=? broken=? all tags contains abbrev=? candidates= exact-match debug long match= exclude= always first-parent", "names a commit"),
    git("git name-rev", "", "tags refs= exclude= all annotate-stdin name-only no-undefined always", "names commits"),
    git("git grep", "aiIwvhHEGFPnlLzocpWe:f@m:qA:B:C:r", "cached untracked no-index no-exclude-standard exclude-standard recurse-submodules text ignore-case max-depth= recursive no-recursive word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color=? no-color break heading show-function context= after-context= before-context= function-context max-count= threads= and or not all-match quiet", "searches text")
        .refuse(&[("O", "runs a pager"), ("open-files-in-pager", "runs a pager"), ("textconv", "runs a program on contents"), ("ext-grep", "runs a program")]),
    git("git show-ref", "dshq", "head branches heads tags verify exists hash=? abbrev=? quiet dereference", "lists refs")
        .refuse(&[("exclude-existing", "reads standard input into refs")]),
    git("git for-each-ref", "s", "count= sort= format= color=? shell perl python tcl merged=? no-merged=? contains=? no-contains=? ignore-case omit-empty exclude= points-at= include-root-refs stdin", "lists refs"),
    git("git count-objects", "vH", "verbose human-readable", "counts objects"),
    git("git fsck", "v", "unreachable dangling no-dangling root tags cache no-reflogs full no-full connectivity-only strict verbose progress no-progress name-objects references no-references", "checks objects")
        .refuse(&[("lost-found", "writes what it finds")]),
    git("git check-attr", "az", "all cached stdin source=", "prints attributes"),
    git("git check-ignore", "qvzn", "quiet verbose stdin non-matching no-index", "tests names"),
    git("git check-mailmap", "", "stdin mailmap-file=@ mailmap-blob=", "maps names"),
    git("git check-ref-format", "", "normalize allow-onelevel no-allow-onelevel refspec-pattern branch", "tests a name"),
    git("git cherry", "v", "abbrev=? verbose", "finds commits"),
    git("git column", "", "command= mode=? raw-mode= width= indent= nl= padding=", "makes columns"),
    git("git bisect log", "", "", "prints the bisection"),
    git("git symbolic-ref", "q", "quiet short recurse no-recurse", "prints a ref").operands(TextAtMost(1))
        .refuse(&[("d", "deletes a ref"), ("delete", "deletes a ref"), ("m", "writes a reason"), ("message", "writes a reason")]),
    git("git var", "l", "", "prints a variable"),
    git("git version", "", "build-options", "prints the version"),
    git("git worktree list", "vz", "verbose porcelain expire=", "lists worktrees"),
    git("git notes list", "", "", "lists notes"),
    git("git notes show", "", "", "prints a note"),
    git("git remote", "v", "verbose", "lists remotes").operands(TextAtMost(0)),
    git("git remote get-url", "", "all push", "prints an address"),
    git("git branch", "arvqilh", "all remotes list verbose quiet color=? no-color column=? no-column sort= points-at= format= contains= no-contains= merged=? no-merged=? ignore-case abbrev=? no-abbrev show-current omit-empty", "lists branches")
        .check(Check::ListingOnly("l list contains no-contains merged no-merged points-at"))
        .refuse(&[("d", "deletes"), ("D", "deletes"), ("m", "renames"), ("M", "renames"), ("c", "copies"), ("C", "copies"), ("f", "moves"), ("u", "configures"), ("t", "configures"), ("delete", "deletes"), ("move", "renames"), ("copy", "copies"), ("force", "moves"), ("set-upstream-to", "configures"), ("unset-upstream", "configures"), ("track", "configures"), ("edit-description", "runs an editor"), ("create-reflog", "writes")]),
    git("git tag", "ln?i", "list color=? column=? no-column sort= points-at= format= contains= no-contains= merged=? no-merged=? ignore-case omit-empty", "lists tags")
        .check(Check::ListingOnly("l list contains no-contains merged no-merged points-at"))
        .refuse(&[("d", "deletes"), ("delete", "deletes"), ("a", "makes a tag"), ("s", "makes a tag"), ("f", "moves a tag"), ("m", "makes a tag"), ("F", "makes a tag"), ("u", "makes a tag"), ("v", "runs gpg"), ("verify", "runs gpg"), ("e", "runs an editor")]),
    git("git config", "lz", "list get get-all get-regexp get-urlmatch get-color null name-only show-origin show-scope global system local worktree type= bool int bool-or-int path expiry-date includes no-includes default=", "prints configuration")
        .check(Check::GitConfig)
        .refuse(&[("f", "reads another file"), ("file", "reads another file"), ("blob", "reads a blob"), ("unset", "writes"), ("unset-all", "writes"), ("add", "writes"), ("replace-all", "writes"), ("rename-section", "writes"), ("remove-section", "writes"), ("e", "runs an editor"), ("edit", "runs an editor")]),
];

impl Program {
    const fn operands(mut self, operands: super::Operands) -> Self {
        self.operands = operands;
        self
    }
}
