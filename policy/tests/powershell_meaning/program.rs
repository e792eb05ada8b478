//! The plan of a text: its commands, and the structure around them.

use super::spelling::{self, Random};

/// A cmdlet of the generator.
struct Cmdlet {
    name: &'static str,
    aliases: &'static [&'static str],
    module: &'static str,
    reads: bool,
    /// The parameter of the first position.
    first: &'static str,
    /// Parameters with their spellings; switches have no value.
    parameters: &'static [Parameter],
}

struct Parameter {
    name: &'static str,
    spellings: &'static [&'static str],
    has_value: bool,
}

const fn valued(name: &'static str, spellings: &'static [&'static str]) -> Parameter {
    Parameter { name, spellings, has_value: true }
}

const fn switch(name: &'static str, spellings: &'static [&'static str]) -> Parameter {
    Parameter { name, spellings, has_value: false }
}

const MANAGEMENT: &str = "Microsoft.PowerShell.Management";
const UTILITY: &str = "Microsoft.PowerShell.Utility";

const CMDLETS: &[Cmdlet] = &[
    Cmdlet {
        name: "Get-ChildItem",
        aliases: &["gci", "dir"],
        module: MANAGEMENT,
        reads: true,
        first: "Path",
        parameters: &[
            valued("Path", &["Path", "Pat"]),
            valued("Filter", &["Filter", "Filt"]),
            switch("Recurse", &["Recurse", "s", "Rec"]),
            switch("Force", &["Force", "For"]),
            switch("Name", &["Name", "Na"]),
        ],
    },
    Cmdlet {
        name: "Get-Content",
        aliases: &["gc", "type"],
        module: MANAGEMENT,
        reads: true,
        first: "Path",
        parameters: &[
            valued("Path", &["Path"]),
            valued("Include", &["Include", "Inc"]),
            switch("Raw", &["Raw", "Ra"]),
        ],
    },
    Cmdlet {
        name: "Get-Item",
        aliases: &["gi"],
        module: MANAGEMENT,
        reads: true,
        first: "Path",
        parameters: &[valued("Path", &["Path", "Pa"]), switch("Force", &["Force", "Fo"])],
    },
    Cmdlet {
        name: "Write-Output",
        aliases: &["echo"],
        module: UTILITY,
        reads: true,
        first: "InputObject",
        parameters: &[switch("NoEnumerate", &["NoEnumerate", "No"])],
    },
    Cmdlet {
        name: "Remove-Item",
        aliases: &["ri", "del", "rd", "erase"],
        module: MANAGEMENT,
        reads: false,
        first: "Path",
        parameters: &[
            valued("Path", &["Path", "Pat"]),
            valued("Exclude", &["Exclude", "Ex"]),
            switch("Recurse", &["Recurse", "r", "Rec"]),
            switch("Force", &["Force", "fo"]),
        ],
    },
    Cmdlet {
        name: "Set-Content",
        aliases: &[],
        module: MANAGEMENT,
        reads: false,
        first: "Path",
        parameters: &[
            valued("Path", &["Path"]),
            valued("Value", &["Value", "Val"]),
            switch("NoNewline", &["NoN"]),
        ],
    },
    Cmdlet {
        name: "New-Item",
        aliases: &["ni"],
        module: MANAGEMENT,
        reads: false,
        first: "Path",
        parameters: &[valued("Path", &["Path"]), valued("ItemType", &["ItemType", "Type", "It"])],
    },
];

const VALUES: &[&str] =
    &["a.txt", "src/*.rs", "two words", "it's", "cost $x", "a;rm b", "back`tick", "x", "# no", "{b}"];

/// A command with its parameters and their values, as the policy reports them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Planned {
    pub(super) command: String,
    pub(super) parameters: Vec<(String, Vec<Option<String>>)>,
}

/// A text with its meaning.
pub(super) struct Program {
    pub(super) text: String,
    planned: Vec<Planned>,
    reads: bool,
}

impl Program {
    pub(super) fn generate(random: &mut Random) -> Self {
        let mut made = Maker { random, planned: Vec::new(), reads: true, names: 0 };
        let text = made.statements(3);
        let (mut planned, reads) = (made.planned, made.reads);
        planned.sort();
        Self { text, planned, reads }
    }

    /// Returns the planned commands in the order of `found`.
    pub(super) fn planned(&self) -> Vec<Planned> {
        self.planned.clone()
    }

    /// Returns the names of the planned commands.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        self.planned.iter().map(|planned| planned.command.as_str())
    }

    /// Reports whether every planned command only reads.
    pub(super) fn reads_only(&self) -> bool {
        self.reads
    }
}

