//! The result of the parser.

use crate::source::Span;
use crate::token::Stream;

/// A parsed text.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The reason why the text is not complete: PowerShell refuses to run it, or the parser does not understand it.
    pub fault: Option<Fault>,
    /// Every command, in the order of their first bytes. A command precedes those inside its arguments.
    pub commands: Vec<Command>,
    /// Every access to a member of an object or type.
    pub members: Vec<Member>,
    /// Every type that the text names.
    pub types: Vec<TypeName>,
    /// Every assignment.
    pub assignments: Vec<Assignment>,
    /// The redirections of expressions, such as `1 > file`.
    pub redirections: Vec<Redirection>,
    /// The names of the variables that the text reads, also in strings.
    pub variables: Vec<String>,
    /// Other parts with an effect of their own.
    pub constructs: Vec<Construct>,
    /// The place of each pipeline that has several parts.
    pub pipelines: Vec<Span>,
}

impl Script {
    /// Reports whether every part of the text is understood, and PowerShell would run it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.fault.is_none()
    }
}

/// The reason why a text is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// A stable name.
    pub code: &'static str,
    /// The byte at which the part starts that is not understood.
    pub at: usize,
}

/// The result of a part of the parser.
pub(crate) type Parse<T> = Result<T, Fault>;

/// The operator before a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// None.
    Plain,
    /// `&`
    Ampersand,
    /// `.`
    Dot,
}

/// One command.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its place, without redirections before it.
    pub span: Span,
    /// The operator before its name.
    pub call: Call,
    /// The name, then the parameters and arguments. Never empty.
    pub elements: Vec<Element>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// The index of the command that has this command in its arguments.
    pub within: Option<usize>,
    /// Whether it receives the output of another part of a pipeline.
    pub piped: bool,
    /// Whether `--%` starts a verbatim argument, which is the last element.
    pub verbatim: bool,
}

impl Command {
    /// Returns the name if it is constant.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.elements.first() {
            Some(Element::Argument(argument)) => argument.value.as_string(),
            _ => None,
        }
    }
}

/// One part of a command.
#[derive(Debug, Clone)]
pub enum Element {
    /// `-Name`, or `-Name:value`.
    Parameter {
        /// The name without the dash. `--` has the name `-`.
        name: String,
        /// The value after a colon.
        value: Option<Argument>,
        /// The place of the whole.
        span: Span,
    },
    /// A name, argument, or value of the parameter before it.
    Argument(Argument),
}

/// An argument.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Its value.
    pub value: Value,
    /// Its place.
    pub span: Span,
}

/// The way in which a string is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quote {
    /// It is a word.
    None,
    /// `'x'`
    Single,
    /// `"x"`
    Double,
    /// `@'...'@`
    SingleHere,
    /// `@"..."@`
    DoubleHere,
}

/// The keys and values of a table.
pub type Entries = Vec<(String, Argument)>;

/// A value, as far as the text determines it.
#[derive(Debug, Clone)]
pub enum Value {
    /// A constant string, after quotes and escapes.
    String(String, Quote),
    /// A string with variables or expressions. The text before the first one is constant.
    Expandable(String),
    /// A number.
    Number {
        /// Whether it is an integer without a suffix.
        is_whole: bool,
    },
    /// `$name`
    Variable(String),
    /// `@name`
    Splat(String),
    /// `$using:name`, also with members.
    Using,
    /// `{ ... }`
    ScriptBlock,
    /// `a, b`
    Array(Vec<Argument>),
    /// `@{ ... }`, with its entries if each key is constant and each value is one expression.
    Hashtable(Option<Entries>),
    /// `( ... )`
    Parentheses,
    /// `$( ... )`
    SubExpression,
    /// `@( ... )`
    ArrayExpression,
    /// `x.y`
    Member,
    /// `x.y()`
    Invocation,
    /// `x[y]`
    Index,
    /// `[type]`
    Type,
    /// `[type]value`
    Converted(Box<Value>),
    /// An operator with its operands.
    Operation,
}

impl Value {
    /// Returns the string if it is constant.
    #[must_use]
    pub fn as_string(&self) -> Option<&str> {
        match self {
            Self::String(value, _) => Some(value),
            _ => None,
        }
    }
}

/// A redirection.
#[derive(Debug, Clone)]
pub struct Redirection {
    /// The stream that is redirected.
    pub from: Stream,
    /// The place to which it is redirected.
    pub to: RedirectionTarget,
    /// The place of the whole.
    pub span: Span,
}

/// The target of a redirection.
#[derive(Debug, Clone)]
pub enum RedirectionTarget {
    /// The output stream.
    Output,
    /// A file.
    File {
        /// Its name.
        name: Argument,
        /// Whether the output is added to the file.
        appends: bool,
    },
}

/// An access to a member.
#[derive(Debug, Clone)]
pub struct Member {
    /// The object or type.
    pub target: Target,
    /// The member's name if it is constant.
    pub name: Option<String>,
    /// The arguments of a call. `None` if it is not called.
    pub arguments: Option<Vec<Argument>>,
    /// Whether the operator is `::`.
    pub is_static: bool,
    /// The place of the whole expression.
    pub span: Span,
}

/// The object or type whose member is accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A type, as the text names it.
    Type(String),
    /// A variable.
    Variable(String),
    /// A string in quotes.
    String,
    /// Another expression.
    Other,
}

/// A type that the text names.
#[derive(Debug, Clone)]
pub struct TypeName {
    /// The name without its arguments.
    pub name: String,
    /// The use of the type.
    pub role: TypeUse,
    /// Its place.
    pub span: Span,
}

/// The use of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeUse {
    /// `[type]` as a value, conversion or constraint.
    Type,
    /// `[type(...)]`
    Attribute,
}

/// An assignment, or an increment.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The variable; `None` for a property, an element, or a list of targets.
    pub variable: Option<String>,
    /// The value, if `=` assigns one expression to one variable without a type.
    pub value: Option<Value>,
    /// Whether it is a statement of the text itself, and not of a block.
    pub is_outermost: bool,
    /// The place of the target.
    pub span: Span,
    /// The place of the assigned value, with the operator before it. `None` for an increment.
    pub value_span: Option<Span>,
}

/// A part with an effect of its own.
#[derive(Debug, Clone)]
pub struct Construct {
    /// The kind.
    pub kind: ConstructKind,
    /// The name that it defines, if it does.
    pub name: Option<String>,
    /// Whether it is a statement of the text itself, and not of a block.
    pub is_outermost: bool,
    /// Its place.
    pub span: Span,
}

/// The kind of a construct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConstructKind {
    /// `function` or `filter`.
    Function,
    /// `class`
    Class,
    /// `enum`
    Enum,
    /// `using`
    Using,
    /// A comment that starts with `#requires` and may load a module.
    Requires,
    /// `trap`
    Trap,
    /// `data`
    Data,
    /// A pipeline that ends with `&`.
    Background,
    /// `exit`
    Exit,
    /// `switch -file`
    SwitchFile,
    /// A parameter of a function or script block.
    Parameter,
}
