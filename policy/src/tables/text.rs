//! Programs that filter text. Those with a language of their own have it parsed.

use super::Operands::{AtMost, Paths, Text, TextThenPaths};
use super::{Check, Program};

const GREP: &str = "abcd:e:EFf@GhHiIlLm:noPqrRsTuUvVwxyzZA:B:C:D:";
const GREP_LONG: &str = "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file=@ ignore-case no-ignore-case word-regexp line-regexp null-data no-messages invert-match version help max-count= byte-offset line-number line-buffered with-filename no-filename label= only-matching quiet silent binary-files= text directories= devices= recursive dereference-recursive include= exclude= exclude-from=@ exclude-dir= files-without-match files-with-matches count initial-tab null before-context= after-context= context= color=? colour=? binary group-separator= no-group-separator";

const fn grep(name: &'static str) -> Program {
    Program::new(name, GREP, GREP_LONG, TextThenPaths(1, "e f regexp file"), "searches text")
        .harmless()
        .digits()
}

const AWK_LONG: &str = "field-separator= assign= characters-as-bytes traditional copyright gen-pot help lint=? bignum use-lc-numeric non-decimal-data optimize posix re-interval no-optimize sandbox lint-old version csv";

const fn awk(name: &'static str) -> Program {
    Program::new(name, "F:v:bcChMNnOPrsSV", AWK_LONG, Text, "filters text; its program is parsed")
        .refuse(&[
            ("f", "runs a program that is not in the text"),
            ("file", "runs a program that is not in the text"),
            ("E", "runs a program that is not in the text"),
            ("exec", "runs a program that is not in the text"),
            ("i", "loads a library; `inplace` writes files"),
            ("include", "loads a library; `inplace` writes files"),
            ("l", "loads a library"),
            ("load", "loads a library"),
            ("d", "writes variables to a file"),
            ("dump-variables", "writes variables to a file"),
            ("o", "writes the program to a file"),
            ("pretty-print", "writes the program to a file"),
            ("p", "writes a profile to a file"),
            ("profile", "writes a profile to a file"),
            ("D", "starts the debugger"),
            ("debug", "starts the debugger"),
            ("e", "joins a program from several parts"),
            ("source", "joins a program from several parts"),
        ])
        .check(Check::Awk)
}