struct Maker<'r> {
    random: &'r mut Random,
    planned: Vec<Planned>,
    reads: bool,
    /// The number of variables and functions that were named.
    names: usize,
}

impl Maker<'_> {
    fn statements(&mut self, depth: usize) -> String {
        let count = 1 + self.random.below(2);
        let parts: Vec<String> = (0..count).map(|_| self.statement(depth)).collect();
        parts.join(*self.random.pick(&["; ", "\n", "\r\n", " ;"]))
    }

    /// Writes a statement. The first forms contain only one command.
    fn statement(&mut self, depth: usize) -> String {
        let forms = if depth == 0 { 2 } else { 18 };
        match self.random.below(forms) {
            0 | 1 => self.command(),
            form => {
                let inner = self.statement(depth - 1);
                self.around(form, &inner, depth)
            }
        }
    }

    /// Puts a structure around a statement.
    fn around(&mut self, form: usize, inner: &str, depth: usize) -> String {
        match form {
            2 => format!("if ($true) {{ {inner} }} else {{ {} }}", self.statement(depth - 1)),
            3 => format!("foreach ($i in 1..2) {{ {inner} }}"),
            4 => format!("& {{ {inner} }}"),
            5 => format!("$( {inner} )"),
            6 => format!("@( {inner} )"),
            7 => format!("\"a $( {inner} ) b\""),
            8 => format!("1..2 | ForEach-Object {{ {inner} }}"),
            9 => format!("1 | % -Process {{ {inner} }} -End {{ {} }}", self.statement(depth - 1)),
            10 => format!("try {{ {inner} }} catch {{ {} }} finally {{ 1 }}", self.statement(depth - 1)),
            11 => format!("switch (1) {{ 1 {{ {inner} }} default {{ 2 }} }}"),
            12 => format!("do {{ {inner} }} while ($false)"),
            13 => format!("@{{ a = 1; 'b' = $( {inner} ) }}"),
            14 => format!("Invoke-Command -ScriptBlock {{ {inner} }}"),
            15 => format!("Measure-Command {{ {inner} }}"),
            16 => {
                self.names += 1;
                format!("$v{} = {{ {inner} }}", self.names)
            }
            _ => {
                self.names += 1;
                format!("function Use{0}Text {{ param($p) {inner} }}", self.names)
            }
        }
    }

    fn command(&mut self) -> String {
        let cmdlet = self.random.pick(CMDLETS);
        let name = spelling::name(self.random, cmdlet.name, cmdlet.aliases, cmdlet.module);
        let mut parameters = Vec::new();
        let mut words = vec![name];
        for parameter in cmdlet.parameters {
            if !self.random.chance(35) {
                continue;
            }
            let written = spelling::parameter(self.random, parameter.spellings);
            let mut values = Vec::new();
            if parameter.has_value {
                let value = *self.random.pick(VALUES);
                let spelt = spelling::value(self.random, value);
                let joined = if self.random.chance(30) { ":" } else { " " };
                words.push(format!("{written}{joined}{spelt}"));
                values.push(Some(value.to_owned()));
            } else {
                words.push(written);
            }
            parameters.push((parameter.name.to_owned(), values));
        }
        let has_first = parameters.iter().any(|(name, _)| name == cmdlet.first);
        if !has_first && self.random.chance(60) {
            let value = *self.random.pick(VALUES);
            let at = 1 + self.random.below(words.len());
            words.insert(at, spelling::value(self.random, value));
            parameters.push((cmdlet.first.to_owned(), vec![Some(value.to_owned())]));
        }
        parameters.sort();
        self.reads &= cmdlet.reads;
        self.planned.push(Planned { command: cmdlet.name.to_owned(), parameters });
        let mut text = String::new();
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                text.push_str(spelling::blank(self.random));
            }
            text.push_str(word);
        }
        text
    }
}
