//! Programs that look at files and directories.

use super::Operands::{AtMost, Nothing, Paths, Text};
use super::{Check, Glued, Program};

/// `-c` checks sums against a list that it reads.
const SUM: &str = "bctzw";
const SUM_LONG: &str = "binary check tag text zero ignore-missing quiet status strict warn help version";

const fn sum(name: &'static str) -> Program {
    Program::new(name, SUM, SUM_LONG, Paths, "prints or checks sums").harmless()
}

pub(crate) const PROGRAMS: &[Program] = &[
    Program::new(
        "ls",
        "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        "all almost-all author escape block-size= ignore-backups color=? directory dired classify=? file-type format= full-time group-directories-first no-group human-readable si dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink=? indicator-style= inode ignore= kibibytes dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
        Paths,
        "lists names",
    )
    .harmless(),
    Program::new(
        "cat",
        "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
        Paths,
        "prints files",
    )
    .harmless(),
    Program::new(
        "head",
        "c:n:qvz",
        "bytes= lines= quiet silent verbose zero-terminated help version",
        Paths,
        "prints the start of files",
    )
    .harmless()
    .digits(),
    Program::new(
        "tail",
        "c:n:qvzfFs:",
        "bytes= lines= quiet silent verbose zero-terminated follow=? pid= retry sleep-interval= help version",
        Paths,
        "prints the end of files",
    )
    .harmless()
    .digits(),
    Program::new(
        "wc",
        "clmLw",
        "bytes chars lines files0-from=@ max-line-length words total= help version",
        Paths,
        "counts",
    )
    .harmless(),
    Program::new(
        "stat",
        "Lfc:t",
        "dereference file-system cached= format= printf= terse help version",
        Paths,
        "prints metadata",
    )
    .harmless(),
    Program::new(
        "file",
        "bcdEhiklLnNrsSv0e:F:P:",
        "brief checking-printout debug exclude= exclude-quiet= separator= mime apple extension mime-type mime-encoding keep-going list dereference no-dereference no-buffer no-pad parameter= raw special-files version print0 help",
        Paths,
        "guesses what files hold",
    )
    .refuse(&[
        ("p", "sets times"),
        ("preserve-date", "sets times"),
        ("C", "compiles a magic file and writes it"),
        ("compile", "compiles a magic file and writes it"),
        ("m", "reads a magic file of its own"),
        ("magic-file", "reads a magic file of its own"),
        ("f", "reads names from a file"),
        ("files-from", "reads names from a file"),
    ]),
    Program::new(
        "du",
        "0aAbBcdDHhklLmPsSxd:B:t:X@",
        "null all apparent-size block-size= bytes total dereference-args max-depth= files0-from=@ human-readable inodes dereference no-dereference separate-dirs si summarize threshold= time=? time-style= exclude-from=@ exclude= one-file-system help version",
        Paths,
        "sums sizes",
    )
    .harmless(),
    Program::new(
        "df",
        "aB:hHiklPTt:vx:",
        "all block-size= human-readable si inodes local no-sync output=? portability print-type type= exclude-type= total help version",
        Paths,
        "prints free space",
    )
    .refuse(&[("sync", "flushes file systems")]),
    Program::new("find", "", "", Paths, "searches names; its expression is parsed").check(Check::Find),
    Program::new(
        "tree",
        "adlfxL:P:I:pugshDFqNQriACSnvtcUXJH:T:0",
        "noreport gitignore gitfile=@ matchdirs ignore-case filelimit= prune info inodes device timefmt= si du sort=? dirsfirst filesfirst charset= fromfile metafirst filesync hintro= houtro= nolinks help version",
        Paths,
        "lists names as a tree",
    )
    .glued(Glued::Numbers)
    .refuse(&[("o", "writes its output to a file"), ("output", "writes its output to a file"), ("R", "writes a page for each directory")]),
    Program::new(
        "realpath",
        "eELmPqsz",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero help version",
        Paths,
        "resolves names",
    )
    .harmless(),
    Program::new(
        "readlink",
        "femnqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version",
        Paths,
        "resolves names",
    )
    .harmless(),
    Program::new("basename", "as:z", "multiple suffix= zero help version", Text, "computes on text").harmless(),
    Program::new("dirname", "z", "zero help version", Text, "computes on text").harmless(),
    Program::new("pathchk", "pP", "portability help version", Text, "computes on text").harmless(),
    sum("md5sum"),
    sum("sha1sum"),
    sum("sha224sum"),
    sum("sha256sum"),
    sum("sha384sum"),
    sum("sha512sum"),
    Program::new(
        "b2sum",
        "bctzwl:",
        "binary check length= tag text zero ignore-missing quiet status strict warn help version",
        Paths,
        "prints or checks sums",
    )
    .harmless(),
    Program::new(
        "cksum",
        "a:bctzwl:",
        "algorithm= base64 debug raw untagged binary check length= tag text zero ignore-missing quiet status strict warn help version",
        Paths,
        "prints or checks sums",
    )
    .harmless(),
    Program::new("sum", "rs", "sysv help version", Paths, "prints sums").harmless(),
    Program::new(
        "xxd",
        "abc:Cdeg:hil:n:o:pPrR:s:uvE",
        "autoskip bits cols= capitalize EBCDIC decimal groupsize= help include len= name= offset= plain postscript revert seek= upper version",
        AtMost(1),
        "prints bytes; its second operand is written",
    )
    .glued(Glued::NumbersOnly),
    Program::new(
        "od",
        "A:j:N:S:t:vw?abcdfhiloxsBDFHILOX",
        "address-radix= skip-bytes= read-bytes= strings=? format= output-duplicates width=? traditional endian= help version",
        Paths,
        "prints bytes",
    )
    .harmless(),
    Program::new(
        "hexdump",
        "bcCde:f@n:os:vxL?",
        "one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex format= format-file=@ length= skip= no-squeezing color=? help version",
        Paths,
        "prints bytes",
    )
    .harmless(),
    Program::new(
        "cmp",
        "bi:ln:s",
        "print-bytes ignore-initial= verbose bytes= quiet silent help version",
        Paths,
        "compares files",
    )
    .harmless(),
    Program::new(
        "strings",
        "afn:t:oe:T:ws:d",
        "all data print-file-name bytes= radix= encoding= target= include-all-whitespace output-separator= unicode= help version",
        Paths,
        "prints text in files",
    )
    .harmless()
    .digits(),
    Program::new(
        "mountpoint",
        "dqx",
        "fs-devno devno quiet nofollow help version",
        Paths,
        "tests a path",
    )
    .harmless(),
    Program::new("zcat", "fhlLnNqrtvV", "force list quiet test verbose help version license", Paths, "prints compressed files"),
    Program::new("bzcat", "sqv", "small quiet verbose help version", Paths, "prints compressed files"),
    Program::new("xzcat", "qvM:T:", "quiet verbose memlimit= threads= help version", Paths, "prints compressed files"),
    Program::new("zstdcat", "qv", "quiet verbose help version", Paths, "prints compressed files"),
    Program::new(
        "nm",
        "aABCDef:glnop:Prst:uSvVWX:",
        "debug-syms print-file-name demangle=? no-demangle dynamic format= extern-only line-numbers numeric-sort no-sort portability print-size print-armap reverse-sort size-sort special-syms synthetic radix= target= undefined-only defined-only with-symbol-versions help version",
        Paths,
        "prints symbols",
    )
    .refuse(&[("plugin", "loads a library")]).check(Check::NoResponseFile),
    Program::new(
        "objdump",
        "aADdfgGhHij:lM:pP:rRsStTvVwxzCe:b:m:E:F",
        "archive-headers file-headers private-headers headers section-headers all-headers disassemble=? disassemble-all disassembler-options= source=? full-contents debugging stabs syms dynamic-syms reloc dynamic-reloc demangle=? section= line-numbers wide start-address= stop-address= architecture= target= endian= no-show-raw-insn show-raw-insn prefix-addresses disassemble-zeroes info version help dwarf=?",
        Paths,
        "prints object files",
    ).check(Check::NoResponseFile),
    Program::new(
        "readelf",
        "ahlSgtesnrudVAcDLp:x:R:zw?TIWHvz",
        "all file-header program-headers segments section-headers sections section-groups section-details headers syms symbols dyn-syms notes relocs unwind dynamic version-info arch-specific archive-index use-dynamic hex-dump= string-dump= relocated-dump= decompress debug-dump=? histogram wide silent-truncation demangle=? lto-syms version help",
        Paths,
        "prints object files",
    ).check(Check::NoResponseFile),
    Program::new("size", "ABdoxtV", "format= radix= common totals version help", Paths, "prints section sizes").check(Check::NoResponseFile),
    Program::new("pwd", "LP", "logical physical help version", Nothing, "prints the directory").harmless(),
    Program::new("cd", "LPe@", "", AtMost(1), "changes the shell's own directory").check(Check::Directory).stops(),
    Program::new("pushd", "n", "", AtMost(1), "changes the shell's own directory").check(Check::Directory).stops(),
    Program::new("popd", "n", "", Nothing, "changes the shell's own directory").stops(),
    Program::new("dirs", "clpv", "", Text, "prints the directory stack").stops(),
];