pub(crate) const PROGRAMS: &[Program] = &[
    grep("grep"),
    grep("egrep"),
    grep("fgrep"),
    Program::new(
        "rg",
        "aA:B:C:bcd:e:E:f@Fg:hHiIj:lLm:M:nNopPqr:sSt:T:uUvVwx.0",
        "after-context= before-context= context= auto-hybrid-regex binary block-buffered byte-offset case-sensitive color= colors= column context-separator= count count-matches crlf debug dfa-size-limit= encoding= engine= field-context-separator= field-match-separator= file=@ files files-with-matches files-without-match fixed-strings follow generate= glob= glob-case-insensitive heading help hidden hyperlink-format= iglob= ignore-case ignore-file=@ ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap multiline multiline-dotall no-binary no-config no-column no-context-separator no-encoding no-filename no-fixed-strings no-follow no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs no-json no-line-number no-messages no-mmap no-multiline no-pcre2 no-require-git no-stats no-text no-unicode null null-data one-file-system only-matching path-separator= passthru pcre2 pretty quiet regex-size-limit= regexp= replace= smart-case sort= sortr= stats stop-on-nonmatch text threads= trace trim type= type-add= type-clear= type-list type-not= unrestricted version vimgrep with-filename word-regexp",
        TextThenPaths(1, "e f regexp file files type-list"),
        "searches text",
    )
    .refuse(&[
        ("pre", "runs a program for each file"),
        ("pre-glob", "goes with --pre"),
        ("hostname-bin", "runs a program"),
        ("z", "runs decompressors found by PATH"),
        ("search-zip", "runs decompressors found by PATH"),
    ]),
    Program::new(
        "ag",
        "aA:B:C:cDfFg:G:hHiIlLm:noPQp@rRsStuUvVwW:z0",
        "ackmate after= before= break nobreak count color nocolor column filename nofilename heading noheading files-with-matches files-without-matches print-all-files numbers nonumbers only-matching print-long-lines passthrough silent stats stats-only vimgrep null all-types debug depth= follow file-search-regex= hidden ignore-case ignore= ignore-dir= literal match= max-count= norecurse path-to-ignore=@ case-sensitive smart-case search-binary all-text unrestricted skip-vcs-ignores invert-match word-regexp width= version help",
        TextThenPaths(1, "g"),
        "searches text",
    )
    .refuse(&[("pager", "runs a program"), ("z", "runs decompressors"), ("search-zip", "runs decompressors")]),
    awk("awk"),
    awk("gawk"),
    awk("mawk"),
    awk("nawk"),
    Program::new(
        "sed",
        "nEre:l:suz",
        "quiet silent debug expression= line-length= posix regexp-extended separate sandbox unbuffered null-data help version",
        Text,
        "filters text; its script is parsed",
    )
    .refuse(&[
        ("i", "edits files in place"),
        ("in-place", "edits files in place"),
        ("f", "runs a script that is not in the text"),
        ("file", "runs a script that is not in the text"),
    ])
    .check(Check::Sed),
    Program::new(
        "sort",
        "bcCdfghik:mMnrRsS:t:uVz",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort random-source=@ reverse sort= version-sort batch-size= check=? debug files0-from=@ key= merge stable buffer-size= field-separator= parallel= unique zero-terminated help version",
        Paths,
        "sorts lines",
    )
    .refuse(&[
        ("o", "writes its output to a file"),
        ("output", "writes its output to a file"),
        ("compress-program", "runs a program"),
        ("T", "writes temporary files to a directory"),
        ("temporary-directory", "writes temporary files to a directory"),
    ]),
    Program::new(
        "uniq",
        "cdDf:is:uw:z",
        "count repeated all-repeated=? skip-fields= group=? ignore-case skip-chars= unique zero-terminated check-chars= help version",
        AtMost(1),
        "drops repeated lines; its second operand is written",
    )
    .digits(),
    Program::new(
        "cut",
        "b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated help version",
        Paths,
        "cuts columns",
    )
    .harmless(),
    Program::new("tr", "cCdst", "complement delete squeeze-repeats truncate-set1 help version", Text, "maps bytes").harmless(),
    Program::new(
        "diff",
        "qsc:C:u:U:enyW:pF:tTlrNiEZbwBI:aD:dx:X@S:",
        "normal brief report-identical-files context=? unified=? ed rcs side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case exclude= exclude-from=@ starting-file= from-file=@ to-file=@ ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr ifdef= minimal horizon-lines= speed-large-files color=? palette= line-format= help version",
        Paths,
        "compares files",
    )
    .digits()
    .refuse(&[
        ("output", "writes its output to a file"),
        ("o", "writes its output to a file"),
        ("l", "runs pr"),
        ("paginate", "runs pr"),
    ]),
    Program::new("comm", "123z", "check-order nocheck-order output-delimiter= total zero-terminated help version", Paths, "compares sorted files").harmless(),
    Program::new("join", "a:e:ij:o:t:v:1:2:z", "ignore-case check-order nocheck-order header zero-terminated help version", Paths, "joins lines").harmless(),
    Program::new(
        "jq",
        "cnrjasSCMeRhV",
        "compact-output null-input raw-output raw-output0 join-output ascii-output sort-keys color-output monochrome-output tab indent= unbuffered stream stream-errors seq exit-status raw-input slurp help version build-configuration",
        TextThenPaths(1, ""),
        "filters JSON; its program is looked through",
    )
    .refuse(&[
        ("f", "runs a program that is not in the text"),
        ("from-file", "runs a program that is not in the text"),
        ("L", "loads modules"),
        ("slurpfile", "reads a file into a variable"),
        ("rawfile", "reads a file into a variable"),
        ("argfile", "reads a file into a variable"),
        ("args", "hides operands"),
        ("jsonargs", "hides operands"),
        ("arg", "takes two values"),
        ("argjson", "takes two values"),
    ])
    .check(Check::Jq),
    Program::new(
        "yq",
        "0cCej:MnNo:p:PrRsSyvV",
        "null-input colors no-colors exit-status header-preprocess indent= input-format= output-format= pretty-print prettyPrint unwrapScalar=? unwrap-scalar=? no-doc xml-attribute-prefix= xml-content-name= xml-keep-namespace nul-output tojson verbose version help front-matter= string-interpolation=? compact-output raw-output yaml-output slurp",
        TextThenPaths(1, ""),
        "filters YAML; its expression is looked through",
    )
    .refuse(&[
        ("i", "edits files in place"),
        ("inplace", "edits files in place"),
        ("s", "writes a file for each document"),
        ("split-exp", "writes a file for each document"),
        ("split-exp-file", "writes a file for each document"),
        ("from-file", "runs an expression that is not in the text"),
        ("expression", "gives the expression by flag"),
    ])
    .check(Check::Yq),
    Program::new("paste", "d:sz", "delimiters= serial zero-terminated help version", Paths, "joins lines").harmless(),
    Program::new("fold", "bsw:", "bytes spaces width= help version", Paths, "wraps lines").harmless().digits(),
    Program::new("fmt", "ctsuw:g:p:", "crown-margin tagged-paragraph split-only uniform-spacing width= goal= prefix= help version", Paths, "wraps lines").harmless().digits(),
    Program::new(
        "column",
        "tc:C:deE:H:i:JlLmn:N:o:O:p:R:r:s:T:W:x",
        "table columns= table-columns= table-columns-limit= table-name= table-noextreme= table-noheadings table-order= table-right= table-truncate= table-wrap= table-hide= table-maxout table-empty-lines keep-empty-lines json tree= tree-id= tree-parent= output-width= output-separator= separator= fillrows help version",
        Paths,
        "makes columns",
    )
    .harmless(),
    Program::new("expand", "it:", "initial tabs= help version", Paths, "maps tabs").harmless().digits(),
    Program::new("unexpand", "at:", "all first-only tabs= help version", Paths, "maps tabs").harmless(),
    Program::new("nl", "b:d:f:h:i:l:n:ps:v:w:", "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= help version", Paths, "numbers lines").harmless(),
    Program::new("tac", "brs:", "before regex separator= help version", Paths, "reverses lines").harmless(),
    Program::new("rev", "hV0", "zero help version", Paths, "reverses lines").harmless(),
    Program::new("tsort", "w", "help version", Paths, "sorts a graph").harmless(),
    Program::new("base64", "dw:i", "decode wrap= ignore-garbage help version", AtMost(1), "encodes").harmless(),
    Program::new("base32", "dw:i", "decode wrap= ignore-garbage help version", AtMost(1), "encodes").harmless(),
    Program::new("iconv", "f:t:lcs", "from-code= to-code= list silent verbose help version", Paths, "converts text").refuse(&[
        ("o", "writes its output to a file"),
        ("output", "writes its output to a file"),
    ]),
    Program::new("numfmt", "d:z", "debug delimiter= field= format= from= from-unit= grouping header=? invalid= padding= round= suffix= to= to-unit= zero-terminated help version", Text, "formats numbers").harmless(),
    Program::new("look", "abdft:", "alternative alphanum ignore-case terminate= help version", TextThenPaths(1, ""), "searches a sorted file").harmless(),
    Program::new("shuf", "ei:n:rz", "echo input-range= head-count= random-source=@ repeat zero-terminated help version", Paths, "shuffles lines").refuse(&[
        ("o", "writes its output to a file"),
        ("output", "writes its output to a file"),
    ]),
    Program::new("seq", "f:s:w", "format= separator= equal-width help version", Text, "counts").harmless().digits(),
    Program::new("expr", "", "help version", Text, "computes").harmless(),
    Program::new("factor", "h", "exponents help version", Text, "computes").harmless(),
    Program::new("bc", "hilqsvw", "help interactive mathlib quiet standard warn version", AtMost(1), "computes"),
    Program::new("cal", "13jmnsSyYw?", "one three monday sunday julian months= year week color=? help version", Text, "prints a calendar").harmless(),
];
