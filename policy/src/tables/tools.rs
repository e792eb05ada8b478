//! Developers' tools, each with its reading subcommands.

use super::Operands::{Nothing, Text, TextThenPaths};
use super::Program;

const fn tool(name: &'static str, short: &'static str, long: &'static str, reason: &'static str) -> Program {
    Program::new(name, short, long, Text, reason)
}

pub(crate) const PROGRAMS: &[Program] = &[
    Program::new(
        "fd",
        "HIusigFpaLtd:e:E:c:j:0AqSo:t:1",
        "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex fixed-strings and= absolute-path follow full-path print0 max-depth= min-depth= exact-depth= prune type= extension= size= changed-within= changed-before= newer= older= owner= color= threads= max-results= quiet show-errors base-directory=@ path-separator= search-path=@ strip-cwd-prefix=? one-file-system exclude= ignore-file=@ format= help version",
        TextThenPaths(1, ""),
        "searches names",
    )
    .refuse(&[
        ("x", "runs a program"),
        ("exec", "runs a program"),
        ("X", "runs a program"),
        ("exec-batch", "runs a program"),
        ("l", "runs ls"),
        ("list-details", "runs ls"),
    ]),
    tool("docker ps", "aqsn:lf:", "all quiet size last= latest filter= format= no-trunc", "lists containers"),
    tool("docker images", "aqf:", "all quiet digests filter= format= no-trunc tree", "lists images"),
    tool("docker inspect", "f:s", "format= size type=", "prints metadata"),
    tool("docker logs", "n:t", "details since= tail= timestamps until=", "prints logs"),
    tool("docker version", "f:", "format=", "prints the version"),
    tool("gh pr view", "cq:R:", "comments json= jq= repo=", "prints a pull request").refuse(&[("w", "opens a browser"), ("web", "opens a browser")]),
    tool("gh pr list", "A:a:B:dH:l:L:q:R:S:s:", "app= assignee= author= base= draft head= jq= json= label= limit= repo= search= state=", "lists pull requests").refuse(&[("w", "opens a browser"), ("web", "opens a browser")]),
    tool("gh issue view", "cq:R:", "comments json= jq= repo=", "prints an issue").refuse(&[("w", "opens a browser"), ("web", "opens a browser")]),
    tool("gh issue list", "A:a:l:L:m:q:R:S:s:", "app= assignee= author= jq= json= label= limit= mention= milestone= repo= search= state=", "lists issues").refuse(&[("w", "opens a browser"), ("web", "opens a browser")]),
    tool("kubectl get", "Ao:n:l:wLf@R", "all-namespaces output= namespace= selector= watch show-labels field-selector= sort-by= no-headers label-columns= ignore-not-found", "prints objects"),
    tool("kubectl describe", "An:l:", "all-namespaces namespace= selector= show-events", "prints objects"),
    tool("npm ls", "alp", "all json long parseable depth= omit= include= global", "lists packages"),
    tool("npm list", "alp", "all json long parseable depth= omit= include= global", "lists packages"),
    tool("pip list", "oulei:", "outdated uptodate editable local user path= pre format= not-required exclude=", "lists packages").refuse(&[("o", "asks the network"), ("outdated", "asks the network"), ("u", "asks the network"), ("uptodate", "asks the network"), ("i", "asks the network")]),
    tool("pip show", "fv", "files verbose", "prints a package"),
    tool("pip freeze", "lr:", "local user path= all exclude-editable exclude= requirement=@", "lists packages"),
    tool("pip3 list", "le", "editable local user path= format= not-required exclude=", "lists packages"),
    tool("pip3 show", "fv", "files verbose", "prints a package"),
    tool("cargo tree", "e:i:p:dF:", "edges= invert= package= prune= depth= no-dedupe duplicates prefix= charset= format= all-features features= no-default-features workspace exclude= target= offline frozen locked", "prints dependencies"),
    tool("cargo metadata", "F:q", "format-version= no-deps filter-platform= all-features features= no-default-features offline frozen locked quiet manifest-path=@", "prints metadata"),
    Program::new("go version", "mv", "", Nothing, "prints the version"),
    tool("pyright", "p@v", "project=@ outputjson level= stats version help warnings", "checks types"),
];
